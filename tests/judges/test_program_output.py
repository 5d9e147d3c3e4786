"""What a program printed, compared with what it prints with the reference function."""

from __future__ import annotations

from typing import Any

import pytest

from medagentgym.judges.base import Evidence
from medagentgym.judges.program_output import ProgramOutputJudge, PublishedProgramOutputJudge


def reference(output: str, printed: str = "", warnings: str = "") -> dict[str, Any]:
    return {"output": output, "printed": printed, "warnings": warnings}


def attempt(output: str, printed: str = "", warnings: str = "", exit_status: int | None = 0) -> Evidence:
    return Evidence(True, None, output, warnings, exit_status, gathered={"printed": printed, "calls": 1})


def strict(gold: str, given: str) -> bool:
    return ProgramOutputJudge().judge(reference(gold), attempt(given)).correct


def test_the_same_output_is_right_and_another_is_wrong() -> None:
    assert strict("A 1\nB 2\n", "A 1\nB 2\n")
    assert strict("A 1  \nB 2\n\n", "A 1\nB 2\n")
    for other in ("", "A 1\n", "A 1\nB 3\n", "A 1\nB 2\nC\n", "a 1\nB 2\n", "x\nA 1\nB 2\n", "A 1 B 2\n"):
        assert not strict("A 1\nB 2\n", other), other


def test_the_last_digits_of_a_fraction_may_differ() -> None:
    assert strict("mean: 0.30000000000000004\n", "mean: 0.3\n")
    assert strict("[1.00000001e-05 2.5]\n", "[1.0e-05 2.5]\n")
    assert not strict("mean: 0.30001\n", "mean: 0.3\n")


@pytest.mark.parametrize(
    ("gold", "given"), [("12\n", "12.0\n"), ("100000001\n", "100000002\n"), ("v1.2\n", "v1.3\n"), ("1.5\n", "nan\n"), ("True", "1")]
)
def test_whole_numbers_and_words_are_equal_or_they_are_not(gold: str, given: str) -> None:
    assert not strict(gold, given)


NOISE = "[1.0e-17 1.0e-01 2.0e-01 3.0e-01\n 9.0e-01 1.0e+00 1.1e+00]\n"


def test_an_array_with_noise_in_place_of_nothing_is_the_same_however_it_is_broken() -> None:
    assert strict("[0.  0.1 0.2 0.3 0.9 1.  1.1]\n", NOISE)
    assert strict("x: [[0.  0.5]\n [1.5 2. ]] 7\nend\n", "x: [[-1.0e-17  5.0e-01]\n    [ 1.5e+00  2.0e+00]] 7\nend\n")
    assert strict("[0.         0.33333333 0.00123457]\n", "[1.00000000e-17 3.33333333e-01\n 1.23456789e-03]\n")
    assert strict("0    0.000000\n1    0.123457\n", "0    2.000000e-17\n1    1.234567e-01\n")
    assert strict("array([0. , 0.5, nan])\n", "array([1.e-17,\n       5.e-01,    nan])\n")


@pytest.mark.parametrize(
    "given",
    [
        NOISE.replace("1.1e", "1.2e"),
        NOISE.replace("2.0e-01 ", ""),
        NOISE.replace("]", "").replace("[", ""),
        NOISE.replace("1.0e-17", "1.0e-07"),
        NOISE.replace("1.0e-01", "1"),
        NOISE.replace("\n ", "\n]["),
        NOISE + "1\n",
        "x\n" + NOISE,
        NOISE.replace("2.0e-01", "two"),
    ],
)
def test_another_array_is_another_however_it_is_broken(given: str) -> None:
    assert not strict("[0.  0.1 0.2 0.3 0.9 1.  1.1]\n", given)


def test_only_arrays_of_numbers_may_be_broken_otherwise() -> None:
    assert not strict("['a', 'b']\n", "['a',\n 'b']\n")
    assert not strict("[INFO 0.5\n1.5\n", "[INFO 0.5 1.5\n")
    assert not strict("(0.5, 1.5)\n", "(0.5,\n 1.5)\n")
    assert not strict("[0.5]\n[1.5]\n", "[0.5] [1.5]\n")
    assert not strict("[1 2]\n", "[1\n 3]\n")
    assert not strict("0.3\n", "3.4e-01\n") and not strict("0.333333\n", "0.3333326\n") and not strict("0.333333\n", "3.3334e-01\n")


def test_warnings_do_not_decide() -> None:
    assert ProgramOutputJudge().judge(reference("1\n", warnings="old!"), attempt("1\n", warnings="other!")).correct


def test_what_the_function_prints_counts_only_where_the_reference_prints() -> None:
    judge = ProgramOutputJudge()
    assert judge.judge(reference("1\n"), attempt("1\n", printed="debugging")).correct
    assert judge.judge(reference("1\n", printed="K-means\n"), attempt("1\n", printed="K-means\n")).correct
    assert not judge.judge(reference("1\n", printed="K-means\n"), attempt("1\n")).correct


def test_an_execution_that_was_no_attempt_is_wrong() -> None:
    judge = ProgramOutputJudge()
    assert not judge.judge(reference("1\n"), Evidence(False, None, "1\n", "", 0)).correct
    assert not judge.judge(reference("1\n"), attempt("1\n", exit_status=1)).correct
    verdict = judge.judge({"ungradable": "cannot be run: the marker sits inside an expression"}, attempt("1\n"))
    assert not verdict.correct and "cannot be judged" in verdict.reason


def test_evidence_is_judged_again_from_the_record() -> None:
    stored = attempt("1\n", printed="x").to_json()
    assert ProgramOutputJudge().judge(reference("1\n"), Evidence.from_json(stored)).correct


def test_references_with_the_same_output_share_a_key() -> None:
    judge = ProgramOutputJudge()
    assert judge.summarise(reference("True\n")) == judge.summarise(reference("True"))
    assert judge.summarise(reference("True\n")).key != judge.summarise(reference("False\n")).key
    assert judge.summarise(reference("\n")).status == "usable"
    assert judge.summarise({"ungradable": "x"}).status == "error"


def test_the_published_judge_wants_the_same_text_with_warnings() -> None:
    judge = PublishedProgramOutputJudge()
    assert judge.judge(reference("1\n", warnings="old, line 3"), attempt("1\n", warnings="old, line 3")).correct
    assert not judge.judge(reference("1\n", warnings="old, line 3"), attempt("1\n")).correct
    assert not judge.judge(reference("0.3\n"), attempt("0.30000000000000004\n")).correct
    assert not judge.judge(reference("1\n"), attempt("1\n", exit_status=1)).correct
