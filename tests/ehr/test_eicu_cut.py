"""From raw eICU tables to the task database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from built_folder import Table, manifest, table
from raw_eicu import ADULTS, COLUMNS, DAY, ELDER, QUESTIONS, raw_rows, write_raw
from raw_mimic import write_questions

from medagentgym.built_data import QuestionFile
from medagentgym.config import DatasetConfig
from medagentgym.ehr.build import build_ehr
from medagentgym.ehr.costs import price
from medagentgym.ehr.eicu import RECIPE
from medagentgym.ehr.eicu_calendar import UnitStay, timed_stays
from medagentgym.ehr.eicu_cut import RAW_COLUMNS
from medagentgym.ehr.eicu_schema import EICU
from medagentgym.ehr.schema import NOW
from medagentgym.errors import UserError

SEED = 1
"""With it, the second visit of patient 002-2, a year after the first, is before "now"."""


def build(tmp_path: Path, raw: Path, *, name: str = "built", questions: list[dict[str, Any]] = QUESTIONS, **data: Any) -> Path:
    path = write_questions(tmp_path / f"{name}_questions.json", questions)
    build_ehr(RECIPE, DatasetConfig(raw_path=raw, **{"seed": SEED, **data}), {"test": QuestionFile(path, "data.questions.test")}, tmp_path / name)
    return tmp_path / name


def after(text: str, minutes: int) -> str:
    return str(datetime.fromisoformat(text) + timedelta(minutes=minutes))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("built")
    return build(tmp_path, write_raw(tmp_path / "raw"))


@pytest.fixture(scope="module")
def admitted(built: Path) -> str:
    """When patient 002-1 came to the unit."""
    return next(row["unitadmittime"] for row in table(built, "patient") if row["patientunitstayid"] == "101")


# --- who is kept ----------------------------------------------------------------------------------------------------------------------------------


def test_children_the_longest_stays_and_stays_without_source_or_sex_are_left_out(built: Path) -> None:
    assert {row["uniquepid"] for row in table(built, "patient")} == {*ADULTS, ELDER}


def test_a_patient_is_left_out_where_the_offsets_of_one_stay_are_out_of_order(tmp_path: Path) -> None:
    for wrong in ({"hospitaladmitoffset": 1}, {"unitdischargeoffset": 0}, {"unitdischargeoffset": 4 * DAY}):
        rows = raw_rows()
        rows["patient"][7].update(wrong)
        folder = build(tmp_path, write_raw(tmp_path / "raw", rows), name=f"without_{len(list(tmp_path.iterdir()))}")
        assert {row["uniquepid"] for row in table(folder, "patient")} == {*ADULTS, ELDER} - {"002-2"}, wrong


def test_those_over_89_are_90(built: Path) -> None:
    ages = {row["uniquepid"]: row["age"] for row in table(built, "patient")}
    assert ages[ELDER] == "90" and ages["002-1"] == "61"


def test_patients_named_in_questions_are_in_the_cohort_whatever_is_drawn(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw")
    folder = build(tmp_path, raw, sample_patients=0)
    assert {row["uniquepid"] for row in table(folder, "patient")} == {"002-1", "002-2", "002-3"}
    assert {row["patientunitstayid"] for row in table(folder, "lab")} == {"101", "102", "103", "201", "202"}
    cohort = manifest(folder)["cohort"]
    assert (cohort["patients"], cohort["admissions"], cohort["unit_stays"]) == (3, 4, 5)
    assert (cohort["named_in_questions"], cohort["named_and_present"]) == (3, 3)
    drawn = build(tmp_path, raw, name="drawn", questions=QUESTIONS[:1], sample_patients=2)
    assert len({row["uniquepid"] for row in table(drawn, "patient")}) == 2


# --- when it was ----------------------------------------------------------------------------------------------------------------------------------


def test_a_visit_has_a_date_in_2100_to_2105_keeps_its_time_of_day_and_its_offsets_become_times(built: Path) -> None:
    for row in table(built, "patient"):
        assert "2100-01-01" <= row["hospitaladmittime"] <= NOW and row["hospitaladmittime"].endswith(" 08:30:00")
        if row["patientunitstayid"] not in ("201", "202"):
            unit = after(row["hospitaladmittime"], DAY)
            assert row["unitadmittime"] == unit
            assert row["unitdischargetime"] in (after(unit, 2 * DAY), "") and row["hospitaldischargetime"] in (after(unit, 3 * DAY), "")


def test_unit_stays_of_one_visit_share_its_times(built: Path) -> None:
    first, second = (next(row for row in table(built, "patient") if row["patientunitstayid"] == stay) for stay in ("201", "202"))
    assert first["hospitaladmittime"] == second["hospitaladmittime"] and first["hospitaldischargetime"] == second["hospitaldischargetime"]
    assert second["unitadmittime"] == after(first["unitadmittime"], DAY) == first["unitdischargetime"]


def stay_of(visit: int, **different: Any) -> UnitStay:
    values = {
        "patient": "002-1", "hospital_stay": visit, "unit_stay": visit, "age": 60, "year": 2014, "time_of_day": timedelta(hours=8),
        "hospital_admission": 0, "unit_discharge": 60, "hospital_discharge": 60,
    }  # fmt: skip
    return UnitStay(**{**values, **different})


def test_a_visit_of_the_next_year_is_in_the_next_year() -> None:
    for seed in range(50):
        one, other = timed_stays([stay_of(2, year=2015), stay_of(1)], seed)
        assert one.hospital_admitted.year == other.hospital_admitted.year + 1
        assert 2100 <= other.hospital_admitted.year <= 2105


def test_visits_of_one_year_follow_each_other_by_age_and_share_the_year_out() -> None:
    for seed in range(50):
        third, first, second = timed_stays([stay_of(1, age=61), stay_of(3, age=60), stay_of(2, age=61, unit_stay=0)], seed)
        assert first.hospital_admitted < second.hospital_admitted < third.hospital_admitted
        days = [stay.hospital_admitted.timetuple().tm_yday for stay in (first, second, third)]
        assert days[0] <= 123 and 121 <= days[1] <= 245 and days[2] >= 243


def test_later_years_are_likelier_and_the_dates_depend_on_the_seed() -> None:
    years = [timed_stays([stay_of(1)], seed)[0].hospital_admitted.year for seed in range(2000)]
    counts = [years.count(year) for year in range(2100, 2106)]
    assert counts == sorted(counts) and counts[-1] > 4 * counts[0]


def open_at_now(rows: dict[str, list[dict[str, Any]]]) -> int:
    """A seed with which patient 002-1 is in the unit at "now", by more than a day on either side."""
    now = datetime.fromisoformat(NOW)
    row = rows["patient"][0]
    stay = stay_of(
        1010, unit_stay=101, age=61, time_of_day=timedelta(hours=8.5), hospital_admission=row["hospitaladmitoffset"],
        unit_discharge=row["unitdischargeoffset"], hospital_discharge=row["hospitaldischargeoffset"],
    )  # fmt: skip
    for seed in range(20_000):
        (timed,) = timed_stays([stay], seed)
        if timed.unit_admitted + timedelta(minutes=200) < now < timed.unit_discharged - timedelta(minutes=200):
            return seed
    raise AssertionError("no such seed")


def test_what_is_later_than_now_is_unknown(tmp_path: Path) -> None:
    rows = raw_rows()
    rows["diagnosis"].append({"diagnosisid": 9, "patientunitstayid": 101, "diagnosisoffset": 2 * DAY - 1, "diagnosisstring": "a|b|later"})
    folder = build(tmp_path, write_raw(tmp_path / "raw", rows), seed=open_at_now(rows))
    patient = next(row for row in table(folder, "patient") if row["patientunitstayid"] == "101")
    assert patient["unitadmittime"] < NOW
    assert [patient[name] for name in ("unitdischargetime", "hospitaldischargetime", "hospitaldischargestatus", "dischargeweight")] == [""] * 4
    assert patient["admissionweight"] == "80.0"
    assert {row["diagnosisname"] for row in table(folder, "diagnosis") if row["patientunitstayid"] == "101"} == {
        "sepsis - severe", "acute renal failure - due to sepsis",
    }  # fmt: skip
    assert [row["drugstoptime"] for row in table(folder, "medication") if row["patientunitstayid"] == "101"] in (
        [""],
        [after(patient["unitadmittime"], 600)],
    )
    assert manifest(folder)["cohort"]["current_patients"] >= 1
    for name in EICU.tables:
        assert not any(value > NOW for row in table(folder, name.name) for column, value in row.items() if column.endswith("time"))


def test_a_visit_after_now_is_no_visit(tmp_path: Path) -> None:
    rows = raw_rows()
    seed = next(seed for seed in range(1000) if timed_stays([stay_of(1020, patient="002-2")], seed)[0].hospital_admitted.year == 2105)
    folder = build(tmp_path, write_raw(tmp_path / "raw", rows), seed=seed)
    assert [row["patientunitstayid"] for row in table(folder, "patient") if row["uniquepid"] == "002-2"] == ["102"]
    assert {row["patientunitstayid"] for row in table(folder, "lab")}.isdisjoint({"201", "202"})


# --- what is kept of it ---------------------------------------------------------------------------------------------------------------------------


def of_stay(folder: Path, name: str, stay: str = "101") -> Table:
    """The rows of a stay, without their number and the stay's."""
    number = EICU.table(name).column_names[0]
    return [
        {c: v for c, v in row.items() if c not in (number, "patientunitstayid")} for row in table(folder, name) if row["patientunitstayid"] == stay
    ]


def test_diagnoses_are_named_by_the_third_and_fourth_part_of_their_path(built: Path, admitted: str) -> None:
    assert of_stay(built, "diagnosis") == [
        {"diagnosisname": "sepsis - severe", "diagnosistime": after(admitted, 30), "icd9code": "995.92, r65.2"},
        {"diagnosisname": "acute renal failure - due to sepsis", "diagnosistime": after(admitted, 40), "icd9code": ""},
    ]


def test_of_a_tail_under_several_heads_only_the_commonest_is_kept(built: Path, admitted: str) -> None:
    assert of_stay(built, "treatment") == [{"treatmentname": "mechanical ventilation", "treatmenttime": after(admitted, 60)}]


def test_the_commonest_head_is_that_of_the_whole_raw_table(tmp_path: Path) -> None:
    rows = raw_rows()
    for number in range(30):
        rows["treatment"].append(
            {
                "treatmentid": number,
                "patientunitstayid": 113,
                "treatmentoffset": 1,
                "treatmentstring": "surgery|pulmonary therapies|mechanical ventilation",
            }
        )
    folder = build(tmp_path, write_raw(tmp_path / "raw", rows))
    (only,) = table(folder, "treatment")
    assert only["patientunitstayid"] == "101"


def test_results_without_a_number_are_left_out(built: Path, admitted: str) -> None:
    assert of_stay(built, "lab") == [{"labname": "wbc x 1000", "labresult": "4.1", "labresulttime": after(admitted, 70)}]


def test_orders_that_are_cancelled_or_incomplete_are_left_out(built: Path, admitted: str) -> None:
    assert of_stay(built, "medication") == [
        {
            "drugname": "warfarin",
            "dosage": "5 mg",
            "routeadmin": "po",
            "drugstarttime": after(admitted, -90),
            "drugstoptime": after(admitted, 600),
        }
    ]


def test_volumes_lose_the_words_intake_and_output_at_their_end_and_weights_are_no_volumes(built: Path, admitted: str) -> None:
    assert [(row["celllabel"], row["cellpath"], row["cellvaluenumeric"]) for row in of_stay(built, "intakeoutput")] == [
        ("p.o.", "flowsheet|i&o|intake (ml)|generic intake (ml)|p.o. intake", "120.5"),
        ("indwelling catheter", "flowsheet|i&o|output (ml)|indwelling catheter output", "120.5"),
    ]
    assert {row["intakeoutputtime"] for row in of_stay(built, "intakeoutput")} == {after(admitted, 110)}


def test_allergies_cultures_and_vital_signs_are_taken_over(built: Path, admitted: str) -> None:
    assert of_stay(built, "allergy") == [{"drugname": "", "allergyname": "penicillins", "allergytime": after(admitted, 5)}]
    assert of_stay(built, "microlab") == [{"culturesite": "blood, venipuncture", "organism": "no growth", "culturetakentime": after(admitted, 120)}]
    (signs,) = of_stay(built, "vitalperiodic")
    assert signs == {
        "temperature": "37.5", "sao2": "", "heartrate": "88.0", "respiration": "16.0", "systemicsystolic": "", "systemicdiastolic": "",
        "systemicmean": "", "observationtime": after(admitted, 130),
    }  # fmt: skip


def test_everything_that_is_charged_has_a_cost_and_one_price_a_name(built: Path) -> None:
    stays = {row["patientunitstayid"]: row for row in table(built, "patient")}
    costs = table(built, "cost")
    expected = 0
    for name, key, time in (
        ("diagnosis", "diagnosisname", "diagnosistime"),
        ("lab", "labname", "labresulttime"),
        ("treatment", "treatmentname", "treatmenttime"),
        ("medication", "drugname", "drugstarttime"),
    ):
        rows = {row[f"{name}id"]: row for row in table(built, name)}
        expected += len(rows)
        for cost in (cost for cost in costs if cost["eventtype"] == name):
            event = rows.pop(cost["eventid"])
            stay = stays[event["patientunitstayid"]]
            assert (cost["uniquepid"], cost["patienthealthsystemstayid"]) == (stay["uniquepid"], stay["patienthealthsystemstayid"])
            assert cost["chargetime"] == event[time] and float(cost["cost"]) == price(SEED, name, event[key])
        assert not rows
    assert [cost["costid"] for cost in costs] == [str(number) for number in range(expected)]


# --- files ----------------------------------------------------------------------------------------------------------------------------------------


def test_csv_files_and_sqlite_hold_the_same_rows_in_the_columns_of_ehrsql(built: Path) -> None:
    connection = sqlite3.connect(built / "database" / "eicu.sqlite")
    for schema in EICU.tables:
        cursor = connection.execute(f"SELECT * FROM {schema.name} ORDER BY {schema.key}")
        rows = table(built, schema.name)
        assert [column[0] for column in cursor.description] == list(schema.column_names) == list(rows[0])
        assert [["" if value is None else str(value) for value in row] for row in cursor] == [list(row.values()) for row in rows]
        assert manifest(built)["tables"][schema.name]["rows"] == len(rows) > 0


def test_names_and_headers_in_capitals_and_compressed_files_are_read_as_well(tmp_path: Path, built: Path) -> None:
    folder = build(tmp_path, write_raw(tmp_path / "raw", compressed=True, upper_case=True))
    assert manifest(folder)["data_digest"] == manifest(built)["data_digest"]


def test_the_order_of_the_raw_rows_does_not_matter(tmp_path: Path, built: Path) -> None:
    folder = build(tmp_path, write_raw(tmp_path / "raw", {name: rows[::-1] for name, rows in raw_rows().items()}))
    assert manifest(folder)["data_digest"] == manifest(built)["data_digest"]


def test_raw_tables_that_are_missing_are_built_empty_and_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = raw_rows()
    del rows["lab"], rows["vitalPeriodic"]
    folder = build(tmp_path, write_raw(tmp_path / "raw", rows))
    assert table(folder, "lab") == table(folder, "vitalperiodic") == []
    assert (folder / "database" / "lab.csv").read_text() == "labid,patientunitstayid,labname,labresult,labresulttime\n"
    assert manifest(folder)["cohort"]["missing_raw_tables"] == ["lab", "vitalperiodic"]
    assert "has no lab, vitalperiodic; the database's tables of that name are empty" in capfd.readouterr().err
    assert {row["eventtype"] for row in table(folder, "cost")} == {"diagnosis", "treatment", "medication"}


def test_the_recipe_names_the_raw_tables_that_the_cut_reads() -> None:
    assert RECIPE.raw_tables == tuple(RAW_COLUMNS)
    for name, columns in COLUMNS.items():
        assert set(RAW_COLUMNS[name.upper()]) <= {column.upper() for column in columns.split()}


def without(name: str) -> Callable[[Path], None]:
    return lambda raw: (raw / f"{name}.csv").unlink()


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(raw: Path) -> None:
        text = (raw / f"{name}.csv").read_text()
        assert old in text
        (raw / f"{name}.csv").write_text(text.replace(old, new, 1))

    return change


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (without("patient"), r"raw: table PATIENT is missing \(expected PATIENT\.csv or PATIENT\.csv\.gz\); correct data\.raw_path"),
        (replaced("patient", "uniquepid", "pid"), r"patient\.csv: column UNIQUEPID is missing"),
        (replaced("lab", "labresultoffset", "offset"), r"lab\.csv: column LABRESULTOFFSET is missing"),
        (replaced("patient", "08:30:00", "half past"), r"patient\.csv: column HOSPITALADMITTIME24: half past is not a time of day"),
        (replaced("patient", ",61,", ",old,"), r"patient\.csv: column AGE: old is not a whole number"),
        (replaced("lab", "4.1", "four"), r"lab\.csv: column LABRESULT: four is not a number"),
        (replaced("patient", "\n102,", "\n101,"), r"patient\.csv: PATIENTUNITSTAYID 101 occurs in 2 rows"),
    ],
)
def test_what_is_wrong_with_a_raw_table_is_named_and_nothing_is_left(tmp_path: Path, damage: Callable[[Path], None], complaint: str) -> None:
    raw = write_raw(tmp_path / "raw")
    damage(raw)
    with pytest.raises(UserError, match=complaint):
        build(tmp_path, raw)
    assert not [path for path in tmp_path.iterdir() if path.name not in ("raw", "built_questions.json")]
