"""Where a database keeps hospital visits and stays in intensive care: the names that gold SQL needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VisitTables:
    """Columns, each with its table."""

    patient: str
    """Whose hospital visit it is."""
    visit: str
    admitted: str
    discharged: str
    """Empty while the visit is open."""
    age: str
    died: str
    """SQL condition that the visit ended with death."""
    stay: str
    """The stay in intensive care."""
    visit_of_stay: str
    entered: str
    left: str
    """Empty while the stay is open."""
    several_rows: bool = False
    """Whether a visit may have several rows in its table."""

    @property
    def table(self) -> str:
        """The table of hospital visits."""
        return _table(self.visit)

    @property
    def stay_table(self) -> str:
        """The table of stays in intensive care."""
        return _table(self.stay)

    @property
    def counted(self) -> str:
        """SQL that counts hospital visits."""
        return f"count( distinct {self.visit} )" if self.several_rows else "count(*)"

    def patients(self, condition: str) -> str:
        """SQL that counts the patients with a hospital visit that meets a condition."""
        return f"select count( distinct {self.patient} ) from {self.table} where {condition}"

    def once_each(self, expressions: str, condition: str) -> str:
        """SQL that selects expressions of the hospital visits that meet a condition, once a visit."""
        return f"select {'distinct ' if self.several_rows else ''}{expressions} from {self.table} where {condition}"

    def mean(self, expression: str, condition: str) -> str:
        """SQL for the mean of an expression over the hospital visits that meet a condition."""
        if not self.several_rows:
            return f"select avg( {expression} ) from {self.table} where {condition}"
        return f"select avg(t1.c1) from ( {self.once_each(f'{self.visit}, {expression} as c1', condition)} ) as t1"

    def of_patient(self, patient: int | str) -> str:
        """SQL condition that a hospital visit is the patient's."""
        return f"{self.patient} = {constant(patient)}"

    def stay_of_patient(self, patient: int | str) -> str:
        """SQL condition that a stay in intensive care is the patient's."""
        if self.stay_table == self.table:
            return self.of_patient(patient)
        return f"{self.visit_of_stay} in ( {self.visits_of(patient)} )"

    def visits_of(self, patient: int | str) -> str:
        """SQL that selects the hospital visits of a patient."""
        return f"select {self.visit} from {self.table} where {self.of_patient(patient)}"

    def stays_of(self, visits: str) -> str:
        """SQL that selects the stays in intensive care of the hospital visits that `visits` selects."""
        return f"select {self.stay} from {self.stay_table} where {self.visit_of_stay} in ( {visits} )"

    def visits_with(self, stays: str) -> str:
        """SQL that selects the hospital visits of the stays that `stays` selects."""
        return f"select {self.visit_of_stay} from {self.stay_table} where {self.stay} in ( {stays} )"


def constant(identifier: int | str) -> str:
    """SQL for an identifier: a number as it is, text in quotes."""
    return str(identifier) if isinstance(identifier, int) else f"'{identifier}'"


def _table(column: str) -> str:
    return column.partition(".")[0]


MIMIC_III_VISITS = VisitTables(
    patient="admissions.subject_id",
    visit="admissions.hadm_id",
    admitted="admissions.admittime",
    discharged="admissions.dischtime",
    age="admissions.age",
    died="admissions.discharge_location = 'dead/expired'",
    stay="icustays.icustay_id",
    visit_of_stay="icustays.hadm_id",
    entered="icustays.intime",
    left="icustays.outtime",
)
