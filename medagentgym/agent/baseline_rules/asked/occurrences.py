"""Questions whether something happened, and when."""

from __future__ import annotations

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import main_rows, measured_values, order_in
from medagentgym.agent.baseline_rules.phrases import FIRST, LAST
from medagentgym.agent.baseline_rules.query_parts import Reading, named_rows

RULES = RuleBook()

_WHEN = r"^(?:when|at what time|what time|on which (?:date|day))\b"


@RULES.rule(r"^(?:has|have|had|was|were|is|are|did)\b.*\borganisms?\b", "truth")
def organism_found(reading: Reading) -> str:
    """Whether an organism was found in a microbiology test."""
    rows = reading.rows(reading.kind("specimen"), reading.names)
    return rows.where("event.ORG_NAME IS NOT NULL").select("COUNT(*) > 0")


@RULES.rule(r"^(?:has|have|had|was|were|is|are|did|does|do)\b", "truth")
def happened(reading: Reading) -> str | None:
    """Whether something happened."""
    rows = main_rows(reading)
    compares = phrases.RELATIVE_COMPARISON.search(reading.question.skeleton)
    return None if rows is None or compares else rows.select("COUNT(*) > 0")


@RULES.rule(rf"{_WHEN}.*\b(?:highest|lowest|maximum|minimum|largest|smallest)\b")
def time_of_extreme(reading: Reading) -> str | None:
    """When a value was highest or lowest; of several times the first, unless the question wants the last."""
    found, function = measured_values(reading), phrases.aggregate(reading.question.skeleton)
    if found is None or function is None:
        return None
    rows, value = found
    direction = "DESC" if function == "MAX" else "ASC"
    latest = "DESC" if order_in(reading, FIRST) == LAST else "ASC"
    return rows.select(rows.time, end=f"ORDER BY {value} {direction}, {rows.time} {latest} LIMIT 1")


@RULES.rule(rf"{_WHEN}.*<0> and <1>")
def time_of_both(reading: Reading) -> str | None:
    """When two things happened at once."""
    names = reading.named_in(reading.question.main)
    if len(names) < 2:
        return None
    rows = reading.rows(names[0].kind, names[:1])
    other = named_rows(names[1].kind, names[1:2], alias="other")
    together = other.where("other_visit.SUBJECT_ID = visit.SUBJECT_ID", f"{other.time} = {rows.time}")
    return rows.where(together.exist()).select(rows.time, end=order_in(reading, LAST).clause(rows.time))


@RULES.rule(r"^(?:list|name|show) .*(?:admission|discharge) times?", "list")
def all_times(reading: Reading) -> str | None:
    """All times at which something happened."""
    rows = main_rows(reading)
    return None if rows is None else rows.select(rows.time)


@RULES.rule(rf"{_WHEN}(?!.* \bdie\b)")
def time(reading: Reading) -> str | None:
    """When something happened."""
    rows = main_rows(reading)
    return None if rows is None else rows.select(rows.time, end=order_in(reading, FIRST).clause(rows.time))
