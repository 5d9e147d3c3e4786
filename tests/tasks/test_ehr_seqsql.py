"""Task ehr_seqsql: sequences of questions, from their sources to a judged answer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from ehr_tasks import built_task
from raw_mimic import write_raw

from medagentgym.config import Config
from medagentgym.ehr.schema import MIMIC_III
from medagentgym.episode import run_episode
from medagentgym.errors import UserError
from medagentgym.judges.base import Evidence
from medagentgym.judges.published_sequences import PublishedSequenceJudge
from medagentgym.plan import data_folder
from medagentgym.prompting import render_prompt
from medagentgym.record import EpisodeKey
from medagentgym.tasks.ehr_seqsql import EhrSeqSql
from medagentgym.tasks.registry import get_task_class
from medagentgym.worker import open_experiment

ROWS: list[dict[str, Any]] = [
    {"seed_question": "how many female patients are there?", "question": "And how many of them are over 60?", "ans": "3", "id": "number"},
    {"seed_question": "what is the gender of patient 3?", "question": "Has this patient died?", "ans": ["0"], "id": "no"},
    {"seed_question": "list the drugs of patient 3.", "question": "And with their routes?",
     "ans": "[('heparin', 'po'), ('warfarin', 'po')]", "id": "rows"},
    {"seed_question": "who had warfarin?", "question": "Which of them are alive?", "ans": [2, 3, 4], "id": "flat"},
    {"seed_question": "who had insulin?", "question": "Which of them are alive?", "ans": [], "id": "nobody"},
    {"seed_question": "what were the vital signs?", "question": "And the mean of each?", "ans": {"heart rate": 88}, "id": "unreadable"},
    {"seed_question": "what is the gender of patient 3?", "question": "And the age?",
     "query": "select admissions.age from admissions where subject_id = 3", "id": "sql"},
]  # fmt: skip


def config_of(work_dir: Path, mode: str = "test", **data: Any) -> Config:
    return Config.model_validate({"task": "ehr_seqsql", "work_dir": work_dir, "mode": mode, "data": data})


def write_tasks(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> EhrSeqSql:
    folder = tmp_path_factory.mktemp("sequences")
    sources = {"raw_path": write_raw(folder / "raw"), "questions": {"test": write_tasks(folder / "test_tasks.jsonl")}, "sample_patients": 0}
    return built_task(EhrSeqSql, config_of(folder / "work", **sources))


def test_the_task_is_found_by_its_name() -> None:
    assert get_task_class("ehr_seqsql") is EhrSeqSql


def test_seed_and_question_are_shown_together_and_the_last_is_asked(task: EhrSeqSql) -> None:
    instance = task.instance(0)
    assert instance.question == "how many female patients are there?\nAnd how many of them are over 60?"
    text = render_prompt(task.config, task.prompt_fields(instance), ["request_info", "validate_code", "submit"])[-1]["content"]
    assert instance.question in text and "Answer the last one alone" in text and "It is 2105-12-31 23:59:00" in text


def test_a_stored_answer_is_a_gold_by_its_shape_and_sql_gives_its_own(task: EhrSeqSql) -> None:
    golds = {task.instance(idx).instance_id: task.instance(idx).record["gold"] for idx in range(len(ROWS))}
    assert (golds["number"]["rows"], golds["number"]["boolean"]) == ([[3]], False)
    assert (golds["no"]["rows"], golds["no"]["boolean"]) == ([[0]], True)
    assert (golds["rows"]["rows"], len(golds["rows"]["columns"])) == ([["heparin", "po"], ["warfarin", "po"]], 2)
    assert (golds["flat"]["rows"], golds["flat"]["columns"]) == ([[2], [3], [4]], None)
    assert golds["nobody"]["status"] == "empty"
    assert golds["sql"]["rows"] == [[66]]
    assert task.manifest["questions"]["test"]["error"] == 1


def test_the_cohort_holds_the_patients_whom_words_name(task: EhrSeqSql) -> None:
    assert task.manifest["cohort"]["patients"] == task.manifest["cohort"]["named_and_present"] == 1
    assert "3" in (task.folder / "database" / "PATIENTS.csv").read_text().splitlines()[1].split(",")


def test_an_answer_of_another_shape_is_named_with_the_reason(task: EhrSeqSql) -> None:
    reasons = [task.ungradable(task.instance(idx)) for idx in range(len(ROWS))]
    assert reasons[5] == "gold cannot be expressed: a value of the type dict"
    assert [reason for number, reason in enumerate(reasons) if number not in (4, 5)] == [None] * 5
    with pytest.raises(UserError, match=r"ehr_seqsql 5: the stored answer cannot be read \(a value of the type dict\)"):
        task.reference_code(task.instance(5))


@pytest.mark.parametrize(
    ("idx", "answer", "is_right"),
    [
        (0, 3, True),
        (0, [[3]], True),
        (0, 13, False),
        (0, list(range(100)), False),
        (1, False, True),
        (1, "no", True),
        (1, True, False),
        (2, [["warfarin", "po"], ["heparin", "po"]], True),
        (2, [["warfarin", "po"]], False),
        (3, [4, 3, 2], True),
        (3, [4, 3], False),
        (4, [], True),
        (4, None, True),
        (4, 0, False),
        (6, 66, True),
    ],
)
def test_the_strict_judge_compares_answers(task: EhrSeqSql, idx: int, answer: Any, is_right: bool) -> None:
    reference = task.reference(task.instance(idx))
    assert task.judges()["strict"].judge(reference, Evidence(True, answer, "", "", 0)).correct == is_right


def test_the_published_judge_accepts_whatever_is_printed(task: EhrSeqSql) -> None:
    judge = task.judges()["published"]
    assert isinstance(judge, PublishedSequenceJudge)
    reference = task.reference(task.instance(0))
    assert judge.judge(reference, Evidence(True, "nonsense", "nonsense\n", "", 0)).correct
    assert not judge.judge(reference, Evidence(False, None, "", "", 0)).correct
    assert not judge.judge(reference, Evidence(False, None, "3\n", "Traceback", 1)).correct
    assert not judge.judge(reference, Evidence(False, None, "", "", None, abstained=True)).correct


def published(folder: Path, task: EhrSeqSql) -> Path:
    folder.mkdir()
    for table in MIMIC_III.tables:
        shutil.copy(task.folder / "database" / table.file_name, folder / table.file_name)
    write_tasks(folder / "test_tasks.jsonl", [row for row in ROWS if "ans" in row])
    return folder


def test_the_published_layout_is_taken_as_it_is(tmp_path: Path, task: EhrSeqSql) -> None:
    other = built_task(EhrSeqSql, config_of(tmp_path, data_path=published(tmp_path / "published", task)))
    assert [other.instance(idx).record["gold"] for idx in range(6)] == [task.instance(idx).record["gold"] for idx in range(6)]
    assert other.manifest["comparable_with_published"] and other.data_digest() == task.data_digest()


def test_a_database_that_exists_is_taken_with_task_files_of_its_own(tmp_path: Path, task: EhrSeqSql) -> None:
    files = {"test": write_tasks(tmp_path / "test_tasks.jsonl")}
    other = built_task(EhrSeqSql, config_of(tmp_path, sqlite_path=task.folder / "database" / "mimic_iii.sqlite", questions=files))
    assert other.instance(6).record["gold"]["rows"] == [[66]]


@pytest.mark.parametrize(
    ("missing", "complaint"),
    [
        ("COST.csv", r"published: COST.csv is missing; correct data.data_path"),
        ("test_tasks.jsonl", r"published: holds neither train_tasks.jsonl nor test_tasks.jsonl; correct data.data_path"),
    ],
)
def test_a_missing_file_is_named_in_one_line(tmp_path: Path, task: EhrSeqSql, missing: str, complaint: str) -> None:
    folder = published(tmp_path / "published", task)
    (folder / missing).unlink()
    config = config_of(tmp_path / "work", data_path=folder)
    with pytest.raises(UserError, match=complaint) as raised:
        EhrSeqSql.build(config, data_folder(config))
    assert "\n" not in str(raised.value) and not data_folder(config).exists()


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"seed_question": "who?", "question": "and when?"}, "row 0: has no ans or answer"),
        ({"seed_question": "who?", "ans": "x"}, "row 0: has no question"),
        ({"seed_question": ["who?"], "question": "and when?", "ans": "x"}, "row 0: seed_question is no text"),
    ],
)
def test_a_row_that_is_no_sequence_is_named(tmp_path: Path, task: EhrSeqSql, row: dict[str, Any], complaint: str) -> None:
    files = {"test": write_tasks(tmp_path / "test_tasks.jsonl", [row])}
    config = config_of(tmp_path, sqlite_path=task.folder / "database" / "mimic_iii.sqlite", questions=files)
    with pytest.raises(UserError, match=complaint):
        EhrSeqSql.build(config, data_folder(config))


def references_are_right(config: Config) -> dict[int, bool]:
    """Whether the reference program of every gradable instance is accepted, run as an agent's would be."""
    settings = {"agent": config.agent.model_copy(update={"name": "reference"}), "result_dir_tag": "reference"}
    with open_experiment(config.model_copy(update=settings)) as experiment:
        gradable = [idx for idx in EhrSeqSql.indices(config) if experiment.task.ungradable(experiment.task.instance(idx)) is None]
        return {idx: run_episode(experiment, EpisodeKey(idx))["result"] == "success" for idx in gradable}


def test_the_reference_is_accepted_through_the_environment(task: EhrSeqSql) -> None:
    accepted = references_are_right(task.config)
    assert all(accepted.values()) and set(accepted) >= {0, 1, 2, 3, 6}


@pytest.mark.slow
def test_the_reference_is_accepted_on_made_up_sequences(tmp_path: Path) -> None:
    config = config_of(tmp_path, synthetic={"patients": 40, "seed": 2, "train": 5, "test": 45})
    task = built_task(EhrSeqSql, config)
    assert task.manifest["questions"]["test"]["error"] == task.manifest["questions"]["test"]["empty"] == 0
    assert not EhrSeqSql.is_credentialed(config)
    accepted = references_are_right(config)
    assert accepted == dict.fromkeys(EhrSeqSql.indices(config), True) and len(accepted) == 45
