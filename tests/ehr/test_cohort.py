"""Which patients a database holds, and how their dates move."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from medagentgym.ehr.cohort import Admission, CohortRules, draw_cohort, shift_days

NOW = datetime(2105, 12, 31, 23, 59)


def admissions(patients: int) -> list[Admission]:
    start = datetime(2130, 1, 1)
    return [
        Admission(patient, patient, start + timedelta(days=patient % 365), start + timedelta(days=patient % 365 + 6), 50)
        for patient in range(1, patients + 1)
    ]


def test_dates_move_by_whole_years_of_365_days_into_2100_to_2105() -> None:
    for patient, first in enumerate([datetime(2101, 1, 1), datetime(2164, 12, 31, 23), datetime(2199, 2, 28), datetime(2104, 2, 29)]):
        days = shift_days(first, patient, seed=3)
        assert days % 365 == 0
        assert 2100 <= (first + timedelta(days=days)).year <= 2105


def test_later_years_are_likelier() -> None:
    first = datetime(2150, 7, 1)
    years = Counter((first + timedelta(days=shift_days(first, patient, seed=0))).year for patient in range(4200))
    assert [round(years[year] / 200) for year in range(2100, 2106)] == [1, 2, 3, 4, 5, 6]


def test_named_patients_are_always_in_the_cohort_and_unknown_ones_never() -> None:
    cohort = draw_cohort(admissions(50), named=[7, 8, 999], rules=CohortRules(sample_patients=0))
    assert set(cohort.shift_days) == {7, 8}
    assert cohort.named == {7, 8}


def test_a_sample_holds_as_many_patients_as_asked_for_and_a_share_of_open_stays() -> None:
    rules = CohortRules(sample_patients=200, current_share=0.05)
    cohort = draw_cohort(admissions(3000), named=[], rules=rules)
    assert len(cohort.shift_days) == 200
    assert len(cohort.current) == 10
    open_stays = [
        stay
        for stay in cohort.admissions
        if stay.discharged is not None and stay.discharged + timedelta(days=cohort.shift_days[stay.subject_id]) > NOW
    ]
    assert {stay.subject_id for stay in open_stays} == cohort.current


def test_fewer_open_stays_than_wanted_are_made_up_for_by_other_patients() -> None:
    cohort = draw_cohort(admissions(300), named=[], rules=CohortRules(sample_patients=100, current_share=1.0))
    assert len(cohort.shift_days) == 100


def test_a_patients_dates_do_not_depend_on_who_else_is_there() -> None:
    few = draw_cohort(admissions(20), named=[], rules=CohortRules())
    many = draw_cohort(admissions(500), named=[], rules=CohortRules())
    assert few.shift_days == {patient: many.shift_days[patient] for patient in few.shift_days}


def test_another_seed_gives_other_dates_and_another_sample() -> None:
    one, other = (draw_cohort(admissions(500), named=[], rules=CohortRules(sample_patients=100, seed=seed)) for seed in (0, 1))
    assert set(one.shift_days) != set(other.shift_days)
    shared = set(one.shift_days) & set(other.shift_days)
    assert any(one.shift_days[patient] != other.shift_days[patient] for patient in shared)


def test_final_times_stay_as_they_are() -> None:
    stays = [Admission(1, 1, datetime(2105, 12, 30), None, 5)]
    cohort = draw_cohort(stays, named=[], rules=CohortRules.everything())
    assert cohort.shift_days == {1: 0}
    assert cohort.current == {1}
