"""The strict judge on the gold answers of real questions, run on the open MIMIC-III and eICU demos."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medagentgym.config import Config
from medagentgym.ehr.database import open_read_only
from medagentgym.ehr.gold import gold_of_question
from medagentgym.ehr.layout import DATABASE_FOLDER
from medagentgym.judges.base import Evidence
from medagentgym.judges.references import most_satisfied
from medagentgym.judges.row_sets import RowSetJudge
from medagentgym.tasks.ehr_questions import EhrQuestionTask
from medagentgym.tasks.registry import get_task_class

pytestmark = [pytest.mark.slow, pytest.mark.shared_data]

JUDGE = RowSetJudge()
SOURCES = {
    "mimic_iii": ("mimic_iii_demo", "ehrsql/mimic_iii/valid.json", 760),
    "eicu": ("eicu_demo", "ehrsql/eicu/valid.json", 755),
    "treqs": ("mimic_iii_demo", "treqs/dev.json", 1000),
}


@pytest.fixture(scope="module", params=SOURCES)
def task(request: pytest.FixtureRequest, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EhrQuestionTask]:
    raw, questions, _ = SOURCES[request.param]
    work_dir = tmp_path_factory.mktemp("work_dir")
    data = {"raw_path": shared_data / raw, "questions": {"test": shared_data / questions}}
    config = Config.model_validate({"task": request.param, "work_dir": work_dir, "data": data})
    folder = work_dir / "data" / request.param
    folder.parent.mkdir(parents=True)
    task_class = get_task_class(request.param)
    task_class.build(config, folder)
    task = task_class(folder, config)
    assert isinstance(task, EhrQuestionTask)
    yield task
    task.close()


@pytest.fixture(scope="module")
def references(task: EhrQuestionTask) -> list[dict[str, Any]]:
    return [task.reference(task.instance(idx)) for idx in type(task).indices(task.config)]


def is_right(reference: dict[str, Any], answer: Any) -> bool:
    return JUDGE.judge(reference, Evidence(True, answer, "", "", 0)).correct


def test_every_gold_is_its_own_right_answer(task: EhrQuestionTask, references: list[dict[str, Any]]) -> None:
    assert len(references) == SOURCES[task.name][2]
    for reference in references:
        assert reference["gold"]["status"] != "error"
        assert is_right(reference, reference["gold"]["rows"]), reference
        assert is_right(reference, str([tuple(row) for row in reference["gold"]["rows"]])), reference


def test_the_gold_of_a_question_is_right_for_another_only_where_they_share_a_key(references: list[dict[str, Any]]) -> None:
    distinct = list({str(reference["gold"]): reference for reference in references}.values())
    summaries = [JUDGE.summarise(reference) for reference in distinct]
    for reference, summary in zip(distinct, summaries, strict=True):
        for other, of_other in zip(distinct, summaries, strict=True):
            if is_right(reference, other["gold"]["rows"]):
                assert set(summary.keys) & set(of_other.keys), (reference["gold"], other["gold"])
            else:
                assert summary != of_other, (reference["gold"], other["gold"])


CONSTANTS = [None, 0, 1, True, False, [0, 1], [True, False], "0", "yes", "", [], list(range(200)), 0.0, 0.5, "True or False"]


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda value: str(value)[:20])
def test_no_constant_answer_beats_the_floor(references: list[dict[str, Any]], constant: Any) -> None:
    floor = most_satisfied([JUDGE.summarise(reference) for reference in references])
    assert sum(is_right(reference, constant) for reference in references) <= floor


@pytest.mark.parametrize("task", [name for name in SOURCES if name != "treqs"], indirect=True)  # the SQL of TREQS orders nothing
def test_what_the_sql_gives_on_shuffled_tables_is_right(task: EhrQuestionTask, tmp_path: Path) -> None:
    """Every question about one patient is asked about others, at any time: SQLite then breaks ties as the rows happen to lie."""
    database = open_read_only(task.folder / DATABASE_FOLDER / task.recipe.database.file_name)
    shuffled = shuffled_copy(database, tmp_path / "shuffled.sqlite")
    generator = random.Random(7)
    followed = 0
    for sql, template in asked_of_others(task, database, generator):
        gold = gold_of_question(database, sql, template)
        assert gold.status != "error" and not gold.tie, (sql, gold)
        rows = [list(row) for row in shuffled.execute(sql)]
        verdict = JUDGE.judge({"gold": gold.to_json()}, Evidence(True, rows, "", "", 0))
        assert verdict.correct, (sql, gold, rows, verdict)
        followed += bool(gold.alternatives)
    assert followed >= 5


def asked_of_others(task: EhrQuestionTask, database: sqlite3.Connection, generator: random.Random) -> Iterator[tuple[str, str]]:
    """SQL with an order, for patients of the database instead of those that it names, without its limits of time."""
    table, column = ("admissions", "subject_id") if task.name == "mimic_iii" else ("patient", "uniquepid")
    patients = [repr(patient) for (patient,) in database.execute(f"SELECT {column} FROM {table} GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 100")]
    times = re.compile(r" and (?:datetime|strftime)\([^()]*\) (?:=|>=|<=) (?:datetime\([^()]*\)|'[^']*')")
    for idx in type(task).indices(task.config):
        record = task.instance(idx).record
        if "limit" in record["sql"]:
            for patient in generator.sample(patients, 2):
                named = re.sub(rf"({column} = )(?:\d+|'[^']*')", lambda match, patient=patient: match[1] + patient, record["sql"])
                yield times.sub("", named), record["template"]


def shuffled_copy(database: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The same tables with their rows in another order, and no key that brings the order back."""
    generator = random.Random(1)
    copy = sqlite3.connect(path)
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        columns = [(name, kind) for _, name, kind, *_ in database.execute(f"PRAGMA table_info({table})")]
        rows = database.execute(f"SELECT * FROM {table}").fetchall()
        generator.shuffle(rows)
        copy.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in columns)})")
        copy.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)
        for name, _ in columns:
            if name.lower().endswith(("id", "code")):
                copy.execute(f"CREATE INDEX {table}_{name} ON {table} ({name})")
    copy.execute("ANALYZE")
    copy.commit()
    return copy
