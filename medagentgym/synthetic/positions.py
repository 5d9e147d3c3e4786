"""Which positions of a question file hold questions that cannot be answered: known without making any patients."""

from __future__ import annotations

from typing import Literal

from medagentgym.config import SyntheticConfig
from medagentgym.synthetic.chance import python_random

BLOCK = 10
"""One question in so many cannot be answered."""

Mode = Literal["train", "test"]


def impossible_indices(config: SyntheticConfig, mode: Mode) -> set[int]:
    """Positions, counted from 0, of the unanswerable questions of a mode: one at random in every ten.

    They depend on the seed, the mode and the number of questions alone, and a longer file begins with those of a shorter one.
    """
    count = config.train if mode == "train" else config.test
    rng = python_random(config.seed, f"impossible {mode}")
    return {position for block in range(0, count, BLOCK) if (position := block + rng.randrange(BLOCK)) < count}
