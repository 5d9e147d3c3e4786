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
