"""What a rule for something that can be asked is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from medagentgym.agent.baseline_rules.query_parts import Reading

Shape = Literal["value", "truth", "list"]
"""What an answer is: one value, yes or no, or as many rows as there are."""

Writer = Callable[[Reading], str | None]
"""Writes the SQL for a reading, or gives None where the question lacks what the rule needs."""


@dataclass(frozen=True)
class Rule:
    """One thing that can be asked."""

    name: str
    cue: re.Pattern[str]
    """What the skeleton of a question that asks for it holds."""
    shape: Shape
    write: Writer


class RuleBook:
    """Rules in the order in which they are tried: the more particular before the more general."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def rule(self, cue: str, shape: Shape = "value") -> Callable[[Writer], Writer]:
        """Enter a function as a rule, under its own name."""

        def enter(write: Writer) -> Writer:
            self._rules.append(Rule(write.__name__.replace("_", " "), re.compile(cue), shape, write))
            return write

        return enter
