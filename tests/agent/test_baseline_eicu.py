"""The baseline agent on eICU: its views of the tables, and whole episodes on made-up records."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from raw_eicu import QUESTIONS, write_raw
from raw_mimic import write_questions

from medagentgym.agent.baseline_rules.asked import queries
from medagentgym.agent.baseline_rules.eicu_schema import EICU, fits
from medagentgym.agent.baseline_rules.query_parts import Reading
from medagentgym.agent.baseline_rules.question import read_question
from medagentgym.agent.baseline_rules.terms import Lookup, Name, Term, lookups, names_in, names_without_lookup
from medagentgym.built_data import QuestionFile
from medagentgym.config import Config, DatasetConfig
from medagentgym.ehr.build import build_ehr
from medagentgym.ehr.eicu import RECIPE
from medagentgym.ehr.eicu_schema import EICU as DATABASE
from medagentgym.ehr.schema import MIMIC_III
from medagentgym.episode import Experiment, run_episode
from medagentgym.plan import data_folder
from medagentgym.record import EpisodeKey
from medagentgym.tasks.eicu import Eicu
from medagentgym.worker import open_experiment

NOW = "2105-12-31 23:59:00"
ASKED = 40


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eicu")
    questions = {"test": QuestionFile(write_questions(folder / "q.json", QUESTIONS), "key")}
    build_ehr(RECIPE, DatasetConfig(raw_path=write_raw(folder / "raw"), seed=1), questions, folder / "built")
    return folder / "built" / "database" / "eicu.sqlite"


def answers(database: Path, text: str) -> list[tuple[Any, ...]]:
    """What the first query finds for a question, every term that needs a lookup taken for what its words say."""
    question = read_question(text, NOW)
    names = tuple((*names_without_lookup(term, EICU), Name(EICU.kinds[term.kinds[0]], term.text, ""))[0] for term in question.terms)
    (query,) = islice(queries(Reading(question, names, EICU)), 1)
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query.sql).fetchall()


def test_the_tables_of_eicu_are_told_from_those_of_mimic_iii() -> None:
    assert fits("\n".join(f"{table.file_name} (3 rows)" for table in DATABASE.tables))
    assert not fits("\n".join(f"{table.file_name} (3 rows)" for table in MIMIC_III.tables))


def test_a_patient_with_a_hyphen_is_read_whole() -> None:
    assert read_question("What is the gender of patient 002-1039?", NOW).patient == "002-1039"
    assert read_question("What is the gender of patient 1039?", NOW).patient == 1039


def test_every_view_runs_and_holds_the_rows_of_its_table(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:

        def count(query: str) -> int:
            return int(connection.execute(query).fetchone()[0])

        rows = {name: count(EICU.runnable(f"SELECT COUNT(*) FROM {name}")) for name in EICU.views}
        assert rows["PATIENTS"] == count("SELECT COUNT(DISTINCT uniquepid) FROM patient") == 7
        assert rows["ADMISSIONS"] == count("SELECT COUNT(DISTINCT patienthealthsystemstayid) FROM patient") == 8
        assert rows["ICUSTAYS"] == count("SELECT COUNT(*) FROM patient") == 9
        assert rows["INTAKES"] == rows["OUTPUTS"] == count("SELECT COUNT(*) FROM intakeoutput") / 2
        assert rows["VITALS"] == 3 * count("SELECT COUNT(*) FROM vitalperiodic") and rows["COST"] == count("SELECT COUNT(*) FROM cost")
        assert min(rows.values()) > 0


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("what is the gender of patient 002-3?", [("male",)]),
        ("what was the age of patient 002-1 on the last hospital visit?", [(61,)]),
        ("how many female patients were diagnosed with sepsis - severe?", [(4,)]),
        ("did patient 002-2 receive a prescription of warfarin?", [(1,)]),
        ("did patient 002-2 receive a prescription of heparin?", [(0,)]),
        ("what was the dosage of warfarin that patient 002-1 was first prescribed?", [("5 mg",)]),
        ("what was the maximum heartrate value of patient 002-1?", [(88.0,)]),
        ("what was the total volume of p.o. intake of patient 002-1?", [(120.5,)]),
        ("which allergies are on record for patient 002-1?", [("penicillins",)]),
        ("how many hospital visits of patient 002-2 began since 2100?", [(2,)]),
        ("how many icu visits of patient 002-2 began since 2100?", [(3,)]),
        ("what was the first ward of patient 002-1?", [(91,)]),
        ("what was the name of the lab test that patient 002-1 last received?", [("wbc x 1000",)]),
    ],
)
def test_questions_find_what_is_in_the_tables(database: Path, question: str, found: list[tuple[Any, ...]]) -> None:
    assert answers(database, question) == found


def test_vital_signs_are_columns_and_need_no_lookup() -> None:
    assert [(name.kind.name, name.value) for name in names_without_lookup(Term("sao2", ("lab", "vital")), EICU)] == [("vital", "sao2")]
    assert names_without_lookup(Term("potassium", ("lab", "vital")), EICU) == []
    assert lookups(Term("potassium", ("lab", "vital")), EICU) == [Lookup("potassium", ("lab",)), Lookup("potassium")]


def test_a_cell_of_the_flowsheet_is_an_intake_or_an_output_as_the_question_says() -> None:
    answer = 'Equal to "urine":\nintakeoutput.csv, column celllabel: urine (12 rows)'
    assert [name.kind.name for name in names_in(answer, Term("urine", ("output",)), EICU)] == ["output", "intake"]


# --- episodes -------------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Experiment]:
    data = {"synthetic": {"patients": 40, "seed": 5, "train": 1, "test": ASKED}, "impossible": "include"}
    config = Config.model_validate(
        {"work_dir": tmp_path_factory.mktemp("work"), "task": "eicu", "agent": {"name": "baseline"}, "result_dir_tag": "baseline", "data": data}
    )
    data_folder(config).parent.mkdir(parents=True)
    Eicu.build(config, data_folder(config))
    with open_experiment(config) as opened:
        yield opened


@pytest.mark.slow
def test_it_answers_a_good_share_of_made_up_questions_and_ends_every_episode(experiment: Experiment) -> None:
    records = [run_episode(experiment, EpisodeKey(idx)) for idx in range(ASKED)]
    answerable = [record for record in records if not experiment.task.instance(record["idx"]).record["is_impossible"]]
    assert sum(record["result"] == "success" for record in answerable) > 0.7 * len(answerable)
    assert all(record["stop_reason"] in ("submitted", "abstained") for record in records)
