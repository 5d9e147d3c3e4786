"""The database `treqs`, and the recipe for it: five tables of hospital admissions, made of MIMIC-III as TREQS makes them.

Sources: Wang, Shi, Reddy, Text-to-SQL Generation for Question Answering on Electronic Medical Records, WWW 2020,
https://github.com/wangpinggl/TREQS (names and order of tables and columns); Johnson et al., MIMIC-III, Scientific Data 3:160035 (2016).
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

from medagentgym.built_data import MODES, QuestionFile
from medagentgym.config import SyntheticConfig
from medagentgym.ehr.database import DatabaseWriter
from medagentgym.ehr.questions import QuestionFormat
from medagentgym.ehr.raw_tables import quote_text
from medagentgym.ehr.recipe import MadeUp, RawSource, Recipe
from medagentgym.ehr.schema import Database, make_table
from medagentgym.ehr.treqs_cut import NAMES_TABLE, RAW_COLUMNS, TreqsCut

TREQS = Database(
    "treqs",
    (
        make_table(
            "DEMOGRAPHIC",
            "SUBJECT_ID:text HADM_ID:text NAME:text MARITAL_STATUS:text AGE DOB:time GENDER:text LANGUAGE:text RELIGION:text ADMISSION_TYPE:text "
            "DAYS_STAY INSURANCE:text ETHNICITY:text EXPIRE_FLAG ADMISSION_LOCATION:text DISCHARGE_LOCATION:text DIAGNOSIS:text DOD:time DOB_YEAR "
            "DOD_YEAR:real ADMITTIME:time DISCHTIME:time ADMITYEAR",
            "HADM_ID",
            "SUBJECT_ID",
            key=None,
        ),
        make_table(
            "DIAGNOSES",
            "SUBJECT_ID:text HADM_ID:text ICD9_CODE:text SHORT_TITLE:text LONG_TITLE:text",
            "HADM_ID",
            "SUBJECT_ID",
            "ICD9_CODE",
            key=None,
        ),
        make_table(
            "PROCEDURES",
            "SUBJECT_ID:text HADM_ID:text ICD9_CODE:text SHORT_TITLE:text LONG_TITLE:text",
            "HADM_ID",
            "SUBJECT_ID",
            "ICD9_CODE",
            key=None,
        ),
        make_table(
            "PRESCRIPTIONS",
            "SUBJECT_ID:text HADM_ID:text ICUSTAY_ID:text DRUG_TYPE:text DRUG:text FORMULARY_DRUG_CD:text ROUTE:text DRUG_DOSE:text",
            "HADM_ID",
            "SUBJECT_ID",
            "DRUG",
            key=None,
        ),
        make_table(
            "LAB",
            "SUBJECT_ID:text HADM_ID:text ITEMID:text CHARTTIME:time FLAG:text VALUE_UNIT:text LABEL:text FLUID:text CATEGORY:text",
            "HADM_ID+LABEL",
            "SUBJECT_ID",
            "LABEL",
            "ITEMID",
            key=None,
        ),
    ),
    now=None,
)
"""Five tables of hospital admissions. Identifiers are text; numbers are ages, days, years and flags. Its questions know no present."""

QUESTION_FORMAT = QuestionFormat(
    question=("question_refine", "question"), template=(), query=("sql", "query"), identifier=("key", "id"), has_impossible=False
)
"""TREQS's own files (`question_refine`, `sql`, `key`), and the published ones made of them (`question`, `query`, `id`)."""

_NAMES = {TREQS.name.upper()} | {name.upper() for table in TREQS.tables for name in (table.name, *table.column_names)}
_TOKEN = re.compile(r"""(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")*")|(?P<space>\s+)|(?P<other>.)""", re.DOTALL)


def executable_sql(query: str) -> str:
    """TREQS's SQL as every SQLite runs it: string constants, which TREQS writes in double quotes, in single ones.

    SQLite takes a name in double quotes for a string where no column is called so, but not in every build. What is the name of a table or column
    stays as it is.
    """
    output = []
    last = ""
    for match in _TOKEN.finditer(query):
        text = match[0]
        if match["quoted"]:
            content = text[1:-1].replace('""', '"')
            is_name = last == "." or content.upper() in _NAMES
            text = text if is_name else quote_text(content)
        output.append(text)
        if not match["space"]:
            last = text
    return "".join(output).strip().rstrip(";").rstrip()


def write_from_raw(source: RawSource, writer: DatabaseWriter) -> dict[str, Any]:
    """Cut raw MIMIC-III into the five tables: all patients, whoever the questions name. Gives the cohort in numbers."""
    with closing(TreqsCut(source.folder, source.scratch, TREQS)) as cut:
        for table in TREQS.tables:
            source.progress(f"{table.name}: {writer.write(table, cut.rows(table.name)):,} rows")
        patients, admissions = writer.connection.execute("SELECT count(DISTINCT SUBJECT_ID), count(*) FROM DEMOGRAPHIC").fetchone()
        return {"patients": patients, "admissions": admissions, "names": "as given" if cut.names_given else "made up"}


def make_up(config: SyntheticConfig, folder: Path) -> MadeUp:
    """Made-up patients in the shape of raw MIMIC-III, and TREQS's kind of questions about them."""
    from medagentgym.synthetic.treqs import generate

    generate(config, folder)
    files = {mode: QuestionFile(folder / "questions" / f"{mode}.json", f"data.synthetic.{mode}") for mode in MODES if getattr(config, mode) > 0}
    return MadeUp(folder / "raw", files)


RECIPE = Recipe(
    task="treqs",
    database=TREQS,
    raw_tables=(*RAW_COLUMNS, NAMES_TABLE),
    write_from_raw=write_from_raw,
    make_up=make_up,
    executable_sql=executable_sql,
    question_format=QUESTION_FORMAT,
)
