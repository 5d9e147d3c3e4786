"""What is known of a column of the gold beside its values, and how a cell of the answer is read in it.

- A yes-or-no column: truth values in every form are the same two values.
- A column with a unit that follows from the SQL (days of a stay, years of age): `"12 days"` and a duration of twelve days are 12. Units of time are
  converted, as precisely as they are shown (`"83.2 hours"` is a rounded form of 3.46597 days), and added up (`"5 days, 3 hours"`). Another unit, or
  a unit where none is known, is another text.
- A share: `"45 %"` is the number that the gold's scale gives it.
- A coded column: the code and its plain word are one value, either way (`m` and `male`). Only codes that stand for one word in all tables are in
  `CODED_VALUES`. Routes of administration are not: the tables hold `po` beside `oral` and `iv` beside `intravenous` as values of their own.
- Its part: the one word of `PARTS` in its name (`min(valuenum)`: the minimum). A column of an answer that is named `lowest` is that one and no other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from medagentgym.judges.values import Value, as_truth, converted_value, fold_text, number_value, read_number

Share = Literal["fraction", "percentage"]

TIME_UNITS: dict[str, float] = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
"""Seconds of the units that are converted into each other. Months and years are no fixed numbers of days."""

UNIT_WORDS: dict[str, str] = {
    word: unit
    for unit, words in {
        "second": "second seconds sec secs s",
        "minute": "minute minutes min mins",
        "hour": "hour hours hr hrs h",
        "day": "day days d",
        "week": "week weeks",
        "month": "month months",
        "year": "year years yr yrs y yearold yearsold yo y/o",
        "ml": "ml mls milliliter milliliters millilitre millilitres",
        "dollar": "$ us$ usd dollar dollars",
        "percent": "% percent",
    }.items()
    for word in words.split()
}
"""Words for units, without spaces."""

PARTS: Mapping[str, str] = {
    "minimum": "min minimum lowest smallest",
    "maximum": "max maximum highest largest",
    "mean": "avg average mean",
    "sum": "sum total",
    "count": "count counts",
    "first": "first earliest",
    "last": "last latest",
    "systolic": "systolic systemicsystolic sbp",
    "diastolic": "diastolic systemicdiastolic dbp",
}
"""What a column may be of several alike, and the words for it."""

_PART_OF_WORD = {word: part for part, words in PARTS.items() for word in words.split()}
_WORDS = re.compile(r"[A-Z]*[a-z]+|[A-Z]+")
"""The words of a name: `maxValue`, `max_value` and `MAX(value)` have the same."""
_LONGEST_NAME = 1_000

_GENDERS = {"m": "male", "f": "female"}
_LANGUAGES = {"engl": "english", "span": "spanish", "russ": "russian", "poli": "polish", "mand": "mandarin", "port": "portuguese"}
_CARE_UNITS = {
    "ccu": "coronary care unit",
    "csru": "cardiac surgery recovery unit",
    "micu": "medical intensive care unit",
    "sicu": "surgical intensive care unit",
    "tsicu": "trauma/surgical intensive care unit",
    "nicu": "neonatal intensive care unit",
}
_DEATH = {"0": "alive", "1": "dead", "expired": "dead", "deceased": "dead", "died": "dead", "false": "alive", "true": "dead"}

CODED_VALUES: Mapping[str, Mapping[str, str]] = {
    "gender": _GENDERS,
    "sex": _GENDERS,
    "language": _LANGUAGES,
    "careunit": _CARE_UNITS,
    "first_careunit": _CARE_UNITS,
    "last_careunit": _CARE_UNITS,
    "expire_flag": _DEATH,
    "hospitaldischargestatus": _DEATH,
}
"""Column -> code -> plain word. Care units: https://mimic.mit.edu/docs/iii/tables/transfers/. The flag of death is that of TREQS (MIMIC-III's
`HOSPITAL_EXPIRE_FLAG`)."""

_AMOUNT_OF_TIME = re.compile(r"(?P<number>\d{1,7}) ?(?P<unit>[a-z]+)(?:,? and |, | |$)", re.ASCII)
_LONGEST_AMOUNT = 80
_UNITS_OF_DURATIONS = ("day", "hour")
_NUMBER_WITH_UNIT = re.compile(r"(?P<dollar>(?:(?:us ?)?\$ ?|usd ?)?)(?P<number>[+-]?[\d.,]+)(?P<unit>[a-z%$ /-]*)", re.ASCII)


@dataclass(frozen=True)
class Column:
    """A column of the gold."""

    name: str | None = None
    """Its name in the SQL's result; None where it is not known."""
    boolean: bool = False
    unit: str | None = None
    """The unit of its numbers, one of the values of `UNIT_WORDS`."""
    share: Share | None = None
    """Its numbers are shares, written as this."""

    @cached_property
    def plain_name(self) -> str | None:
        """The name as names are compared, without its table: `PATIENTS.GENDER` is `gender`."""
        return None if self.name is None else plain_name(self.name)

    def read(self, value: Value) -> Value:
        """`value` as this column reads it; the same for the gold's cells and the answer's."""
        if not self.reads_values:
            return value
        if self.boolean:
            return as_truth(value)
        if value.kind == "text":
            return self._quantity(str(value.content)) or self._word(value)
        if value.kind == "duration" and self.unit in TIME_UNITS:
            return _length_of_time(value.content, self.unit)
        if value.kind in ("number", "boolean") and self._codes is _DEATH:
            return self._word(Value("text", str(value.content).casefold()))
        return value

    @cached_property
    def reads_values(self) -> bool:
        """Whether `read` can change a value."""
        return self.boolean or self.unit is not None or self.share is not None or bool(self._codes)

    @cached_property
    def _codes(self) -> Mapping[str, str]:
        if self.name is None:
            return _GENDERS
        return CODED_VALUES.get(self.plain_name or "", {})

    def _word(self, value: Value) -> Value:
        word = self._codes.get(value.content)
        return value if word is None else Value("text", word)

    def _quantity(self, text: str) -> Value | None:
        if self.unit is None and self.share is None:
            return None
        seconds = _added_up(text) if self.unit in TIME_UNITS else None
        if seconds is not None:
            return number_value(seconds / TIME_UNITS[str(self.unit)])
        match = _NUMBER_WITH_UNIT.fullmatch(text)
        number = read_number(match["number"]) if match else None
        if match is None or number is None:
            return None
        given = UNIT_WORDS.get((match["dollar"] + match["unit"]).replace(" ", "").replace("-", ""))
        if given == "percent" and self.share == "fraction":
            return number_value(number.content / 100, number.decimals + 2)
        if given is not None and given in (self.unit, "percent" if self.share == "percentage" else None):
            return number
        if given in TIME_UNITS and self.unit in TIME_UNITS:
            return converted_value(number, TIME_UNITS[given] / TIME_UNITS[self.unit])
        return None


def _length_of_time(seconds: float, unit: str) -> Value:
    """A duration, which has no decimals to show, as the number of days or hours or of `unit` that has the fewest, in `unit`."""
    units = dict.fromkeys((unit, *_UNITS_OF_DURATIONS))
    numbers = [converted_value(number_value(seconds / TIME_UNITS[name]), TIME_UNITS[name] / TIME_UNITS[unit]) for name in units]
    return max(numbers, key=lambda number: 10.0**-number.decimals * number.shown_in)


def _added_up(text: str) -> float | None:
    """Seconds of a length of time in several units, the larger ones first; None for any other text."""
    if len(text) > _LONGEST_AMOUNT:
        return None
    lengths: list[float] = []
    seconds, position = 0.0, 0
    while position < len(text):
        amount = _AMOUNT_OF_TIME.match(text, position)
        length = TIME_UNITS.get(UNIT_WORDS.get(amount["unit"], "")) if amount else None
        if amount is None or length is None or (lengths and length >= lengths[-1]):
            return None
        lengths.append(length)
        seconds += int(amount["number"]) * length
        position = amount.end()
    return seconds if len(lengths) > 1 else None


def columns_of(gold: Mapping[str, Any]) -> tuple[Column, ...] | None:
    """The columns of a gold as JSON data; None where only a flat list of values is known."""
    names = gold.get("columns")
    if names is None:
        return None
    boolean, units, share = bool(gold.get("boolean", False)), gold.get("units") or [None] * len(names), gold.get("percent")
    return tuple(Column(str(name), boolean, unit, share if len(names) == 1 else None) for name, unit in zip(names, units, strict=True))


def parts_of(name: str) -> set[str]:
    """The keys of `PARTS` of which a column's name has a word; none for a sub-query, whose words are not what it is."""
    words = [word.lower() for word in _WORDS.findall(name[:_LONGEST_NAME])]
    return set() if "select" in words else {_PART_OF_WORD[word] for word in words if word in _PART_OF_WORD}


def plain_name(name: str) -> str:
    """The name of a column as names are compared: case folded, without quotation marks and without its table."""
    folded = fold_text(name).replace('"', "").replace("`", "")
    return folded.rpartition(".")[2] if folded.replace(".", "").replace("_", "").isalnum() else folded
