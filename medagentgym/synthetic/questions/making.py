"""Making the rows of a question file."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from typing import Any

from medagentgym.config import SyntheticConfig
from medagentgym.errors import UserError
from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.positions import Mode, impossible_indices
from medagentgym.synthetic.questions.kinds import Drawn, F, Kind, NothingToAskError, QuestionSet, fill

_DRAWS = 40
"""How often a kind is drawn before the next one gets its turn."""


def make_questions(config: SyntheticConfig, questions: QuestionSet[F], facts: F, mode: Mode) -> list[dict[str, Any]]:
    """The rows of a mode's question file, as many as the configuration says.

    Kinds take turns in a shuffled order, so that they occur equally often. Raises `UserError` where the patients give too few different questions.
    """
    count = config.train if mode == "train" else config.test
    rng = python_random(config.seed, f"questions {mode}")
    impossible = impossible_indices(config, mode)
    asked: set[str] = set()
    turns: dict[bool, list[Kind[F]]] = {True: [], False: []}
    rows = []
    for position in range(count):
        without_answer = position in impossible
        waiting = turns[without_answer]
        row = None
        tried = 0
        kinds = questions.unanswerable if without_answer else questions.kinds
        while row is None:
            if not waiting:
                waiting += rng.sample(kinds, len(kinds))
            if tried == 2 * len(kinds):
                raise UserError(
                    f"synthetic.{mode}: {config.patients} patients give no more than {position} different questions;"
                    f" ask for fewer or raise synthetic.patients"
                )
            row = _new_question(questions, waiting.pop(), facts, rng, asked, config.seed, mode)
            tried += 1
        rows.append(row)
    return rows


def _new_question(
    questions: QuestionSet[F], kind: Kind[F], facts: F, rng: random.Random, asked: set[str], seed: int, mode: Mode
) -> dict[str, Any] | None:
    """A question of the kind that belongs to the mode and has not been asked, or None where none was found."""
    for _ in range(_DRAWS):
        try:
            drawn = kind.draw(facts, rng)
        except NothingToAskError:
            return None
        if drawn is None:
            continue
        pair = json.dumps([kind.wording, drawn.value, drawn.slots], sort_keys=True)
        digest = hashlib.sha256(pair.encode()).digest()
        if pair in asked or (digest[0] % 2 == 0) != (mode == "train"):
            continue
        asked.add(pair)
        return _row(questions, kind, drawn, rng, hashlib.sha256(f"{seed} {pair}".encode()).hexdigest()[:24], mode)
    return None


def _row(questions: QuestionSet[F], kind: Kind[F], drawn: Drawn, rng: random.Random, identifier: str, mode: Mode) -> dict[str, Any]:
    times = [drawn.times.get(position, "") for position in range(5)]
    tag = kind.wording
    for slot, position in (("time_filter_global1", 0), ("time_filter_exact1", 3), ("time_filter_exact2", 4)):
        tag = tag.replace(f"[{slot}]", f"[{slot}:{times[position]}]")
    return {
        "db_id": questions.database,
        "question": fill(rng.choice(_openings(kind.paraphrases)), drawn),
        "template": fill(kind.wording, drawn),
        "query": drawn.query,
        "value": dict(drawn.value),
        "q_tag": kind.wording,
        "t_tag": times,
        "o_tag": [drawn.operations.get(position, "") for position in range(9)],
        "tag": tag,
        "department": list(kind.department),
        "importance": kind.importance,
        "para_type": "machine",
        "is_impossible": kind in questions.unanswerable,
        "split": mode,
        "id": identifier,
    }


def _openings(paraphrases: Sequence[str]) -> list[str]:
    """The paraphrases, and each of them in a politer form."""
    polite = [
        f"Please tell me: {paraphrase[0].lower()}{paraphrase[1:]}" for paraphrase in paraphrases if paraphrase.endswith("?") and ":" not in paraphrase
    ]
    return [*paraphrases, *polite]
