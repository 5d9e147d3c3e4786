"""Questions that set two things against each other."""

from __future__ import annotations

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import length_of_time, two_measurements
from medagentgym.agent.baseline_rules.query_parts import Reading, Rows

RULES = RuleBook()


def _measured(rows: Rows) -> str:
    return f"event.{rows.kind.value}"


@RULES.rule(r"difference between .*intakes?.* outputs?")
def balance(reading: Reading) -> str:
    """All that was taken in less all that was given out."""
    taken, given = (reading.rows(reading.kind(name)) for name in ("intake", "output"))
    return f"SELECT ({taken.select(f'SUM({_measured(taken)})')}) - ({given.select(f'SUM({_measured(given)})')})"


@RULES.rule(r"\bchanged?\b|difference in the")
def change(reading: Reading) -> str | None:
    """From the one to the other: the other less the one. From the one compared to the other: the reverse."""
    found = two_measurements(reading, _measured)
    if found is None:
        return None
    minuend, subtrahend = found if "compared" in reading.question.skeleton else found[::-1]
    return f"SELECT ({minuend}) - ({subtrahend})"


@RULES.rule(rf"^(?:is|was|were|are|did|has)\b.*{phrases.RELATIVE_COMPARISON.pattern}", "truth")
def comparison(reading: Reading) -> str | None:
    """Whether one measurement is above or below another."""
    found = two_measurements(reading, _measured)
    word = phrases.RELATIVE_COMPARISON.search(reading.question.skeleton)
    return None if found is None or word is None else f"SELECT ({found[0]}) {phrases.sign(word['word'])} ({found[1]})"


@RULES.rule(r"\bbetween the \w+ .*measure")
def time_between_measurements(reading: Reading) -> str | None:
    """The time from one measurement to another."""
    found = two_measurements(reading, lambda rows: rows.time)
    return None if found is None else f"SELECT {length_of_time(reading, f'({found[0]})', f'({found[1]})')}"


@RULES.rule(r"new prescriptions?.* compared to", "list")
def new_drugs(reading: Reading) -> str | None:
    """The drugs of the first time that are none of the second."""
    windows = reading.question.windows
    if len(windows) != 2:
        return None
    rows = reading.rows(reading.kind("drug"), windows=False)
    new, old = (rows.within((window,)).select("event.DRUG") for window in windows)
    return f"{new}\nEXCEPT\n{old}"
