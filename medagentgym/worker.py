"""One shard: many episodes in flight in one process.

The worker checks the fingerprint before it spends anything, skips what exists, writes every finished episode at once, and says why one is missing.
It holds a lock for each episode that it runs, so that two workers never pay for the same one, and it stops when the workflow that started it is gone.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from medagentgym import fingerprint
from medagentgym.errors import InfrastructureError, MedAgentGymError, UserError, exit_with, infrastructure_boundary, one_line
from medagentgym.interruption import ending_when_told
from medagentgym.plan import ExperimentPlan, data_folder, read_plan
from medagentgym.record import EpisodeKey, episode_file, read_record

if TYPE_CHECKING:
    from medagentgym.config import Config
    from medagentgym.episode import Experiment
    from medagentgym.llm.debugger import Debugger
    from medagentgym.tasks.base import Task

GIVE_UP_AFTER = 5
"""Failures in a row after which a worker stops trying further episodes."""
PROGRESS_SECONDS = 10.0
"""How often a worker says how far it is."""
ROLLOUTS_A_LOCK = 4096
"""Distance of the lock positions of two instances."""


@contextmanager
def open_experiment(config: Config) -> Iterator[Experiment]:
    """Everything that the episodes of an experiment share, checked before anything is spent: data, policy, credentials, sandbox, fingerprint.

    Raises `UserError` or `InfrastructureError`.
    """
    from medagentgym.episode import Experiment
    from medagentgym.policy import check_data_policy
    from medagentgym.sandbox import choose_backend
    from medagentgym.sandbox.pool import BoxPool
    from medagentgym.tasks.registry import get_task_class

    task = get_task_class(config.task)(data_folder(config), config)
    load_needed_credentials(config)
    _check_few_shot(config, task)
    permissions = check_data_policy(config, credentialed=task.is_credentialed(config))
    wanted = fingerprint.complete(config, task) | {"data_policy": permissions}
    with infrastructure_boundary("sandbox"):
        backend = choose_backend(config.sandbox.backend, network=config.sandbox.network)
    task.box_has_own_paths = backend.own_file_system
    folder = ExperimentPlan.folder_of(config)
    with infrastructure_boundary("disk"):
        fingerprint.claim(folder, wanted)

    with BoxPool(backend, size=config.in_flight * task.boxes_an_episode) as pool:
        yield Experiment(config, task, backend, pool, folder, wanted["fingerprint"], debugger_of(config))


def load_needed_credentials(config: Config) -> None:
    """Take the credentials into this process's environment where a model of the configuration needs any, or a package index may."""
    from medagentgym.credentials import load_credentials, required_credentials

    if (required_credentials(config) or config.sandbox.network != "none") and config.credentials_path.exists():
        load_credentials(config.credentials_path)


def debugger_of(config: Config) -> Callable[[], Debugger] | None:
    """What gives the model of the `debug` action, built at its first use: the configured one, else the agent's own. None where there is neither."""
    from medagentgym.configuration import uses_model

    model = config.debugger or (config.agent.llm if uses_model(config) else None)
    if model is None:
        return None

    @cache
    def build() -> Debugger:
        from medagentgym.llm.debugger import Debugger

        return Debugger(model, config.agent.n_retry, config.agent.retry_delay)

    return build


def _check_few_shot(config: Config, task: Task) -> None:
    """Refuse examples that give asked questions away. Raises `UserError`."""
    from medagentgym.prompting import check_few_shot

    if config.prompts.few_shot is not None:
        asked = [task.instance(idx) for idx in type(task).indices(config)]
        check_few_shot(config, [instance.question for instance in asked], [instance.instance_id for instance in asked])


def run_instance(config: Config, idx: int, rollout: int = 0) -> dict[str, Any]:
    """Run one episode in this process and give its record. One that exists is read, not run again.

    Raises `UserError` or `InfrastructureError`; then no record is written.
    """
    key = EpisodeKey(idx, rollout)
    path = episode_file(ExperimentPlan.folder_of(config), key, config.training.num_rollouts)
    if not path.exists():
        with open_experiment(config) as experiment:
            Shard(experiment, [key]).run_one(key)
    return read_record(path)


@dataclass
class Shard:
    """The episodes that one worker owns, and how far they are."""

    experiment: Experiment
    keys: Sequence[EpisodeKey]
    tell: Callable[[str], None] = lambda line: None
    done: int = 0
    made: int = 0
    """Of those that are done, how many were run now; the others were there."""
    solved: int = 0
    """Of those that are done, how many the leading judge calls correct."""
    failures: list[tuple[EpisodeKey, str]] = field(default_factory=list)
    failures_in_a_row: int = 0
    stopped: bool = False
    _mutex: threading.Lock = field(default_factory=threading.Lock)
    _told: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Run what is missing, `in_flight` episodes at once. Failures are collected in `failures`.

        Raises `UserError` before anything is spent where an episode that exists was made with another task record.
        """
        from joblib import Parallel, delayed

        for key in self.keys:
            self._check_existing(key)
        Parallel(n_jobs=self.experiment.config.in_flight, backend="threading", batch_size=1, pre_dispatch="all")(
            delayed(self._attempt)(key) for key in self.keys
        )

    def _check_existing(self, key: EpisodeKey) -> None:
        path = episode_file(self.experiment.folder, key, self.experiment.config.training.num_rollouts)
        if path.exists():
            fingerprint.check_episode(path, read_record(path), self.experiment.fingerprint, self.experiment.task)

    def run_one(self, key: EpisodeKey) -> tuple[bool, bool]:
        """Run one episode unless it exists, and write its record. Gives whether it was run now, and whether the leading judge calls it correct.

        Raises what `run_episode` raises.
        """
        from medagentgym.episode import run_episode, write_record

        config, folder = self.experiment.config, self.experiment.folder
        path = episode_file(folder, key, config.training.num_rollouts)
        with episode_lock(folder, key):
            missing = not path.exists() and not _adopt(folder, key, config.training.num_rollouts)
            if missing:
                write_record(path, run_episode(self.experiment, key))
            return missing, is_solved(read_record(path), config.scoring.judges[0])

    def _attempt(self, key: EpisodeKey) -> None:
        if self.stopped:
            return
        try:
            with infrastructure_boundary("machine"):
                made, solved = self.run_one(key)
        except MedAgentGymError as error:
            self._failed(key, error)
            return
        with self._mutex:
            self.done += 1
            self.made += made
            self.solved += solved
            self.failures_in_a_row = 0
            if time.monotonic() - self._told > PROGRESS_SECONDS:
                self._told = time.monotonic()
                self.tell(self.progress())

    def _failed(self, key: EpisodeKey, error: MedAgentGymError) -> None:
        with self._mutex:
            self.failures.append((key, one_line(error)))
            self.failures_in_a_row += 1
            fatal = isinstance(error, UserError) or (isinstance(error, InfrastructureError) and error.fatal)
            self.stopped = self.stopped or fatal or self.failures_in_a_row >= GIVE_UP_AFTER
            self.tell(f"instance {key.idx} rollout {key.rollout}: {one_line(error)}")

    def progress(self) -> str:
        """How far the shard is, in a line."""
        config = self.experiment.config
        return (
            f"{config.task}/{config.result_dir_tag}/{config.mode}: episodes {self.keys[0].idx} to {self.keys[-1].idx}: "
            f"{self.done} of {len(self.keys)} done ({self.made} run now), {self.solved} solved (judge {config.scoring.judges[0]})"
        )


def is_solved(record: Mapping[str, Any], judge: str) -> bool:
    """Whether a judge called an episode correct when it was made, by the rule of the scores: its last attempt, or any one under `oracle_stop`."""
    if record["schema"] == "published":
        return judge == "published" and record["result"] == "success"
    right = [bool((attempt.get("verdicts") or {}).get(judge, {}).get("correct")) for attempt in record["attempts"]]
    if record.get("protocol") == "oracle_stop" and any(right):
        return True
    return bool(right) and right[-1] and record["stop_reason"] != "unparsable"


def _adopt(folder: Path, key: EpisodeKey, num_rollouts: int) -> bool:
    """Take the first rollout over from a run with one rollout, or one with several: the episode is linked, not paid for again."""
    if key.rollout != 0:
        return False
    other = episode_file(folder, key, 2 if num_rollouts == 1 else 1)
    try:
        os.link(other, episode_file(folder, key, num_rollouts))
    except FileNotFoundError:
        return False
    except FileExistsError:
        return True
    return True


@contextmanager
def episode_lock(folder: Path, key: EpisodeKey) -> Iterator[None]:
    """Hold the lock of one episode; wait while another worker holds it. The kernel frees the lock of a process that dies."""
    descriptor = _lock_file(folder)
    position = key.idx * ROLLOUTS_A_LOCK + key.rollout
    fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, position)
    try:
        yield
    finally:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, position)


@cache
def _lock_file(folder: Path) -> int:
    """One descriptor a process: closing any other of the same file would free all of the process's locks on it."""
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the episodes of a shard; exit status 1 where one is missing afterwards."""
    parser = argparse.ArgumentParser(
        prog="python -m medagentgym.worker", description="Run some episodes of a planned experiment.", allow_abbrev=False
    )
    parser.add_argument("--plan", type=Path, required=True, help="plan file that the workflow wrote")
    parser.add_argument("--experiment", type=int, required=True, help="number of the experiment in the plan")
    parser.add_argument("--episodes", required=True, help="positions FIRST:END in the experiment's list of episodes")
    parser.add_argument("--log", type=Path, required=True, help="file for what the worker says")
    options = parser.parse_args(arguments)
    options.log.parent.mkdir(parents=True, exist_ok=True)
    with options.log.open("w", encoding="utf-8") as log:
        try:
            missing = _run(options, log)
        except (UserError, InfrastructureError) as error:
            _tell(log, f"failed: {_redacted(error)}")
            exit_with(type(error)(_redacted(error)) if isinstance(error, UserError) else error)
    sys.exit(1 if missing else 0)


def _run(options: argparse.Namespace, log: IO[str]) -> bool:
    configs = read_plan(options.plan)
    experiment_plan = ExperimentPlan.make(configs[options.experiment], options.experiment)
    first, end = (int(part) for part in options.episodes.split(":"))
    keys = experiment_plan.keys[first:end]

    # Episodes in flight cannot be interrupted; what is finished is on disk, and the boxes die with this process.
    with ending_when_told(log, "finished episodes are kept"), open_experiment(experiment_plan.config) as experiment:
        shard = Shard(experiment, keys, tell=lambda line: _tell(log, _redacted(line)))
        shard.run()
    _tell(log, shard.progress())
    if shard.done < len(keys):
        key, reason = shard.failures[0]
        _tell(log, f"failed: {len(keys) - shard.done} of {len(keys)} episodes are missing; instance {key.idx}: {_redacted(reason)}")
    return shard.done < len(keys)


def _tell(log: IO[str], line: str) -> None:
    for stream in (log, sys.stderr):
        print(line, file=stream, flush=True)


def _redacted(value: object) -> str:
    from medagentgym.credentials import redact

    return redact(one_line(value))


if __name__ == "__main__":
    main()
