"""The comparison of the published system for mimic_iii, eicu and treqs, kept so that numbers stay comparable.

It looks for the gold as text inside everything that the code wrote. What is known to be wrong with it is part of it: a gold `1` is found in `10`, a
program that prints a whole column passes, and of a gold of several items only the first counts. The tables show it beside `strict` and list where the
two disagree.
"""

from __future__ import annotations

from typing import Any

from medagentgym.errors import one_line
from medagentgym.judges.base import Evidence, Verdict

_WORDS_AS_DIGITS = {"true": "1", "false": "0", "none": "0"}
_NOTHING = "None"
"""What stands in a published task file for a gold without a value."""
_EMPTY_LIST = "[]"
"""How an answer without a row is printed. Published task files have no gold without an item; such a gold is read as `None`, or this."""


class PublishedEhrJudge:
    """`reference["published"]` is the gold as published: a list of texts. The evidence is stdout followed by stderr."""

    name = "published"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Look for the gold's first item in the output, as it is and in the form with digits for truth values.

        Code that failed is an error in the published system and no attempt: it is never correct.
        """
        if evidence.abstained:
            return Verdict(False, 0.0, "an abstention, which the published comparison does not know")
        if evidence.exit_status != 0:
            return Verdict(False, 0.0, "the code failed, which the published system does not count as an attempt")
        output = evidence.stdout + evidence.stderr
        items = reference["published"]
        gold = str(items[0]) if items else _NOTHING
        if not items and _EMPTY_LIST in output:
            return Verdict(True, 1.0, "the output contains an empty list, and the gold has no item")
        if gold in output:
            return Verdict(True, 1.0, f"the output contains the gold's first item, {_shown(gold)}")
        digits = _WORDS_AS_DIGITS.get(gold.lower(), gold).removesuffix(".0")
        if all(part in _truth_as_digits(output) for part in digits.split(", ")):
            return Verdict(True, 1.0, f"the output contains every part of {_shown(digits)}, truth values read as digits")
        return Verdict(False, 0.0, f"the output does not contain the gold's first item, {_shown(gold)}")


class PublishedEhrConJudge:
    """The comparison of the published system for ehrcon: the word "true" anywhere in the output means yes, whatever else stands there."""

    name = "published"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Look for the words true and false in the output. `reference["published"]` holds `True` or `False`."""
        if evidence.abstained:
            return Verdict(False, 0.0, "the published system knows no abstaining")
        if evidence.exit_status != 0:
            return Verdict(False, 0.0, "the code failed, which the published system does not count as an attempt")
        output = (evidence.stdout + evidence.stderr).lower()
        found = "true" if "true" in output else "false" if "false" in output else None
        if found is None:
            return Verdict(False, 0.0, "the output holds neither true nor false")
        correct = found == str(reference["published"][0]).lower()
        return Verdict(correct, float(correct), f'the output contains "{found}"')


def _truth_as_digits(output: str) -> str:
    """`True` as 1; only where there is none, `False` as 0."""
    return output.replace("True", "1") if "True" in output else output.replace("False", "0")


def _shown(text: str) -> str:
    folded = one_line(text)
    return repr(folded if len(folded) <= 80 else folded[:77] + "...")
