"""What can be said of a reference without any attempt: whether it is usable, and which references share an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

ReferenceStatus = Literal["usable", "zero", "empty", "error"]


@dataclass(frozen=True)
class ReferenceSummary:
    """A reference in two words."""

    status: ReferenceStatus
    """`usable`: there is something to find; `zero`: nothing but zeros; `empty`: the right answer is "nothing"; `error`: could not be computed."""
    key: str
    """The same for references that one and the same answer satisfies. The share of the commonest key is what the best constant answer scores."""


@runtime_checkable
class SummarisesReferences(Protocol):
    """A judge that can tell a reference's status and key."""

    def summarise(self, reference: Any) -> ReferenceSummary:
        """Sum the reference up."""
        ...
