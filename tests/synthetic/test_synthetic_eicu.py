"""Made-up eICU: its raw tables, its questions, and their golds on the database that the task builds."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from medagentgym.config import DatasetConfig, SyntheticConfig
from medagentgym.ehr.build import build_ehr
from medagentgym.ehr.eicu import RECIPE
from medagentgym.ehr.gold import executable_sql, execute
from medagentgym.errors import UserError
from medagentgym.synthetic import impossible_indices
from medagentgym.synthetic.eicu import generate
from medagentgym.synthetic.eicu.questions.eicu import EICU
from medagentgym.synthetic.eicu.tables import RAW_COLUMNS
from medagentgym.synthetic.questions.mimic_iii import MIMIC_III

CONFIG = SyntheticConfig(patients=60, seed=3, train=160, test=160)
NOW = "2105-12-31 23:59:00"


@dataclass(frozen=True)
class MadeUp:
    folder: Path
    database: Path

    def table(self, name: str) -> pd.DataFrame:
        with gzip.open(self.folder / "raw" / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as stream:
            return pd.read_csv(stream, low_memory=False)

    def questions(self, mode: str) -> list[dict[str, Any]]:
        return list(json.loads((self.folder / "questions" / f"{mode}.json").read_text(encoding="utf-8")))

    def every_question(self) -> Iterator[dict[str, Any]]:
        return (question for mode in ("train", "test") for question in self.questions(mode))

    def rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> MadeUp:
    folder = tmp_path_factory.mktemp("synthetic")
    generate(CONFIG, folder / "made")
    build_ehr(RECIPE, DatasetConfig(synthetic=CONFIG), {}, folder / "built")
    return MadeUp(folder / "made", folder / "built" / "database" / "eicu.sqlite")


# --- tables -----------------------------------------------------------------------------------------------------------------------------------------


def test_every_raw_table_is_there_with_all_its_columns(made_up: MadeUp) -> None:
    assert {file.name.removesuffix(".csv.gz") for file in (made_up.folder / "raw").iterdir()} == set(RAW_COLUMNS)
    for name, columns in RAW_COLUMNS.items():
        table = made_up.table(name)
        assert list(table.columns) == list(columns) and len(table) > 0
        number = next(iter(columns)) if name != "patient" else "patientunitstayid"
        assert table[number].is_unique


def test_all_patients_are_in_the_database_and_a_tenth_of_them_in_hospital_now(made_up: MadeUp) -> None:
    assert made_up.rows("select count( distinct uniquepid ) from patient") == [(60,)]
    assert made_up.rows("select count( distinct uniquepid ) from patient where hospitaldischargetime is null") == [(6,)]


def test_stays_lie_in_their_visit_and_visits_of_a_patient_follow_each_other(made_up: MadeUp) -> None:
    rows = made_up.rows(
        "select uniquepid, patienthealthsystemstayid, hospitaladmittime, unitadmittime, coalesce(unitdischargetime, 'z'), "
        "coalesce(hospitaldischargetime, 'z') from patient order by uniquepid, unitadmittime"
    )
    for _, _, admitted, unit, left_unit, left in rows:
        assert "2100-01-01" <= admitted <= unit < left_unit and unit <= NOW and (left_unit <= left or left_unit == "z")
    for earlier, later in itertools.pairwise(rows):
        if earlier[0] == later[0]:
            assert (earlier[5] < later[2]) if earlier[1] != later[1] else (earlier[4] <= later[3])


def test_events_lie_in_or_near_their_hospital_visit(made_up: MadeUp) -> None:
    for table, time in (
        ("lab", "labresulttime"),
        ("diagnosis", "diagnosistime"),
        ("vitalperiodic", "observationtime"),
        ("medication", "drugstarttime"),
    ):
        outside = made_up.rows(
            f"select count(*) from {table} join patient using (patientunitstayid) where {time} < hospitaladmittime or {time} > '{NOW}' "
            f"or {time} > datetime(hospitaldischargetime)"
        )
        assert outside == [(0,)], table


def test_raw_tables_hold_rows_that_the_task_leaves_out(made_up: MadeUp) -> None:
    assert made_up.table("patient")["hospitaladmitsource"].isna().any() and (made_up.table("patient")["age"] == "> 89").any()
    assert made_up.table("lab")["labresult"].isna().any() and (made_up.table("medication")["drugordercancelled"] == "Yes").any()
    assert made_up.table("diagnosis")["diagnosisstring"].str.startswith("infectious diseases|systemic/other infections|sepsis").any()
    for table in ("diagnosis", "lab", "medication", "treatment", "vitalPeriodic", "intakeOutput"):
        ((kept,),) = made_up.rows(f"select count(*) from {table}")
        assert kept < len(made_up.table(table)), table
    assert made_up.rows("select count(*) from intakeoutput where celllabel like '%weight%' or celllabel like '% intake'") == [(0,)]


def digests(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.mark.slow
def test_the_same_configuration_gives_the_same_bytes_under_any_hash_seed_locale_time_zone_and_thread_count(tmp_path: Path) -> None:
    def run(folder: Path, **environment: str) -> None:
        arguments = ("--shape", "eicu", "--patients", "25", "--seed", "-7", "--train", "30", "--test", "30", str(folder))
        done = subprocess.run([sys.executable, "-m", "medagentgym.synthetic", *arguments], env={**os.environ, **environment}, capture_output=True)
        assert done.returncode == 0, done.stderr

    run(tmp_path / "a", PYTHONHASHSEED="1", LC_ALL="C", TZ="Asia/Tokyo", OMP_NUM_THREADS="1", PYTHONUTF8="0")
    run(tmp_path / "b", PYTHONHASHSEED="77", LC_ALL="de_DE.UTF-8", TZ="America/Lima", OMP_NUM_THREADS="4", PYTHONUTF8="1")
    assert len(digests(tmp_path / "a")) == 11
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    with pytest.raises(UserError, match="not empty"):
        generate(SyntheticConfig(patients=10, train=1, test=1), tmp_path / "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]


@pytest.mark.slow
def test_too_few_patients_for_the_questions_are_named_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"synthetic\.train: 10 patients give no more than \d+ different questions"):
        generate(SyntheticConfig(patients=10, train=20_000, test=1), tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


# --- questions --------------------------------------------------------------------------------------------------------------------------------------


def test_there_are_as_many_questions_as_asked_for_and_the_impossible_ones_are_known_beforehand(made_up: MadeUp) -> None:
    for mode in ("train", "test"):
        questions = made_up.questions(mode)
        assert len(questions) == getattr(CONFIG, mode)
        assert {position for position, question in enumerate(questions) if question["is_impossible"]} == impossible_indices(CONFIG, mode)
        for question in questions:
            assert question["db_id"] == "eicu" and question["split"] == mode and (question["query"] == "null") == question["is_impossible"]
            assert len(question["t_tag"]) == 5 and len(question["o_tag"]) == 9


def test_there_are_many_kinds_and_each_has_a_paraphrase_with_the_same_slots() -> None:
    slot = re.compile(r"\{\w+\}|\[\w+\]")
    assert len(EICU.kinds) >= 100 and len(EICU.unanswerable) >= 12
    for kind in [*EICU.kinds, *EICU.unanswerable]:
        assert kind.wording == kind.wording.lower() and kind.paraphrases
        for paraphrase in kind.paraphrases:
            assert paraphrase.lower() != kind.wording
            assert set(slot.findall(paraphrase)) == set(slot.findall(kind.wording)), paraphrase


def test_kinds_of_one_database_do_not_come_among_those_of_the_other() -> None:
    assert not {id(kind) for kind in EICU.kinds} & {id(kind) for kind in MIMIC_III.kinds}


def test_training_and_test_questions_share_no_pair_of_kind_and_parameters(made_up: MadeUp) -> None:
    asked = [{(question["template"], question["query"]) for question in made_up.questions(mode)} for mode in ("train", "test")]
    assert not asked[0] & asked[1] and [len(questions) for questions in asked] == [160, 160]


def test_the_wording_has_no_open_slot_and_names_its_parameters(made_up: MadeUp) -> None:
    for question in made_up.every_question():
        for text in (question["template"], question["question"]):
            assert not set("{}") & set(text), text
            assert "[time" not in text and "[n_" not in text and "[agg" not in text and "  " not in text and " ?" not in text
            assert " a a" not in text and " a i" not in text
        assert question["template"] == question["template"].lower()
        assert all(str(value) in question["template"] for value in question["value"].values())


def test_gold_sql_follows_the_conventions_of_ehrsql_and_speaks_of_eicu(made_up: MadeUp) -> None:
    text = ""
    for question in made_up.every_question():
        query = question["query"]
        if question["is_impossible"]:
            continue
        assert query == query.lower() and query.startswith("select ") and query.count("(") == query.count(")")
        assert "'now'" not in query and "2105-12-31 23" not in query
        assert not re.search(r"\b(admissions|icustays|patients|subject_id|hadm_id|icustay_id)\b", re.sub(r"'[^']*'", "", query)), query
        text += f"{question['template']} | {query}\n"
    for sign in (
        "current_time", "start of year", "dense_rank()", "count(*) > 0", "group by strftime", "offset 1", "cost.cost", "patient.age", "microlab",
        "cellpath like '%intake%'", "cellpath like '%output%'", "vitalperiodic.", "allergy.", "hospitaldischargetime is null",
        "unitdischargetime is null", "patient.wardid", "current hospital visit", "current icu visit",
    ):  # fmt: skip
        assert sign in text, sign


# --- golds ------------------------------------------------------------------------------------------------------------------------------------------


def test_nearly_every_question_has_an_answer_and_only_a_no_is_zero(made_up: MadeUp) -> None:
    found: Counter[str] = Counter()
    with closing(sqlite3.connect(made_up.database)) as connection:
        for question in made_up.every_question():
            if question["is_impossible"]:
                continue
            gold = execute(connection, executable_sql(question["query"]))
            found[gold.status] += 1
            assert gold.status in ("usable", "zero"), (question["template"], question["query"], gold)
            assert gold.status == "usable" or gold.boolean or "value" in question["template"], (question["template"], gold)
    assert found["usable"] >= 0.9 * sum(found.values())


def test_yes_and_no_are_both_frequent(made_up: MadeUp) -> None:
    with closing(sqlite3.connect(made_up.database)) as connection:
        golds = [execute(connection, executable_sql(question["query"])) for question in made_up.every_question() if not question["is_impossible"]]
    answers = Counter(gold.rows[0][0] for gold in golds if gold.boolean)
    assert 0.1 < answers[0] / (answers[0] + answers[1]) < 0.6


def test_questions_for_one_value_have_one(made_up: MadeUp) -> None:
    with closing(sqlite3.connect(made_up.database)) as connection:
        for question in made_up.every_question():
            if question["template"].startswith(
                ("what was the age", "how many", "when was", "what is the gender", "in which hospital", "was ", "did ")
            ):
                gold = execute(connection, executable_sql(question["query"]))
                assert question["is_impossible"] or len(gold.rows) == 1, (question["template"], gold.rows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 11])
def test_other_seeds_and_sizes_have_answers_too(tmp_path: Path, seed: int) -> None:
    config = SyntheticConfig(patients=40 if seed else 250, seed=seed, train=200, test=200)
    build_ehr(RECIPE, DatasetConfig(synthetic=config), {}, tmp_path / "built")
    rows = [json.loads(line) for mode in ("train", "test") for line in (tmp_path / "built" / f"{mode}_tasks.jsonl").read_text().splitlines()]
    statuses = Counter(row["gold"]["status"] for row in rows if not row["is_impossible"])
    assert statuses["usable"] >= 0.9 * sum(statuses.values()), statuses
    assert not statuses["error"] and not statuses["empty"], statuses
