"""Conditions on ages, years and days: "aged below 50", "born before the year 2060", "for more than 5 days"."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """A condition on a number of DEMOGRAPHIC, and where it stands in the question."""

    column: str
    sign: str
    number: str
    start: int
    end: int

    @property
    def sql(self) -> str:
        """The condition."""
        return f"DEMOGRAPHIC.{self.column} {self.sign} {self.number}"


_YEAR = r"(?:the )?(?:year )?(?P<number>\d{4})\b"
_AGE = r"(?:the age of )?(?P<number>\d{1,3})\b(?: years?(?: of age| old)?| of age)?"
_DAYS = r"(?P<number>\d{1,4}) days?\b"
_GAP = r"(?:(?!\b(?:and|who|whose|with|patients?)\b)[^.?\d]){0,40}?"
"""Words between what happened and when, within one clause."""
_DIED = rf"\b(?:died?|dead|expired|death)\b{_GAP}"
_BORN = rf"\b(?:born|birth)\b{_GAP}"
_ADMITTED = rf"\b(?:admi\w+|came|hospitali[sz]ed)\b{_GAP}"
_BEFORE = r"\b(?:before|prior to|earlier than|less than)"
_AFTER = r"\b(?:after|later than|greater than)"
_MORE = r"(?:more than|over|above|greater than|longer than)"
_LESS = r"(?:less than|under|below|fewer than|shorter than)"
_RULES: tuple[tuple[str, str, str], ...] = (
    # or later, or earlier: before the bare comparisons that they contain
    ("DOD_YEAR", "<=", rf"{_DIED}\b(?:(?:in|on) or before|by|until|no later than) {_YEAR}"),
    ("DOD_YEAR", "<=", rf"{_DIED}{_YEAR} or (?:earlier|before)"),
    ("DOD_YEAR", ">=", rf"{_DIED}\b(?:(?:in|on) or after|since) {_YEAR}"),
    ("DOD_YEAR", "<", rf"{_DIED}{_BEFORE} {_YEAR}"),
    ("DOD_YEAR", ">", rf"{_DIED}{_AFTER} {_YEAR}"),
    ("DOB_YEAR", "<", rf"{_BORN}{_BEFORE} {_YEAR}"),
    ("DOB_YEAR", ">", rf"{_BORN}{_AFTER} {_YEAR}"),
    ("DOB_YEAR", "=", rf"{_BORN}\b(?:in|is) {_YEAR}"),
    ("ADMITYEAR", ">=", rf"{_ADMITTED}\b(?:(?:in|on) or after|since|from) {_YEAR}"),
    ("ADMITYEAR", ">=", rf"{_ADMITTED}{_YEAR} or (?:later|after)"),
    ("ADMITYEAR", "<", rf"{_ADMITTED}{_BEFORE} {_YEAR}"),
    ("ADMITYEAR", ">", rf"{_ADMITTED}{_AFTER} {_YEAR}"),
    ("ADMITYEAR", "=", rf"{_ADMITTED}\bin {_YEAR}"),
    ("DAYS_STAY", ">", rf"\b{_MORE} {_DAYS}"),
    ("DAYS_STAY", "<", rf"\b{_LESS} {_DAYS}"),
    ("DAYS_STAY", ">=", rf"\bat least {_DAYS}"),
    ("DAYS_STAY", "=", rf"\b(?:exactly |for |of |stayed |spent |is |were )+{_DAYS}"),
    ("AGE", ">=", rf"\b(?:aged?|age of|age is|who are) {_AGE} (?:or|and) (?:older|over|more|above)"),
    ("AGE", ">=", rf"\b(?:aged?|ages|age is)\b{_GAP}\b(?:at least|greater than or equal to|not less than) {_AGE}"),
    ("AGE", "<", rf"\b(?:younger than|{_LESS}) {_AGE}"),
    ("AGE", ">", rf"\b(?:older than|{_MORE}) {_AGE}"),
    ("AGE", "=", rf"\b(?:aged|age is|age of) {_AGE}"),
)
_PATTERNS = tuple((column, sign, re.compile(pattern)) for column, sign, pattern in _RULES)


def limits_in(text: str) -> list[Limit]:
    """The conditions on numbers in a question in lower case, none overlapping another."""
    found: list[Limit] = []
    for column, sign, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if not any(match.start() < other.end and other.start < match.end() for other in found):
                found.append(Limit(column, sign, match["number"], match.start(), match.end()))
    return found
