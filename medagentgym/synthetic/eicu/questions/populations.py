"""Kinds of questions about groups of patients: counts, ages, stays."""

from __future__ import annotations

import random

import numpy as np

from medagentgym.synthetic.eicu.questions.kinds import register
from medagentgym.synthetic.eicu.questions.sources import DIAGNOSES, MEDICATIONS, TREATMENTS, EicuSource
from medagentgym.synthetic.eicu.records import EicuRecords
from medagentgym.synthetic.questions.kinds import Drawn, pick, pick_row
from medagentgym.synthetic.questions.ranks import RANKS, clear_ranks
from medagentgym.synthetic.questions.scopes import choose_window
from medagentgym.synthetic.questions.sql import days_between

_NO_LIMIT = 200
_AGE_GROUPS = (("20s", 20, 29), ("30s", 30, 39), ("40s", 40, 49), ("50s", 50, 59), ("60 or above", 60, _NO_LIMIT))
_PATIENTS = "select count( distinct patient.uniquepid ) from patient where"


def _age_group(rng: random.Random, age: int) -> tuple[str, str, int, int]:
    """The group that contains `age`: in words, as an SQL condition, and its limits. Raises `NothingToAskError` for the under-twenties."""
    word, low, high = pick(rng, [group for group in _AGE_GROUPS if group[1] <= age <= group[2]])
    return word, f"patient.age >= {low}" if high == _NO_LIMIT else f"patient.age between {low} and {high}", low, high


@register(
    "how many patients are currently in the hospital?",
    "Count the patients whose hospital visit is still open.",
    department=("nursing", "health_records"),
    importance="high",
)
def _current(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return Drawn({}, f"{_PATIENTS} patient.hospitaldischargetime is null")


@register(
    "how many current patients are aged [age_group]?",
    "Count the patients who are in the hospital now and whose age is [age_group].",
    department=("nursing", "health_records"),
)
def _current_by_age(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    admission = pick(rng, [admission for admission in facts.admissions if admission.end is None])
    word, condition, _, _ = _age_group(rng, facts.stay_row(admission)["age"])
    return Drawn({}, f"{_PATIENTS} patient.hospitaldischargetime is null and {condition}", {"age_group": word}, {}, {0: word})


@register(
    "how many [gender] patients aged [age_group] were admitted to the hospital [time_filter_global1]?",
    "Count the [gender] patients in the age group [age_group] with a hospital admission [time_filter_global1].",
    department=("health_records",),
)
def _admitted(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    admission = pick(rng, facts.admissions)
    row = facts.stay_row(admission)
    word, condition, _, _ = _age_group(rng, row["age"])
    window = choose_window(rng, admission.start, days=False)
    query = f"{_PATIENTS} patient.gender = '{row['gender']}' and {condition}{window.sql('patient.hospitaladmittime')}"
    slots = {"gender": row["gender"], "age_group": word, "time_filter_global1": window.phrase}
    return Drawn({}, query, slots, {0: window.tag}, {0: word})


@register(
    "how many patients were admitted to the hospital from {admission_source} [time_filter_global1]?",
    "Count the patients with a hospital admission from {admission_source} [time_filter_global1].",
    department=("health_records",),
    importance="low",
)
def _admitted_from(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    admission = pick(rng, facts.admissions)
    window = choose_window(rng, admission.start, days=False)
    source = facts.stay_row(admission)["hospitaladmitsource"]
    query = f"{_PATIENTS} patient.hospitaladmitsource = '{source}'{window.sql('patient.hospitaladmittime')}"
    return Drawn({"admission_source": source}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


@register(
    "how many patients stayed in ward {ward_id} [time_filter_global1]?",
    "Count the patients who were in the ward number {ward_id} [time_filter_global1].",
    department=("health_records",),
)
def _patients_of_ward(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    _, stay = pick(rng, facts.intensive_stays)
    window = choose_window(rng, stay.start, days=False)
    ward = stay.stretches[0].ward
    query = f"{_PATIENTS} patient.wardid = {ward}{window.sql('patient.unitadmittime')}"
    return Drawn({"ward_id": ward}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


@register(
    "how many patients came to the hospital at least [n_times] [time_filter_global1]?",
    "Count the patients who were admitted to the hospital [n_times] or more [time_filter_global1].",
    department=("health_records",),
)
def _readmitted(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    patient = pick(rng, [patient for patient in facts.patients if len(patient.admissions) > 1])
    window = choose_window(rng, patient.admissions[-1].start, days=False, always=0.3)
    seen = sum(window.contains(admission.start) for admission in patient.admissions)
    if seen < 2:
        return None
    number, word = (2, "two times") if seen == 2 or rng.random() < 0.5 else (3, "three times")
    condition = window.sql("patient.hospitaladmittime").replace(" and ", "where ", 1)
    counted = f"select patient.uniquepid from patient {condition} group by patient.uniquepid "
    counted += f"having count( distinct patient.patienthealthsystemstayid ) >= {number}"
    query = f"select count(*) from ( {' '.join(counted.split())} ) as t1"
    return Drawn({}, query, {"n_times": word, "time_filter_global1": window.phrase}, {0: window.tag}, {5: word})


@register(
    "how many patients died in the hospital [time_filter_global1]?",
    "Count the patients whose hospital visit ended with their death [time_filter_global1].",
    department=("health_records", "physician"),
    importance="high",
)
def _died_in_hospital(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    admission = pick(rng, [admission for admission in facts.admissions if admission.died])
    window = choose_window(rng, admission.last_moment, days=False)
    query = f"{_PATIENTS} patient.hospitaldischargestatus = 'expired'{window.sql('patient.hospitaldischargetime')}"
    return Drawn({}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


def _died_with(source: EicuSource, had: str) -> None:
    @register(
        f"in how many patients did a hospital visit on which {had} end with death [time_filter_global1]?",
        f"Count the patients who died on a hospital visit on which {had} [time_filter_global1].",
        importance="high",
    )
    def _draw(facts: EicuRecords, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        if not facts.admission[int(rows.hadm_id[at])].died:
            return None
        window = choose_window(rng, int(rows.time[at]), days=False)
        name = rows.title(at)
        visits = source.visits(source.named(name) + window.sql(source.when))
        query = f"{_PATIENTS} patient.hospitaldischargestatus = 'expired' and patient.patienthealthsystemstayid in ( {visits} )"
        return Drawn({source.slot: name}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


_died_with(DIAGNOSES, "{diagnosis_name} was diagnosed")
_died_with(TREATMENTS, "{procedure_name} was performed")


@register(
    "what is the average length in days (with fractions) of the completed hospital visits on which {diagnosis_name} was diagnosed "
    "[time_filter_global1]?",
    "How many days (with fractions) did a completed hospital visit with the diagnosis {diagnosis_name} [time_filter_global1] last on average?",
    department=("insurance_review", "health_records"),
)
def _mean_stay(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, DIAGNOSES.raw)
    if facts.admission[int(rows.hadm_id[at])].end is None:
        return None
    window = choose_window(rng, int(rows.time[at]), days=False)
    name = rows.title(at)
    visits = DIAGNOSES.visits(DIAGNOSES.named(name) + window.sql(DIAGNOSES.when))
    length = days_between("patient.hospitaldischargetime", "patient.hospitaladmittime")
    one_each = f"select distinct patient.patienthealthsystemstayid, {length} as c1 from patient where patient.hospitaldischargetime is not null "
    query = f"select avg(t1.c1) from ( {one_each}and patient.patienthealthsystemstayid in ( {visits} ) ) as t1"
    return Drawn({"diagnosis_name": name}, query, {"time_filter_global1": window.phrase}, {0: window.tag}, {1: "average", 8: "days"})


def _mean_age(source: EicuSource, had: str) -> None:
    @register(
        f"what is the average age over the hospital visits on which {had} [time_filter_global1]?",
        f"How old were patients on average on hospital visits on which {had} [time_filter_global1]?",
        department=("health_records",),
        importance="low",
    )
    def _draw(facts: EicuRecords, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        window = choose_window(rng, int(rows.time[at]), days=False)
        name = rows.title(at)
        visits = source.visits(source.named(name) + window.sql(source.when))
        one_each = "select distinct patient.patienthealthsystemstayid, patient.age as c1 from patient where patient.patienthealthsystemstayid in "
        query = f"select avg(t1.c1) from ( {one_each}( {visits} ) ) as t1"
        return Drawn({source.slot: name}, query, {"time_filter_global1": window.phrase}, {0: window.tag}, {1: "average"})


_mean_age(DIAGNOSES, "{diagnosis_name} was diagnosed")
_mean_age(TREATMENTS, "{procedure_name} was performed")


@register(
    "how many [gender] patients were diagnosed with {diagnosis_name} [time_filter_global1]?",
    "Count the [gender] patients with a diagnosis of {diagnosis_name} [time_filter_global1].",
    department=("health_records", "physician"),
)
def _diagnosed_by_sex(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, DIAGNOSES.raw)
    window = choose_window(rng, int(rows.time[at]), days=False)
    name, sex = rows.title(at), facts.stays[int(rows.icustay_id[at])]["gender"]
    diagnosed = DIAGNOSES.stays(DIAGNOSES.named(name) + window.sql(DIAGNOSES.when))
    query = f"{_PATIENTS} patient.gender = '{sex}' and patient.patientunitstayid in ( {diagnosed} )"
    return Drawn({"diagnosis_name": name}, query, {"gender": sex, "time_filter_global1": window.phrase}, {0: window.tag})


def _most_frequent_in_age_group(source: EicuSource, noun: str) -> None:
    @register(
        f"what are the [n_rank] most frequent {noun} of patients aged [age_group] [time_filter_global1]?",
        f"For stays of patients aged [age_group], name the [n_rank] {noun} recorded most often [time_filter_global1].",
        department=("health_records", "physician"),
    )
    def _draw(facts: EicuRecords, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        age, condition, low, high = _age_group(rng, facts.stays[int(rows.icustay_id[at])]["age"])
        window = choose_window(rng, int(rows.time[at]), days=False)
        word, number = rng.choice(RANKS)
        same_age = [stay for stay, row in facts.stays.items() if low <= row["age"] <= high]
        if not clear_ranks(rows.name[np.isin(rows.icustay_id, same_age) & (rows.time >= window.first) & (rows.time <= window.last)], number):
            return None
        stays = f"select patient.patientunitstayid from patient where {condition}"
        query = source.most_frequent(number, f" and {source.table}.patientunitstayid in ( {stays} ){window.sql(source.when)}")
        slots = {"n_rank": word, "age_group": age, "time_filter_global1": window.phrase}
        return Drawn({}, query, slots, {0: window.tag}, {0: age, 3: word})


_most_frequent_in_age_group(DIAGNOSES, "diagnoses")
_most_frequent_in_age_group(TREATMENTS, "procedures")
_most_frequent_in_age_group(MEDICATIONS, "drugs")
