"""What can be said of a reference without any attempt: whether it is usable, and which references share an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

ReferenceStatus = Literal["usable", "zero", "empty", "error", "impossible"]


KEY_SEPARATOR = "|"


@dataclass(frozen=True)
class ReferenceSummary:
    """A reference in two words."""

    status: ReferenceStatus
    """`usable`: there is something to find; `zero`: nothing but zeros; `empty`: the right answer is "nothing"; `error`: could not be computed;
    `impossible`: abstaining is right, and no answer is."""
    key: str
    """The same for references that one and the same answer satisfies. Where different answers are right: their keys, joined by `KEY_SEPARATOR`; one
    answer then satisfies all references that have a key in common."""
    low: float | None = None
    """Where every number of a range satisfies the reference: the smallest, ..."""
    high: float | None = None
    """... and the largest of them. One answer may then satisfy references of different keys."""

    @property
    def keys(self) -> list[str]:
        """The keys of the answers that are right."""
        return self.key.split(KEY_SEPARATOR)


@runtime_checkable
class SummarisesReferences(Protocol):
    """A judge that can tell a reference's status and key."""

    def summarise(self, reference: Any) -> ReferenceSummary:
        """Sum the reference up."""
        ...


def most_satisfied(references: Iterable[ReferenceSummary], answers: int = 1) -> int:
    """How many of the references the best constant answer satisfies, or several of them together, each chosen for what the ones before it leave over.

    This is the floor of a judge on these references. One that could not be computed is satisfied by no answer, and neither is an impossible one.
    """
    left = [reference for reference in references if reference.status not in ("error", "impossible")]
    satisfied = 0
    for _ in range(answers):
        number, count = _best_number(left)
        key, of_key = next(iter(Counter(key for reference in left for key in reference.keys).most_common(1)), ("", 0))
        if max(count, of_key) == 0:
            break
        taken = [_holds(reference, number) if count > of_key else key in reference.keys for reference in left]
        satisfied += sum(taken)
        left = [reference for reference, is_taken in zip(left, taken, strict=True) if not is_taken]
    return satisfied


def _best_number(references: Iterable[ReferenceSummary]) -> tuple[float, int]:
    """The number that lies in most ranges, and in how many."""
    edges = []
    for reference in references:
        if reference.low is not None and reference.high is not None:
            edges += [(reference.low, 0), (reference.high, 1)]
    best, most, inside = 0.0, 0, 0
    for edge, ends in sorted(edges):
        inside += -1 if ends else 1
        if inside > most:
            best, most = edge, inside
    return best, most


def _holds(reference: ReferenceSummary, number: float) -> bool:
    return reference.low is not None and reference.high is not None and reference.low <= number <= reference.high
