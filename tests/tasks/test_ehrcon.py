"""Task ehrcon: notes against tables."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from medagentgym.agent.baseline_rules.notes import program
from medagentgym.config import Config
from medagentgym.errors import UserError
from medagentgym.judges.base import Evidence
from medagentgym.judges.published import PublishedEhrConJudge
from medagentgym.tasks.ehrcon import EhrCon

ROWS = [
    {"Hospital admission": "10.0", "Medical entity": "Potassium", "Number of inconsistencies": 1, "Has error": True},
    {"Hospital admission": "10.0", "Medical entity": "sodium", "Number of inconsistencies": 0, "Has error": False},
    {"Hospital admission": "11.0", "Medical entity": "potassium", "Number of inconsistencies": 0, "Has error": False},
    {"Hospital admission": "10.0", "Medical entity": "potassium ", "Number of inconsistencies": 0, "Has error": False},
]


def published(folder: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    folder.mkdir()
    (folder / "test_tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with closing(sqlite3.connect(folder / "mimic.db")) as connection:
        connection.execute("CREATE TABLE LABEVENTS (ROW_ID INT, HADM_ID INT, LABEL TEXT, VALUENUM DOUBLE, CHARTTIME TIMESTAMP)")
        connection.executemany(
            "INSERT INTO LABEVENTS VALUES (?, ?, ?, ?, ?)", [(1, 10, "potassium", 4.0, "2150-01-01 07:00:00"), (2, 11, "sodium", 140, None)]
        )
        connection.commit()
    with (folder / "discharge.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["HADM_ID", "TEXT"], [10, "Potassium 5.0,\nsodium normal"], [11, "nothing"]])
    (folder / "other.csv").write_text("a,b\n1,2\n")
    return folder


def config_of(tmp_path: Path, **data: Any) -> Config:
    return Config.model_validate({"work_dir": tmp_path / "work", "task": "ehrcon", "data": data})


def opened(tmp_path: Path, **data: Any) -> EhrCon:
    config = config_of(tmp_path, **data)
    EhrCon.build(config, tmp_path / "built")
    return EhrCon(tmp_path / "built", config)


def evidence(stdout: str, answer: Any = None) -> Evidence:
    return Evidence(answer is not None, answer, stdout, "", 0)


def test_the_published_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    task = opened(tmp_path, data_path=published(tmp_path / "published"))
    assert EhrCon.count(task.config) == 4
    instance = task.instance(0)
    assert '(HADM_ID) 10 mentions the entity "Potassium"' in instance.question
    assert "inconsistenc" not in instance.question
    fields = task.prompt_fields(instance)
    assert "LABEVENTS (2 rows)\nROW_ID,HADM_ID,LABEL,VALUENUM,CHARTTIME\n1,10,potassium,4.0,2150-01-01 07:00:00" in fields["tables"]
    assert "columns HADM_ID, TEXT: `/data/notes.csv`" in fields["tables"]
    assert sorted(path.name for path in task.mounts(instance)["/data"].iterdir()) == ["ehrcon.sqlite", "notes.csv"]


def test_the_lookup_knows_the_tables_of_any_database(tmp_path: Path) -> None:
    task = opened(tmp_path, data_path=published(tmp_path / "published"))
    assert "CHARTTIME (time)" in task.request_info({"data_path": "LABEVENTS", "info_type": "column_names"})
    assert "LABEL: potassium (1 row)" in task.request_info({"data_path": "/data", "info_type": "term", "keyterm": "potasium"})


def test_rows_that_ask_the_same_and_have_different_labels_cannot_be_judged(tmp_path: Path) -> None:
    task = opened(tmp_path, data_path=published(tmp_path / "published"))
    reasons = [task.ungradable(task.instance(idx)) for idx in range(4)]
    assert reasons[0] == "contradicts another instance: instance 3 asks the same and has the other answer"
    assert reasons[3] == "contradicts another instance: instance 0 asks the same and has the other answer"
    assert reasons[1] is reasons[2] is None


def test_database_notes_and_questions_may_be_named_one_by_one(tmp_path: Path) -> None:
    folder = published(tmp_path / "published")
    task = opened(
        tmp_path,
        sqlite_path=folder / "mimic.db",
        notes_path=folder / "discharge.csv",
        questions={"test": folder / "test_tasks.jsonl"},
    )
    assert task.reference_code(task.instance(0)) == "answer = True\n"


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda folder: (folder / "mimic.db").unlink(), "needs one SQLite file .* and holds none; correct data.data_path"),
        (lambda folder: (folder / "more.sqlite").touch(), "holds several: mimic.db, more.sqlite"),
        (lambda folder: (folder / "discharge.csv").unlink(), "needs one CSV file of notes, with the columns HADM_ID and TEXT, and there is none"),
        (lambda folder: (folder / "mimic.db").write_text("no database, however long this text may be"), "mimic.db: not a readable SQLite database"),
        (lambda folder: (folder / "mimic.db").write_bytes(b""), r"mimic\.db: the file is empty; correct data\.sqlite_path or data\.data_path"),
        (lambda folder: (folder / "discharge.csv").write_text("HADM_ID,TEXT\n"), r"discharge\.csv: holds no note; correct data\.data_path"),
        (
            lambda folder: (folder / "discharge.csv").write_text('HADM_ID,TEXT\n10,"fever\n'),
            r"discharge\.csv, line 2: no CSV \(unexpected end",
        ),
        (lambda folder: (folder / "discharge.csv").write_text("HADM_ID,TEXT\n10\n"), r"discharge\.csv, line 2: 1 fields instead of 2"),
        (lambda folder: (folder / "discharge.csv").write_text("HADM_ID,TEXT\nten,fever\n"), r"line 2: HADM_ID is no number: 'ten'"),
        (lambda folder: (folder / "discharge.csv").write_text("HADM_ID,TEXT\n10,\0\n"), r"line 2: a character NUL"),
        (lambda folder: (folder / "discharge.csv").write_text("HADM_ID,TEXT,text\n10,a,b\n"), r"column TEXT occurs more than once"),
        (lambda folder: (folder / "discharge.csv").write_bytes(b"HADM_ID,TEXT\n10,fi\xe8vre\n"), r"discharge\.csv: no text in UTF-8"),
        (lambda folder: (folder / "test_tasks.jsonl").unlink(), "holds none of train_tasks.jsonl, test_tasks.jsonl"),
    ],
)
def test_what_is_missing_is_said_in_one_line_and_nothing_is_built(tmp_path: Path, spoil: Any, complaint: str) -> None:
    folder = published(tmp_path / "published")
    spoil(folder)
    config = config_of(tmp_path, data_path=folder)
    with pytest.raises(UserError, match=complaint):
        EhrCon.sources(config)
        EhrCon.build(config, tmp_path / "built")
    assert not (tmp_path / "built").exists()


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"Hospital admission": "ten"}, "row 0: Hospital admission is no number: 'ten'"),
        ({"Has error": "maybe"}, "row 0: Has error is neither true nor false"),
        ({"Medical entity": " "}, "row 0: has no Medical entity"),
    ],
)
def test_a_row_that_is_no_question_is_named(tmp_path: Path, changed: dict[str, Any], complaint: str) -> None:
    folder = published(tmp_path / "published", [{**ROWS[0], **changed}])
    with pytest.raises(UserError, match=complaint):
        EhrCon.build(config_of(tmp_path, data_path=folder), tmp_path / "built")


def test_the_strict_judge_wants_a_yes_or_a_no(tmp_path: Path) -> None:
    task = opened(tmp_path, data_path=published(tmp_path / "published"))
    reference = task.reference(task.instance(0))
    strict = EhrCon.judges()["strict"]
    for answer, verdict in ((True, True), ("yes", True), (1, True), (False, False), ([True, False], False), ("true or false", False), (2, False)):
        assert strict.judge(reference, evidence("", answer)).correct is verdict, answer


@pytest.mark.parametrize(
    ("stdout", "gold", "correct"),
    [
        ("True", "True", True),
        ("False", "False", True),
        ("not true, so False", "False", False),
        ("true or false", "True", True),
        ("yes", "True", False),
    ],
)
def test_the_published_judge_lets_true_win_over_false(stdout: str, gold: str, correct: bool) -> None:
    assert PublishedEhrConJudge().judge({"published": [gold]}, evidence(stdout)).correct is correct


@pytest.mark.parametrize("seed", [3, 5])
def test_made_up_notes_contradict_the_tables_exactly_where_an_error_is_planted(tmp_path: Path, seed: int) -> None:
    task = opened(tmp_path, synthetic={"patients": 60, "seed": seed, "train": 20, "test": 40})
    labels = []
    for idx in range(40):
        instance = task.instance(idx)
        program = task.reference_code(instance).replace("/data/", f"{tmp_path}/built/visible/")
        namespace: dict[str, Any] = {}
        exec(program, namespace)
        assert namespace["answer"] is instance.record["gold"]["has_error"], instance.question
        labels.append(namespace["answer"])
    assert 5 < sum(labels) < 30
    assert not task.is_credentialed(task.config)


def test_the_rules_of_the_baseline_read_made_up_notes(tmp_path: Path) -> None:
    task = opened(tmp_path, synthetic={"patients": 60, "seed": 8, "train": 0, "test": 40})
    right = 0
    for idx in range(40):
        instance = task.instance(idx)
        written = program(task.prompt_fields(instance))
        assert written is not None
        namespace: dict[str, Any] = {}
        exec(written.replace("/data/", f"{tmp_path}/built/visible/"), namespace)
        right += namespace["answer"] == instance.record["gold"]["has_error"]
    assert right >= 36


def test_every_question_of_made_up_notes_is_about_something_that_its_note_mentions(tmp_path: Path) -> None:
    task = opened(tmp_path, synthetic={"patients": 40, "seed": 3, "train": 0, "test": 30})
    with (tmp_path / "built" / "visible" / "notes.csv").open(newline="") as stream:
        notes = {row["HADM_ID"]: row["TEXT"].lower() for row in csv.DictReader(stream)}
    for idx in range(30):
        record = task.instance(idx).record
        assert record["entity"].lower() in notes[record["admission"]]


def test_the_same_seed_makes_the_same_data(tmp_path: Path) -> None:
    digests = set()
    for name in ("one", "two"):
        config = config_of(tmp_path, synthetic={"patients": 40, "seed": 3, "train": 0, "test": 10})
        EhrCon.build(config, tmp_path / name)
        digests.add(json.loads((tmp_path / name / "build.json").read_text())["digest"])
    assert len(digests) == 1
