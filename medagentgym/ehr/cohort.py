"""The cohort: which admissions of which patients a task database holds, and by how much each patient's dates move.

The rules are those of EHRSQL's published databases, with one change: besides the patients drawn at random, the cohort holds every patient that a
question names, since else most gold answers are empty.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from medagentgym.ehr.schema import FIRST_DAY, NOW

_FIRST_YEAR = int(FIRST_DAY[:4])
_LAST_YEAR = int(NOW[:4])
_YEAR_OF_DAYS = timedelta(days=365)
_NOW = datetime.fromisoformat(NOW)

Identifier = TypeVar("Identifier", bound=int | str)


@dataclass(frozen=True)
class CohortRules:
    """How the cohort is drawn. The defaults are EHRSQL's."""

    shift_times: bool = True
    """Move each patient's dates into 2100-2105. Off for records whose times are final."""
    over_age: int | None = 10
    """Admissions are kept where the patient's age in whole years is over this; None: no limit."""
    under_age: int | None = 90
    """Admissions are kept where the patient's age in whole years is under this; None: no limit."""
    stay_quantile: float | None = 0.95
    """Admissions whose stay in whole days is not below this quantile are dropped; None: none are."""
    sample_patients: int | None = 1000
    """Patients drawn at random besides the named ones; None: all."""
    current_share: float = 0.1
    """Share of the drawn patients with a stay that is still open at "now", as far as there are so many."""
    seed: int = 0

    @classmethod
    def everything(cls, seed: int = 0) -> CohortRules:
        """Every admission of every patient, times as they are: for made-up records in their final form. The seed is that of the prices."""
        return cls(seed=seed, shift_times=False, over_age=None, under_age=None, stay_quantile=None, sample_patients=None)

    def to_json(self) -> dict[str, Any]:
        """The rules as JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Admission:
    """One raw admission that passes the filters on age and stay."""

    subject_id: int
    hadm_id: int
    admitted: datetime
    discharged: datetime | None
    age: int


@dataclass(frozen=True)
class Cohort:
    """The patients of a database."""

    shift_days: dict[int, int]
    """SUBJECT_ID -> days by which the patient's dates move (0 or negative), for every patient of the cohort."""
    named: frozenset[int]
    """Patients of the cohort that a question names."""
    current: frozenset[int]
    """Patients of the cohort with a stay that is open at "now"."""
    admissions: tuple[Admission, ...] = field(default=(), repr=False)
    """The cohort's admissions that have begun by "now", with raw times."""


def draw_cohort(admissions: Sequence[Admission], named: Iterable[int], rules: CohortRules) -> Cohort:
    """Draw the cohort. A patient's shift and rank depend on the seed and the patient alone, not on who else is there.

    Every patient's shift is drawn first (`shift_days`), then the sample, a share of it from the patients who then have an open stay.
    """
    by_patient: dict[int, list[Admission]] = {}
    for admission in admissions:
        by_patient.setdefault(admission.subject_id, []).append(admission)
    shifts: dict[int, int] = {}
    current = set()
    for subject_id, stays in by_patient.items():
        shifts[subject_id] = shift_days(min(stay.admitted for stay in stays), subject_id, rules.seed) if rules.shift_times else 0
        if any(is_open(stay, shifts[subject_id]) for stay in stays):
            current.add(subject_id)
    chosen_named = frozenset(named) & by_patient.keys()
    drawn = draw_patients(sorted(by_patient), current, rules)
    chosen = sorted(chosen_named | drawn)
    kept = [stay for subject_id in chosen for stay in by_patient[subject_id] if stay.admitted + timedelta(days=shifts[subject_id]) <= _NOW]
    return Cohort(
        shift_days={subject_id: shifts[subject_id] for subject_id in chosen},
        named=chosen_named,
        current=frozenset(current & set(chosen)),
        admissions=tuple(kept),
    )


def shift_days(first_admission: datetime, subject_id: int, seed: int) -> int:
    """Days (a multiple of 365) that bring a first admission into the patient's first year."""
    target = first_year(subject_id, seed)
    move = target - first_admission.year
    while (first_admission + move * _YEAR_OF_DAYS).year > target:
        move -= 1
    while (first_admission + move * _YEAR_OF_DAYS).year < target:
        move += 1
    return move * 365


def first_year(patient: int | str, seed: int) -> int:
    """The year of 2100-2105 in which a patient's first stay begins; later years are likelier, with weights 1 to 6."""
    years = range(_FIRST_YEAR, _LAST_YEAR + 1)
    weights = range(1, len(years) + 1)
    mark = uniform(seed, "year", patient) * sum(weights)
    return next(year for year, weight in zip(years, weights, strict=True) if mark < sum(range(1, weight + 1)))


def is_open(admission: Admission, days: int) -> bool:
    """Whether a stay has begun and not ended at "now", once moved by `days`."""
    shift = timedelta(days=days)
    return admission.admitted + shift <= _NOW and (admission.discharged is None or admission.discharged + shift > _NOW)


def uniform(seed: int, purpose: str, key: object) -> float:
    """A number in [0, 1) that depends on the arguments alone."""
    digest = hashlib.blake2b(f"{seed}\0{purpose}\0{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def draw_patients(patients: Sequence[Identifier], current: AbstractSet[Identifier], rules: CohortRules) -> set[Identifier]:
    """The patients that are drawn at random, a share of them from the `current` ones: those with an open stay."""
    sample = rules.sample_patients
    if sample is None or sample >= len(patients):
        return set(patients)
    ranked = sorted(patients, key=lambda patient: uniform(rules.seed, "sample", patient))
    drawn_current = [patient for patient in ranked if patient in current][: round(sample * rules.current_share)]
    others = [patient for patient in ranked if patient not in current]
    return {*drawn_current, *others[: sample - len(drawn_current)]}
