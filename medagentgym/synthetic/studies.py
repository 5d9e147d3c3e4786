"""Made-up questions for sample sizes and power, in the form of the task files of npowerai, with computed answers.

Studies, numbers and outcomes are invented; they say nothing about any treatment. The same seed gives the same rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from medagentgym.power_analysis.designs import ChiSquareTest, Design, OneWayAnova, ProportionTest, SurvivalTest, TTest
from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.positions import Mode

ALPHAS = (0.01, 0.05, 0.1)
WANTED_POWERS = (0.8, 0.85, 0.9, 0.95)
LARGEST_STUDY = 3000
"""Participants a group beyond which a made-up study would look odd; its numbers are drawn again."""

_MEASUREMENTS = (
    ("systolic blood pressure", "mmHg", 138.0, 14.0),
    ("fasting blood glucose", "mg/dL", 112.0, 21.0),
    ("LDL cholesterol", "mg/dL", 131.0, 29.0),
    ("walking distance in six minutes", "m", 410.0, 85.0),
    ("resting heart rate", "beats/min", 76.0, 9.5),
    ("ferritin", "ng/mL", 62.0, 24.0),
    ("sleep time", "min", 395.0, 52.0),
)
_PEOPLE = (
    "adults over 60",
    "patients with heart failure",
    "women after childbirth",
    "medical students",
    "patients on dialysis",
    "night-shift nurses",
)
_TREATMENTS = (("walking in the evening", "yoga"), ("drug A", "placebo"), ("diet A", "diet B"), ("telephone coaching", "usual care"))
_EVENTS = ("recover within a month", "are readmitted within 30 days", "stop smoking", "develop a wound infection")
_SEVERITIES = ("none", "mild", "moderate", "severe")


@dataclass(frozen=True)
class Study:
    """A made-up study: its story with the place of the question open, and its design."""

    task_type: str
    story: str
    """What is planned and assumed. `{}` is where a number of participants goes, for a question about power."""
    design: Design
    test: str
    """What is tested, in the words of the question: `a two-sided test to ...`."""


def make_rows(seed: int, mode: Mode, count: int) -> list[dict[str, Any]]:
    """`count` rows with the columns of the published task file: kinds of study in turn, sample size and power in turn, every question once."""
    rows: list[dict[str, Any]] = []
    asked: set[str] = set()
    chance = python_random(seed, f"studies/{mode}")
    for number, make in zip(range(count), _in_turn(), strict=False):
        target = ("size", "power")[number // len(_KINDS) % 2]
        row = _row(make, target, chance)
        while row["question"] in asked:
            row = _row(make, target, chance)
        asked.add(row["question"])
        rows.append(row)
    return rows


def _in_turn() -> Iterator[Callable[[random.Random], Study]]:
    while True:
        yield from _KINDS


def _row(make: Callable[[random.Random], Study], target: str, chance: random.Random) -> dict[str, Any]:
    study = make(chance)
    wanted = chance.choice(WANTED_POWERS) if target == "size" else round(chance.uniform(0.2, 0.97), 2)
    while study.design.power(LARGEST_STUDY) < wanted:
        study = make(chance)
    size = study.design.size(wanted)
    level = f"significance level of {study.design.alpha:g}"
    each = f" {study.design.counts}" if study.design.counts != "in all" else ""
    if target == "size":
        how_many = f"How many participants{each or ' in all'} are needed for {study.test}, with a power of {wanted * 100:g}% and a {level}?"
        return {"task_type": study.task_type, "estimate_target": target, "question": f"{study.story} {how_many}", "answer": size}
    recruited = f"The study has recruited {size} participants{each}." if each else f"The study has recruited {size} participants."
    asked = f"{recruited} What is the power of {study.test}, at a {level}?"
    return {"task_type": study.task_type, "estimate_target": target, "question": f"{study.story} {asked}", "answer": study.design.power(size)}


# --- kinds of study -------------------------------------------------------------------------------------------------------------------------------


def _sided(chance: random.Random) -> tuple[int, str]:
    sides = chance.choice((1, 2, 2))
    return sides, {1: "a one-sided test", 2: "a two-sided test"}[sides]


def _one_sample(chance: random.Random) -> Study:
    outcome, unit, usual, spread = chance.choice(_MEASUREMENTS)
    known = round(usual + chance.uniform(-0.3, 0.3) * spread, 1)
    deviation = round(spread * chance.uniform(0.8, 1.2), 1)
    mean = round(known - chance.choice((-1, 1)) * deviation * chance.uniform(0.15, 0.9), 1)
    sides, test = _sided(chance)
    story = (
        f"The mean {outcome} of the population is {known:g} {unit}. In {chance.choice(_PEOPLE)}, who take part in a program of "
        f"{chance.choice(_TREATMENTS)[0]}, it is assumed to be {mean:g} with a standard deviation of {deviation:g}."
    )
    return Study(
        "One-sample t-test",
        story,
        TTest(chance.choice(ALPHAS), (mean - known) / deviation, 1, sides),
        f"{test} to detect a difference from {known:g}",
    )


def _paired(chance: random.Random) -> Study:
    outcome, unit, _, spread = chance.choice(_MEASUREMENTS)
    deviation = round(spread * chance.uniform(0.7, 1.3), 1)
    difference = round(deviation * chance.uniform(0.15, 0.8), 1)
    correlation = chance.choice((None, 0.3, 0.6, 0.8))
    effect = difference / (deviation if correlation is None else deviation * (2 * (1 - correlation)) ** 0.5)
    sides, test = _sided(chance)
    of_what = "" if correlation is None else f" Both measurements have this standard deviation and a correlation coefficient of {correlation:g}."
    story = (
        f"A study of {chance.choice(_PEOPLE)} measures {outcome} before and after eight weeks of {chance.choice(_TREATMENTS)[0]}, which is expected "
        f"to change it by {difference:g} {unit} with a standard deviation of {deviation:g}.{of_what}"
    )
    return Study("Paired t-test", story, TTest(chance.choice(ALPHAS), effect, 1, sides), f"{test} of the change")


def _two_samples(chance: random.Random) -> Study:
    outcome, unit, _, spread = chance.choice(_MEASUREMENTS)
    first, second = chance.choice(_TREATMENTS)
    deviations = [round(spread * chance.uniform(0.8, 1.2), 1) for _ in range(2)]
    pooled = ((deviations[0] ** 2 + deviations[1] ** 2) / 2) ** 0.5
    difference = round(pooled * chance.uniform(0.15, 0.9), 1)
    sides, test = _sided(chance)
    story = (
        f"In a trial with groups of equal size, {chance.choice(_PEOPLE)} are randomised to {first} or to {second}. The difference in mean {outcome} "
        f"between the groups will be {difference:g} {unit}. The standard deviation under {first} is assumed to be {deviations[0]:g} and the standard "
        f"deviation under {second} to be {deviations[1]:g}."
    )
    design = TTest(chance.choice(ALPHAS), difference / pooled, 2, sides)
    return Study("Two independent samples t-test", story, design, f"{test} of the difference")


def _anova(chance: random.Random) -> Study:
    outcome, unit, usual, spread = chance.choice(_MEASUREMENTS)
    groups = chance.choice((3, 4, 5))
    means = [round(usual + spread * chance.uniform(-0.5, 0.5), 1) for _ in range(groups)]
    deviation = round(spread * chance.uniform(0.8, 1.2), 1)
    if max(means) - min(means) < 0.25 * deviation:
        means[0] = round(means[0] + 0.5 * deviation, 1)
    story = (
        f"A trial compares {groups} programs for {chance.choice(_PEOPLE)} in groups of equal size. The mean {outcome} (in {unit}) for each group "
        f"will be {_listing(means)}, respectively. The standard deviation in every group is assumed to be {deviation:g}."
    )
    return Study("One-way ANOVA", story, OneWayAnova.of_means(chance.choice(ALPHAS), means, deviation), "the F test of equal means")


def _chi_square(chance: random.Random) -> Study:
    columns = chance.choice((3, 4))
    rows = [_shares(chance, columns) for _ in range(2)]
    design = ChiSquareTest.of_rows(chance.choice(ALPHAS), rows)
    while design.effect < 0.08:
        rows = [_shares(chance, columns) for _ in range(2)]
        design = ChiSquareTest.of_rows(design.alpha, rows)
    first, second = chance.choice((("women", "men"), ("smokers", "others"), ("nurses", "physicians")))
    story = (
        f"Fatigue is graded as {_listing(_SEVERITIES[:columns])} in a sample with as many {first} as {second}. It is assumed that the proportions "
        f"for each grade will be {_listing(rows[0])} in {first}, and will be {_listing(rows[1])} in {second}."
    )
    return Study("Chi-square test of independence", story, design, "the chi-square test of independence")


def _two_proportions(chance: random.Random) -> Study:
    first, second = chance.choice(_TREATMENTS)
    high, low = _two_shares(chance)
    sides, test = _sided(chance)
    story = (
        f"In a trial with groups of equal size, it is assumed that the proportion of {chance.choice(_PEOPLE)} who {chance.choice(_EVENTS)} will be "
        f"{high:g} in the group with {first} and {low:g} in the group with {second}."
    )
    return Study("Two-sample proportion test", story, ProportionTest(chance.choice(ALPHAS), high, low, 2, sides), f"{test} of Cohen's h")


def _one_proportion(chance: random.Random) -> Study:
    expected, known = _two_shares(chance)
    sides, test = _sided(chance)
    story = (
        f"It is assumed that the proportion of {chance.choice(_PEOPLE)} who {chance.choice(_EVENTS)} will be {expected:g} under "
        f"{chance.choice(_TREATMENTS)[0]}."
    )
    design = ProportionTest(chance.choice(ALPHAS), expected, known, 1, sides)
    return Study("One-sample proportion test", story, design, f"{test} of Cohen's h to detect a difference from {known:g}")


def _survival(chance: random.Random) -> Study:
    ratio = round(chance.uniform(0.4, 0.85), 2)
    control = round(chance.uniform(0.25, 0.7), 2)
    treated = round(1 - (1 - control) ** ratio, 3)
    sides, test = _sided(chance)
    first, second = chance.choice(_TREATMENTS)
    story = (
        f"A trial with groups of equal size compares survival under {first} (group E) and {second} (group C), with proportional hazards. The "
        f"probabilities of death over the study in groups E and C are {treated:g} and {control:g}, respectively. The hazard ratio is assumed to be "
        f"{ratio:g}."
    )
    design = SurvivalTest(chance.choice(ALPHAS), ratio, (treated, control), sides)
    return Study("Cox proportional-hazards model", story, design, f"{test} of the hazard ratio by Freedman's formula")


_KINDS = (_one_sample, _two_samples, _paired, _anova, _chi_square, _two_proportions, _one_proportion, _survival)


def _shares(chance: random.Random, count: int) -> list[float]:
    """`count` shares with two decimals that add up to 1."""
    weights = [chance.uniform(0.5, 2) for _ in range(count)]
    hundredths = [max(4, round(100 * weight / sum(weights))) for weight in weights]
    hundredths[hundredths.index(max(hundredths))] += 100 - sum(hundredths)
    return [number / 100 for number in hundredths]


def _two_shares(chance: random.Random) -> tuple[float, float]:
    low = round(chance.uniform(0.1, 0.7), 2)
    return round(low + chance.uniform(0.06, 0.25), 2), low


def _listing(items: list[float] | tuple[str, ...]) -> str:
    words = [item if isinstance(item, str) else f"{item:g}" for item in items]
    return f"{', '.join(words[:-1])}, and {words[-1]}"
