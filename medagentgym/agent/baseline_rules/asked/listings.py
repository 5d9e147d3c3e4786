"""Questions for names: of patients, drugs, diagnoses and other things."""

from __future__ import annotations

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import any_rows, order_in
from medagentgym.agent.baseline_rules.phrases import LAST
from medagentgym.agent.baseline_rules.query_parts import Reading

RULES = RuleBook()

_NAMES_OF = (
    r"\b(?:which|names?|list|what)\b.*"
    r"\b(?:drugs?|medications?|procedures?|diagnos[ei]s|lab tests?|intakes?|outputs?|specimens?|allerg(?:y|ies))\b"
)


@RULES.rule(r"\bids? of (?:the )?patients", "list")
def patient_numbers(reading: Reading) -> str | None:
    """Which patients something happened to."""
    rows = any_rows(reading)
    return None if rows is None else rows.select("DISTINCT visit.SUBJECT_ID")


@RULES.rule(_NAMES_OF, "list")
def names_so_many_times(reading: Reading) -> str | None:
    """What there was so many times."""
    kind, repeats = reading.kind_in(reading.question.main.text), reading.question.repeats
    if kind is None or repeats is None or reading.question.main.terms:
        return None
    named, name = reading.rows(kind).named()
    return named.select(name, end=f"GROUP BY event.{kind.item} HAVING COUNT(*) {repeats[0]} {repeats[1]}")


@RULES.rule(rf"{_NAMES_OF}.*\b(?:first|last|second)\b", "list")
def name_in_order(reading: Reading) -> str | None:
    """What there was first, or last."""
    kind = reading.kind_in(reading.question.main.text)
    if kind is None or reading.question.main.terms or not phrases.orders(reading.question.main.text):
        return None
    named, name = reading.rows(kind).named()
    return named.select(name, end=order_in(reading, LAST).clause(named.time))


@RULES.rule(_NAMES_OF, "list")
def names(reading: Reading) -> str | None:
    """What there was."""
    kind = reading.kind_in(reading.question.main.text)
    if kind is None or reading.question.main.terms:
        return None
    named, name = reading.rows(kind).named()
    return named.select(f"DISTINCT {name}")
