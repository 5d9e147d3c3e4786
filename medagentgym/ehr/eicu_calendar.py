"""When the stays of eICU took place. The raw tables hold no dates: offsets in minutes from the admission to the unit, times of day, and a year.

The rules are EHRSQL's: a patient's first year is drawn from 2100-2105, visits of later years follow in later years, and every hospital visit is given
a date in its year and keeps its time of day. What has not happened by "now" is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from medagentgym.ehr.cohort import first_year, uniform
from medagentgym.ehr.schema import NOW

_NOW = datetime.fromisoformat(NOW)


@dataclass(frozen=True)
class UnitStay:
    """One raw unit stay. Offsets are minutes from the admission to the unit."""

    patient: str
    hospital_stay: int
    unit_stay: int
    age: int | None
    year: int
    """Year in which the hospital visit ended."""
    time_of_day: timedelta
    """Of the hospital admission, since midnight."""
    hospital_admission: int
    unit_discharge: int
    hospital_discharge: int


@dataclass(frozen=True)
class TimedStay:
    """A unit stay with its times, whether they are past or not."""

    stay: UnitStay
    hospital_admitted: datetime
    unit_admitted: datetime
    unit_discharged: datetime
    hospital_discharged: datetime

    @property
    def has_begun(self) -> bool:
        """Whether the patient is in the unit, or was, at "now"."""
        return self.unit_admitted <= _NOW

    @property
    def is_current(self) -> bool:
        """Whether the hospital visit has begun and not ended at "now"."""
        return self.has_begun and self.hospital_discharged > _NOW


def timed_stays(stays: Sequence[UnitStay], seed: int) -> list[TimedStay]:
    """The stays of one patient with their times, which depend on the seed and on what the patient's stays say alone."""
    dates = _dates(stays, seed)
    return [_timed(stay, dates[stay.hospital_stay]) for stay in stays]


def _timed(stay: UnitStay, day: date) -> TimedStay:
    admitted = datetime(day.year, day.month, day.day) + stay.time_of_day
    unit = admitted - timedelta(minutes=stay.hospital_admission)
    return TimedStay(
        stay=stay,
        hospital_admitted=admitted,
        unit_admitted=unit,
        unit_discharged=unit + timedelta(minutes=stay.unit_discharge),
        hospital_discharged=unit + timedelta(minutes=stay.hospital_discharge),
    )


def _dates(stays: Sequence[UnitStay], seed: int) -> dict[int, date]:
    """The date of each hospital visit. The visits of one year share it out equally, in the order of age and unit stays: one in each part."""
    years: dict[int, dict[int, None]] = {}
    for stay in sorted(stays, key=lambda stay: (stay.year, stay.age or 0, stay.unit_stay)):
        years.setdefault(stay.year, {})[stay.hospital_stay] = None
    dates: dict[int, date] = {}
    for year, visits in years.items():
        first_day = date(first_year(stays[0].patient, seed) + year - min(years), 1, 1)
        days = (first_day.replace(year=first_day.year + 1) - first_day).days
        for part, visit in enumerate(visits):
            share = (part + uniform(seed, "date of visit", visit)) / len(visits)
            dates.setdefault(visit, first_day + timedelta(days=int(share * days)))
    return dates
