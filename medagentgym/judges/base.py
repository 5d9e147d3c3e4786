"""What a judge is: it compares the evidence of one attempt with the reference of an instance, and knows neither agents nor boxes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Evidence:
    """What one attempt left behind, as stored in the record (capped)."""

    has_answer: bool
    answer: Any
    """The code's `answer` as JSON data (see `medagentgym.sandbox.answers`)."""
    stdout: str
    stderr: str
    exit_status: int | None
    complete: bool = True
    """False where a cap cut something off: the verdict then cannot be made again from the record."""
    gathered: Any = None
    """What the task gathered of the attempt beside that, as JSON data: results of assertions, a program's output. None: nothing."""
    abstained: bool = False
    """Whether the agent said that the data cannot answer the question. There is no answer then, and no output."""

    def to_json(self) -> dict[str, Any]:
        """The evidence as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Evidence:
        """The evidence that `to_json` gave."""
        return cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data})


@dataclass(frozen=True)
class Verdict:
    """What a judge says of one attempt."""

    correct: bool
    score: float
    reason: str
    """One line for a person: why."""

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON data."""
        return asdict(self)


class Judge(Protocol):
    """A way of comparing. Judges are pure: the same evidence and reference always give the same verdict."""

    name: str
    """`strict` or `published`."""

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Judge one attempt. `reference` is what the task's `reference(instance)` gives."""
        ...
