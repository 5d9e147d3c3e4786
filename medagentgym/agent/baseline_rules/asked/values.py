"""Questions for values: measured ones, functions of them, and facts of a patient or a visit."""

from __future__ import annotations

import re

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import measured_values, order_in
from medagentgym.agent.baseline_rules.phrases import LAST
from medagentgym.agent.baseline_rules.query_parts import Reading, constant, names_condition

RULES = RuleBook()


@RULES.rule(r"\b(?:total|sum|altogether)\b.*\b(?:dose|volume|amount|intake|output)")
def total(reading: Reading) -> str | None:
    """The sum of the values."""
    found = measured_values(reading, "SUM")
    return None if found is None else found[0].select(found[1])


@RULES.rule(r"\b(?:average|mean|minimum|maximum|highest|lowest)\b")
def function_of_values(reading: Reading) -> str | None:
    """A function of the values."""
    found = measured_values(reading, phrases.aggregate(reading.question.skeleton))
    return None if found is None else found[0].select(found[1])


@RULES.rule("")
def attribute(reading: Reading) -> str | None:
    """A column that describes the patient, the visit or the event; of several the last one's, unless the question says otherwise."""
    question = reading.question
    found = next((attribute for attribute in reading.schema.attributes if re.search(attribute.words, question.main.text)), None)
    if found is None or question.patient is None:
        return None
    if found.kind is None:
        return f"SELECT {found.column}\nFROM PATIENTS AS patient\nWHERE SUBJECT_ID = {constant(question.patient)}"
    kind = reading.kind(found.kind)
    rows = reading.rows(kind, reading.names).where(f"{found.column} IS NOT NULL")
    if kind.name == "organism":
        rows = rows.where(*names_condition(reading.kind("specimen"), "event", reading.names))
    return rows.select(found.column, end=order_in(reading, LAST).clause(rows.time))


@RULES.rule("")
def value(reading: Reading) -> str | None:
    """One measured value: the last, unless the question says otherwise."""
    found = measured_values(reading)
    if found is None or reading.question.patient is None:
        return None
    return found[0].select(found[1], end=order_in(reading, LAST).clause(found[0].time))
