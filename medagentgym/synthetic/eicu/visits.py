"""The made-up patients as eICU would know them: unit stays in several hospitals, without dates.

The patients are those of `medagentgym.synthetic.cohort`; every hospital visit has a unit stay, on a step-down unit where there was no intensive care.
The task's build gives each visit a date (`medagentgym.ehr.eicu_calendar`) that depends on the seed and on the identifiers alone. So identifiers are
drawn until the visits of a patient do not overlap, and until a patient who is to be in hospital at "now" is. All is then moved to those dates, so
that what happened can be written down as minutes from the admission to the unit.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from medagentgym.ehr.eicu_calendar import UnitStay as RawStay
from medagentgym.ehr.eicu_calendar import timed_stays
from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.clock import DAY, HOUR, MINUTE, NOW, midnight, seconds
from medagentgym.synthetic.cohort import Admission, IntensiveStay, Patient, make_cohort
from medagentgym.synthetic.eicu.terms import HOSPITALS

YEARS = (2014, 2015)
"""The years in which eICU's visits ended."""
OLDEST = 89
"""Ages over this are not told."""

_WITHOUT_SOURCE = 0.04
"""Share of the later visits without a source of admission, which the task's tables leave out."""
_LONGEST_SEARCH = 100_000
_GAP = DAY


@dataclass
class Visit:
    """One hospital visit."""

    admission: Admission
    hospital: int
    wards: dict[str | None, int]
    year: int
    """The year in which it ended."""
    age: int
    has_source: bool
    """Whether it is known from where the patient came; else the task's tables do not hold the visit."""

    @property
    def identifier(self) -> int:
        """`patienthealthsystemstayid`."""
        return self.admission.hadm_id


@dataclass
class Person:
    """One patient and the hospital visits, in order."""

    uniquepid: str
    patient: Patient
    visits: list[Visit]
    ethnicity: str


def make_people(patients: int, seed: int) -> list[Person]:
    """`patients` people with their visits, moved to the dates that the task's build gives them, ordered by their first unit stay."""
    rng = python_random(seed, "eicu visits")
    cohort = make_cohort(patients, seed)
    unit_stays = iter(range(141_000, 141_000 + 60 * patients))
    taken: set[str | int] = set()
    people = []
    for patient in cohort:
        is_current = patient.admissions[-1].end is None
        ages = [int((admission.start - patient.birth) / (365.25 * DAY)) for admission in patient.admissions]
        for admission in patient.admissions:
            _give_unit_stays(rng, admission, [next(unit_stays) for _ in range(max(1, len(admission.intensive_stays)))])
        if ages[0] >= 80 and rng.random() < 0.5:
            ages = [OLDEST + 1] * len(ages)
        hospital, wards = rng.choice(HOSPITALS)
        first_of_last_year = rng.randint(0, len(ages))
        visits = []
        for number, (admission, age) in enumerate(zip(patient.admissions, ages, strict=True)):
            if number and rng.random() < 0.25:
                hospital, wards = rng.choice(HOSPITALS)
            kept = number == 0 or number == len(ages) - 1 or rng.random() >= _WITHOUT_SOURCE
            visits.append(Visit(admission, hospital, wards, YEARS[number >= first_of_last_year], age, kept))
        person = Person("", patient, visits, patient.admissions[0].ethnicity)
        _settle(rng, person, is_current, seed, taken)
        people.append(person)
    return people


def _give_unit_stays(rng: random.Random, admission: Admission, identifiers: Sequence[int]) -> None:
    """Let every visit have a unit stay, and all times be whole minutes."""
    if not admission.intensive_stays:
        admission.intensive_stays = [IntensiveStay(0, [rng.choice(admission.stretches)])]
    for stay, identifier in zip(admission.intensive_stays, identifiers, strict=True):
        stay.icustay_id = identifier
        for stretch in stay.stretches:
            stretch.icustay_id = identifier
            stretch.start -= stretch.start % MINUTE
            if stretch.end is not None:
                stretch.end -= stretch.end % MINUTE


def _settle(rng: random.Random, person: Person, is_current: bool, seed: int, taken: set[str | int]) -> None:
    """Draw identifiers whose dates suit, and move the visits there."""
    kept = [visit for visit in person.visits if visit.has_source]
    for _ in range(_LONGEST_SEARCH):
        uniquepid = f"{rng.randint(2, 35):03d}-{rng.randint(100, 99_999)}"
        identifiers = [rng.randint(120_000, 999_999) for _ in person.visits]
        if taken & {uniquepid, *identifiers} or len(set(identifiers)) < len(identifiers):
            continue
        named = dict(zip(map(id, person.visits), identifiers, strict=True))
        starts = _starts(uniquepid, [(visit, named[id(visit)]) for visit in kept], seed)
        if _suit(starts, kept, is_current):
            break
    else:
        raise RuntimeError("no identifiers suit the visits of a made-up patient")
    taken |= {uniquepid, *identifiers}
    person.uniquepid = uniquepid
    for visit in person.visits:
        visit.admission.hadm_id = named[id(visit)]
    for visit, start in zip(kept, starts, strict=True):
        _move(visit.admission, start - visit.admission.start)
    if is_current:
        _end_after_now(rng, kept[-1].admission)


def _starts(uniquepid: str, visits: Sequence[tuple[Visit, int]], seed: int) -> list[int]:
    """When each visit begins, by the rules of the task's build."""
    stays = [
        RawStay(
            patient=uniquepid,
            hospital_stay=identifier,
            unit_stay=visit.admission.intensive_stays[0].icustay_id,
            age=visit.age,
            year=visit.year,
            time_of_day=timedelta(seconds=visit.admission.start - midnight(visit.admission.start)),
            hospital_admission=0,
            unit_discharge=1,
            hospital_discharge=1,
        )
        for visit, identifier in visits
    ]
    return [seconds(stay.hospital_admitted) for stay in timed_stays(stays, seed)]


def _suit(starts: Sequence[int], visits: Sequence[Visit], is_current: bool) -> bool:
    """Whether visits follow each other, and the last one is open at "now", if the patient is to be there, or no visit is."""
    ends = [start + visit.admission.last_moment - visit.admission.start for start, visit in zip(starts, visits, strict=True)]
    if any(start < end + _GAP for end, start in zip(ends, starts[1:], strict=False)):
        return False
    if is_current:
        return NOW - 14 * DAY <= starts[-1] <= NOW - 10 * HOUR
    return all(end < NOW or start > NOW for start, end in zip(starts, ends, strict=True))


def _move(admission: Admission, shift: int) -> None:
    admission.start += shift
    if admission.end is not None:
        admission.end += shift
    for stretch in admission.stretches:
        stretch.start += shift
        if stretch.end is not None:
            stretch.end += shift


def _end_after_now(rng: random.Random, admission: Admission) -> None:
    """Give the open visit an end: eICU's raw tables hold finished visits, and the task's build cuts off what is later than "now"."""
    last = admission.stretches[-1]
    still_in_unit = last in admission.intensive_stays[-1].stretches
    admission.end = max(NOW, last.start) + rng.randint(20, 120) * HOUR
    last.end = admission.end - rng.randint(1, 10) * HOUR if still_in_unit else admission.end
