"""Kinds of questions that link drugs, diagnoses, procedures and findings of `mimic_iii`: those that are asked everywhere, and its own."""

from __future__ import annotations

import random

from medagentgym.synthetic.clock import DAY
from medagentgym.synthetic.dictionaries import DIAGNOSES as DIAGNOSIS_TITLES
from medagentgym.synthetic.dictionaries import PROCEDURES as PROCEDURE_TITLES
from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.questions.care import (
    ask_drugs_by_route,
    ask_number_of_drugs,
    ask_patients_with_organism,
    ask_what_goes_with_a_diagnosis,
    ask_what_was_done_n_times,
)
from medagentgym.synthetic.questions.kinds import MIMIC_III, Drawn, pick, pick_row, register
from medagentgym.synthetic.questions.scopes import choose_scope, visit_scope
from medagentgym.synthetic.questions.sql import CULTURES, DIAGNOSES, LABS, PRESCRIPTIONS, PROCEDURES, literal


@register("by which route is {drug_name} given?", "What is the usual way of giving {drug_name}?", department=("nursing",), importance="medium")
def _route(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, PRESCRIPTIONS.raw)
    name = rows.title(at)
    return Drawn({"drug_name": name}, f"select distinct prescriptions.route from prescriptions where prescriptions.drug = {literal(name)}")


@register(
    "what is the long title of the {coded} with the short title {abbreviation}?",
    "Spell out the {coded} {abbreviation}.",
    department=("health_records", "nursing"),
    importance="low",
)
def _long_title(facts: Facts, rng: random.Random) -> Drawn | None:
    coded, dictionary, titles = rng.choice([("diagnosis", "d_icd_diagnoses", DIAGNOSIS_TITLES), ("procedure", "d_icd_procedures", PROCEDURE_TITLES)])
    short = rng.choice(sorted(short for short, _ in titles.values())).lower()
    query = f"select {dictionary}.long_title from {dictionary} where {dictionary}.short_title = {literal(short)}"
    return Drawn({"coded": coded, "abbreviation": short}, query)


ask_drugs_by_route(MIMIC_III, PRESCRIPTIONS, "prescriptions.route")
ask_number_of_drugs(MIMIC_III, PRESCRIPTIONS)
ask_what_was_done_n_times(
    MIMIC_III,
    PRESCRIPTIONS,
    "which drugs was patient {patient_id} prescribed exactly [n_times] [time_filter_global1]?",
    "Name the drugs that were ordered for patient {patient_id} exactly [n_times] [time_filter_global1].",
)


@register(
    "which other drugs was patient {patient_id} prescribed starting on the same day as {drug_name} [time_filter_global1]?",
    "List what else patient {patient_id} was ordered with the same start as {drug_name} [time_filter_global1].",
    importance="high",
)
def _same_day(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, PRESCRIPTIONS.raw)
    subject_id, time = int(rows.subject_id[at]), int(rows.time[at])
    if not any(int(rows.time[other]) == time and rows.name[other] != rows.name[at] for other in rows.of_patient(subject_id)):
        return None
    scope = visit_scope(rng, facts, int(rows.hadm_id[at]))
    if scope is None:
        return None
    name = rows.title(at)
    starts = f"select prescriptions.startdate from prescriptions where {PRESCRIPTIONS.where(scope, name)}"
    query = f"select distinct prescriptions.drug from prescriptions where {PRESCRIPTIONS.where(scope)} and prescriptions.drug <> {literal(name)}"
    query += f" and prescriptions.startdate in ( {starts} ) order by prescriptions.drug"
    slots = {"time_filter_global1": scope.phrase}
    return Drawn({"patient_id": subject_id, "drug_name": name}, query, slots, {0: scope.tag, 2: "within-same"})


@register(
    "which drugs was patient {patient_id} prescribed within [n_days] after the first start of {drug_name} [time_filter_global1]?",
    "Name the drugs first or again ordered for patient {patient_id} later than the first order of {drug_name} and within [n_days] of it "
    "[time_filter_global1].",
)
def _within_days(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, PRESCRIPTIONS.raw)
    scope = visit_scope(rng, facts, int(rows.hadm_id[at]))
    if scope is None:
        return None
    own = [other for other in rows.of_patient(int(rows.subject_id[at])) if rows.hadm_id[other] == rows.hadm_id[at]]
    start = min(int(rows.time[other]) for other in own if rows.name[other] == rows.name[at])
    days = rng.choice([1, 2, 3])
    if not any(start < int(rows.time[other]) <= start + days * DAY for other in own):
        return None
    name = rows.title(at)
    first = f"( select min(prescriptions.startdate) from prescriptions where {PRESCRIPTIONS.where(scope, name)} )"
    query = f"select distinct prescriptions.drug from prescriptions where {PRESCRIPTIONS.where(scope)} and prescriptions.startdate > {first}"
    query += f" and datetime(prescriptions.startdate) <= datetime({first},'+{days} day') order by prescriptions.drug"
    slots = {"n_days": f"{days} day{'s' if days > 1 else ''}", "time_filter_global1": scope.phrase}
    return Drawn({"patient_id": int(rows.subject_id[at]), "drug_name": name}, query, slots, {0: scope.tag, 2: "within-n_day"})


ask_what_goes_with_a_diagnosis(MIMIC_III, DIAGNOSES, drugs=PRESCRIPTIONS, procedures=PROCEDURES, labs=LABS)


@register(
    "which procedures did patient {patient_id} undergo during the hospital visits on which {diagnosis_name} was diagnosed?",
    "List the procedures of patient {patient_id} on any hospital visit with the diagnosis {diagnosis_name}.",
)
def _procedures_with_diagnosis(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, PROCEDURES.raw)
    diagnoses = facts.rows(DIAGNOSES.raw)
    subject_id = int(rows.subject_id[at])
    same = [other for other in diagnoses.of_patient(subject_id) if diagnoses.hadm_id[other] == rows.hadm_id[at]]
    name = diagnoses.title(pick(rng, same))
    visits = f"select diagnoses_icd.hadm_id from diagnoses_icd where diagnoses_icd.subject_id = {subject_id} and {DIAGNOSES.named(name)}"
    query = PROCEDURES.labels(f"select procedures_icd.icd9_code from procedures_icd where procedures_icd.hadm_id in ( {visits} )")
    return Drawn({"patient_id": subject_id, "diagnosis_name": name}, query, {}, {2: "within-hosp"})


@register(
    "which organism grew in the [time_filter_exact1] {culture_name} microbiology test of patient {patient_id} in which one was found "
    "[time_filter_global1]?",
    "Name the organism of the [time_filter_exact1] positive {culture_name} culture of patient {patient_id} [time_filter_global1].",
    department=("infection_control", "physician"),
    importance="high",
)
def _organism(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, CULTURES.raw)
    if facts.organism(at) is None:
        return None
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
    word, order = rng.choice([("first", "asc"), ("last", "desc")])
    query = f"select microbiologyevents.org_name from microbiologyevents where {CULTURES.where(scope, rows.title(at))}"
    query += f" and microbiologyevents.org_name is not null order by microbiologyevents.charttime {order} limit 1"
    value = {"patient_id": int(rows.subject_id[at]), "culture_name": rows.title(at)}
    slots = {"time_filter_exact1": word, "time_filter_global1": scope.phrase}
    return Drawn(value, query, slots, {0: scope.tag, 3: f"exact-{word}"})


@register(
    "was any organism found in the microbiology tests of patient {patient_id} [time_filter_global1]?",
    "Did any culture of patient {patient_id} grow an organism [time_filter_global1]?",
    department=("infection_control",),
    importance="high",
)
def _any_organism(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, CULTURES.raw)
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
    grew = facts.organism(at) is not None
    if not grew and rng.random() < 0.6:
        return None
    query = f"select count(*) > 0 from microbiologyevents where {CULTURES.where(scope)} and microbiologyevents.org_name is not null"
    return Drawn({"patient_id": int(rows.subject_id[at])}, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


ask_patients_with_organism(MIMIC_III, CULTURES, "microbiologyevents.org_name")
