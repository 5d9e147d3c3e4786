"""What the task's tables will hold of the made-up records: the rows that questions may be about.

The raw tables hold rows that the task's tables leave out (values without a number or a unit, codes that no dictionary knows, items and units that are
not kept). Questions take their parameters from the rows that stay, so that their answers exist.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from medagentgym.synthetic.clock import DAY
from medagentgym.synthetic.cohort import Admission, IntensiveStay, Patient, UnitStay
from medagentgym.synthetic.dictionaries import CHART_ITEMS, DIAGNOSES, DRUGS, INPUTS, LAB_TESTS, OUTPUTS, PROCEDURES
from medagentgym.synthetic.visit_tables import MIMIC_III_VISITS, VisitTables

Integers = npt.NDArray[np.int64]

_ROUTES = {drug.name.lower(): drug.route.lower() for drug in DRUGS.values()}


@dataclass(frozen=True)
class Rows:
    """Rows of one table, as columns, ordered by patient and time."""

    names: list[str]
    """What the rows may be called, in lower case."""
    subject_id: Integers
    hadm_id: Integers
    icustay_id: Integers
    """0 where the row belongs to no intensive stay."""
    name: Integers
    """Position in `names`."""
    time: Integers
    value: npt.NDArray[np.float64]
    end: Integers
    """When the row's event ended, where it has an end; else its time."""

    def __len__(self) -> int:
        return len(self.time)

    def title(self, position: int) -> str:
        """Name of a row."""
        return self.names[int(self.name[position])]

    def duration(self, position: int) -> int:
        """Seconds from a row's time to its end."""
        return int(self.end[position] - self.time[position])

    def of_patient(self, subject_id: int, name: int | None = None) -> list[int]:
        """Positions of a patient's rows, those called `name` where it is given, in order of time."""
        start, end = np.searchsorted(self.subject_id, [subject_id, subject_id + 1])
        positions = np.arange(start, end)
        if name is not None:
            positions = positions[self.name[start:end] == name]
        return [int(position) for position in positions[np.argsort(self.time[positions], kind="stable")]]


class Records(ABC):
    """The cohort, and the rows of its tables that questions may be about."""

    visits: ClassVar[VisitTables]
    """Where the database keeps hospital visits."""

    def __init__(self, cohort: Sequence[Patient]) -> None:
        self.patients = list(cohort)
        self.patient = {patient.subject_id: patient for patient in cohort}
        self.admissions: list[Admission] = [admission for patient in cohort for admission in patient.admissions]
        self.admission = {admission.hadm_id: admission for admission in self.admissions}
        self.intensive_stays: list[tuple[Admission, IntensiveStay]] = [(a, stay) for a in self.admissions for stay in a.intensive_stays]
        self._rows: dict[str, Rows] = {}

    def rows(self, table: str) -> Rows:
        """Rows of a raw table that was taken in."""
        return self._rows[table]

    def tables(self) -> set[str]:
        """Names of the raw tables that were taken in."""
        return set(self._rows)

    def patient_id(self, subject_id: int) -> int | str:
        """What a patient is called in questions and SQL."""
        return subject_id

    def current(self, patient: Patient) -> Admission | None:
        """The patient's open visit."""
        last = patient.admissions[-1]
        return last if last.end is None else None

    @abstractmethod
    def age(self, admission: Admission) -> int:
        """Whole years of the patient at a visit."""

    @abstractmethod
    def route(self, at: int) -> str:
        """By which way a drug was given; `at` is its position among the rows of drugs."""

    @abstractmethod
    def organism(self, at: int) -> str | None:
        """What grew in a culture, if anything did; `at` is its position among the rows of cultures."""


class Facts(Records):
    """The rows of the tables of `mimic_iii`."""

    visits = MIMIC_III_VISITS

    def __init__(self, cohort: Sequence[Patient]) -> None:
        super().__init__(cohort)
        self.stretches: list[tuple[Admission, UnitStay]] = [(a, stretch) for a in self.admissions for stretch in a.stretches]
        self._organisms: dict[tuple[int, int], str | None] = {}
        """(Admission, time) of a culture -> what grew, in lower case."""

    def age(self, admission: Admission) -> int:
        """Whole years at admission."""
        return int((admission.start - self.patient[admission.subject_id].birth) / (365.25 * DAY))

    def route(self, at: int) -> str:
        """The usual way of giving the drug."""
        return _ROUTES[self.rows("PRESCRIPTIONS").title(at)]

    def organism(self, at: int) -> str | None:
        """What grew in a culture, in lower case."""
        cultures = self.rows("MICROBIOLOGYEVENTS")
        return self._organisms[int(cultures.hadm_id[at]), int(cultures.time[at])]

    def take(self, table: str, content: pa.Table) -> None:
        """Take in a raw table, if questions are about it."""
        if table == "DIAGNOSES_ICD":
            self._take(table, _known_codes(content, DIAGNOSES), "ICD9_CODE", _titles(DIAGNOSES), [a.start for a in self._owners(content, DIAGNOSES)])
        elif table == "PROCEDURES_ICD":
            known = _known_codes(content, PROCEDURES)
            discharge = [self.admission[hadm_id].end for hadm_id in known["HADM_ID"].to_pylist()]
            finished = known.filter(pa.array([time is not None for time in discharge]))
            self._take(table, finished, "ICD9_CODE", _titles(PROCEDURES), [time for time in discharge if time is not None])
        elif table == "LABEVENTS":
            kept = _present(content, "HADM_ID", "VALUENUM", "VALUEUOM")
            self._take(table, kept, "ITEMID", {test.itemid: test.label for test in LAB_TESTS}, value="VALUENUM")
        elif table == "CHARTEVENTS":
            kept = _present(content, "ICUSTAY_ID", "VALUENUM", "VALUEUOM")
            self._take(table, kept, "ITEMID", {item.itemid: item.label for item in CHART_ITEMS}, value="VALUENUM")
        elif table == "INPUTEVENTS_CV":
            kept = content.filter(pc.equal(content["AMOUNTUOM"], "ml"))
            self._take(table, kept, "ITEMID", {itemid: label for itemid, label, _ in INPUTS}, value="AMOUNT")
        elif table == "OUTPUTEVENTS":
            kept = content.filter(pc.equal(content["VALUEUOM"], "ml"))
            self._take(table, kept, "ITEMID", {itemid: label for itemid, label, _ in OUTPUTS}, value="VALUE")
        elif table == "PRESCRIPTIONS":
            self._take_prescriptions(content)
        elif table == "MICROBIOLOGYEVENTS":
            self._take_cultures(content)

    def _owners(self, content: pa.Table, titles: dict[str, tuple[str, str]]) -> list[Admission]:
        return [self.admission[hadm_id] for hadm_id in _known_codes(content, titles)["HADM_ID"].to_pylist()]

    def _take_prescriptions(self, content: pa.Table) -> None:
        kept = _present(content, "STARTDATE", "ENDDATE", "DRUG", "DOSE_VAL_RX", "DOSE_UNIT_RX", "ROUTE")
        doses = pc.replace_substring(kept["DOSE_VAL_RX"], ",", "")
        whole = pc.match_substring_regex(doses, r"^\d+$")
        kept = kept.append_column("DOSE", pc.if_else(whole, doses, None)).filter(whole)
        units: dict[str, Counter[str]] = {}
        pairs = list(zip(kept["DRUG"].to_pylist(), kept["DOSE_UNIT_RX"].to_pylist(), strict=True))
        for drug, unit in pairs:
            units.setdefault(drug, Counter())[unit] += 1
        usual = {drug: counts.most_common(1)[0][0] for drug, counts in units.items()}
        kept = kept.filter(pa.array([usual[drug] == unit for drug, unit in pairs], type=pa.bool_()))
        self._take("PRESCRIPTIONS", kept, "DRUG", {name: name for name in DRUGS}, _seconds(kept, "STARTDATE"), value="DOSE")

    def _take_cultures(self, content: pa.Table) -> None:
        times = _seconds(content.set_column(0, "TIME", pc.coalesce(content["CHARTTIME"], content["CHARTDATE"])), "TIME")
        specimens = sorted(set(content["SPEC_TYPE_DESC"].to_pylist()))
        self._take("MICROBIOLOGYEVENTS", content, "SPEC_TYPE_DESC", {name: name for name in specimens}, times)
        for hadm_id, time, organism in zip(content["HADM_ID"].to_pylist(), times, content["ORG_NAME"].to_pylist(), strict=True):
            self._organisms[hadm_id, int(time)] = None if organism is None else organism.lower()

    def _take(
        self, table: str, kept: pa.Table, key: str, titles: dict[Any, str], times: Sequence[int] | Integers | None = None, value: str | None = None
    ) -> None:
        keys = pa.array(list(titles))
        name = pc.index_in(kept[key].combine_chunks().cast(keys.type), keys)
        known = np.asarray(pc.is_valid(name))
        stays = kept["ICUSTAY_ID"] if "ICUSTAY_ID" in kept.column_names else pa.chunked_array([pa.nulls(len(kept), pa.int64())])
        values = np.zeros(len(kept)) if value is None else np.asarray(kept[value].cast(pa.float64()))
        time = np.asarray(times if times is not None else _seconds(kept, "CHARTTIME"), dtype=np.int64)
        self._rows[table] = Rows(
            names=[title.lower() for title in titles.values()],
            subject_id=np.asarray(kept["SUBJECT_ID"], dtype=np.int64)[known],
            hadm_id=np.asarray(kept["HADM_ID"], dtype=np.int64)[known],
            icustay_id=np.asarray(pc.fill_null(stays, 0), dtype=np.int64)[known],
            name=np.asarray(pc.fill_null(name, 0), dtype=np.int64)[known],
            time=time[known],
            value=values[known],
            end=(_seconds(kept, "ENDDATE") if "ENDDATE" in kept.column_names else time)[known],
        )


def _titles(codes: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {code: short for code, (short, _) in codes.items()}


def _known_codes(content: pa.Table, titles: dict[str, tuple[str, str]]) -> pa.Table:
    return content.filter(pc.is_in(content["ICD9_CODE"], pa.array(list(titles))))


def _present(content: pa.Table, *columns: str) -> pa.Table:
    """The rows in which all of `columns` hold something."""
    for column in columns:
        content = content.filter(pc.is_valid(content[column]))
    return content


def _seconds(content: pa.Table, column: str) -> Integers:
    return np.asarray(content[column].cast(pa.int64()), dtype=np.int64)
