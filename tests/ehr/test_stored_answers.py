"""Stored answers of any shape, as golds."""

from __future__ import annotations

from typing import Any

import pytest

from medagentgym.ehr.stored_answers import asks_yes_or_no, gold_of_stored, spoken_patients

WHAT = "What is it?"


@pytest.mark.parametrize(
    ("stored", "rows", "width"),
    [
        ("12", [(12,)], 1),
        (12, [(12,)], 1),
        ("27.400001525878878", [(27.400001525878878,)], 1),
        ("0389", [("0389",)], 1),
        ("emergency room admit", [("emergency room admit",)], 1),
        ("iv (drip)", [("iv (drip)",)], 1),
        ("[lab] value", [("[lab] value",)], 1),
        (["12"], [(12,)], None),
        (["a", "b"], [("a",), ("b",)], None),
        ([1, "2", 3.5], [(1,), (2,), (3.5,)], None),
        ([["a", 1], ["b", 2]], [("a", 1), ("b", 2)], 2),
        ([["a"], ["b"]], [("a",), ("b",)], 1),
        ("[(12,)]", [(12,)], 1),
        ("[('a', 1), ('b', None)]", [("a", 1), ("b", None)], 2),
        ("[('a', nan)]", [("a", None)], 2),
        ("['a', 'b']", [("a",), ("b",)], None),
        (["('a', 1)", "('b', 2)"], [("a", 1), ("b", 2)], 2),
        (["[('a',), ('b',)]"], [("a",), ("b",)], 1),
        ("('a', 1)", [("a", 1)], 2),
    ],
)
def test_the_shape_of_a_stored_answer_says_how_many_columns_there_are(stored: Any, rows: list[tuple[Any, ...]], width: int | None) -> None:
    gold = gold_of_stored(stored, WHAT)
    assert list(gold.rows) == rows and gold.status == "usable" and not gold.boolean
    assert (None if gold.columns is None else len(gold.columns)) == width


@pytest.mark.parametrize("stored", [None, "None", [], "[]", [None], "[(None,)]", [["None"]], "", "[nan]"])
def test_nothing_is_an_empty_gold(stored: Any) -> None:
    assert gold_of_stored(stored, WHAT).status == "empty"


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ({"a": 1}, "a value of the type dict"),
        ([{"a": 1}], "a value of the type dict"),
        ([["a", 1], ["b"]], "rows of different widths"),
        ([["a", ["b"]]], "lists nested deeper than rows"),
        (["a", ["b"]], "a list of values and lists side by side"),
        ([[]], "rows without a value"),
        ("[(Decimal('1.5'),)]", "a text in brackets that is no list of values"),
        ("[" * 5000 + "]" * 5000, "a text in brackets that is no list of values"),
        ("[" + "1, " * 400_000 + "1]", "a text of a list of more than 1,000,000 characters"),
    ],
)
def test_another_shape_is_an_error_with_its_reason(stored: Any, reason: str) -> None:
    gold = gold_of_stored(stored, WHAT)
    assert (gold.status, gold.reason) == ("error", reason)


@pytest.mark.parametrize(
    ("stored", "question", "boolean", "value"),
    [
        ("1", "how many drugs?\nWas warfarin among them?", True, 1),
        (["0"], "Did patient 3 die?", True, 0),
        ("no", "Did patient 3 die?", True, 0),
        (True, WHAT, True, 1),
        ("1", "did patient 3 get warfarin?\nHow many times?", False, 1),
        ("2", "Did patient 3 die?", False, 2),
        ("no", "What did the patient say?", False, "no"),
    ],
)
def test_the_last_question_says_whether_0_or_1_is_a_no_or_a_yes(stored: Any, question: str, boolean: bool, value: Any) -> None:
    gold = gold_of_stored(stored, question)
    assert (gold.boolean, gold.rows) == (boolean, ((value,),))


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Has patient 3 been given 0.9% sodium chloride?", True),
        ("and was it given again?", True),
        ("List the drugs. Were any of them given twice?", True),
        ("Was it given? When was that?", False),
        ("which drugs have been given?", False),
        ("", False),
    ],
)
def test_a_yes_or_no_question_begins_with_a_verb(question: str, asks: bool) -> None:
    assert asks_yes_or_no(question) == asks


def test_patients_are_found_in_words() -> None:
    assert spoken_patients(["what about patient 3 and patient id 45?", "Patient #6's age", "3 patients, in 2104"]) == {3, 45, 6}
