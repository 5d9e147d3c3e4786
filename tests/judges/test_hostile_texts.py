"""Answers that are written to wear a judge out: every judge comes to a verdict, and the verdict is no."""

from __future__ import annotations

from typing import Any

import pytest

from medagentgym.judges.base import Evidence, Judge
from medagentgym.judges.dates import read_date, read_weeks_and_days
from medagentgym.judges.single_numbers import read_number
from medagentgym.tasks.registry import get_task_class

MANY = 900_000
TEXTS = {
    "tiny_exponent": "1e-9999999999999999999",
    "huge_exponent": "1e9999999999999999999",
    "nines_in_the_exponent": "1e-" + "9" * 55,
    "white_space": "a" + " " * MANY + "b",
    "line_breaks": "a" + "\n" * MANY + "b",
    "separators": "a" + " ," * (MANY // 2) + "b",
    "digits": "9" * MANY,
    "digits_and_points": "9." * (MANY // 2),
    "brackets": "[" * MANY,
    "quotes": "'" * MANY,
    "backslashes": "'" + "\\" * MANY,
    "signs": "+-" * (MANY // 2),
    "letters": "a" * MANY,
    "days": "1 day " * (MANY // 6),
    "slashes": "1/" * (MANY // 2),
    "points": "." * MANY,
    "conjunctions": "a" + " and" * (MANY // 4),
    "listed_conjunctions": ", and " * (MANY // 6),
    "bullets": "- a\n" * (MANY // 4),
    "spaced_bullets": "-" + " " * MANY + "a\n- b",
    "numbering": "\n".join(f"{number}. a" for number in range(1, MANY // 9)),
    "labels": "answer: " * (MANY // 8),
    "bold": "**" * (MANY // 2),
    "grave_accents": "`" * MANY,
    "denials": "no " * (MANY // 3) + "found",
    "denial_without_end": "there are no " + "a" * MANY,
    "empty_tables": "series([], " * (MANY // 11) + ")",
    "thin_spaces": "1\u2009" * (MANY // 2),
    "nested_calls": "timedelta(" * (MANY // 10) + ")",
    "afternoons": "11:59 pm " * (MANY // 9),
}


def ehr_reference(value: Any) -> dict[str, Any]:
    gold = {"columns": ["x"], "rows": [[value]], "boolean": False, "status": "usable", "reason": ""}
    return {"gold": gold, "published": [str(value)]}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("gold", [12, 0.5, "sepsis, unspecified", "2105-12-31 23:59:00"], ids=str)
@pytest.mark.parametrize("printed", [False, True], ids=["answered", "printed"])
def test_a_text_that_wears_judges_out_is_wrong(name: str, gold: Any, printed: bool) -> None:
    text = TEXTS[name]
    evidence = Evidence(False, None, text + "\n", "", 0) if printed else Evidence(True, text, "", "", 0)
    judge: Judge = get_task_class("mimic_iii").judges()["strict"]
    assert not judge.judge(ehr_reference(gold), evidence).correct


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_wears_judges_out_is_neither_number_nor_date_nor_age(name: str) -> None:
    assert read_number(TEXTS[name]) in (None, 0.0)
    assert read_date(TEXTS[name]) is None
    assert read_weeks_and_days(TEXTS[name]) is None
