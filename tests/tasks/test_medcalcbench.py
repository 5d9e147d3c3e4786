from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from medagentgym.config import Config
from medagentgym.configuration import load_config
from medagentgym.errors import UserError
from medagentgym.judges.base import Evidence
from medagentgym.judges.references import most_satisfied
from medagentgym.prompting import render_prompt
from medagentgym.sandbox.answers import decode, encode
from medagentgym.tasks.medcalcbench import MedCalcBench

COLUMNS = ("Row Number", "Calculator Name", "Patient Note", "Question", "Ground Truth Answer", "Lower Limit", "Upper Limit")
ROWS: list[dict[str, Any]] = [
    dict(zip(COLUMNS, values, strict=True))
    for values in (
        (11, "Anion Gap", "Sodium 140, chloride 100, bicarbonate 20 mEq/L.", "What is the anion gap?", "20", "19", "21"),
        (12, "SIRS Criteria", "Temperature 39 °C, pulse 100/min.", "How many SIRS criteria are met?", "2", "2", "2"),
        (13, "Estimated Due Date", "Last period on 04/04/2006.", "When is the baby due?", "01/09/2007", "01/09/2007", "01/09/2007"),
        (14, "Estimated Gestational Age", "Last period on 01/01/2020.", "How old?", *["('14 weeks', '1 days')"] * 3),
        (15, "Delta Gap", "Sodium 140, chloride 104, bicarbonate 24 mEq/L.", "What is the delta gap?", "0", "0", "0"),
        (16, "Delta Gap", "Sodium 130, chloride 104, bicarbonate 20 mEq/L.", "What is the delta gap?", "-6", "-6.3", "-5.7"),
    )
]
METHODS = [{"Calculator": row["Calculator Name"], "Short Summary": f"Calculate the {row['Calculator Name']}.", "Long Summary": "x"} for row in ROWS]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_table(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def configured(folder: Path, data: dict[str, Any], **keys: Any) -> Config:
    return load_config({"task": "medcalcbench", "work_dir": str(folder / "work"), "agent": {"name": "baseline"}, "data": data, **keys})


def opened(config: Config) -> MedCalcBench:
    return MedCalcBench(config.work_dir / "data" / "medcalcbench", config)


def built(config: Config) -> MedCalcBench:
    MedCalcBench.build(config, config.work_dir / "data" / "medcalcbench")
    return opened(config)


def from_rows(folder: Path, rows: list[dict[str, Any]], data: dict[str, Any] | None = None, **keys: Any) -> MedCalcBench:
    path = write_lines(folder / "tasks.jsonl", rows)
    return built(configured(folder, {"questions": {"test": str(path)}, **(data or {})}, **keys))


def left_by(program: str) -> Evidence:
    """What a program without side effects leaves."""
    variables: dict[str, Any] = {}
    exec(program, variables)
    return Evidence(True, decode(encode(variables["answer"], 100_000)), str(variables["answer"]), "", 0)


def golds(task: MedCalcBench) -> list[Any]:
    return [task.record(idx)["gold"].get("value") for idx in range(task.manifest["questions"]["test"]["rows"])]


# --- layouts --------------------------------------------------------------------------------------------------------------------------------------


def test_the_published_layout_and_the_benchmark_s_own_table_give_the_same_instances(tmp_path: Path) -> None:
    published = write_lines(tmp_path / "published" / "test_tasks.jsonl", ROWS)
    own = write_table(tmp_path / "test_data.csv", [{**row, "Category": "lab test", "Output Type": "decimal", "Note ID": "7"} for row in ROWS])
    tasks = [
        built(configured(tmp_path / "a", {"data_path": str(published.parent)})),
        built(configured(tmp_path / "b", {"questions": {"test": str(own)}})),
    ]
    for idx, row in enumerate(ROWS):
        first, second = (task.instance(idx) for task in tasks)
        assert first.question == second.question
        assert first.record["gold"] == second.record["gold"]
        assert first.instance_id == f"test-{idx}"
        assert row["Patient Note"] in first.question and row["Question"] in first.question
    assert tasks[1].record(0)["about"]["output_type"] == "decimal"


def test_training_rows_are_read_from_either_published_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "published" / "train_tasks.jsonl", ROWS[:2])
    config = configured(tmp_path, {"data_path": str(tmp_path / "published")}, mode="train")
    assert MedCalcBench.count(config) == 2
    write_lines(tmp_path / "published" / "train_tasks_all.jsonl", ROWS)
    assert MedCalcBench.count(config) == 6


def test_every_shape_of_gold_is_read(tmp_path: Path) -> None:
    task = from_rows(tmp_path, ROWS)
    assert golds(task) == [20, 2, "2007-01-09", [14, 1], 0, -6]
    assert [task.record(idx)["gold"]["shape"] for idx in range(6)] == ["number", "number", "date", "weeks_and_days", "number", "number"]


@pytest.mark.parametrize("column", ["Calculator Name", "Patient Note", "Question", "Ground Truth Answer"])
def test_a_row_without_a_column_is_one_line(tmp_path: Path, column: str) -> None:
    with pytest.raises(UserError, match=f"row 1: has no {column}; correct data.questions.test"):
        from_rows(tmp_path, [ROWS[0], {name: value for name, value in ROWS[1].items() if name != column}])


def test_golds_that_cannot_be_right_or_read_are_told(tmp_path: Path) -> None:
    rows = [
        {**ROWS[0], "Calculator Name": "Glasgow Coma Score (GCS)", "Ground Truth Answer": "18", "Lower Limit": "18", "Upper Limit": "18"},
        {**ROWS[0], "Ground Truth Answer": "25"},
        {**ROWS[0], "Ground Truth Answer": "rather high"},
        ROWS[0],
    ]
    task = from_rows(tmp_path, rows)
    assert [task.ungradable(task.instance(idx)) for idx in range(4)] == [
        "gold is wrong: 18 is no Glasgow Coma Score (GCS), which is 3 to 15",
        "gold is wrong: 25 lies outside of its own limits 19 to 21",
        "gold cannot be expressed: 'rather high' is neither a number, nor a date, nor weeks and days",
        None,
    ]
    strict = task.judges()["strict"]
    assert not strict.judge(task.reference(task.instance(2)), left_by("answer = 'rather high'")).correct


# --- what the agent sees --------------------------------------------------------------------------------------------------------------------------


def test_the_prompt_shows_the_note_and_no_gold(tmp_path: Path) -> None:
    task = from_rows(tmp_path, ROWS)
    fields = task.prompt_fields(task.instance(2))
    prompt = "\n".join(str(message["content"]) for message in render_prompt(task.config, fields, ("validate_code", "submit")))
    assert "Last period on 04/04/2006." in prompt and "When is the baby due?" in prompt
    assert "01/09/2007" not in prompt and "2007-01-09" not in prompt
    assert task.mounts(task.instance(2)) == {}


def test_the_method_is_shown_only_where_it_is_asked_for(tmp_path: Path) -> None:
    write_lines(tmp_path / "calculation_method.jsonl", METHODS)
    hidden = from_rows(tmp_path, ROWS)
    shown = opened(hidden.config.model_copy(update={"data": hidden.config.data.model_copy(update={"show_method": True})}))
    assert "Calculate the Anion Gap." not in hidden.instance(0).question
    assert "Calculate the Anion Gap." in shown.instance(0).question
    assert hidden.instance_digest(0) != shown.instance_digest(0)


def test_a_method_that_is_not_shown_changes_no_instance(tmp_path: Path) -> None:
    without = from_rows(tmp_path, ROWS).instance_digest(0)
    write_lines(tmp_path / "calculation_method.jsonl", METHODS)
    assert from_rows(tmp_path, ROWS).instance_digest(0) == without


def test_a_missing_method_stops_before_any_episode(tmp_path: Path) -> None:
    write_lines(tmp_path / "calculation_method.jsonl", METHODS[:1])
    with pytest.raises(UserError, match=r"data.show_method: there is no method for Delta Gap \(4 calculators have none\)"):
        from_rows(tmp_path, ROWS, {"show_method": True})


# --- corrected labels -----------------------------------------------------------------------------------------------------------------------------


def test_corrected_labels_replace_golds_and_the_tables_say_so(tmp_path: Path) -> None:
    labels = [
        {"Row Number": 12, "Ground Truth Answer": "3"},
        {"Row Number": 13, "Ground Truth Answer": "01/12/2007"},
        {"Row Number": 15, "Ground Truth Answer": "2"},
        {"Row Number": 16, "Ground Truth Answer": "-6", "Lower Limit": "-6.3", "Upper Limit": "-5.7"},
        {"Row Number": 999, "Ground Truth Answer": "7"},
    ]
    path = write_table(tmp_path / "corrected.csv", [{"Lower Limit": "", "Upper Limit": "", **label} for label in labels])
    task = from_rows(tmp_path, ROWS, {"gold_overrides": str(path)})
    assert golds(task) == [20, 3, "2007-01-12", [14, 1], 2, -6]
    assert task.manifest["questions"]["test"]["corrected_golds"] == 3
    (remark,) = MedCalcBench.remarks(task.config)
    assert remark.startswith("The golds of 3 of 6 test instances are those of the corrected labels corrected.csv (SHA-256 ")
    assert path in MedCalcBench.sources(task.config)


def test_a_label_without_limits_has_such_as_its_calculator_has(tmp_path: Path) -> None:
    labels = [{"Row Number": 12, "Ground Truth Answer": "3"}, {"Row Number": 15, "Ground Truth Answer": "2"}]
    path = write_lines(tmp_path / "corrected.jsonl", labels)
    task = from_rows(tmp_path, ROWS, {"gold_overrides": str(path)})
    score, gap = (task.record(idx)["gold"] for idx in (1, 4))
    assert (score["low"], score["high"]) == (3, 3)
    assert (gap["low"], gap["high"]) == pytest.approx((1.9, 2.1))


def test_the_published_judge_keeps_to_the_task_file(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "corrected.jsonl", [{"idx": 5, "Ground Truth Answer": "-10"}])
    task = from_rows(tmp_path, ROWS, {"gold_overrides": str(path)})
    reference, judges = task.reference(task.instance(5)), task.judges()
    assert judges["strict"].judge(reference, left_by("answer = -10")).correct
    assert reference["published"] == "-6"
    assert not judges["published"].judge(reference, left_by("answer = -6")).correct  # a right negative answer never passes there


def test_corrected_labels_judge_finished_episodes_again(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "corrected.jsonl", [{"idx": 0, "Ground Truth Answer": "25"}])
    before = from_rows(tmp_path, ROWS).instance_digest(0)
    assert from_rows(tmp_path, ROWS, {"gold_overrides": str(path)}).instance_digest(0) == before


@pytest.mark.parametrize(
    ("label", "says"),
    [
        ({"Row Number": 12, "Calculator Name": "Anion Gap"}, "row 0: is about Anion Gap, while its row of the test task file is about SIRS Criteria"),
        ({}, "row 0: has no Row Number; correct data.gold_overrides"),
        ({"Row Number": 999}, "none of its labels belongs to a row of the test task file"),
        ({"idx": 1, "mode": "valid"}, "row 0: mode is valid; expects train or test"),
    ],
)
def test_a_label_that_cannot_be_laid_over_a_gold_is_one_line(tmp_path: Path, label: dict[str, Any], says: str) -> None:
    path = write_lines(tmp_path / "corrected.jsonl", [{"Ground Truth Answer": "3", **label}])
    with pytest.raises(UserError, match=says):
        from_rows(tmp_path, ROWS, {"gold_overrides": str(path)})


def test_a_label_by_a_number_that_two_rows_have_is_one_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "corrected.jsonl", [{"Row Number": 12, "Ground Truth Answer": "3"}])
    rows = [*ROWS, next(row for row in ROWS if str(row["Row Number"]) == "12")]
    with pytest.raises(UserError, match=rf"row {len(ROWS)}: has the Row Number 12 of row 1, so the label of .*, row 0 belongs to no row of its own"):
        from_rows(tmp_path, rows, {"gold_overrides": str(path)})


def test_a_calculator_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="row 0: Calculator Name is no text"):
        from_rows(tmp_path, [{**ROWS[0], "Calculator Name": ["SIRS"]}])


def test_two_labels_of_one_row_are_one_line(tmp_path: Path) -> None:
    labels = [{"idx": 1, "Ground Truth Answer": "3"}, {"Row Number": 12, "Ground Truth Answer": "4"}]
    path = write_lines(tmp_path / "corrected.jsonl", labels)
    with pytest.raises(UserError, match="row 1: is a second label of row 1 of the test task file"):
        from_rows(tmp_path, ROWS, {"gold_overrides": str(path)})


# --- judging --------------------------------------------------------------------------------------------------------------------------------------


def test_the_reference_passes_and_the_broken_ones_do_not(tmp_path: Path) -> None:
    days_are_weeks = {**ROWS[3], "Ground Truth Answer": "('3 weeks', '3 days')"}
    late_in_the_month = {**ROWS[2], "Ground Truth Answer": "02/29/2008"}
    task = from_rows(tmp_path, [*ROWS, days_are_weeks, late_in_the_month])
    strict = task.judges()["strict"]
    for idx in range(8):
        instance = task.instance(idx)
        reference = task.reference(instance)
        assert strict.judge(reference, left_by(task.reference_code(instance))).correct, idx
        broken = task.broken_references(instance)
        assert set(broken) == {"another_value", "surplus", "slightly_high", "slightly_low", "swapped"}
        assert [name for name, program in broken.items() if strict.judge(reference, left_by(program)).correct] == [], idx


# --- real data ------------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> MedCalcBench:
    return built(configured(tmp_path_factory.mktemp("real"), {"data_path": str(shared_data / "medcalcbench"), "show_method": True}))


@pytest.mark.shared_data
def test_every_gold_of_all_55_calculators_is_read(real: MedCalcBench) -> None:
    summary = real.manifest["questions"]["test"]
    assert (summary["rows"], summary["calculators"], summary["without_method"]) == (524, 55, [])
    told = [reason for reason in (real.ungradable(real.instance(idx)) for idx in range(524)) if reason is not None]
    assert len(told) == 3 and all("Glasgow Coma Score" in reason for reason in told)


@pytest.mark.shared_data
def test_every_published_reference_passes_and_no_broken_one(real: MedCalcBench) -> None:
    strict = real.judges()["strict"]
    for idx in range(524):
        instance = real.instance(idx)
        reference = real.reference(instance)
        assert strict.judge(reference, left_by(real.reference_code(instance))).correct, idx
        assert [name for name, program in real.broken_references(instance).items() if strict.judge(reference, left_by(program)).correct] == [], idx


@pytest.mark.shared_data
def test_one_scores_everything_with_the_published_judge_and_less_than_the_floor_with_the_strict_one(real: MedCalcBench) -> None:
    judges = real.judges()
    references = [real.reference(real.instance(idx)) for idx in range(524)]
    passed = {name: sum(judge.judge(reference, left_by("answer = 1")).correct for reference in references) for name, judge in judges.items()}
    floor = most_satisfied([judges["strict"].summarise(reference) for reference in references])  # type: ignore[attr-defined]
    assert passed["published"] == sum(reference["shape"] == "number" for reference in references) == 494
    assert all(judges["published"].judge(reference, left_by("answer = 1")).correct for reference in references[:40])
    assert passed["strict"] <= floor < 0.1 * 524


@pytest.mark.shared_data
def test_the_real_note_is_shown_with_question_and_method(real: MedCalcBench) -> None:
    question = real.instance(0).question
    assert question.startswith("Patient note:\n\nAn 87-year-old man") and "How it is calculated:" in question
