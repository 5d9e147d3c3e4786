"""Sequences of questions about one patient, out of the kinds of single questions."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence as Series
from dataclasses import replace
from itertools import pairwise

from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.questions.kinds import Drawn, Kind, NothingToAskError, fill
from medagentgym.synthetic.questions.mimic_iii import KINDS
from medagentgym.synthetic.sequences.sequence import Sequence, Turn

_PATIENT = "patient {patient_id}"
_TIME = "time_filter_global1"
_DRAWS_A_KIND = 30

Questions = Mapping[int, Series[tuple[Kind[Facts], Drawn]]]
"""Patient -> questions about the patient."""


def questions_by_patient(facts: Facts, rng: random.Random) -> Questions:
    """Questions of all kinds that name one patient, by patient."""
    found: dict[int, list[tuple[Kind[Facts], Drawn]]] = defaultdict(list)
    for kind in KINDS:
        if kind.wording.count(_PATIENT) != 1:
            continue
        for _ in range(_DRAWS_A_KIND):
            try:
                drawn = kind.draw(facts, rng)
            except NothingToAskError:
                break
            if drawn is not None:
                found[int(drawn.value["patient_id"])].append((kind, drawn))
    return found


def draw(questions: Questions, rng: random.Random, length: int) -> Sequence | None:
    """A sequence of questions of different kinds about a patient; None where the patient drawn has too few."""
    of_patient = list(questions[rng.choice(sorted(questions))])
    rng.shuffle(of_patient)
    chosen: list[tuple[Kind[Facts], Drawn]] = []
    for kind, drawn in of_patient:
        if len(chosen) < length and all(kind is not other for other, _ in chosen):
            chosen.append((kind, drawn))
    if len(chosen) < length:
        return None
    turns = [Turn(fill(chosen[0][0].wording, chosen[0][1]), chosen[0][1].query)]
    for (_, earlier), (kind, drawn) in pairwise(chosen):
        turns.append(Turn(_referring(kind, earlier, drawn, rng), drawn.query))
    return Sequence(tuple(turns))


def _referring(kind: Kind[Facts], earlier: Drawn, drawn: Drawn, rng: random.Random) -> str:
    """The question with the patient referred to; the time, too, where it is that of the question before."""
    wording = kind.wording.replace(_PATIENT, rng.choice(("this patient", "the same patient")))
    time = drawn.slots.get(_TIME, "")
    if time and time == earlier.slots.get(_TIME) and wording.count(f"[{_TIME}]") == 1:
        drawn = replace(drawn, slots={**drawn.slots, _TIME: "on that same visit" if "visit" in time or "stay" in time else "in the same period"})
    text = fill(wording, drawn)
    return rng.choice((f"And {text}", text[0].upper() + text[1:]))
