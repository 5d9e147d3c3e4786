"""Making the rows of a file of sequences."""

from __future__ import annotations

import hashlib
import random
from typing import Any

from medagentgym.config import SyntheticConfig
from medagentgym.errors import UserError
from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.positions import Mode
from medagentgym.synthetic.questions.kinds import NothingToAskError
from medagentgym.synthetic.sequences import measurement, narrowing, same_patient
from medagentgym.synthetic.sequences.sequence import FEWEST, MOST, Sequence

_DRAWS = 400
"""How often a sequence is drawn before the patients are said to give no more."""


def make_sequences(config: SyntheticConfig, facts: Facts, mode: Mode) -> list[dict[str, Any]]:
    """The rows of a mode's file, as many as the configuration says: `seed_question`, `question`, `query`, `id`.

    The questions decide by their hash whether a sequence is for training or for testing; none occurs twice. Raises `UserError` where the patients
    give too few different ones.
    """
    count = config.train if mode == "train" else config.test
    rng = python_random(config.seed, f"sequences {mode}")
    single = same_patient.questions_by_patient(facts, python_random(config.seed, "questions of sequences")) if count else {}
    asked: set[str] = set()
    rows: list[dict[str, Any]] = []
    while len(rows) < count:
        for _ in range(_DRAWS):
            sequence = _draw(len(rows), single, facts, rng)
            if sequence is None:
                continue
            text = f"{sequence.seed}\n{sequence.rest}"
            digest = hashlib.sha256(text.encode()).digest()
            if text not in asked and (digest[0] % 2 == 0) == (mode == "train"):
                break
        else:
            raise UserError(
                f"synthetic.{mode}: {config.patients} patients give no more than {len(rows)} different sequences;"
                " ask for fewer or raise synthetic.patients"
            )
        asked.add(text)
        identifier = hashlib.sha256(f"{config.seed} {text}".encode()).hexdigest()[:24]
        rows.append({"seed_question": sequence.seed, "question": sequence.rest, "query": sequence.query, "id": identifier})
    return rows


def _draw(turn: int, single: same_patient.Questions, facts: Facts, rng: random.Random) -> Sequence | None:
    """A sequence of the sort whose turn it is."""
    length = rng.randint(FEWEST, MOST)
    try:
        if turn % 3 == 0:
            return same_patient.draw(single, rng, length)
        if turn % 3 == 1:
            return narrowing.draw(facts, rng, length)
        return measurement.draw(facts, rng, length)
    except NothingToAskError:
        return None
