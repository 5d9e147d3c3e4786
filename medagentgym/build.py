"""Build the data of one task of a planned run: what `rule data` calls."""

from __future__ import annotations

import argparse
from pathlib import Path

from medagentgym.errors import InfrastructureError, UserError, exit_with, infrastructure_boundary
from medagentgym.plan import data_folder, read_plan
from medagentgym.tasks.registry import get_task_class


def main() -> None:
    """Build `work_dir/data/<task>` as the plan's configuration says; exit status not 0 where that fails."""
    parser = argparse.ArgumentParser(prog="python -m medagentgym.build", description=main.__doc__, allow_abbrev=False)
    parser.add_argument("--plan", type=Path, required=True, help="plan file that the workflow wrote")
    parser.add_argument("--task", required=True, help="task whose data are built")
    options = parser.parse_args()
    try:
        with infrastructure_boundary("data"):
            config = next(config for config in read_plan(options.plan) if config.task == options.task)
            get_task_class(config.task).build(config, data_folder(config))
    except (UserError, InfrastructureError) as error:
        exit_with(error)


if __name__ == "__main__":
    main()
