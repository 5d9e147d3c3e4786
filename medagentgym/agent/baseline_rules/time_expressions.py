"""Times in a question, as conditions: "in 2103", "since 3 months ago", "on 05/26/last year", "on the first icu visit"."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

GAP = " | "
"""What stands in the question where something that is understood was taken out."""

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")


@dataclass(frozen=True)
class TimeWindow:
    """A stretch of time. Its limits are SQL expressions."""

    start: str | None = None
    """First moment of it."""
    end: str | None = None
    """Moment before which it ends."""
    until: str | None = None
    """Last moment of it."""

    def conditions(self, column: str) -> list[str]:
        """The window as SQL conditions on a column."""
        limits = ((">=", self.start), ("<", self.end), ("<=", self.until))
        return [f"{column} {sign} {limit}" for sign, limit in limits if limit is not None]


@dataclass(frozen=True)
class VisitReference:
    """One visit of a patient. The first and the last are those among the completed ones."""

    place: Literal["hospital", "icu"]
    which: Literal["first", "last", "current"]


@dataclass(frozen=True)
class TimeReading:
    """A question without its times, and the times."""

    text: str
    """The question, with a mark where each time was taken out: `window_mark(0)` for the first window, `GAP` for a visit."""
    windows: tuple[TimeWindow, ...]
    visit: VisitReference | None


def window_mark(number: int) -> str:
    """What stands in the text for a window."""
    return f" |t{number}| "


def read_times(question: str, now: datetime) -> TimeReading:
    """Take the times out of a question in lower case, from left to right."""
    text, visit = _take_visit(question)
    windows: list[TimeWindow] = []
    while (found := _first_window(text, now)) is not None:
        match, window = found
        text = text[: match.start()] + window_mark(len(windows)) + text[match.end() :]
        windows.append(window)
    return TimeReading(text, tuple(windows), visit)


# --- visits -------------------------------------------------------------------------------------------------------------------------------------

_VISIT = re.compile(
    r"\b(?:on|in|during|of|from|at) (?:the |his |her |their )?(?P<which>first|last|current) "
    r"(?P<place>hospital|icu|intensive care unit) (?:visit|stay|encounter|admission)\b"
)


def _take_visit(text: str) -> tuple[str, VisitReference | None]:
    match = _VISIT.search(text)
    if match is None:
        return text, None
    place: Literal["hospital", "icu"] = "hospital" if match["place"] == "hospital" else "icu"
    which: Literal["first", "last", "current"] = "current" if match["which"] == "current" else "first" if match["which"] == "first" else "last"
    return _VISIT.sub(GAP, text), VisitReference(place, which)


# --- periods of the calendar --------------------------------------------------------------------------------------------------------------------

_YEAR = r"(?P<year>\d{4}|(?:this|last|the current|the previous|the last) year)"
_MONTH_NAME = rf"(?P<month>{'|'.join(MONTHS)})"

Period = tuple[datetime, datetime]


def _year(word: str, now: datetime) -> int:
    if word.isdigit():
        return int(word)
    return now.year if word in ("this year", "the current year") else now.year - 1


def _month(word: str) -> int:
    return int(word) if word.isdigit() else MONTHS.index(word) + 1


def _days(start: datetime) -> Period:
    return start, start + timedelta(days=1)


def _months(year: int, month: int) -> Period:
    return datetime(year, month, 1), datetime(year + month // 12, month % 12 + 1, 1)


def _month_from_now(now: datetime, back: int) -> tuple[int, int]:
    number = now.year * 12 + now.month - 1 - back
    return number // 12, number % 12 + 1


def _relative_month(word: str, now: datetime) -> tuple[int, int]:
    return _month_from_now(now, 0 if word.startswith(("this", "the current")) else 1)


_PERIODS: tuple[tuple[str, Callable[[re.Match[str], datetime], Period]], ...] = (
    (rf"(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})/{_YEAR}", lambda m, now: _days(datetime(_year(m["year"], now), int(m["month"]), int(m["day"])))),
    (rf"(?P<month>\d{{1,2}})/{_YEAR}", lambda m, now: _months(_year(m["year"], now), int(m["month"]))),
    (
        rf"{_MONTH_NAME} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?:of |from |in )?{_YEAR}",
        lambda m, now: _days(datetime(_year(m["year"], now), _month(m["month"]), int(m["day"]))),
    ),
    (rf"{_MONTH_NAME},? (?:of |from |in )?{_YEAR}", lambda m, now: _months(_year(m["year"], now), _month(m["month"]))),
    (
        r"(?P<month>(?:this|last|the current|the previous|the last) month)/(?P<day>\d{1,2})",
        lambda m, now: _days(datetime(*_relative_month(m["month"], now), int(m["day"]))),
    ),
    (r"(?P<month>(?:this|last|the current|the previous|the last) month)", lambda m, now: _months(*_relative_month(m["month"], now))),
    (_YEAR, lambda m, now: (datetime(_year(m["year"], now), 1, 1), datetime(_year(m["year"], now) + 1, 1, 1))),
    (r"(?P<today>today)", lambda m, now: _days(datetime(now.year, now.month, now.day))),
    (r"(?P<yesterday>yesterday)", lambda m, now: _days(datetime(now.year, now.month, now.day) - timedelta(days=1))),
)

_BEGIN = r"(?P<relation>since|until|up to|from|in|on|during)"
_AGO = re.compile(r"\b(?P<relation>since|until|up to|from) (?P<count>\d+|an?|one|two|three|four|five|six) (?P<unit>hour|day|week|month|year)s? ago\b")
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_PATTERNS = tuple((re.compile(rf"(?<![\w/.])(?:{_BEGIN} )?{pattern}(?![\w/])"), period) for pattern, period in _PERIODS)


def _first_window(text: str, now: datetime) -> tuple[re.Match[str], TimeWindow] | None:
    """The leftmost time in a text; of several that begin at one place, the longest."""
    found: list[tuple[re.Match[str], TimeWindow]] = []
    for match in _AGO.finditer(text):
        found.append((match, _window_ago(match, now)))
    for pattern, period in _PATTERNS:
        for match in pattern.finditer(text):
            relation = match["relation"]
            if relation is None and match.group().isdigit():
                continue  # a bare number is no year
            try:
                start, end = period(match, now)
            except ValueError:  # a date that is none
                continue
            found.append((match, _window(relation, start, end)))
    return min(found, key=lambda item: (item[0].start(), -item[0].end()), default=None)


def _window(relation: str | None, start: datetime, end: datetime) -> TimeWindow:
    if relation in ("since", "from"):
        return TimeWindow(start=_moment(start))
    if relation in ("until", "up to"):
        return TimeWindow(end=_moment(end))
    return TimeWindow(start=_moment(start), end=_moment(end))


def _window_ago(match: re.Match[str], now: datetime) -> TimeWindow:
    count = _COUNTS.get(match["count"]) or int(match["count"])
    unit = match["unit"]
    if unit == "week":
        count, unit = 7 * count, "day"
    limit = f"datetime({_moment(now)}, '-{count} {unit}')"
    return TimeWindow(start=limit) if match["relation"] in ("since", "from") else TimeWindow(until=limit)


def _moment(moment: datetime) -> str:
    return f"'{moment:%Y-%m-%d %H:%M:%S}'"
