"""What a question says in fixed words: which patients, in which order, how often, compared with what."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

NUMBER_WORDS = {"one": 1, "once": 1, "two": 2, "twice": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_NUMBER = rf"(?:\d+|{'|'.join(NUMBER_WORDS)})"


def number(word: str) -> int:
    """A number in digits or words."""
    return int(word) if word.isdigit() else NUMBER_WORDS[word]


@dataclass(frozen=True)
class Range:
    """Limits of a number, both included."""

    low: int | None = None
    high: int | None = None

    def conditions(self, column: str) -> list[str]:
        """The limits as SQL conditions."""
        limits = ((">=", self.low), ("<=", self.high))
        return [f"{column} {sign} {limit}" for sign, limit in limits if limit is not None]


@dataclass(frozen=True)
class Comparison:
    """A measured value above or below a limit."""

    sign: Literal["<", ">"]
    limit: str


@dataclass(frozen=True)
class Order:
    """Which one of several, in the order of time."""

    descending: bool
    skipped: int = 0
    """How many are passed over before it."""

    def clause(self, *columns: str) -> str:
        """The order as the end of an SQL query for one row."""
        direction = "DESC" if self.descending else "ASC"
        offset = f" OFFSET {self.skipped}" if self.skipped else ""
        return f"ORDER BY {', '.join(f'{column} {direction}' for column in columns)} LIMIT 1{offset}"


FIRST, LAST = Order(False), Order(True)
_ORDERS = {
    "second to last": Order(True, 1),
    "first": FIRST,
    "earliest": FIRST,
    "second": Order(False, 1),
    "third": Order(False, 2),
    "last": LAST,
    "latest": LAST,
}
_ORDER = re.compile(r"\b(second to last|second|third|first|earliest|latest|last)\b(?! long| for)")


def orders(text: str) -> list[Order]:
    """All orders that a text names, from left to right."""
    return [_ORDERS[match.group()] for match in _ORDER.finditer(text)]


_AGGREGATES = (
    (r"\b(?:max|maximum|highest|largest|greatest)\b", "MAX"),
    (r"\b(?:min|minimum|lowest|smallest)\b", "MIN"),
    (r"\b(?:average|mean|avg)\b", "AVG"),
    (r"\b(?:total|sum|altogether|in all)\b", "SUM"),
)


def aggregate(text: str) -> str | None:
    """The SQL function for what a text wants of several values: the extreme before the mean before the sum."""
    return next((function for words, function in _AGGREGATES if re.search(words, text)), None)


_RANK = re.compile(rf"\b({_NUMBER})\b")


def rank(text: str) -> int | None:
    """The number of "the three most frequent", "the top four"."""
    match = _RANK.search(text)
    return None if match is None else number(match[1])


_PERIODS = (("daily|day|date", "%Y-%m-%d"), ("monthly|month", "%Y-%m"), ("yearly|annual|year", "%Y"))


def period(text: str) -> str | None:
    """The format that tells the periods of a list apart ("daily", "per month")."""
    for words, form in _PERIODS:
        if re.search(rf"\b(?:(?:{words.split('|')[0]})\b|(?:per|each|every) (?:{words}))", text):
            return form
    return None


@dataclass(frozen=True)
class Taken:
    """The rest of a text, and what was taken out of it."""

    text: str
    found: re.Match[str] | None


def take(pattern: re.Pattern[str], text: str, replacement: str = " | ") -> Taken:
    """Take the first match of a pattern out of a text."""
    match = pattern.search(text)
    return Taken(text, None) if match is None else Taken(text[: match.start()] + replacement + text[match.end() :], match)


PATIENT = re.compile(r"\bpatients? (?:id |number |no\.? )?#?(\d+(?:-\d+)?)\b(?:'s)?")
ROUTE = re.compile(r"\b(?:via|through|by) (?:the )?(?!which|what)([\w./ -]+?) route\b")
REPEATS = re.compile(
    rf"\b(?P<exact>exactly )?(?P<least>at least )?(?P<count>{_NUMBER})(?P<more> or more)?(?: times|(?<=once)|(?<=twice))(?P<after> or more)?(?![\w])"
)
AGES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Range]], ...] = (
    (re.compile(r"\b(?:aged |age |of age )?(?P<low>\d+) (?:or (?:above|older|over)|and (?:above|older|over))"), lambda m: Range(int(m["low"]), None)),
    (re.compile(r"\b(?:aged|in their|age) (?P<decade>\d0)s\b"), lambda m: Range(int(m["decade"]), int(m["decade"]) + 9)),
    (re.compile(r"\baged (?:between )?(?P<low>\d+) (?:to|and|-) (?P<high>\d+)\b"), lambda m: Range(int(m["low"]), int(m["high"]))),
    (re.compile(r"\baged (?P<low>\d+)\b"), lambda m: Range(int(m["low"]), int(m["low"]))),
)
GENDER = re.compile(r"\b(?P<f>female|women|woman)\b|\b(?P<m>male|men|man)\b")
COMPARISON = re.compile(
    r"\b(?P<word>less|lower|smaller|below|under|greater|higher|larger|more|above|over) than (?P<limit>-?\d+(?:\.\d+)?)\b(?! (?:year|month|day|hour))"
)
RELATIVE_COMPARISON = re.compile(r"\b(?P<word>less|lower|smaller|greater|higher|larger|more) than\b")
LOWER_WORDS = frozenset({"less", "lower", "smaller", "below", "under"})
MEASURED = re.compile(r"\b(?:the )?value of (?P<value>-?\d+(?:\.\d+)?)(?= in)")
SPAN = re.compile(rf"\b(?P<count>{_NUMBER})[ -](?P<unit>year|month|day)(?:\(s\)|s)?\b")


def sign(word: str) -> Literal["<", ">"]:
    """The sign that a word of comparison stands for."""
    return "<" if word in LOWER_WORDS else ">"


def repeats(match: re.Match[str]) -> tuple[str, int]:
    """Sign and number of "exactly two times", "at least three times", "two or more times"."""
    least = match["least"] or match["more"] or match["after"]
    return (">=" if least else "="), number(match["count"])
