"""What a question is about, as its rules need it: the rows of the main event, a measured value, an order, a length of time."""

from __future__ import annotations

import re
from collections.abc import Callable

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.phrases import Order
from medagentgym.agent.baseline_rules.query_parts import Reading, Rows, quoted
from medagentgym.agent.baseline_rules.schema import EventKind

PATIENTS = "COUNT(DISTINCT visit.SUBJECT_ID)"


def main_kind(reading: Reading) -> EventKind | None:
    """The kind of event that the main clause is about: that of its first name, else that of its words."""
    names = reading.named_in(reading.question.main)
    return names[0].kind if names else reading.kind_in(reading.question.main.text)


def main_rows(reading: Reading) -> Rows | None:
    """The rows of the main event, narrowed by all that the question says."""
    kind = main_kind(reading)
    return None if kind is None else reading.rows(kind, reading.named_in(reading.question.main))


def any_rows(reading: Reading) -> Rows | None:
    """The rows of the main event; where the main clause speaks of none, those of the other clause."""
    return main_rows(reading) or condition_rows(reading)


def condition_rows(reading: Reading) -> Rows | None:
    """The rows of the event that the last clause names, for questions that ask what became of its patients."""
    names = reading.named_in(reading.question.condition) or list(reading.names)
    if not names:
        return None
    rows = reading.rows(names[0].kind, names, windows=False, related=False)
    return rows.within(reading.question.windows)


def measured_values(reading: Reading, function: str | None = None) -> tuple[Rows, str] | None:
    """The rows of a measured value, and its column, or an SQL function of it."""
    rows = main_rows(reading)
    if rows is None or rows.kind.value is None:
        return None
    column = f"event.{rows.kind.value}"
    return rows.where(f"{column} IS NOT NULL"), f"{function}({column})" if function else column


def two_measurements(reading: Reading, column: Callable[[Rows], str]) -> tuple[str, str] | None:
    """Queries for two measurements, in the order in which the question names them."""
    found = measured_values(reading)
    named = phrases.orders(reading.question.skeleton)
    if found is None or len(named) < 2:
        return None
    rows, _ = found
    one, other = (rows.select(column(rows), end=order.clause(rows.time)) for order in named[:2])
    return one, other


def order_in(reading: Reading, default: Order) -> Order:
    """The order that the main clause names first."""
    return next(iter(phrases.orders(reading.question.main.text)), default)


_UNIT = re.compile(r"\b(hour|day|minute)s?\b")
_IN_A_DAY = {"hour": "24 * ", "minute": "1440 * ", "day": ""}


def length_of_time(reading: Reading, begin: str, end: str) -> str:
    """The time from one moment to another, in the unit that the question asks for."""
    unit = _UNIT.search(reading.question.text)
    return f"{_IN_A_DAY[unit[1]] if unit else ''}(julianday({end}) - julianday({begin}))"


def now(reading: Reading) -> str:
    """The present as an SQL string."""
    return quoted(reading.question.now)
