"""Pieces of gold SQL that many kinds of questions share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from medagentgym.synthetic.questions.scopes import Scope


def literal(text: str) -> str:
    """A text constant."""
    return "'" + text.replace("'", "''") + "'"


def _item(label: str, table: str) -> str:
    return f"( select d_items.itemid from d_items where d_items.label = {literal(label)} and d_items.linksto = '{table}' )"


@dataclass(frozen=True)
class Source:
    """A table of events: how its rows are named, timed and limited in SQL."""

    raw: str
    """Name of the raw table, by which `Facts.rows` knows it."""
    time: str
    """Column with the main time."""
    slot: str
    """Parameter that holds a row's name."""
    named: Callable[[str], str]
    """SQL condition that a row is called so."""
    group: str
    """Column by which rows of one name are grouped."""
    labels: Callable[[str], str]
    """SQL that turns a query of `group` values into their names, in alphabetical order."""
    intensive: bool = False
    """Whether rows belong to intensive stays."""
    value: str = ""
    """Column with the number, if there is one. `@` stands for the row's name."""
    in_table: str = ""
    """Name of the task's table, where it is another one."""
    key: str = "row_id"
    """Column that tells rows apart."""
    stay: str = "icustay_id"
    """Column of the intensive stay."""
    always: str = ""
    """SQL condition that tells the rows from others of the same table."""
    counted: str = "count(*)"
    """SQL that counts how often something happened."""

    @property
    def table(self) -> str:
        """Name of the task's table."""
        return self.in_table or self.raw.lower()

    @property
    def when(self) -> str:
        """The time column with its table."""
        return f"{self.table}.{self.time}"

    def number(self, name: str) -> str:
        """The column with the number of the rows that are called `name`, with its table."""
        return f"{self.table}.{self.value.replace('@', name)}"

    def where(self, scope: Scope, name: str | None = None) -> str:
        """SQL condition that a row belongs to the scope, and is called `name` where it is given."""
        own = f"{self.table}.{self.stay} in ( {scope.stays} )" if self.intensive else self.on_visits(scope.admissions)
        own += f" and {self.always}" if self.always else ""
        return own + (f" and {self.named(name)}" if name is not None else "") + scope.window.sql(self.when)

    def on_visits(self, visits: str) -> str:
        """SQL condition that a row belongs to one of the hospital visits that `visits` selects."""
        return f"{self.table}.hadm_id in ( {visits} )"

    def patients(self, condition: str, visits: str = "") -> str:
        """SQL that counts the patients with a row that meets a condition, on one of the hospital visits that `visits` selects where it is given."""
        on_visits = f" and {self.on_visits(visits)}" if visits else ""
        return f"select count( distinct {self.table}.subject_id ) from {self.table} where {condition}{on_visits}"

    def visits(self, condition: str) -> str:
        """SQL that selects the hospital visits with a row that meets a condition."""
        return f"select {self.table}.hadm_id from {self.table} where {condition}"

    def most_frequent(self, number: int, condition: str) -> str:
        """SQL for the `number` most frequent names among the rows that meet a condition (with its leading `and`, or empty)."""
        condition = (f" and {self.always}" if self.always else "") + condition
        where = condition.replace(" and ", " where ", 1)
        ranked = f"select {self.group} as c0, dense_rank() over ( order by count(*) desc ) as c1 from {self.table}{where} group by {self.group}"
        return self.labels(f"select t1.c0 from ( {ranked} ) as t1 where t1.c1 <= {number}")


def _by_code(dictionary: str) -> Callable[[str], str]:
    return lambda codes: (
        f"select {dictionary}.short_title from {dictionary} where {dictionary}.icd9_code in ( {codes} ) order by {dictionary}.short_title"
    )


def _by_item(items: str) -> str:
    return f"select d_items.label from d_items where d_items.itemid in ( {items} ) order by d_items.label"


def _code(table: str, dictionary: str) -> Callable[[str], str]:
    return lambda name: f"{table}.icd9_code = ( select {dictionary}.icd9_code from {dictionary} where {dictionary}.short_title = {literal(name)} )"


DIAGNOSES = Source(
    "DIAGNOSES_ICD", "charttime", "diagnosis_name", _code("diagnoses_icd", "d_icd_diagnoses"), "diagnoses_icd.icd9_code", _by_code("d_icd_diagnoses")
)
PROCEDURES = Source(
    "PROCEDURES_ICD", "charttime", "procedure_name", _code("procedures_icd", "d_icd_procedures"), "procedures_icd.icd9_code",
    _by_code("d_icd_procedures"),
)  # fmt: skip
PRESCRIPTIONS = Source(
    "PRESCRIPTIONS", "startdate", "drug_name", lambda name: f"prescriptions.drug = {literal(name)}", "prescriptions.drug",
    lambda names: f"select distinct prescriptions.drug from prescriptions where prescriptions.drug in ( {names} ) order by prescriptions.drug",
    value="dose_val_rx",
)  # fmt: skip
LABS = Source(
    "LABEVENTS", "charttime", "lab_name",
    lambda name: f"labevents.itemid in ( select d_labitems.itemid from d_labitems where d_labitems.label = {literal(name)} )", "labevents.itemid",
    lambda items: f"select d_labitems.label from d_labitems where d_labitems.itemid in ( {items} ) order by d_labitems.label",
    value="valuenum",
)  # fmt: skip
VITALS = Source(
    "CHARTEVENTS", "charttime", "vital_name", lambda name: f"chartevents.itemid in {_item(name, 'chartevents')}", "chartevents.itemid", _by_item,
    intensive=True, value="valuenum",
)  # fmt: skip
INPUTS = Source(
    "INPUTEVENTS_CV", "charttime", "intake_name", lambda name: f"inputevents_cv.itemid in {_item(name, 'inputevents_cv')}",
    "inputevents_cv.itemid", _by_item, intensive=True, value="amount",
)  # fmt: skip
OUTPUTS = Source(
    "OUTPUTEVENTS", "charttime", "output_name", lambda name: f"outputevents.itemid in {_item(name, 'outputevents')}", "outputevents.itemid",
    _by_item, intensive=True, value="value",
)  # fmt: skip
CULTURES = Source(
    "MICROBIOLOGYEVENTS", "charttime", "culture_name", lambda name: f"microbiologyevents.spec_type_desc = {literal(name)}",
    "microbiologyevents.spec_type_desc",
    lambda names: "select distinct microbiologyevents.spec_type_desc from microbiologyevents where microbiologyevents.spec_type_desc in "
    f"( {names} ) order by microbiologyevents.spec_type_desc",
    counted="count( distinct microbiologyevents.charttime )",
)  # fmt: skip


def days_between(later: str, earlier: str, per_day: int = 1) -> str:
    """SQL for the time between two columns, in days, or in parts of a day of which `per_day` make one; with fractions."""
    return f"{per_day} * ( strftime('%j',{later}) - strftime('%j',{earlier}) )"
