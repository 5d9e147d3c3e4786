"""Kinds of questions about care units, wards and intensive care of `mimic_iii`."""

from __future__ import annotations

import random

from medagentgym.synthetic.dictionaries import CARE_UNIT_WARDS
from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.questions.kinds import MIMIC_III, Drawn, pick, register
from medagentgym.synthetic.questions.scopes import choose_window, visit_scope, whole_life
from medagentgym.synthetic.questions.sql import days_between
from medagentgym.synthetic.questions.stays import ask_hours_in_intensive_care, ask_number_of_intensive_stays


def _exact_place(column: str, facts: Facts, rng: random.Random) -> Drawn | None:
    admission, stretch = rng.choice(facts.stretches)
    patient = facts.patient[admission.subject_id]
    window = choose_window(rng, stretch.start, always=0.2)
    places = [
        other
        for visit in patient.admissions
        for other in visit.stretches
        if window.contains(other.start) and (column == "wardid" or other.care_unit is not None)
    ]
    if stretch not in places:
        return None
    word, order = rng.choice([("first", "asc"), ("last", "desc")])
    query = f"select transfers.{column} from transfers where transfers.hadm_id in ( {whole_life(facts, patient).admissions} )"
    query += f" and transfers.{column} is not null{window.sql('transfers.intime')} order by transfers.intime {order} limit 1"
    slots = {"time_filter_exact1": word, "time_filter_global1": window.phrase}
    return Drawn({"patient_id": patient.subject_id}, query, slots, {0: window.tag, 3: f"exact-{word}"})


@register(
    "what was the [time_filter_exact1] care unit of patient {patient_id} [time_filter_global1]?",
    "In which care unit did patient {patient_id} lie [time_filter_exact1] [time_filter_global1]?",
    department=("nursing",),
)
def _care_unit(facts: Facts, rng: random.Random) -> Drawn | None:
    return _exact_place("careunit", facts, rng)


@register(
    "what was the [time_filter_exact1] ward of patient {patient_id} [time_filter_global1]?",
    "Give the number of the ward in which patient {patient_id} was [time_filter_exact1] [time_filter_global1].",
    department=("nursing",),
    importance="low",
)
def _ward(facts: Facts, rng: random.Random) -> Drawn | None:
    return _exact_place("wardid", facts, rng)


@register(
    "did patient {patient_id} come to care unit {care_unit} [time_filter_global1]?",
    "Was patient {patient_id} brought to the care unit {care_unit} [time_filter_global1]?",
    department=("nursing",),
)
def _came_to_unit(facts: Facts, rng: random.Random) -> Drawn | None:
    admission, stretch = rng.choice(facts.stretches)
    if stretch.care_unit is None:
        return None
    window = choose_window(rng, stretch.start)
    unit = stretch.care_unit if rng.random() < 0.65 else rng.choice(list(CARE_UNIT_WARDS))
    query = f"select count(*) > 0 from transfers where transfers.hadm_id in ( {whole_life(facts, facts.patient[admission.subject_id]).admissions} )"
    query += f" and transfers.careunit = '{unit.lower()}'{window.sql('transfers.intime')}"
    value = {"patient_id": admission.subject_id, "care_unit": unit.lower()}
    return Drawn(value, query, {"time_filter_global1": window.phrase}, {0: window.tag})


ask_number_of_intensive_stays(MIMIC_III)


@register(
    "how many hours did the [time_filter_exact1] completed icu stay of patient {patient_id} last?",
    "Give the length in hours of the [time_filter_exact1] completed icu stay of patient {patient_id}.",
    importance="high",
)
def _icu_length(facts: Facts, rng: random.Random) -> Drawn | None:
    admission, stay = pick(rng, facts.intensive_stays)
    if stay.end is None:
        return None
    word, order = rng.choice([("first", "asc"), ("last", "desc")])
    query = f"select {days_between('icustays.outtime', 'icustays.intime', 24)} from icustays where icustays.hadm_id in "
    query += f"( {whole_life(facts, facts.patient[admission.subject_id]).admissions} ) and icustays.outtime is not null"
    slots = {"time_filter_exact1": word}
    value = {"patient_id": admission.subject_id}
    return Drawn(value, f"{query} order by icustays.intime {order} limit 1", slots, {3: f"exact-{word}"}, {8: "hours"})


ask_hours_in_intensive_care(MIMIC_III)


@register(
    "how many days (with fractions) have passed since patient {patient_id} last came to ward {ward_id} on the current hospital visit?",
    "On the current hospital visit, how many days (with fractions) ago was patient {patient_id} last moved to ward {ward_id}?",
    department=("nursing",),
)
def _days_since_ward(facts: Facts, rng: random.Random) -> Drawn | None:
    here = [(admission, stretch) for admission, stretch in facts.stretches if admission.end is None]
    admission, stretch = pick(rng, here)
    scope = visit_scope(rng, facts, admission.hadm_id)
    if scope is None:
        return None
    query = f"select {days_between('current_time', 'transfers.intime')} from transfers where transfers.hadm_id in ( {scope.admissions} )"
    query += f" and transfers.wardid = {stretch.ward} order by transfers.intime desc limit 1"
    return Drawn({"patient_id": admission.subject_id, "ward_id": stretch.ward}, query, {}, {0: scope.tag, 3: "exact-last"}, {8: "days"})


@register(
    "how many patients came to care unit {care_unit} [time_filter_global1]?",
    "Count the patients who were brought to the care unit {care_unit} [time_filter_global1].",
    department=("health_records",),
)
def _patients_of_unit(facts: Facts, rng: random.Random) -> Drawn | None:
    _, stretch = rng.choice(facts.stretches)
    if stretch.care_unit is None:
        return None
    window = choose_window(rng, stretch.start)
    query = "select count( distinct admissions.subject_id ) from admissions where admissions.hadm_id in ( select transfers.hadm_id from transfers "
    query += f"where transfers.careunit = '{stretch.care_unit.lower()}'{window.sql('transfers.intime')} )"
    return Drawn({"care_unit": stretch.care_unit.lower()}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


@register(
    "how many icu stays that began in care unit {care_unit} ended in another care unit [time_filter_global1]?",
    "Count the icu stays ended [time_filter_global1] whose first care unit was {care_unit} and whose last was a different one.",
    department=("health_records",),
    importance="low",
)
def _moved_between_units(facts: Facts, rng: random.Random) -> Drawn | None:
    moved = [stay for _, stay in facts.intensive_stays if stay.end is not None and stay.stretches[0].care_unit != stay.stretches[-1].care_unit]
    stay = pick(rng, moved)
    window = choose_window(rng, stay.end or stay.start, always=0.3, days=False)
    unit = str(stay.stretches[0].care_unit).lower()
    query = f"select count(*) from icustays where icustays.first_careunit = '{unit}' and icustays.last_careunit <> icustays.first_careunit"
    query += f" and icustays.outtime is not null{window.sql('icustays.outtime')}"
    return Drawn({"care_unit": unit}, query, {"time_filter_global1": window.phrase}, {0: window.tag})
