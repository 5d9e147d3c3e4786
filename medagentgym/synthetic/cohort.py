"""Who the patients are, when they were in hospital, and in which units they lay."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.clock import DAY, FIRST_YEAR, HOUR, LAST_YEAR, MINUTE, NOW, START, midnight, seconds
from medagentgym.synthetic.conditions import BACKGROUND_DIAGNOSES, CONDITIONS, Condition
from medagentgym.synthetic.dictionaries import CARE_UNIT_WARDS, GENERAL_WARDS, UNLISTED_DIAGNOSIS, UNLISTED_PROCEDURE

CURRENT_SHARE = 0.1
"""Share of the patients whose last stay is still open at "now"."""

_RETURNS = (0.58, 0.22, 0.1, 0.06, 0.04)
"""Chances of one to five admissions."""


@dataclass
class UnitStay:
    """A stretch of an admission in one ward: a row of TRANSFERS."""

    icustay_id: int | None
    care_unit: str | None
    """None: a general ward."""
    ward: int
    start: int
    end: int | None
    """None: still there."""


@dataclass
class IntensiveStay:
    """A row of ICUSTAYS: one or more consecutive stretches in intensive care."""

    icustay_id: int
    stretches: list[UnitStay]

    @property
    def start(self) -> int:
        """When it began."""
        return self.stretches[0].start

    @property
    def end(self) -> int | None:
        """When it ended; None: still there."""
        return self.stretches[-1].end


@dataclass
class Admission:
    """One hospital visit. Times are seconds (`medagentgym.synthetic.clock`)."""

    hadm_id: int
    subject_id: int
    condition: Condition
    severity: float
    """From 0 (mild) to 1 (grave)."""
    start: int
    end: int | None
    """None: still in hospital."""
    died: bool
    kind: str
    location: str
    discharge_location: str | None
    insurance: str
    language: str | None
    religion: str | None
    marital_status: str | None
    ethnicity: str
    emergency_room: tuple[int, int] | None
    """Registration and leaving."""
    diagnoses: list[str]
    """Codes, the principal one first."""
    procedures: list[str]
    stretches: list[UnitStay] = field(default_factory=list)
    intensive_stays: list[IntensiveStay] = field(default_factory=list)

    @property
    def last_moment(self) -> int:
        """When the visit ended, or "now"."""
        return NOW if self.end is None else self.end


@dataclass
class Patient:
    """One person and their hospital visits, in order."""

    subject_id: int
    gender: str
    birth: int
    admissions: list[Admission]
    death_in_hospital: int | None = None
    death_elsewhere: int | None = None

    @property
    def death(self) -> int | None:
        """Midnight of the day of death, None for the living."""
        return self.death_elsewhere if self.death_in_hospital is None else self.death_in_hospital


def make_cohort(patients: int, seed: int) -> list[Patient]:
    """`patients` people, ordered by identifier; a tenth of them (at least one) are in hospital at "now"."""
    rng = python_random(seed, "cohort")
    subject_ids = sorted(rng.sample(range(10_000, 10_000 + max(90_000, 10 * patients)), patients))
    current = set(rng.sample(subject_ids, max(1, round(CURRENT_SHARE * patients))))
    identifiers = _Identifiers(
        iter(rng.sample(range(100_000, 100_000 + max(100_000, 20 * patients)), 8 * patients)),
        iter(rng.sample(range(200_000, 200_000 + max(100_000, 40 * patients)), 20 * patients)),
    )
    return [_patient(rng, subject_id, subject_id in current, identifiers) for subject_id in subject_ids]


@dataclass
class _Identifiers:
    """Identifiers that nobody has yet."""

    admissions: Iterator[int]
    intensive_stays: Iterator[int]


@dataclass
class _Visit:
    """When and why a patient comes, before the visit is filled in."""

    start: int
    end: int | None
    died: bool
    condition: Condition
    severity: float


def _patient(rng: random.Random, subject_id: int, current: bool, identifiers: _Identifiers) -> Patient:
    age = min(82.0, max(19.0, rng.gauss(64, 16)))
    visits = _visits(rng, age, current)
    patient = Patient(subject_id, rng.choice("FFFFFMMMMMM"), midnight(round(visits[0].start - age * 365.25 * DAY)), [])
    background = [code for code, chance in BACKGROUND_DIAGNOSES if rng.random() < chance * (0.6 + age / 150)]
    person = _person(rng, age)
    patient.admissions = [_admission(rng, patient, person, background, visit, identifiers) for visit in visits]
    last = visits[-1]
    if last.end is not None:
        if last.died:
            patient.death_in_hospital = midnight(last.end)
        elif rng.random() < 0.1 + 0.25 * last.severity * age / 80:
            death = midnight(round(last.end + (1 + rng.expovariate(1 / 260)) * DAY))
            patient.death_elsewhere = death if death <= NOW else None
    return patient


def _visits(rng: random.Random, age: float, current: bool) -> list[_Visit]:
    conditions, weights = CONDITIONS, [condition.weight for condition in CONDITIONS]
    usual = rng.choices(conditions, weights)[0]
    year = rng.choices(range(FIRST_YEAR, LAST_YEAR + 1), range(1, LAST_YEAR - FIRST_YEAR + 2))[0]
    earliest, latest = max(START, seconds(datetime(year, 1, 1))), min(NOW - 32 * DAY, seconds(datetime(year + 1, 1, 1)) - MINUTE)
    start = _whole_minute(rng.uniform(earliest, latest))
    visits: list[_Visit] = []
    for number in range(rng.choices(range(1, len(_RETURNS) + 1), _RETURNS)[0]):
        condition = usual if number == 0 or rng.random() < 0.45 else rng.choices(conditions, weights)[0]
        severity = rng.betavariate(2, 2.6)
        end = _whole_minute(start + min(28.0, max(0.6, condition.days * (0.6 + severity) * rng.lognormvariate(0, 0.5))) * DAY)
        if end >= NOW - 2 * DAY:
            break
        died = not current and rng.random() < min(0.9, condition.deadly * (0.3 + 1.5 * severity) * (0.5 + age / 120))
        visits.append(_Visit(start, end, died, condition, severity))
        if died:
            break
        start = _whole_minute(end + (2 + min(1500.0, rng.lognormvariate(4.6, 1.1))) * DAY)
    if current:
        if len(visits) > 1 or rng.random() < 0.5:
            visits.pop()
        since = NOW - (visits[-1].end or NOW) - DAY if visits else 20 * DAY
        start = _whole_minute(NOW - min(since, rng.uniform(0.4, 14) * DAY))
        visits.append(_Visit(start, None, False, usual, rng.betavariate(2, 2.6)))
    return visits


def _whole_minute(time: float) -> int:
    return int(time) // MINUTE * MINUTE


def _person(rng: random.Random, age: float) -> dict[str, str | None]:
    """What stays much the same from visit to visit."""
    young = age < 40
    return {
        "language": rng.choices(["ENGL", None, "SPAN", "RUSS", "PTUN", "CANT"], [60, 20, 8, 5, 4, 3])[0],
        "religion": rng.choices(["CATHOLIC", "NOT SPECIFIED", "PROTESTANT QUAKER", "JEWISH", "UNOBTAINABLE", None], [36, 20, 14, 12, 10, 8])[0],
        "marital_status": rng.choices(
            ["MARRIED", "SINGLE", "WIDOWED", "DIVORCED", "SEPARATED", None], [30, 55, 1, 5, 2, 7] if young else [48, 20, 16, 8, 1, 7]
        )[0],
        "ethnicity": rng.choices(
            ["WHITE", "BLACK/AFRICAN AMERICAN", "HISPANIC OR LATINO", "ASIAN", "UNKNOWN/NOT SPECIFIED", "OTHER"], [68, 10, 6, 4, 9, 3]
        )[0],
        "insurance": rng.choices(
            ["Medicare", "Private", "Medicaid", "Government", "Self Pay"], [78, 16, 5, 1, 0] if age >= 65 else [12, 58, 18, 8, 4]
        )[0],
    }


def _admission(
    rng: random.Random, patient: Patient, person: dict[str, str | None], background: list[str], visit: _Visit, identifiers: _Identifiers
) -> Admission:
    condition, severity = visit.condition, visit.severity
    emergency = rng.random() < condition.emergency
    kind = "EMERGENCY" if emergency else rng.choices(["ELECTIVE", "URGENT"], [85, 15])[0]
    if kind == "EMERGENCY":
        location = rng.choices(["EMERGENCY ROOM ADMIT", "CLINIC REFERRAL/PREMATURE", "TRANSFER FROM HOSP/EXTRAM"], [66, 16, 18])[0]
    else:
        location = rng.choices(["PHYS REFERRAL/NORMAL DELI", "TRANSFER FROM HOSP/EXTRAM"], [85, 15])[0]
    through_emergency_room = None
    if location == "EMERGENCY ROOM ADMIT":
        leaves = visit.start + rng.randrange(10, 120) * MINUTE
        through_emergency_room = (visit.start - rng.randrange(60, 600) * MINUTE, leaves)
    insurance = person["insurance"] if rng.random() < 0.9 else "Medicare"
    admission = Admission(
        hadm_id=next(identifiers.admissions),
        subject_id=patient.subject_id,
        condition=condition,
        severity=severity,
        start=visit.start,
        end=visit.end,
        died=visit.died,
        kind=kind,
        location=location,
        discharge_location=_discharge_location(rng, visit),
        insurance=insurance or "Medicare",
        language=person["language"],
        religion=person["religion"],
        marital_status=person["marital_status"],
        ethnicity=person["ethnicity"] or "OTHER",
        emergency_room=through_emergency_room,
        diagnoses=_diagnoses(rng, condition, severity, background),
        procedures=_procedures(rng, condition, severity),
    )
    _lay_out(rng, admission, identifiers)
    return admission


def _discharge_location(rng: random.Random, visit: _Visit) -> str | None:
    if visit.end is None:
        return None
    if visit.died:
        return "DEAD/EXPIRED"
    grave = visit.severity > 0.5
    places = ["HOME", "HOME HEALTH CARE", "SNF", "REHAB/DISTINCT PART HOSP", "LONG TERM CARE HOSPITAL", "HOSPICE-HOME"]
    return rng.choices(places, [15, 22, 30, 22, 8, 3] if grave else [45, 28, 14, 10, 2, 1])[0]


def _diagnoses(rng: random.Random, condition: Condition, severity: float, background: list[str]) -> list[str]:
    codes = [condition.code]
    codes += [code for code in condition.companions if rng.random() < 0.25 + 0.5 * severity]
    codes += [code for code in background if rng.random() < 0.85]
    if rng.random() < 0.03:
        codes.append(UNLISTED_DIAGNOSIS)
    return list(dict.fromkeys(codes))


def _procedures(rng: random.Random, condition: Condition, severity: float) -> list[str]:
    codes = [code for code in condition.procedures if rng.random() < 0.35 + 0.5 * severity]
    if rng.random() < 0.15:
        codes.append(rng.choice(["3893", "9904", "8872", "966"]))
    if rng.random() < 0.03:
        codes.append(UNLISTED_PROCEDURE)
    return list(dict.fromkeys(codes))


def _lay_out(rng: random.Random, admission: Admission, identifiers: _Identifiers) -> None:
    """Divide the visit into stretches on wards and in intensive care."""
    until, length = admission.last_moment, admission.last_moment - admission.start
    plan: list[tuple[bool, float]]
    """Whether in intensive care, and the share of the visit."""
    if rng.random() >= admission.condition.intensive:
        plan = [(False, 1.0)] if rng.random() < 0.7 else [(False, 0.4), (False, 0.6)]
    else:
        intensive = min(0.85, 0.25 + 0.6 * admission.severity)
        plan = [(True, intensive), (False, 1 - intensive)]
        if rng.random() < 0.3:
            plan = [(False, 0.15), (True, 0.85 * intensive), (False, 0.85 * (1 - intensive))]
        if admission.severity > 0.35 and rng.random() < 0.25 and length > 4 * DAY:
            plan = plan[:-1] + [(False, 0.4 * plan[-1][1]), (True, 0.3 * plan[-1][1]), (False, 0.3 * plan[-1][1])]
        if admission.died or (admission.end is None and rng.random() < 0.6):
            plan = plan[:-1]
            total = sum(share for _, share in plan)
            plan = [(intensive_care, share / total) for intensive_care, share in plan]
    time = float(admission.start)
    for number, (intensive_care, share) in enumerate(plan):
        last = number == len(plan) - 1
        start = int(time) + (rng.randrange(MINUTE) if number else 0)
        time += share * length
        end = until if last else max(start + HOUR, int(time))
        if intensive_care:
            _add_intensive_stay(rng, admission, next(identifiers.intensive_stays), start, end)
        else:
            admission.stretches.append(UnitStay(None, None, rng.choice(GENERAL_WARDS), start, end))
        time = float(end)
    if admission.end is None:
        admission.stretches[-1].end = None


def _add_intensive_stay(rng: random.Random, admission: Admission, icustay_id: int, start: int, end: int) -> None:
    units = admission.condition.units
    unit = units[0] if len(units) == 1 or rng.random() < 0.8 else units[1]
    first = UnitStay(icustay_id, unit, rng.choice(CARE_UNIT_WARDS[unit]), start, end)
    stretches = [first]
    if end - start > 2 * DAY and rng.random() < 0.12:
        other = rng.choice([name for name in CARE_UNIT_WARDS if name != unit])
        change = start + (end - start) // 2
        first.end = change
        stretches.append(UnitStay(icustay_id, other, rng.choice(CARE_UNIT_WARDS[other]), change, end))
    admission.stretches += stretches
    admission.intensive_stays.append(IntensiveStay(icustay_id, stretches))
