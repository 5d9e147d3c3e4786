"""Task mimic_iii, from its sources to a judged answer."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from ehr_tasks import accepted, built_task, planned_alone, reference_answer, write_published_tables
from raw_mimic import QUESTIONS, write_questions, write_raw

from medagentgym.config import Config
from medagentgym.ehr.schema import MIMIC_III
from medagentgym.errors import AgentError, UserError
from medagentgym.judges.base import Evidence
from medagentgym.plan import data_folder
from medagentgym.tasks.mimic_iii import MimicIII


def config_of(work_dir: Path, mode: str = "test", training: dict[str, Any] | None = None, **data: Any) -> Config:
    return Config.model_validate({"work_dir": work_dir, "mode": mode, "data": data, "training": training or {}})


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("sources")
    questions = {"test": write_questions(folder / "valid.json"), "train": write_questions(folder / "train.jsonl", QUESTIONS[:2])}
    return {"raw_path": write_raw(folder / "raw"), "questions": questions}


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory, sources: dict[str, Any]) -> MimicIII:
    return built_task(MimicIII, config_of(tmp_path_factory.mktemp("work"), **sources))


# --- which instances ------------------------------------------------------------------------------------------------------------------------------


def test_impossible_questions_are_left_out_unless_wanted(tmp_path: Path, sources: dict[str, Any]) -> None:
    assert MimicIII.count(config_of(tmp_path, **sources)) == 5
    assert MimicIII.indices(config_of(tmp_path, **sources)) == [0, 1, 3, 4]
    assert MimicIII.indices(config_of(tmp_path, impossible="include", **sources)) == [0, 1, 2, 3, 4]
    assert MimicIII.indices(config_of(tmp_path, impossible="only", **sources)) == [2]
    assert MimicIII.impossible(config_of(tmp_path, **sources)) == {2}
    assert MimicIII.indices(config_of(tmp_path, mode="train", **sources)) == [0, 1]


def test_only_and_exclude_choose_among_what_is_left(tmp_path: Path, sources: dict[str, Any]) -> None:
    assert MimicIII.indices(config_of(tmp_path, only=[4, 2, 0], **sources)) == [0, 4]
    assert MimicIII.indices(config_of(tmp_path, only=[4, 0], exclude=[0], **sources)) == [4]
    assert MimicIII.indices(config_of(tmp_path, only=[], **sources)) == []


@pytest.mark.parametrize("key", ["only", "exclude"])
def test_an_index_that_is_not_there_is_named_with_the_valid_range(tmp_path: Path, sources: dict[str, Any], key: str) -> None:
    with pytest.raises(UserError, match=rf"data\.{key}: there is no instance 5, 77; the question file has 0 to 4"):
        MimicIII.indices(config_of(tmp_path, **{key: [77, 5, 1]}, **sources))


def test_a_file_of_rollout_indices_is_honoured(tmp_path: Path, sources: dict[str, Any]) -> None:
    listed = tmp_path / "rollout_indices.json"
    listed.write_text(json.dumps({"mimic_iii": {"test": [3, 1, 2]}}))
    assert MimicIII.indices(config_of(tmp_path, training={"rollout_indices": listed}, **sources)) == [1, 3]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"eicu": {"test": [1]}}', "has no list mimic_iii.test"),
        ('{"mimic_iii": {"train": [1]}}', "has no list mimic_iii.test"),
        ("[1, 2]", "has no list mimic_iii.test"),
        ('{"mimic_iii": {"test": [1, true]}}', "is not a list of whole numbers"),
        ('{"mimic_iii": {"test": [5]}}', "there is no instance 5; the question file has 0 to 4"),
        ("{", "not JSON"),
    ],
)
def test_a_wrong_file_of_rollout_indices_is_named(tmp_path: Path, sources: dict[str, Any], content: str, complaint: str) -> None:
    listed = tmp_path / "rollout_indices.json"
    listed.write_text(content)
    with pytest.raises(UserError, match=complaint) as raised:
        MimicIII.indices(config_of(tmp_path, training={"rollout_indices": listed}, **sources))
    assert str(listed) in str(raised.value)


def test_empty_golds_are_left_out_once_the_data_are_built(task: MimicIII, sources: dict[str, Any]) -> None:
    assert MimicIII.indices(config_of(task.config.work_dir, empty_gold="exclude", **sources)) == [0, 1, 3]
    assert MimicIII.indices(config_of(task.config.work_dir, empty_gold="exclude", impossible="include", **sources)) == [0, 1, 2, 3]


def test_empty_golds_cannot_be_left_out_before_the_data_are_built(tmp_path: Path, task: MimicIII, sources: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="not built; build them first, with the target `data`"):
        MimicIII.indices(config_of(tmp_path, empty_gold="exclude", **sources))
    with pytest.raises(UserError, match="built from another configuration"):
        MimicIII.indices(config_of(task.config.work_dir, empty_gold="exclude", seed=5, **sources))


def test_a_mode_without_questions_is_named(tmp_path: Path, sources: dict[str, Any], task: MimicIII) -> None:
    test_only = {**sources, "questions": {"test": sources["questions"]["test"]}}
    with pytest.raises(UserError, match=r"data\.questions\.train: is missing"):
        MimicIII.indices(config_of(tmp_path, mode="train", **test_only))
    with pytest.raises(UserError, match=r"data\.questions: names no question file"):
        MimicIII.count(config_of(tmp_path, raw_path=sources["raw_path"]))


def test_exactly_one_source_is_needed(tmp_path: Path, sources: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="exactly one of raw_path, sqlite_path, data_path and synthetic; given: none of them"):
        MimicIII.count(config_of(tmp_path))
    with pytest.raises(UserError, match=r"given: data\.raw_path and data\.synthetic"):
        MimicIII.count(config_of(tmp_path, synthetic={}, **sources))


def test_sources_are_the_raw_tables_and_the_question_files(tmp_path: Path, sources: dict[str, Any]) -> None:
    names = {path.name for path in MimicIII.sources(config_of(tmp_path, **sources))}
    assert {"CHARTEVENTS.csv", "PATIENTS.csv", "valid.json", "train.jsonl"} <= names
    assert len(names) == 16 + 2


def test_planning_imports_no_heavy_library(tmp_path: Path, sources: dict[str, Any]) -> None:
    planned = {"count": 5, "indices": [0, 1, 3, 4], "sources": True, "heavy": []}
    assert planned_alone(config_of(tmp_path, **sources)) == planned


# --- an instance ----------------------------------------------------------------------------------------------------------------------------------


def test_the_template_is_the_question_that_is_shown(task: MimicIII) -> None:
    instance = task.instance(0)
    assert (instance.idx, instance.instance_id, instance.question) == (0, "females", "count the number of female patients.")
    assert task.instance(2).question == "Does patient 3 have an appointment?"


@pytest.mark.parametrize("idx", [-1, 5])
def test_an_instance_that_is_not_there_is_named(task: MimicIII, idx: int) -> None:
    with pytest.raises(UserError, match=f"has no instance {idx}; there are 0 to 4"):
        task.instance(idx)


def test_the_prompt_tells_now_and_shows_every_table_and_no_gold(task: MimicIII) -> None:
    fields = task.prompt_fields(task.instance(3))
    assert fields["now"] == "2105-12-31 23:59:00"
    assert fields["database"] == "/data/mimic_iii.sqlite"
    for table in MIMIC_III.tables:
        assert f"{table.file_name} (" in fields["tables"]
        assert ",".join(table.column_names) in fields["tables"]
    lines = fields["tables"].split("\n\n")[1].splitlines()
    assert lines[0] == "ADMISSIONS.csv (7 rows)"
    assert len(lines) == 2 + task.config.env.preview_rows
    assert not any("select" in text for text in fields.values())


def test_the_reference_code_satisfies_the_strict_judge_on_every_question(task: MimicIII) -> None:
    assert set(task.judges()) == {"strict", "published"}
    for idx in {0, 1, 2, 3, 4} - MimicIII.impossible(task.config):
        assert accepted(task, idx, reference_answer(task, idx)), task.instance(idx).question
        assert not accepted(task, idx, [["something else"]]), task.instance(idx).question


def test_to_an_impossible_question_abstaining_is_right_and_no_program_leaves_the_right_answer(task: MimicIII) -> None:
    instance = task.instance(2)
    assert task.is_impossible(instance) and task.reference_actions(instance) == [("abstain", {})]
    with pytest.raises(UserError, match="mimic_iii 2: the database cannot answer the question"):
        task.reference_code(instance)
    reference, strict = task.reference(instance), task.judges()["strict"]
    assert reference["gold"]["impossible"] is True and "impossible" not in task.reference(task.instance(0))["gold"]
    abstention = Evidence(has_answer=False, answer=None, stdout="", stderr="", exit_status=None, abstained=True)
    assert strict.judge(reference, abstention).correct and not strict.judge(task.reference(task.instance(0)), abstention).correct
    for answer in (None, [], 0, "abstain"):
        assert not strict.judge(reference, Evidence(has_answer=True, answer=answer, stdout="None\n", stderr="", exit_status=0)).correct


def test_the_reference_holds_gold_and_published_form(task: MimicIII) -> None:
    reference = task.reference(task.instance(1))
    assert reference == {"gold": {"columns": ["GENDER"], "rows": [["m"]], "boolean": False, "status": "usable", "reason": ""}, "published": ["m"]}


def test_only_the_database_folder_is_mounted_and_it_holds_no_gold(task: MimicIII) -> None:
    (folder,) = task.mounts(task.instance(0)).values()
    assert sorted(path.name for path in folder.iterdir()) == sorted([*(table.file_name for table in MIMIC_III.tables), "mimic_iii.sqlite"])


def test_info_is_answered_from_the_index(task: MimicIII) -> None:
    assert "warfarin" in task.request_info({"data_path": "/data", "info_type": "term", "keyterm": "warfarine"})
    with pytest.raises(AgentError, match="there is no file"):
        task.request_info({"data_path": "NOTES.csv", "info_type": "column_names"})


def test_digests_tell_rows_and_data_apart(tmp_path: Path, task: MimicIII, sources: dict[str, Any]) -> None:
    changed = [{**question, "query": question["query"].replace("'f'", "'m'")} for question in QUESTIONS]
    questions = {"test": write_questions(tmp_path / "changed.json", changed)}
    other = built_task(MimicIII, config_of(tmp_path, raw_path=sources["raw_path"], questions=questions))
    assert other.instance_digest(0) != task.instance_digest(0)
    assert [other.instance_digest(idx) for idx in range(1, 5)] == [task.instance_digest(idx) for idx in range(1, 5)]
    assert other.data_digest() == task.data_digest()
    assert re.fullmatch("[0-9a-f]{64}", task.data_digest())


def test_data_that_are_not_built_or_incomplete_are_named(tmp_path: Path, task: MimicIII, sources: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="not built"):
        MimicIII(tmp_path, task.config)
    for content in ("{", '{"schema": "another"}', "[]"):
        (tmp_path / "build.json").write_text(content)
        with pytest.raises(UserError, match=r"build\.json: .*build the data again"):
            MimicIII(tmp_path, task.config)


# --- other sources --------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def published(tmp_path: Path, task: MimicIII) -> Path:
    """A folder in the published layout: tables with a row index in front, wrong stored golds."""
    folder = write_published_tables(tmp_path / "published", task)
    rows = [{**question, "answer": ["99"]} for question in QUESTIONS if not question["is_impossible"]]
    write_questions(folder / "valid_tasks.jsonl", rows)
    return folder


def test_a_folder_in_the_published_layout_gets_golds_from_its_tables(tmp_path: Path, published: Path, task: MimicIII) -> None:
    other = built_task(MimicIII, config_of(tmp_path, data_path=published))
    assert MimicIII.indices(other.config) == [0, 1, 2, 3]
    assert other.instance(0).record["gold"] == task.instance(0).record["gold"]
    assert other.instance(0).record["stored_answer"] == ["99"]
    assert other.data_digest() == task.data_digest()
    assert other.manifest["comparable_with_published"] is True


def test_stored_golds_are_kept_where_wanted(tmp_path: Path, published: Path) -> None:
    other = built_task(MimicIII, config_of(tmp_path, data_path=published, gold="stored"))
    assert other.reference(other.instance(0)) == {
        "gold": {"columns": ["count(*)"], "rows": [[99]], "boolean": False, "status": "usable", "reason": ""},
        "published": ["99"],
    }


def test_stored_golds_that_are_not_there_are_missed(tmp_path: Path, sources: dict[str, Any]) -> None:
    config = config_of(tmp_path, gold="stored", **sources)
    with pytest.raises(UserError, match=r"row 0: has no answer, so data\.gold cannot be `stored`"):
        MimicIII.build(config, data_folder(config))
    assert list(data_folder(config).parent.iterdir()) == []


def test_the_published_layout_may_call_its_test_questions_test(tmp_path: Path, published: Path) -> None:
    (published / "valid_tasks.jsonl").rename(published / "test_tasks.jsonl")
    assert MimicIII.count(config_of(tmp_path, data_path=published)) == 4
    with pytest.raises(UserError, match=r"train_tasks\.jsonl is missing, so there are no questions for mode train"):
        MimicIII.count(config_of(tmp_path, mode="train", data_path=published))


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("COST.csv", None, "", r"COST\.csv is missing"),
        ("LABEVENTS.csv", "VALUENUM", "VALUE", r"LABEVENTS\.csv: column VALUENUM is missing"),
        ("LABEVENTS.csv", "4.1", "four", r'LABEVENTS\.csv, line 2: "four" is not a number \(column VALUENUM\)'),
        ("PATIENTS.csv", "1,1,2,", "1,0,2,", r"PATIENTS: ROW_ID is not unique"),
        ("PATIENTS.csv", ",m,", ",", r"PATIENTS\.csv, line \d+: 5 fields instead of 6"),
    ],
)
def test_what_is_wrong_with_a_published_table_is_named_and_nothing_is_left(
    tmp_path: Path, published: Path, file: str, old: str | None, new: str, complaint: str
) -> None:
    path = published / file
    if old is None:
        path.unlink()
    else:
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))
    config = config_of(tmp_path, data_path=published)
    with pytest.raises(UserError, match=complaint):
        MimicIII.build(config, data_folder(config))
    assert list(data_folder(config).parent.iterdir()) == []


@pytest.mark.parametrize("lower_case", [True, False])
def test_a_database_that_is_built_already_is_taken_as_it_is(tmp_path: Path, task: MimicIII, sources: dict[str, Any], lower_case: bool) -> None:
    path = tmp_path / "ehrsql.sqlite"
    shutil.copyfile(task.folder / "database" / "mimic_iii.sqlite", path)
    if lower_case:
        connection = sqlite3.connect(path)
        for table in MIMIC_III.tables:
            connection.execute(f"ALTER TABLE {table.name} RENAME TO {table.name.lower()}_")
            connection.execute(f"ALTER TABLE {table.name.lower()}_ RENAME TO {table.name.lower()}")
        connection.commit()
        connection.close()
    other = built_task(MimicIII, config_of(tmp_path, sqlite_path=path, questions=sources["questions"]))
    assert other.data_digest() == task.data_digest()
    assert [other.instance(idx).record["gold"] for idx in range(5)] == [task.instance(idx).record["gold"] for idx in range(5)]


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("DROP TABLE COST", "table COST is missing"),
        ("ALTER TABLE COST RENAME COLUMN COST TO PRICE", "table COST: column COST is missing"),
        (None, "not a readable SQLite database"),
    ],
)
def test_what_is_wrong_with_a_database_is_named_and_nothing_is_left(
    tmp_path: Path, task: MimicIII, sources: dict[str, Any], statement: str | None, complaint: str
) -> None:
    path = tmp_path / "ehrsql.sqlite"
    shutil.copyfile(task.folder / "database" / "mimic_iii.sqlite", path)
    if statement is None:
        path.write_bytes(b"this is no database, whatever its name says" * 100)
    else:
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.commit()
        connection.close()
    config = config_of(tmp_path, sqlite_path=path, questions=sources["questions"])
    with pytest.raises(UserError, match=complaint):
        MimicIII.build(config, data_folder(config))
    assert list(data_folder(config).parent.iterdir()) == []


@pytest.mark.slow
def test_made_up_records_are_built_without_shift_or_filters(tmp_path: Path) -> None:
    made_up = {"patients": 40, "seed": 2, "train": 6, "test": 20}
    config = config_of(tmp_path, synthetic=made_up)
    assert MimicIII.sources(config) == []
    assert (MimicIII.count(config), MimicIII.count(config_of(tmp_path, mode="train", synthetic=made_up))) == (20, 6)
    planned = MimicIII.indices(config)
    task = built_task(MimicIII, config)
    assert [idx for idx in range(20) if not task.instance(idx).record["is_impossible"]] == planned
    assert task.manifest["tables"]["PATIENTS"]["rows"] == 40
    assert task.manifest["questions"]["test"]["error"] == 0
    assert task.manifest["questions"]["test"]["usable_share"] > 0.5
    assert sorted(path.name for path in task.folder.iterdir()) == ["build.json", "database", "lookup.sqlite", "test_tasks.jsonl", "train_tasks.jsonl"]


# --- real data ------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.shared_data
@pytest.mark.slow
def test_the_demo_answers_every_answerable_validation_question(tmp_path: Path, shared_data: Path) -> None:
    questions = {"test": shared_data / "ehrsql" / "mimic_iii" / "valid.json"}
    task = built_task(MimicIII, config_of(tmp_path, raw_path=shared_data / "mimic_iii_demo", questions=questions))
    summary = task.manifest["questions"]["test"]
    assert (summary["rows"], summary["answerable"], summary["error"]) == (1122, 760, 0)
    assert 100 <= summary["usable"] <= 125
    for idx in MimicIII.indices(task.config):
        assert accepted(task, idx, reference_answer(task, idx)), task.instance(idx).question
