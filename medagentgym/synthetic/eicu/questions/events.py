"""Kinds of questions about the events of `eicu`: what is asked of events everywhere."""

from __future__ import annotations

from medagentgym.synthetic.eicu.questions.kinds import EICU
from medagentgym.synthetic.eicu.questions.sources import CULTURES, DIAGNOSES, INTAKES, LABS, MEDICATIONS, OUTPUTS, TREATMENTS, VITALS
from medagentgym.synthetic.questions.happenings import Words, ask_what_happened
from medagentgym.synthetic.questions.measurements import Measured, ask_what_was_measured, ask_what_went_in_and_out

_HAPPENINGS = (
    Words(DIAGNOSES, "was diagnosed with {diagnosis_name}", "receive a diagnosis of {diagnosis_name}", "were diagnosed with {diagnosis_name}",
          "diagnoses", ("physician",)),
    Words(TREATMENTS, "received a {procedure_name} procedure", "receive a {procedure_name} procedure", "received a {procedure_name} procedure",
          "procedures", ("physician", "insurance_review"), True),
    Words(MEDICATIONS, "was prescribed {drug_name}", "receive a prescription of {drug_name}", "were prescribed {drug_name}", "drugs",
          ("physician", "nursing"), True),
    Words(LABS, "had a {lab_name} lab test", "have a {lab_name} lab test", "had a {lab_name} lab test", "lab tests", ("physician", "nursing"), True),
    Words(CULTURES, "had a {culture_name} microbiology test", "have a {culture_name} microbiology test", "had a {culture_name} microbiology test",
          "microbiology specimens", ("physician", "infection_control")),
    Words(INTAKES, "had a {intake_name} intake", "have a {intake_name} intake", "had a {intake_name} intake", "intakes", ("nursing",), True),
    Words(OUTPUTS, "had a {output_name} output", "have a {output_name} output", "had a {output_name} output", "outputs", ("nursing",), True),
)  # fmt: skip

ask_what_happened(EICU, _HAPPENINGS, _HAPPENINGS[1:])
ask_what_was_measured(EICU, (Measured(LABS, "{lab_name} value"), Measured(VITALS, "{vital_name} value")))
ask_what_went_in_and_out(EICU, INTAKES, OUTPUTS)
