"""To which visits and times a question is limited: in words, in SQL, and as a test on a row.

The SQL follows the conventions of EHRSQL: `current_time` stands for "now", `%y` for the four-digit year and `%j` for the Julian day. "Since" and
"until" include the period that they name. A first or last visit is only asked for where it is finished and no open visit could be meant.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from medagentgym.synthetic.clock import DAY, FIRST_YEAR, LAST_YEAR, NOW, midnight, moment, seconds
from medagentgym.synthetic.cohort import Patient
from medagentgym.synthetic.facts import Records

_MONTHS_AGO = (2, 5, 7, 9, 11)
"""Months before 31 December that have 31 days too, so that "n months ago" is a day that exists."""

_RECENT = ("rel-month", "rel-day", "mix")


@dataclass(frozen=True)
class Window:
    """A span of time."""

    phrase: str
    tag: str
    """EHRSQL's name for the kind of filter."""
    condition: str
    """SQL in which `@` stands for the time column; empty: no limit."""
    first: int
    last: int
    """First and last second that belong to it."""

    def contains(self, time: int) -> bool:
        """Whether a time lies in the window."""
        return self.first <= time <= self.last

    def sql(self, column: str) -> str:
        """The condition on `column` with a leading `and`, or nothing."""
        return f" and {self.condition.replace('@', column)}" if self.condition else ""


ALWAYS = Window("", "", "", seconds(datetime(FIRST_YEAR, 1, 1)), NOW)


def _year(year: int) -> tuple[int, int]:
    return seconds(datetime(year, 1, 1)), seconds(datetime(year + 1, 1, 1)) - 1


def _month(year: int, month: int) -> tuple[int, int]:
    following = datetime(year + month // 12, month % 12 + 1, 1)
    return seconds(datetime(year, month, 1)), seconds(following) - 1


def _before(years: int = 0, months: int = 0) -> int:
    return seconds(datetime(LAST_YEAR - years, 12 - months, 31, 23, 59))


def _year_windows(rng: random.Random, time: int) -> list[Window]:
    year = moment(time).year
    since, until = rng.randint(FIRST_YEAR, year), rng.randint(year, LAST_YEAR)
    windows = [
        Window(f"in {year}", "abs-year-in", f"strftime('%y',@) = '{year}'", *_year(year)),
        Window(f"since {since}", "abs-year-since", f"strftime('%y',@) >= '{since}'", _year(since)[0], NOW),
        Window(f"until {until}", "abs-year-until", f"strftime('%y',@) <= '{until}'", ALWAYS.first, _year(until)[1]),
    ]
    for years, phrase, tag in ((0, "this year", "rel-year-this"), (1, "last year", "rel-year-last")):
        condition = f"datetime(@,'start of year') = datetime(current_time,'start of year','-{years} year')"
        windows.append(Window(phrase, tag, condition, *_year(LAST_YEAR - years)))
    ago = rng.randint(1, 5)
    windows.append(_since(ago, "year", _before(years=ago)))
    windows.append(_until(ago, "year", _before(years=ago)))
    return windows


def _since(number: int, unit: str, first: int) -> Window:
    phrase = f"since {number} {unit}{'s' if number > 1 else ''} ago"
    return Window(phrase, f"rel-{unit}-since", f"datetime(@) >= datetime(current_time,'-{number} {unit}')", first, NOW)


def _until(number: int, unit: str, last: int) -> Window:
    phrase = f"until {number} {unit}{'s' if number > 1 else ''} ago"
    return Window(phrase, f"rel-{unit}-until", f"datetime(@) <= datetime(current_time,'-{number} {unit}')", ALWAYS.first, last)


def _month_windows(rng: random.Random, time: int) -> list[Window]:
    at = moment(time)
    name, text = f"{at.month:02d}/{at.year}", f"{at.year}-{at.month:02d}"
    first, last = _month(at.year, at.month)
    windows = [
        Window(f"in {name}", "abs-month-in", f"strftime('%y-%m',@) = '{text}'", first, last),
        Window(f"since {name}", "abs-month-since", f"strftime('%y-%m',@) >= '{text}'", first, NOW),
        Window(f"until {name}", "abs-month-until", f"strftime('%y-%m',@) <= '{text}'", ALWAYS.first, last),
    ]
    for months, phrase, tag in ((0, "this month", "rel-month-this"), (1, "last month", "rel-month-last")):
        condition = f"datetime(@,'start of month') = datetime(current_time,'start of month','-{months} month')"
        windows.append(Window(phrase, tag, condition, *_month(LAST_YEAR, 12 - months)))
    for years, phrase in ((0, "this year"), (1, "last year")):
        condition = f"datetime(@,'start of year') = datetime(current_time,'start of year','-{years} year') and strftime('%m',@) = '{at.month:02d}'"
        tag = f"mix-month-{phrase.replace(' ', '_')}"
        windows.append(Window(f"in {at.month:02d}/{phrase}", tag, condition, *_month(LAST_YEAR - years, at.month)))
    ago = rng.choice(_MONTHS_AGO)
    windows.append(_since(ago, "month", _before(months=ago)))
    windows.append(_until(ago, "month", _before(months=ago)))
    return windows


def _day_windows(rng: random.Random, time: int) -> list[Window]:
    at = moment(time)
    start = midnight(time)
    windows = [
        Window(f"on {at:%m/%d/}{at.year}", "abs-day-in", f"strftime('%y-%m-%d',@) = '{at.year}-{at:%m-%d}'", start, start + DAY - 1),
    ]
    for days, phrase, tag in ((0, "today", "rel-day-this"), (1, "yesterday", "rel-day-last")):
        condition = f"datetime(@,'start of day') = datetime(current_time,'start of day','-{days} day')"
        first = midnight(NOW) - days * DAY
        windows.append(Window(phrase, tag, condition, first, first + DAY - 1))
    ago = rng.randint(2, 25)
    windows.append(_since(ago, "day", NOW - ago * DAY))
    return windows


def choose_window(rng: random.Random, time: int, *, always: float = 0.2, days: bool = True) -> Window:
    """A window that contains `time`: none with chance `always`; windows near "now" are preferred where they fit. `days`: single days too."""
    if rng.random() < always:
        return ALWAYS
    families = [_year_windows(rng, time), _month_windows(rng, time)] + ([_day_windows(rng, time)] if days else [])
    fitting = [[window for window in family if window.contains(time)] for family in families]
    recent = [window for family in fitting for window in family if window.tag.startswith(_RECENT) and "until" not in window.tag]
    if recent and rng.random() < 0.4:
        return min(recent, key=lambda window: window.last - window.first) if rng.random() < 0.5 else rng.choice(recent)
    family = rng.choices(fitting, [5, 3, 1][: len(fitting)])[0]
    return rng.choice(family or fitting[0])


@dataclass(frozen=True)
class Scope:
    """Some of a patient's visits or intensive stays, or a window of time, or both without a limit."""

    phrase: str
    tag: str
    admissions: str
    """SQL that selects the identifiers of the visits."""
    stays: str
    """SQL that selects the identifiers of the intensive stays."""
    window: Window
    holds: Callable[[int, int, int], bool]
    """Whether a row of (admission, intensive stay, time) belongs to the scope."""


def whole_life(facts: Records, patient: Patient, window: Window = ALWAYS) -> Scope:
    """All visits of a patient, in a window of time."""
    visits = facts.visits.visits_of(facts.patient_id(patient.subject_id))
    return Scope(window.phrase, window.tag, visits, facts.visits.stays_of(visits), window, lambda _hadm, _stay, time: window.contains(time))


def visit_scope(rng: random.Random, facts: Records, hadm_id: int) -> Scope | None:
    """The visit, called the first, the last or the current one; None where it cannot be called so."""
    admission = facts.admission[hadm_id]
    patient = facts.patient[admission.subject_id]
    tables = facts.visits
    base = tables.visits_of(facts.patient_id(patient.subject_id))
    choices = []
    if admission.end is None:
        choices.append(("on the current hospital visit", "rel-hosp-cur", f"{base} and {tables.discharged} is null"))
    else:
        if admission is patient.admissions[0]:
            order = f" and {tables.discharged} is not null order by {tables.admitted} asc limit 1"
            choices.append(("on the first hospital visit", "rel-hosp-first", base + order))
        if admission is patient.admissions[-1]:
            order = f" and {tables.discharged} is not null order by {tables.admitted} desc limit 1"
            choices.append(("on the last hospital visit", "rel-hosp-last", base + order))
    if not choices:
        return None
    phrase, tag, visits = rng.choice(choices)
    return Scope(phrase, tag, visits, tables.stays_of(visits), ALWAYS, lambda hadm, _stay, _time: hadm == hadm_id)


def intensive_scope(rng: random.Random, facts: Records, hadm_id: int, icustay_id: int) -> Scope | None:
    """The intensive stay, called the first, the last or the current one; None where it cannot be called so."""
    patient = facts.patient[facts.admission[hadm_id].subject_id]
    stays = [stay for admission in patient.admissions for stay in admission.intensive_stays]
    tables = facts.visits
    base = whole_life(facts, patient).stays
    choices = []
    position = [stay.icustay_id for stay in stays].index(icustay_id)
    if stays[position].end is None:
        choices.append(("on the current icu visit", "rel-icu-cur", f"{base} and {tables.left} is null"))
    else:
        if position == 0:
            order = f" and {tables.left} is not null order by {tables.entered} asc limit 1"
            choices.append(("on the first icu visit", "rel-icu-first", base + order))
        if position == len(stays) - 1:
            order = f" and {tables.left} is not null order by {tables.entered} desc limit 1"
            choices.append(("on the last icu visit", "rel-icu-last", base + order))
    if not choices:
        return None
    phrase, tag, sql = rng.choice(choices)
    return Scope(phrase, tag, tables.visits_with(sql), sql, ALWAYS, lambda _hadm, stay, _time: stay == icustay_id)


def choose_scope(
    rng: random.Random, facts: Records, hadm_id: int, time: int, icustay_id: int = 0, *, always: float = 0.15, days: bool = True
) -> Scope:
    """A scope that contains the row of (`hadm_id`, `icustay_id`, `time`). `icustay_id` 0: intensive stays are not spoken of."""
    patient = facts.patient[facts.admission[hadm_id].subject_id]
    draw = rng.random()
    if draw < 0.35:
        scope = intensive_scope(rng, facts, hadm_id, icustay_id) if icustay_id and rng.random() < 0.6 else visit_scope(rng, facts, hadm_id)
        if scope is not None:
            return scope
    return whole_life(facts, patient, choose_window(rng, time, always=always, days=days))
