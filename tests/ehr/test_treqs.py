"""TREQS's database cut from raw MIMIC-III, and its SQL."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from built_folder import manifest, table
from raw_mimic import ELDER, LONG_STAYER, Rows, raw_rows, write_raw

from medagentgym.built_data import QuestionFile
from medagentgym.config import DatasetConfig
from medagentgym.ehr.build import build_ehr
from medagentgym.ehr.person_names import person_name
from medagentgym.ehr.treqs import RECIPE, TREQS, executable_sql
from medagentgym.errors import UserError

QUESTION = {
    "key": "a",
    "question_refine": "how many patients are there?",
    "sql": 'SELECT COUNT ( DISTINCT DEMOGRAPHIC."SUBJECT_ID" ) FROM DEMOGRAPHIC',
}


def build(folder: Path, raw: Path) -> Path:
    questions = folder / "dev.json"
    questions.write_text(json.dumps(QUESTION) + "\n", encoding="utf-8")
    build_ehr(RECIPE, DatasetConfig(raw_path=raw), {"test": QuestionFile(questions, "data.questions.test")}, folder / "built")
    return folder / "built"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("treqs")
    return build(folder, write_raw(folder / "raw"))


@pytest.fixture(scope="module")
def connection(built: Path) -> sqlite3.Connection:
    return sqlite3.connect(built / "database" / "treqs.sqlite", check_same_thread=False)


# --- the cut --------------------------------------------------------------------------------------------------------------------------------------


def test_every_admission_of_every_patient_is_kept_with_its_dates_as_they_are(built: Path) -> None:
    rows = table(built, "DEMOGRAPHIC")
    assert [row["HADM_ID"] for row in rows] == ["10", "20", "30", "40", "50", "60", "70", "80", "90", "21"]
    assert rows[0]["ADMITTIME"] == "2150-03-01 08:00:00" and rows[0]["DOB"] == "2081-03-04 00:00:00"
    assert (rows[0]["ADMITYEAR"], rows[0]["DOB_YEAR"], rows[0]["DOD_YEAR"], rows[0]["EXPIRE_FLAG"]) == ("2150", "2081", "2190.0", "1")
    assert (rows[1]["DOD"], rows[1]["DOD_YEAR"], rows[1]["EXPIRE_FLAG"]) == ("", "", "0")


def test_values_stand_as_in_mimic(built: Path) -> None:
    row = table(built, "DEMOGRAPHIC")[0]
    assert (row["INSURANCE"], row["MARITAL_STATUS"], row["DIAGNOSIS"]) == (" Medicare ", "MARRIED", "SEPSIS\\FEVER  ")


def test_a_stay_counts_whole_days(built: Path) -> None:
    stays = {row["HADM_ID"]: row["DAYS_STAY"] for row in table(built, "DEMOGRAPHIC")}
    assert (stays["10"], stays["21"], stays[f"{LONG_STAYER}0"]) == ("4", "2", "60")


def test_age_is_the_difference_of_the_years_and_beyond_89_that_of_dates_moved_back_300_years(built: Path) -> None:
    ages = {row["SUBJECT_ID"]: row["AGE"] for row in table(built, "DEMOGRAPHIC")}
    assert ages["1"] == "69"
    assert ages[str(ELDER)] == "89"


def test_codes_have_their_titles_and_a_repeated_code_has_a_row_for_each(built: Path) -> None:
    assert {(row["ICD9_CODE"], row["SHORT_TITLE"]) for row in table(built, "DIAGNOSES")} == {("4019", "Hypertension NOS")}
    procedures = [row["SHORT_TITLE"] for row in table(built, "PROCEDURES") if row["HADM_ID"] == "10"]
    assert procedures == ["Venous cath NEC", "A second title"]


def test_a_measurement_needs_an_admission_a_value_and_a_unit(built: Path) -> None:
    rows = table(built, "LAB")
    assert {row["VALUE_UNIT"] for row in rows} == {"4.1mEq/L", "HEMOLYZEDmEq/L"}
    assert len(rows) == 20 and all(row["HADM_ID"] and row["LABEL"] == "Potassium" for row in rows)
    assert {(row["FLUID"], row["CATEGORY"], row["ITEMID"]) for row in rows} == {("Blood", "Chemistry", "50971")}


def test_a_prescription_has_its_dose_in_one_text(built: Path) -> None:
    doses = {row["DRUG_DOSE"] for row in table(built, "PRESCRIPTIONS")}
    assert doses == {"5mg", "2.5mg", "5,000UNIT", "7AMP"}


def test_identifiers_are_text_and_ages_are_numbers(connection: sqlite3.Connection) -> None:
    kinds = connection.execute("SELECT typeof(SUBJECT_ID), typeof(HADM_ID), typeof(AGE), typeof(DOB_YEAR), typeof(DOD_YEAR) FROM DEMOGRAPHIC LIMIT 1")
    assert kinds.fetchone() == ("text", "text", "integer", "integer", "real")
    assert connection.execute("SELECT typeof(ITEMID) FROM LAB LIMIT 1").fetchone() == ("text",)


def test_every_patient_has_a_made_up_name_of_their_own_that_is_always_the_same(built: Path) -> None:
    names = {row["SUBJECT_ID"]: row["NAME"] for row in table(built, "DEMOGRAPHIC")}
    assert len(set(names.values())) == len(names) == 9
    assert names["4"] == person_name(4, "F") and all(len(name.split()) == 3 for name in names.values())


def test_no_two_patients_of_mimic_share_a_name() -> None:
    assert len({person_name(number, "F") for number in range(100_000)} | {person_name(number, "M") for number in range(100_000)}) == 200_000


def test_names_that_lie_beside_the_raw_tables_are_taken(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw")
    (raw / "id2name.csv").write_text("1,Paul Example\n2,Paula Example\n", encoding="utf-8")
    folder = build(tmp_path, raw)
    names = {row["SUBJECT_ID"]: row["NAME"] for row in table(folder, "DEMOGRAPHIC")}
    assert (names["1"], names["2"], names["3"]) == ("Paul Example", "Paula Example", person_name(3, "M"))
    assert manifest(folder)["cohort"]["names"] == "as given"


def test_capitals_and_compression_of_the_raw_files_do_not_matter(tmp_path: Path, built: Path) -> None:
    other = build(tmp_path, write_raw(tmp_path / "raw", compressed=True, lower_case=True))
    assert [table(other, schema.name) for schema in TREQS.tables] == [table(built, schema.name) for schema in TREQS.tables]


def _without(name: str) -> Callable[[Path], None]:
    return lambda raw: (raw / f"{name}.csv").unlink()


def _with_row(rows: Rows, values: dict[str, Any]) -> Rows:
    return [{**rows[0], **values}, *rows[1:]]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (_without("LABEVENTS"), "table LABEVENTS is missing .*correct data.raw_path"),
        (lambda raw: (raw / "PATIENTS.csv").write_text("ROW_ID,SUBJECT_ID,GENDER,DOB,DOD\n"), "PATIENTS.csv: column EXPIRE_FLAG is missing"),
        (
            lambda raw: write_raw(raw, {"ADMISSIONS": _with_row(raw_rows()["ADMISSIONS"], {"DISCHTIME": "later"})}),
            "ADMISSIONS.csv: column DISCHTIME: later is not a time",
        ),
        (lambda raw: (raw / "id2name.csv").write_text("<html>\n"), "id2name.csv: holds no patients and their names; correct or remove it"),
        (lambda raw: (raw / "id2name.csv").write_bytes(b"\xff\xfe\x00"), "id2name.csv: not a readable CSV file of patients and their names"),
    ],
)
def test_what_is_wrong_with_a_raw_file_is_named_and_nothing_is_left(tmp_path: Path, change: Callable[[Path], object], complaint: str) -> None:
    raw = write_raw(tmp_path / "raw")
    change(raw)
    with pytest.raises(UserError, match=complaint):
        build(tmp_path, raw)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dev.json", "raw"]


# --- the SQL --------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "executable"),
    [
        ('WHERE DIAGNOSES."SHORT_TITLE" = "Sepsis"', "WHERE DIAGNOSES.\"SHORT_TITLE\" = 'Sepsis'"),
        ('WHERE LAB.FLUID="Blood"', "WHERE LAB.FLUID='Blood'"),
        ('WHERE DEMOGRAPHIC."DIAGNOSIS" = "S/P FALL; O\'BRIEN  "', "WHERE DEMOGRAPHIC.\"DIAGNOSIS\" = 'S/P FALL; O''BRIEN  '"),
        ('WHERE "AGE" < "50"', "WHERE \"AGE\" < '50'"),
        ('WHERE LAB . "LABEL" = "say ""ah"""', 'WHERE LAB . "LABEL" = \'say "ah"\''),
        ("WHERE LAB.FLUID = 'a \"quoted\" word';", "WHERE LAB.FLUID = 'a \"quoted\" word'"),
        ('SELECT count(*) FROM "LAB"', 'SELECT count(*) FROM "LAB"'),
    ],
)
def test_strings_in_double_quotes_become_strings_and_names_stay_names(query: str, executable: str) -> None:
    assert executable_sql(query) == executable


def test_the_sql_runs_where_sqlite_takes_no_strings_in_double_quotes(built: Path) -> None:
    with closing(sqlite3.connect(built / "database" / "treqs.sqlite")) as strict:
        if hasattr(strict, "setconfig"):  # Python 3.12
            strict.setconfig(sqlite3.SQLITE_DBCONFIG_DQS_DML, False)
        query = 'SELECT COUNT ( * ) FROM DEMOGRAPHIC WHERE DEMOGRAPHIC."GENDER" = "F" AND DEMOGRAPHIC."AGE" < "69"'
        assert strict.execute(executable_sql(query)).fetchone() == (4,)
        names = {name.upper() for schema in TREQS.tables for name in schema.column_names}
        assert {quoted.upper() for quoted in re.findall(r'"([^"]*)"', executable_sql(query))} <= names


def test_numbers_are_compared_as_numbers_though_the_sql_writes_them_as_strings(connection: sqlite3.Connection) -> None:
    below = connection.execute(executable_sql('SELECT count(*) FROM DEMOGRAPHIC WHERE DEMOGRAPHIC."AGE" < "100"')).fetchone()
    assert below == (10,)
    died = connection.execute(executable_sql('SELECT count(*) FROM DEMOGRAPHIC WHERE DEMOGRAPHIC."DOD_YEAR" <= "2190.0"')).fetchone()
    assert died == (1,)
