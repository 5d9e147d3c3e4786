"""What can be asked, and the SQL for it: one small rule each.

A rule has a cue that the skeleton of a question must hold, and a function that writes the query. The rules are tried in the order of `RULES`, the
more particular before the more general; of several that fit, the later ones are readings to fall back on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from medagentgym.agent.baseline_rules.asked import (
    costs,
    counts,
    differences,
    durations,
    listings,
    names,
    occurrences,
    periods,
    ranks,
    survival,
    values,
)
from medagentgym.agent.baseline_rules.asked.rules import Shape
from medagentgym.agent.baseline_rules.query_parts import Reading

_IN_ORDER = (names, costs, survival, ranks, differences, durations, periods, counts, occurrences, listings, values)
RULES = tuple(rule for module in _IN_ORDER for rule in module.RULES)
"""All rules, in the order in which they are tried."""


@dataclass(frozen=True)
class Query:
    """A query, the shape of its answer, and the name of the rule that wrote it."""

    sql: str
    shape: Shape
    rule: str


def queries(reading: Reading) -> Iterator[Query]:
    """The queries that may answer a question, likeliest first."""
    for rule in RULES:
        if rule.cue.search(reading.question.skeleton):
            sql = rule.write(reading)
            if sql is not None:
                yield Query(reading.schema.runnable(sql), rule.shape, rule.name)
