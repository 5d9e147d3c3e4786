"""Task treqs, from its sources to a judged answer."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ehr_tasks import built_task
from raw_mimic import write_raw

from medagentgym.config import Config
from medagentgym.ehr.treqs import TREQS
from medagentgym.episode import run_episode
from medagentgym.errors import UserError
from medagentgym.judges.base import Evidence
from medagentgym.plan import data_folder
from medagentgym.prompting import render_prompt
from medagentgym.record import EpisodeKey
from medagentgym.tasks.registry import get_task_class
from medagentgym.tasks.treqs import Treqs
from medagentgym.tasks.treqs_faults import counts_where_asked_which, fault
from medagentgym.worker import open_experiment

COUNT = 'SELECT COUNT ( DISTINCT DEMOGRAPHIC."SUBJECT_ID" ) FROM DEMOGRAPHIC'
DIAGNOSED = f"{COUNT} INNER JOIN DIAGNOSES on DEMOGRAPHIC.HADM_ID = DIAGNOSES.HADM_ID"
QUESTIONS = [
    ("how many female patients are below 69 years?", f'{COUNT} WHERE DEMOGRAPHIC."GENDER" = "F" AND DEMOGRAPHIC."AGE" < "69"'),
    ("which patients have hypertension?", f'{DIAGNOSED} WHERE DIAGNOSES."SHORT_TITLE" = "Hypertension NOS"'),
    (
        "what is the gender and age of subject id 3?",
        'SELECT DEMOGRAPHIC."GENDER",DEMOGRAPHIC."AGE" FROM DEMOGRAPHIC WHERE DEMOGRAPHIC."SUBJECT_ID" = "3"',
    ),
    ("how many patients have gout?", f'{DIAGNOSED} WHERE DIAGNOSES."SHORT_TITLE" = "Gout NOS"'),
    ("what is the religion of subject id 3?", 'SELECT DEMOGRAPHIC."RELIGION" FROM DEMOGRAPHIC WHERE DEMOGRAPHIC."SUBJECT_ID" = "3"'),
]


def config_of(work_dir: Path, mode: str = "test", **data: Any) -> Config:
    return Config.model_validate({"task": "treqs", "work_dir": work_dir, "mode": mode, "data": data})


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def original(folder: Path) -> Path:
    """The questions in TREQS's own layout."""
    rows = [{"key": f"key{number}", "format": {}, "question_refine": text, "sql": sql} for number, (text, sql) in enumerate(QUESTIONS)]
    return write_lines(folder / "dev.json", rows)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("sources")
    return {"raw_path": write_raw(folder / "raw"), "questions": {"test": original(folder)}}


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory, sources: dict[str, Any]) -> Treqs:
    return built_task(Treqs, config_of(tmp_path_factory.mktemp("work"), **sources))


# --- sources --------------------------------------------------------------------------------------------------------------------------------------


def test_the_task_is_found_by_its_name() -> None:
    assert get_task_class("treqs") is Treqs


def test_questions_are_read_from_treqs_own_files(task: Treqs) -> None:
    instance = task.instance(0)
    assert (instance.instance_id, instance.question) == ("key0", QUESTIONS[0][0])
    assert [task.instance(idx).record["gold"]["rows"] for idx in range(5)] == [[[3]], [[9]], [["M", 67]], [[0]], [[None]]]
    assert Treqs.indices(task.config) == [0, 1, 2, 3, 4] and Treqs.impossible(task.config) == set()


def published(folder: Path, task: Treqs) -> Path:
    """The same data in the published layout: five CSV files and a task file."""
    folder.mkdir()
    for table in TREQS.tables:
        shutil.copy(task.folder / "database" / table.file_name, folder / table.file_name)
    rows = [
        {"question": text, "query": sql, "answer": task.instance(number).record["answer"], "id": f"id{number}"}
        for number, (text, sql) in enumerate(QUESTIONS)
    ]
    write_lines(folder / "test_tasks.jsonl", rows)
    return folder


def test_the_published_layout_gives_the_same_golds(tmp_path: Path, task: Treqs) -> None:
    other = built_task(Treqs, config_of(tmp_path, data_path=published(tmp_path / "published", task)))
    assert other.instance(2).instance_id == "id2"
    assert [other.instance(idx).record["gold"]["rows"] for idx in range(5)] == [task.instance(idx).record["gold"]["rows"] for idx in range(5)]
    assert other.data_digest() == task.data_digest()
    assert other.manifest["comparable_with_published"]


def test_a_database_that_exists_is_taken_with_its_further_columns(tmp_path: Path, task: Treqs, sources: dict[str, Any]) -> None:
    path = tmp_path / "mimicsql.db"
    shutil.copyfile(task.folder / "database" / "treqs.sqlite", path)
    connection = sqlite3.connect(path)
    connection.execute('ALTER TABLE DEMOGRAPHIC ADD COLUMN "index" INTEGER')
    connection.execute("ALTER TABLE LAB RENAME TO lab_")
    connection.execute("ALTER TABLE lab_ RENAME TO lab")
    connection.commit()
    connection.close()
    other = built_task(Treqs, config_of(tmp_path, sqlite_path=path, questions=sources["questions"]))
    assert [other.instance(idx).record["gold"]["rows"] for idx in range(5)] == [task.instance(idx).record["gold"]["rows"] for idx in range(5)]
    assert "index" not in (other.folder / "database" / "DEMOGRAPHIC.csv").read_text().splitlines()[0]


@pytest.mark.parametrize(
    ("missing", "complaint"),
    [
        ("LAB.csv", r"published: LAB.csv is missing; correct data.data_path"),
        ("test_tasks.jsonl", r"published: holds neither train_tasks.jsonl nor test_tasks.jsonl; correct data.data_path"),
    ],
)
def test_a_missing_file_of_the_published_layout_is_named_in_one_line(tmp_path: Path, task: Treqs, missing: str, complaint: str) -> None:
    folder = published(tmp_path / "published", task)
    (folder / missing).unlink()
    config = config_of(tmp_path / "work", data_path=folder)
    with pytest.raises(UserError, match=complaint) as raised:
        Treqs.build(config, data_folder(config))
    assert "\n" not in str(raised.value) and not data_folder(config).exists()


def test_questions_for_a_mode_without_a_file_are_asked_for_in_one_line(tmp_path: Path, task: Treqs, sources: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"data.questions.train: is missing, so there are no questions for mode train"):
        Treqs.count(config_of(tmp_path, mode="train", **sources))
    with pytest.raises(UserError, match=r"train_tasks.jsonl is missing, so there are no questions for mode train"):
        Treqs.count(config_of(tmp_path, mode="train", data_path=published(tmp_path / "published", task)))


def test_a_question_without_sql_is_named(tmp_path: Path, sources: dict[str, Any]) -> None:
    path = write_lines(tmp_path / "dev.json", [{"key": "a", "question_refine": "how many?"}])
    config = config_of(tmp_path, raw_path=sources["raw_path"], questions={"test": path})
    with pytest.raises(UserError, match=r"dev.json, row 0: has no sql or query"):
        Treqs.build(config, data_folder(config))


# --- what an agent sees, and how it is judged -----------------------------------------------------------------------------------------------------


def test_the_prompt_speaks_of_no_present(task: Treqs) -> None:
    fields = task.prompt_fields(task.instance(0))
    assert fields["now"] == ""
    text = render_prompt(task.config, fields, ["request_info", "validate_code", "submit"])[-1]["content"]
    assert "It is " not in text and "of now" not in text and text.startswith("# Data")
    assert "/data/treqs.sqlite" in text and "DEMOGRAPHIC.csv (10 rows)" in text and "one and the same admission" in text


def test_a_term_is_found_in_the_tables(task: Treqs) -> None:
    assert "LAB.csv, column LABEL: Potassium (20 rows)" in task.request_info({"info_type": "term", "keyterm": "potassium"})
    assert "DIAGNOSES.csv, column ICD9_CODE: 4019 (10 rows)" in task.request_info({"info_type": "term", "keyterm": "4019"})


def test_questions_that_ask_which_while_their_sql_counts_cannot_be_judged(task: Treqs) -> None:
    reasons = [task.ungradable(task.instance(idx)) for idx in range(5)]
    assert reasons[1] == "gold is wrong: the question asks which patients, the SQL counts them"
    assert reasons[0] is None and reasons[2] is None and reasons[3] is None


@pytest.mark.parametrize(
    ("question", "asks_which"),
    [
        ("Which patients were given aspirin?", True),
        ("Bring the list of patients below 61.", True),
        ("Give me the name of patients who had a lab test.", True),
        ("How many patients were given aspirin?", False),
        ("Give me the number of patients who were given aspirin.", False),
        ("Count the patients whose name starts with A.", False),
        ("Calculate the patients diagnosed with gout.", False),
    ],
)
def test_a_question_asks_which_where_it_names_no_number(question: str, asks_which: bool) -> None:
    assert counts_where_asked_which(question, COUNT) == asks_which
    assert not counts_where_asked_which(question, 'SELECT DEMOGRAPHIC."NAME" FROM DEMOGRAPHIC')


def test_columns_of_two_tables_that_are_paired_row_by_row_cannot_be_judged() -> None:
    joined = "FROM DIAGNOSES INNER JOIN PROCEDURES on DIAGNOSES.HADM_ID = PROCEDURES.HADM_ID"
    sql = f'SELECT DIAGNOSES."SHORT_TITLE",PROCEDURES."SHORT_TITLE" {joined}'
    several = {"columns": ["SHORT_TITLE", "SHORT_TITLE"], "rows": [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]], "status": "usable"}
    reason = fault("what are the diagnoses and procedures of subject id 3?", sql, several)
    assert reason == "gold cannot be expressed: every row of DIAGNOSES is paired with every row of PROCEDURES"
    assert fault("what are the diagnoses and procedures of subject id 3?", sql, {**several, "rows": [["a", "x"], ["a", "y"]]}) is None


def test_the_judges_know_right_from_wrong(task: Treqs) -> None:
    judges = task.judges()
    reference = task.reference(task.instance(2))
    for answer, is_right in ((["M", 67], True), ([["M", 67]], True), (["F", 67], False), (["M", 66], False)):
        evidence = Evidence(True, answer, f"{answer}\n", "", 0)
        assert judges["strict"].judge(reference, evidence).correct == is_right, answer
    assert judges["published"].judge(reference, Evidence(True, None, "all the Men of the world", "", 0)).correct


def references_are_right(config: Config) -> Iterator[tuple[int, bool]]:
    """Whether the reference program of every gradable instance is accepted, run as an agent's would be."""
    with open_experiment(config) as experiment:
        for idx in Treqs.indices(config):
            if experiment.task.ungradable(experiment.task.instance(idx)) is None:
                yield idx, run_episode(experiment, EpisodeKey(idx))["result"] == "success"


def with_reference(config: Config) -> Config:
    return config.model_copy(update={"agent": config.agent.model_copy(update={"name": "reference"}), "result_dir_tag": "reference"})


def test_the_reference_is_accepted_through_the_environment(tmp_path: Path, sources: dict[str, Any]) -> None:
    config = config_of(tmp_path, **sources)
    Treqs.build(config, data_folder(config))
    assert list(references_are_right(with_reference(config))) == [(0, True), (2, True), (3, True), (4, True)]


@pytest.mark.slow
def test_the_reference_is_accepted_on_made_up_questions(tmp_path: Path) -> None:
    config = config_of(tmp_path, synthetic={"patients": 40, "seed": 2, "train": 5, "test": 60})
    task = built_task(Treqs, config)
    assert (task.manifest["questions"]["test"]["rows"], task.manifest["questions"]["train"]["rows"]) == (60, 5)
    assert [task.ungradable(task.instance(idx)) for idx in Treqs.indices(config)] == [None] * 60
    assert not Treqs.is_credentialed(config) and Treqs.sources(config) == []
    assert dict(references_are_right(with_reference(config))) == dict.fromkeys(range(60), True)


# --- real data ------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.shared_data
@pytest.mark.slow
def test_the_demo_answers_as_many_development_questions_as_it_must(tmp_path: Path, shared_data: Path) -> None:
    config = config_of(tmp_path, raw_path=shared_data / "mimic_iii_demo", questions={"test": shared_data / "treqs" / "dev.json"})
    task = built_task(Treqs, config)
    summary = task.manifest["questions"]["test"]
    assert (summary["rows"], summary["usable"], summary["error"]) == (1000, 379, 0)
    assert {name: table["rows"] for name, table in task.manifest["tables"].items()} == {
        "DEMOGRAPHIC": 129,
        "DIAGNOSES": 1716,
        "PROCEDURES": 503,
        "PRESCRIPTIONS": 10398,
        "LAB": 53882,
    }
    with sqlite3.connect(task.folder / "database" / "treqs.sqlite") as connection:
        assert connection.execute("SELECT count(DISTINCT SUBJECT_ID) FROM DEMOGRAPHIC WHERE DOB_YEAR < '2060'").fetchone() == (37,)
    ungradable = [reason for idx in Treqs.indices(config) if (reason := task.ungradable(task.instance(idx)))]
    assert sum("asks which" in reason for reason in ungradable) == 17
    right = dict(references_are_right(with_reference(config)))
    assert len(right) == 1000 - len(ungradable) and all(right.values()), [idx for idx, accepted in right.items() if not accepted][:10]
