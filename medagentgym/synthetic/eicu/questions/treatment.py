"""Kinds of questions that link drugs, diagnoses, treatments and findings of `eicu`: those that are asked everywhere, its own, and allergies."""

from __future__ import annotations

import random

from medagentgym.synthetic.eicu.questions.kinds import EICU, register
from medagentgym.synthetic.eicu.questions.sources import ALLERGIES, CULTURES, DIAGNOSES, LABS, MEDICATIONS, TREATMENTS
from medagentgym.synthetic.eicu.records import EicuRecords
from medagentgym.synthetic.questions.care import (
    ask_dose,
    ask_drugs_by_route,
    ask_number_of_drugs,
    ask_patients_with_organism,
    ask_what_goes_with_a_diagnosis,
    ask_what_was_done_n_times,
)
from medagentgym.synthetic.questions.kinds import Drawn, pick, pick_row
from medagentgym.synthetic.questions.measurements import in_scope, nth, place_tag
from medagentgym.synthetic.questions.scopes import choose_scope
from medagentgym.synthetic.questions.sql import days_between


@register("by which routes is {drug_name} given?", "In which ways has {drug_name} been given?", department=("nursing",), importance="medium")
def _route(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, MEDICATIONS.raw)
    name = rows.title(at)
    return Drawn({"drug_name": name}, f"select distinct medication.routeadmin from medication where {MEDICATIONS.named(name)}")


ask_drugs_by_route(EICU, MEDICATIONS, "medication.routeadmin")
ask_dose(EICU, MEDICATIONS, "dosage", "medication.dosage")


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


ask_number_of_drugs(EICU, MEDICATIONS)
ask_what_was_done_n_times(
    EICU,
    MEDICATIONS,
    "which drugs did patient {patient_id} get prescribed exactly [n_times] [time_filter_global1]?",
    "Name the drugs that were ordered for patient {patient_id} exactly [n_times] [time_filter_global1].",
)
ask_what_was_done_n_times(
    EICU,
    TREATMENTS,
    "which procedures did patient {patient_id} receive exactly [n_times] [time_filter_global1]?",
    "Name the procedures that were recorded for patient {patient_id} exactly [n_times] [time_filter_global1].",
)
ask_what_goes_with_a_diagnosis(EICU, DIAGNOSES, drugs=MEDICATIONS, procedures=TREATMENTS, labs=LABS)


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


ask_patients_with_organism(EICU, CULTURES, "microlab.organism")


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
