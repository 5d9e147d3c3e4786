"""Judges of sample sizes and powers.

A gold is `{"target": "size" | "power", "value", "published", "tolerance"}`: `value` is None where the task file holds no number, `published` is what
it holds, and `tolerance` the share of a sample size by which an answer may differ.
"""

from __future__ import annotations

from typing import Any

from medagentgym.judges.base import Evidence, Verdict
from medagentgym.judges.references import ReferenceSummary
from medagentgym.judges.single_numbers import read_number

POWER_TOLERANCE = 0.01
"""Share of the gold by which a power may differ."""
NOISE = 1e-9
"""Share of a number by which computing it in another order may change it."""


def accepted_range(gold: dict[str, Any]) -> tuple[float, float]:
    """The smallest and the largest number that are right. Raises `KeyError` for a size whose tolerance is not stated."""
    tolerance = POWER_TOLERANCE if gold["target"] == "power" else gold["tolerance"]
    reach = abs(gold["value"]) * (tolerance + NOISE)
    return gold["value"] - reach, gold["value"] + reach


class SampleSizeJudge:
    """Compares the number left in `answer` with the gold: a sample size exactly (84.0 is 84) or within the stated tolerance, a power within 1 %."""

    name = "strict"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Judge one attempt by its answer alone; what it printed does not count."""
        gold = reference["value"]
        if gold is None:
            return _verdict(False, f"the gold is no number: {reference['published']!r}")
        if not evidence.has_answer:
            return _verdict(False, "an abstention, where there is an answer" if evidence.abstained else "no answer")
        number = read_number(evidence.answer)
        if number is None:
            return _verdict(False, f"no number, where the gold is {gold:g}")
        low, high = accepted_range(reference)
        return _verdict(low <= number <= high, f"{number:.10g}, where the gold is {gold:.10g}")

    def summarise(self, reference: Any) -> ReferenceSummary:
        """Status and key of the gold, and the range of right answers."""
        if reference["value"] is None:
            return ReferenceSummary("error", "error")
        low, high = accepted_range(reference)
        return ReferenceSummary("usable", f"{low!r} to {high!r}", low, high)


class PublishedSampleSizeJudge:
    """The comparison of the published system, kept so that numbers stay comparable.

    It reads all that was printed, `answer` where nothing was: a sample size as a whole number that is equal (`84.0` is none), a power within 1 %.
    """

    name = "published"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Judge one attempt by what it printed."""
        if evidence.abstained:
            return _verdict(False, "an abstention, which the published comparison does not know")
        if evidence.exit_status != 0:
            return _verdict(False, "the code failed, which the published system does not count as an attempt")
        gold = reference["published"]
        if not isinstance(gold, int | float):
            return _verdict(False, f"the gold is no number: {gold!r}")
        printed = (evidence.stdout + evidence.stderr).strip()
        is_size = reference["target"] == "size"
        try:
            number = int(printed) if is_size else float(printed)
        except ValueError:
            return _verdict(False, "what was printed is not one whole number" if is_size else "what was printed is not one number")
        correct = number == gold if is_size else gold * (1 - POWER_TOLERANCE) < number < gold * (1 + POWER_TOLERANCE)
        return _verdict(correct, f"{number:.10g}, where the gold is {gold:.10g}")


def _verdict(correct: bool, reason: str) -> Verdict:
    return Verdict(correct, float(correct), reason)
