"""Study designs and their power.

A design says everything but the sample size. `power(n)` is the probability that its test rejects the null hypothesis with sample size `n`, and
`size(power)` the smallest sample size that has at least that power. What `n` counts is `counts`: the participants in each group, or in all.

Definitions and effect sizes: Cohen, J., Statistical Power Analysis for the Behavioral Sciences, 2nd edition, 1988.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from scipy import special

LARGEST_SIZE = 10**9


@dataclass(frozen=True)
class Design(ABC):
    """A design: a test, its significance level, and the effect that is assumed."""

    alpha: float
    """Significance level."""

    smallest: ClassVar[int] = 2
    """The smallest sample size with which the test can be made."""

    @property
    def counts(self) -> str:
        """What the sample size counts: participants `in each group` or `in all`."""
        return "in each group"

    @abstractmethod
    def power(self, n: int) -> float:
        """The power with sample size `n`."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The design in a few words."""

    def size(self, power: float) -> int:
        """The smallest sample size with at least this power (more than `alpha`, less than 1). Raises `ValueError` where there is none."""
        high = self.smallest
        while self.power(high) < power:
            if high > LARGEST_SIZE:
                raise ValueError(f"{self.words} never reaches a power of {power:g}")
            high *= 2
        low = max(self.smallest - 1, high // 2)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.power(middle) < power else (low, middle)
        return high


@dataclass(frozen=True)
class TTest(Design):
    """A t test of one mean, of the mean of paired differences (`samples` 1), or of two means in groups of equal size (`samples` 2).

    Cohen 1988, chapter 2, with the noncentral t distribution: noncentrality d √n (one sample) or d √(n/2) (two samples of n).
    """

    effect: float
    """Cohen's d: the difference of the means in standard deviations; its sign does not count."""
    samples: int
    sides: int = 2

    @property
    def counts(self) -> str:
        """Participants in all of one sample, or in each of two."""
        return "in all" if self.samples == 1 else super().counts

    @property
    def words(self) -> str:
        """For example `a two-sided t test of one sample with d = 0.5`."""
        return f"a {_SIDES[self.sides]} t test of {('one sample', 'two samples')[self.samples - 1]} with d = {abs(self.effect):.4g}"

    def power(self, n: int) -> float:
        """The power with `n` participants in each sample."""
        freedom = self.samples * (n - 1)
        noncentrality = abs(self.effect) * math.sqrt(n / self.samples)
        critical = special.stdtrit(freedom, 1 - self.alpha / self.sides)
        power = 1 - _or_zero(special.nctdtr(freedom, noncentrality, critical))
        if self.sides == 2:
            power += _or_zero(special.nctdtr(freedom, noncentrality, -critical))
        return power


@dataclass(frozen=True)
class OneWayAnova(Design):
    """The F test of equal means in groups of equal size. Cohen 1988, chapter 8: noncentrality f² n k.

    f is the standard deviation of the k group means, with divisor k because they are all the means there are, over that within groups.
    """

    effect: float
    """Cohen's f."""
    groups: int

    @classmethod
    def of_means(cls, alpha: float, means: Sequence[float], deviation: float) -> OneWayAnova:
        """The design with these group means and this standard deviation within each group."""
        centre = math.fsum(means) / len(means)
        return cls(alpha, math.sqrt(math.fsum((mean - centre) ** 2 for mean in means) / len(means)) / deviation, len(means))

    @property
    def words(self) -> str:
        """For example `a one-way ANOVA of 4 groups with f = 0.25`."""
        return f"a one-way ANOVA of {self.groups} groups with f = {self.effect:.4g}"

    @property
    def with_sample_deviation(self) -> OneWayAnova:
        """The design that results from a mistake: f with the divisor k - 1, as if the means were a sample of means."""
        return OneWayAnova(self.alpha, self.effect * math.sqrt(self.groups / (self.groups - 1)), self.groups)

    def power(self, n: int) -> float:
        """The power with `n` participants in each group."""
        between, within = self.groups - 1, self.groups * (n - 1)
        critical = special.fdtri(between, within, 1 - self.alpha)
        return 1 - _or_zero(special.ncfdtr(between, within, self.effect**2 * n * self.groups, critical))


@dataclass(frozen=True)
class ChiSquareTest(Design):
    """The chi-square test of independence. Cohen 1988, chapter 7: noncentrality w² N."""

    effect: float
    """Cohen's w."""
    freedom: int

    smallest: ClassVar[int] = 1

    @classmethod
    def of_rows(cls, alpha: float, rows: Sequence[Sequence[float]]) -> ChiSquareTest:
        """The design in which each row of the table has these shares of its own, and all rows are equally frequent."""
        cells = [[share / len(rows) for share in row] for row in rows]
        of_columns = [math.fsum(column) for column in zip(*cells, strict=True)]
        squares = [
            (cell - math.fsum(row) * of_column) ** 2 / (math.fsum(row) * of_column)
            for row in cells
            for cell, of_column in zip(row, of_columns, strict=True)
        ]
        return cls(alpha, math.sqrt(math.fsum(squares)), (len(rows) - 1) * (len(of_columns) - 1))

    @property
    def counts(self) -> str:
        """Participants in all."""
        return "in all"

    @property
    def words(self) -> str:
        """For example `a chi-square test with w = 0.3 and 4 degrees of freedom`."""
        return f"a chi-square test with w = {self.effect:.4g} and {self.freedom} degrees of freedom"

    def power(self, n: int) -> float:
        """The power with `n` participants in all."""
        critical = special.chdtri(self.freedom, self.alpha)
        return 1 - _or_zero(special.chndtr(critical, self.freedom, self.effect**2 * n))


@dataclass(frozen=True)
class ProportionTest(Design):
    """The z test of one proportion against a known one (`samples` 1), or of two proportions in groups of equal size (`samples` 2).

    Cohen 1988, chapter 6: the difference of the arcsines h is normal with variance 1/n or 2/n.
    """

    first: float
    second: float
    samples: int
    sides: int = 2

    smallest: ClassVar[int] = 1

    @property
    def effect(self) -> float:
        """Cohen's h."""
        return 2 * math.asin(math.sqrt(self.first)) - 2 * math.asin(math.sqrt(self.second))

    @property
    def counts(self) -> str:
        """Participants in all of one sample, or in each of two."""
        return "in all" if self.samples == 1 else super().counts

    @property
    def words(self) -> str:
        """For example `a two-sided z test of two proportions with h = 0.3`."""
        return f"a {_SIDES[self.sides]} z test of {('one proportion', 'two proportions')[self.samples - 1]} with h = {abs(self.effect):.4g}"

    def power(self, n: int) -> float:
        """The power with `n` participants in each sample."""
        shift = abs(self.effect) * math.sqrt(n / self.samples)
        critical = special.ndtri(1 - self.alpha / self.sides)
        power = float(special.ndtr(shift - critical))
        return power + float(special.ndtr(-critical - shift)) if self.sides == 2 else power


@dataclass(frozen=True)
class SurvivalTest(Design):
    """The comparison of survival in two groups of equal size under proportional hazards.

    Freedman, L. S., Tables of the number of patients required in clinical trials using the logrank test, Stat. Med. 1, 121-129, 1982, in the form of
    Rosner, B., Fundamentals of Biostatistics, section on sample size and power of the log-rank test: with `m` expected events, the test statistic is
    normal with mean √m |HR - 1| / (HR + 1). The probability of rejecting on the wrong side is not counted.
    """

    hazard_ratio: float
    failing: tuple[float, float]
    """Probability of failure during the study in the experimental and in the control group."""
    sides: int = 2

    smallest: ClassVar[int] = 1

    @property
    def words(self) -> str:
        """For example `a two-sided log-rank test with a hazard ratio of 0.5`."""
        return f"a {_SIDES[self.sides]} log-rank test with a hazard ratio of {self.hazard_ratio:g}"

    def power(self, n: int) -> float:
        """The power with `n` participants in each group."""
        shift = math.sqrt(n * sum(self.failing)) * abs(self.hazard_ratio - 1) / (self.hazard_ratio + 1)
        return float(special.ndtr(shift - special.ndtri(1 - self.alpha / self.sides)))


_SIDES = {1: "one-sided", 2: "two-sided"}


def _or_zero(probability: float) -> float:
    """A lower tail. SciPy gives NaN for one that is too small to compute, far below the centre of a noncentral distribution."""
    return 0.0 if math.isnan(probability) else float(probability)
