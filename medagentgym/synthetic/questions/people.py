"""Kinds of questions about who a patient of `mimic_iii` is and what is written on the admission."""

from __future__ import annotations

import random

from medagentgym.synthetic.cohort import Admission
from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.questions.kinds import MIMIC_III, Drawn, register
from medagentgym.synthetic.questions.scopes import choose_scope, choose_window, visit_scope, whole_life
from medagentgym.synthetic.questions.sql import days_between
from medagentgym.synthetic.questions.stays import ask_days_in_hospital, ask_number_of_visits


@register("what is the gender of patient {patient_id}?", "Which sex is recorded for patient {patient_id}?", department=("nursing",), importance="low")
def _gender(facts: Facts, rng: random.Random) -> Drawn | None:
    patient = rng.choice(facts.patients)
    return Drawn({"patient_id": patient.subject_id}, f"select patients.gender from patients where patients.subject_id = {patient.subject_id}")


@register("what is the date of birth of patient {patient_id}?", "When was patient {patient_id} born?", department=("nursing",), importance="low")
def _birth(facts: Facts, rng: random.Random) -> Drawn | None:
    patient = rng.choice(facts.patients)
    return Drawn({"patient_id": patient.subject_id}, f"select patients.dob from patients where patients.subject_id = {patient.subject_id}")


@register("on which date did patient {patient_id} die?", "What date of death is on record for patient {patient_id}?", importance="high")
def _death(facts: Facts, rng: random.Random) -> Drawn | None:
    patient = rng.choice(facts.patients)
    if patient.death is None:
        return None
    return Drawn({"patient_id": patient.subject_id}, f"select patients.dod from patients where patients.subject_id = {patient.subject_id}")


def _on_visit(column: str, facts: Facts, rng: random.Random) -> Drawn | None:
    admission = rng.choice(facts.admissions)
    scope = visit_scope(rng, facts, admission.hadm_id)
    if scope is None or getattr(admission, column, "") is None:
        return None
    query = scope.admissions.replace("select admissions.hadm_id", f"select admissions.{column}", 1)
    return Drawn({"patient_id": admission.subject_id}, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


@register("what was the age of patient {patient_id} [time_filter_global1]?", "How old was patient {patient_id} [time_filter_global1]?")
def _age(facts: Facts, rng: random.Random) -> Drawn | None:
    return _on_visit("age", facts, rng)


@register(
    "what insurance did patient {patient_id} have [time_filter_global1]?",
    "Who insured patient {patient_id} [time_filter_global1]?",
    department=("insurance_review",),
)
def _insurance(facts: Facts, rng: random.Random) -> Drawn | None:
    return _on_visit("insurance", facts, rng)


@register(
    "what was the marital status of patient {patient_id} [time_filter_global1]?",
    "Which marital status was noted for patient {patient_id} [time_filter_global1]?",
    department=("nursing",),
    importance="low",
)
def _marital_status(facts: Facts, rng: random.Random) -> Drawn | None:
    return _on_visit("marital_status", facts, rng)


@register(
    "which language did patient {patient_id} speak [time_filter_global1]?",
    "In which language should one have spoken with patient {patient_id} [time_filter_global1]?",
    department=("nursing",),
)
def _language(facts: Facts, rng: random.Random) -> Drawn | None:
    return _on_visit("language", facts, rng)


@register(
    "what ethnicity was recorded for patient {patient_id} [time_filter_global1]?",
    "What does the record say about the ethnicity of patient {patient_id} [time_filter_global1]?",
    department=("health_records",),
    importance="low",
)
def _ethnicity(facts: Facts, rng: random.Random) -> Drawn | None:
    return _on_visit("ethnicity", facts, rng)


def _exact(admissions: list[Admission], admission: Admission, rng: random.Random) -> tuple[str, str] | None:
    """`first` or `last` and the direction of sorting, where `admission` is so among `admissions`."""
    choices = []
    if admission is admissions[0]:
        choices.append(("first", "asc"))
    if admission is admissions[-1]:
        choices.append(("last", "desc"))
    return rng.choice(choices) if choices else None


def _of_exact_admission(column: str, attribute: str, facts: Facts, rng: random.Random) -> Drawn | None:
    """A column of the first or last admission, by time of admission, in a window."""
    admission = rng.choice(facts.admissions)
    window = choose_window(rng, admission.start, always=0.3, days=False)
    patient = facts.patient[admission.subject_id]
    exact = _exact([other for other in patient.admissions if window.contains(other.start)], admission, rng)
    if exact is None or getattr(admission, attribute) is None:
        return None
    query = f"select admissions.{column} from admissions where admissions.subject_id = {patient.subject_id}{window.sql('admissions.admittime')}"
    return Drawn(
        {"patient_id": patient.subject_id},
        f"{query} order by admissions.admittime {exact[1]} limit 1",
        {"time_filter_exact1": exact[0], "time_filter_global1": window.phrase},
        {0: window.tag, 3: f"exact-{exact[0]}"},
    )


@register(
    "of which type was the [time_filter_exact1] hospital admission of patient {patient_id} [time_filter_global1]?",
    "What type of admission was the [time_filter_exact1] one of patient {patient_id} [time_filter_global1]?",
)
def _type(facts: Facts, rng: random.Random) -> Drawn | None:
    return _of_exact_admission("admission_type", "kind", facts, rng)


@register(
    "from which location was patient {patient_id} [time_filter_exact1] admitted to the hospital [time_filter_global1]?",
    "Where did patient {patient_id} come from at the [time_filter_exact1] hospital admission [time_filter_global1]?",
)
def _location(facts: Facts, rng: random.Random) -> Drawn | None:
    return _of_exact_admission("admission_location", "location", facts, rng)


@register(
    "when was patient {patient_id} [time_filter_exact1] admitted to the hospital [time_filter_global1]?",
    "At what time was the [time_filter_exact1] hospital admission of patient {patient_id} [time_filter_global1]?",
)
def _admission_time(facts: Facts, rng: random.Random) -> Drawn | None:
    return _of_exact_admission("admittime", "start", facts, rng)


def _of_exact_discharge(column: str, facts: Facts, rng: random.Random) -> Drawn | None:
    admission = rng.choice(facts.admissions)
    if admission.end is None:
        return None
    window = choose_window(rng, admission.end, always=0.3, days=False)
    patient = facts.patient[admission.subject_id]
    left = [other for other in patient.admissions if other.end is not None and window.contains(other.end)]
    exact = _exact(left, admission, rng)
    if exact is None:
        return None
    query = f"select admissions.{column} from admissions where admissions.subject_id = {patient.subject_id} and admissions.dischtime is not null"
    return Drawn(
        {"patient_id": patient.subject_id},
        f"{query}{window.sql('admissions.dischtime')} order by admissions.dischtime {exact[1]} limit 1",
        {"time_filter_exact1": exact[0], "time_filter_global1": window.phrase},
        {0: window.tag, 3: f"exact-{exact[0]}"},
    )


@register(
    "where was patient {patient_id} discharged to when [time_filter_exact1] discharged from the hospital [time_filter_global1]?",
    "What was the destination of patient {patient_id} at the [time_filter_exact1] hospital discharge [time_filter_global1]?",
    department=("nursing", "insurance_review"),
)
def _destination(facts: Facts, rng: random.Random) -> Drawn | None:
    return _of_exact_discharge("discharge_location", facts, rng)


@register(
    "when was patient {patient_id} [time_filter_exact1] discharged from the hospital [time_filter_global1]?",
    "At what time did patient {patient_id} leave the hospital for the [time_filter_exact1] time [time_filter_global1]?",
)
def _discharge_time(facts: Facts, rng: random.Random) -> Drawn | None:
    return _of_exact_discharge("dischtime", facts, rng)


ask_number_of_visits(MIMIC_III)


@register(
    "was patient {patient_id} admitted to the hospital through the emergency room [time_filter_global1]?",
    "Did patient {patient_id} have an admission by way of the emergency room [time_filter_global1]?",
    department=("nursing",),
)
def _emergency(facts: Facts, rng: random.Random) -> Drawn | None:
    admission = rng.choice(facts.admissions)
    scope = choose_scope(rng, facts, admission.hadm_id, admission.start, days=False)
    came_so = admission.location == "EMERGENCY ROOM ADMIT"
    if not came_so and rng.random() < 0.3:
        return None
    query = f"select count(*) > 0 from admissions where admissions.hadm_id in ( {scope.admissions} )"
    query += " and admissions.admission_location = 'emergency room admit'" + scope.window.sql("admissions.admittime")
    return Drawn({"patient_id": admission.subject_id}, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


@register(
    "how many days (with fractions) did the [time_filter_exact1] completed hospital stay of patient {patient_id} last?",
    "Give the length in days (with fractions) of the [time_filter_exact1] completed hospital stay of patient {patient_id}.",
    department=("insurance_review", "physician"),
    importance="high",
)
def _length_of_stay(facts: Facts, rng: random.Random) -> Drawn | None:
    patient = rng.choice(facts.patients)
    completed = [admission for admission in patient.admissions if admission.end is not None]
    if not completed:
        return None
    word, order = rng.choice([("first", "asc"), ("last", "desc")])
    length = days_between("admissions.dischtime", "admissions.admittime")
    query = f"select {length} from admissions where admissions.subject_id = {patient.subject_id} and admissions.dischtime is not null"
    query += f" order by admissions.admittime {order} limit 1"
    return Drawn({"patient_id": patient.subject_id}, query, {"time_filter_exact1": word}, {3: f"exact-{word}"}, {8: "days"})


ask_days_in_hospital(MIMIC_III)


@register(
    "how many days (with fractions) lay between the discharge of patient {patient_id} from the first hospital visit and the next admission?",
    "After how many days (with fractions) did patient {patient_id} come back to the hospital after the first visit?",
    importance="high",
)
def _days_until_return(facts: Facts, rng: random.Random) -> Drawn | None:
    patient = rng.choice(facts.patients)
    if len(patient.admissions) < 2:
        return None
    visits = f"from admissions where admissions.subject_id = {patient.subject_id} order by admissions.admittime asc limit 1"
    second = f"( select strftime('%j',admissions.admittime) {visits} offset 1 )"
    query = f"select {second} - ( select strftime('%j',admissions.dischtime) {visits} )"
    return Drawn({"patient_id": patient.subject_id}, query, {}, {}, {8: "days"})


@register(
    "how many days (with fractions) has patient {patient_id} spent in the hospital in all completed stays that began [time_filter_global1]?",
    "Add up the days (with fractions) of the completed hospital stays of patient {patient_id} that began [time_filter_global1].",
    department=("insurance_review",),
)
def _total_days(facts: Facts, rng: random.Random) -> Drawn | None:
    admission = rng.choice(facts.admissions)
    if admission.end is None or len(facts.patient[admission.subject_id].admissions) < 2:
        return None
    window = choose_window(rng, admission.start, always=0, days=False)
    scope = whole_life(facts, facts.patient[admission.subject_id], window)
    length = days_between("admissions.dischtime", "admissions.admittime")
    query = f"select sum( {length} ) from admissions where admissions.subject_id = {admission.subject_id} and admissions.dischtime is not null"
    query += scope.window.sql("admissions.admittime")
    return Drawn({"patient_id": admission.subject_id}, query, {"time_filter_global1": scope.phrase}, {0: scope.tag}, {8: "days"})
