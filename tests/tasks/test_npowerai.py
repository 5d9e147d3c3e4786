from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from medagentgym.config import Config
from medagentgym.configuration import load_config
from medagentgym.errors import UserError
from medagentgym.fingerprint import configuration_part
from medagentgym.judges.base import Evidence
from medagentgym.judges.references import most_satisfied
from medagentgym.sandbox.answers import decode, encode
from medagentgym.tasks.npowerai import NPowerAI, check_gold

TWO_SAMPLES = (
    "In a trial with two groups of equal size the difference in mean pressure between the groups will be {difference} mmHg. The standard deviation "
    "under drug A is assumed to be 15 and the standard deviation under drug B to be 17. What sample size is needed in each group for a two-sided "
    "test with a power of 80% and a significance level of 0.05?"
)
PAIRED = (
    "The drug is expected to lower cholesterol by {difference} mg/dL with a standard deviation of 38, measured before and after two months in a "
    "sample of 53 adults. What is the power to detect the reduction at a significance level of 0.05?"
)
ANOVA = (
    "The mean score for each group will be {means}, respectively, with a standard deviation in every group that is assumed to be 80. How many "
    "students in each group give a power of 80%?"
)


def configured(folder: Path, data: dict[str, Any], **keys: Any) -> Config:
    return load_config({"task": "npowerai", "work_dir": str(folder / "work"), "agent": {"name": "reference"}, "data": data, **keys})


def built(folder: Path, rows: list[dict[str, Any]], **keys: Any) -> NPowerAI:
    path = folder / "test_tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = configured(folder, {"questions": {"test": str(path)}}, **keys)
    NPowerAI.build(config, config.work_dir / "data" / "npowerai")
    return NPowerAI(config.work_dir / "data" / "npowerai", config)


def row(question: str, answer: Any, target: str = "size", task_type: str = "a test") -> dict[str, Any]:
    return {"task_type": task_type, "estimate_target": target, "question": question, "answer": answer}


def left_by(program: str) -> Evidence:
    """What a program without side effects leaves."""
    variables: dict[str, Any] = {}
    exec(program, variables)
    return Evidence(True, decode(encode(variables["answer"], 100_000)), str(variables["answer"]), "", 0)


# --- computing golds again ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer", "target", "finding", "says"),
    [
        (TWO_SAMPLES.format(difference=10), 42, "size", "agrees", "a power of 0.8 for a two-sided t test of two samples"),
        (TWO_SAMPLES.format(difference=15), 42, "size", "wrong", "needs 19, the gold says 42"),
        (PAIRED.format(difference=10), 0.4684, "power", "agrees", "53 participants in all"),
        (PAIRED.format(difference=10), 0.5971, "power", "agrees", "53 participants in all"),
        (PAIRED.format(difference=10), 0.512912771360268, "power", "wrong", "which is the power of 42 participants in all in a one-sided t test"),
        (ANOVA.format(means="547, 547, 554, and 546"), 1703, "size", "agrees", "f = 0.04002"),
        (ANOVA.format(means="547, 547, 554, and 546"), 1278, "size", "wrong", "f taken with the divisor k - 1"),
        ("How many patients are enough?", 12, "size", "unchecked", "no kind of design is recognised"),
        (TWO_SAMPLES.format(difference=0), 12, "size", "unchecked", "never reaches a power of 0.8"),
    ],
)
def test_a_gold_is_computed_again(question: str, answer: float, target: str, finding: str, says: str) -> None:
    check = check_gold(question, {"target": target, "value": answer})
    assert check.finding == finding
    assert says in check.words


def test_the_build_lists_wrong_golds_and_counts_by_kind(tmp_path: Path) -> None:
    rows = [row(TWO_SAMPLES.format(difference=difference), 42, task_type="t test") for difference in (10, 12, 15)]
    rows += [row("How many are enough?", 7, task_type="other"), row(PAIRED.format(difference=10), 0.4684, "power", "paired")]
    task = built(tmp_path, rows)
    assert task.manifest["questions"]["test"]["golds"] == {
        "other, size": {"agrees": 0, "wrong": 0, "unchecked": 1},
        "paired, power": {"agrees": 1, "wrong": 0, "unchecked": 0},
        "t test, size": {"agrees": 1, "wrong": 2, "unchecked": 0},
    }
    reasons = [task.ungradable(task.instance(idx)) for idx in range(5)]
    assert [reason is not None for reason in reasons] == [False, True, True, False, False]
    assert str(reasons[1]).startswith("gold is wrong: a power of 0.8 for a two-sided t test of two samples")
    assert NPowerAI.remarks(task.config) == [
        "Of 5 test golds 2 agree with the answer computed from the question, 2 are wrong (t test, size: 2 of 3), and 1 could not be checked. "
        "The audit lists them, and data.exclude: audit leaves out the wrong ones."
    ]


@pytest.mark.parametrize(
    ("answer", "target", "reason"),
    [
        ("many", "size", "gold cannot be expressed: the answer is no number"),
        (83.4, "size", "gold is wrong: 83.4 is no sample size"),
        (0, "size", "gold is wrong: 0 is no sample size"),
        (80, "power", "gold is wrong: 80 is no power"),
    ],
)
def test_a_gold_that_can_be_no_answer_is_told(tmp_path: Path, answer: Any, target: str, reason: str) -> None:
    task = built(tmp_path, [row(PAIRED.format(difference=10), answer, target)])
    assert task.ungradable(task.instance(0)) == reason


@pytest.mark.parametrize(
    ("damaged", "says"),
    [
        ({"estimate_target": "mean"}, "row 0: estimate_target is mean; expects size or power"),
        ({"estimate_target": None}, "row 0: has no estimate_target"),
        ({"question": ""}, "row 0: has no question"),
        ({"answer": None}, "row 0: has no answer"),
    ],
)
def test_a_row_without_what_is_needed_is_one_line(tmp_path: Path, damaged: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        built(tmp_path, [{**row(PAIRED.format(difference=10), 0.5), **damaged}])


# --- judging --------------------------------------------------------------------------------------------------------------------------------------


def test_the_reference_passes_and_the_broken_ones_do_not(tmp_path: Path) -> None:
    task = built(tmp_path, [row(TWO_SAMPLES.format(difference=10), 42.0), row(PAIRED.format(difference=10), 0.4684, "power"), row("?", 1.0, "power")])
    for idx in range(3):
        instance = task.instance(idx)
        judges = task.judges()
        for judge in judges.values():
            assert judge.judge(task.reference(instance), left_by(task.reference_code(instance))).correct, (idx, judge.name)
        broken = task.broken_references(instance)
        assert {"another_value", "surplus", "slightly_high", "slightly_low", "in_percent"} == set(broken)
        accepted = [name for name, program in broken.items() if judges["strict"].judge(task.reference(instance), left_by(program)).correct]
        assert accepted == []


def test_the_tolerance_of_the_configuration_reaches_the_judge_and_the_tables(tmp_path: Path) -> None:
    task = built(tmp_path, [row(TWO_SAMPLES.format(difference=10), 42)], scoring={"size_tolerance": 0.05})
    reference = task.reference(task.instance(0))
    assert task.judges()["strict"].judge(reference, left_by("answer = 44")).correct
    assert not task.judges()["strict"].judge(reference, left_by("answer = 45")).correct
    assert NPowerAI.remarks(task.config) == ["Sample sizes within 5 % of the gold count as right (scoring.size_tolerance)."]


def test_the_tolerance_changes_episodes_only_where_the_judge_ends_them(tmp_path: Path) -> None:
    data = {"synthetic": {"test": 1}}
    parts = [
        configuration_part(configured(tmp_path, data, protocol=protocol, scoring={"size_tolerance": tolerance}))
        for protocol in ("submit", "oracle_stop")
        for tolerance in (0.0, 0.1)
    ]
    assert parts[0] == parts[1]
    assert parts[2] != parts[3]


def test_the_question_shows_neither_gold_nor_kind_of_test(tmp_path: Path) -> None:
    task = built(tmp_path, [row(PAIRED.format(difference=10), 0.4684, "power", "Paired t-test")])
    fields = task.prompt_fields(task.instance(0))
    assert fields["question"] == PAIRED.format(difference=10)
    assert "0.4684" not in str(fields) and "Paired t-test" not in str(fields)
    assert task.mounts(task.instance(0)) == {}


# --- real data ------------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> NPowerAI:
    config = configured(tmp_path_factory.mktemp("real"), {"data_path": str(shared_data / "npowerai")}, mode="train")
    NPowerAI.build(config, config.work_dir / "data" / "npowerai")
    return NPowerAI(config.work_dir / "data" / "npowerai", config)


@pytest.mark.shared_data
def test_the_published_rows_are_all_checked_and_the_wrong_blocks_found(real: NPowerAI) -> None:
    golds = real.manifest["questions"]["train"]["golds"]
    assert sum(sum(counts.values()) for counts in golds.values()) == 865
    assert sum(counts["unchecked"] for counts in golds.values()) == 0
    wrong = {kind: (counts["wrong"], sum(counts.values())) for kind, counts in golds.items() if counts["wrong"]}
    assert wrong == {
        "Two independent samples t-test, size": (76, 77),
        "Cox proportional-hazards model, power": (68, 68),
        "One-way ANOVA, size": (69, 69),
        "One-way ANOVA, power": (65, 66),
        "Paired t-test, power": (35, 73),
    }


@pytest.mark.shared_data
def test_a_published_gold_of_42_is_kept_where_it_is_right(real: NPowerAI) -> None:
    of_two_samples = [idx for idx in range(865) if real.record(idx)["about"] == {"task_type": "Two independent samples t-test", "target": "size"}]
    right = [idx for idx in of_two_samples if real.ungradable(real.instance(idx)) is None]
    assert {real.record(idx)["gold"]["value"] for idx in of_two_samples} == {42}
    assert len(right) == 1 and "will be 10.0 mg/dl" in real.instance(right[0]).question


@pytest.mark.shared_data
def test_every_published_reference_passes_and_no_broken_one(real: NPowerAI) -> None:
    strict = real.judges()["strict"]
    for idx in range(865):
        instance = real.instance(idx)
        reference = real.reference(instance)
        assert strict.judge(reference, left_by(real.reference_code(instance))).correct, idx
        accepted = [name for name, program in real.broken_references(instance).items() if strict.judge(reference, left_by(program)).correct]
        assert accepted == [], idx


@pytest.mark.shared_data
def test_a_constant_of_one_passes_168_of_424_powers_and_stays_under_the_floor(real: NPowerAI) -> None:
    strict = real.judges()["strict"]
    powers = [reference for reference in map(real.reference, map(real.instance, range(865))) if reference["target"] == "power"]
    passed = sum(strict.judge(reference, left_by("answer = 1.0")).correct for reference in powers)
    floor = most_satisfied([strict.summarise(reference) for reference in powers])  # type: ignore[attr-defined]
    assert (len(powers), passed) == (424, 168)
    assert passed <= floor


# --- layouts ----------------------------------------------------------------------------------------------------------------------------------


def test_the_task_file_may_be_a_table(tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["task_type", "estimate_target", "question", "answer"])
        writer.writeheader()
        writer.writerow(row(TWO_SAMPLES.format(difference=10), 42))
    config = configured(tmp_path, {"questions": {"test": str(path)}})
    NPowerAI.build(config, tmp_path / "data")
    assert NPowerAI(tmp_path / "data", config).record(0)["gold"]["finding"] == "agrees"
