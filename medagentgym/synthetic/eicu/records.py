"""What the task's tables hold of the made-up people, read from the rows that the task's own cut makes of the raw tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from medagentgym.ehr.eicu_cut import EicuCut
from medagentgym.ehr.eicu_schema import EICU
from medagentgym.synthetic.clock import seconds
from medagentgym.synthetic.cohort import Admission, IntensiveStay, Patient, UnitStay
from medagentgym.synthetic.eicu.terms import NO_GROWTH, VITALS
from medagentgym.synthetic.eicu.visits import Person
from medagentgym.synthetic.facts import Records, Rows
from medagentgym.synthetic.visit_tables import VisitTables

EICU_VISITS = VisitTables(
    patient="patient.uniquepid",
    visit="patient.patienthealthsystemstayid",
    admitted="patient.hospitaladmittime",
    discharged="patient.hospitaldischargetime",
    age="patient.age",
    died="patient.hospitaldischargestatus = 'expired'",
    stay="patient.patientunitstayid",
    visit_of_stay="patient.patienthealthsystemstayid",
    entered="patient.unitadmittime",
    left="patient.unitdischargetime",
    several_rows=True,
)

INTAKE, OUTPUT = "INTAKE", "OUTPUT"
"""The two sorts of rows of `intakeoutput`."""

NAMED = {
    "diagnosis": ("diagnosisname", "diagnosistime", None, None),
    "treatment": ("treatmentname", "treatmenttime", None, None),
    "lab": ("labname", "labresulttime", "labresult", None),
    "medication": ("drugname", "drugstarttime", None, "drugstoptime"),
    "allergy": ("allergyname", "allergytime", None, None),
    "microlab": ("culturesite", "culturetakentime", None, None),
}
"""Table -> columns with a row's name, time, number and end."""


@dataclass(frozen=True)
class StayRow:
    """A row of `patient`."""

    values: dict[str, Any]

    def __getitem__(self, column: str) -> Any:
        return self.values[column]


class EicuRecords(Records):
    """The rows of the tables of `eicu`."""

    visits = EICU_VISITS

    def __init__(self, cohort: Sequence[Patient], names: dict[int, str], stays: dict[int, StayRow]) -> None:
        super().__init__(cohort)
        self._names = names
        self.stays = stays
        """Unit stay -> its row of `patient`."""
        self.details: dict[str, list[dict[str, Any]]] = {}
        """Table -> all columns of its rows, at the positions of `rows`."""

    def patient_id(self, subject_id: int) -> str:
        """The patient's `uniquepid`."""
        return self._names[subject_id]

    def age(self, admission: Admission) -> int:
        """Whole years, as the first unit stay of the hospital visit has them."""
        return int(self.stay_row(admission)["age"])

    def route(self, at: int) -> str:
        """The way of giving the drug that the order has."""
        return str(self.details["medication"][at]["routeadmin"])

    def organism(self, at: int) -> str | None:
        """What grew in a culture; None where it says that nothing did."""
        organism = self.details["microlab"][at]["organism"]
        return None if organism == NO_GROWTH else str(organism)

    def stay_row(self, admission: Admission) -> StayRow:
        """The row of the first unit stay of a hospital visit."""
        return self.stays[admission.intensive_stays[0].icustay_id]

    def add(self, table: str, rows: Iterable[_Event]) -> None:
        """Take in the rows of a table."""
        ordered = sorted(rows, key=lambda row: (row.subject_id, row.time))
        names = sorted({row.name for row in ordered})
        number = {name: place for place, name in enumerate(names)}
        self.details[table] = [row.values for row in ordered]
        self._rows[table] = Rows(
            names=names,
            subject_id=np.array([row.subject_id for row in ordered], dtype=np.int64),
            hadm_id=np.array([row.hospital_stay for row in ordered], dtype=np.int64),
            icustay_id=np.array([row.unit_stay for row in ordered], dtype=np.int64),
            name=np.array([number[row.name] for row in ordered], dtype=np.int64),
            time=np.array([row.time for row in ordered], dtype=np.int64),
            value=np.array([row.number for row in ordered], dtype=np.float64),
            end=np.array([row.time if row.end is None else row.end for row in ordered], dtype=np.int64),
        )


@dataclass(frozen=True)
class _Event:
    subject_id: int
    hospital_stay: int
    unit_stay: int
    name: str
    time: int
    number: float
    end: int | None
    values: dict[str, Any]


def read_records(cut: EicuCut, people: Sequence[Person]) -> EicuRecords:
    """The records that the cut keeps of the people."""
    stays = {row["patientunitstayid"]: StayRow(row) for row in _rows(cut, "patient")}
    subjects = {person.uniquepid: person.patient.subject_id for person in people}
    cohort = [patient for person in people if (patient := _as_recorded(person, stays)) is not None]
    records = EicuRecords(cohort, {subject: name for name, subject in subjects.items()}, stays)

    def events(rows: Iterable[dict[str, Any]], name: str, time: str, number: str | None, end: str | None) -> Iterator[_Event]:
        for row in rows:
            stay = stays[row["patientunitstayid"]]
            value = 0.0 if number is None or row[number] is None else float(row[number])
            ended = None if end is None or row[end] is None else _time(row[end])
            ids = (subjects[stay["uniquepid"]], stay["patienthealthsystemstayid"], row["patientunitstayid"])
            yield _Event(*ids, row[name], _time(row[time]), value, ended, row)

    for table, columns in NAMED.items():
        records.add(table, events(_rows(cut, table), *columns))
    volumes = list(_rows(cut, "intakeoutput"))
    for sort in (INTAKE, OUTPUT):
        own = [row for row in volumes if sort.lower() in row["cellpath"]]
        records.add(sort, events(own, "celllabel", "intakeoutputtime", "cellvaluenumeric", None))
    signs = list(_rows(cut, "vitalperiodic"))
    measured = [{**row, "name": sign, "number": row[sign]} for row in signs for sign in VITALS.values() if row[sign] is not None]
    records.add("vitalperiodic", events(measured, "name", "observationtime", "number", None))
    return records


def _rows(cut: EicuCut, table: str) -> Iterator[dict[str, Any]]:
    names = EICU.table(table).column_names
    return (dict(zip(names, row, strict=True)) for row in cut.rows(table))


def _time(text: str) -> int:
    return seconds(datetime.fromisoformat(text))


def _as_recorded(person: Person, stays: dict[int, StayRow]) -> Patient | None:
    """The patient with those visits and unit stays that the tables hold, and their times; None where they hold none."""
    admissions = []
    for visit in person.visits:
        recorded = [stays[stay.icustay_id] for stay in visit.admission.intensive_stays if stay.icustay_id in stays]
        if recorded:
            admissions.append(
                replace(
                    visit.admission,
                    start=_time(recorded[0]["hospitaladmittime"]),
                    end=_time_or_open(recorded[0]["hospitaldischargetime"]),
                    died=recorded[0]["hospitaldischargestatus"] == "expired",
                    intensive_stays=[_unit_stay(row) for row in recorded],
                )
            )
    if not admissions:
        return None
    return replace(person.patient, admissions=sorted(admissions, key=lambda admission: admission.start))


def _time_or_open(text: str | None) -> int | None:
    return None if text is None else _time(text)


def _unit_stay(row: StayRow) -> IntensiveStay:
    stretch = UnitStay(row["patientunitstayid"], None, row["wardid"], _time(row["unitadmittime"]), _time_or_open(row["unitdischargetime"]))
    return IntensiveStay(row["patientunitstayid"], [stretch])
