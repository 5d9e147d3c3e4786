"""Made-up patient notes with questions for clinical calculations, in the columns of MedCalc-Bench, and computed answers.

Nobody described here exists, and what the notes say is not clinically plausible as a whole. The formulas are real: `formulas` names the source of
each. The same seed gives the same rows. Scores on these questions are not comparable with scores on MedCalc-Bench.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from medagentgym.synthetic.calculations.calculators import CALCULATORS, Calculator, Value
from medagentgym.synthetic.calculations.patients import make_patient
from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.positions import Mode

__all__ = ["METHODS", "make_rows"]

METHODS = {calculator.name: calculator.method for calculator in CALCULATORS}
"""How each value is calculated, by calculator."""

_LIMIT = 0.05


def make_rows(seed: int, mode: Mode, count: int) -> list[dict[str, Any]]:
    """`count` rows with the columns of MedCalc-Bench; every calculator as often as every other, give or take one."""
    chance = python_random(seed, f"calculations/{mode}")
    rows: list[dict[str, Any]] = []
    order: list[Calculator] = []
    for number in range(count):
        if not order:
            order = list(CALCULATORS)
            chance.shuffle(order)
        calculator = order.pop()
        note, facts = make_patient(calculator.needs, chance, calculator.ages)
        rows.append(
            {
                "Row Number": number + 1,
                "Calculator Name": calculator.name,
                "Category": calculator.category,
                "Patient Note": note,
                "Question": calculator.question,
                **_gold(calculator.value(facts)),
            }
        )
    return rows


def _gold(value: Value) -> dict[str, str]:
    """Answer, limits and kind of a value, as MedCalc-Bench writes them."""
    if isinstance(value, date):
        kind, texts = "date", [f"{value:%m/%d/%Y}"] * 3
    elif isinstance(value, tuple):
        kind, texts = "weeks and days", [str((f"{value[0]} weeks", f"{value[1]} days"))] * 3
    elif isinstance(value, int):
        kind, texts = "integer", [str(value)] * 3
    else:
        number = round(value, 3)
        kind, texts = "decimal", [f"{limit:.6g}" for limit in (number, *sorted((number * (1 - _LIMIT), number * (1 + _LIMIT))))]
    return {"Output Type": kind, **dict(zip(("Ground Truth Answer", "Lower Limit", "Upper Limit"), texts, strict=True))}
