"""Dates and gestational ages as people and programs write them, in one text.

**Dates.** Month, day and year in numbers (`01/09/2007`, `1-9-2007`, `1/9/07`) are read in that order, as MedCalc-Bench writes its golds; where the
first number can be no month (`13/01/2007`), it is the day. Everything else that leaves no doubt is read as it stands: ISO 8601 (also with the time
00:00), `20070109`, `2007/01/09`, names of months in either order (`9 January 2007`, `Jan. 9th, 2007`, `09-Jan-07`). Two-digit years are those from
1969 to 2068.

**Gestational ages.** Weeks and 0 to 6 days: `14 weeks and 1 day`, `14 weeks + 1 day`, `14w1d`, `14+1`, `14+1 weeks`, `14 1/7`, `1 day, 14 weeks`;
also a duration of that many days (`P99DT0H0M0S`, a `timedelta`). Two bare numbers are weeks, then days.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date

DAYS_A_WEEK = 7
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_PIVOT = 69
"""Two-digit years from this one on are in the twentieth century, as in POSIX."""

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
    re.compile(rf"{_DAY}-{_MONTH}-(?P<year>\d{{2}})", re.ASCII),
)
_WEEKDAY = re.compile(r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? ")

_WEEKS = r"(\d{1,3})(?:\.0)? ?(?:weeks?|wks?\.?|w)"
_DAYS = r"(\d{1,2})(?:\.0)? ?(?:days?|d)"
_JOINED = r"(?:,| and|, and| ?\+| ?&)? ?"
_WEEKS_AND_DAYS = re.compile(rf"{_WEEKS}(?:{_JOINED}{_DAYS})?", re.ASCII)
_DAYS_AND_WEEKS = re.compile(rf"{_DAYS}{_JOINED}{_WEEKS}", re.ASCII)
_UNIT = r"(?: ?(?:weeks?|wks?\.?|w))?"
_PLUS = re.compile(rf"(\d{{1,3}}) ?\+ ?(\d){_UNIT}", re.ASCII)
_PAIR = re.compile(r"(\d{1,3}) ?, ? ?(\d)", re.ASCII)
_SEVENTHS = re.compile(rf"(\d{{1,3}}) (\d)/7{_UNIT}", re.ASCII)
_DURATION = re.compile(r"p(\d{1,4})dt0h0m0s", re.ASCII)


def folded_date(text: str) -> str:
    """Text with compatibility characters, case and white space folded."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def date_of_text(text: str) -> date | None:
    """The date that a text is, its case and white space folded; None where it is none."""
    text = _WEEKDAY.sub("", text, count=1) if _WEEKDAY.match(text) else text
    if match := _NUMBERS.fullmatch(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        return in_american_order(first, second, _full_year(year, match[4]))
    if match := _YEAR_FIRST.fullmatch(text):
        return date_of_numbers(int(match[1]), int(match[3]), int(match[4]))
    if match := _COMPACT.fullmatch(text):
        return date_of_numbers(int(match[1]), int(match[2]), int(match[3]))
    for pattern in _NAMED:
        if match := pattern.fullmatch(text):
            month = next(number for number, name in enumerate(_MONTHS, start=1) if name.startswith(match["month"][:3]))
            return date_of_numbers(_full_year(int(match["year"]), match["year"]), month, int(match["day"]))
    return None


def _full_year(year: int, written: str) -> int:
    return year + (1900 if year >= _PIVOT else 2000) if len(written) == 2 else year


def in_american_order(first: int | None, second: int | None, year: int | None) -> date | None:
    """Month and day, or day and month where the first number can be no month."""
    month_first = first is not None and first <= len(_MONTHS)
    return date_of_numbers(year, first, second) if month_first else date_of_numbers(year, second, first)


def date_of_numbers(year: int | None, month: int | None, day: int | None) -> date | None:
    """The day of the calendar; None where there is none, or a number is missing."""
    if year is None or month is None or day is None:
        return None
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def weeks_of_text(text: str) -> tuple[int, int] | None:
    """The weeks and days that a text is, its case and white space folded; None where it is none."""
    if match := _DURATION.fullmatch(text):
        return divmod(int(match[1]), DAYS_A_WEEK)
    if match := _DAYS_AND_WEEKS.fullmatch(text):
        return weeks_and_days_of_numbers(int(match[2]), int(match[1]))
    match = _WEEKS_AND_DAYS.fullmatch(text) or _PLUS.fullmatch(text) or _PAIR.fullmatch(text) or _SEVENTHS.fullmatch(text)
    return None if match is None else weeks_and_days_of_numbers(int(match[1]), int(match[2] or 0))


def weeks_and_days_of_numbers(weeks: int | None, days: int | None) -> tuple[int, int] | None:
    """Weeks and 0 to 6 days; None for other numbers, or where one is missing."""
    return (weeks, days) if weeks is not None and days is not None and weeks >= 0 and 0 <= days < DAYS_A_WEEK else None
