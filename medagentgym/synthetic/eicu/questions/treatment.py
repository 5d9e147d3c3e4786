"""Kinds of questions that link drugs, diagnoses, treatments and findings, and about allergies."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from medagentgym.synthetic.eicu.questions.kinds import register
from medagentgym.synthetic.eicu.questions.sources import ALLERGIES, CULTURES, DIAGNOSES, LABS, MEDICATIONS, TREATMENTS, EicuSource
from medagentgym.synthetic.eicu.records import EicuRecords
from medagentgym.synthetic.eicu.terms import NO_GROWTH
from medagentgym.synthetic.questions.kinds import Drawn, pick, pick_row
from medagentgym.synthetic.questions.measurements import in_scope, nth, place_tag
from medagentgym.synthetic.questions.ranks import RANKS, clear_ranks
from medagentgym.synthetic.questions.scopes import choose_scope, choose_window, visit_scope
from medagentgym.synthetic.questions.sql import days_between, literal


@register("by which routes is {drug_name} given?", "In which ways has {drug_name} been given?", department=("nursing",), importance="medium")
def _route(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, MEDICATIONS.raw)
    name = rows.title(at)
    return Drawn({"drug_name": name}, f"select distinct medication.routeadmin from medication where {MEDICATIONS.named(name)}")


@register(
    "list the drugs that patient {patient_id} was prescribed via {drug_route} route [time_filter_global1].",
    "Which drugs were ordered for patient {patient_id} by the route {drug_route} [time_filter_global1]?",
    department=("nursing", "physician"),
)
def _by_route(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, MEDICATIONS.raw)
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
    route = facts.details[MEDICATIONS.raw][at]["routeadmin"]
    query = f"select distinct medication.drugname from medication where {MEDICATIONS.where(scope)} and medication.routeadmin = '{route}'"
    value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), "drug_route": route}
    return Drawn(value, f"{query} order by medication.drugname", {"time_filter_global1": scope.phrase}, {0: scope.tag})


@register(
    "what was the dosage of {drug_name} that patient {patient_id} was [time_filter_exact1] prescribed [time_filter_global1]?",
    "In which dosage was {drug_name} [time_filter_exact1] ordered for patient {patient_id} [time_filter_global1]?",
    department=("physician", "nursing"),
    importance="high",
)
def _dosage(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, MEDICATIONS.raw)
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
    times = [int(rows.time[other]) for other in in_scope(rows, at, scope)]
    place = rng.choice(["first", "last"])
    if times.count(times[0 if place == "first" else -1]) > 1:
        return None
    value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), "drug_name": rows.title(at)}
    slots = {"time_filter_exact1": place, "time_filter_global1": scope.phrase}
    query = nth(MEDICATIONS, scope, rows.title(at), place, "medication.dosage")
    return Drawn(value, query, slots, {0: scope.tag, 3: place_tag(place)})


@register(
    "for how many hours did the [time_filter_exact1] prescription of {drug_name} for patient {patient_id} run [time_filter_global1]?",
    "From its start to its stop, how many hours did the [time_filter_exact1] order of {drug_name} for patient {patient_id} run "
    "[time_filter_global1]?",
    department=("nursing",),
)
def _duration(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, MEDICATIONS.raw)
    if rows.duration(at) <= 0:
        return None
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
    found = in_scope(rows, at, scope)
    place = "first" if found[0] == at else "last"
    times = [int(rows.time[other]) for other in found]
    if at not in (found[0], found[-1]) or times.count(int(rows.time[at])) > 1:
        return None
    query = nth(MEDICATIONS, scope, rows.title(at), place, days_between("medication.drugstoptime", "medication.drugstarttime", 24))
    value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), "drug_name": rows.title(at)}
    slots = {"time_filter_exact1": place, "time_filter_global1": scope.phrase}
    return Drawn(value, query, slots, {0: scope.tag, 3: place_tag(place)}, {8: "hours"})


@register(
    "how many different drugs was patient {patient_id} prescribed [time_filter_global1]?",
    "Count the distinct drugs ordered for patient {patient_id} [time_filter_global1].",
    department=("nursing", "physician"),
)
def _distinct_drugs(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, MEDICATIONS.raw)
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
    query = f"select count( distinct medication.drugname ) from medication where {MEDICATIONS.where(scope)}"
    value = {"patient_id": facts.patient_id(int(rows.subject_id[at]))}
    return Drawn(value, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


def _n_times(source: EicuSource, noun: str, had: str, were: str) -> None:
    @register(
        f"which {noun} did patient {{patient_id}} {had} exactly [n_times] [time_filter_global1]?",
        f"Name the {noun} that {were} for patient {{patient_id}} exactly [n_times] [time_filter_global1].",
    )
    def _draw(facts: EicuRecords, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = visit_scope(rng, facts, int(rows.hadm_id[at]))
        if scope is None:
            return None
        own = rows.of_patient(int(rows.subject_id[at]))
        counts = Counter(rows.title(other) for other in own if rows.hadm_id[other] == rows.hadm_id[at])
        number, word = rng.choice([(2, "two times"), (3, "three times")])
        if number not in counts.values():
            return None
        query = f"select {source.group} from {source.table} where {source.where(scope)} group by {source.group} having count(*) = {number}"
        slots = {"n_times": word, "time_filter_global1": scope.phrase}
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at]))}
        return Drawn(value, f"{query} order by {source.group}", slots, {0: scope.tag}, {5: word})


_n_times(MEDICATIONS, "drugs", "get prescribed", "were ordered")
_n_times(TREATMENTS, "procedures", "receive", "were recorded")


def _most_frequent_beside_diagnosis(source: EicuSource, noun: str) -> None:
    @register(
        f"what are the [n_rank] most frequent {noun} over all hospital visits on which {{diagnosis_name}} was diagnosed [time_filter_global1]?",
        f"For hospital visits with a diagnosis of {{diagnosis_name}} [time_filter_global1], name the [n_rank] most frequent {noun}.",
        department=("physician", "health_records"),
    )
    def _draw(facts: EicuRecords, rng: random.Random) -> Drawn | None:
        diagnoses, at = pick_row(rng, facts, DIAGNOSES.raw)
        rows = facts.rows(source.raw)
        window = choose_window(rng, int(diagnoses.time[at]), days=False)
        word, number = rng.choice(RANKS)
        name = diagnoses.title(at)
        meant = (diagnoses.name == diagnoses.name[at]) & (diagnoses.time >= window.first) & (diagnoses.time <= window.last)
        if not clear_ranks(rows.name[np.isin(rows.hadm_id, diagnoses.hadm_id[meant])], number):
            return None
        stays = "select patient.patientunitstayid from patient where patient.patienthealthsystemstayid in "
        stays += f"( {DIAGNOSES.visits(DIAGNOSES.named(name) + window.sql(DIAGNOSES.when))} )"
        query = source.most_frequent(number, f" and {source.table}.patientunitstayid in ( {stays} )")
        slots = {"n_rank": word, "time_filter_global1": window.phrase}
        return Drawn({"diagnosis_name": name}, query, slots, {0: window.tag, 2: "within-hosp"}, {3: word})


_most_frequent_beside_diagnosis(MEDICATIONS, "drugs")
_most_frequent_beside_diagnosis(TREATMENTS, "procedures")
_most_frequent_beside_diagnosis(LABS, "lab tests")


@register(
    "how many patients were prescribed {drug_name} during a hospital visit on which {diagnosis_name} was diagnosed [time_filter_global1]?",
    "Count the patients who had both a diagnosis of {diagnosis_name} and an order of {drug_name} within one hospital visit [time_filter_global1].",
    importance="high",
)
def _drug_with_diagnosis(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    diagnoses, at = pick_row(rng, facts, DIAGNOSES.raw)
    rows = facts.rows(MEDICATIONS.raw)
    window = choose_window(rng, int(diagnoses.time[at]), days=False)
    same = [other for other in rows.of_patient(int(diagnoses.subject_id[at])) if rows.hadm_id[other] == diagnoses.hadm_id[at]]
    name, drug = diagnoses.title(at), rows.title(pick(rng, same))
    visits = DIAGNOSES.visits(DIAGNOSES.named(name) + window.sql(DIAGNOSES.when))
    query = MEDICATIONS.patients(MEDICATIONS.named(drug)) + f" and patient.patienthealthsystemstayid in ( {visits} )"
    slots = {"time_filter_global1": window.phrase}
    return Drawn({"diagnosis_name": name, "drug_name": drug}, query, slots, {0: window.tag, 2: "within-hosp"})


@register(
    "which procedures did patient {patient_id} receive during the hospital visits on which {diagnosis_name} was diagnosed?",
    "List the procedures of patient {patient_id} on any hospital visit with the diagnosis {diagnosis_name}.",
)
def _procedures_with_diagnosis(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, TREATMENTS.raw)
    diagnoses = facts.rows(DIAGNOSES.raw)
    subject_id = int(rows.subject_id[at])
    same = [other for other in diagnoses.of_patient(subject_id) if diagnoses.hadm_id[other] == rows.hadm_id[at]]
    name, patient_id = diagnoses.title(pick(rng, same)), facts.patient_id(subject_id)
    visits = f"{DIAGNOSES.visits(DIAGNOSES.named(name))} and patient.uniquepid = '{patient_id}'"
    stays = f"select patient.patientunitstayid from patient where patient.patienthealthsystemstayid in ( {visits} )"
    query = (
        f"select distinct treatment.treatmentname from treatment where treatment.patientunitstayid in ( {stays} ) order by treatment.treatmentname"
    )
    return Drawn({"patient_id": patient_id, "diagnosis_name": name}, query, {}, {2: "within-hosp"})


# --- microbiology and allergies ---------------------------------------------------------------------------------------------------------------------


@register(
    "what was found in the [time_filter_exact1] {culture_name} microbiology test of patient {patient_id} [time_filter_global1]?",
    "Name the organism of the [time_filter_exact1] {culture_name} culture of patient {patient_id} [time_filter_global1].",
    department=("infection_control", "physician"),
    importance="high",
)
def _organism(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, CULTURES.raw)
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
    word, order = rng.choice([("first", "asc"), ("last", "desc")])
    query = f"select microlab.organism from microlab where {CULTURES.where(scope, rows.title(at))} order by microlab.culturetakentime {order} limit 1"
    value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), "culture_name": rows.title(at)}
    slots = {"time_filter_exact1": word, "time_filter_global1": scope.phrase}
    return Drawn(value, query, slots, {0: scope.tag, 3: f"exact-{word}"})


@register(
    "in how many patients was {organism_name} found [time_filter_global1]?",
    "Count the patients with {organism_name} in a culture [time_filter_global1].",
    department=("infection_control",),
)
def _patients_with_organism(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, CULTURES.raw)
    organism = facts.details[CULTURES.raw][at]["organism"]
    if organism == NO_GROWTH:
        return None
    window = choose_window(rng, int(rows.time[at]), days=False)
    query = CULTURES.patients(f"microlab.organism = {literal(organism)}{window.sql('microlab.culturetakentime')}")
    return Drawn({"organism_name": organism}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


@register(
    "which allergies are on record for patient {patient_id} [time_filter_global1]?",
    "Name all allergies recorded for patient {patient_id} [time_filter_global1].",
    department=("nursing", "physician"),
    importance="high",
)
def _allergies(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, ALLERGIES.raw)
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
    query = ALLERGIES.labels(f"select allergy.allergyname from allergy where {ALLERGIES.where(scope)}")
    value = {"patient_id": facts.patient_id(int(rows.subject_id[at]))}
    return Drawn(value, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


@register(
    "is patient {patient_id} on record as allergic to {allergy_name}?",
    "Does patient {patient_id} have an allergy named {allergy_name}?",
    department=("nursing",),
    importance="high",
)
def _is_allergic(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, ALLERGIES.raw)
    patient_id = facts.patient_id(int(rows.subject_id[at]))
    name = rows.title(at) if rng.random() < 0.6 else rng.choice(rows.names)
    stays = f"select patient.patientunitstayid from patient where patient.uniquepid = '{patient_id}'"
    query = f"select count(*) > 0 from allergy where allergy.patientunitstayid in ( {stays} ) and {ALLERGIES.named(name)}"
    return Drawn({"patient_id": patient_id, "allergy_name": name}, query)


@register(
    "how many patients are on record as allergic to {allergy_name}?",
    "Count the patients with an allergy named {allergy_name}.",
    department=("health_records",),
    importance="low",
)
def _patients_with_allergy(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, ALLERGIES.raw)
    return Drawn({"allergy_name": rows.title(at)}, ALLERGIES.patients(ALLERGIES.named(rows.title(at))))
