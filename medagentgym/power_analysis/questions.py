"""From the words of a question to a study design and to what is asked: the sample size for a power, or the power of a sample size.

Rules of English, one set a kind of design. What the question does not say is taken as usual: a significance level of 0.05, a two-sided test (with the
one-sided test as another reading), groups of equal size. A question that leaves a needed number open, or that no rule can read, is told with the
reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from medagentgym.power_analysis.designs import ChiSquareTest, Design, OneWayAnova, ProportionTest, SurvivalTest, TTest

Target = Literal["size", "power"]

USUAL_ALPHA = 0.05
_NUMBER = r"(\d*\.?\d+)"
_NUMBERS = rf"{_NUMBER}(?:,? and |, ){_NUMBER}"
_LIST = r"((?:\d*\.?\d+(?:,? and |, )?){2,})"
_SIDED = re.compile(r"\b(?P<one>one[- ](?:sided|tailed))\b|\btwo[- ](?:sided|tailed)\b|\bnot equal\b", re.IGNORECASE)
_ASKS_FOR_POWER = re.compile(r"\bwhat(?:\W?s| is| will be| would be)? the (?:statistical )?power\b", re.IGNORECASE)


class UnreadableError(ValueError):
    """A question of which no design can be read; the message says what is missing."""


@dataclass(frozen=True)
class PowerQuestion:
    """What a question asks."""

    design: Design
    target: Target
    given: float
    """The power to achieve where the sample size is asked for, the sample size where the power is."""
    other_readings: tuple[Design, ...] = ()
    """Designs that the question may mean as well, because it does not say whether its test is one-sided."""

    def answer(self, design: Design | None = None) -> float:
        """The sample size (whole) or the power, of `design` or of the first reading. Raises `ValueError` where no sample size is enough."""
        design = design or self.design
        return design.size(self.given) if self.target == "size" else design.power(int(self.given))

    @property
    def words(self) -> str:
        """The question in a few words."""
        if self.target == "size":
            return f"a power of {self.given:g} for {self.design.words}"
        return f"{self.design.words} and {int(self.given)} participants {self.design.counts}"


def read_question(text: str, target: Target | None = None) -> PowerQuestion:
    """Read a question; `target` is what it asks for where that is known. Raises `UnreadableError`."""
    text = " ".join(text.split())
    if target is None:
        target = "power" if _ASKS_FOR_POWER.search(text) else "size"
    design = _design_reader(text)(text)
    others: tuple[Design, ...] = ()
    if not _SIDED.search(text) and isinstance(design, TTest | ProportionTest | SurvivalTest):
        others = (replace(design, sides=1),)
    return PowerQuestion(design, target, _wanted_power(text) if target == "size" else _sample_size(text), others)


def _design_reader(text: str) -> Callable[[str], Design]:
    """The reader of the kind of design that the question is about."""
    kinds: tuple[tuple[str, Callable[[str], Design]], ...] = (
        (r"\bhazard ratio\b", _survival),
        (r"\bmeans?\b[^.?]*\bfor each group\b", _anova),
        (r"\bproportions\b[^.?]*\bfor each\b", _chi_square),
        (r"\bproportion\b", _proportion),
        (r"\bbefore\b.*\bafter\b|\bpaired\b", _paired),
        (r"standard deviation\b.*\band the standard deviation\b", _two_samples),
        (r"standard deviation\b", _one_sample),
    )
    for pattern, reader in kinds:
        if re.search(pattern, text, re.IGNORECASE):
            return reader
    raise UnreadableError("no kind of design is recognised")


# --- designs ----------------------------------------------------------------------------------------------------------------------------------------


def _one_sample(text: str) -> TTest:
    mean, deviation = _numbers(text, rf"to be {_NUMBER} with a standard deviation of {_NUMBER}", "the mean and the standard deviation of the sample")
    (known,) = _numbers(text, rf"differen(?:ce|t) from {_NUMBER}", "the mean to compare with")
    return TTest(_alpha(text), (mean - known) / _positive(deviation), samples=1, sides=_sides(text))


def _paired(text: str) -> TTest:
    difference, deviation = _numbers(
        text,
        rf"(?:reduce|increase|lower|raise|change)s? [^.?]*?by {_NUMBER} \S+ with a standard deviation of {_NUMBER}",
        "the difference and its standard deviation",
        rf"(?:reduce|increase|lower|raise|change)s? [^.?]*?{_NUMBER} \S+ with a standard deviation of {_NUMBER}",
    )
    correlation = re.search(rf"correlation coefficient of {_NUMBER}", text, re.IGNORECASE)
    if correlation is not None:  # then the standard deviation is that of the measurements
        deviation *= (2 * (1 - float(correlation[1]))) ** 0.5
    return TTest(_alpha(text), difference / _positive(deviation), samples=1, sides=_sides(text))


def _two_samples(text: str) -> TTest:
    (difference,) = _numbers(text, rf"difference [^.?]*?will be {_NUMBER}", "the difference of the means")
    first, second = _numbers(
        text,
        rf"standard deviation [^.?]*?(?:to be|of) {_NUMBER} and the standard deviation [^.?]*?(?:to be|of) {_NUMBER}",
        "the standard deviations",
    )
    return TTest(_alpha(text), difference / _positive(((first**2 + second**2) / 2) ** 0.5), samples=2, sides=_sides(text))


def _anova(text: str) -> OneWayAnova:
    listed = re.search(rf"\bmeans?\b[^.?]*?\bfor each group will be {_LIST}", text, re.IGNORECASE)
    if listed is None:
        raise UnreadableError("the means of the groups are missing")
    means = _listed(listed[1])
    (deviation,) = _numbers(text, rf"standard deviation[^.?]*? (?:value of|to be|be|of) {_NUMBER}", "the standard deviation")
    return OneWayAnova.of_means(_alpha(text), means, _positive(deviation))


def _chi_square(text: str) -> ChiSquareTest:
    listed = re.search(rf"\bproportions\b[^?]*?\bfor each\b[^?]*? will be {_LIST} in [^,?]*?, and will be {_LIST} in ", text, re.IGNORECASE)
    if listed is None:
        raise UnreadableError("the proportions of the groups are missing")
    rows = [_listed(listed[1]), _listed(listed[2])]
    if len(rows[0]) != len(rows[1]):
        raise UnreadableError("the groups have different numbers of proportions")
    if any(abs(sum(row) - 1) > 0.02 for row in rows):
        raise UnreadableError("the proportions of a group do not add up to 1")
    return ChiSquareTest.of_rows(_alpha(text), rows)


def _proportion(text: str) -> ProportionTest:
    two = re.search(rf"\bproportion\b[^?]*? will be {_NUMBER} in [^?]*? and {_NUMBER} in ", text, re.IGNORECASE)
    if two is not None:
        return ProportionTest(_alpha(text), _share(two[1]), _share(two[2]), samples=2, sides=_sides(text))
    expected, known = _numbers(text, rf"\bproportion\b[^?]*? will be {_NUMBER}\b[^?]*?differen(?:ce|t) from {_NUMBER}", "the proportions")
    return ProportionTest(_alpha(text), _share(str(expected)), _share(str(known)), samples=1, sides=_sides(text))


def _survival(text: str) -> SurvivalTest:
    failing = _numbers(text, rf"probabilit(?:y|ies) of (?:failure|death|relapse)[^.?]*? are {_NUMBERS}", "the probabilities of failure")
    (ratio,) = _numbers(text, rf"hazard ratio [^.?]*?(?:to be|is|of) {_NUMBER}", "the hazard ratio")
    return SurvivalTest(_alpha(text), _positive(ratio), (failing[0], failing[1]), sides=_sides(text))


# --- what every question says ---------------------------------------------------------------------------------------------------------------------


def _alpha(text: str) -> float:
    found = re.search(rf"significance level (?:of|at) {_NUMBER}( ?%)?", text, re.IGNORECASE)
    alpha = USUAL_ALPHA if found is None else float(found[1]) / (100 if found[2] else 1)
    if not 0 < alpha < 1:
        raise UnreadableError(f"{alpha:g} is no significance level")
    return alpha


def _sides(text: str) -> int:
    found = _SIDED.search(text)
    return 1 if found is not None and found["one"] else 2


def _wanted_power(text: str) -> float:
    (power,) = _numbers(text, rf"power of {_NUMBER} ?%?", "the power to achieve", rf"{_NUMBER} ?% (?:of )?power")
    power = power / 100 if power > 1 else power
    if not 0 < power < 1:
        raise UnreadableError(f"{power:g} is no power to achieve")
    return power


def _sample_size(text: str) -> float:
    (size,) = _numbers(
        text,
        r"\bhaving (\d+) \w+",
        "the sample size",
        r"\b(?:recruit\w*|enrol\w*|has|with) (\d+) (?:\w+ )?(?:participants|patients|students|subjects|adults|people|women|men)\b",
        r"\b(?:group|sample) of (\d+)\b",
    )
    return size


def _numbers(text: str, pattern: str, what: str, *others: str) -> list[float]:
    """The numbers that the first matching pattern finds. Raises `UnreadableError`."""
    for each in (pattern, *others):
        found = re.search(each, text, re.IGNORECASE)
        if found is not None:
            return [float(number) for number in found.groups()]
    raise UnreadableError(f"{what} is missing")


def _listed(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d*\.?\d+", text)]


def _positive(number: float) -> float:
    if number <= 0:
        raise UnreadableError("a standard deviation or hazard ratio is not positive")
    return number


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share < 1:
        raise UnreadableError(f"{share:g} is no proportion")
    return share
