"""Dates and gestational ages as people and programs write them.

**Dates.** Month, day and year in numbers (`01/09/2007`, `1-9-2007`, `1/9/07`) are read in that order, as MedCalc-Bench writes its golds; where the
first number can be no month (`13/01/2007`), it is the day. Everything else that leaves no doubt is read as it stands: ISO 8601 (also with the time
00:00), `20070109`, `2007/01/09`, names of months in either order, lists `[2007, 1, 9]` and `[1, 9, 2007]`, mappings with the keys year, month, day.
Two-digit years are those from 1969 to 2068.

**Gestational ages.** Weeks and 0 to 6 days: `"('14 weeks', '1 days')"`, `[14, 1]`, `"14 weeks and 1 day"`, `"14w1d"`, `"14+1"`, `"14 1/7 weeks"`,
`["1 day", "14 weeks"]`, mappings with the keys weeks and days; also a duration of that many days (`P99DT0H0M0S`, a `timedelta`). Two bare numbers are
weeks, then days.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import Any

from medagentgym.sandbox.answers import is_scalar, kind

DAYS_A_WEEK = 7
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_PIVOT = 69
"""Two-digit years from this one on are in the twentieth century, as in POSIX."""
_LONGEST_TEXT = 100

_NUMBERS = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})", re.ASCII)
_YEAR_FIRST = re.compile(r"(\d{4})([/.-])(\d{1,2})\2(\d{1,2})(?:[ t]00:00(?::00(?:\.0+)?)?(?:z|\+00:00)?)?", re.ASCII)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})", re.ASCII)
_MONTH = rf"(?P<month>{'|'.join(rf'{name[:3]}(?:{name[3:]})?' for name in _MONTHS)}|sept)\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_NAMED = (
    re.compile(rf"{_MONTH}[ -]{_DAY},?[ -]{_YEAR}", re.ASCII),
    re.compile(rf"{_DAY}[ -](?:of )?{_MONTH},?[ -]{_YEAR}", re.ASCII),
    re.compile(rf"{_YEAR}[ -]{_MONTH}[ -]{_DAY}", re.ASCII),
)
_WEEKDAY = re.compile(r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? ")

_WEEKS = r"(\d{1,3})(?:\.0)? ?(?:weeks?|wks?\.?|w)"
_DAYS = r"(\d{1,2})(?:\.0)? ?(?:days?|d)"
_WEEKS_AND_DAYS = re.compile(rf"{_WEEKS}(?:(?:,| and|, and)? ?{_DAYS})?", re.ASCII)
_DAYS_AND_WEEKS = re.compile(rf"{_DAYS}(?:,| and|, and)? ?{_WEEKS}", re.ASCII)
_PLUS = re.compile(r"(\d{1,3}) ?(?:\+|, ?) ?(\d)", re.ASCII)
_SEVENTHS = re.compile(r"(\d{1,3}) (\d)/7 ?(?:weeks?|wks?\.?|w)", re.ASCII)
_DURATION = re.compile(r"p(\d{1,4})dt0h0m0s", re.ASCII)
_UNQUOTED = str.maketrans("", "", "'\"()[]")


def read_date(data: Any) -> date | None:
    """The date that an answer (JSON data of `medagentgym.sandbox.answers`) states; None where it states none."""
    if isinstance(data, str):
        return date_of_text(_folded(data)) if len(data) <= _LONGEST_TEXT else None
    whole = _single(data)
    if whole is not None:
        return read_date(whole)
    if kind(data) == "mapping":
        parts = {str(key).casefold(): value for key, value in data["items"] if is_scalar(key)}
        return _date(*(_whole(parts.get(name)) for name in ("year", "month", "day"))) if len(parts) == 3 == len(data["items"]) else None
    if isinstance(data, list) and len(data) == 3:
        first, second, third = map(_whole, data)
        if first is not None and first >= 1000:
            return _date(first, second, third)
        if third is not None and third >= 1000:
            return _in_american_order(first, second, third)
    return None


def read_weeks_and_days(data: Any) -> tuple[int, int] | None:
    """The weeks and days (0 to 6) that an answer states; None where it states none."""
    if isinstance(data, str):
        return _weeks_of_text(_folded(data.translate(_UNQUOTED))) if len(data) <= _LONGEST_TEXT else None
    whole = _single(data)
    if whole is not None:
        return read_weeks_and_days(whole)
    if kind(data) == "mapping":
        parts = {str(key).casefold().removesuffix("s"): value for key, value in data["items"] if is_scalar(key)}
        return _weeks_and_days(_whole(parts.get("week")), _whole(parts.get("day"))) if len(parts) == 2 == len(data["items"]) else None
    if isinstance(data, list) and len(data) == 2:
        if all(isinstance(part, str) for part in data):
            return read_weeks_and_days(", ".join(data))
        return _weeks_and_days(_whole(data[0]), _whole(data[1]))
    return None


def _folded(text: str) -> str:
    """Text with compatibility characters, case and white space folded."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _single(data: Any) -> Any:
    """The one element of a list of one, or the one cell of a table; None for anything else."""
    if kind(data) == "table" and len(data["rows"]) == 1 == len(data["columns"]):
        return data["rows"][0][0]
    return data[0] if isinstance(data, list) and len(data) == 1 and not isinstance(data[0], list) else None


def date_of_text(text: str) -> date | None:
    """The date that a text is, its case and white space folded; None where it is none."""
    text = _WEEKDAY.sub("", text, count=1) if _WEEKDAY.match(text) else text
    if match := _NUMBERS.fullmatch(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        if len(match[4]) == 2:
            year += 1900 if year >= _PIVOT else 2000
        return _in_american_order(first, second, year)
    if match := _YEAR_FIRST.fullmatch(text):
        return _date(int(match[1]), int(match[3]), int(match[4]))
    if match := _COMPACT.fullmatch(text):
        return _date(int(match[1]), int(match[2]), int(match[3]))
    for pattern in _NAMED:
        if match := pattern.fullmatch(text):
            month = next(number for number, name in enumerate(_MONTHS, start=1) if name.startswith(match["month"][:3]))
            return _date(int(match["year"]), month, int(match["day"]))
    return None


def _in_american_order(first: int | None, second: int | None, year: int | None) -> date | None:
    """Month and day, or day and month where the first number can be no month."""
    month_first = first is not None and first <= len(_MONTHS)
    return _date(year, first, second) if month_first else _date(year, second, first)


def _date(year: int | None, month: int | None, day: int | None) -> date | None:
    if year is None or month is None or day is None:
        return None
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def _weeks_of_text(text: str) -> tuple[int, int] | None:
    if match := _DURATION.fullmatch(text):
        return divmod(int(match[1]), DAYS_A_WEEK)
    if match := _DAYS_AND_WEEKS.fullmatch(text):
        return _weeks_and_days(int(match[2]), int(match[1]))
    match = _WEEKS_AND_DAYS.fullmatch(text) or _PLUS.fullmatch(text) or _SEVENTHS.fullmatch(text)
    return None if match is None else _weeks_and_days(int(match[1]), int(match[2] or 0))


def _weeks_and_days(weeks: int | None, days: int | None) -> tuple[int, int] | None:
    return (weeks, days) if weeks is not None and days is not None and weeks >= 0 and 0 <= days < DAYS_A_WEEK else None


def _whole(value: Any) -> int | None:
    """A whole number, also as float or text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if re.fullmatch(r" *\d{1,4} *", value, re.ASCII) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e6 else None
    return value if isinstance(value, int) else None


def show_weeks_and_days(weeks_and_days: Sequence[int]) -> str:
    """For example `14 weeks 1 day`."""
    return " ".join(f"{number} {unit}{'' if number == 1 else 's'}" for number, unit in zip(weeks_and_days, ("week", "day"), strict=True))
