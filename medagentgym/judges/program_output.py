"""Judges of programs that are told by what they print: task biocoder.

`reference["output"]` is what the reference program printed, `reference["printed"]` what its function itself printed, and `reference["warnings"]`
what went to stderr. The evidence of an attempt holds the same in `stdout`, `gathered["printed"]` and `stderr`.

`strict`: line by line, trailing white space aside, the texts are the same. A number with a fraction may differ in its last digits (`TOLERANCE` of the
larger one): another order of summation is no error. Whole numbers are equal or they are not. What the function prints on the way counts only where
the reference function prints something. Warnings never count.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from medagentgym.errors import one_line
from medagentgym.judges.base import Evidence, Verdict
from medagentgym.judges.references import ReferenceSummary

TOLERANCE = 1e-6
"""Share by which numbers with a fraction may differ."""

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?![\w.])")
_LONGEST_SHOWN = 60


class ProgramOutputJudge:
    """Compares what a program printed with what the reference program printed."""

    name = "strict"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Judge one attempt by what the program and the function printed."""
        if "output" not in reference:
            return Verdict(False, 0.0, f"the instance cannot be judged: {one_line(reference.get('ungradable', 'the reference gave no output'))}")
        gathered = evidence.gathered
        if not isinstance(gathered, Mapping) or evidence.exit_status != 0:
            return Verdict(False, 0.0, "no function was given that let the program run to its end")
        difference = _difference(reference["output"], evidence.stdout)
        if difference is None and reference["printed"].strip():
            difference = _difference(reference["printed"], str(gathered["printed"]))
        if difference is not None:
            return Verdict(False, 0.0, difference)
        return Verdict(True, 1.0, "the program prints what it prints with the reference function")

    def summarise(self, reference: Any) -> ReferenceSummary:
        """References with the same output share a key."""
        if "output" not in reference:
            return ReferenceSummary("error", "error")
        text = "\n".join(_lines(reference["output"]) + _lines(reference["printed"]))
        return ReferenceSummary("usable" if reference["output"] + reference["printed"] else "empty", hashlib.sha256(text.encode()).hexdigest()[:16])


class PublishedProgramOutputJudge:
    """The comparison of the published system: everything that the program wrote, stderr included, must be the same text.

    What is known to be wrong with it is part of it: a warning in the reference program is wanted of the attempt, to the line number.
    """

    name = "published"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Compare the outputs of an attempt that did not fail."""
        if evidence.exit_status != 0:
            return Verdict(False, 0.0, "the code failed, which the published system does not count as an attempt")
        if "output" not in reference:
            return Verdict(False, 0.0, "the reference gave no output")
        printed = evidence.gathered["printed"] if isinstance(evidence.gathered, Mapping) else ""
        expected = reference["printed"] + reference["output"] + reference["warnings"]
        same = expected == f"{printed}{evidence.stdout}{evidence.stderr}"
        return Verdict(same, float(same), "the outputs are the same text" if same else "the outputs are not the same text")


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _difference(expected: str, given: str) -> str | None:
    """Where two outputs differ, None where they do not."""
    wanted, got = _lines(expected), _lines(given)
    for number, (line, other) in enumerate(zip(wanted, got, strict=False), start=1):
        if not _same_line(line, other):
            return f"line {number} of the output is {_shown(other)}, not {_shown(line)}"
    if len(wanted) != len(got):
        return f"the output has {len(got)} lines, not {len(wanted)}"
    return None


def _same_line(line: str, other: str) -> bool:
    if line == other:
        return True
    numbers, others = _NUMBER.findall(line), _NUMBER.findall(other)
    if len(numbers) != len(others) or _words(line) != _words(other):
        return False
    return all(map(_close, map(float, numbers), map(float, others)))


def _words(line: str) -> Sequence[str]:
    """What stands between the numbers; how wide they are printed does not count."""
    return "".join(_NUMBER.sub(" # ", line)).split()


def _close(number: float, other: float) -> bool:
    return math.isclose(number, other, rel_tol=TOLERANCE, abs_tol=1e-12)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "...")
