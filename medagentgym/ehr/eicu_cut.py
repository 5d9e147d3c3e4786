"""EHRSQL's cut of the raw eICU Collaborative Research Database: from raw tables to the rows of the 10 tables of `medagentgym.ehr.eicu_schema`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from medagentgym.ehr.cohort import CohortRules, draw_patients
from medagentgym.ehr.eicu_calendar import TimedStay, UnitStay, timed_stays
from medagentgym.ehr.eicu_schema import EICU
from medagentgym.ehr.raw_tables import find_raw_tables, quote_text, stream_rows
from medagentgym.ehr.schema import NOW
from medagentgym.ehr.table_cut import TableCut, column_words
from medagentgym.errors import UserError

PATIENT = "PATIENT"

RAW_COLUMNS: dict[str, tuple[str, ...]] = {
    name: tuple(columns.split())
    for name, columns in {
        PATIENT: "PATIENTUNITSTAYID PATIENTHEALTHSYSTEMSTAYID UNIQUEPID GENDER AGE ETHNICITY HOSPITALID WARDID ADMISSIONHEIGHT HOSPITALADMITTIME24 "
        "HOSPITALADMITOFFSET HOSPITALADMITSOURCE HOSPITALDISCHARGEYEAR HOSPITALDISCHARGEOFFSET HOSPITALDISCHARGESTATUS ADMISSIONWEIGHT "
        "DISCHARGEWEIGHT UNITDISCHARGEOFFSET",
        "DIAGNOSIS": "DIAGNOSISID PATIENTUNITSTAYID DIAGNOSISOFFSET DIAGNOSISSTRING ICD9CODE",
        "TREATMENT": "TREATMENTID PATIENTUNITSTAYID TREATMENTOFFSET TREATMENTSTRING",
        "LAB": "LABID PATIENTUNITSTAYID LABRESULTOFFSET LABNAME LABRESULT",
        "MEDICATION": "MEDICATIONID PATIENTUNITSTAYID DRUGSTARTOFFSET DRUGSTOPOFFSET DRUGORDERCANCELLED DRUGNAME DOSAGE ROUTEADMIN",
        "ALLERGY": "ALLERGYID PATIENTUNITSTAYID ALLERGYOFFSET DRUGNAME ALLERGYNAME",
        "INTAKEOUTPUT": "INTAKEOUTPUTID PATIENTUNITSTAYID INTAKEOUTPUTOFFSET CELLPATH CELLLABEL CELLVALUENUMERIC",
        "MICROLAB": "MICROLABID PATIENTUNITSTAYID CULTURETAKENOFFSET CULTURESITE ORGANISM",
        "VITALPERIODIC": "VITALPERIODICID PATIENTUNITSTAYID OBSERVATIONOFFSET TEMPERATURE SAO2 HEARTRATE RESPIRATION SYSTEMICSYSTOLIC "
        "SYSTEMICDIASTOLIC SYSTEMICMEAN",
    }.items()
}
"""The raw tables that are read, and their columns that are needed, in upper case. The first column of an event table numbers its rows."""

CHARGED = {
    table: f"SELECT {table}id, uniquepid, patienthealthsystemstayid, {time}, {priced} FROM {table} JOIN patient USING (patientunitstayid) "
    f"ORDER BY {table}id"
    for table, time, priced in (
        ("diagnosis", "diagnosistime", "diagnosisname"),
        ("lab", "labresulttime", "labname"),
        ("treatment", "treatmenttime", "treatmentname"),
        ("medication", "drugstarttime", "drugname"),
    )
}
"""Tables whose rows cost something (`medagentgym.ehr.costs`)."""

OLDEST = 90
"""The age of those whose age stands as "> 89" in the raw table."""


@dataclass(frozen=True)
class EventRule:
    """How the rows of an event table are cut: only those of the cohort's unit stays that have happened by "now"."""

    columns: str
    """Words `NAME:kind`."""
    times: str
    """Words `NAME=OFFSET`, the main time first: a row without it is dropped."""
    present: tuple[str, ...] = ()
    """Columns without which a row is dropped."""
    only: str = "true"
    """Condition on the raw columns, which are text."""


EVENTS = {
    "lab": EventRule("LABNAME:text LABRESULT:real", "labresulttime=LABRESULTOFFSET", present=("LABRESULT",)),
    "medication": EventRule(
        "DRUGNAME:text DOSAGE:text ROUTEADMIN:text",
        "drugstarttime=DRUGSTARTOFFSET drugstoptime=DRUGSTOPOFFSET",
        present=("DRUGNAME", "DOSAGE", "ROUTEADMIN"),
        only="lower(trim(DRUGORDERCANCELLED)) = 'no'",
    ),
    "allergy": EventRule("DRUGNAME:text ALLERGYNAME:text", "allergytime=ALLERGYOFFSET"),
    "microlab": EventRule("CULTURESITE:text ORGANISM:text", "culturetakentime=CULTURETAKENOFFSET"),
    "vitalperiodic": EventRule(
        "TEMPERATURE:real SAO2:real HEARTRATE:real RESPIRATION:real SYSTEMICSYSTOLIC:real SYSTEMICDIASTOLIC:real SYSTEMICMEAN:real",
        "observationtime=OBSERVATIONOFFSET",
    ),
}
"""The event tables that are cut alike."""


@dataclass(frozen=True)
class EicuCohort:
    """The patients of a database."""

    patients: frozenset[str]
    named: frozenset[str]
    """Patients of the cohort that a question names."""
    current: frozenset[str]
    """Patients of the cohort with a hospital visit that is open at "now"."""
    stays: tuple[TimedStay, ...]
    """The cohort's unit stays that have begun by "now"."""


class EicuCut(TableCut):
    """The raw tables of one folder, cut down to a cohort. Of the raw tables only `patient` must be there; the rest of what is absent is empty.

    Raises `UserError` naming file and column for whatever is wrong with the raw files: at once for missing columns, else while rows are read.
    """

    def __init__(self, folder: Path, named_patients: Iterable[str], rules: CohortRules, scratch: Path, *, key: str = "data.raw_path") -> None:
        super().__init__(
            EICU, find_raw_tables(folder, RAW_COLUMNS, key, optional=RAW_COLUMNS.keys() - {PATIENT}), scratch, {PATIENT: "PATIENTUNITSTAYID"}
        )
        self.missing = tuple(name.lower() for name in RAW_COLUMNS if name not in self._raw)
        """Raw tables that are not there, in lower case."""
        self._rules = rules
        self._connection.execute(
            f"CREATE MACRO happened(start, minutes) AS CASE WHEN start + to_minutes(minutes) <= TIMESTAMP '{NOW}' "
            "THEN start + to_minutes(minutes) END"
        )
        self.cohort = self._draw(frozenset(named_patients))
        self._tabulate_cohort()

    def numbered(self, table: str) -> str | None:
        """Rows of events are numbered in the order of their raw numbers; stays keep theirs."""
        return None if table == "patient" else f"{table}id"

    # --- cohort ---------------------------------------------------------------------------------------------------------------------------------

    def _draw(self, named_patients: frozenset[str]) -> EicuCohort:
        by_patient: dict[str, list[UnitStay]] = {}
        inconsistent = set()
        for patient, *numbers, time_of_day, consistent in stream_rows(self._connection, self._admissible(), self._raw.values()):
            if not consistent or time_of_day is None:
                inconsistent.add(patient)
                continue
            hospital_stay, unit_stay, age, year, admission, unit_discharge, hospital_discharge = numbers
            of_day = self._time_of_day(time_of_day)
            stay = UnitStay(patient, hospital_stay, unit_stay, age, year, of_day, admission, unit_discharge, hospital_discharge)
            by_patient.setdefault(patient, []).append(stay)
        timed = {
            patient: begun
            for patient, stays in by_patient.items()
            if patient not in inconsistent and (begun := [stay for stay in timed_stays(stays, self._rules.seed) if stay.has_begun])
        }
        current = frozenset(patient for patient, stays in timed.items() if any(stay.is_current for stay in stays))
        named = named_patients & timed.keys()
        chosen = named | draw_patients(sorted(timed), current, self._rules)
        return EicuCohort(chosen, named, current & chosen, tuple(stay for patient in sorted(chosen) for stay in timed[patient]))

    def _admissible(self) -> str:
        """SQL of the unit stays that pass the filters on sex, source, age and stay; the last column says whether the offsets are in order."""
        raw = self._raw[PATIENT]
        age = f"CASE WHEN starts_with(trim(AGE), '>') THEN {OLDEST} ELSE {raw.value('AGE', 'integer')} END"
        conditions = ["uniquepid IS NOT NULL", "source IS NOT NULL", "gender IN ('male', 'female')"]
        if self._rules.over_age is not None:
            conditions.append(f"age > {self._rules.over_age}")
        if self._rules.under_age is not None:
            conditions.append(f"age < {self._rules.under_age}")
        below_quantile = "true"
        if self._rules.stay_quantile is not None:
            below_quantile = f"leaves - admitted < (SELECT quantile_cont(leaves - admitted, {self._rules.stay_quantile}) FROM admissible)"
        return f"""
            WITH stays AS (
                SELECT {raw.value("UNIQUEPID", "text")} AS uniquepid, {raw.value("PATIENTHEALTHSYSTEMSTAYID", "integer")} AS hospital_stay,
                    {raw.value("PATIENTUNITSTAYID", "integer")} AS unit_stay, {age} AS age, {raw.value("HOSPITALDISCHARGEYEAR", "integer")} AS year,
                    {raw.value("HOSPITALADMITOFFSET", "integer")} AS admitted, {raw.value("UNITDISCHARGEOFFSET", "integer")} AS leaves_unit,
                    {raw.value("HOSPITALDISCHARGEOFFSET", "integer")} AS leaves, {raw.value("HOSPITALADMITTIME24", "text")} AS time_of_day,
                    {raw.value("GENDER", "text")} AS gender, {raw.value("HOSPITALADMITSOURCE", "text")} AS source
                FROM {raw.scan()}
            ),
            admissible AS MATERIALIZED (SELECT * FROM stays WHERE {" AND ".join(conditions)})
            SELECT uniquepid, hospital_stay, unit_stay, age, year, admitted, leaves_unit, leaves, time_of_day,
                coalesce(admitted <= 0 AND 0 < leaves_unit AND leaves_unit <= leaves
                    AND hospital_stay IS NOT NULL AND unit_stay IS NOT NULL AND year IS NOT NULL, false)
            FROM admissible WHERE {below_quantile} ORDER BY uniquepid, hospital_stay, unit_stay
        """

    def _time_of_day(self, text: str) -> timedelta:
        match = re.fullmatch(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", text)
        if match is None:
            raise UserError(
                f"{self._raw[PATIENT].path}: column HOSPITALADMITTIME24: {text} is not a time of day; correct the file, or fetch it again"
            )
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return timedelta(hours=hours, minutes=minutes, seconds=seconds)

    def _tabulate_cohort(self) -> None:
        import pyarrow as pa

        stays: Sequence[TimedStay] = self.cohort.stays
        moment = pa.timestamp("us")
        cohort = pa.table(
            {
                "UNIQUEPID": pa.array([stay.stay.patient for stay in stays], pa.string()),
                "PATIENTHEALTHSYSTEMSTAYID": pa.array([stay.stay.hospital_stay for stay in stays], pa.int64()),
                "PATIENTUNITSTAYID": pa.array([stay.stay.unit_stay for stay in stays], pa.int64()),
                "AGE": pa.array([stay.stay.age for stay in stays], pa.int64()),
                "HOSPITALADMITTIME": pa.array([stay.hospital_admitted for stay in stays], moment),
                "UNITADMITTIME": pa.array([stay.unit_admitted for stay in stays], moment),
                "UNITDISCHARGETIME": pa.array([stay.unit_discharged for stay in stays], moment),
                "HOSPITALDISCHARGETIME": pa.array([stay.hospital_discharged for stay in stays], moment),
            }
        )
        self._connection.register("cohort_arrow", cohort)
        self._connection.execute("CREATE TABLE cohort AS SELECT * FROM cohort_arrow")
        self._connection.unregister("cohort_arrow")

    # --- tables ---------------------------------------------------------------------------------------------------------------------------------

    def query(self, table: str) -> str:
        """SQL of the rows of a table but cost: its columns but the number of the row, and RAW_ROW, which orders them."""
        if table.upper() not in self._raw:
            nothing = ", ".join(f"NULL AS {name}" for name in self._database.table(table).column_names[1:])
            return f"SELECT 0 AS RAW_ROW, {nothing} WHERE false"
        if table in EVENTS:
            return self._events(table, EVENTS[table])
        if table in ("diagnosis", "treatment"):
            return self._named_by_path(table)
        return self._intake_and_output() if table == "intakeoutput" else self._patients()

    def _typed(self, table: str, columns: str, *, only: str = "true") -> str:
        name = table.upper()
        return self.typed(name, columns, row=RAW_COLUMNS[name][0], only=only)

    def _patients(self) -> str:
        raw = self._typed(
            "patient",
            "PATIENTUNITSTAYID:integer GENDER:text ETHNICITY:text HOSPITALID:integer WARDID:integer ADMISSIONHEIGHT:real ADMISSIONWEIGHT:real "
            "DISCHARGEWEIGHT:real HOSPITALADMITSOURCE:text HOSPITALDISCHARGESTATUS:text",
        )
        unknown_yet = ", ".join(f"CASE WHEN leaves IS NOT NULL THEN {name} END AS {name}" for name in ("DISCHARGEWEIGHT", "HOSPITALDISCHARGESTATUS"))
        return f"""
            SELECT * REPLACE (leaves_unit AS UNITDISCHARGETIME, leaves AS HOSPITALDISCHARGETIME, {unknown_yet}) FROM (
                SELECT *, happened(UNITDISCHARGETIME, 0) AS leaves_unit, happened(HOSPITALDISCHARGETIME, 0) AS leaves
                FROM ({raw}) JOIN cohort USING (PATIENTUNITSTAYID)
            )
        """

    def _events(self, table: str, rule: EventRule) -> str:
        names = ", ".join(name for name, _, _ in column_words(rule.columns))
        times = [tuple(word.split("=")) for word in rule.times.split()]
        moments = ", ".join(f"happened(UNITADMITTIME, {offset}) AS {name}" for name, offset in times)
        offsets = " ".join(f"{offset}:integer" for _, offset in times)
        needed = " AND ".join(f"{name} IS NOT NULL" for name in rule.present) or "true"
        return f"""
            SELECT * FROM (
                SELECT RAW_ROW, PATIENTUNITSTAYID, {names}, {moments}
                FROM ({self._typed(table, f"PATIENTUNITSTAYID:integer {rule.columns} {offsets}", only=rule.only)})
                JOIN cohort USING (PATIENTUNITSTAYID) WHERE {needed}
            )
            WHERE {times[0][0]} IS NOT NULL
        """

    def _named_by_path(self, table: str) -> str:
        """Diagnoses or treatments, named by the third and fourth part of their path. Of a tail that hangs under several heads (the first two parts)
        in the raw table, only the commonest head counts (a tie: the first by name).
        """
        path = f"{table}string"
        rest = " icd9code:text" if table == "diagnosis" else ""

        def parted(columns: str) -> str:
            return f"""
                SELECT *, array_to_string(parts[:2], '|') AS head, array_to_string(parts[3:4], '|') AS tail
                FROM (SELECT *, string_split({path}, '|') AS parts FROM ({self._typed(table, f"{path}:text {columns}")})) WHERE len(parts) > 2
            """

        return f"""
            WITH usual AS (
                SELECT head, tail FROM (SELECT head, tail, count(*) AS uses FROM ({parted("")}) GROUP BY head, tail)
                QUALIFY row_number() OVER (PARTITION BY tail ORDER BY uses DESC, head) = 1
            )
            SELECT * FROM (
                SELECT *, array_to_string(parts[3:4], ' - ') AS {table}name, happened(UNITADMITTIME, {table}offset) AS {table}time
                FROM ({parted(f"PATIENTUNITSTAYID:integer {table}offset:integer{rest}")})
                JOIN usual USING (head, tail) JOIN cohort USING (PATIENTUNITSTAYID)
            )
            WHERE {table}time IS NOT NULL
        """

    def _intake_and_output(self) -> str:
        """What is measured in ml: the labels that occur somewhere below "intake (ml)" or "output (ml)", without these words at their end."""
        columns = "PATIENTUNITSTAYID:integer INTAKEOUTPUTOFFSET:integer CELLPATH:text CELLLABEL:text CELLVALUENUMERIC:real"
        in_ml = " OR ".join(f"contains(lower(CELLPATH), {quote_text(f'{side} (ml)')})" for side in ("intake", "output"))
        named = self._typed("intakeoutput", "CELLLABEL:text", only=in_ml)
        label = r"regexp_replace(regexp_replace(CELLLABEL, '\s+intake$', ''), '\s+output$', '')"
        return f"""
            SELECT * REPLACE ({label} AS CELLLABEL) FROM (
                SELECT RAW_ROW, PATIENTUNITSTAYID, CELLPATH, CELLLABEL, CELLVALUENUMERIC,
                    happened(UNITADMITTIME, INTAKEOUTPUTOFFSET) AS intakeoutputtime
                FROM ({self._typed("intakeoutput", columns)}) JOIN cohort USING (PATIENTUNITSTAYID)
                WHERE CELLLABEL IN (SELECT DISTINCT CELLLABEL FROM ({named})) AND CELLLABEL NOT IN ('intake', 'output')
            )
            WHERE intakeoutputtime IS NOT NULL
        """
