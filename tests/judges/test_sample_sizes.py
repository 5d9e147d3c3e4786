from __future__ import annotations

from typing import Any

import pytest

from medagentgym.judges.base import Evidence
from medagentgym.judges.references import most_satisfied
from medagentgym.judges.sample_sizes import PublishedSampleSizeJudge, SampleSizeJudge
from medagentgym.sandbox.answers import decode, encode


def reference(target: str, value: float | None, tolerance: float = 0.0) -> dict[str, Any]:
    return {"target": target, "value": value, "published": value, "tolerance": tolerance}


def evidence(value: Any, printed: str | None = None) -> Evidence:
    return Evidence(True, decode(encode(value, 100_000)), str(value) if printed is None else printed, "", 0)


def is_right(value: Any, gold: dict[str, Any]) -> bool:
    return SampleSizeJudge().judge(gold, evidence(value)).correct


def passes_as_published(value: Any, gold: dict[str, Any], printed: str | None = None) -> bool:
    return PublishedSampleSizeJudge().judge(gold, evidence(value, printed)).correct


def test_a_sample_size_is_right_exactly_however_it_is_written() -> None:
    gold = reference("size", 84)
    assert all(is_right(answer, gold) for answer in (84, 84.0, "84", "84.0", [84]))
    assert not any(is_right(answer, gold) for answer in (83, 85, 83.6, 84.4, -84, 0))


def test_a_stated_tolerance_forgives_a_sample_size() -> None:
    gold = reference("size", 100, tolerance=0.02)
    assert is_right(98, gold) and is_right(102, gold) and is_right(99.6, gold)
    assert not is_right(97, gold) and not is_right(103, gold)


def test_a_power_is_right_within_one_per_cent_whatever_the_tolerance_for_sizes() -> None:
    gold = reference("power", 0.8, tolerance=0.5)
    assert is_right(0.7921, gold) and is_right(0.8079, gold) and is_right("0.80", gold)
    assert not any(is_right(answer, gold) for answer in (0.79, 0.81, 80, "80%", 0.2))


@pytest.mark.parametrize("answer", [{"n": 84}, "[84]", "**84**", [[84]]], ids=str)
def test_a_number_is_read_under_a_label_in_dress_and_out_of_texts(answer: Any) -> None:
    assert is_right(answer, reference("size", 84)) and not is_right(answer, reference("size", 85))


@pytest.mark.parametrize(
    "answer",
    [None, True, "about 84", [84, 85], {"n": 84, "power": 0.8}, {84: 85}, float("nan"), float("inf"), pytest.param(object(), id="an object")],
    ids=str,
)
def test_what_is_no_single_number_is_wrong(answer: Any) -> None:
    assert not is_right(answer, reference("size", 84))


def test_true_is_no_power_of_one() -> None:
    assert is_right(1.0, reference("power", 1.0)) and not is_right(True, reference("power", 1.0))


def test_a_gold_that_is_no_number_is_met_by_nothing() -> None:
    gold = {**reference("size", None), "published": "many"}
    assert not is_right("many", gold) and not passes_as_published("many", gold)
    assert SampleSizeJudge().summarise(gold).status == "error"


def test_only_the_answer_counts_and_never_what_was_printed() -> None:
    judge = SampleSizeJudge()
    assert not judge.judge(reference("size", 84), Evidence(False, None, "84\n", "", 0)).correct
    assert not judge.judge(reference("size", 84), Evidence(False, None, "", "", None, abstained=True)).correct
    assert judge.judge(reference("size", 84), evidence(84, "something else")).correct


def test_the_published_comparison_reads_whole_numbers_and_powers_out_of_what_was_printed() -> None:
    size, power = reference("size", 84), reference("power", 0.8)
    assert passes_as_published(84, size) and passes_as_published(84, size, "84\n")
    assert not passes_as_published(84.0, size) and not passes_as_published(84, size, "n = 84\n")
    assert passes_as_published(0.805, power) and not passes_as_published(0.79, power)
    assert not PublishedSampleSizeJudge().judge(size, Evidence(True, 84, "84", "", 1)).correct


def test_the_best_constant_is_near_one_where_many_powers_are() -> None:
    judge = SampleSizeJudge()
    golds = [reference("power", value) for value in (1.0, 0.9999, 0.985, 0.5)] + [reference("size", 42)] * 2
    assert most_satisfied([judge.summarise(gold) for gold in golds]) == 3
