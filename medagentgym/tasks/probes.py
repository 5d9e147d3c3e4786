"""Probes: what the audit of a task plays through the environment to see whether its judges can be trusted.

A probe is a fixed sequence of actions on one instance. The reference must be accepted, a broken reference must not be, and a cheat, which knows
nothing of the instance's answer, must not be accepted more often than its floor allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["reference", "broken", "cheat"]
Floor = Literal["none", "constant", "guesses"]

REFERENCE_FAILS = "reference fails"
EMPTY = "empty"
NONDETERMINISTIC = "nondeterministic"
TIE = "tie"
NOT_EXPRESSIBLE = "gold cannot be expressed"
CANNOT_RUN = "cannot be run"
CONTRADICTION = "contradicts another instance"
WRONG_GOLD = "gold is wrong"
BROKEN_PASSES = "broken reference passes"
REASONS = (CANNOT_RUN, EMPTY, TIE, NOT_EXPRESSIBLE, CONTRADICTION, WRONG_GOLD, NONDETERMINISTIC, REFERENCE_FAILS, BROKEN_PASSES)
"""Why an instance cannot be judged; the first that holds is named."""


@dataclass(frozen=True)
class Probe:
    """Actions that the audit plays on one instance, as an agent would send them."""

    name: str
    """Names the probe's columns in the audit's table: letters, digits and underscores, the same for all instances of the task."""
    kind: Kind
    actions: tuple[tuple[str, Mapping[str, Any]], ...]
    """Names of actions and their parameters."""
    floor: Floor
    """How often a strict judge may accept it, as a share of the gradable instances: `none` never, `constant` as often as the best constant answer,
    `guesses` as often as one of as many of the best answers as it makes attempts. A probe counts as accepted where its last attempt is; with
    `guesses`, where any of its attempts is, as under `oracle_stop`."""


def code_probe(name: str, kind: Kind, floor: Floor, *programs: str) -> Probe:
    """A probe that runs `programs`, one attempt after the other."""
    return Probe(name, kind, tuple(("validate_code", {"code": program}) for program in programs), floor)
