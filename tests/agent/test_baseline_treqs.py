"""The baseline agent on the five tables of treqs: how it reads questions, and whole episodes on made-up patients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from medagentgym.agent.baseline_rules.treqs.columns import COLUMNS
from medagentgym.agent.baseline_rules.treqs.limits import limits_in
from medagentgym.agent.baseline_rules.treqs.question import Reading, folded, head_of, query, read
from medagentgym.agent.baseline_rules.treqs.values import Match, matches_in
from medagentgym.config import Config
from medagentgym.episode import Experiment, run_episode
from medagentgym.plan import data_folder
from medagentgym.record import EpisodeKey
from medagentgym.tasks.treqs import Treqs
from medagentgym.worker import open_experiment

QUESTIONS = 40


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("patients aged below 50", "AGE < 50"),
        ("patients under the age of 31", "AGE < 31"),
        ("patients aged 64 or older", "AGE >= 64"),
        ("patients older than 70 years", "AGE > 70"),
        ("patients who were born before the year 2060", "DOB_YEAR < 2060"),
        ("patients born after 2060", "DOB_YEAR > 2060"),
        ("patients who died in or before 2111", "DOD_YEAR <= 2111"),
        ("patients whose year of death is 2111 or earlier", "DOD_YEAR <= 2111"),
        ("patients admitted in or after 2103", "ADMITYEAR >= 2103"),
        ("patients who came to the hospital before 2103", "ADMITYEAR < 2103"),
        ("patients who stayed for more than 7 days", "DAYS_STAY > 7"),
        ("patients with a stay of 7 days", "DAYS_STAY = 7"),
    ],
)
def test_a_limit_is_read_with_its_direction(text: str, condition: str) -> None:
    assert [limit.sql for limit in limits_in(text)] == [f"DEMOGRAPHIC.{condition}"]


def test_a_limit_belongs_to_its_own_clause() -> None:
    found = limits_in("average age at admission of patients whose language is english and admitted before 2107")
    assert [limit.sql for limit in found] == ["DEMOGRAPHIC.ADMITYEAR < 2107"]


def match_of(text: str, table: str, name: str, value: str) -> Match:
    column = next(column for column in COLUMNS if (column.table, column.name) == (table, name))
    start = text.index(value.lower())
    return Match(column, value, start, start + len(value), 1)


def test_a_limit_within_the_name_of_something_is_part_of_the_name() -> None:
    text = folded("How many patients underwent ventilation for less than 96 hours?")
    reading = read(text, [match_of(text, "PROCEDURES", "LONG_TITLE", "Ventilation for less than 96 hours")])
    assert reading.conditions == ["PROCEDURES.LONG_TITLE = 'Ventilation for less than 96 hours'"]


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("how many patients are there", "count(DISTINCT DEMOGRAPHIC.SUBJECT_ID)"),
        ("what is the maximum age of patients", "MAX(DEMOGRAPHIC.AGE)"),
        ("find the shortest hospital stay in days of patients", "MIN(DEMOGRAPHIC.DAYS_STAY)"),
        ("what is the age and the drug dose of subject id 12", "DEMOGRAPHIC.AGE, PRESCRIPTIONS.DRUG_DOSE"),
        ("tell me the lab test category of subject id 12", "LAB.CATEGORY"),
    ],
)
def test_what_is_asked_is_the_head_of_the_query(text: str, selected: str) -> None:
    assert head_of(read(text, [])).selected == selected


def test_the_tables_of_head_and_conditions_are_joined_on_the_admission() -> None:
    head = head_of(Reading("how many patients are there"))
    sql = query(head, ["LAB.FLUID = 'Urine'", "DEMOGRAPHIC.AGE < 50"])
    assert " ".join(sql.split()) == (
        "SELECT count(DISTINCT DEMOGRAPHIC.SUBJECT_ID) FROM DEMOGRAPHIC JOIN LAB ON LAB.HADM_ID = DEMOGRAPHIC.HADM_ID "
        "WHERE LAB.FLUID = 'Urine' AND DEMOGRAPHIC.AGE < 50"
    )


def test_a_short_value_needs_a_word_beside_it_that_speaks_for_its_column() -> None:
    text = "how many patients in their bed had the drug route po"
    observation = f'stdout:\n[["PRESCRIPTIONS", "ROUTE", "PO", {text.index("po")}, {text.index("po") + 2}], ["PRESCRIPTIONS", "ROUTE", "IN", 18, 20]]'
    assert [match.value for match in matches_in(observation, text)] == ["PO"]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Experiment]:
    work_dir: Path = tmp_path_factory.mktemp("work")
    synthetic = {"patients": 60, "seed": 9, "train": 1, "test": QUESTIONS}
    settings = {"task": "treqs", "work_dir": work_dir, "agent": {"name": "baseline"}, "result_dir_tag": "baseline", "data": {"synthetic": synthetic}}
    config = Config.model_validate(settings)
    Treqs.build(config, data_folder(config))
    with open_experiment(config) as opened:
        yield opened


@pytest.mark.slow
def test_it_answers_most_made_up_questions_within_few_steps(experiment: Experiment) -> None:
    records = [run_episode(experiment, EpisodeKey(idx)) for idx in range(QUESTIONS)]
    assert sum(record["result"] == "success" for record in records) > 0.8 * QUESTIONS
    assert {record["stop_reason"] for record in records} == {"submitted"}
    assert max(len(record["steps"]) for record in records) <= 8
