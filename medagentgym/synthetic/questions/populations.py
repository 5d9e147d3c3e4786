"""Kinds of questions about groups of patients of `mimic_iii`: those that are asked everywhere, and sex, age, types of visits, survival."""

from __future__ import annotations

import random

import numpy as np

from medagentgym.synthetic.clock import DAY, NOW
from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.questions.groups import (
    age_condition,
    age_group,
    ask_current_patients,
    ask_deaths_in_hospital,
    ask_deaths_with,
    ask_mean_stay,
    ask_readmitted_patients,
)
from medagentgym.synthetic.questions.kinds import MIMIC_III, Drawn, pick, pick_row, register
from medagentgym.synthetic.questions.ranks import RANKS, clear_ranks
from medagentgym.synthetic.questions.scopes import choose_window
from medagentgym.synthetic.questions.sql import DIAGNOSES, PRESCRIPTIONS, PROCEDURES, Source

_SEXES = (("male", "m"), ("female", "f"))


ask_current_patients(MIMIC_III)


@register(
    "how many [gender] patients aged [age_group] were admitted to the hospital [time_filter_global1]?",
    "Count the [gender] patients in the age group [age_group] with a hospital admission [time_filter_global1].",
    department=("health_records",),
)
def _admitted(facts: Facts, rng: random.Random) -> Drawn | None:
    admission = pick(rng, facts.admissions)
    word, low, high = age_group(rng, facts.age(admission))
    window = choose_window(rng, admission.start, days=False)
    sex = facts.patient[admission.subject_id].gender.lower()
    query = "select count( distinct admissions.subject_id ) from admissions join patients on admissions.subject_id = patients.subject_id "
    query += f"where patients.gender = '{sex}' and {age_condition('admissions.age', low, high)}{window.sql('admissions.admittime')}"
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
    query = facts.visits.patients(f"admissions.admission_type = '{kind}'{window.sql('admissions.admittime')}")
    return Drawn({"admission_type": kind}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


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


ask_readmitted_patients(MIMIC_III)


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


ask_deaths_in_hospital(MIMIC_III)


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


ask_mean_stay(MIMIC_III, DIAGNOSES)


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
        visits = source.visits(source.named(name) + window.sql(source.when))
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
        age, low, high = age_group(rng, facts.age(facts.admission[int(rows.hadm_id[at])]))
        window = choose_window(rng, int(rows.time[at]), days=False)
        word, number = rng.choice(RANKS)
        same_age = [admission.hadm_id for admission in facts.admissions if low <= facts.age(admission) <= high]
        if not clear_ranks(rows.name[np.isin(rows.hadm_id, same_age) & (rows.time >= window.first) & (rows.time <= window.last)], number):
            return None
        visits = f"select admissions.hadm_id from admissions where {age_condition('admissions.age', low, high)}"
        query = source.most_frequent(number, f" and {source.table}.hadm_id in ( {visits} ){window.sql(source.when)}")
        slots = {"n_rank": word, "age_group": age, "time_filter_global1": window.phrase}
        return Drawn({}, query, slots, {0: window.tag}, {0: age, 3: word})


_most_frequent_in_age_group(DIAGNOSES, "diagnoses")
_most_frequent_in_age_group(PROCEDURES, "procedures")
_most_frequent_in_age_group(PRESCRIPTIONS, "drugs")


ask_deaths_with(
    MIMIC_III,
    PROCEDURES,
    "in how many patients did a hospital visit with {procedure_name} end with death [time_filter_global1]?",
    "Count the patients who underwent {procedure_name} on a hospital visit that ended [time_filter_global1] with their death.",
)
