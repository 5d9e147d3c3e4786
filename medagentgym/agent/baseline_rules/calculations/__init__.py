"""Rules for questions that ask for a value calculated from a patient note.

- `reading`: numbers, dates and findings out of a note, in the units that the formulas take.
- `formulas`: which question asks for which formula, and the lines of Python that calculate it.
"""

from __future__ import annotations

from collections.abc import Mapping

from medagentgym.agent.baseline_rules.calculations.formulas import formula_of
from medagentgym.agent.baseline_rules.calculations.reading import read_note


def program(fields: Mapping[str, str]) -> str | None:
    """The program that calculates the answer; None where the formula is not known or the note does not give what it needs."""
    note, _, question = fields.get("question", "").rpartition("\n\nQuestion:")
    formula = formula_of(question.partition("\n\n")[0])
    if formula is None or not note:
        return None
    facts = read_note(note.partition("Patient note:")[2])
    if any(name not in facts for name in formula.needs):
        return None
    given = {name: facts[name] for name in formula.needs} | {name: facts.get(name, False) for name in formula.findings}
    imports = ["import math"] if "math." in formula.code else []
    imports += ["from datetime import date, timedelta"] if "last_period" in given else []
    lines = [*imports, "", *(f"{name} = {_literal(value)}" for name, value in given.items()), "", formula.code.strip(), ""]
    return "\n".join(lines).lstrip("\n")


def _literal(value: object) -> str:
    return repr(value).removeprefix("datetime.")
