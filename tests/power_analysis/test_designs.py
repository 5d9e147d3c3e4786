from __future__ import annotations

import numpy
import pytest
from scipy import stats

from medagentgym.power_analysis.designs import ChiSquareTest, Design, OneWayAnova, ProportionTest, SurvivalTest, TTest

REPETITIONS = 40_000
SIMULATED_WITHIN = 0.01


@pytest.mark.parametrize(
    ("design", "power", "size"),
    [
        (TTest(0.05, 0.5, samples=2), 0.8, 64),  # Cohen 1988, table 2.4.1
        (TTest(0.05, 0.5, samples=2, sides=1), 0.8, 51),
        (TTest(0.05, 0.5, samples=1), 0.8, 34),
        (TTest(0.05, -0.5, samples=1), 0.8, 34),
        (TTest(0.05, 20 / 7.3, samples=1), 0.9, 4),
        (OneWayAnova(0.05, 0.25, groups=4), 0.8, 45),  # Cohen 1988, table 8.4.4
        (OneWayAnova.of_means(0.05, [550, 598, 598, 646], 80), 0.8, 17),
        (ChiSquareTest(0.05, 0.3, freedom=1), 0.8, 88),  # Cohen 1988, table 7.4.6
        (ChiSquareTest(0.05, 0.3, freedom=4), 0.8, 133),
        (ProportionTest(0.05, 0.65, 0.45, samples=2), 0.8, 96),
        (SurvivalTest(0.05, 0.7, (0.3707, 0.4890)), 0.8, 294),  # Rosner, Fundamentals of Biostatistics
    ],
    ids=lambda value: value.words if isinstance(value, Design) else str(value),
)
def test_sample_sizes_are_those_of_textbooks(design: Design, power: float, size: int) -> None:
    assert design.size(power) == size
    assert design.power(size) >= power > design.power(size - 1)


def test_a_simulated_t_test_rejects_as_often_as_computed() -> None:
    random = numpy.random.default_rng(1)
    n, d = 20, 0.6
    first, second = random.normal(d, 1, (REPETITIONS, n)), random.normal(0, 1, (REPETITIONS, n))
    rejected = stats.ttest_ind(first, second, axis=1).pvalue < 0.05
    assert TTest(0.05, d, samples=2).power(n) == pytest.approx(rejected.mean(), abs=SIMULATED_WITHIN)
    rejected = stats.ttest_1samp(first, 0, axis=1, alternative="greater").pvalue < 0.05
    assert TTest(0.05, d, samples=1, sides=1).power(n) == pytest.approx(rejected.mean(), abs=SIMULATED_WITHIN)


def test_a_simulated_analysis_of_variance_rejects_as_often_as_computed_with_the_divisor_k() -> None:
    random = numpy.random.default_rng(2)
    means, deviation, n = [547, 547, 554, 546], 80, 1703
    groups = random.normal(means, deviation / n**0.5, (REPETITIONS, 4))
    within = deviation**2 * random.chisquare(4 * (n - 1), REPETITIONS) / (4 * (n - 1))
    rejected = n * groups.var(axis=1, ddof=1) / within > stats.f.isf(0.05, 3, 4 * (n - 1))
    design = OneWayAnova.of_means(0.05, means, deviation)
    assert design.power(n) == pytest.approx(rejected.mean(), abs=SIMULATED_WITHIN)
    assert design.with_sample_deviation.power(n) > rejected.mean() + 0.05


def test_a_simulated_chi_square_test_rejects_as_often_as_computed() -> None:
    random = numpy.random.default_rng(3)
    rows = [[0.5, 0.3, 0.2], [0.35, 0.35, 0.3]]
    n = 300
    tables = random.multinomial(n, [share / 2 for row in rows for share in row], 20_000).reshape(-1, 2, 3)
    expected = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :] / n
    statistic = ((tables - expected) ** 2 / expected).sum(axis=(1, 2))
    design = ChiSquareTest.of_rows(0.05, rows)
    assert design.freedom == 2
    assert design.power(n) == pytest.approx((statistic > stats.chi2.isf(0.05, 2)).mean(), abs=0.015)


def test_power_grows_with_the_sample_and_stays_between_alpha_and_one() -> None:
    for design in (TTest(0.05, 3.0, samples=1), TTest(0.05, 12.0, samples=2), OneWayAnova(0.05, 2.0, groups=3), ChiSquareTest(0.05, 0.9, freedom=4)):
        powers = [design.power(n) for n in (3, 10, 100, 1000, 100_000)]
        assert powers == sorted(powers) and all(0.05 < power <= 1 for power in powers)


def test_no_effect_has_no_sample_size() -> None:
    with pytest.raises(ValueError, match=r"a two-sided t test of two samples with d = 0 never reaches a power of 0.8"):
        TTest(0.05, 0.0, samples=2).size(0.8)


def test_a_large_effect_needs_the_smallest_sample_that_can_be_tested() -> None:
    assert TTest(0.05, 50.0, samples=2).size(0.8) == 2
    assert ProportionTest(0.05, 0.999, 0.001, samples=2).size(0.5) == 1
