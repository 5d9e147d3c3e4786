"""Kinds of questions about a patient's hospital visits and stays in intensive care that can be asked of every database: how many, how long by now."""

from __future__ import annotations

import random

from medagentgym.synthetic.questions.kinds import Drawn, F, QuestionSet, pick
from medagentgym.synthetic.questions.scopes import choose_window
from medagentgym.synthetic.questions.sql import days_between


def ask_number_of_visits(asked: QuestionSet[F]) -> None:
    """Register the question how many hospital visits a patient had."""

    @asked.register(
        "how many hospital visits of patient {patient_id} began [time_filter_global1]?",
        "Count the hospital admissions that patient {patient_id} had [time_filter_global1].",
        department=("insurance_review",),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        admission = pick(rng, facts.admissions)
        window = choose_window(rng, admission.start, always=0, days=False)
        tables, patient_id = facts.visits, facts.patient_id(admission.subject_id)
        query = f"select count( distinct {tables.visit} ) from {tables.table} where {tables.of_patient(patient_id)}{window.sql(tables.admitted)}"
        return Drawn({"patient_id": patient_id}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


def ask_days_in_hospital(asked: QuestionSet[F]) -> None:
    """Register the question how long a patient has been in hospital."""

    @asked.register(
        "how many days (with fractions) have passed since patient {patient_id} was admitted to the hospital currently?",
        "For how many days (with fractions) has patient {patient_id} been in hospital by now?",
        department=("nursing",),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        admission = pick(rng, [admission for admission in facts.admissions if admission.end is None])
        tables, patient_id = facts.visits, facts.patient_id(admission.subject_id)
        length = days_between("current_time", tables.admitted)
        query = tables.once_each(length, f"{tables.of_patient(patient_id)} and {tables.discharged} is null")
        return Drawn({"patient_id": patient_id}, query, {}, {0: "rel-hosp-cur"}, {8: "days"})


def ask_number_of_intensive_stays(asked: QuestionSet[F]) -> None:
    """Register the question how many stays in intensive care a patient had."""

    @asked.register(
        "how many icu visits of patient {patient_id} began [time_filter_global1]?",
        "Count the stays in intensive care of patient {patient_id} that began [time_filter_global1].",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        admission, stay = pick(rng, facts.intensive_stays)
        window = choose_window(rng, stay.start, always=0, days=False)
        tables, patient_id = facts.visits, facts.patient_id(admission.subject_id)
        query = f"select count( distinct {tables.stay} ) from {tables.stay_table} where {tables.stay_of_patient(patient_id)}"
        slots = {"time_filter_global1": window.phrase}
        return Drawn({"patient_id": patient_id}, query + window.sql(tables.entered), slots, {0: window.tag})


def ask_hours_in_intensive_care(asked: QuestionSet[F]) -> None:
    """Register the question how long a patient has been in intensive care."""

    @asked.register(
        "how many hours have passed since patient {patient_id} was admitted to the icu currently?",
        "For how many hours has patient {patient_id} been in intensive care by now?",
        department=("nursing",),
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        admission = pick(rng, [admission for admission, stay in facts.intensive_stays if stay.end is None])
        tables, patient_id = facts.visits, facts.patient_id(admission.subject_id)
        length = days_between("current_time", tables.entered, 24)
        query = f"select {length} from {tables.stay_table} where {tables.stay_of_patient(patient_id)} and {tables.left} is null"
        return Drawn({"patient_id": patient_id}, query, {}, {0: "rel-icu-cur"}, {8: "hours"})
