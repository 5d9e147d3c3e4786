"""From raw tables to the task database."""

from __future__ import annotations

import gzip
import json
import random
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from built_folder import manifest, table
from raw_mimic import ADULTS, CHILD, ELDER, LONG_STAYER, raw_rows, write_questions, write_raw

from medagentgym.built_data import QuestionFile
from medagentgym.config import DatasetConfig
from medagentgym.ehr.build import build_ehr
from medagentgym.ehr.cohort import CohortRules
from medagentgym.ehr.costs import price
from medagentgym.ehr.cut import MimicIIICut
from medagentgym.ehr.mimic_iii import RECIPE
from medagentgym.ehr.schema import FIRST_DAY, MIMIC_III, NOW
from medagentgym.errors import UserError


def build(tmp_path: Path, raw: Path, *, name: str = "built", questions: list[dict[str, Any]] | None = None, **data: Any) -> Path:
    path = write_questions(tmp_path / f"{name}_questions.json", *([] if questions is None else [questions]))
    build_ehr(RECIPE, DatasetConfig(raw_path=raw, **data), {"test": QuestionFile(path, "data.questions.test")}, tmp_path / name)
    return tmp_path / name


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("built")
    return build(tmp_path, write_raw(tmp_path / "raw"))


# --- what is kept ---------------------------------------------------------------------------------------------------------------------------------


def test_children_people_over_89_and_the_longest_stays_are_left_out(built: Path) -> None:
    assert {int(row["SUBJECT_ID"]) for row in table(built, "PATIENTS")} == set(ADULTS)
    assert {CHILD, ELDER, LONG_STAYER}.isdisjoint(int(row["SUBJECT_ID"]) for row in table(built, "ADMISSIONS"))


def test_age_is_that_of_the_raw_dates(built: Path) -> None:
    ages = {row["HADM_ID"]: row["AGE"] for row in table(built, "ADMISSIONS")}
    assert ages == {"10": "68", "20": "67", "21": "68", "30": "66", "40": "65", "50": "64", "60": "63"}


def test_csv_files_and_sqlite_hold_the_same_rows(built: Path) -> None:
    connection = sqlite3.connect(built / "database" / "mimic_iii.sqlite")
    for schema in MIMIC_III.tables:
        cursor = connection.execute(f"SELECT * FROM {schema.name} ORDER BY ROW_ID")
        rows = table(built, schema.name)
        assert [column[0] for column in cursor.description] == list(schema.column_names)
        assert [["" if value is None else str(value) for value in row] for row in cursor] == [list(row.values()) for row in rows]
        assert [row["ROW_ID"] for row in rows] == [str(number) for number in range(len(rows))]
        assert manifest(built)["tables"][schema.name]["rows"] == len(rows) > 0


def test_texts_are_lower_cased_and_stripped(built: Path) -> None:
    assert {row["INSURANCE"] for row in table(built, "ADMISSIONS")} == {"medicare"}
    assert {row["VALUEUOM"] for row in table(built, "LABEVENTS")} == {"meq/l"}


def test_codes_keep_their_leading_zeros(built: Path) -> None:
    connection = sqlite3.connect(built / "database" / "mimic_iii.sqlite")
    assert connection.execute("SELECT ICD9_CODE, typeof(ICD9_CODE) FROM D_ICD_DIAGNOSES ORDER BY ROW_ID").fetchall() == [
        ("4019", "text"),
        ("0389", "text"),
    ]


def test_diagnoses_are_dated_by_admission_and_procedures_by_discharge(built: Path) -> None:
    stays = {row["HADM_ID"]: row for row in table(built, "ADMISSIONS")}
    diagnoses, procedures = table(built, "DIAGNOSES_ICD"), table(built, "PROCEDURES_ICD")
    assert diagnoses and all(row["CHARTTIME"] == stays[row["HADM_ID"]]["ADMITTIME"] for row in diagnoses)
    assert procedures and all(row["CHARTTIME"] == stays[row["HADM_ID"]]["DISCHTIME"] for row in procedures)


def test_codes_without_a_title_are_left_out_and_a_repeated_title_counts_once(built: Path) -> None:
    assert {row["ICD9_CODE"] for row in table(built, "DIAGNOSES_ICD")} == {"4019"}
    assert [row["SHORT_TITLE"] for row in table(built, "D_ICD_PROCEDURES")] == ["venous cath nec"]


def test_events_without_what_they_need_are_left_out(built: Path) -> None:
    stays = len(table(built, "ADMISSIONS"))
    assert [(row["VALUENUM"], row["HADM_ID"] != "") for row in table(built, "LABEVENTS")] == [("4.1", True)] * stays
    assert [(row["ITEMID"], row["VALUENUM"]) for row in table(built, "CHARTEVENTS")] == [("211", "88.0")] * stays
    assert [row["AMOUNT"] for row in table(built, "INPUTEVENTS_CV")] == ["120.0"] * stays
    assert [row["VALUE"] for row in table(built, "OUTPUTEVENTS")] == ["45.5"] * stays
    assert {row["EVENTTYPE"] for row in table(built, "TRANSFERS")} == {"admit"}
    assert {row["LABEL"] for row in table(built, "D_ITEMS")} == {"heart rate", "po intake", "urine out foley"}


def test_a_culture_without_a_time_has_its_date(built: Path) -> None:
    rows = table(built, "MICROBIOLOGYEVENTS")
    assert {row["CHARTTIME"][11:] for row in rows if row["SPEC_TYPE_DESC"] == "urine"} == {"00:00:00"}
    assert {row["CHARTTIME"][11:] for row in rows if row["SPEC_TYPE_DESC"] == "blood culture"} == {"10:00:00"}


def test_prescriptions_have_whole_doses_in_the_drugs_commonest_unit(built: Path) -> None:
    found = {(row["DRUG"], row["DOSE_VAL_RX"], row["DOSE_UNIT_RX"]) for row in table(built, "PRESCRIPTIONS")}
    assert found == {("warfarin", "5", "mg"), ("heparin", "5000", "unit")}


# --- times ----------------------------------------------------------------------------------------------------------------------------------------


def test_nothing_is_later_than_now_and_no_event_earlier_than_2100(built: Path) -> None:
    for schema in MIMIC_III.tables:
        times = [column.name for column in schema.columns if column.kind == "time"]
        for row in table(built, schema.name):
            assert all(row[name] <= NOW for name in times)
            if schema.name != "PATIENTS":
                assert all(row[name] == "" or row[name] >= FIRST_DAY for name in times)


def test_a_stay_that_is_open_at_now_has_no_discharge(tmp_path: Path) -> None:
    rows = raw_rows()
    rows["ADMISSIONS"][0] |= {"ADMITTIME": "2105-12-30 10:00:00", "DISCHTIME": "2106-01-03 10:00:00"}
    rows["ADMISSIONS"][1] |= {"ADMITTIME": "2104-12-30 10:00:00", "DISCHTIME": "2105-01-03 10:00:00"}
    raw = write_raw(tmp_path / "raw", rows)
    cut = MimicIIICut(raw, [], CohortRules(shift_times=False, over_age=None, under_age=None, stay_quantile=None), tmp_path)
    columns = [column.name for column in MIMIC_III.tables[1].columns]
    stays = {row[2]: dict(zip(columns, row, strict=True)) for row in cut.rows("ADMISSIONS")}
    assert set(stays) == {10, 20}
    assert (stays[10]["DISCHTIME"], stays[10]["DISCHARGE_LOCATION"]) == (None, None)
    assert (stays[20]["DISCHTIME"], stays[20]["DISCHARGE_LOCATION"]) == ("2105-01-03 10:00:00", "home")
    assert {row[2] for row in cut.rows("PROCEDURES_ICD")} == {20}
    assert {row[2] for row in cut.rows("DIAGNOSES_ICD")} == {10, 20}


# --- the same input gives the same output ---------------------------------------------------------------------------------------------------------


def test_case_compression_and_the_order_of_raw_rows_change_nothing(tmp_path: Path, built: Path) -> None:
    rows = raw_rows()
    for content in rows.values():
        random.Random(1).shuffle(content)
    other = build(tmp_path, write_raw(tmp_path / "raw", rows, compressed=True, lower_case=True))
    assert manifest(other)["digest"] == manifest(built)["digest"]
    assert (other / "database" / "mimic_iii.sqlite").read_bytes() == (built / "database" / "mimic_iii.sqlite").read_bytes()
    assert (other / "test_tasks.jsonl").read_bytes() == (built / "test_tasks.jsonl").read_bytes()


def test_another_seed_moves_dates_and_prices(tmp_path: Path, built: Path) -> None:
    other = build(tmp_path, write_raw(tmp_path / "raw"), seed=1)
    assert table(other, "ADMISSIONS") != table(built, "ADMISSIONS")
    assert table(other, "D_ITEMS") == table(built, "D_ITEMS")
    assert {row["COST"] for row in table(other, "COST")} != {row["COST"] for row in table(built, "COST")}


def test_only_the_patients_that_questions_name_where_no_sample_is_wanted(tmp_path: Path) -> None:
    folder = build(tmp_path, write_raw(tmp_path / "raw"), sample_patients=0)
    assert {row["SUBJECT_ID"] for row in table(folder, "PATIENTS")} == {"2", "3"}
    assert manifest(folder)["cohort"]["named_and_present"] == 2


def test_where_nobody_is_left_the_tables_are_empty(tmp_path: Path) -> None:
    questions = [{"template": "count the patients.", "query": "select count(*) from patients"}]
    folder = build(tmp_path, write_raw(tmp_path / "raw"), questions=questions, sample_patients=0)
    assert table(folder, "ADMISSIONS") == table(folder, "COST") == []
    assert manifest(folder)["questions"]["test"]["zero"] == 1


# --- cost -----------------------------------------------------------------------------------------------------------------------------------------


def test_every_priced_event_costs_once_and_what_is_the_same_costs_the_same(built: Path) -> None:
    costs = table(built, "COST")
    for source, key in [("DIAGNOSES_ICD", "ICD9_CODE"), ("LABEVENTS", "ITEMID"), ("PROCEDURES_ICD", "ICD9_CODE"), ("PRESCRIPTIONS", "DRUG")]:
        events = {row["ROW_ID"]: row for row in table(built, source)}
        charged = [row for row in costs if row["EVENT_TYPE"] == source.lower()]
        assert sorted(row["EVENT_ID"] for row in charged) == sorted(events)
        by_key: dict[str, set[str]] = {}
        for row in charged:
            by_key.setdefault(events[row["EVENT_ID"]][key], set()).add(row["COST"])
            assert (row["HADM_ID"], row["SUBJECT_ID"]) == (events[row["EVENT_ID"]]["HADM_ID"], events[row["EVENT_ID"]]["SUBJECT_ID"])
        assert all(len(prices) == 1 for prices in by_key.values())


def test_prices_are_positive_with_two_decimals() -> None:
    prices = [price(0, "LABEVENTS", item) for item in range(5000)]
    assert min(prices) > 0
    assert all(round(value, 2) == value for value in prices)
    assert 14 < sum(prices) / len(prices) < 16


# --- golds ----------------------------------------------------------------------------------------------------------------------------------------


def test_built_rows_stand_in_the_order_of_the_question_file(built: Path) -> None:
    rows = [json.loads(line) for line in (built / "test_tasks.jsonl").read_text().splitlines()]
    assert [(row["idx"], row["id"]) for row in rows] == [(0, "females"), (1, "gender"), (2, "impossible"), (3, "warfarin"), (4, "insulin")]
    assert rows[0]["gold"] == {"columns": ["count(*)"], "rows": [[3]], "boolean": False, "status": "usable", "reason": ""}
    assert rows[0]["answer"] == ["3"]
    assert (rows[1]["gold"]["columns"], rows[1]["gold"]["rows"]) == (["GENDER"], [["m"]])
    assert (rows[3]["gold"]["rows"], rows[3]["gold"]["boolean"]) == ([[1]], True)
    assert rows[4]["gold"]["status"] == "empty"
    assert (rows[2]["is_impossible"], rows[2]["sql"], rows[2]["answer"]) == (True, "", [])


def test_the_manifest_reports_the_share_of_usable_golds(built: Path) -> None:
    summary = manifest(built)["questions"]["test"]
    assert {key: summary[key] for key in ("rows", "answerable", "usable", "empty", "zero", "error", "usable_share")} == {
        "rows": 5,
        "answerable": 4,
        "usable": 3,
        "empty": 1,
        "zero": 0,
        "error": 0,
        "usable_share": 0.75,
    }
    assert manifest(built)["comparable_with_published"] is False


def test_gold_sql_that_cannot_be_run_is_counted_and_stops_nothing(tmp_path: Path) -> None:
    folder = build(tmp_path, write_raw(tmp_path / "raw"), questions=[{"template": "a", "query": "select x from nowhere"}])
    assert manifest(folder)["questions"]["test"]["error"] == 1


# --- what is wrong with the source ----------------------------------------------------------------------------------------------------------------


def _cut_short(raw: Path) -> None:
    path = raw / "LABEVENTS.csv"
    rows = "".join(f"{100000 + number},1,10,50971,2150-03-01 10:00:00,{number},{number},mEq/L\n" for number in range(20000))
    packed = gzip.compress((path.read_text() + rows).encode())
    (raw / "LABEVENTS.csv.gz").write_bytes(packed[: len(packed) * 2 // 3])


def _without_column(raw: Path) -> None:
    path = raw / "CHARTEVENTS.csv"
    path.write_text(path.read_text().replace("VALUENUM", "NUMBER", 1))


def _damage(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda raw: (raw / name).write_bytes(content) and None


def _append(name: str, line: str) -> Callable[[Path], None]:
    def append(raw: Path) -> None:
        with (raw / name).open("a") as stream:
            stream.write(line)

    return append


@pytest.mark.parametrize(
    ("damage", "file", "complaint"),
    [
        (lambda raw: (raw / "ICUSTAYS.csv").unlink(), "raw", r"table ICUSTAYS is missing .*data\.raw_path"),
        (_without_column, "CHARTEVENTS.csv", "column VALUENUM is missing"),
        (_cut_short, "LABEVENTS.csv.gz", "the gzip file is cut short"),
        (_damage("LABEVENTS.csv.gz", b"no gzip at all"), "LABEVENTS.csv.gz", "not a gzip file"),
        (_damage("LABEVENTS.csv.gz", gzip.compress(b"ROW_ID")[:12]), "LABEVENTS.csv.gz", "cut short"),
        (_damage("PATIENTS.csv", b"<html><body>404</body></html>\n"), "PATIENTS.csv", "not a CSV table with a header of PATIENTS"),
        (_damage("PATIENTS.csv", bytes(range(128, 256)) * 3), "PATIENTS.csv", "not a CSV file in UTF-8"),
        (_damage("PATIENTS.csv", b""), "PATIENTS.csv", "the file is empty"),
        (_append("LABEVENTS.csv", "5,1,10,50971\n"), "LABEVENTS.csv", r"line \d+: not a readable CSV file"),
        (_append("LABEVENTS.csv", "5,1,10,50971,2150-03-01 10:00:00,x,high,mEq/L,\n"), "LABEVENTS.csv", "column VALUENUM: high is not a number"),
        (_append("LABEVENTS.csv", "5,1,10,50971,2150-03-01 10:00:00,x,nan,mEq/L,\n"), "LABEVENTS.csv", "column VALUENUM: nan is not a number"),
        (_append("ADMISSIONS.csv", "5,1,ten,2150-03-01,,,,,,,,,,\n"), "ADMISSIONS.csv", "column HADM_ID: ten is not a whole number"),
        (_append("PATIENTS.csv", "5,11,F,yesterday,,0\n"), "PATIENTS.csv", "column DOB: yesterday is not a time"),
        (_damage("D_LABITEMS.csv", b"ROW_ID,ITEMID,LABEL,label\n"), "D_LABITEMS.csv", "column LABEL, label occurs more than once"),
    ],
)
def test_what_is_wrong_with_a_raw_file_is_named_and_nothing_is_left(
    tmp_path: Path, damage: Callable[[Path], None], file: str, complaint: str
) -> None:
    raw = write_raw(tmp_path / "raw")
    damage(raw)
    questions = write_questions(tmp_path / "questions.json")
    target = tmp_path / "work" / "mimic_iii"
    with pytest.raises(UserError, match=complaint) as raised:
        build_ehr(RECIPE, DatasetConfig(raw_path=raw), {"test": QuestionFile(questions, "data.questions.test")}, target)
    assert re.match(rf".*/{re.escape(file)}\b", str(raised.value))
    assert "\n" not in str(raised.value)
    assert list((tmp_path / "work").iterdir()) == []


def test_a_question_file_that_is_no_json_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "questions.json").write_text("[{")
    with pytest.raises(UserError, match=r"questions\.json: not a question file: no JSON"):
        build_ehr(
            RECIPE,
            DatasetConfig(raw_path=write_raw(tmp_path / "raw")),
            {"test": QuestionFile(tmp_path / "questions.json", "data.questions.test")},
            tmp_path / "work" / "mimic_iii",
        )
    assert list((tmp_path / "work").iterdir()) == []


def test_the_compressed_file_counts_where_a_table_is_there_twice(tmp_path: Path, built: Path) -> None:
    raw = write_raw(tmp_path / "raw", compressed=True)
    (raw / "LABEVENTS.csv").write_text("ROW_ID,an interrupted gunz")
    assert manifest(build(tmp_path, raw))["digest"] == manifest(built)["digest"]


def test_folders_with_quotes_spaces_and_wildcards_are_read(tmp_path: Path, built: Path) -> None:
    raw = write_raw(tmp_path / "it's a {raw} [folder] *, %d?")
    assert manifest(build(tmp_path, raw, name="it's {built}"))["digest"] == manifest(built)["digest"]


# --- golds ----------------------------------------------------------------------------------------------------------------------------------------


STORED = [
    ("select patients.gender, patients.subject_id from patients where patients.subject_id = 1", ["m", "1"], None),
    ("select count(*) from patients", ["4711"], "another row than the gold's"),
    ("select count(*)>0 from patients", ["1"], None),
    ("select patients.gender from patients where patients.subject_id = 0", ["None"], None),
    ("select patients.gender from patients where patients.subject_id = 1", ["None"], "an empty answer where the gold has 1 row"),
    ("select admissions.hadm_id from admissions where admissions.subject_id = 2 order by 1 * 0 limit 1", ["21"], None),
]


@pytest.mark.parametrize("gold", ["executed", "stored"])
def test_stored_answers_that_are_other_ones_than_the_sql_gives_are_listed(tmp_path: Path, gold: str, capsys: pytest.CaptureFixture[str]) -> None:
    questions = [
        {"id": str(position), "template": "?", "question": "?", "query": query, "is_impossible": False, "answer": answer}
        for position, (query, answer, _) in enumerate(STORED)
    ]
    folder = build(tmp_path, write_raw(tmp_path / "raw"), questions=questions, gold=gold)
    rows = [json.loads(line) for line in (folder / "test_tasks.jsonl").read_text().splitlines()]
    assert [row.get("stored_differs") for row in rows] == [difference for _, _, difference in STORED]
    assert manifest(folder)["questions"]["test"]["stored_differs"] == [1, 4]
    assert "2 stored answers are other ones than the SQL gives here" in capsys.readouterr().err
    if gold == "stored":
        assert (rows[0]["gold"]["columns"], rows[0]["gold"]["rows"]) == (["gender", "subject_id"], [["m", 1]])
        assert rows[1]["gold"]["rows"] == [[4711]]


def test_questions_whose_answer_a_tie_leaves_open_are_listed(tmp_path: Path) -> None:
    query = "select ( select admissions.hadm_id from admissions where admissions.subject_id = 2 order by 1 * 0 limit 1 ) > 20"
    question = {"id": "0", "template": "?", "question": "?", "query": query, "is_impossible": False}
    folder = build(tmp_path, write_raw(tmp_path / "raw"), questions=[question])
    assert manifest(folder)["questions"]["test"]["tied"] == [0]
