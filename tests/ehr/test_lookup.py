"""What `request_info` answers."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from medagentgym.ehr.database import DatabaseWriter
from medagentgym.ehr.lookup import Lookup
from medagentgym.ehr.lookup_index import VALUES_SHOWN, build_lookup
from medagentgym.ehr.schema import MIMIC_III
from medagentgym.errors import AgentError

DRUGS = ["aspirin", "aspirin ec", "vancomycin", "vancomycin hcl", "sodium chloride 0.9%  flush", 'dextrose 5% "bag"', "nacl", "k", "50% glucose_x"]


@pytest.fixture(scope="module")
def lookup(tmp_path_factory: pytest.TempPathFactory) -> Lookup:
    folder = tmp_path_factory.mktemp("lookup")
    writer = DatabaseWriter(folder / "database", MIMIC_III)
    content = {
        "PRESCRIPTIONS": [
            (number, 1, 10, "2100-01-01 00:00:00", None, DRUGS[number % len(DRUGS)] if number % 7 else None, 5, "mg", "po") for number in range(70)
        ],
        "D_LABITEMS": [(0, 50971, "potassium"), (1, 50852, "% hemoglobin a1c"), (2, 1, "potassium, whole blood")],
        "D_ICD_DIAGNOSES": [(number, f"{number:04d}", f"finding number {number}", f"a longer finding {number}") for number in range(300)],
        "ADMISSIONS": [(0, 1, 10, "2100-01-01 00:00:00", None, "emergency", "clinic", None, "medicare", None, None, "white", 50)],
    }
    for table in MIMIC_III.tables:
        writer.write(table, content.get(table.name, []))
    writer.finish()
    build_lookup(writer.path, folder / "lookup.sqlite", MIMIC_III.tables)
    return Lookup(folder / "lookup.sqlite")


def ask(lookup: Lookup, data_path: object, info_type: str, keyterm: object = None) -> str:
    return lookup.answer({"data_path": data_path, "info_type": info_type, "keyterm": keyterm})


@pytest.mark.parametrize(
    "path", ["ADMISSIONS.csv", "/data/ADMISSIONS.csv", "admissions.CSV", "ADMISSIONS", "some/where/Admissions.csv", ["/data/ADMISSIONS.csv"]]
)
def test_a_file_is_known_by_the_end_of_its_path_in_any_case(lookup: Lookup, path: object) -> None:
    answer = ask(lookup, path, "column_names")
    assert answer.startswith("ADMISSIONS.csv (1 row): ROW_ID (integer), SUBJECT_ID (integer), HADM_ID (integer), ADMITTIME (time)")


@pytest.mark.parametrize("path", ["/data", "/data/", "data", "", None, ".", "/data/mimic_iii.sqlite"])
def test_the_folder_stands_for_all_tables(lookup: Lookup, path: object) -> None:
    assert len(ask(lookup, path, "column_names").splitlines()) == 17


def test_several_files_are_several_lines(lookup: Lookup) -> None:
    assert [line.split()[0] for line in ask(lookup, "PATIENTS.csv, COST.csv", "column_names").splitlines()] == ["PATIENTS.csv", "COST.csv"]


def test_values_of_a_column_come_with_their_counts_most_frequent_first(lookup: Lookup) -> None:
    lines = ask(lookup, "/data/PRESCRIPTIONS.csv", "column_values", "drug").splitlines()
    assert lines[0].startswith("PRESCRIPTIONS.csv, column DRUG (text): 9 distinct values in 70 rows, 10 of them empty")
    counts = [int(line.rpartition(": ")[2]) for line in lines[1:]]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 60


def test_values_of_a_long_column_are_cut_with_how_many_more(lookup: Lookup) -> None:
    lines = ask(lookup, "D_ICD_DIAGNOSES", "column_values", "D_ICD_DIAGNOSES.ICD9_CODE").splitlines()
    assert len(lines) == 1 + VALUES_SHOWN + 1
    assert lines[-1] == "... and 250 more distinct values"


def test_numbers_and_times_come_with_their_range(lookup: Lookup) -> None:
    assert "from 1 to 50971" in ask(lookup, "D_LABITEMS", "column_values", "ITEMID")
    assert "0 distinct values in 70 rows, 70 of them empty" in ask(lookup, "PRESCRIPTIONS", "column_values", "ENDDATE")


def test_a_term_that_is_there_is_found_equal_before_containing(lookup: Lookup) -> None:
    lines = ask(lookup, "/data", "term", "Potassium").splitlines()
    assert lines[:4] == [
        'Equal to "Potassium":',
        "D_LABITEMS.csv, column LABEL: potassium (1 row)",
        'Containing "Potassium":',
        "D_LABITEMS.csv, column LABEL: potassium, whole blood (1 row)",
    ]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("asprin", "aspirin"),
        ("vancomicin", "vancomycin"),
        ("hemoglobin A1C", "% hemoglobin a1c"),
        ("sodium chlorid flush", "sodium chloride 0.9%  flush"),
        ("potasium", "potassium"),
        ("vancomycinhcl", "vancomycin hcl"),
        ('dextrose "bag"', 'dextrose 5% "bag"'),
    ],
)
def test_typing_errors_are_tolerated(lookup: Lookup, typed: str, meant: str) -> None:
    assert f": {meant} (" in ask(lookup, "/data", "term", typed)


@pytest.mark.parametrize("term", ["k", "na", "50% glucose_x", "0012", "emergency"])
def test_short_terms_codes_and_wildcards_are_taken_literally(lookup: Lookup, term: str) -> None:
    answer = ask(lookup, "/data", "term", term)
    first = answer.splitlines()[1]
    assert first.split(": ", 1)[1].startswith(term)
    assert ask(lookup, "/data", "term", "%").startswith(('Nothing like "%"', 'Containing "%"'))


def test_a_wildcard_does_not_match_everything(lookup: Lookup) -> None:
    assert "finding" not in ask(lookup, "/data", "term", "_")


def test_a_term_is_looked_for_in_the_given_files_alone(lookup: Lookup) -> None:
    assert ask(lookup, "ADMISSIONS.csv", "term", "aspirin").startswith('Nothing like "aspirin" was found among the values of ADMISSIONS.csv')
    assert "aspirin" in ask(lookup, ["ADMISSIONS.csv", "/data/PRESCRIPTIONS.csv"], "term", "asprin")


def test_where_nothing_is_alike_it_says_so_and_offers_the_nearest(lookup: Lookup) -> None:
    assert ask(lookup, "/data", "term", "xyzzyx") == ('Nothing like "xyzzyx" was found among the values of 17 files.')
    answer = ask(lookup, "/data", "term", "potential harm")
    assert answer.startswith('Nothing like "potential harm"')
    assert "Nearest:\n" in answer
    assert "potassium" in answer


def test_a_number_is_found_in_the_columns_that_hold_it(lookup: Lookup) -> None:
    assert ask(lookup, "/data", "term", "50,971").splitlines() == ['Equal to "50,971":', "D_LABITEMS.csv, column ITEMID: 50971 (1 row)"]
    assert ask(lookup, "/data", "term", 5.0).splitlines()[:2] == ['Equal to "5.0":', "PRESCRIPTIONS.csv, column DOSE_VAL_RX: 5 (70 rows)"]


def test_a_number_that_no_column_holds_is_given_its_neighbours(lookup: Lookup) -> None:
    answer = ask(lookup, "/data", "term", "50900").splitlines()
    assert answer == [
        'Nothing like "50900" was found among the values of 17 files. Nearest:',
        "D_LABITEMS.csv, column ITEMID: between 50852 and 50971",
    ]


def test_columns_that_only_number_the_rows_are_not_searched(lookup: Lookup) -> None:
    assert "ROW_ID" not in ask(lookup, "/data", "term", "2")
    assert "70 distinct values in 70 rows; from 0 to 69" in ask(lookup, "PRESCRIPTIONS", "column_values", "row_id")


@pytest.mark.parametrize("term", ["2100-01-01", "2100-01-01 00:00:00", "2100-01", "2100-01-01T00:00"])
def test_a_date_is_found_where_times_begin_with_it(lookup: Lookup, term: str) -> None:
    assert ask(lookup, "/data", "term", term).splitlines() == [
        f'Beginning with "{term}":',
        "ADMISSIONS.csv, column ADMITTIME: 2100-01-01 00:00:00 (1 row)",
        "PRESCRIPTIONS.csv, column STARTDATE: 2100-01-01 00:00:00 (70 rows)",
    ]


def test_a_code_that_looks_like_a_number_is_found_as_text_too(lookup: Lookup) -> None:
    assert "D_ICD_DIAGNOSES.csv, column ICD9_CODE: 0012 (1 row)" in ask(lookup, "/data", "term", "0012")


@pytest.mark.parametrize("column", ["admission type", "Admission_Type", " ADMISSIONTYPE ", "ADMISSIONS.admission_type"])
def test_names_are_known_without_regard_to_case_and_spacing(lookup: Lookup, column: str) -> None:
    assert "column ADMISSION_TYPE (text): 1 distinct value" in ask(lookup, "admissions .csv", "column_values", column)


def test_a_term_may_be_a_number_or_odd_text(lookup: Lookup) -> None:
    for term in (5, 0.9, '"', "'; drop table texts; --", "a" * 5000, "NEAR(", "µ°", "\x00abc", "\ud83d abc", "\x00"):
        assert ask(lookup, "/data", "term", term)


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"data_path": "ADMISIONS.csv", "info_type": "column_names"}, r"no file ADMISIONS.csv. Nearest: ADMISSIONS.csv"),
        ({"data_path": "/etc/passwd", "info_type": "column_names"}, r"no file /etc/passwd"),
        ({"data_path": "/data", "info_type": "columns"}, "one of column_names, column_values, term. Did you mean column_names"),
        ({"data_path": "/data"}, "info_type is None"),
        ({"data_path": "ADMISSIONS.csv", "info_type": "column_values", "keyterm": "INSURENCE"}, "no column INSURENCE. Nearest: INSURANCE"),
        ({"data_path": "ADMISSIONS.csv", "info_type": "column_values", "keyterm": "DRUG"}, "A column DRUG is in PRESCRIPTIONS.csv"),
        ({"data_path": "/data", "info_type": "column_values", "keyterm": "ITEMID"}, "several tables have a column ITEMID"),
        ({"data_path": "ADMISSIONS.csv", "info_type": "column_values"}, "needs keyterm, the name of a column"),
        ({"data_path": "ADMISSIONS.csv", "info_type": "term", "keyterm": "  "}, "needs keyterm, the term"),
    ],
)
def test_a_request_that_makes_no_sense_says_what_would(lookup: Lookup, params: dict[str, object], complaint: str) -> None:
    with pytest.raises(AgentError, match=complaint):
        lookup.answer(params)


def test_many_threads_may_ask_at_once(lookup: Lookup) -> None:
    terms = ["asprin", "potasium", "vancomicin", "k"] * 25
    alone = {term: ask(lookup, "/data", "term", term) for term in set(terms)}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda term: ask(lookup, "/data", "term", term), terms))
    assert answers == [alone[term] for term in terms]


def test_the_index_is_opened_read_only(lookup: Lookup) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        lookup._index.execute("DELETE FROM texts")
