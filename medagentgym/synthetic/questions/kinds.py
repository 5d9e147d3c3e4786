"""What a kind of question is, and the set of all kinds of a database."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from medagentgym.synthetic.clock import DAY, NOW
from medagentgym.synthetic.facts import Facts, Records, Rows


@dataclass(frozen=True)
class Drawn:
    """One question of a kind: its parameters and its gold SQL."""

    value: Mapping[str, Any]
    """Parameters that stand in braces in the wording."""
    query: str
    slots: Mapping[str, str] = field(default_factory=dict)
    """Phrases that stand in square brackets in the wording: limits of time, ranks, units."""
    times: Mapping[int, str] = field(default_factory=dict)
    """Position in EHRSQL's `t_tag` -> tag: 0 and 1 windows or visits, 2 "within", 3 and 4 first, last or second."""
    operations: Mapping[int, str] = field(default_factory=dict)
    """Position in EHRSQL's `o_tag` -> tag: 0 age group, 1 aggregate, 2 comparison, 3 rank, 4 survival period, 5 number of times, 6 smallest or
    largest, 7 unit of averaging, 8 unit of time."""


F = TypeVar("F", bound=Records)
"""The records of a database."""

Draw = Callable[[F, random.Random], Drawn | None]


@dataclass(frozen=True)
class Kind(Generic[F]):
    """A kind of question."""

    wording: str
    """Canonical wording, in lower case, with slots; it names the kind."""
    paraphrases: tuple[str, ...]
    draw: Draw[F]
    """Draws one question of the kind, or None where the draw did not lead to one that has an answer."""
    department: tuple[str, ...]
    importance: str


@dataclass(frozen=True)
class QuestionSet(Generic[F]):
    """All kinds of questions about a database."""

    database: str
    """Its name in EHRSQL."""
    kinds: list[Kind[F]] = field(default_factory=list)
    """The kinds that have an answer, in the order of their registration."""
    unanswerable: list[Kind[F]] = field(default_factory=list)

    def register(self, wording: str, *paraphrases: str, department: Sequence[str] = ("physician",), importance: str = "medium") -> Register[F]:
        """Make a drawing function a kind of question."""

        def add(draw: Draw[F]) -> Draw[F]:
            if any(kind.wording == wording for kind in self.kinds):
                raise ValueError(f"two kinds of questions are worded {wording!r}")
            self.kinds.append(Kind(wording, paraphrases, draw, tuple(department), importance))
            return draw

        return add


Register = Callable[[Draw[F]], Draw[F]]

MIMIC_III: QuestionSet[Facts] = QuestionSet("mimic_iii")
"""Complete once `medagentgym.synthetic.questions.mimic_iii` has been imported."""
register = MIMIC_III.register


_SLOT = re.compile(r"\{(\w+)\}|\[(\w+)\]")


def fill(wording: str, drawn: Drawn) -> str:
    """The wording with its slots filled. Raises KeyError for a slot that the question does not have."""
    text = " ".join(_SLOT.sub(lambda match: str(drawn.value[match[1]] if match[1] else drawn.slots[match[2]]), wording).split())
    text = re.sub(r"\s+([?.,:])(?=\s|$)", r"\1", text)
    return re.sub(r"\b([Aa]) (?=[aeio]|u(?!r))", r"\1n ", text)


class NothingToAskError(Exception):
    """The records hold nothing that a kind of question could be about."""


_RECENT_SHARE = 0.2
"""How often a recent row is preferred, so that questions about today and this month occur."""

Option = TypeVar("Option")


def pick(rng: random.Random, options: Sequence[Option]) -> Option:
    """One of `options`. Raises `NothingToAskError` where there are none."""
    if not options:
        raise NothingToAskError
    return rng.choice(options)


def pick_row(rng: random.Random, facts: Records, raw: str) -> tuple[Rows, int]:
    """The rows of a raw table, and the position of one of them, now and then a recent one. Raises `NothingToAskError` where there are none."""
    rows = facts.rows(raw)
    if rng.random() < _RECENT_SHARE:
        recent = np.flatnonzero(rows.time >= NOW - rng.choice([1, 31]) * DAY)
        if len(recent):
            return rows, int(rng.choice(recent))
    return rows, pick(rng, range(len(rows)))
