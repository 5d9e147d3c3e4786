"""Kinds of questions about groups of patients: counts, ages, stays, survival."""

from __future__ import annotations

import random

import numpy as np

from medagentgym.synthetic.clock import DAY, NOW
from medagentgym.synthetic.cohort import Admission
from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.questions.kinds import Drawn, pick, pick_row, register
from medagentgym.synthetic.questions.ranks import RANKS, clear_ranks
from medagentgym.synthetic.questions.scopes import choose_window
from medagentgym.synthetic.questions.sql import DIAGNOSES, PRESCRIPTIONS, PROCEDURES, Source, days_between

_NO_LIMIT = 200
_AGE_GROUPS = (("20s", 20, 29), ("30s", 30, 39), ("40s", 40, 49), ("50s", 50, 59), ("60 or above", 60, _NO_LIMIT))
_SEXES = (("male", "m"), ("female", "f"))


def _age(facts: Facts, admission: Admission) -> int:
    """Whole years at admission."""
    return int((admission.start - facts.patient[admission.subject_id].birth) / (365.25 * DAY))


def _age_group(rng: random.Random, age: int) -> tuple[str, int, int]:
    """The group that contains `age`, in words and by its limits. Raises `NothingToAskError` for the under-twenties."""
    return pick(rng, [group for group in _AGE_GROUPS if group[1] <= age <= group[2]])


def _age_condition(low: int, high: int) -> str:
    return f"admissions.age >= {low}" if high == _NO_LIMIT else f"admissions.age between {low} and {high}"


@register(
    "how many patients are currently in the hospital?",
    "Count the patients whose hospital visit is still open.",
    department=("nursing", "health_records"),
    importance="high",
)
def _current(facts: Facts, rng: random.Random) -> Drawn | None:
    return Drawn({}, "select count( distinct admissions.subject_id ) from admissions where admissions.dischtime is null")


@register(
    "how many current patients are aged [age_group]?",
    "Count the patients who are in the hospital now and whose age is [age_group].",
    department=("nursing", "health_records"),
)
def _current_by_age(facts: Facts, rng: random.Random) -> Drawn | None:
    admission = pick(rng, [admission for admission in facts.admissions if admission.end is None])
    word, low, high = _age_group(rng, _age(facts, admission))
    query = f"select count( distinct admissions.subject_id ) from admissions where admissions.dischtime is null and {_age_condition(low, high)}"
    return Drawn({}, query, {"age_group": word}, {}, {0: word})


@register(
    "how many [gender] patients aged [age_group] were admitted to the hospital [time_filter_global1]?",
    "Count the [gender] patients in the age group [age_group] with a hospital admission [time_filter_global1].",
    department=("health_records",),
)
def _admitted(facts: Facts, rng: random.Random) -> Drawn | None:
    admission = pick(rng, facts.admissions)
    word, low, high = _age_group(rng, _age(facts, admission))
    window = choose_window(rng, admission.start, days=False)
    sex = facts.patient[admission.subject_id].gender.lower()
    query = "select count( distinct admissions.subject_id ) from admissions join patients on admissions.subject_id = patients.subject_id "
    query += f"where patients.gender = '{sex}' and {_age_condition(low, high)}{window.sql('admissions.admittime')}"
    slots = {"gender": {"m": "male", "f": "female"}[sex], "age_group": word, "time_filter_global1": window.phrase}
    return Drawn({}, query, slots, {0: window.tag}, {0: word})


@register(
    "how many patients had a hospital admission of type {admission_type} [time_filter_global1]?",
    "Count the patients admitted as {admission_type} [time_filter_global1].",
    department=("health_records",),
    importance="low",
)
def _admitted_as(facts: Facts, rng: random.Random) -> Drawn | None:
    admission = pick(rng, facts.admissions)
    window = choose_window(rng, admission.start, days=False)
    kind = admission.kind.lower()
    query = f"select count( distinct admissions.subject_id ) from admissions where admissions.admission_type = '{kind}'"
    slots = {"time_filter_global1": window.phrase}
    return Drawn({"admission_type": kind}, query + window.sql("admissions.admittime"), slots, {0: window.tag})


@register(
    "how many hospital visits that ended [time_filter_global1] had the discharge location {discharge_location}?",
    "Count the hospital visits ended [time_filter_global1] with a discharge to {discharge_location}.",
    department=("health_records", "insurance_review"),
)
def _discharged_to(facts: Facts, rng: random.Random) -> Drawn | None:
    admission = pick(rng, [admission for admission in facts.admissions if admission.end is not None])
    window = choose_window(rng, admission.last_moment, days=False, always=0)
    place = str(admission.discharge_location).lower()
    query = f"select count(*) from admissions where admissions.discharge_location = '{place}'{window.sql('admissions.dischtime')}"
    return Drawn({"discharge_location": place}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


@register(
    "how many patients came to the hospital at least [n_times] [time_filter_global1]?",
    "Count the patients who were admitted to the hospital [n_times] or more [time_filter_global1].",
    department=("health_records",),
)
def _readmitted(facts: Facts, rng: random.Random) -> Drawn | None:
    patient = pick(rng, [patient for patient in facts.patients if len(patient.admissions) > 1])
    window = choose_window(rng, patient.admissions[-1].start, days=False, always=0.3)
    seen = sum(window.contains(admission.start) for admission in patient.admissions)
    if seen < 2:
        return None
    number, word = (2, "two times") if seen == 2 or rng.random() < 0.5 else (3, "three times")
    condition = window.sql("admissions.admittime").replace(" and ", "where ", 1)
    counted = f"select admissions.subject_id from admissions {condition} group by admissions.subject_id having count(*) >= {number}"
    query = f"select count(*) from ( {' '.join(counted.split())} ) as t1"
    return Drawn({}, query, {"n_times": word, "time_filter_global1": window.phrase}, {0: window.tag}, {5: word})


@register(
    "how many patients diagnosed with {diagnosis_name} [time_filter_global1] have died?",
    "Of the patients with a diagnosis of {diagnosis_name} [time_filter_global1], how many are dead by now?",
    importance="high",
)
def _dead_after_diagnosis(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, DIAGNOSES.raw)
    if facts.patient[int(rows.subject_id[at])].death is None:
        return None
    window = choose_window(rng, int(rows.time[at]), days=False)
    name = rows.title(at)
    diagnosed = f"select diagnoses_icd.subject_id from diagnoses_icd where {DIAGNOSES.named(name)}{window.sql('diagnoses_icd.charttime')}"
    query = f"select count( distinct patients.subject_id ) from patients where patients.dod is not null and patients.subject_id in ( {diagnosed} )"
    return Drawn({"diagnosis_name": name}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


@register(
    "how many patients died in the hospital [time_filter_global1]?",
    "Count the patients whose hospital visit ended with their death [time_filter_global1].",
    department=("health_records", "physician"),
    importance="high",
)
def _died_in_hospital(facts: Facts, rng: random.Random) -> Drawn | None:
    admission = pick(rng, [admission for admission in facts.admissions if admission.died])
    window = choose_window(rng, admission.last_moment, days=False)
    query = "select count( distinct admissions.subject_id ) from admissions where admissions.discharge_location = 'dead/expired'"
    return Drawn({}, query + window.sql("admissions.dischtime"), {"time_filter_global1": window.phrase}, {0: window.tag})


@register(
    "what percentage of the patients first diagnosed with {diagnosis_name} more than {years} year(s) ago lived longer "
    "than {years} year(s) of 365 days from that diagnosis?",
    "What is the {years}-year survival (percent; years of 365 days) after the first diagnosis of {diagnosis_name}, counting only patients "
    "whose first diagnosis is longer ago than that?",
    department=("physician", "health_records"),
    importance="high",
)
def _survival(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, DIAGNOSES.raw)
    years = rng.randint(1, 4)
    patient = facts.patient[int(rows.subject_id[at])]
    span = years * 365 * DAY
    first = min(int(rows.time[other]) for other in rows.of_patient(patient.subject_id, int(rows.name[at])))
    if NOW - first <= span or (patient.death is not None and patient.death - first <= span):
        return None
    name = rows.title(at)
    firsts = f"select diagnoses_icd.subject_id, min(diagnoses_icd.charttime) as c1 from diagnoses_icd where {DIAGNOSES.named(name)} "
    firsts += "group by diagnoses_icd.subject_id"
    lived = f"sum( case when patients.dod is null then 1 when strftime('%j',patients.dod) - strftime('%j',t1.c1) > {years} * 365 then 1 else 0 end )"
    query = f"select {lived} * 100.0 / count(*) from ( {firsts} ) as t1 join patients on t1.subject_id = patients.subject_id "
    query += f"where strftime('%j',current_time) - strftime('%j',t1.c1) > {years} * 365"
    return Drawn({"diagnosis_name": name, "years": years}, query, {}, {}, {4: f"{years} year"})


@register(
    "what is the average length in days (with fractions) of the completed hospital visits on which {diagnosis_name} was diagnosed "
    "[time_filter_global1]?",
    "How many days (with fractions) did a completed hospital visit with the diagnosis {diagnosis_name} [time_filter_global1] last on average?",
    department=("insurance_review", "health_records"),
)
def _mean_stay(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, DIAGNOSES.raw)
    if facts.admission[int(rows.hadm_id[at])].end is None:
        return None
    window = choose_window(rng, int(rows.time[at]), days=False)
    name = rows.title(at)
    visits = f"select diagnoses_icd.hadm_id from diagnoses_icd where {DIAGNOSES.named(name)}{window.sql('diagnoses_icd.charttime')}"
    length = days_between("admissions.dischtime", "admissions.admittime")
    query = f"select avg( {length} ) from admissions where admissions.dischtime is not null and admissions.hadm_id in ( {visits} )"
    return Drawn({"diagnosis_name": name}, query, {"time_filter_global1": window.phrase}, {0: window.tag}, {1: "average", 8: "days"})


def _mean_age(source: Source, had: str) -> None:
    @register(
        f"what is the average age at admission over the hospital visits on which {had} [time_filter_global1]?",
        f"How old were patients on average at the admission to hospital visits on which {had} [time_filter_global1]?",
        department=("health_records",),
        importance="low",
    )
    def _draw(facts: Facts, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        window = choose_window(rng, int(rows.time[at]), days=False)
        name = rows.title(at)
        visits = f"select {source.table}.hadm_id from {source.table} where {source.named(name)}{window.sql(source.when)}"
        query = f"select avg(admissions.age) from admissions where admissions.hadm_id in ( {visits} )"
        return Drawn({source.slot: name}, query, {"time_filter_global1": window.phrase}, {0: window.tag}, {1: "average"})


_mean_age(DIAGNOSES, "{diagnosis_name} was diagnosed")
_mean_age(PROCEDURES, "{procedure_name} was performed")


@register(
    "how many [gender] patients were diagnosed with {diagnosis_name} [time_filter_global1]?",
    "Count the [gender] patients with a diagnosis of {diagnosis_name} [time_filter_global1].",
    department=("health_records", "physician"),
)
def _diagnosed_by_sex(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, DIAGNOSES.raw)
    window = choose_window(rng, int(rows.time[at]), days=False)
    own = facts.patient[int(rows.subject_id[at])].gender.lower()
    word, sex = next(choice for choice in _SEXES if choice[1] == own)
    name = rows.title(at)
    diagnosed = f"select diagnoses_icd.subject_id from diagnoses_icd where {DIAGNOSES.named(name)}{window.sql('diagnoses_icd.charttime')}"
    query = f"select count( distinct patients.subject_id ) from patients where patients.gender = '{sex}' and patients.subject_id in ( {diagnosed} )"
    return Drawn({"diagnosis_name": name}, query, {"gender": word, "time_filter_global1": window.phrase}, {0: window.tag})


def _most_frequent_in_age_group(source: Source, noun: str) -> None:
    @register(
        f"what are the [n_rank] most frequent {noun} of patients aged [age_group] at admission [time_filter_global1]?",
        f"For hospital visits of patients aged [age_group], name the [n_rank] {noun} recorded most often [time_filter_global1].",
        department=("health_records", "physician"),
    )
    def _draw(facts: Facts, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        age, low, high = _age_group(rng, _age(facts, facts.admission[int(rows.hadm_id[at])]))
        window = choose_window(rng, int(rows.time[at]), days=False)
        word, number = rng.choice(RANKS)
        same_age = [admission.hadm_id for admission in facts.admissions if low <= _age(facts, admission) <= high]
        if not clear_ranks(rows.name[np.isin(rows.hadm_id, same_age) & (rows.time >= window.first) & (rows.time <= window.last)], number):
            return None
        visits = f"select admissions.hadm_id from admissions where {_age_condition(low, high)}"
        query = source.most_frequent(number, f" and {source.table}.hadm_id in ( {visits} ){window.sql(source.when)}")
        slots = {"n_rank": word, "age_group": age, "time_filter_global1": window.phrase}
        return Drawn({}, query, slots, {0: window.tag}, {0: age, 3: word})


_most_frequent_in_age_group(DIAGNOSES, "diagnoses")
_most_frequent_in_age_group(PROCEDURES, "procedures")
_most_frequent_in_age_group(PRESCRIPTIONS, "drugs")


@register(
    "in how many patients did a hospital visit with {procedure_name} end with death [time_filter_global1]?",
    "Count the patients who underwent {procedure_name} on a hospital visit that ended [time_filter_global1] with their death.",
    importance="high",
)
def _died_with_procedure(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, PROCEDURES.raw)
    if not facts.admission[int(rows.hadm_id[at])].died:
        return None
    window = choose_window(rng, int(rows.time[at]), days=False)
    name = rows.title(at)
    visits = f"select procedures_icd.hadm_id from procedures_icd where {PROCEDURES.named(name)}{window.sql('procedures_icd.charttime')}"
    query = "select count( distinct admissions.subject_id ) from admissions where admissions.discharge_location = 'dead/expired' "
    query += f"and admissions.hadm_id in ( {visits} )"
    return Drawn({"procedure_name": name}, query, {"time_filter_global1": window.phrase}, {0: window.tag})
