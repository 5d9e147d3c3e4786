"""What became of assertions, as a verdict."""

from __future__ import annotations

from typing import Any

from medagentgym.judges.assertions import AssertionsJudge, PublishedAssertionsJudge
from medagentgym.judges.base import Evidence

REFERENCE = {"assertions": 2, "study": "study", "test_cases": "assert a\nassert b"}


def attempt(*holds: bool, exit_status: int | None = 0) -> Evidence:
    outcomes = [{"holds": one, "problem": None if one else "not so"} for one in holds]
    return Evidence(True, None, "", "", exit_status, gathered={"assertions": outcomes, "left": {}})


def strict(evidence: Evidence, reference: dict[str, Any] = REFERENCE) -> bool:
    return AssertionsJudge().judge(reference, evidence).correct


def test_all_assertions_must_hold() -> None:
    assert strict(attempt(True, True))
    assert not strict(attempt(True, False)) and not strict(attempt(False, False))
    assert AssertionsJudge().judge(REFERENCE, attempt(True, False)).reason == "1 of 2 assertions do not hold; assertion 2: not so"


def test_assertions_that_did_not_run_do_not_hold() -> None:
    assert not strict(attempt()) and not strict(attempt(True)) and not strict(attempt(True, True, True))
    assert not strict(Evidence(False, None, "all assertions hold", "", 0))
    assert not strict(attempt(True, True, exit_status=None))
    assert not strict(attempt(True, True), {**REFERENCE, "ungradable": "cannot be run: the tables are missing"})


def test_a_truthy_word_is_not_true() -> None:
    evidence = Evidence(True, None, "", "", 0, gathered={"assertions": [{"holds": "yes", "problem": "?"}] * 2, "left": {}})
    assert not strict(evidence)


def test_evidence_is_judged_again_from_the_record() -> None:
    assert strict(Evidence.from_json(attempt(True, True).to_json()))


def test_the_published_judge_accepts_whatever_does_not_fail() -> None:
    judge = PublishedAssertionsJudge()
    assert judge.judge(REFERENCE, Evidence(False, None, "", "", 0)).correct
    assert judge.judge(REFERENCE, attempt(False, False)).correct
    assert not judge.judge(REFERENCE, attempt(True, True, exit_status=1)).correct


def test_instances_share_a_key_only_with_the_same_assertions_and_study() -> None:
    judge = AssertionsJudge()
    assert judge.summarise(REFERENCE) == judge.summarise(dict(REFERENCE))
    assert judge.summarise(REFERENCE).key != judge.summarise({**REFERENCE, "study": "other"}).key
