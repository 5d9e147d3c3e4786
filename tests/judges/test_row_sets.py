"""The strict judge: the gold's set of rows, no more and no less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from medagentgym.judges.base import Evidence, Verdict
from medagentgym.judges.row_sets import RowSetJudge
from medagentgym.sandbox.answers import decode, encode

JUDGE = RowSetJudge()


def gold(*rows: list[Any], columns: list[str] | None = None, boolean: bool = False, flat: bool = False) -> dict[str, Any]:
    names = columns or [f"column {position}" for position in range(len(rows[0]) if rows else 1)]
    return {"gold": {"columns": None if flat else names, "rows": list(rows), "boolean": boolean, "status": "usable"}, "published": []}


def evidence(answer: Any, stdout: str = "") -> Evidence:
    return Evidence(True, decode(encode(answer, 10_000_000)), stdout, "", 0)


def judged(reference: dict[str, Any], answer: Any) -> Verdict:
    verdict = JUDGE.judge(reference, evidence(answer))
    assert verdict.score == float(verdict.correct)
    assert verdict.reason
    assert "\n" not in verdict.reason
    return verdict


class EqualToAnything:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class TextEqualToAnything(str):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


ROUTES = gold(["iv"], ["po"], ["iv"])
PRESSURE = gold([120, 80], columns=["systolic", "diastolic"])
COUNTS = gold(["aspirin", 3], ["heparin", 2], columns=["prescriptions.drug", "count(*)"])


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (gold([37]), 37),
        (gold([37]), [37]),
        (gold([37]), [[37]]),
        (gold([37]), (37,)),
        (gold([37]), {37}),
        (gold([37]), np.array([37])),
        (gold([37]), pd.DataFrame({"n": [37]})),
        (gold([37]), pd.Series([37])),
        (gold([37]), [[[37]]]),
        (gold([37]), {"result": {"count": 37}}),
        (gold([37], [37]), 37),
        (ROUTES, ["po", "iv"]),
        (ROUTES, {"iv", "po"}),
        (ROUTES, "iv, po"),
        (ROUTES, "['iv', 'po']"),
        (ROUTES, [["po"], ["iv"], ["po"]]),
        (ROUTES, pd.Series(["iv", "po"], name="route")),
        (ROUTES, pd.DataFrame({"route": ["iv", "po"]}, index=[7, 9])),
        (ROUTES, np.array(["iv", "po"])),
        (ROUTES, [{"route": "iv"}, {"route": "po"}]),
        (PRESSURE, [120, 80]),
        (PRESSURE, (120, 80)),
        (PRESSURE, [[120, 80]]),
        (PRESSURE, [80, 120]),
        (PRESSURE, pd.DataFrame({"a": [80], "b": [120]})),
        (PRESSURE, pd.DataFrame({"a": [120], "b": [80]})),
        (PRESSURE, pd.DataFrame({"diastolic": [80], "systolic": [120]})),
        (PRESSURE, pd.DataFrame({"DIASTOLIC": [80], "Systolic": [120]})),
        (PRESSURE, {"diastolic": 80, "systolic": 120}),
        (PRESSURE, [{"diastolic": 80, "systolic": 120}]),
        (COUNTS, [["heparin", 2], ["aspirin", 3]]),
        (COUNTS, {"aspirin": 3, "heparin": 2}),
        (COUNTS, {"drug": ["aspirin", "heparin"], "count(*)": [3, 2]}),
        (COUNTS, pd.Series(["aspirin"] * 3 + ["heparin"] * 2).value_counts()),
        (COUNTS, pd.DataFrame({"drug": ["aspirin", "heparin"], "n": [3, 2]})),
        (COUNTS, pd.DataFrame({"count(*)": [3, 2], "drug": ["aspirin", "heparin"]})),
        (gold([27.400001525878878], [98.6]), [98.6, 27.4]),
        (gold([1.0012], [1.0014], [5.5]), [1.0, 1.0, 5.5]),
        (gold([1.0012], [1.0], [5.5]), [1.0, 1.0, 5.5]),
        (gold([7.31], [7.32], [7.31], [7.4]), [7.3, 7.3, 7.3, 7.4, 7.4, 7.4]),
        (gold([7.31], [7.32]), [7.3, 7.31]),
        (gold([7.31], [7.32]), [7.3, 7.32] * 10),
        (gold(["iv", None]), [["iv", float("nan")]]),
        (gold([1], boolean=True), True),
        (gold([1], boolean=True), [["yes"]]),
        (gold([0], boolean=True), 0),
        (gold([0], boolean=True), pd.DataFrame({"answer": [False]})),
        (gold(["127.0"], ["iv"], flat=True), ["iv", 127]),
        (gold(["iv"], ["2105-01-01 00:00:00"], flat=True), [["iv", "2105-01-01"]]),
    ],
)
def test_the_same_rows_are_right_in_every_form(reference: dict[str, Any], answer: Any) -> None:
    verdict = judged(reference, answer)
    assert verdict.correct, verdict.reason


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (gold([1]), 10),
        (gold([1]), "10"),
        (gold([1]), [1, 10]),
        (gold([1]), list(range(1000))),
        (gold([1]), True),
        (ROUTES, "iv"),
        (ROUTES, ["iv"]),
        (ROUTES, ["iv", "po", "im"]),
        (ROUTES, "iv, po, im"),
        (ROUTES, "iv po"),
        (ROUTES, "['iv']"),
        (ROUTES, ["iv", "po", None]),
        (ROUTES, [["iv", "po"]]),
        (ROUTES, pd.DataFrame({"drug": ["a", "b"], "route": ["iv", "po"]})),
        (ROUTES, {"iv": 1, "po": 2}),
        (PRESSURE, pd.DataFrame({"diastolic": [120], "systolic": [80]})),
        (PRESSURE, {"diastolic": 120, "systolic": 80}),
        (PRESSURE, [120, 80, 1]),
        (PRESSURE, [120]),
        (PRESSURE, [[120, 80], [80, 120]]),
        (PRESSURE, [[120], [80]]),
        (COUNTS, [["aspirin", 3]]),
        (COUNTS, [["aspirin", 2], ["heparin", 3]]),
        (COUNTS, ["aspirin", 3, "heparin", 2]),
        (COUNTS, [["aspirin", 3], ["heparin"]]),
        (COUNTS, pd.DataFrame({"count(*)": [2, 3], "drug": ["aspirin", "heparin"]})),
        (gold([1], boolean=True), [True, False]),
        (gold([0], boolean=True), [0, 1]),
        (gold([1], boolean=True), 0),
        (gold([1], boolean=True), "True or False"),
        (gold(["iv"], ["po"], flat=True), ["iv"]),
        (gold(["iv"], flat=True), ["iv", "po"]),
        (gold([1]), EqualToAnything()),
        (gold([1]), [EqualToAnything()]),
        (gold([1]), [[EqualToAnything()]]),
        (gold(["iv"]), TextEqualToAnything("anything")),
        (gold([1]), {"a": {"b": 1, "c": 2}}),
        (gold([1]), [[[1], [2]]]),
        (gold([1]), lambda: 1),
        (gold([1]), None),
        (gold([1]), []),
        (gold([0]), None),
        (gold([0]), []),
        (gold([1.0012], [1.0014], [5.5]), [1.0]),
        (gold([1.0012], [1.0014], [5.5]), [1.0, 5.5]),
        (gold([1.0012], [5.5]), [1.0, 5.5, 9.0]),
        (gold([1.0012], [1.0014], [5.5]), [1.0, 5.5] * 1000),
        (gold([1.0012], [1.0014], [5.5]), [1.0, 1.0, 1.0, 5.5]),
        (gold([1.0012], [1.0014], [5.51], [5.52]), [1.0, 5.5, 5.51, 5.52]),
        (gold([7.31], [7.32], [7.29], [7.38], [7.41]), [7.3, 7.4] * 1000),
    ],
)
def test_other_rows_are_wrong(reference: dict[str, Any], answer: Any) -> None:
    verdict = judged(reference, answer)
    assert not verdict.correct, verdict.reason


EMPTY_GOLDS = [gold(), gold([None]), gold([None], [None]), gold(["None"], flat=True), gold(flat=True), gold([None, None], columns=["a", "b"])]


@pytest.mark.parametrize("reference", EMPTY_GOLDS)
@pytest.mark.parametrize("answer", [None, [], {}, float("nan"), pd.DataFrame({"route": []}), pd.Series([], dtype=float), [None], [[None]]])
def test_an_empty_gold_takes_an_answer_that_says_nothing(reference: dict[str, Any], answer: Any) -> None:
    assert judged(reference, answer).correct


@pytest.mark.parametrize("reference", EMPTY_GOLDS)
@pytest.mark.parametrize("answer", [0, False, "no such patient", [0], ["iv"], EqualToAnything(), [None, 1]])
def test_an_empty_gold_takes_nothing_else(reference: dict[str, Any], answer: Any) -> None:
    assert not judged(reference, answer).correct


@pytest.mark.parametrize(
    ("exit_status", "stdout", "reason"), [(0, "", "no answer"), (0, " \n", "no answer"), (1, "1\n", "no answer"), (None, "1\n", "no answer")]
)
def test_a_program_that_failed_or_printed_nothing_has_no_answer(exit_status: int | None, stdout: str, reason: str) -> None:
    verdict = JUDGE.judge(gold([1]), Evidence(False, None, stdout, "", exit_status))
    assert (verdict.correct, verdict.reason) == (False, reason)


def test_printing_everything_does_not_help_a_wrong_answer() -> None:
    assert not JUDGE.judge(gold([1]), evidence(2, stdout="\n".join(map(str, range(10_000))))).correct


def test_a_gold_that_could_not_be_computed_is_answered_by_nobody() -> None:
    reference = {"gold": {"columns": None, "rows": [], "boolean": False, "status": "error", "reason": "no such\ntable: x"}, "published": []}
    for answer in (None, [], 0):
        verdict = judged(reference, answer)
        assert not verdict.correct
        assert verdict.reason == "the reference could not be computed: no such table: x"


def test_reasons_tell_how_much_is_wrong_and_not_what_the_gold_is() -> None:
    verdict = judged(gold(["secret"], ["iv"]), ["iv", "po", "im"])
    assert verdict.reason == "2 of its 3 distinct rows not in the gold; 1 of the gold's 2 distinct rows missing"


def test_thousands_of_rounded_rows_are_compared_in_passing() -> None:
    numbers = [position + 0.123456 for position in range(20_000)]
    reference = gold(*([f"drug {position % 7}", number] for position, number in enumerate(numbers)))
    rounded = [[f"Drug {position % 7}", round(number, 2)] for position, number in enumerate(numbers)]
    assert judged(reference, rounded).correct
    assert not judged(reference, rounded[1:]).correct
    assert not judged(reference, [[drug, number + 0.01] for drug, number in rounded]).correct


def test_lengths_of_time_are_found_among_many_in_whatever_unit_they_are_rounded() -> None:
    stays = [round(1 + position * 0.37 + 1 / 7000, 6) for position in range(300)]
    reference = gold(*([stay] for stay in stays))
    reference["gold"]["units"] = ["day"]
    for unit, days in (("minutes", 1 / 1440), ("hours", 1 / 24), ("days", 1), ("weeks", 7)):
        rounded = [f"{stay / days:.3f} {unit}" for stay in stays]
        assert judged(reference, rounded).correct, unit
        assert not judged(reference, [f"{stay / days + 0.002:.3f} {unit}" for stay in stays]).correct, unit


def test_tied_rows_that_rounding_makes_alike_are_as_many_as_are_picked() -> None:
    tied = gold([9.0])
    tied["gold"]["alternatives"] = [{"rows": [[9.0]], "among": [[7.31], [7.32], [7.33]], "pick": 2}]
    assert judged(tied, [9.0, 7.31, 7.33]).correct and judged(tied, [9.0, 7.3, 7.3]).correct
    assert not judged(tied, [9.0, 7.3]).correct and not judged(tied, [9.0, *[7.3] * 1000]).correct


def test_the_summary_of_a_reference_says_which_answers_it_shares() -> None:
    def key(reference: dict[str, Any]) -> str:
        return JUDGE.summarise(reference).key

    golds = (gold([1]), gold([0, "iv"]), gold(), gold([None]), gold([0]), gold([0], boolean=True), gold([None, 0.0]), gold(["0"], flat=True))
    assert [JUDGE.summarise(reference).status for reference in golds] == ["usable"] * 2 + ["empty"] * 2 + ["zero"] * 4
    assert JUDGE.summarise({"gold": {"rows": [], "columns": [], "status": "error"}}).status == "error"
    assert key(gold([1])) == key(gold([1], boolean=True)) == key(gold(["1.0"], flat=True)) == key(gold([1], [1]))
    assert key(gold(["iv"], ["po"])) == key(gold(["PO"], ["iv"]))
    assert len({key(gold([1])), key(gold([10])), key(gold([1], [2])), key(gold([1, 2])), key(gold())}) == 5
