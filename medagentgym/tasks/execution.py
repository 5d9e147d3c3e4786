"""What an execution of an agent's code is: what came out of it, and the evidence where it was an attempt."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from medagentgym.judges.base import Evidence
from medagentgym.sandbox.base import Box, StepResult


class Boxes(Protocol):
    """The boxes that an execution may use."""

    def own(self) -> Box:
        """The episode's box: everything that the agent runs runs there, and its files are kept from step to step."""
        ...

    def fresh(self, read_only: Mapping[str, Path] | None = None) -> AbstractContextManager[Box]:
        """Another box, clean and without network, with the instance's mounts or those of `read_only`, for as long as the context lasts.

        A task that uses it says so in `Task.boxes_an_episode`. Raises `InfrastructureError`.
        """
        ...


@dataclass(frozen=True)
class Execution:
    """What came of a `validate_code`."""

    result: StepResult
    """What the step record and the observation tell."""
    evidence: Evidence | None
    """What the judges get; None where the execution was no attempt."""
    remark: str = ""
    """A line for the agent that follows the description of `result`."""
    observation: str | None = None
    """What the agent reads in place of that description; None: the description."""

    @classmethod
    def of(cls, result: StepResult) -> Execution:
        """The execution of a program whose `answer` is what counts."""
        return cls(result, evidence_of(result) if result.exit_status == 0 and result.has_answer else None)


def evidence_of(result: StepResult) -> Evidence:
    """What a step left, as evidence."""
    return Evidence(result.has_answer, result.answer, result.stdout, result.stderr, result.exit_status)
