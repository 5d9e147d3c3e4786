"""The tables of events of `eicu`, as gold SQL names their rows."""

from __future__ import annotations

from dataclasses import dataclass

from medagentgym.synthetic.eicu.records import EICU_VISITS, INTAKE, NAMED, OUTPUT
from medagentgym.synthetic.questions.sql import Source, literal


@dataclass(frozen=True)
class EicuSource(Source):
    """A table whose rows belong to unit stays."""

    intensive: bool = True
    stay: str = "patientunitstayid"

    def on_visits(self, visits: str) -> str:
        """SQL condition that a row belongs to one of the hospital visits that `visits` selects."""
        return f"{self.table}.patientunitstayid in ( {EICU_VISITS.stays_of(visits)} )"

    def patients(self, condition: str, visits: str = "") -> str:
        """SQL that counts the patients with a row that meets a condition, on one of the hospital visits that `visits` selects where it is given."""
        on_visits = f" and patient.patienthealthsystemstayid in ( {visits} )" if visits else ""
        return EICU_VISITS.patients(f"patient.patientunitstayid in ( {self.stays(condition)} ){on_visits}")

    def stays(self, condition: str) -> str:
        """SQL that selects the unit stays with a row that meets a condition."""
        always = f" and {self.always}" if self.always else ""
        return f"select {self.table}.patientunitstayid from {self.table} where {condition}{always}"

    def visits(self, condition: str) -> str:
        """SQL that selects the hospital visits with a row that meets a condition."""
        return EICU_VISITS.visits_with(self.stays(condition))


def _source(raw: str, slot: str, *, value: str = "", table: str = "", always: str = "", counted: str = "count(*)") -> EicuSource:
    table = table or raw
    column, time = ("celllabel", "intakeoutputtime") if table == "intakeoutput" else NAMED[table][:2]
    name = f"{table}.{column}"
    return EicuSource(
        raw,
        time,
        slot,
        named=lambda text: f"{name} = {literal(text)}",
        group=name,
        labels=lambda names: f"select distinct {name} from {table} where {name} in ( {names} ) order by {name}",
        value=value,
        in_table=table,
        key=f"{table}id",
        always=always,
        counted=counted,
    )


DIAGNOSES = _source("diagnosis", "diagnosis_name")
TREATMENTS = _source("treatment", "procedure_name")
LABS = _source("lab", "lab_name", value="labresult")
MEDICATIONS = _source("medication", "drug_name")
ALLERGIES = _source("allergy", "allergy_name")
CULTURES = _source("microlab", "culture_name", counted="count( distinct microlab.culturetakentime )")
INTAKES = _source(INTAKE, "intake_name", value="cellvaluenumeric", table="intakeoutput", always="intakeoutput.cellpath like '%intake%'")
OUTPUTS = _source(OUTPUT, "output_name", value="cellvaluenumeric", table="intakeoutput", always="intakeoutput.cellpath like '%output%'")
VITALS = EicuSource(
    "vitalperiodic",
    "observationtime",
    "vital_name",
    named=lambda name: f"vitalperiodic.{name} is not null",
    group="",
    labels=lambda names: names,
    value="@",
    key="vitalperiodicid",
)
