"""Questions about survival and mortality after a diagnosis."""

from __future__ import annotations

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import now
from medagentgym.agent.baseline_rules.query_parts import Reading, named_rows

RULES = RuleBook()

_DAYS = {"year": 365, "month": 30, "day": 1}


def _span(reading: Reading) -> int | None:
    """The span that the question speaks of, in days."""
    span = phrases.SPAN.search(reading.question.text)
    return None if span is None else phrases.number(span["count"]) * _DAYS[span["unit"]]


def _lived(days: int) -> str:
    """How many of the patients in `start` lived longer than that from `moment`, in percent. A rate is given in whole percent."""
    alive = f"start.DOD IS NULL OR julianday(start.DOD) - julianday(start.moment) > {days}"
    return f"SUM(CASE WHEN {alive} THEN 1 ELSE 0 END) * 100 / COUNT(*)"


def _long_ago(reading: Reading, days: int) -> str:
    return f"julianday({now(reading)}) - julianday(start.moment) > {days}"


@RULES.rule(r"\btop\b.*mortality rate|mortality rate.*(?:highest|most)", "list")
def deadliest(reading: Reading) -> str | None:
    """The diagnoses after which the largest shares of patients died within the span."""
    days, rank = _span(reading), phrases.rank(reading.question.skeleton)
    kind = reading.kind("diagnosis")
    if days is None or rank is None:
        return None
    first = reading.rows(kind).select(
        f"event.{kind.item} AS code, patient.DOD, MIN({reading.rows(kind).time}) AS moment", end=f"GROUP BY visit.SUBJECT_ID, event.{kind.item}"
    )
    rates = f"SELECT start.code, 100 - {_lived(days)} AS rate\nFROM (\n{first}\n) AS start\nWHERE {_long_ago(reading, days)}\nGROUP BY start.code"
    places = f"SELECT code, DENSE_RANK() OVER (ORDER BY rate DESC) AS place FROM (\n{rates}\n)"
    names = kind.names
    if names is None:
        return f"SELECT code\nFROM (\n{places}\n) WHERE place <= {rank}"
    return f"SELECT named.{names.name}\nFROM (\n{places}\n) JOIN {names.table} AS named ON named.{names.code} = code\nWHERE place <= {rank}"


@RULES.rule(r"percentage|survival rate|share of")
def survival(reading: Reading) -> str | None:
    """Of the patients whose first such diagnosis is long enough ago, the percentage that lived longer than the span."""
    days = _span(reading)
    clause = reading.question.condition
    names = reading.named_in(clause) or list(reading.names)
    if days is None or not names:
        return None
    rows = named_rows(names[0].kind, names)
    first = rows.select(f"visit.SUBJECT_ID, patient.DOD, MIN({rows.time}) AS moment", end="GROUP BY visit.SUBJECT_ID")
    source = f"(\n{first}\n) AS start"
    treated = reading.named_in(reading.question.main) if clause is not None else []
    if treated:
        rows = named_rows(treated[0].kind, treated)
        source += f"\nJOIN (\n{rows.select(f'visit.SUBJECT_ID, {rows.time} AS moment')}\n) AS treatment"
        source += "\n  ON treatment.SUBJECT_ID = start.SUBJECT_ID AND start.moment < treatment.moment"
    lived = _lived(days).replace("* 100 /", "* 100.0 /") if "percentage" in reading.question.skeleton else _lived(days)
    return f"SELECT {lived}\nFROM {source}\nWHERE {_long_ago(reading, days)}"
