"""Questions about names themselves: what a title stands for, how a drug is given."""

from __future__ import annotations

from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import main_rows
from medagentgym.agent.baseline_rules.query_parts import Reading, quoted

RULES = RuleBook()


@RULES.rule(r"long (?:title|name)|stands? for|short for")
def long_title(reading: Reading) -> str | None:
    """The long title of a short one; where the question does not say whose, of a diagnosis or a procedure."""
    parts = []
    for kind in (reading.kind("diagnosis"), reading.kind("procedure")):
        for name in reading.names:
            if kind.names is not None and (name.kind == kind or kind.name not in reading.question.skeleton):
                parts.append(f"SELECT {kind.names.long_name} FROM {kind.names.table} WHERE {kind.names.name} = {quoted(name.value)}")
    return "\nUNION\n".join(parts) or None


@RULES.rule(r"\bis <0> (?:given|taken|administered)|(?:intake|administration) (?:method|route)|method of", "list")
def route_of_a_drug(reading: Reading) -> str | None:
    """The routes by which a drug is given."""
    rows = main_rows(reading)
    return None if rows is None or rows.kind.name != "drug" else rows.select("DISTINCT event.ROUTE")
