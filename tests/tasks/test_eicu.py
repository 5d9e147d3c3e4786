"""Task eicu, from its sources to a judged answer."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from ehr_tasks import accepted, built_task, planned_alone, reference_answer, write_published_tables
from raw_eicu import QUESTIONS, write_raw
from raw_mimic import write_questions

from medagentgym.config import Config
from medagentgym.ehr.eicu_schema import EICU
from medagentgym.errors import UserError
from medagentgym.tasks.eicu import Eicu
from medagentgym.tasks.registry import get_task_class


def config_of(work_dir: Path, mode: str = "test", **data: Any) -> Config:
    return Config.model_validate({"work_dir": work_dir, "task": "eicu", "mode": mode, "data": data})


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("sources")
    return {"raw_path": write_raw(folder / "raw"), "questions": {"test": write_questions(folder / "valid.json", QUESTIONS)}}


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory, sources: dict[str, Any]) -> Eicu:
    return built_task(Eicu, config_of(tmp_path_factory.mktemp("work"), **sources))


def test_the_task_is_found_by_its_name() -> None:
    assert get_task_class("eicu") is Eicu


def test_its_records_are_credentialed_unless_made_up_or_said_otherwise(tmp_path: Path, sources: dict[str, Any]) -> None:
    assert Eicu.is_credentialed(config_of(tmp_path, **sources))
    assert not Eicu.is_credentialed(config_of(tmp_path, credentialed=False, **sources))
    assert not Eicu.is_credentialed(config_of(tmp_path, synthetic={}))


def test_impossible_questions_are_left_out_unless_wanted(tmp_path: Path, sources: dict[str, Any]) -> None:
    assert Eicu.count(config_of(tmp_path, **sources)) == 6
    assert Eicu.indices(config_of(tmp_path, **sources)) == [0, 1, 3, 4, 5]
    assert Eicu.indices(config_of(tmp_path, impossible="only", **sources)) == [2]


def test_sources_are_the_raw_tables_that_are_there_and_the_question_files(tmp_path: Path, sources: dict[str, Any]) -> None:
    names = {path.name for path in Eicu.sources(config_of(tmp_path, **sources))}
    assert {"patient.csv", "vitalPeriodic.csv", "intakeOutput.csv", "microLab.csv", "valid.json"} <= names
    assert len(names) == 9 + 1
    folder = tmp_path / "raw"
    shutil.copytree(sources["raw_path"], folder)
    (folder / "lab.csv").unlink()
    assert len(Eicu.sources(config_of(tmp_path, **{**sources, "raw_path": folder}))) == 8 + 1


def test_planning_imports_no_heavy_library(tmp_path: Path, sources: dict[str, Any]) -> None:
    planned = {"count": 6, "indices": [0, 1, 3, 4, 5], "sources": True, "heavy": []}
    assert planned_alone(config_of(tmp_path, **sources)) == planned


def test_golds_are_those_of_the_tables_at_now_and_normal_ranges_are_numbers(task: Eicu) -> None:
    golds = [task.instance(idx).record["gold"] for idx in range(6)]
    assert [gold["rows"] for gold in golds] == [[[4]], [["male"]], [], [[1]], [[16.0]], []]
    assert golds[3]["boolean"] and not golds[0]["boolean"]
    assert "between 12.0 and 18.0" in task.instance(4).record["sql"]


def test_the_prompt_tells_now_and_shows_every_table_and_no_gold(task: Eicu) -> None:
    fields = task.prompt_fields(task.instance(3))
    assert fields["now"] == "2105-12-31 23:59:00" and fields["database"] == "/data/eicu.sqlite"
    for table in EICU.tables:
        assert f"{table.file_name} (" in fields["tables"] and ",".join(table.column_names) in fields["tables"]
    assert not any("select" in text for text in fields.values())


def test_the_reference_code_satisfies_the_strict_judge_on_every_question(task: Eicu) -> None:
    for idx in Eicu.indices(task.config):
        assert accepted(task, idx, reference_answer(task, idx)), task.instance(idx).question
        assert not accepted(task, idx, [["something else"]]), task.instance(idx).question


def test_info_is_answered_from_the_index(task: Eicu) -> None:
    assert "warfarin" in task.request_info({"data_path": "medication.csv", "info_type": "term", "keyterm": "warfarine"})


def test_a_folder_in_the_published_layout_gets_golds_from_its_tables(tmp_path: Path, task: Eicu) -> None:
    folder = write_published_tables(tmp_path / "published", task)
    write_questions(folder / "valid_tasks.jsonl", [{**question, "answer": ["99"]} for question in QUESTIONS if not question["is_impossible"]])
    write_questions(folder / "train_tasks.jsonl", [{**QUESTIONS[0], "answer": ["99"]}])
    other = built_task(Eicu, config_of(tmp_path, data_path=folder))
    assert Eicu.indices(other.config) == [0, 1, 2, 3, 4] and Eicu.count(config_of(tmp_path, mode="train", data_path=folder)) == 1
    assert [other.instance(idx).record["gold"] for idx in (0, 3)] == [task.instance(idx).record["gold"] for idx in (0, 4)]
    assert other.data_digest() == task.data_digest() and other.manifest["comparable_with_published"] is True
    (folder / "lab.csv").unlink()
    with pytest.raises(UserError, match=r"lab\.csv is missing; correct data\.data_path"):
        Eicu.build(other.config, tmp_path / "again")


def test_the_database_of_ehrsql_is_taken_as_it_is(tmp_path: Path, task: Eicu, sources: dict[str, Any]) -> None:
    path = tmp_path / "eicu.sqlite"
    shutil.copyfile(task.folder / "database" / "eicu.sqlite", path)
    other = built_task(Eicu, config_of(tmp_path, sqlite_path=path, questions=sources["questions"]))
    assert other.data_digest() == task.data_digest()
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE vitalperiodic")
    connection.commit()
    connection.close()
    with pytest.raises(UserError, match="table vitalperiodic is missing"):
        Eicu.build(other.config, tmp_path / "again")


@pytest.mark.slow
def test_made_up_records_are_built_whole(tmp_path: Path) -> None:
    made_up = {"patients": 40, "seed": 2, "train": 6, "test": 20}
    config = config_of(tmp_path, synthetic=made_up)
    assert Eicu.sources(config) == []
    assert (Eicu.count(config), Eicu.count(config_of(tmp_path, mode="train", synthetic=made_up))) == (20, 6)
    planned = Eicu.indices(config)
    task = built_task(Eicu, config)
    assert [idx for idx in range(20) if not task.instance(idx).record["is_impossible"]] == planned
    assert task.manifest["cohort"]["patients"] == 40 and task.manifest["cohort"]["current_patients"] == 4
    assert task.manifest["questions"]["test"]["error"] == 0 and task.manifest["questions"]["test"]["usable_share"] > 0.7
    assert sorted(path.name for path in task.folder.iterdir()) == ["build.json", "database", "lookup.sqlite", "test_tasks.jsonl", "train_tasks.jsonl"]


# --- real data ------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.shared_data
@pytest.mark.slow
def test_the_demo_answers_every_answerable_validation_question(tmp_path: Path, shared_data: Path) -> None:
    questions = {"test": shared_data / "ehrsql" / "eicu" / "valid.json"}
    task = built_task(Eicu, config_of(tmp_path, raw_path=shared_data / "eicu_demo", questions=questions))
    summary = task.manifest["questions"]["test"]
    assert (summary["rows"], summary["answerable"], summary["error"]) == (1117, 755, 0)
    assert 140 <= summary["usable"] <= 180
    assert task.manifest["cohort"]["missing_raw_tables"] == ["lab", "vitalperiodic"]
    for idx in Eicu.indices(task.config):
        assert accepted(task, idx, reference_answer(task, idx)), task.instance(idx).question
