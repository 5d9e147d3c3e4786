"""Questions about the most frequent things, and about the place of a value among others."""

from __future__ import annotations

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import main_rows
from medagentgym.agent.baseline_rules.query_parts import Reading, named_rows
from medagentgym.agent.baseline_rules.time_expressions import VisitReference

RULES = RuleBook()


@RULES.rule(r"most (?:frequent|common)|\btop\b|most often", "list")
def most_frequent(reading: Reading) -> str | None:
    """The names that occur most often; equal numbers share a place."""
    rank, kind = phrases.rank(reading.question.main.text), reading.kind_in(reading.question.main.text)
    if rank is None or kind is None:
        return None
    named, name = reading.rows(kind).named()
    counted = named.select(f"{name} AS name, DENSE_RANK() OVER (ORDER BY COUNT(*) DESC) AS place", end=f"GROUP BY event.{kind.item}")
    return f"SELECT name FROM (\n{counted}\n) WHERE place <= {rank}"


@RULES.rule(r"percentile")
def percentile(reading: Reading) -> str | None:
    """The place of a value among those of patients who are as old as the one that the question names."""
    question, rows = reading.question, main_rows(reading)
    if rows is None or rows.kind.value is None or question.measured is None or question.patient is None:
        return None
    _, visit = reading.chosen_visit(question.visit or VisitReference("hospital", "last"))
    peers = named_rows(rows.kind, reading.names).where(f"visit.AGE IN (SELECT AGE FROM ADMISSIONS WHERE HADM_ID IN ({visit}))")
    value = f"event.{rows.kind.value}"
    ranked = peers.select(f"{value} AS value, PERCENT_RANK() OVER (ORDER BY {value}) AS place")
    return f"SELECT DISTINCT place FROM (\n{ranked}\n) WHERE value = {question.measured}"
