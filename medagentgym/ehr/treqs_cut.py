"""The cut of raw MIMIC-III that TREQS asks about: from raw tables to the rows of its five tables, values as they stand in MIMIC-III.

DuckDB streams every raw file, so memory does not follow the size of a raw file. Source of the rules: Wang, Shi, Reddy, Text-to-SQL Generation for
Question Answering on Electronic Medical Records, WWW 2020, https://github.com/wangpinggl/TREQS.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from medagentgym.ehr.person_names import person_name
from medagentgym.ehr.raw_tables import RawTable, find_raw_tables, table_files
from medagentgym.ehr.schema import Database
from medagentgym.ehr.table_cut import Row, TableCut
from medagentgym.errors import UserError, one_line

NAMES_TABLE = "ID2NAME"
"""A file of TREQS with its own made-up names: SUBJECT_ID and name, no header. Where it lies beside the raw tables, its names are taken."""

RAW_COLUMNS: dict[str, tuple[str, ...]] = {
    "PATIENTS": ("SUBJECT_ID", "GENDER", "DOB", "DOD", "EXPIRE_FLAG"),
    "ADMISSIONS": (
        "ROW_ID",
        "SUBJECT_ID",
        "HADM_ID",
        "ADMITTIME",
        "DISCHTIME",
        "ADMISSION_TYPE",
        "ADMISSION_LOCATION",
        "DISCHARGE_LOCATION",
        "INSURANCE",
        "LANGUAGE",
        "RELIGION",
        "MARITAL_STATUS",
        "ETHNICITY",
        "DIAGNOSIS",
    ),
    "D_ICD_DIAGNOSES": ("ROW_ID", "ICD9_CODE", "SHORT_TITLE", "LONG_TITLE"),
    "D_ICD_PROCEDURES": ("ROW_ID", "ICD9_CODE", "SHORT_TITLE", "LONG_TITLE"),
    "D_LABITEMS": ("ITEMID", "LABEL", "FLUID", "CATEGORY"),
    "DIAGNOSES_ICD": ("ROW_ID", "SUBJECT_ID", "HADM_ID", "ICD9_CODE"),
    "PROCEDURES_ICD": ("ROW_ID", "SUBJECT_ID", "HADM_ID", "ICD9_CODE"),
    "PRESCRIPTIONS": (
        "ROW_ID",
        "SUBJECT_ID",
        "HADM_ID",
        "ICUSTAY_ID",
        "DRUG_TYPE",
        "DRUG",
        "FORMULARY_DRUG_CD",
        "ROUTE",
        "DOSE_VAL_RX",
        "DOSE_UNIT_RX",
    ),
    "LABEVENTS": ("ROW_ID", "SUBJECT_ID", "HADM_ID", "ITEMID", "CHARTTIME", "VALUE", "VALUEUOM", "FLAG"),
}
"""The raw tables that are read, and their columns that are needed."""

_TEXTS = (
    "MARITAL_STATUS",
    "LANGUAGE",
    "RELIGION",
    "ADMISSION_TYPE",
    "INSURANCE",
    "ETHNICITY",
    "ADMISSION_LOCATION",
    "DISCHARGE_LOCATION",
    "DIAGNOSIS",
)


class TreqsCut(TableCut):
    """The raw tables of one folder as TREQS's tables, every admission of every patient.

    Raises `UserError` naming file and column for whatever is wrong with the raw files: at once for missing tables and columns, else while rows are
    read.
    """

    def __init__(self, folder: Path, scratch: Path, database: Database, *, key: str = "data.raw_path") -> None:
        super().__init__(database, find_raw_tables(folder, RAW_COLUMNS, key), scratch, {"PATIENTS": "SUBJECT_ID", "ADMISSIONS": "HADM_ID"})
        self._names = _given_names(table_files(folder, key).get(NAMES_TABLE))

    @property
    def names_given(self) -> bool:
        """Whether the names of patients come from a file."""
        return bool(self._names)

    def numbered(self, table: str) -> str | None:
        """No table of TREQS numbers its rows."""
        return None

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table, columns in the order of the schema, in the order of the raw rows."""
        columns = self._database.table(table).column_names
        if "NAME" not in columns:
            yield from super().rows(table)
            return
        subject, name, gender = (columns.index(column) for column in ("SUBJECT_ID", "NAME", "GENDER"))
        for row in super().rows(table):
            named = self._names.get(row[subject]) or person_name(int(row[subject]), row[gender])
            yield (*row[:name], named, *row[name + 1 :])

    def query(self, table: str) -> str:
        """SQL of a table's rows, and RAW_ROW, which orders them. Names are null: they are given afterwards."""
        return {
            "DEMOGRAPHIC": self._demographic,
            "DIAGNOSES": lambda: self._codes("DIAGNOSES_ICD", "D_ICD_DIAGNOSES"),
            "PROCEDURES": lambda: self._codes("PROCEDURES_ICD", "D_ICD_PROCEDURES"),
            "PRESCRIPTIONS": self._prescriptions,
            "LAB": self._lab,
        }[table]()

    # --- tables -------------------------------------------------------------------------------------------------------------------------------------

    def _demographic(self) -> str:
        """One row an admission. A stay's days are whole ones; ages over 89 are those of dates of birth that MIMIC-III moved 300 years back."""
        admissions, patients = self._raw["ADMISSIONS"], self._raw["PATIENTS"]
        return f"""
            WITH person AS (
                SELECT {_identifier(patients, "SUBJECT_ID")} AS SUBJECT_ID, GENDER, {patients.value("DOB", "time")} AS DOB,
                    {patients.value("DOD", "time")} AS DOD, {patients.value("EXPIRE_FLAG", "integer")} AS EXPIRE_FLAG
                FROM {patients.scan()}
            ),
            stay AS (
                SELECT {admissions.value("ROW_ID", "integer")} AS RAW_ROW, {_identifier(admissions, "SUBJECT_ID")} AS SUBJECT_ID,
                    {_identifier(admissions, "HADM_ID")} AS HADM_ID, {admissions.value("ADMITTIME", "time")} AS ADMITTIME,
                    {admissions.value("DISCHTIME", "time")} AS DISCHTIME, {", ".join(_TEXTS)}
                FROM {admissions.scan()}
            )
            SELECT *, NULL AS NAME, year(DOB) AS DOB_YEAR, CAST(year(DOD) AS DOUBLE) AS DOD_YEAR, year(ADMITTIME) AS ADMITYEAR,
                CAST(floor(date_diff('second', ADMITTIME, DISCHTIME) / 86400) AS BIGINT) AS DAYS_STAY,
                CASE WHEN year(ADMITTIME) - year(DOB) > 89 THEN 89 + (year(ADMITTIME) - year(DOB) - 300)
                    ELSE year(ADMITTIME) - year(DOB) END AS AGE
            FROM stay JOIN person USING (SUBJECT_ID)
        """

    def _codes(self, table: str, dictionary: str) -> str:
        """Coded diagnoses or procedures with their titles. A code that the dictionary repeats has a row for each of its titles."""
        codes, titles = self._raw[table], self._raw[dictionary]
        return f"""
            SELECT row(CODE_ROW, TITLE_ROW) AS RAW_ROW, * FROM (
                SELECT {codes.value("ROW_ID", "integer")} AS CODE_ROW, {_identifier(codes, "SUBJECT_ID")} AS SUBJECT_ID,
                    {_identifier(codes, "HADM_ID")} AS HADM_ID, trim(ICD9_CODE) AS ICD9_CODE FROM {codes.scan()}
            ) JOIN (
                SELECT {titles.value("ROW_ID", "integer")} AS TITLE_ROW, trim(ICD9_CODE) AS ICD9_CODE, SHORT_TITLE, LONG_TITLE FROM {titles.scan()}
            ) USING (ICD9_CODE)
        """

    def _prescriptions(self) -> str:
        raw = self._raw["PRESCRIPTIONS"]
        return f"""
            SELECT {raw.value("ROW_ID", "integer")} AS RAW_ROW, {_identifier(raw, "SUBJECT_ID")} AS SUBJECT_ID,
                {_identifier(raw, "HADM_ID")} AS HADM_ID, {_identifier(raw, "ICUSTAY_ID")} AS ICUSTAY_ID, DRUG_TYPE, DRUG, FORMULARY_DRUG_CD, ROUTE,
                DOSE_VAL_RX || DOSE_UNIT_RX AS DRUG_DOSE
            FROM {raw.scan()} WHERE DOSE_VAL_RX IS NOT NULL AND DOSE_UNIT_RX IS NOT NULL
        """

    def _lab(self) -> str:
        """Measurements within an admission that have a value and a unit."""
        events, items = self._raw["LABEVENTS"], self._raw["D_LABITEMS"]
        return f"""
            SELECT * FROM (
                SELECT {events.value("ROW_ID", "integer")} AS RAW_ROW, {_identifier(events, "SUBJECT_ID")} AS SUBJECT_ID,
                    {_identifier(events, "HADM_ID")} AS HADM_ID, {_identifier(events, "ITEMID")} AS ITEMID,
                    {events.value("CHARTTIME", "time")} AS CHARTTIME, FLAG, VALUE || VALUEUOM AS VALUE_UNIT
                FROM {events.scan()} WHERE HADM_ID IS NOT NULL AND VALUE IS NOT NULL AND VALUEUOM IS NOT NULL
            ) JOIN (SELECT {_identifier(items, "ITEMID")} AS ITEMID, LABEL, FLUID, CATEGORY FROM {items.scan()}) USING (ITEMID)
        """


def _identifier(raw: RawTable, column: str) -> str:
    """SQL for a number that only names something, as text."""
    return f"CAST({raw.value(column, 'integer')} AS VARCHAR)"


def _given_names(path: Path | None) -> dict[str, str]:
    """SUBJECT_ID -> name of a file of names; none where there is no file. Raises `UserError`."""
    if path is None:
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            names = {row[0].strip(): row[1].strip() for row in csv.reader(stream, strict=True) if len(row) > 1}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not a readable CSV file of patients and their names ({one_line(error)}); correct or remove it") from error
    if not names:
        raise UserError(f"{path}: holds no patients and their names; correct or remove it")
    return names
