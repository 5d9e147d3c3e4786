"""Rules for questions that ask for a sample size or a power: the design is read out of the question, and statsmodels calculates."""

from __future__ import annotations

from collections.abc import Mapping


def program(fields: Mapping[str, str]) -> str | None:
    """The program that calculates the answer; None where no design can be read out of the question."""
    from medagentgym.power_analysis.questions import UnreadableError, read_question

    try:
        asked = read_question(fields.get("question", ""))
    except UnreadableError:
        return None
    power = _power(asked.design)
    if asked.target == "power":
        return f"{power}\nanswer = power({int(asked.given)})\n"
    return f"{power}{_SEARCH.format(power=asked.given, smallest=asked.design.smallest)}"


_SEARCH = """
high = {smallest}
while power(high) < {power} and high < 10**9:
    high *= 2
low = max({smallest} - 1, high // 2)
while high - low > 1:
    middle = (low + high) // 2
    low, high = (middle, high) if power(middle) < {power} else (low, middle)
answer = high
"""


def _power(design: object) -> str:
    """The lines that define `power(n)` for a design."""
    from medagentgym.power_analysis import designs

    match design:
        case designs.TTest(alpha=alpha, effect=effect, samples=samples, sides=sides):
            kind = ("TTestPower", "TTestIndPower")[samples - 1]
            call = f"{abs(effect)!r}, n, {alpha}, alternative={_alternative(sides)!r}"
        case designs.OneWayAnova(alpha=alpha, effect=effect, groups=groups):
            kind, call = "FTestAnovaPower", f"{effect!r}, {groups} * n, {alpha}, k_groups={groups}"
        case designs.ChiSquareTest(alpha=alpha, effect=effect, freedom=freedom):
            kind, call = "GofChisquarePower", f"{effect!r}, n, {alpha}, n_bins={freedom + 1}"
        case designs.ProportionTest(alpha=alpha, samples=samples, sides=sides) as test:
            ratio = "" if samples == 2 else ", ratio=0"
            kind, call = "NormalIndPower", f"{abs(test.effect)!r}, n, {alpha}{ratio}, alternative={_alternative(sides)!r}"
        case designs.SurvivalTest(alpha=alpha, hazard_ratio=ratio, failing=failing, sides=sides):
            return (
                "import math\nfrom statistics import NormalDist\n\n\ndef power(n):\n"
                f"    shift = math.sqrt(n * {sum(failing)!r}) * {abs(ratio - 1) / (ratio + 1)!r}\n"
                f"    return NormalDist().cdf(shift - NormalDist().inv_cdf({1 - alpha / sides!r}))\n\n"
            )
        case _:
            raise AssertionError(f"no program for {design}")
    return (
        f"import math\n\nfrom statsmodels.stats.power import {kind}\n\n\ndef power(n):\n"
        f"    value = float({kind}().power({call}))\n"
        "    return 1.0 if math.isnan(value) else value  # not a number where the other tail is too small to compute\n\n"
    )


def _alternative(sides: int) -> str:
    return "two-sided" if sides == 2 else "larger"
