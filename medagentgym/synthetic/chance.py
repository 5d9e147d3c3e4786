"""Sources of randomness: one for each purpose, so that a change in one part leaves the others' draws as they are."""

from __future__ import annotations

import hashlib
import random

import numpy as np


def _entropy(seed: int, purpose: str) -> int:
    return int.from_bytes(hashlib.sha256(f"medagentgym.synthetic/{seed}/{purpose}".encode()).digest()[:16], "big")


def python_random(seed: int, purpose: str) -> random.Random:
    """A generator for single draws. `seed` is any integer."""
    return random.Random(_entropy(seed, purpose))


def numpy_random(seed: int, purpose: str) -> np.random.Generator:
    """A generator for whole columns. `seed` is any integer."""
    return np.random.Generator(np.random.PCG64(_entropy(seed, purpose)))
