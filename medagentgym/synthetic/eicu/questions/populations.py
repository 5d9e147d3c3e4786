"""Kinds of questions about groups of patients of `eicu`: those that are asked everywhere, and sex, age, sources and wards."""

from __future__ import annotations

import random

import numpy as np

from medagentgym.synthetic.eicu.questions.kinds import EICU, register
from medagentgym.synthetic.eicu.questions.sources import DIAGNOSES, MEDICATIONS, TREATMENTS, EicuSource
from medagentgym.synthetic.eicu.records import EicuRecords
from medagentgym.synthetic.questions.groups import (
    age_condition,
    age_group,
    ask_current_patients,
    ask_deaths_in_hospital,
    ask_deaths_with,
    ask_mean_stay,
    ask_readmitted_patients,
)
from medagentgym.synthetic.questions.kinds import Drawn, pick, pick_row
from medagentgym.synthetic.questions.ranks import RANKS, clear_ranks
from medagentgym.synthetic.questions.scopes import choose_window

ask_current_patients(EICU)


@register(
    "how many [gender] patients aged [age_group] were admitted to the hospital [time_filter_global1]?",
    "Count the [gender] patients in the age group [age_group] with a hospital admission [time_filter_global1].",
    department=("health_records",),
)
def _admitted(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    admission = pick(rng, facts.admissions)
    row = facts.stay_row(admission)
    word, low, high = age_group(rng, row["age"])
    window = choose_window(rng, admission.start, days=False)
    condition = f"patient.gender = '{row['gender']}' and {age_condition('patient.age', low, high)}{window.sql('patient.hospitaladmittime')}"
    slots = {"gender": row["gender"], "age_group": word, "time_filter_global1": window.phrase}
    return Drawn({}, facts.visits.patients(condition), slots, {0: window.tag}, {0: word})


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
    query = facts.visits.patients(f"patient.hospitaladmitsource = '{source}'{window.sql('patient.hospitaladmittime')}")
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
    query = facts.visits.patients(f"patient.wardid = {ward}{window.sql('patient.unitadmittime')}")
    return Drawn({"ward_id": ward}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


ask_readmitted_patients(EICU)
ask_deaths_in_hospital(EICU)
ask_deaths_with(
    EICU,
    DIAGNOSES,
    "in how many patients did a hospital visit on which {diagnosis_name} was diagnosed end with death [time_filter_global1]?",
    "Count the patients who died on a hospital visit on which {diagnosis_name} was diagnosed [time_filter_global1].",
)
ask_deaths_with(
    EICU,
    TREATMENTS,
    "in how many patients did a hospital visit on which {procedure_name} was performed end with death [time_filter_global1]?",
    "Count the patients who died on a hospital visit on which {procedure_name} was performed [time_filter_global1].",
)
ask_mean_stay(EICU, DIAGNOSES)


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
        query = facts.visits.mean("patient.age", f"patient.patienthealthsystemstayid in ( {visits} )")
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
    query = facts.visits.patients(f"patient.gender = '{sex}' and patient.patientunitstayid in ( {diagnosed} )")
    return Drawn({"diagnosis_name": name}, query, {"gender": sex, "time_filter_global1": window.phrase}, {0: window.tag})


def _most_frequent_in_age_group(source: EicuSource, noun: str) -> None:
    @register(
        f"what are the [n_rank] most frequent {noun} of patients aged [age_group] [time_filter_global1]?",
        f"For stays of patients aged [age_group], name the [n_rank] {noun} recorded most often [time_filter_global1].",
        department=("health_records", "physician"),
    )
    def _draw(facts: EicuRecords, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        age, low, high = age_group(rng, facts.stays[int(rows.icustay_id[at])]["age"])
        window = choose_window(rng, int(rows.time[at]), days=False)
        word, number = rng.choice(RANKS)
        same_age = [stay for stay, row in facts.stays.items() if low <= row["age"] <= high]
        if not clear_ranks(rows.name[np.isin(rows.icustay_id, same_age) & (rows.time >= window.first) & (rows.time <= window.last)], number):
            return None
        stays = f"select patient.patientunitstayid from patient where {age_condition('patient.age', low, high)}"
        query = source.most_frequent(number, f" and {source.table}.patientunitstayid in ( {stays} ){window.sql(source.when)}")
        slots = {"n_rank": word, "age_group": age, "time_filter_global1": window.phrase}
        return Drawn({}, query, slots, {0: window.tag}, {0: age, 3: word})


_most_frequent_in_age_group(DIAGNOSES, "diagnoses")
_most_frequent_in_age_group(TREATMENTS, "procedures")
_most_frequent_in_age_group(MEDICATIONS, "drugs")
