"""Kinds of questions about the events of `mimic_iii`: what is asked of events everywhere, and doses."""

from __future__ import annotations

import random

from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.questions.care import ask_dose
from medagentgym.synthetic.questions.happenings import Words, ask_what_happened
from medagentgym.synthetic.questions.kinds import MIMIC_III, Drawn, pick_row, register
from medagentgym.synthetic.questions.measurements import Measured, ask_what_was_measured, ask_what_went_in_and_out, in_scope, nth, place_tag
from medagentgym.synthetic.questions.scopes import choose_scope
from medagentgym.synthetic.questions.sql import CULTURES, DIAGNOSES, INPUTS, LABS, OUTPUTS, PRESCRIPTIONS, PROCEDURES, VITALS, days_between

_HAPPENINGS = (
    Words(DIAGNOSES, "was diagnosed with {diagnosis_name}", "receive a diagnosis of {diagnosis_name}", "were diagnosed with {diagnosis_name}",
          "diagnoses", ("physician",)),
    Words(PROCEDURES, "underwent {procedure_name}", "undergo a {procedure_name} procedure", "underwent a {procedure_name} procedure", "procedures",
          ("physician", "insurance_review")),
    Words(PRESCRIPTIONS, "was prescribed {drug_name}", "receive a prescription of {drug_name}", "were prescribed {drug_name}", "drugs",
          ("physician", "nursing")),
    Words(LABS, "had a {lab_name} lab test", "have a {lab_name} lab test", "had a {lab_name} lab test", "lab tests", ("physician", "nursing"), True),
    Words(CULTURES, "had a {culture_name} microbiology test", "have a {culture_name} microbiology test", "had a {culture_name} microbiology test",
          "microbiology specimens", ("physician", "infection_control")),
    Words(INPUTS, "had a {intake_name} intake", "have a {intake_name} intake", "had a {intake_name} intake", "intakes", ("nursing",), True),
    Words(OUTPUTS, "had a {output_name} output", "have a {output_name} output", "had a {output_name} output", "outputs", ("nursing",), True),
)  # fmt: skip

ask_what_happened(MIMIC_III, _HAPPENINGS, _HAPPENINGS[2:])
ask_what_was_measured(MIMIC_III, (Measured(LABS, "{lab_name} value"), Measured(VITALS, "{vital_name} value")))
ask_what_went_in_and_out(MIMIC_III, INPUTS, OUTPUTS)
ask_dose(MIMIC_III, PRESCRIPTIONS, "dose", "prescriptions.dose_val_rx")


@register(
    "what was the total dose of {drug_name} prescribed to patient {patient_id} [time_filter_global1]?",
    "Add up the doses of all orders of {drug_name} for patient {patient_id} [time_filter_global1].",
)
def _total_dose(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, PRESCRIPTIONS.raw)
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
    query = f"select sum(prescriptions.dose_val_rx) from prescriptions where {PRESCRIPTIONS.where(scope, rows.title(at))}"
    value = {"patient_id": int(rows.subject_id[at]), "drug_name": rows.title(at)}
    return Drawn(value, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


@register(
    "for how many days was the [time_filter_exact1] prescription of {drug_name} for patient {patient_id} written [time_filter_global1]?",
    "From its start to its end, how many days did the [time_filter_exact1] order of {drug_name} for patient {patient_id} run [time_filter_global1]?",
    department=("nursing",),
)
def _duration(facts: Facts, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, PRESCRIPTIONS.raw)
    if rows.duration(at) == 0:
        return None
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
    found = in_scope(rows, at, scope)
    place = "first" if found[0] == at else "last"
    if at not in (found[0], found[-1]):
        return None
    query = nth(PRESCRIPTIONS, scope, rows.title(at), place, days_between("prescriptions.enddate", "prescriptions.startdate"))
    value = {"patient_id": int(rows.subject_id[at]), "drug_name": rows.title(at)}
    slots = {"time_filter_exact1": place, "time_filter_global1": scope.phrase}
    return Drawn(value, query, slots, {0: scope.tag, 3: place_tag(place)}, {8: "days"})
