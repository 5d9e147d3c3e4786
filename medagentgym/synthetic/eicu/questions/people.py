"""Kinds of questions about who a patient of `eicu` is, and about hospital visits and unit stays."""

from __future__ import annotations

import random
from collections.abc import Callable

from medagentgym.synthetic.cohort import Admission
from medagentgym.synthetic.eicu.questions.kinds import EICU, register
from medagentgym.synthetic.eicu.records import EicuRecords
from medagentgym.synthetic.questions.kinds import Drawn, pick
from medagentgym.synthetic.questions.scopes import choose_window, visit_scope, whole_life
from medagentgym.synthetic.questions.sql import days_between
from medagentgym.synthetic.questions.stays import (
    ask_days_in_hospital,
    ask_hours_in_intensive_care,
    ask_number_of_intensive_stays,
    ask_number_of_visits,
)

_FIRST_OR_LAST = (("first", "asc"), ("last", "desc"))


def _of_patient(column: str, facts: EicuRecords, rng: random.Random) -> Drawn | None:
    patient_id = facts.patient_id(pick(rng, facts.patients).subject_id)
    return Drawn({"patient_id": patient_id}, f"select distinct patient.{column} from patient where patient.uniquepid = '{patient_id}'")


@register("what is the gender of patient {patient_id}?", "Which sex is recorded for patient {patient_id}?", department=("nursing",), importance="low")
def _gender(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _of_patient("gender", facts, rng)


@register(
    "what ethnicity was recorded for patient {patient_id}?",
    "What does the record say about the ethnicity of patient {patient_id}?",
    department=("health_records",),
    importance="low",
)
def _ethnicity(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _of_patient("ethnicity", facts, rng)


def _on_visit(column: str, facts: EicuRecords, rng: random.Random) -> Drawn | None:
    admission = pick(rng, facts.admissions)
    scope = visit_scope(rng, facts, admission.hadm_id)
    if scope is None or facts.stay_row(admission)[column] is None:
        return None
    query = f"select distinct patient.{column} from patient where patient.patienthealthsystemstayid in ( {scope.admissions} )"
    value = {"patient_id": facts.patient_id(admission.subject_id)}
    return Drawn(value, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


@register("what was the age of patient {patient_id} [time_filter_global1]?", "How old was patient {patient_id} [time_filter_global1]?")
def _age(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _on_visit("age", facts, rng)


@register(
    "in which hospital, by its number, was patient {patient_id} [time_filter_global1]?",
    "Give the number of the hospital in which patient {patient_id} was [time_filter_global1].",
    department=("health_records",),
)
def _hospital(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _on_visit("hospitalid", facts, rng)


@register(
    "from where was patient {patient_id} admitted to the hospital [time_filter_global1]?",
    "What was the source of the hospital admission of patient {patient_id} [time_filter_global1]?",
)
def _source(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _on_visit("hospitaladmitsource", facts, rng)


@register(
    "what was the discharge status of patient {patient_id} [time_filter_global1]?",
    "Was patient {patient_id} discharged alive or expired [time_filter_global1]?",
    importance="high",
)
def _status(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _on_visit("hospitaldischargestatus", facts, rng)


def _exact_time(column: str, time: Callable[[Admission], int | None], facts: EicuRecords, rng: random.Random) -> Drawn | None:
    """A time of the first or last hospital visit in a window, by that time."""
    admission = pick(rng, facts.admissions)
    own = time(admission)
    if own is None:
        return None
    window = choose_window(rng, own, always=0.3, days=False)
    patient_id = facts.patient_id(admission.subject_id)
    word, order = rng.choice(_FIRST_OR_LAST)
    query = f"select patient.{column} from patient where patient.uniquepid = '{patient_id}' and patient.{column} is not null"
    query += f"{window.sql(f'patient.{column}')} order by patient.{column} {order} limit 1"
    slots = {"time_filter_exact1": word, "time_filter_global1": window.phrase}
    return Drawn({"patient_id": patient_id}, query, slots, {0: window.tag, 3: f"exact-{word}"})


@register(
    "when was patient {patient_id} [time_filter_exact1] admitted to the hospital [time_filter_global1]?",
    "At what time was the [time_filter_exact1] hospital admission of patient {patient_id} [time_filter_global1]?",
)
def _admission_time(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _exact_time("hospitaladmittime", lambda admission: admission.start, facts, rng)


@register(
    "when was patient {patient_id} [time_filter_exact1] discharged from the hospital [time_filter_global1]?",
    "At what time did patient {patient_id} leave the hospital for the [time_filter_exact1] time [time_filter_global1]?",
)
def _discharge_time(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _exact_time("hospitaldischargetime", lambda admission: admission.end, facts, rng)


ask_number_of_visits(EICU)


@register(
    "was patient {patient_id} admitted to the hospital through the emergency department [time_filter_global1]?",
    "Did patient {patient_id} have an admission by way of the emergency department [time_filter_global1]?",
    department=("nursing",),
)
def _emergency(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    admission = pick(rng, facts.admissions)
    window = choose_window(rng, admission.start, days=False)
    if facts.stay_row(admission)["hospitaladmitsource"] != "emergency department" and rng.random() < 0.4:
        return None
    patient_id = facts.patient_id(admission.subject_id)
    query = f"select count(*) > 0 from patient where patient.uniquepid = '{patient_id}' and patient.hospitaladmitsource = 'emergency department'"
    slots = {"time_filter_global1": window.phrase}
    return Drawn({"patient_id": patient_id}, query + window.sql("patient.hospitaladmittime"), slots, {0: window.tag})


def _completed(facts: EicuRecords, rng: random.Random, later: str, earlier: str, per_day: int) -> Drawn | None:
    patient_id = facts.patient_id(pick(rng, [admission for admission in facts.admissions if admission.end is not None]).subject_id)
    word, order = rng.choice(_FIRST_OR_LAST)
    query = f"select {days_between(later, earlier, per_day)} from patient where patient.uniquepid = '{patient_id}' and {later} is not null"
    slots = {"time_filter_exact1": word}
    return Drawn({"patient_id": patient_id}, f"{query} order by {earlier} {order} limit 1", slots, {3: f"exact-{word}"})


@register(
    "how many days (with fractions) did the [time_filter_exact1] completed hospital stay of patient {patient_id} last?",
    "Give the length in days (with fractions) of the [time_filter_exact1] completed hospital stay of patient {patient_id}.",
    department=("insurance_review", "physician"),
    importance="high",
)
def _length_of_stay(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _completed(facts, rng, "patient.hospitaldischargetime", "patient.hospitaladmittime", 1)


@register(
    "how many hours did the [time_filter_exact1] completed icu stay of patient {patient_id} last?",
    "Give the length in hours of the [time_filter_exact1] completed icu stay of patient {patient_id}.",
    importance="high",
)
def _icu_length(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _completed(facts, rng, "patient.unitdischargetime", "patient.unitadmittime", 24)


ask_days_in_hospital(EICU)
ask_hours_in_intensive_care(EICU)
ask_number_of_intensive_stays(EICU)


def _exact_stay(column: str, facts: EicuRecords, rng: random.Random) -> Drawn | None:
    """A column of the first or last unit stay in a window of those that know it."""
    admission, stay = pick(rng, facts.intensive_stays)
    if facts.stays[stay.icustay_id][column] is None:
        return None
    window = choose_window(rng, stay.start, always=0.3)
    word, order = rng.choice(_FIRST_OR_LAST)
    patient_id = facts.patient_id(admission.subject_id)
    query = f"select patient.{column} from patient where patient.uniquepid = '{patient_id}' and patient.{column} is not null"
    query += f"{window.sql('patient.unitadmittime')} order by patient.unitadmittime {order} limit 1"
    slots = {"time_filter_exact1": word, "time_filter_global1": window.phrase}
    return Drawn({"patient_id": patient_id}, query, slots, {0: window.tag, 3: f"exact-{word}"})


@register(
    "what was the [time_filter_exact1] ward of patient {patient_id} [time_filter_global1]?",
    "Give the number of the ward in which patient {patient_id} was [time_filter_exact1] [time_filter_global1].",
    department=("nursing",),
    importance="low",
)
def _ward(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _exact_stay("wardid", facts, rng)


@register(
    "what was the [time_filter_exact1] measured weight at admission of patient {patient_id} [time_filter_global1]?",
    "Which weight was measured [time_filter_exact1] at an admission of patient {patient_id} [time_filter_global1]?",
    department=("nursing",),
)
def _weight(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _exact_stay("admissionweight", facts, rng)


@register(
    "what was the [time_filter_exact1] measured height of patient {patient_id} [time_filter_global1]?",
    "Which height was measured [time_filter_exact1] in patient {patient_id} [time_filter_global1]?",
    department=("nursing",),
    importance="low",
)
def _height(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    return _exact_stay("admissionheight", facts, rng)


@register(
    "by how much did the weight at admission of patient {patient_id} change from the first to the last icu stay that knows it?",
    "Take the first weight at admission of patient {patient_id} from the last one: what is the difference?",
    importance="high",
)
def _change_of_weight(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    patient = pick(rng, facts.patients)
    stays = [stay for admission in patient.admissions for stay in admission.intensive_stays]
    known = [weight for stay in stays if (weight := facts.stays[stay.icustay_id]["admissionweight"]) is not None]
    if len(known) < 2 or abs(known[-1] - known[0]) < 1e-6:
        return None
    patient_id = facts.patient_id(patient.subject_id)
    weights = f"select patient.admissionweight from patient where patient.uniquepid = '{patient_id}' and patient.admissionweight is not null"
    last, first = (f"( {weights} order by patient.unitadmittime {order} limit 1 )" for order in ("desc", "asc"))
    return Drawn({"patient_id": patient_id}, f"select {last} - {first}")


@register(
    "did patient {patient_id} stay in ward {ward_id} [time_filter_global1]?",
    "Was patient {patient_id} in the ward number {ward_id} [time_filter_global1]?",
    department=("nursing",),
)
def _stayed_in_ward(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    admission, stay = pick(rng, facts.intensive_stays)
    window = choose_window(rng, stay.start)
    ward = stay.stretches[0].ward if rng.random() < 0.65 else pick(rng, facts.intensive_stays)[1].stretches[0].ward
    query = f"select count(*) > 0 from patient where patient.patientunitstayid in ( {whole_life(facts, facts.patient[admission.subject_id]).stays} )"
    query += f" and patient.wardid = {ward}{window.sql('patient.unitadmittime')}"
    value = {"patient_id": facts.patient_id(admission.subject_id), "ward_id": ward}
    return Drawn(value, query, {"time_filter_global1": window.phrase}, {0: window.tag})


@register(
    "how many days (with fractions) lay between the discharge of patient {patient_id} from the first hospital visit and the next admission?",
    "After how many days (with fractions) did patient {patient_id} come back to the hospital after the first visit?",
    importance="high",
)
def _days_until_return(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    patient = pick(rng, [patient for patient in facts.patients if len(patient.admissions) > 1])
    patient_id = facts.patient_id(patient.subject_id)
    own = f"from patient where patient.uniquepid = '{patient_id}'"
    first = f"( select min(patient.hospitaldischargetime) {own} )"
    following = f"( select min(patient.hospitaladmittime) {own} and patient.hospitaladmittime > {first} )"
    query = f"select strftime('%j',{following}) - strftime('%j',{first})"
    return Drawn({"patient_id": patient_id}, query, {}, {}, {8: "days"})
