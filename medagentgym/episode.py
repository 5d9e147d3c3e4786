"""One episode: an agent answers observations with actions until it is done, and a record of it is made.

Verdict or nothing: `run_episode` gives a record for an episode that ended in a verdict. Where the model, the sandbox, the disk or the machine failed
it raises `InfrastructureError`, and there is no record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medagentgym import fingerprint
from medagentgym.agent.base import Agent, EpisodeStart, Usage
from medagentgym.agent.registry import make_agent
from medagentgym.credentials import redact
from medagentgym.env.environment import EpisodeEnvironment
from medagentgym.errors import EpisodeOver, infrastructure_boundary
from medagentgym.record import RECORD_SCHEMA, EpisodeKey, write_text
from medagentgym.sandbox.base import Backend
from medagentgym.tasks.base import Task

if TYPE_CHECKING:
    from medagentgym.config import Config
    from medagentgym.llm.debugger import Debugger
    from medagentgym.sandbox.pool import BoxPool


@dataclass(frozen=True)
class Experiment:
    """What the episodes of an experiment share: its data are built, its sandbox works, its result folder is claimed."""

    config: Config
    task: Task
    backend: Backend
    pool: BoxPool
    folder: Path
    """Folder of the records."""
    fingerprint: str
    debugger: Callable[[], Debugger] | None
    """Gives the model of the `debug` action, built at the first call; None where there is no model."""


def episode_seed(config: Config, key: EpisodeKey) -> int:
    """The seed of an episode, in [0, 2**31): follows from the configured seed, the task, the mode, the instance and the rollout."""
    text = json.dumps([config.training.seed, config.task, config.mode, key.idx, key.rollout])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % 2**31


def run_episode(experiment: Experiment, key: EpisodeKey) -> dict[str, Any]:
    """Run one episode to its verdict and give its record (`medagentgym.record`). Raises `InfrastructureError`."""
    config, task = experiment.config, experiment.task
    with infrastructure_boundary("machine"):
        environment = EpisodeEnvironment(task, config, experiment.pool, debugger=experiment.debugger)
        try:
            agent = make_agent(config.agent, environment.permitted_actions)
            _play(environment, agent, key, episode_seed(config, key))
            return _record(experiment, environment, agent, key)
        finally:
            environment.close()


def _play(environment: EpisodeEnvironment, agent: Agent, key: EpisodeKey, seed: int) -> None:
    task = environment.task
    _, info = environment.reset(key.idx, seed=seed)
    agent.reset(
        EpisodeStart(
            task=task.name,
            idx=key.idx,
            rollout=key.rollout,
            seed=seed,
            permitted_actions=environment.permitted_actions,
            prompt=info["messages"],
            fields=environment.fields,
            reference_actions=(lambda: task.reference_actions(environment.instance)) if agent.sees_reference else None,
        )
    )
    observation: str | None = None
    while environment.trajectory.stop_reason is None:
        try:
            action, params = agent.act(observation)
        except EpisodeOver as over:
            environment.end(over.stop_reason)
            return
        observation, *_ = environment.act(action, params, tuple(agent.remarks))
    agent.observe(observation or "")


def _record(experiment: Experiment, environment: EpisodeEnvironment, agent: Agent, key: EpisodeKey) -> dict[str, Any]:
    config, task, trajectory = experiment.config, experiment.task, environment.trajectory
    verdict = trajectory.verdict
    assert verdict is not None and trajectory.stop_reason is not None
    usage = Usage()
    usage.add(agent.usage)
    usage.add(trajectory.debugger_usage)
    return {
        "schema": RECORD_SCHEMA,
        "task": task.name,
        "mode": config.mode,
        "idx": key.idx,
        "instance_id": environment.instance.instance_id,
        "rollout": key.rollout,
        "agent": agent.name,
        "sees_reference": agent.sees_reference,
        "seed": environment.seed,
        "fingerprint": fingerprint.of_episode(experiment.fingerprint, task, key.idx),
        "protocol": config.protocol,
        "stop_judge": config.stop_judge,
        "result": "success" if verdict.correct else "failure",
        "score": verdict.score,
        "stop_reason": trajectory.stop_reason,
        "reason": verdict.reason,
        "usage": usage.to_json(),
        "sandbox": {"backend": experiment.backend.name, "level": experiment.backend.level},
        "versions": fingerprint.versions(config, task),
        "steps": trajectory.steps,
        "attempts": trajectory.attempts,
        "messages": agent.messages,
    }


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record whole or not at all, secrets taken out; the episode's lock is held. Raises `InfrastructureError` where the disk fails."""
    with infrastructure_boundary("disk"):
        write_text(path, redact(json.dumps(record, ensure_ascii=False, indent=1)) + "\n", alone=True)
