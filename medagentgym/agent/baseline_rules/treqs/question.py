"""The reading of a question on the five tables, and its SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from medagentgym.agent.baseline_rules.treqs.columns import ASKED, ASKED_BY_TABLE, TABLES
from medagentgym.agent.baseline_rules.treqs.limits import Limit, limits_in
from medagentgym.agent.baseline_rules.treqs.values import Match, chosen

_EXTREMES = (
    ("MAX", r"\b(?:maximum|max|highest|oldest|longest|greatest|largest)\b"),
    ("MIN", r"\b(?:minimum|min|lowest|youngest|shortest|least|smallest)\b"),
    ("AVG", r"\b(?:average|avg|mean)\b"),
)
_NUMBER = re.compile(r"\b(?:how many|number of|count|total|calculate)\b")
_STAY = re.compile(r"\b(?:days?|stay\w*|length)\b")
_SUBJECT = re.compile(r"\b(?:subject|patient)s?(?:'s)?(?: with)?(?: the)?(?: subject)?(?: id| number)?(?: is| of|:)?(?: id)? (?P<number>\d+)\b")
_FLAGS: tuple[tuple[str, str], ...] = (
    ("DEMOGRAPHIC.GENDER = 'F'", r"\b(?:female|woman|women)s?\b|\bgender(?: is)? f\b"),
    ("DEMOGRAPHIC.GENDER = 'M'", r"\b(?:male|man|men)s?\b|\bgender(?: is)? m\b"),
    ("DEMOGRAPHIC.EXPIRE_FLAG = 0", r"\b(?:alive|survived?|living|not dead)\b|\bdeath status(?: is)? (?:0|alive)\b|\b0 death status\b"),
    ("DEMOGRAPHIC.EXPIRE_FLAG = 1", r"\b(?:dead|died|expired|deceased)\b(?! ?/)|\bdeath status(?: is)? (?:1|dead)\b|\b1 death status\b"),
    ("DEMOGRAPHIC.MARITAL_STATUS = 'SINGLE'", r"\bunmarried\b"),
    ("DEMOGRAPHIC.MARITAL_STATUS = 'WIDOWED'", r"\bwidow(?:er)?s?\b"),
    ("DEMOGRAPHIC.LANGUAGE = 'ENGL'", r"\benglish\b"),
    ("DEMOGRAPHIC.LANGUAGE = 'SPAN'", r"\bspanish\b"),
    ("DEMOGRAPHIC.LANGUAGE = 'RUSS'", r"\brussian\b(?= speak| language)|(?<=speak )russian\b|(?<=language is )russian\b"),
    ("DEMOGRAPHIC.LANGUAGE IN ('PTUN', 'PORT')", r"\bportuguese\b(?= speak| language)|(?<=speak )portuguese\b|(?<=language is )portuguese\b"),
    ("DEMOGRAPHIC.LANGUAGE = 'CANT'", r"\bcantonese\b"),
)
"""SQL and pattern of conditions whose words are no value of the tables."""


@dataclass(frozen=True)
class Head:
    """What is asked for."""

    kind: Literal["count", "extreme", "columns"]
    selected: str
    tables: frozenset[str] = frozenset()


@dataclass
class Reading:
    """A question, taken apart."""

    text: str
    """The question in lower case, with what has been read blanked out: positions are those of the question."""
    limits: list[Limit] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    subject: str | None = None

    @property
    def conditions(self) -> list[str]:
        """The conditions read so far, as SQL."""
        return [*(limit.sql for limit in self.limits), *(match.sql for match in self.matches), *self.flags]

    @property
    def names_patient(self) -> bool:
        """Whether the question is about one patient, by number or name."""
        return self.subject is not None or any(match.column.name == "NAME" for match in self.matches)

    def blank(self, start: int, end: int) -> None:
        """Take a stretch out."""
        self.text = self.text[:start] + "\x00" * (end - start) + self.text[end:]


def folded(text: str) -> str:
    """A question as it is read: lower case, single spaces."""
    return " ".join(text.lower().split())


def read(text: str, matches: Sequence[Match]) -> Reading:
    """Read a folded question, in which `matches` are values of the tables: limits that are no part of a value, the patient's number, the values that
    are no part of these, and conditions that have words of their own.
    """
    reading = Reading(text)
    for limit in limits_in(text):
        if not any(match.start <= limit.start and limit.end <= match.end for match in matches):
            reading.limits.append(limit)
            reading.blank(limit.start, limit.end)
    if match := _SUBJECT.search(reading.text):
        reading.subject = match["number"]
        reading.blank(*match.span())
    reading.matches = chosen(matches, [blank.span() for blank in re.finditer(r"\x00+", reading.text)])
    for value in reading.matches:
        reading.blank(value.start, value.end)
    for sql, pattern in _FLAGS:
        for match in re.finditer(pattern, reading.text):
            if sql not in reading.flags:
                reading.flags.append(sql)
            reading.blank(*match.span())
    return reading


def head_of(reading: Reading) -> Head:
    """What a question asks for, from what has not been read as a condition."""
    text = reading.text
    if not reading.names_patient or _NUMBER.search(text):
        function = next((name for name, pattern in _EXTREMES if re.search(pattern, text)), None)
        if function is not None and re.search(r"\b(?:age|old|young|oldest|youngest)\b|\bdays?\b|\bstay", text):
            column = "DAYS_STAY" if _STAY.search(text) and not re.search(r"\bage\b", text) else "AGE"
            return Head("extreme", f"{function}(DEMOGRAPHIC.{column})", frozenset({"DEMOGRAPHIC"}))
        if not reading.names_patient or not re.search(r"\bdays\b", text):
            return Head("count", "count(DISTINCT DEMOGRAPHIC.SUBJECT_ID)", frozenset({"DEMOGRAPHIC"}))
    asked: list[tuple[int, str, str]] = []
    for table, column, pattern in (*ASKED, *ASKED_BY_TABLE):
        is_named = any(table == other and (column == name or (table, column, pattern) in ASKED_BY_TABLE) for _, other, name in asked)
        if not is_named and (match := re.search(pattern, text)):
            asked.append((match.start(), table, column))
            text = text[: match.start()] + "\x00" * (match.end() - match.start()) + text[match.end() :]
    selected = ", ".join(f"{table}.{column}" for _, table, column in sorted(asked))
    return Head("columns", selected or "DEMOGRAPHIC.SUBJECT_ID", frozenset(table for _, table, _ in asked) or frozenset({"DEMOGRAPHIC"}))


def query(head: Head, conditions: Sequence[str]) -> str:
    """SQL: the tables of head and conditions joined on the admission."""
    used = [table for table in TABLES if table in head.tables or any(re.search(rf"\b{table}\.", condition) for condition in conditions)]
    joins = "".join(f"\nJOIN {table} ON {table}.HADM_ID = {used[0]}.HADM_ID" for table in used[1:])
    where = f"\nWHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {head.selected}\nFROM {used[0]}{joins}{where}"
