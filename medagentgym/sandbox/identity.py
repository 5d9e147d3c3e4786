"""Users: one for a box that nobody else is, and how many processes the present one has."""

from __future__ import annotations

import itertools
import os
from functools import lru_cache
from pathlib import Path

import psutil

_FIRST = 1_000_000_000
_COUNT = 1_000_000_000
_SLOTS = 64
_slots = itertools.count()


def unused_identity() -> int:
    """A user and group number for one box that nobody else has: the kernel counts a box's processes by it."""
    number = os.getpid() * _SLOTS + next(_slots) % _SLOTS
    if _largest_user() >= _FIRST + _COUNT:
        return _FIRST + number % _COUNT
    return 61_184 + number % 4_336  # what service managers use for short-lived users


@lru_cache(maxsize=1)
def _largest_user() -> int:
    ranges = [list(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return max(inside + count for inside, _, count in ranges)


def processes_of_this_user() -> int:
    """Processes and threads of the user of this process, and some room for those that come and go."""
    user, total = os.getuid(), 0
    for process in psutil.process_iter():
        try:
            if process.uids().real == user:
                total += process.num_threads()
        except psutil.Error:
            continue
    return total + 256
