"""Pieces of SQL: the rows of an event, narrowed to what a question is about.

In every query `event` is the row of the event's table, `visit` the admission that it belongs to, and `patient` its patient.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from medagentgym.agent.baseline_rules.question import Clause, Closeness, Question
from medagentgym.agent.baseline_rules.schema import EventKind
from medagentgym.agent.baseline_rules.terms import Name
from medagentgym.agent.baseline_rules.time_expressions import VisitReference


def quoted(text: str) -> str:
    """A text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class Rows:
    """Rows of an event with their visit and patient, as FROM and WHERE of a query."""

    kind: EventKind
    conditions: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    alias: str = "event"
    visit: str = "visit"

    @property
    def time(self) -> str:
        """The column of the event's time."""
        return f"{self.alias}.{self.kind.time}"

    def where(self, *conditions: str) -> Rows:
        """The rows that satisfy further conditions."""
        return Rows(self.kind, (*self.conditions, *conditions), self.joins, self.alias, self.visit)

    def join(self, *joins: str) -> Rows:
        """The rows joined with further tables."""
        return Rows(self.kind, self.conditions, (*self.joins, *joins), self.alias, self.visit)

    def named(self) -> tuple[Rows, str]:
        """The rows with their names, and the column of the name."""
        names = self.kind.names
        if names is None:
            return self.where(f"{self.alias}.{self.kind.item} IS NOT NULL"), f"{self.alias}.{self.kind.item}"
        join = f"JOIN {names.table} AS named ON named.{names.code} = {self.alias}.{self.kind.item}"
        return self.join(join), f"named.{names.name}"

    def select(self, columns: str, *, end: str = "") -> str:
        """The query for columns of these rows. `end` is what follows the conditions."""
        patient = "patient" if self.visit == "visit" else f"{self.visit}_patient"
        lines = [
            f"SELECT {columns}",
            f"FROM {self.kind.table} AS {self.alias}",
            f"JOIN ADMISSIONS AS {self.visit} ON {self.visit}.HADM_ID = {self.alias}.HADM_ID",
            f"JOIN PATIENTS AS {patient} ON {patient}.SUBJECT_ID = {self.visit}.SUBJECT_ID",
            *self.joins,
        ]
        if self.conditions:
            lines.append("WHERE " + "\n  AND ".join(self.conditions))
        if end:
            lines.append(end)
        return "\n".join(lines)


@dataclass(frozen=True)
class Reading:
    """A question with the names that its terms were given."""

    question: Question
    names: tuple[Name, ...] = field(default=())
    """One for each term of the question, in its order."""

    def named_in(self, clause: Clause | None) -> list[Name]:
        """The names of a clause."""
        return [] if clause is None else [self.names[number] for number in clause.terms]

    def rows(self, kind: EventKind, names: Sequence[Name] = (), *, windows: bool = True, related: bool = True) -> Rows:
        """The rows of an event that the question is about: its patients, its visit, its times, its other event."""
        question = self.question
        conditions = [*names_condition(kind, "event", names), *(f"event.{column} IS NOT NULL" for column in kind.present)]
        conditions += self.people()
        if question.visit is not None:
            conditions.append(visit_condition(question.visit, question.patient, kind, "event"))
        if question.route is not None and kind.name == "drug":
            conditions.append(f"event.ROUTE = {quoted(question.route)}")
        if question.comparison is not None and kind.value is not None:
            conditions.append(f"event.{kind.value} {question.comparison.sign} {question.comparison.limit}")
        if windows:
            times = question.windows if question.condition is None or question.relation == "after" else question.main.windows
            conditions += [condition for window in times for condition in window.conditions(f"event.{kind.time}")]
        if related and question.condition is not None:
            conditions += self.related("event", kind)
        return Rows(kind, tuple(conditions))

    def people(self) -> list[str]:
        """Conditions on the patient and the visit."""
        question = self.question
        conditions = []
        if question.patient is not None:
            conditions.append(f"visit.SUBJECT_ID = {question.patient}")
        if question.gender is not None:
            conditions.append(f"patient.GENDER = {quoted(question.gender)}")
        if question.ages is not None:
            conditions += question.ages.conditions("visit.AGE")
        return conditions

    def related(self, alias: str, kind: EventKind) -> list[str]:
        """The condition that the other event of the question happened to the same patient, on the same visit or before."""
        names = self.named_in(self.question.condition)
        if not names:
            return []
        other = names[0].kind
        rows = self.other_rows()
        if self.question.relation == "together" and (self.question.closeness is None or self.question.closeness.kind == "visit"):
            return [f"visit.HADM_ID IN (\n{rows.select('other_visit.HADM_ID')}\n)"]
        near = closeness_conditions(self.question.closeness, rows.time, f"{alias}.{kind.time}")
        later = [f"{rows.time} < {alias}.{kind.time}"] if self.question.relation == "after" else []
        not_itself = [f"{alias}.{kind.item} <> other.{other.item}"] if self.question.relation == "together" and kind == other else []
        same = rows.where("other_visit.SUBJECT_ID = visit.SUBJECT_ID", *later, *near, *not_itself)
        return [f"EXISTS (\n{same.select('1')}\n)"]

    def other_rows(self) -> Rows:
        """The rows of the question's other event."""
        names = self.named_in(self.question.condition)
        kind = names[0].kind
        conditions = names_condition(kind, "other", names)
        windows = self.question.windows if self.question.relation == "after" else self.question.condition.windows if self.question.condition else ()
        conditions += [condition for window in windows for condition in window.conditions(f"other.{kind.time}")]
        if self.question.visit is not None:
            conditions.append(visit_condition(self.question.visit, self.question.patient, kind, "other"))
        return Rows(kind, tuple(conditions), alias="other", visit="other_visit")


def names_condition(kind: EventKind, alias: str, names: Iterable[Name]) -> list[str]:
    """The condition that an event has one of some names."""
    own = [name for name in names if name.kind == kind]
    if not own:
        return []
    values = ", ".join(name.value if kind.is_number else quoted(name.value) for name in own)
    if kind.names is None:
        return [f"{alias}.{kind.item} IN ({values})"]
    filed = f" AND LINKSTO = {quoted(kind.filed_under)}" if kind.filed_under is not None else ""
    return [f"{alias}.{kind.item} IN (SELECT {kind.names.code} FROM {kind.names.table} WHERE {own[0].column} IN ({values}){filed})"]


ICU_TABLES = frozenset({"CHARTEVENTS", "INPUTEVENTS_CV", "OUTPUTEVENTS", "ICUSTAYS", "TRANSFERS"})
"""Tables that know the stay in intensive care."""


def visit_condition(reference: VisitReference, patient: int | None, kind: EventKind, alias: str) -> str:
    """The condition that an event belongs to the visit that a question means."""
    column, query = chosen_visit(reference, patient)
    if reference.place == "icu" and kind.table not in ICU_TABLES:
        return f"{alias}.HADM_ID IN (SELECT HADM_ID FROM ICUSTAYS WHERE ICUSTAY_ID IN ({query}))"
    return f"{alias}.{column} IN ({query})"


def chosen_visit(reference: VisitReference, patient: int | None) -> tuple[str, str]:
    """The column that identifies a visit, and the query for the one that is meant."""
    column, table, begin, end = (
        ("HADM_ID", "ADMISSIONS", "ADMITTIME", "DISCHTIME") if reference.place == "hospital" else ("ICUSTAY_ID", "ICUSTAYS", "INTIME", "OUTTIME")
    )
    whose = f"SUBJECT_ID = {patient} AND " if patient is not None else ""
    if reference.which == "current":
        return column, f"SELECT {column} FROM {table} WHERE {whose}{end} IS NULL"
    direction = "ASC" if reference.which == "first" else "DESC"
    return column, f"SELECT {column} FROM {table} WHERE {whose}{end} IS NOT NULL ORDER BY {begin} {direction} LIMIT 1"


def closeness_conditions(closeness: Closeness | None, first: str, second: str) -> list[str]:
    """How close in time two events are."""
    if closeness is None:
        return []
    if closeness.kind == "visit":
        return ["other.HADM_ID = event.HADM_ID"]
    if closeness.kind == "month":
        return [f"strftime('%Y-%m', {first}) = strftime('%Y-%m', {second})"]
    if closeness.kind == "day":
        return [f"date({first}) = date({second})"]
    return [f"{second} <= datetime({first}, {quoted(closeness.span)})"]
