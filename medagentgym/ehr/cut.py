"""EHRSQL's cut of raw MIMIC-III: from raw tables to the rows of the 17 tables of `medagentgym.ehr.schema`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from medagentgym.ehr.cohort import Admission, Cohort, CohortRules, draw_cohort
from medagentgym.ehr.raw_tables import find_raw_tables, naming_the_file, quote_text
from medagentgym.ehr.schema import FIRST_DAY, MIMIC_III, NOW
from medagentgym.ehr.table_cut import TableCut, column_words

RAW_COLUMNS: dict[str, tuple[str, ...]] = {
    "PATIENTS": ("ROW_ID", "SUBJECT_ID", "GENDER", "DOB", "DOD"),
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
        "MARITAL_STATUS",
        "ETHNICITY",
    ),
    "D_ICD_DIAGNOSES": ("ROW_ID", "ICD9_CODE", "SHORT_TITLE", "LONG_TITLE"),
    "D_ICD_PROCEDURES": ("ROW_ID", "ICD9_CODE", "SHORT_TITLE", "LONG_TITLE"),
    "D_LABITEMS": ("ROW_ID", "ITEMID", "LABEL"),
    "D_ITEMS": ("ROW_ID", "ITEMID", "LABEL", "LINKSTO"),
    "DIAGNOSES_ICD": ("ROW_ID", "HADM_ID", "ICD9_CODE"),
    "PROCEDURES_ICD": ("ROW_ID", "HADM_ID", "ICD9_CODE"),
    "LABEVENTS": ("ROW_ID", "HADM_ID", "ITEMID", "CHARTTIME", "VALUENUM", "VALUEUOM"),
    "PRESCRIPTIONS": ("ROW_ID", "HADM_ID", "STARTDATE", "ENDDATE", "DRUG", "DOSE_VAL_RX", "DOSE_UNIT_RX", "ROUTE"),
    "CHARTEVENTS": ("ROW_ID", "HADM_ID", "ICUSTAY_ID", "ITEMID", "CHARTTIME", "VALUENUM", "VALUEUOM"),
    "INPUTEVENTS_CV": ("ROW_ID", "HADM_ID", "ICUSTAY_ID", "CHARTTIME", "ITEMID", "AMOUNT", "AMOUNTUOM"),
    "OUTPUTEVENTS": ("ROW_ID", "HADM_ID", "ICUSTAY_ID", "CHARTTIME", "ITEMID", "VALUE", "VALUEUOM"),
    "MICROBIOLOGYEVENTS": ("ROW_ID", "HADM_ID", "CHARTDATE", "CHARTTIME", "SPEC_TYPE_DESC", "ORG_NAME"),
    "ICUSTAYS": ("ROW_ID", "HADM_ID", "ICUSTAY_ID", "FIRST_CAREUNIT", "LAST_CAREUNIT", "FIRST_WARDID", "LAST_WARDID", "INTIME", "OUTTIME"),
    "TRANSFERS": ("ROW_ID", "HADM_ID", "ICUSTAY_ID", "EVENTTYPE", "CURR_CAREUNIT", "CURR_WARDID", "INTIME", "OUTTIME"),
}
"""The raw tables that are read, and their columns that are needed."""

VITAL_SIGNS = {
    677: "temperature",
    834: "SaO2",
    211: "heart rate",
    618: "respiratory rate",
    51: "systolic blood pressure",
    8368: "diastolic blood pressure",
    52: "mean blood pressure",
    762: "weight",
    920: "height",
}
"""The items of CHARTEVENTS that the databases hold."""

CHARGED = {
    table: f"SELECT ROW_ID, SUBJECT_ID, HADM_ID, {time}, {priced} FROM {table} ORDER BY ROW_ID"
    for table, time, priced in (
        ("DIAGNOSES_ICD", "CHARTTIME", "ICD9_CODE"),
        ("LABEVENTS", "CHARTTIME", "ITEMID"),
        ("PROCEDURES_ICD", "CHARTTIME", "ICD9_CODE"),
        ("PRESCRIPTIONS", "STARTDATE", "DRUG"),
    )
}
"""Tables whose rows cost something (`medagentgym.ehr.costs`)."""


@dataclass(frozen=True)
class EventRule:
    """How the rows of an event table are cut: only those of the cohort's admissions, with their main time between the first day and "now"."""

    columns: str
    """Words `NAME:kind`, or `NAME=RAW_NAME:kind`."""
    present: tuple[str, ...] = ()
    """Columns without which a row is dropped."""
    only: str = "true"
    """Condition on the raw columns, which are text."""
    main_time: str = "CHARTTIME"


EVENTS = {
    "LABEVENTS": EventRule("ITEMID:integer CHARTTIME:time VALUENUM:real VALUEUOM:text", present=("VALUENUM", "VALUEUOM")),
    "CHARTEVENTS": EventRule(
        "ICUSTAY_ID:integer ITEMID:integer CHARTTIME:time VALUENUM:real VALUEUOM:text",
        present=("ICUSTAY_ID", "VALUENUM", "VALUEUOM"),
        only=f"trim(ITEMID) IN ({', '.join(quote_text(str(item)) for item in VITAL_SIGNS)})",
    ),
    "INPUTEVENTS_CV": EventRule(
        "ICUSTAY_ID:integer CHARTTIME:time ITEMID:integer AMOUNT:real", present=("AMOUNT",), only="lower(trim(AMOUNTUOM)) = 'ml'"
    ),
    "OUTPUTEVENTS": EventRule("ICUSTAY_ID:integer CHARTTIME:time ITEMID:integer VALUE:real", present=("VALUE",), only="lower(trim(VALUEUOM)) = 'ml'"),
    "MICROBIOLOGYEVENTS": EventRule("CHARTTIME=CHARTTIME|CHARTDATE:time SPEC_TYPE_DESC:text ORG_NAME:text"),
    "ICUSTAYS": EventRule(
        "ICUSTAY_ID:integer FIRST_CAREUNIT:text LAST_CAREUNIT:text FIRST_WARDID:integer LAST_WARDID:integer INTIME:time OUTTIME:time",
        main_time="INTIME",
    ),
    "TRANSFERS": EventRule(
        "ICUSTAY_ID:integer EVENTTYPE:text CAREUNIT=CURR_CAREUNIT:text WARDID=CURR_WARDID:integer INTIME:time OUTTIME:time", main_time="INTIME"
    ),
}
"""The event tables that are cut alike."""


class MimicIIICut(TableCut):
    """The raw tables of one folder, cut down to a cohort.

    Raises `UserError` naming file and column for whatever is wrong with the raw files: at once for missing tables and columns, else while rows are
    read.
    """

    def __init__(self, folder: Path, named_patients: Iterable[int], rules: CohortRules, scratch: Path, *, key: str = "data.raw_path") -> None:
        super().__init__(MIMIC_III, find_raw_tables(folder, RAW_COLUMNS, key), scratch, {"PATIENTS": "SUBJECT_ID", "ADMISSIONS": "HADM_ID"})
        self._rules = rules
        self._connection.execute(
            f"CREATE MACRO moved(moment, days) AS CASE WHEN moment + to_days(CAST(days AS INTEGER)) <= TIMESTAMP '{NOW}' "
            "THEN moment + to_days(CAST(days AS INTEGER)) END"
        )
        self.cohort = self._draw(named_patients)

    def numbered(self, table: str) -> str:
        """Every table's rows are numbered in the order of the raw ROW_ID."""
        return "ROW_ID"

    # --- cohort ---------------------------------------------------------------------------------------------------------------------------------

    def _draw(self, named_patients: Iterable[int]) -> Cohort:
        admissions, patients = self._raw["ADMISSIONS"], self._raw["PATIENTS"]
        conditions = ["admitted IS NOT NULL"]
        if self._rules.over_age is not None:
            conditions.append(f"age > {self._rules.over_age}")
        if self._rules.under_age is not None:
            conditions.append(f"age < {self._rules.under_age}")
        below_quantile = "true"
        if self._rules.stay_quantile is not None:
            below_quantile = f"stay < (SELECT quantile_cont(stay, {self._rules.stay_quantile}) FROM aged)"
        query = f"""
            WITH born AS (
                SELECT {patients.value("SUBJECT_ID", "integer")} AS subject_id, {patients.value("DOB", "time")} AS dob FROM {patients.scan()}
            ),
            stays AS (
                SELECT {admissions.value("SUBJECT_ID", "integer")} AS subject_id, {admissions.value("HADM_ID", "integer")} AS hadm_id,
                    {admissions.value("ADMITTIME", "time")} AS admitted, {admissions.value("DISCHTIME", "time")} AS discharged
                FROM {admissions.scan()}
            ),
            aged AS (
                SELECT *, CAST(floor(date_diff('second', dob, admitted) / 86400 / 365.25) AS INTEGER) AS age,
                    floor(date_diff('second', admitted, discharged) / 86400) AS stay
                FROM stays JOIN born USING (subject_id) WHERE {" AND ".join(conditions)}
            )
            SELECT subject_id, hadm_id, admitted, discharged, age FROM aged WHERE {below_quantile} ORDER BY subject_id, admitted, hadm_id
        """
        with naming_the_file([admissions, patients]):
            rows = self._connection.execute(query).fetchall()
        cohort = draw_cohort([Admission(*row) for row in rows], named_patients, self._rules)
        self._connection.execute("CREATE TABLE cohort_patient (SUBJECT_ID BIGINT, SHIFT INTEGER)")
        self._connection.execute(
            "CREATE TABLE cohort_admission (SUBJECT_ID BIGINT, HADM_ID BIGINT, SHIFT INTEGER, ADMITTIME TIMESTAMP, DISCHTIME TIMESTAMP, AGE BIGINT)"
        )
        kept = []
        for stay in cohort.admissions:
            days = cohort.shift_days[stay.subject_id]
            if (stay.admitted + timedelta(days=days)).isoformat(" ") >= FIRST_DAY:
                kept.append((stay.subject_id, stay.hadm_id, days, stay.admitted, stay.discharged, stay.age))
        if kept:
            self._connection.executemany("INSERT INTO cohort_admission VALUES (?, ?, ?, ?, ?, ?)", kept)
            self._connection.execute("INSERT INTO cohort_patient SELECT DISTINCT SUBJECT_ID, SHIFT FROM cohort_admission")
        return cohort

    # --- tables ---------------------------------------------------------------------------------------------------------------------------------

    def query(self, table: str) -> str:
        """SQL of the rows of a table but COST: its columns but ROW_ID, and RAW_ROW, which orders them."""
        if table in EVENTS:
            return self._events(table, EVENTS[table])
        return {
            "PATIENTS": self._patients,
            "ADMISSIONS": self._admissions,
            "D_ICD_DIAGNOSES": lambda: self._typed("D_ICD_DIAGNOSES", "ICD9_CODE:text SHORT_TITLE:text LONG_TITLE:text"),
            "D_ICD_PROCEDURES": self._procedure_titles,
            "D_LABITEMS": lambda: self._typed("D_LABITEMS", "ITEMID:integer LABEL:text"),
            "D_ITEMS": self._items,
            "DIAGNOSES_ICD": lambda: self._codes("DIAGNOSES_ICD", "D_ICD_DIAGNOSES", "ADMITTIME"),
            "PROCEDURES_ICD": lambda: self._codes("PROCEDURES_ICD", "D_ICD_PROCEDURES", "DISCHTIME"),
            "PRESCRIPTIONS": self._prescriptions,
        }[table]()

    def _typed(self, table: str, columns: str, *, only: str = "true") -> str:
        return self.typed(table, columns, row="ROW_ID", only=only)

    def _patients(self) -> str:
        return f"""
            SELECT RAW_ROW, SUBJECT_ID, GENDER, moved(DOB, SHIFT) AS DOB, moved(DOD, SHIFT) AS DOD
            FROM ({self._typed("PATIENTS", "SUBJECT_ID:integer GENDER:text DOB:time DOD:time")}) JOIN cohort_patient USING (SUBJECT_ID)
        """

    def _admissions(self) -> str:
        texts = ("ADMISSION_TYPE", "ADMISSION_LOCATION", "DISCHARGE_LOCATION", "INSURANCE", "LANGUAGE", "MARITAL_STATUS", "ETHNICITY")
        raw = self._typed("ADMISSIONS", " ".join(["HADM_ID:integer", *(f"{name}:text" for name in texts)]))
        return f"""
            SELECT * REPLACE (CASE WHEN DISCHTIME IS NOT NULL THEN DISCHARGE_LOCATION END AS DISCHARGE_LOCATION) FROM (
                SELECT RAW_ROW, SUBJECT_ID, HADM_ID, moved(ADMITTIME, SHIFT) AS ADMITTIME, moved(DISCHTIME, SHIFT) AS DISCHTIME,
                    {", ".join(texts)}, AGE
                FROM ({raw}) JOIN cohort_admission USING (HADM_ID)
            )
        """

    def _procedure_titles(self) -> str:
        """The first row of each procedure code: the raw table repeats some."""
        return f"""
            WITH titles AS MATERIALIZED ({self._typed("D_ICD_PROCEDURES", "ICD9_CODE:text SHORT_TITLE:text LONG_TITLE:text")})
            SELECT * FROM titles QUALIFY row_number() OVER (PARTITION BY ICD9_CODE ORDER BY RAW_ROW) = 1
        """

    def _items(self) -> str:
        return f"""
            SELECT * FROM ({self._typed("D_ITEMS", "ITEMID:integer LABEL:text LINKSTO:text")})
            WHERE LABEL IS NOT NULL AND LINKSTO IN ('inputevents_cv', 'outputevents', 'chartevents')
        """

    def _codes(self, table: str, dictionary: str, time: str) -> str:
        """Coded diagnoses or procedures: dated by the admission, limited to codes that have a title."""
        return f"""
            SELECT * FROM (
                SELECT RAW_ROW, SUBJECT_ID, HADM_ID, ICD9_CODE, moved({time}, SHIFT) AS CHARTTIME
                FROM ({self._typed(table, "HADM_ID:integer ICD9_CODE:text")}) JOIN cohort_admission USING (HADM_ID)
            )
            WHERE CHARTTIME >= TIMESTAMP '{FIRST_DAY}'
                AND ICD9_CODE IN (SELECT ICD9_CODE FROM ({self._typed(dictionary, "ICD9_CODE:text")}) WHERE ICD9_CODE IS NOT NULL)
        """

    def _events(self, table: str, rule: EventRule) -> str:
        """Rows of the cohort's admissions that have what must be present and happened, once moved, between the first day and "now"."""
        moved = ", ".join(f"moved({name}, SHIFT) AS {name}" if kind == "time" else name for name, _, kind in column_words(rule.columns))
        needed = " AND ".join(f"{name} IS NOT NULL" for name in rule.present) or "true"
        return f"""
            SELECT * FROM (
                SELECT RAW_ROW, cohort_admission.SUBJECT_ID, HADM_ID, {moved}
                FROM ({self._typed(table, f"HADM_ID:integer {rule.columns}", only=rule.only)}) JOIN cohort_admission USING (HADM_ID)
                WHERE {needed}
            )
            WHERE {rule.main_time} >= TIMESTAMP '{FIRST_DAY}'
        """

    def _prescriptions(self) -> str:
        """Prescriptions of a whole-numbered dose, each drug in the unit that is its most frequent one in the raw table (a tie: the first by name)."""
        columns = "HADM_ID:integer STARTDATE:time ENDDATE:time DRUG:text DOSE=DOSE_VAL_RX:text DOSE_UNIT_RX:text ROUTE:text"
        complete = " AND ".join(f"{name} IS NOT NULL" for name in ("STARTDATE", "ENDDATE", "DRUG", "DOSE_UNIT_RX", "ROUTE"))
        return f"""
            WITH complete AS MATERIALIZED (
                SELECT *, CAST(replace(DOSE, ',', '') AS BIGINT) AS DOSE_VAL_RX FROM ({self._typed("PRESCRIPTIONS", columns)})
                WHERE regexp_full_match(replace(DOSE, ',', ''), '[0-9]{{1,15}}') AND {complete}
            ),
            unit AS (
                SELECT DRUG, DOSE_UNIT_RX FROM (SELECT DRUG, DOSE_UNIT_RX, count(*) AS uses FROM complete GROUP BY DRUG, DOSE_UNIT_RX)
                QUALIFY row_number() OVER (PARTITION BY DRUG ORDER BY uses DESC, DOSE_UNIT_RX) = 1
            )
            SELECT * FROM (
                SELECT RAW_ROW, SUBJECT_ID, HADM_ID, moved(STARTDATE, SHIFT) AS STARTDATE, moved(ENDDATE, SHIFT) AS ENDDATE,
                    DRUG, DOSE_VAL_RX, DOSE_UNIT_RX, ROUTE
                FROM complete JOIN unit USING (DRUG, DOSE_UNIT_RX) JOIN cohort_admission USING (HADM_ID)
            )
            WHERE STARTDATE >= TIMESTAMP '{FIRST_DAY}'
        """
