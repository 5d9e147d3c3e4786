"""Questions for the most frequent names: asked only where every way of ranking gives the same answer."""

from __future__ import annotations

import numpy as np

from medagentgym.synthetic.facts import Integers

RANKS = (("three", 3), ("four", 4), ("five", 5))
"""How many of the most frequent are asked for, in words and as a number."""


def clear_ranks(names: Integers, number: int) -> bool:
    """Whether the `number` most frequent of `names` differ in frequency from each other and from the next one, and so many occur."""
    counts = np.sort(np.unique(names, return_counts=True)[1])[::-1][: number + 1]
    return len(counts) >= number and bool((np.diff(counts) < 0).all())
