"""Kinds of questions about groups of patients that can be asked of every database: who is here, who came back, who died, how long visits last."""

from __future__ import annotations

import random

from medagentgym.synthetic.questions.kinds import Drawn, F, QuestionSet, pick, pick_row
from medagentgym.synthetic.questions.scopes import choose_window
from medagentgym.synthetic.questions.sql import Source, days_between

_NO_LIMIT = 200
_AGE_GROUPS = (("20s", 20, 29), ("30s", 30, 39), ("40s", 40, 49), ("50s", 50, 59), ("60 or above", 60, _NO_LIMIT))


def age_group(rng: random.Random, age: int) -> tuple[str, int, int]:
    """The group that contains `age`, in words and by its limits. Raises `NothingToAskError` for the under-twenties."""
    return pick(rng, [group for group in _AGE_GROUPS if group[1] <= age <= group[2]])


def age_condition(column: str, low: int, high: int) -> str:
    """SQL condition that an age lies within the limits of a group."""
    return f"{column} >= {low}" if high == _NO_LIMIT else f"{column} between {low} and {high}"


def ask_current_patients(asked: QuestionSet[F]) -> None:
    """Register the kinds of questions about how many patients are in the hospital now."""

    @asked.register(
        "how many patients are currently in the hospital?",
        "Count the patients whose hospital visit is still open.",
        department=("nursing", "health_records"),
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        return Drawn({}, facts.visits.patients(f"{facts.visits.discharged} is null"))

    @asked.register(
        "how many current patients are aged [age_group]?",
        "Count the patients who are in the hospital now and whose age is [age_group].",
        department=("nursing", "health_records"),
    )
    def _draw_by_age(facts: F, rng: random.Random) -> Drawn | None:
        admission = pick(rng, [admission for admission in facts.admissions if admission.end is None])
        word, low, high = age_group(rng, facts.age(admission))
        query = facts.visits.patients(f"{facts.visits.discharged} is null and {age_condition(facts.visits.age, low, high)}")
        return Drawn({}, query, {"age_group": word}, {}, {0: word})


def ask_readmitted_patients(asked: QuestionSet[F]) -> None:
    """Register the question how many patients came again."""

    @asked.register(
        "how many patients came to the hospital at least [n_times] [time_filter_global1]?",
        "Count the patients who were admitted to the hospital [n_times] or more [time_filter_global1].",
        department=("health_records",),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        patient = pick(rng, [patient for patient in facts.patients if len(patient.admissions) > 1])
        window = choose_window(rng, patient.admissions[-1].start, days=False, always=0.3)
        seen = sum(window.contains(admission.start) for admission in patient.admissions)
        if seen < 2:
            return None
        number, word = (2, "two times") if seen == 2 or rng.random() < 0.5 else (3, "three times")
        visits = facts.visits
        condition = window.sql(visits.admitted).replace(" and ", "where ", 1)
        counted = f"select {visits.patient} from {visits.table} {condition} group by {visits.patient} having {visits.counted} >= {number}"
        query = f"select count(*) from ( {' '.join(counted.split())} ) as t1"
        return Drawn({}, query, {"n_times": word, "time_filter_global1": window.phrase}, {0: window.tag}, {5: word})


def ask_deaths_in_hospital(asked: QuestionSet[F]) -> None:
    """Register the question how many patients died in the hospital."""

    @asked.register(
        "how many patients died in the hospital [time_filter_global1]?",
        "Count the patients whose hospital visit ended with their death [time_filter_global1].",
        department=("health_records", "physician"),
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        admission = pick(rng, [admission for admission in facts.admissions if admission.died])
        window = choose_window(rng, admission.last_moment, days=False)
        query = facts.visits.patients(facts.visits.died + window.sql(facts.visits.discharged))
        return Drawn({}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


def ask_deaths_with(asked: QuestionSet[F], source: Source, wording: str, paraphrase: str) -> None:
    """Register the question how many patients died on a visit on which something happened."""

    @asked.register(wording, paraphrase, importance="high")
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        if not facts.admission[int(rows.hadm_id[at])].died:
            return None
        window = choose_window(rng, int(rows.time[at]), days=False)
        name = rows.title(at)
        visits = source.visits(source.named(name) + window.sql(source.when))
        query = facts.visits.patients(f"{facts.visits.died} and {facts.visits.visit} in ( {visits} )")
        return Drawn({source.slot: name}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


def ask_mean_stay(asked: QuestionSet[F], diagnoses: Source) -> None:
    """Register the question how long visits with a diagnosis last."""

    @asked.register(
        "what is the average length in days (with fractions) of the completed hospital visits on which {diagnosis_name} was diagnosed "
        "[time_filter_global1]?",
        "How many days (with fractions) did a completed hospital visit with the diagnosis {diagnosis_name} [time_filter_global1] last on average?",
        department=("insurance_review", "health_records"),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, diagnoses.raw)
        if facts.admission[int(rows.hadm_id[at])].end is None:
            return None
        window = choose_window(rng, int(rows.time[at]), days=False)
        name = rows.title(at)
        visits = diagnoses.visits(diagnoses.named(name) + window.sql(diagnoses.when))
        length = days_between(facts.visits.discharged, facts.visits.admitted)
        query = facts.visits.mean(length, f"{facts.visits.discharged} is not null and {facts.visits.visit} in ( {visits} )")
        return Drawn({"diagnosis_name": name}, query, {"time_filter_global1": window.phrase}, {0: window.tag}, {1: "average", 8: "days"})
