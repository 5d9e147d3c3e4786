"""Questions about each day, month or year."""

from __future__ import annotations

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import any_rows, measured_values
from medagentgym.agent.baseline_rules.query_parts import Reading

RULES = RuleBook()


@RULES.rule(r"\b(?:average|minimum|maximum)\b.* (?:daily|monthly|yearly) number")
def number_by_period(reading: Reading) -> str | None:
    """A function of how many visits had such an event in each period."""
    rows, form, function = any_rows(reading), phrases.period(reading.question.skeleton), phrases.aggregate(reading.question.skeleton)
    if rows is None or form is None or function is None:
        return None
    counted = rows.select("COUNT(DISTINCT event.HADM_ID) AS number", end=f"GROUP BY strftime('{form}', {rows.time})")
    return f"SELECT {function}(number) FROM (\n{counted}\n)"


@RULES.rule(r"\b(?:daily|monthly|yearly|(?:per|each|every) (?:day|month|year))\b", "list")
def values_by_period(reading: Reading) -> str | None:
    """A function of the values of each day, month or year, in their order."""
    form = phrases.period(reading.question.skeleton)
    found = measured_values(reading, phrases.aggregate(reading.question.skeleton) or "AVG")
    if found is None or form is None:
        return None
    rows, value = found
    period = f"strftime('{form}', {rows.time})"
    return rows.select(value, end=f"GROUP BY {period} ORDER BY {period}")
