import sys
import time

from snakemake.cli import get_argument_parser
from snakemake.logging import logger
from snakemake_interface_executor_plugins.settings import ExecMode

from medagentgym.errors import UserError, exit_with
from medagentgym.plan import plan_workflow

PLAN = plan_workflow(
    workflow.overwrite_configfiles,
    workflow.config_settings.config,
    main_process=workflow.exec_mode == ExecMode.DEFAULT,
    command_line=sys.argv[1:],
    targets=get_argument_parser().parse_known_args(sys.argv[1:])[0].targets,
)
STARTED = time.time()

# Said of every missing episode of a shard that failed, although nothing is lost; `onerror` says what there is to know.
logger.addFilter(lambda record: not str(record.msg).startswith("Cannot restore"))


wildcard_constraints:
    task="|".join({experiment.config.task for experiment in PLAN.experiments}),
    tag="|".join(
        {str(experiment.config.result_dir_tag) for experiment in PLAN.experiments}
    ),
    mode="train|test",
    episode=r"\d+(_\d+)?",


# A finished episode is never lost: without this, Snakemake deletes the new files of a shard that fails.
onstart:
    workflow.execution_settings.keep_incomplete = True
    try:
        PLAN.write()
    except UserError as error:
        exit_with(error)


onsuccess:
    print(PLAN.closing_words(since=STARTED), file=sys.stderr)


onerror:
    print("\n".join(PLAN.failures(since=STARTED)), file=sys.stderr)
    print(
        "What is finished is kept: the same command runs only what is missing.",
        file=sys.stderr,
    )
