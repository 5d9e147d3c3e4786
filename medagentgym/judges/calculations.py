"""Judges of clinical calculations (MedCalc-Bench): numbers with limits, dates, and gestational ages.

A gold is `{"shape": "number", "value", "low", "high"}`, `{"shape": "date", "value": "YYYY-MM-DD"}` or `{"shape": "weeks_and_days", "value": [w, d]}`,
each with `published`, the text as it stands in the task file; `read_gold` makes it of the texts of a row. Where it cannot, the gold is
`{"shape": "unreadable", "published"}`.
"""

from __future__ import annotations

from typing import Any

from medagentgym.judges.base import Evidence, Verdict
from medagentgym.judges.dates import read_date, read_weeks_and_days, show_weeks_and_days
from medagentgym.judges.references import ReferenceSummary
from medagentgym.judges.single_numbers import number_of_text, read_number

UNREADABLE = "unreadable"
"""Shape of a gold that `read_gold` refuses; nothing is right there."""
TOLERANCE = 0.05
"""Share of the gold by which an answer may differ where a row gives no limits: that of MedCalc-Bench's equations."""
ZERO_TOLERANCE = 0.0005
"""By how much an answer may differ from a gold of 0: golds are rounded to three decimals, and 5 % of nothing is nothing."""
NOISE = 1e-9
"""Share of a number by which computing it in another order may change it."""


def read_gold(answer: str, lower: str | None, upper: str | None) -> dict[str, Any]:
    """The gold of a row, from its texts `Ground Truth Answer`, `Lower Limit` and `Upper Limit` (None or empty: no limits).

    Raises `ValueError` where the answer is neither a number, nor a date, nor weeks and days, or where a limit is no number beside a number.
    """
    number = number_of_text(answer)
    if number is not None:
        limits = [limit for limit in (lower, upper) if limit is not None and limit.strip()]
        if len(limits) == 2:
            low, high = sorted(map(_limit, limits))
        else:
            low, high = around(number)
        return {"shape": "number", "value": number, "low": low, "high": high, "published": answer}
    weeks_and_days = read_weeks_and_days(answer)
    if weeks_and_days is not None:
        return {"shape": "weeks_and_days", "value": list(weeks_and_days), "published": answer}
    date = read_date(answer)
    if date is None:
        raise ValueError(f"{answer!r} is neither a number, nor a date, nor weeks and days")
    return {"shape": "date", "value": date.isoformat(), "published": answer}


def around(number: float) -> tuple[float, float]:
    """The limits of a number that comes without: 5 % to either side."""
    low, high = sorted((number * (1 - TOLERANCE), number * (1 + TOLERANCE)))
    return low, high


def accepted_range(gold: dict[str, Any]) -> tuple[float, float]:
    """The smallest and the largest number that are right where the gold is a number.

    Limits that differ are taken as they are; where both are the same number, that number alone is right. Either way the noise of floating-point
    arithmetic is allowed for, and a gold of 0 its rounding.
    """
    low, high = float(gold["low"]), float(gold["high"])
    if low == high == 0:
        return -ZERO_TOLERANCE, ZERO_TOLERANCE
    return low - NOISE * abs(low), high + NOISE * abs(high)


class CalculationJudge:
    """Compares the value left in `answer` with the gold by the gold's shape."""

    name = "strict"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Judge one attempt by its answer alone; what it printed does not count."""
        if not evidence.has_answer:
            return _verdict(False, "an abstention, where there is an answer" if evidence.abstained else "no answer")
        match reference["shape"]:
            case "number":
                return self._number(reference, evidence.answer)
            case "date":
                given = read_date(evidence.answer)
                said = "no date" if given is None else given.isoformat()
                return _compared(said, reference["value"])
            case "weeks_and_days":
                age = read_weeks_and_days(evidence.answer)
                said = "no weeks and days" if age is None else show_weeks_and_days(age)
                return _compared(said, show_weeks_and_days(reference["value"]))
            case _:
                return _verdict(False, f"the gold cannot be read: {reference['published']!r}")

    def _number(self, gold: dict[str, Any], answer: Any) -> Verdict:
        number = read_number(answer)
        if number is None:
            return _verdict(False, f"no number, where the gold is {gold['value']:g}")
        low, high = accepted_range(gold)
        limits = f"{gold['low']:g}" if gold["low"] == gold["high"] else f"within {gold['low']:g} to {gold['high']:g}"
        correct = low <= number <= high
        return _verdict(correct, f"{number:.10g} is {'' if correct else 'not '}{limits}")

    def summarise(self, reference: Any) -> ReferenceSummary:
        """Status and key of the gold; of a number, the range of right answers."""
        if reference["shape"] == "number":
            low, high = accepted_range(reference)
            return ReferenceSummary("usable", f"{reference['value']!r} in {low!r} to {high!r}", low, high)
        if reference["shape"] == UNREADABLE:
            return ReferenceSummary("error", "error")
        return ReferenceSummary("usable", str(reference["value"]))


class PublishedCalculationJudge:
    """The comparison of the published system, kept so that numbers stay comparable, with what is wrong with it.

    It reads all that was printed as one number and asks whether the gold is at least 95 % of it *or* at most 105 %. One of the two holds of every
    positive number and of 0 (`answer = 1` passes everywhere); only a negative answer within 5 % of the gold, so a right one, fails. A date or a
    gestational age is no number and is never accepted.
    """

    name = "published"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Judge one attempt by what it printed, `answer` where it printed nothing."""
        if evidence.abstained:
            return _verdict(False, "an abstention, which the published comparison does not know")
        if evidence.exit_status != 0:
            return _verdict(False, "the code failed, which the published system does not count as an attempt")
        try:
            given = float(evidence.stdout + evidence.stderr)
        except ValueError:
            return _verdict(False, "what was printed is not one number")
        try:
            gold = float(reference["published"])
        except ValueError:
            return _verdict(False, "the gold is no number, which the published comparison never accepts")
        if gold >= given * (1 - TOLERANCE) or gold <= given * (1 + TOLERANCE):
            return _verdict(True, "the gold is at least 95 % or at most 105 % of the answer, which is true of nearly every number")
        return _verdict(False, "the gold is neither at least 95 % nor at most 105 % of the answer")


def _limit(text: str) -> float:
    number = number_of_text(text)
    if number is None:
        raise ValueError(f"the limit {text!r} is no number")
    return number


def _compared(given: str, gold: str) -> Verdict:
    return _verdict(True, given) if given == gold else _verdict(False, f"{given}, where the gold is {gold}")


def _verdict(correct: bool, reason: str) -> Verdict:
    return Verdict(correct, float(correct), reason)
