"""The published interface: the command-line flags, and the functions that run experiments.

Every name works when called directly. What they do is done elsewhere: the configuration is read in `medagentgym.configuration`, the workflow is
Snakemake's (`medagentgym.workflow`), and one episode is run in `medagentgym.worker`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from medagentgym.config import BaseConfig, Config, DatasetConfig, GeneralArgs, ModelConfig, TrainingConfig
from medagentgym.config_keys import nearest
from medagentgym.configuration import experiments, load_config, load_flags, slug
from medagentgym.credentials import load_credentials
from medagentgym.errors import UserError

if TYPE_CHECKING:
    from medagentgym.llm import BaseModelArgs
    from medagentgym.tasks.base import Task

__all__ = [
    "BaseConfig",
    "BaseModelArgs",
    "Config",
    "DatasetConfig",
    "GeneralArgs",
    "ModelConfig",
    "TrainingConfig",
    "async_run_experiments",
    "get_task_class",
    "load_credentials",
    "parse_arguments",
    "run_single_experiment",
    "sequential_run_experiments",
]

FLAGS = tuple(GeneralArgs.model_fields)
"""The published flags; `--credential_path` and `--num_rollouts` stand beside them."""

PARALLEL_BACKENDS = ("ray", "joblib")


def __getattr__(name: str) -> Any:
    if name == "BaseModelArgs":
        from medagentgym.llm import BaseModelArgs

        return BaseModelArgs
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# --- the command line -------------------------------------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"command line: {message}; --help lists the flags")


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line. A flag that is not given is absent from what it returns."""
    parser = _Parser(
        prog="medagentgym",
        description="Run an experiment: the same workflow as `snakemake --cores N --configfile FILE`, on one core unless --async_run is given.",
        epilog="Also: `medagentgym show FOLDER_OR_EPISODE` prints a report or an episode, `medagentgym sandbox check` shows which sandboxes work, "
        "`medagentgym environments` lists the environments of code steps.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    for flag in FLAGS:
        field = GeneralArgs.model_fields[flag]
        help_text = f"{(field.description or '').replace('%', '%%')} Default: {'none' if field.default is None else str(field.default).lower()}."
        if field.annotation is bool:
            parser.add_argument(f"--{flag}", nargs="?", const="true", metavar="true|false", help=help_text)
        else:
            parser.add_argument(f"--{flag}", metavar=flag.upper(), help=help_text)
    parser.add_argument("--credential_path", metavar="CREDENTIAL_PATH", help="Another spelling of --credentials_path.")
    parser.add_argument("--num_rollouts", metavar="NUM_ROLLOUTS", help=f"{TrainingConfig.model_fields['num_rollouts'].description} Default: 1.")
    return parser


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line (`sys.argv` without an argument) and the configuration file that it names.

    The namespace has every flag, from the command line, else from the file, else its default; `credential_path` beside `credentials_path`;
    `num_rollouts`; `config`, the resolved `Config`; and `overrides`, what was given on the command line. Raises `UserError`.
    """
    given, unknown = make_parser().parse_known_args(sys.argv[1:] if argv is None else list(argv))
    if unknown:
        flag, *_ = unknown[0].split("=")
        near = nearest(flag.replace("-", "_").strip("_"), [*FLAGS, "credential_path", "num_rollouts"]) if flag.startswith("-") else None
        what = "flag" if flag.startswith("-") else "word, and no command"
        raise UserError(f"command line: {flag}: unknown {what}" + (f"; did you mean --{near}?" if near else "; --help lists the flags"))
    overrides = vars(given)
    config_path = overrides.pop("config_path", None)
    config = load_flags(overrides) if config_path is None else load_config(Path(config_path), overrides)
    args = argparse.Namespace(**{flag: getattr(config, flag) for flag in FLAGS})
    args.credential_path = config.credentials_path
    args.num_rollouts = config.training.num_rollouts
    args.config = config
    args.overrides = overrides
    return args


# --- running ----------------------------------------------------------------------------------------------------------------------------------------


def get_task_class(task: str) -> type[Task]:
    """The class of a task. Raises `UserError` for an unknown name."""
    from medagentgym.tasks.registry import get_task_class

    return get_task_class(task)


def run_single_experiment(args: argparse.Namespace, config: Config | Mapping[str, Any], idx: int) -> float:
    """Run one episode in this process, write its record, and give its score. Data that are not built yet are built first.

    `config` is a `Config` or what a configuration file holds; attributes of `args` win over it. An episode that exists is not run again: its recorded
    score is given. Raises `UserError` or `InfrastructureError`; then no record is written.
    """
    resolved = resolve(args, config)
    if len(experiments(resolved)) != 1:
        raise UserError("experiments: one episode is run of one experiment, not of several; give a configuration without `experiments`")
    experiment = experiments(resolved)[0]

    from medagentgym.plan import ExperimentPlan, check, data_folder, make_plan
    from medagentgym.record import EpisodeKey, episode_file, read_record
    from medagentgym.worker import run_instance

    record_file = episode_file(ExperimentPlan.folder_of(experiment), EpisodeKey(idx), experiment.training.num_rollouts)
    if record_file.exists():
        return float(read_record(record_file)["score"])
    plan = make_plan(experiment)
    if EpisodeKey(idx) not in plan.experiments[0].keys:
        raise UserError(f"{experiment.config_path or 'configuration'}: no instance {idx} of {experiment.task} ({experiment.mode}) is asked for")
    check(plan, spending=True)
    plan.write()
    folder = data_folder(experiment)
    if not (folder / "build.json").exists():
        get_task_class(experiment.task).build(experiment, folder)
    return float(run_instance(experiment, idx)["score"])


def sequential_run_experiments(args: argparse.Namespace, config: Config | Mapping[str, Any]) -> dict[str, Any]:
    """Run the whole workflow on one core. See `async_run_experiments`."""
    return _run_experiments(args, config, cores=1)


def async_run_experiments(args: argparse.Namespace, config: Config | Mapping[str, Any], n_jobs: int, parallel_backend: str = "ray") -> dict[str, Any]:
    """Run the whole workflow on `n_jobs` cores; what exists is not run again. Whichever backend is named, it runs on Snakemake, and says so.

    Gives `success_rate` (of the leading judge, over all scored episodes), `asked`, `done` and `missing` (episodes), and `experiments`: the same, for
    each, with `task`, `tag` and `mode`. Raises `UserError`, or `InfrastructureError` where episodes could not be made.
    """
    if parallel_backend not in PARALLEL_BACKENDS:
        raise UserError(f"parallel_backend: expects one of {', '.join(PARALLEL_BACKENDS)}, not {parallel_backend!r}")
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < 1:
        raise UserError(f"n_jobs: expects an integer, at least 1, not {n_jobs!r}")
    announce_backend(parallel_backend)
    return _run_experiments(args, config, cores=n_jobs)


def announce_backend(parallel_backend: str) -> None:
    """Say that a parallel backend was accepted and what runs in its place."""
    print(f"medagentgym: parallel_backend {parallel_backend}: runs on Snakemake", file=sys.stderr)


def resolve(args: argparse.Namespace, config: Config | Mapping[str, Any]) -> Config:
    """The configuration with the attributes of `args` over it. Raises `UserError`.

    Of a namespace that `parse_arguments` made, what was given on the command line or set since counts: defaults do not win over `config`.
    """
    parsed = getattr(args, "config", None)
    overrides = dict(getattr(args, "overrides", {}))
    for flag in (*FLAGS, "credential_path", "num_rollouts"):
        value = getattr(args, flag, None)
        if value is None or flag == "config_path" or value == _flag_of(parsed, flag):
            continue
        overrides.pop({"credential_path": "credentials_path", "credentials_path": "credential_path"}.get(flag, flag), None)
        overrides[flag] = value
    config_path = getattr(args, "config_path", None)
    source = config.model_dump(exclude_unset=True) if isinstance(config, Config) else dict(config)
    if config_path is not None:
        source.setdefault("config_path", str(config_path))
    return load_config(source, overrides, name=slug(Path(config_path).stem) or None if config_path is not None else None)


def _flag_of(config: Config | None, flag: str) -> Any:
    if config is None:
        return None
    if flag == "num_rollouts":
        return config.training.num_rollouts
    return getattr(config, "credentials_path" if flag == "credential_path" else flag)


def _run_experiments(args: argparse.Namespace, config: Config | Mapping[str, Any], cores: int) -> dict[str, Any]:
    from medagentgym.plan import check, make_plan
    from medagentgym.workflow import run_configuration

    resolved = resolve(args, config)
    check(make_plan(resolved), spending=True)
    parsed = getattr(args, "config", None)
    if parsed is not None and resolved.model_dump(exclude={"config_path"}) == parsed.model_dump(exclude={"config_path"}):
        # Nothing was changed since the command line was read, so its file is run, and makes the same plan as from there.
        return run_configuration(parsed, cores=cores, config_file=parsed.config_path, overrides=args.overrides)
    return run_configuration(resolved, cores=cores)
