"""Sequences about one measurement of one patient: its least, largest, mean, last value, how often and when it was taken."""

from __future__ import annotations

import random

from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.questions.kinds import pick_row
from medagentgym.synthetic.questions.scopes import choose_scope
from medagentgym.synthetic.questions.sql import LABS, VITALS
from medagentgym.synthetic.sequences.sequence import Sequence, Turn

_FORMS = (
    ("what was the minimum {name} value of patient {patient} {scope}?", "And the minimum value?", "select min({value}) from {table} where {where}"),
    ("what was the maximum {name} value of patient {patient} {scope}?", "And the maximum value?", "select max({value}) from {table} where {where}"),
    ("what was the average {name} value of patient {patient} {scope}?", "And the average value?", "select avg({value}) from {table} where {where}"),
    ("what was the last measured {name} value of patient {patient} {scope}?", "And the last measured value?",
     "select {value} from {table} where {where} order by {time} desc limit 1"),
    ("how many {name} values of patient {patient} were measured {scope}?", "How many such values were measured in all?",
     "select count(*) from {table} where {where}"),
    ("when was the first {name} value of patient {patient} measured {scope}?", "When was the first of these values measured?",
     "select {time} from {table} where {where} order by {time} asc limit 1"),
)  # fmt: skip
"""A question that stands for itself, the same one after another of them, and its SQL."""


def draw(facts: Facts, rng: random.Random, length: int) -> Sequence | None:
    """A sequence about a measurement that was taken several times."""
    source = rng.choice((LABS, VITALS))
    rows, at = pick_row(rng, facts, source.raw)
    stay = int(rows.icustay_id[at]) if source.intensive else 0
    scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), stay)
    subject_id, name = int(rows.subject_id[at]), rows.title(at)
    taken = [
        other
        for other in rows.of_patient(subject_id, int(rows.name[at]))
        if scope.holds(int(rows.hadm_id[other]), int(rows.icustay_id[other]), int(rows.time[other]))
    ]
    if len({int(rows.time[other]) for other in taken}) < len(taken) or len(taken) < 2:
        return None
    words = {"name": name, "patient": subject_id, "scope": scope.phrase}
    parts = {"value": f"{source.table}.{source.value}", "table": source.table, "time": source.when, "where": source.where(scope, name)}
    turns = []
    for number, (whole, short, query) in enumerate(rng.sample(_FORMS, length)):
        text = short if number else " ".join(whole.format(**words).split()).replace(" ?", "?")
        turns.append(Turn(text, query.format(**parts)))
    return Sequence(tuple(turns))
