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
    stay: str
    """The stay in intensive care."""
    visit_of_stay: str
    entered: str
    left: str
    """Empty while the stay is open."""

    def visits_of(self, patient: int | str) -> str:
        """SQL that selects the hospital visits of a patient."""
        return f"select {self.visit} from {_table(self.visit)} where {self.patient} = {constant(patient)}"

    def stays_of(self, visits: str) -> str:
        """SQL that selects the stays in intensive care of the hospital visits that `visits` selects."""
        return f"select {self.stay} from {_table(self.stay)} where {self.visit_of_stay} in ( {visits} )"

    def visits_with(self, stays: str) -> str:
        """SQL that selects the hospital visits of the stays that `stays` selects."""
        return f"select {self.visit_of_stay} from {_table(self.stay)} where {self.stay} in ( {stays} )"


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
    stay="icustays.icustay_id",
    visit_of_stay="icustays.hadm_id",
    entered="icustays.intime",
    left="icustays.outtime",
)
