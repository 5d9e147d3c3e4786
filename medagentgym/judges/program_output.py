"""Judges of programs that are told by what they print: task biocoder.

`reference["output"]` is what the reference program printed, `reference["printed"]` what its function itself printed, and `reference["warnings"]`
what went to stderr. The evidence of an attempt holds the same in `stdout`, `gathered["printed"]` and `stderr`.

`strict`: line by line, trailing white space aside, the texts are the same. A number with a fraction may differ in its last digits (`TOLERANCE` of the
larger one): another order of summation is no error. Whole numbers are equal or they are not. One number that is 1e-17 in place of 0 makes NumPy print
a whole array with exponents, and over other lines: how an array of numbers is broken into lines does not count therefore, and a number with six
decimals or more may differ from one with an exponent by half of its last decimal. What the function prints on the way counts only where the reference
function prints something. Warnings never count.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from medagentgym.errors import one_line
from medagentgym.judges.base import Evidence, Verdict
from medagentgym.judges.references import ReferenceSummary

TOLERANCE = 1e-6
"""Share by which numbers with a fraction may differ."""

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?![\w.])")
_ARRAY = re.compile(r"\[(?:[-+\d.eEj,\[\]\s]|nan|inf)*\]")
_FEWEST_DECIMALS = 6
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
    difference = _difference_of_lines(_lines(expected), _lines(given))
    if difference is not None and _difference_of_lines(_lines(_unbroken(expected)), _lines(_unbroken(given))) is None:
        return None
    return difference


def _difference_of_lines(wanted: list[str], got: list[str]) -> str | None:
    for number, (line, other) in enumerate(zip(wanted, got, strict=False), start=1):
        if not _same_line(line, other):
            return f"line {number} of the output is {_shown(other)}, not {_shown(line)}"
    if len(wanted) != len(got):
        return f"the output has {len(got)} lines, not {len(wanted)}"
    return None


def _unbroken(text: str) -> str:
    """An output with every array of numbers, which begins and ends with a bracket, on one line."""
    parts, end = [], 0
    for start, stop in _arrays(text):
        parts += [text[end:start], " ".join(text[start:stop].split())]
        end = stop
    return "".join([*parts, text[end:]])


def _arrays(text: str) -> Iterator[tuple[int, int]]:
    """Where the outermost arrays of numbers begin and end."""
    depth = start = 0
    for bracket in re.finditer(r"[\[\]]", text):
        if bracket.group() == "[":
            start = bracket.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0 and _ARRAY.fullmatch(text, start, bracket.end()):
                yield start, bracket.end()


def _same_line(line: str, other: str) -> bool:
    if line == other:
        return True
    numbers, others = _NUMBER.findall(line), _NUMBER.findall(other)
    return len(numbers) == len(others) and _words(line) == _words(other) and all(map(_close, numbers, others))


def _words(line: str) -> Sequence[str]:
    """What stands between the numbers; how wide they are printed does not count."""
    return "".join(_NUMBER.sub(" # ", line)).split()


def _close(number: str, other: str) -> bool:
    return math.isclose(float(number), float(other), rel_tol=TOLERANCE, abs_tol=max(1e-12, _half_of_the_last_decimal(number, other)))


def _half_of_the_last_decimal(number: str, other: str) -> float:
    """What rounding may have taken off the one of two numbers that has no exponent, where the other one has one; else 0."""
    plain = [text for text in (number, other) if "e" not in text.lower()]
    decimals = len(plain[0].partition(".")[2]) if len(plain) == 1 else 0
    return 0.5 * 10**-decimals if decimals >= _FEWEST_DECIMALS else 0.0


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "...")
