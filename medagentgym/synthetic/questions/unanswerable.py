"""Questions that sound reasonable and that the tables cannot answer."""

from __future__ import annotations

import random
from collections.abc import Callable

from medagentgym.synthetic.facts import Records
from medagentgym.synthetic.questions.kinds import Drawn, F, Kind, pick, pick_row
from medagentgym.synthetic.questions.sql import Source

QUERY = "null"
"""What stands in place of gold SQL."""


def _patient(facts: Records, rng: random.Random) -> Drawn | None:
    return Drawn({"patient_id": facts.patient_id(pick(rng, facts.patients).subject_id)}, QUERY)


def _name(source: Source) -> Callable[[Records, random.Random], Drawn | None]:
    def draw(facts: Records, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        return Drawn({source.slot: rows.title(at)}, QUERY)

    return draw


def _patient_and_name(source: Source) -> Callable[[Records, random.Random], Drawn | None]:
    def draw(facts: Records, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        return Drawn({"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at)}, QUERY)

    return draw


def unanswerable(diagnoses: Source, procedures: Source, prescriptions: Source, labs: Source) -> tuple[Kind[F], ...]:
    """Kinds of questions without an answer in the tables."""
    phrased: tuple[tuple[str, tuple[str, ...], Callable[[Records, random.Random], Drawn | None], str], ...] = (
        ("what is the phone number of patient {patient_id}?", ("How can I reach patient {patient_id} by phone?",), _patient, "nursing"),
        ("how many cigarettes a day does patient {patient_id} smoke?", ("Tell me the cigarettes a day of patient {patient_id}.",),
         _patient, "nursing"),
        ("who is the doctor in charge of patient {patient_id}?", ("Which physician looks after patient {patient_id}?",), _patient, "nursing"),
        ("which diseases run in the family of patient {patient_id}?", ("Tell me the family history of patient {patient_id}.",),
         _patient, "physician"),
        ("when is the next appointment of patient {patient_id}?", ("Which visit has patient {patient_id} scheduled next?",), _patient, "nursing"),
        ("what did patient {patient_id} eat yesterday?", ("Describe yesterday's meals of patient {patient_id}.",), _patient, "nursing"),
        ("who visited patient {patient_id} last week?", ("Name last week's visitors of patient {patient_id}.",), _patient, "other"),
        ("on which body side was patient {patient_id} operated?", ("Was patient {patient_id} operated left or right?",), _patient, "physician"),
        ("what is the occupation of patient {patient_id}?", ("What does patient {patient_id} do for a living?",), _patient, "other"),
        ("has patient {patient_id} travelled abroad lately?", ("Where was patient {patient_id} abroad lately?",), _patient, "infection_control"),
        ("what are the side effects of {drug_name}?", ("Which adverse effects does {drug_name} have?",), _name(prescriptions), "physician"),
        ("how much {drug_name} is left in the pharmacy?", ("What is the pharmacy's stock of {drug_name}?",), _name(prescriptions), "other"),
        ("which symptoms does {diagnosis_name} have?", ("How does {diagnosis_name} show itself?",), _name(diagnoses), "physician"),
        ("how should a patient prepare for {procedure_name}?", ("What must be done before {procedure_name}?",), _name(procedures), "nursing"),
        ("how long does the lab take for a {lab_name} test?", ("When will a {lab_name} test be ready?",), _name(labs), "nursing"),
        ("who ordered {drug_name} for patient {patient_id}?", ("Whose order of {drug_name} is it in patient {patient_id}?",),
         _patient_and_name(prescriptions), "nursing"),
        ("in which room was {procedure_name} done to patient {patient_id}?", ("Where exactly did patient {patient_id} undergo {procedure_name}?",),
         _patient_and_name(procedures), "nursing"),
        ("how did patient {patient_id} take the news of {diagnosis_name}?", ("What did patient {patient_id} say on hearing of {diagnosis_name}?",),
         _patient_and_name(diagnoses), "nursing"),
    )  # fmt: skip
    return tuple(Kind(wording, paraphrases, draw, (department,), "n/a") for wording, paraphrases, draw, department in phrased)
