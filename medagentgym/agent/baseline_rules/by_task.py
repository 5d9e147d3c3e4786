"""Tasks whose questions are answered with one program that rules write from the prompt's fields, without a look at any table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from medagentgym.agent.baseline_rules import calculations, notes, sample_sizes

ProgramRules = Callable[[Mapping[str, str]], str | None]
"""Gives the program that answers, or None where the rules can make nothing of the question."""

PROGRAM_RULES: Mapping[str, ProgramRules] = {
    "ehrcon": notes.program,
    "medcalcbench": calculations.program,
    "npowerai": sample_sizes.program,
}
