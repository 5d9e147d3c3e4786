"""What a task's database is made of, and the tables of `mimic_iii`: EHRSQL's cut of MIMIC-III.

Sources: Johnson et al., MIMIC-III, Scientific Data 3:160035 (2016), https://physionet.org/content/mimiciii/; Lee et al., EHRSQL, NeurIPS 2022
Datasets and Benchmarks, https://github.com/glee4810/EHRSQL (names and order of tables and columns: its `tables.json`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["integer", "real", "text", "time"]
"""What a column holds. Times are text `YYYY-MM-DD HH:MM:SS`."""

NOW = "2105-12-31 23:59:00"
"""The present of the database: nothing in it is later."""
FIRST_DAY = "2100-01-01 00:00:00"
"""The first moment that the database covers; dates of birth and death may be earlier."""
SQLITE_AFFINITY: dict[Kind, str] = {"integer": "INTEGER", "real": "REAL", "text": "TEXT", "time": "TEXT"}


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Table:
    """One table: its columns in order, and the columns that get an index in SQLite."""

    name: str
    columns: tuple[Column, ...]
    indexes: tuple[tuple[str, ...], ...] = ()
    key: str | None = "ROW_ID"
    """The column that numbers the rows, if there is one."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def file_name(self) -> str:
        """The name of the table's CSV file."""
        return f"{self.name}.csv"


@dataclass(frozen=True)
class Database:
    """A task's database: its tables, and when its present is."""

    name: str
    tables: tuple[Table, ...]
    now: str | None
    """The present of the database; None where its questions know none."""

    @property
    def file_name(self) -> str:
        """The name of the SQLite file."""
        return f"{self.name}.sqlite"

    def table(self, name: str) -> Table:
        """The table of a name."""
        return next(table for table in self.tables if table.name == name)


def make_table(name: str, columns: str, *indexes: str, key: str | None = "ROW_ID") -> Table:
    """A table from `NAME:kind NAME:kind …`; a column without a kind is an integer. An index is named by its columns, joined by `+`."""
    kinds: dict[str, Kind] = {"": "integer", "real": "real", "text": "text", "time": "time"}
    parsed = []
    for word in columns.split():
        column, _, kind = word.partition(":")
        parsed.append(Column(column, kinds[kind]))
    return Table(name, tuple(parsed), tuple(tuple(index.split("+")) for index in indexes), key)


_TABLES = (
    make_table("PATIENTS", "ROW_ID SUBJECT_ID GENDER:text DOB:time DOD:time", "SUBJECT_ID"),
    make_table(
        "ADMISSIONS",
        "ROW_ID SUBJECT_ID HADM_ID ADMITTIME:time DISCHTIME:time ADMISSION_TYPE:text ADMISSION_LOCATION:text DISCHARGE_LOCATION:text "
        "INSURANCE:text LANGUAGE:text MARITAL_STATUS:text ETHNICITY:text AGE",
        "SUBJECT_ID",
        "HADM_ID",
    ),
    make_table("D_ICD_DIAGNOSES", "ROW_ID ICD9_CODE:text SHORT_TITLE:text LONG_TITLE:text", "ICD9_CODE", "SHORT_TITLE"),
    make_table("D_ICD_PROCEDURES", "ROW_ID ICD9_CODE:text SHORT_TITLE:text LONG_TITLE:text", "ICD9_CODE", "SHORT_TITLE"),
    make_table("D_LABITEMS", "ROW_ID ITEMID LABEL:text", "ITEMID", "LABEL"),
    make_table("D_ITEMS", "ROW_ID ITEMID LABEL:text LINKSTO:text", "ITEMID", "LABEL"),
    make_table("DIAGNOSES_ICD", "ROW_ID SUBJECT_ID HADM_ID ICD9_CODE:text CHARTTIME:time", "HADM_ID", "SUBJECT_ID", "ICD9_CODE"),
    make_table("PROCEDURES_ICD", "ROW_ID SUBJECT_ID HADM_ID ICD9_CODE:text CHARTTIME:time", "HADM_ID", "SUBJECT_ID", "ICD9_CODE"),
    make_table("LABEVENTS", "ROW_ID SUBJECT_ID HADM_ID ITEMID CHARTTIME:time VALUENUM:real VALUEUOM:text", "HADM_ID+ITEMID", "SUBJECT_ID", "ITEMID"),
    make_table(
        "PRESCRIPTIONS",
        "ROW_ID SUBJECT_ID HADM_ID STARTDATE:time ENDDATE:time DRUG:text DOSE_VAL_RX DOSE_UNIT_RX:text ROUTE:text",
        "HADM_ID",
        "SUBJECT_ID",
        "DRUG",
    ),
    make_table(
        "COST", "ROW_ID SUBJECT_ID HADM_ID EVENT_TYPE:text EVENT_ID CHARGETIME:time COST:real", "EVENT_TYPE+EVENT_ID", "HADM_ID", "SUBJECT_ID"
    ),
    make_table(
        "CHARTEVENTS",
        "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID ITEMID CHARTTIME:time VALUENUM:real VALUEUOM:text",
        "ICUSTAY_ID+ITEMID",
        "HADM_ID",
        "SUBJECT_ID",
        "ITEMID",
    ),
    make_table(
        "INPUTEVENTS_CV",
        "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID CHARTTIME:time ITEMID AMOUNT:real",
        "ICUSTAY_ID+ITEMID",
        "HADM_ID",
        "SUBJECT_ID",
        "ITEMID",
    ),
    make_table(
        "OUTPUTEVENTS",
        "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID CHARTTIME:time ITEMID VALUE:real",
        "ICUSTAY_ID+ITEMID",
        "HADM_ID",
        "SUBJECT_ID",
        "ITEMID",
    ),
    make_table("MICROBIOLOGYEVENTS", "ROW_ID SUBJECT_ID HADM_ID CHARTTIME:time SPEC_TYPE_DESC:text ORG_NAME:text", "HADM_ID", "SUBJECT_ID"),
    make_table(
        "ICUSTAYS",
        "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID FIRST_CAREUNIT:text LAST_CAREUNIT:text FIRST_WARDID LAST_WARDID INTIME:time OUTTIME:time",
        "ICUSTAY_ID",
        "HADM_ID",
        "SUBJECT_ID",
    ),
    make_table(
        "TRANSFERS",
        "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID EVENTTYPE:text CAREUNIT:text WARDID INTIME:time OUTTIME:time",
        "HADM_ID",
        "SUBJECT_ID",
    ),
)

MIMIC_III = Database("mimic_iii", _TABLES, NOW)
"""17 tables of hospital stays."""
