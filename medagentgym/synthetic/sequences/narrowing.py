"""Sequences that begin with the patients who have a diagnosis and narrow them down, question by question."""

from __future__ import annotations

import random
from collections.abc import Callable

from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.questions.kinds import pick_row
from medagentgym.synthetic.questions.scopes import choose_window
from medagentgym.synthetic.questions.sql import DIAGNOSES, LABS, PRESCRIPTIONS, PROCEDURES, Source
from medagentgym.synthetic.sequences.sequence import Sequence, Turn

Restriction = tuple[str, str]
"""What is said of patients who meet a condition ("are women"), and the condition on PATIENTS as SQL."""


def draw(facts: Facts, rng: random.Random, length: int) -> Sequence | None:
    """A sequence whose every question has an answer that is not zero: one patient meets all of its conditions."""
    rows, at = pick_row(rng, facts, DIAGNOSES.raw)
    subject_id, name = int(rows.subject_id[at]), rows.title(at)
    window = choose_window(rng, int(rows.time[at]), days=False)
    diagnosed = f"select diagnoses_icd.subject_id from diagnoses_icd where {DIAGNOSES.named(name)}{window.sql('diagnoses_icd.charttime')}"
    conditions = [f"patients.subject_id in ( {diagnosed} )"]
    turns = [Turn(" ".join(f"how many patients were diagnosed with {name} {window.phrase}".split()) + "?", _counted(conditions))]
    makers: list[Callable[[], Restriction | None]] = [
        lambda: _sex(facts, subject_id),
        lambda: _life(facts, subject_id),
        lambda: _event(facts, rng, subject_id, PRESCRIPTIONS, "have ever been prescribed {}"),
        lambda: _event(facts, rng, subject_id, PROCEDURES, "have ever undergone the procedure {}"),
        lambda: _event(facts, rng, subject_id, LABS, "have ever had the lab test {}"),
        lambda: _event(facts, rng, subject_id, DIAGNOSES, "have also been diagnosed with {} at some time", but=name),
    ]
    rng.shuffle(makers)
    lists = rng.random() < 0.35
    for maker in makers:
        if len(turns) == length - lists:
            break
        restriction = maker()
        if restriction is not None:
            said, condition = restriction
            conditions.append(condition)
            them = "of them" if len(turns) == 1 else "of those counted last"
            turns.append(Turn(f"{'And h' if len(turns) > 1 else 'H'}ow many {them} {said}?", _counted(conditions)))
    if len(turns) < length - lists:
        return None
    if lists:
        those = "these patients" if len(turns) == 1 else "the patients counted last"
        turns.append(Turn(f"Which are {those}? Give the patient id of each of them.", _listed(conditions)))
    return Sequence(tuple(turns))


def _counted(conditions: list[str]) -> str:
    return f"select count( distinct patients.subject_id ) from patients where {' and '.join(conditions)}"


def _listed(conditions: list[str]) -> str:
    return f"select distinct patients.subject_id from patients where {' and '.join(conditions)}"


def _sex(facts: Facts, subject_id: int) -> Restriction:
    own = facts.patient[subject_id].gender.lower()
    return ("are women" if own == "f" else "are men"), f"patients.gender = '{own}'"


def _life(facts: Facts, subject_id: int) -> Restriction:
    if facts.patient[subject_id].death is None:
        return "are still alive", "patients.dod is null"
    return "have died", "patients.dod is not null"


def _event(facts: Facts, rng: random.Random, subject_id: int, source: Source, said: str, but: str = "") -> Restriction | None:
    """A thing that the patient had, whenever that was."""
    rows = facts.rows(source.raw)
    names = sorted({rows.title(at) for at in rows.of_patient(subject_id)} - {but})
    if not names:
        return None
    name = rng.choice(names)
    return said.format(name), f"patients.subject_id in ( select {source.table}.subject_id from {source.table} where {source.named(name)} )"
