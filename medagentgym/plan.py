"""From a configuration to the instances, shards, files and rules of a run: what the Snakefile asks.

What a plan holds follows from the configuration and the task's source files alone, never from which episodes exist, so that every process of a run
that reads the Snakefile sees the same rules.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from medagentgym import environments, fingerprint
from medagentgym.agent.registry import make_agent
from medagentgym.audit.files import AUDIT_SCHEMA, audit_folder
from medagentgym.audit.selection import audited_indices, without_audit
from medagentgym.config import Config
from medagentgym.configuration import experiments, instance_range, load_config
from medagentgym.credentials import check_credentials
from medagentgym.errors import UserError, exit_with
from medagentgym.policy import check_data_policy, may_be_quoted
from medagentgym.record import EpisodeKey, episode_file, parse_episode_file, read_object, write_text
from medagentgym.tasks.base import Task
from medagentgym.tasks.registry import get_task_class
from medagentgym.tasks.selection import why_none_is_left

SMALLEST_BATCH, LARGEST_BATCH, BATCHES = 20, 200, 16
NO_SPENDING = frozenset({"-n", "--dry-run", "--dryrun", "--lint", "--unlock", "--list-rules", "--touch", "-t", "--summary", "--rulegraph", "--dag"})
"""Flags of Snakemake under which no episode can run, so that missing credentials are no reason to stop."""
WITHOUT_EPISODES = ("build_data:", "audit_task:", "audit:")
"""How Snakemake names the jobs, in processes of their own, that must not depend on which episodes there are to be."""


def data_folder(config: Config) -> Path:
    """Where the data of a task are built."""
    return config.work_dir / "data" / config.task


def batch_size(config: Config, episodes: int) -> int:
    """Episodes a shard. `auto` depends on the number of episodes alone."""
    if config.batch_size != "auto":
        return config.batch_size
    return min(LARGEST_BATCH, max(SMALLEST_BATCH, math.ceil(episodes / BATCHES)))


@dataclass(frozen=True)
class ShardPlan:
    """The episodes of one job: positions `[first, end)` in the experiment's list of episodes."""

    experiment: ExperimentPlan
    first: int
    end: int

    @property
    def rule(self) -> str:
        """Name of the shard's rule."""
        return f"episodes_{self.experiment.number}_{self.first}"

    @property
    def files(self) -> list[str]:
        """The records of the shard's episodes."""
        return [self.experiment.file(key) for key in self.experiment.keys[self.first : self.end]]

    @property
    def log(self) -> str:
        """Where the shard's worker writes what it says."""
        return f"{self.experiment.log_folder}/{self.first}.log"


@dataclass(frozen=True)
class ExperimentPlan:
    """One experiment: its episodes in order, and where its files are."""

    config: Config
    number: int
    keys: tuple[EpisodeKey, ...]
    excluded_by_audit: int = 0
    """How many instances `data.exclude: audit` leaves out."""

    @classmethod
    def make(cls, config: Config, number: int) -> ExperimentPlan:
        """Plan an experiment. Reads the task's source files; raises `UserError`."""
        task = get_task_class(config.task)
        wanted = instance_range(config, task.count(config))
        indices = [idx for idx in task.indices(config) if idx in wanted]
        if not indices:
            name = f"{config.task}/{config.result_dir_tag}/{config.mode}"
            raise UserError(f"{name}: no instance is left to ask: {why_none_is_left(config, task)}")
        left_out = len(audited_indices(config)) - len(indices) if config.data.excludes_ungradable else 0
        keys = tuple(EpisodeKey(idx, rollout) for idx in indices for rollout in range(config.training.num_rollouts))
        return cls(config, number, keys, left_out)

    @classmethod
    def without_episodes(cls, config: Config, number: int) -> ExperimentPlan:
        """Plan no more than the data of an experiment."""
        get_task_class(config.task)
        return cls(config, number, ())

    @staticmethod
    def folder_of(config: Config) -> Path:
        """The folder of an experiment's records."""
        return config.work_dir / config.task / str(config.result_dir_tag) / config.mode

    @cached_property
    def folder(self) -> Path:
        """The folder of the records."""
        return self.folder_of(self.config)

    @property
    def name(self) -> str:
        """The experiment in the words of its folder."""
        return f"{self.config.task}/{self.config.result_dir_tag}/{self.config.mode}"

    @property
    def log_folder(self) -> str:
        """Where the workers of the experiment write what they say."""
        return f"{self.config.work_dir}/logs/{self.name}"

    @property
    def scores(self) -> str:
        """The scores of the experiment's episodes, beside the folder of the records."""
        return f"{self.folder.parent}/scores_{self.config.mode}.parquet"

    @property
    def data(self) -> str:
        """The manifest of the task's built data."""
        return f"{data_folder(self.config)}/build.json"

    def file(self, key: EpisodeKey) -> str:
        """The record of an episode."""
        return str(episode_file(self.folder, key, self.config.training.num_rollouts))

    @cached_property
    def files(self) -> list[str]:
        """The records of all episodes, in order."""
        return [self.file(key) for key in self.keys]

    @cached_property
    def shards(self) -> list[ShardPlan]:
        """The jobs that make the episodes."""
        size = batch_size(self.config, len(self.keys))
        return [ShardPlan(self, first, min(first + size, len(self.keys))) for first in range(0, len(self.keys), size)]

    @cached_property
    def existing(self) -> list[str]:
        """The records that are there now."""
        try:
            present = {entry.name for entry in os.scandir(self.folder)}
        except FileNotFoundError:
            return []
        return [file for file in self.files if os.path.basename(file) in present]


@dataclass(frozen=True)
class Plan:
    """A run: its experiments and what they make."""

    name: str
    experiments: tuple[ExperimentPlan, ...]
    partial: bool
    single: bool
    """The command line names episode files: each is made alone, by a rule of its own."""

    @property
    def work_dir(self) -> str:
        """The working folder."""
        return str(self.experiments[0].config.work_dir)

    @property
    def shards(self) -> list[ShardPlan]:
        """The jobs of all experiments; none where only what exists is scored, or where the command line names single episodes."""
        return [] if self.partial or self.single else [shard for experiment in self.experiments for shard in experiment.shards]

    @property
    def episodes(self) -> list[str]:
        """The records of all experiments; none where only what exists is scored."""
        return [] if self.partial else [file for experiment in self.experiments for file in experiment.files]

    @property
    def scores(self) -> list[str]:
        """The scores of all experiments."""
        return [experiment.scores for experiment in self.experiments]

    @property
    def beside_scores(self) -> list[str]:
        """What the report needs beside the scores: wrong answers and timings of all experiments."""
        return [f"{scores.removesuffix('.parquet')}_{what}.csv" for scores in self.scores for what in ("wrong", "timings")]

    @property
    def quoted(self) -> list[str]:
        """The experiments whose questions, answers and golds may stand in the report."""
        return [experiment.name for experiment in self.experiments if may_be_quoted(experiment.config)]

    @property
    def tasks(self) -> dict[str, Config]:
        """One configuration for each task, from which its data are built."""
        return {experiment.config.task: experiment.config for experiment in self.experiments}

    @property
    def data(self) -> list[str]:
        """The manifests of the built data of all tasks."""
        return [f"{data_folder(config)}/build.json" for config in self.tasks.values()]

    def sources(self, task: str) -> list[str]:
        """The files from which the data of a task are built."""
        config = self.tasks[task]
        return [os.path.normpath(path) for path in get_task_class(task).sources(config)]

    def scored_files(self, task: str, tag: str, mode: str) -> list[str]:
        """The records that are scored: all that were asked for, or where a partial table is wanted those that exist."""
        experiment = self.experiment(task, tag, mode)
        return experiment.existing if self.partial else experiment.files

    def scoring_fingerprint(self, task: str) -> str:
        """SHA-256 of what scoring depends on besides the episodes: the judges and their code. Scores of another fingerprint are made again."""
        config = self.tasks[task]
        judges = get_task_class(task).judges()
        modules = [*SCORING_MODULES, *(type(judge).__module__ for judge in judges.values())]
        return fingerprint.digest([config.scoring.model_dump(mode="json"), fingerprint.code_digest(modules)])

    @property
    def audits(self) -> list[str]:
        """The audits of all tasks."""
        return [f"{audit_folder(Path(self.work_dir))}/{task}.csv" for task in self.tasks]

    def audit_fingerprint(self, task: str) -> str:
        """SHA-256 of what an audit depends on besides the data: the instances, the sandbox, and the code of task, judges and probes."""
        kind = get_task_class(task)
        configs = [without_audit(experiment.config) for experiment in self.experiments if experiment.config.task == task]
        asked = [
            [config.mode, config.start_idx, config.end_idx, config.training.rollout_indices]
            + [block.model_dump(mode="json") for block in (config.data, config.sandbox, config.scoring)]
            for config in configs
        ]
        modules = [*AUDIT_MODULES, *kind.code_modules, *(base.__module__ for base in kind.__mro__ if issubclass(base, Task))]
        modules += [type(judge).__module__ for judge in kind.judges().values()]
        return fingerprint.digest([AUDIT_SCHEMA, json.dumps(asked, default=str), fingerprint.code_digest(modules)])

    @property
    def asked(self) -> dict[str, int]:
        """How many episodes each experiment was asked for."""
        return {experiment.name: len(experiment.keys) for experiment in self.experiments}

    @property
    def excluded_by_audit(self) -> dict[str, int]:
        """How many instances `data.exclude: audit` left out of each experiment that has it."""
        return {experiment.name: experiment.excluded_by_audit for experiment in self.experiments if experiment.config.data.excludes_ungradable}

    @property
    def report(self) -> str:
        """The folder of the run's tables and figures."""
        return f"{self.work_dir}/reports/{self.name}"

    @cached_property
    def content(self) -> str:
        """The plan file: the resolved configuration of every experiment. Holds no secrets, because a configuration holds none."""
        return json.dumps(
            {"name": self.name, "experiments": [experiment.config.model_dump(mode="json") for experiment in self.experiments]}, indent=1
        )

    @property
    def file(self) -> str:
        """Where the plan file lies: named by its content."""
        return f"{self.work_dir}/.plans/{fingerprint.digest(self.content)[:16]}.json"

    def write(self) -> None:
        """Write the plan file, in a working folder that is private to its user. Raises `UserError` where that folder cannot be written."""
        folder = Path(self.work_dir)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
            write_text(Path(self.file), self.content + "\n")
        except OSError as error:
            raise UserError(f"work_dir: {folder} cannot be written ({error.strerror}); choose another one, or make room") from error

    def experiment(self, task: str, tag: str, mode: str) -> ExperimentPlan:
        """The experiment of a folder."""
        return next(found for found in self.experiments if found.name == f"{task}/{tag}/{mode}")

    def position(self, task: str, tag: str, mode: str, episode: str) -> int:
        """Position of the episode `<idx>` or `<idx>_<rollout>` in its experiment's list. Raises `UserError` where it is not planned."""
        experiment = self.experiment(task, tag, mode)
        file = str(experiment.folder / f"history_{episode}.json")
        if file not in experiment.files:
            raise UserError(f"{file}: not an episode of this configuration (check start_idx, end_idx and the filters in `data`)")
        return experiment.files.index(file)

    def closing_words(self, since: float) -> str:
        """Where the report of this run is, if it was made after `since`."""
        report = Path(self.report, "report.html")
        made = report.exists() and report.stat().st_mtime >= since
        return f"report: {report}\nprint the table: medagentgym show {self.report}" if made else ""

    def failures(self, since: float) -> list[str]:
        """Why jobs failed, each reason once: the last lines of the logs that were written after `since` (seconds since the epoch)."""
        counts: Counter[str] = Counter()
        for log in sorted(Path(f"{self.work_dir}/logs").rglob("*.log")):
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.stat().st_mtime >= since else []
            if lines and lines[-1].startswith(("failed: ", "stopped: ", "medagentgym: ")):
                counts[f"{log.parent.relative_to(f'{self.work_dir}/logs')}: {lines[-1]}"] += 1
        return [reason if count == 1 else f"{reason} ({count} batches)" for reason, count in counts.items()]


def make_plan(config: Config, *, partial: bool = False, single: bool = False, data_only: bool = False) -> Plan:
    """Plan a run; with `data_only` without its episodes, whose choice may rest on the built data or on the audit. Raises `UserError`."""
    make = ExperimentPlan.without_episodes if data_only else ExperimentPlan.make
    planned = tuple(make(experiment, number) for number, experiment in enumerate(experiments(config)))
    for experiment in planned:
        first = next(other for other in planned if other.config.task == experiment.config.task)
        if experiment.config.data.model_dump(exclude=NOT_BUILT) != first.config.data.model_dump(exclude=NOT_BUILT):
            raise UserError(
                f"experiments[{experiment.number}].data: differs from that of experiments[{first.number}], but one work_dir holds one data set "
                "a task; give them the same `data`, or run them with two work_dir"
            )
    return Plan(config.name or "run", planned, partial, single)


SCORING_MODULES = ("medagentgym.scores", "medagentgym.answers", "medagentgym.judges", "medagentgym.sandbox.answers")
"""Modules and packages whose code decides a score, besides those of the task's judges."""
AUDIT_MODULES = (
    "medagentgym.audit.instances",
    "medagentgym.audit.playing",
    "medagentgym.audit.probe_words",
    "medagentgym.audit.tables",
    "medagentgym.tasks.broken_programs",
    "medagentgym.tasks.cheats",
    "medagentgym.env.environment",
    "medagentgym.sandbox.zygote",
    *SCORING_MODULES,
)
"""Modules whose code decides what an audit says, besides those of the task and of its judges."""
NOT_BUILT = {"exclude", "only", "impossible", "empty_gold", "credentialed", "metadata_path", "show_method"}
"""Keys of `data` that change nothing in what is built: they choose instances, or what is shown of them, or say what the data are."""


def check(plan: Plan, *, spending: bool) -> None:
    """Check before anything is spent: fingerprints, and for missing episodes credentials, data policy and interpreter.

    Writes nothing; raises `UserError`. Where nothing can be spent (a dry run), what would stop a run for missing episodes is only told.
    """
    for experiment in plan.experiments:
        check_built_data(experiment.config)
        if plan.partial:
            if not experiment.existing:
                raise UserError(f"{experiment.folder}: holds no episode to score; run without partial=true first")
            continue
        make_agent(experiment.config.agent, ())
        fingerprint.check_configuration(experiment.folder, experiment.config)
        if len(experiment.existing) < len(experiment.files):
            try:
                _check_spending(experiment.config)
            except UserError as error:
                if spending:
                    raise
                print(f"medagentgym: the run itself would be refused: {error}", file=sys.stderr)


def check_audit(plan: Plan) -> None:
    """Check before an audit, which calls no model and touches no episode: the built data, and the interpreter of the code steps."""
    for experiment in plan.experiments:
        check_built_data(experiment.config)
        environments.interpreter(experiment.config, get_task_class(experiment.config.task))


def _check_spending(config: Config) -> None:
    check_credentials(config)
    task = get_task_class(config.task)
    check_data_policy(config, credentialed=task.is_credentialed(config))
    environments.interpreter(config, task)
    if config.sandbox.network != "none":
        from medagentgym.sandbox import choose_backend

        choose_backend(config.sandbox.backend, network=config.sandbox.network)


def check_built_data(config: Config) -> None:
    """Refuse data that were built from another configuration. Raises `UserError` naming the keys that differ."""
    manifest = data_folder(config) / "build.json"
    try:
        built = read_object(manifest).get("configuration")
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise UserError(f"{manifest}: not readable ({error}); delete {manifest.parent} to have the data built again") from error
    wanted = config.data.model_dump(mode="json", exclude=NOT_BUILT)
    different = [key for key in wanted if isinstance(built, dict) and built.get(key) != wanted[key]]
    if different:
        raise UserError(
            f"{manifest.parent}: was built with another {', '.join(f'data.{key}' for key in different)}; "
            "use another work_dir, or delete the folder to have it built again"
        )


def read_plan(path: Path) -> list[Config]:
    """The configurations of a plan file. Raises `UserError` where it is missing."""
    try:
        return [Config.model_validate(experiment) for experiment in read_object(path)["experiments"]]
    except OSError as error:
        raise UserError(f"{path}: the plan file is missing; run snakemake without --no-hooks, whose start writes it") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a plan file; run snakemake again, whose start writes it") from error


def check_targets(plan: Plan, targets: Iterable[str]) -> None:
    """Refuse a target that looks like an episode and is none of the plan. Raises `UserError`."""
    named = [target for target in targets if parse_episode_file(os.path.basename(target))]
    if not named:
        return
    planned = {os.path.abspath(file): file for experiment in plan.experiments for file in experiment.files}
    for target in named:
        file = planned.get(os.path.abspath(target))
        if file is None:
            first = next(iter(planned.values()), "")
            raise UserError(
                f"{target}: not an episode of this configuration, whose first is {first}; check start_idx, end_idx and the filters in `data`"
            )
        if os.path.normpath(target) != file:
            raise UserError(f"{target}: write it as the configuration does, {file}")


def plan_workflow(
    config_files: Sequence[Path], overrides: Mapping[str, Any], *, main_process: bool, command_line: Sequence[str], targets: Collection[str] = ()
) -> Plan:
    """The plan of the Snakemake run whose command line and targets these are; a user's mistake ends the process with one line.

    `main_process` is false in the processes of cluster jobs, which have no targets and check nothing again.
    """
    try:
        given = dict(overrides)
        partial = _true_or_false("partial", given.pop("partial", False))
        if len(config_files) != 1:
            more = f"; {config_files[-1]} was read as a second one: targets stand before --configfile" if config_files else ""
            raise UserError(f"snakemake: give one configuration file, for example --configfile config/demo.yaml{more}")
        config = load_config(Path(os.path.relpath(config_files[0])), given)
        single = any(token.startswith("episode:") or parse_episode_file(os.path.basename(token)) for token in command_line)
        audits = [target for target in targets if target == "audit" or Path(target).parent == audit_folder(config.work_dir)]
        data_only = {"data", *audits}.issuperset(targets or ["all"]) or any(token.startswith(WITHOUT_EPISODES) for token in command_line)
        plan = make_plan(config, partial=partial, single=single, data_only=data_only)
        for task in plan.tasks:
            plan.sources(task)
        if main_process and audits and data_only:
            check_audit(plan)
        elif main_process:
            check_targets(plan, targets)
            check(plan, spending=not partial and NO_SPENDING.isdisjoint(command_line))
        return plan
    except UserError as error:
        exit_with(error)


def _true_or_false(key: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise UserError(f"command line: {key}: expects true or false, not {value!r}")
    return text == "true"
