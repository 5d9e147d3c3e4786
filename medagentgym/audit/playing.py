"""Playing a probe: a real episode in a real box, whose evidence is kept whole.

Probes are played under `protocol: submit`, where every attempt is judged by every judge and none ends the episode. Where nothing counts as an attempt
there, the probe is played once more as the published system runs episodes: to its judge every execution that succeeds is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from medagentgym.config import PromptConfig
from medagentgym.env.environment import EpisodeEnvironment
from medagentgym.errors import one_line
from medagentgym.judges.base import Evidence, Judge, Verdict
from medagentgym.tasks.base import Instance, Task
from medagentgym.tasks.probes import CANNOT_RUN, NOT_EXPRESSIBLE, REFERENCE_FAILS, Floor

if TYPE_CHECKING:
    from medagentgym.config import Config
    from medagentgym.sandbox.pool import BoxPool

MOST_STEPS = 10_000
_LONGEST_DETAIL = 200


@dataclass(frozen=True)
class Played:
    """What a probe left behind."""

    attempts: tuple[Evidence, ...]
    """The evidence of every attempt, under `protocol: submit`."""
    executions: tuple[Evidence, ...] = ()
    """Where there is none: what only the published judge would have looked at."""
    no_attempt: tuple[str, str] | None = None
    """Where there is none: why an instance whose reference ends so cannot be judged, and more words on that."""

    def verdict(self, judge: Judge, reference: Any, floor: Floor) -> Verdict:
        """What a judge says of the probe: of its last attempt, or, for several guesses, of the first that it accepts."""
        attempts = self.attempts or (self.executions if judge.name == "published" else ())
        verdict = Verdict(False, 0.0, "no attempt was made")
        for evidence in attempts if floor == "guesses" else attempts[-1:]:
            verdict = judge.judge(reference, evidence)
            if verdict.correct:
                break
        return verdict

    def differs_from(self, other: Played) -> bool:
        """Whether another play of the same probe left something else behind. What was written to stderr does not count."""
        mine, others = ([replace(evidence, stderr="") for evidence in played.attempts] for played in (self, other))
        return mine != others


class Player:
    """Plays probes on the instances of one task. May be used by several threads."""

    def __init__(self, config: Config, task: Task, pool: BoxPool) -> None:
        shared = {"num_steps": MOST_STEPS, "prompts": PromptConfig(), "tell_verdict": False}
        self._task = task
        self._pool = pool
        self._submit = config.model_copy(update={**shared, "protocol": "submit", "stop_judge": "strict"})
        self._oracle_stop = config.model_copy(update={**shared, "protocol": "oracle_stop", "stop_judge": "published"})

    def play(self, instance: Instance, actions: Sequence[tuple[str, Mapping[str, Any]]], seed: int) -> Played:
        """Play `actions` on an instance; `seed` seeds the code steps. Raises `InfrastructureError`."""
        attempts, steps = self._evidence(self._submit, instance, actions, seed)
        if attempts:
            return Played(attempts)
        executions, _ = self._evidence(self._oracle_stop, instance, actions, seed)
        return Played((), executions, _why_no_attempt(steps))

    def _evidence(
        self, config: Config, instance: Instance, actions: Sequence[tuple[str, Mapping[str, Any]]], seed: int
    ) -> tuple[tuple[Evidence, ...], list[dict[str, Any]]]:
        seen: list[Evidence] = []
        environment = EpisodeEnvironment(self._task, config, self._pool)
        first = next(iter(environment.judges))
        environment.judges = {**environment.judges, first: _Witness(environment.judges[first], seen)}
        try:
            environment.reset(instance.idx, seed=seed)
            for action, params in actions:
                if environment.trajectory.stop_reason is None:
                    environment.act(action, params)
            environment.end("submitted")
        finally:
            environment.close()
        return tuple(seen), environment.trajectory.steps


class _Witness:
    """A judge that keeps the evidence that it is given, before any cap of the record."""

    def __init__(self, judge: Judge, seen: list[Evidence]) -> None:
        self.name = judge.name
        self._judge = judge
        self._seen = seen

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        self._seen.append(evidence)
        return self._judge.judge(reference, evidence)


def _why_no_attempt(steps: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Why a reference with these steps cannot be judged, and more words on that."""
    last = steps[-1] if steps else {}
    if "answer_bytes" in last.get("limits_hit", ()):
        return NOT_EXPRESSIBLE, "the answer is larger than sandbox.answer_bytes"
    if last.get("limits_hit") or last.get("exit_status", 0) != 0:
        lines = str(last.get("observation", "")).strip().splitlines()
        return CANNOT_RUN, one_line(lines[-1] if lines else "")[:_LONGEST_DETAIL]
    return REFERENCE_FAILS, "it makes no attempt"
