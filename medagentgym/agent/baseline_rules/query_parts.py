"""Pieces of SQL: the rows of an event, narrowed to what a question is about.

In every query `event` is the row of the event's table, `visit` the admission that it belongs to, and `patient` its patient.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from medagentgym.agent.baseline_rules.question import Clause, Closeness, Question
from medagentgym.agent.baseline_rules.schema import MIMIC_III, EventKind, Schema
from medagentgym.agent.baseline_rules.terms import Name
from medagentgym.agent.baseline_rules.time_expressions import TimeWindow, VisitReference


def quoted(text: str) -> str:
    """A text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def constant(value: int | str | None) -> str:
    """A number or a text as an SQL constant."""
    return quoted(value) if isinstance(value, str) else "NULL" if value is None else str(value)


@dataclass(frozen=True)
class Rows:
    """Rows of an event with their visit and patient, as FROM and WHERE of a query."""

    kind: EventKind
    conditions: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    alias: str = "event"
    """What the event's row is called: `event`, or `other` for the other event of a question."""

    @property
    def visit(self) -> str:
        """What the row of the admission is called."""
        return "visit" if self.alias == "event" else f"{self.alias}_visit"

    @property
    def time(self) -> str:
        """The column of the event's time."""
        return f"{self.alias}.{self.kind.time}"

    def where(self, *conditions: str) -> Rows:
        """The rows that satisfy further conditions."""
        return replace(self, conditions=(*self.conditions, *conditions))

    def within(self, windows: Iterable[TimeWindow]) -> Rows:
        """The rows whose time lies in all of some windows."""
        return self.where(*(condition for window in windows for condition in window.conditions(self.time)))

    def named(self) -> tuple[Rows, str]:
        """The rows with their names, and the column of the name."""
        names = self.kind.names
        if names is None:
            return self.where(f"{self.alias}.{self.kind.item} IS NOT NULL"), f"{self.alias}.{self.kind.item}"
        join = f"JOIN {names.table} AS named ON named.{names.code} = {self.alias}.{self.kind.item}"
        return replace(self, joins=(*self.joins, join)), f"named.{names.name}"

    def select(self, columns: str, *, end: str = "") -> str:
        """The query for columns of these rows. `end` is what follows the conditions."""
        patient = "patient" if self.alias == "event" else f"{self.alias}_patient"
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

    def exist(self) -> str:
        """The condition that there is such a row."""
        return f"EXISTS (\n{self.select('1')}\n)"


@dataclass(frozen=True)
class Reading:
    """A question with the names that its terms were given."""

    question: Question
    names: tuple[Name, ...] = ()
    """One for each term of the question, in its order."""
    schema: Schema = MIMIC_III

    def kind(self, name: str) -> EventKind:
        """The kind of event of a name."""
        return self.schema.kinds[name]

    def kind_in(self, text: str) -> EventKind | None:
        """The kind of event that a text names."""
        return self.schema.kind_in(text)

    def chosen_visit(self, reference: VisitReference) -> tuple[str, str]:
        """The column that identifies a visit, and the query for the one that is meant."""
        column, table, begin, end = (
            ("HADM_ID", "ADMISSIONS", "ADMITTIME", "DISCHTIME") if reference.place == "hospital" else ("ICUSTAY_ID", "ICUSTAYS", "INTIME", "OUTTIME")
        )
        whose = f"SUBJECT_ID = {constant(self.question.patient)} AND " if self.question.patient is not None else ""
        if reference.which == "current":
            return column, f"SELECT {column} FROM {table} WHERE {whose}{end} IS NULL"
        direction = "ASC" if reference.which == "first" else "DESC"
        return column, f"SELECT {column} FROM {table} WHERE {whose}{end} IS NOT NULL ORDER BY {begin} {direction} LIMIT 1"

    def visit_condition(self, reference: VisitReference, kind: EventKind, alias: str) -> str:
        """The condition that an event belongs to the visit that a question means."""
        column, query = self.chosen_visit(reference)
        if reference.place == "icu" and kind.table not in self.schema.icu_tables:
            return f"{alias}.HADM_ID IN (SELECT HADM_ID FROM ICUSTAYS WHERE ICUSTAY_ID IN ({query}))"
        return f"{alias}.{column} IN ({query})"

    def named_in(self, clause: Clause | None) -> list[Name]:
        """The names of a clause."""
        return [] if clause is None else [self.names[number] for number in clause.terms]

    def rows(self, kind: EventKind, names: Sequence[Name] = (), *, windows: bool = True, related: bool = True) -> Rows:
        """The rows of an event that the question is about: its patients, its visit, its times, its other event.

        `names`: those that the event must have one of. `windows`, `related`: whether the times and the other event count.
        """
        question = self.question
        rows = named_rows(kind, names).where(*self.people())
        if question.visit is not None:
            rows = rows.where(self.visit_condition(question.visit, kind, "event"))
        if question.route is not None and kind.name == "drug":
            rows = rows.where(f"event.ROUTE = {quoted(question.route)}")
        if question.comparison is not None and kind.value is not None:
            rows = rows.where(f"event.{kind.value} {question.comparison.sign} {question.comparison.limit}")
        if windows:
            together = question.condition is not None and question.relation == "together"
            rows = rows.within(question.main.windows if together else question.windows)
        return rows.where(*self._other_event(rows)) if related else rows

    def people(self) -> list[str]:
        """Conditions on the patient and the visit."""
        question = self.question
        conditions = []
        if question.patient is not None:
            conditions.append(f"visit.SUBJECT_ID = {constant(question.patient)}")
        if question.gender is not None:
            conditions.append(f"patient.GENDER = {quoted(question.gender)}")
        if question.ages is not None:
            conditions += question.ages.conditions("visit.AGE")
        return conditions

    def _other_event(self, rows: Rows) -> list[str]:
        """The condition that the other event of the question happened to the same patient, on the same visit or day, or before."""
        question = self.question
        names = self.named_in(question.condition)
        if not names or question.condition is None:
            return []
        after = question.relation == "after"
        other = named_rows(names[0].kind, names, alias="other").within(question.windows if after else question.condition.windows)
        if question.visit is not None:
            other = other.where(self.visit_condition(question.visit, other.kind, "other"))
        if not after and question.closeness is None:
            return [f"visit.HADM_ID IN (\n{other.select('other.HADM_ID')}\n)"]
        conditions = ["other_visit.SUBJECT_ID = visit.SUBJECT_ID", *closeness_conditions(question.closeness, other.time, rows.time)]
        if after:
            conditions.append(f"{other.time} < {rows.time}")
        if re.search(r"\bother\b", question.main.text) and rows.kind == other.kind:
            conditions.append(f"event.{rows.kind.item} <> other.{other.kind.item}")
        return [other.where(*conditions).exist()]


def named_rows(kind: EventKind, names: Iterable[Name], alias: str = "event") -> Rows:
    """The rows of an event that have one of some names, whoever it happened to and whenever."""
    present = (f"{alias}.{column} IS NOT NULL" for column in kind.present)
    return Rows(kind, (*names_condition(kind, alias, names), *present), alias=alias)


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
