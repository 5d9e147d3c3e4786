from __future__ import annotations

import pytest

from medagentgym.power_analysis.designs import ChiSquareTest, Design, OneWayAnova, ProportionTest, SurvivalTest, TTest
from medagentgym.power_analysis.questions import UnreadableError, read_question

ONE_SAMPLE = "She assumes the mean pressure to be 115.5 with a standard deviation of 9.0. {} a two-sided test to detect a difference from 120"


@pytest.mark.parametrize(
    ("text", "design", "given"),
    [
        (
            "The mean is assumed to be 115.5 with a standard deviation of 9.0. How many adults are needed for a two-sided test to detect a "
            "difference from 120 with a power of 90% and a significance level of 0.01?",
            TTest(0.01, -0.5, samples=1),
            0.9,
        ),
        (
            "The drug is expected to lower the pressure by 6.5 mmHg with a standard deviation of 13. Each patient is measured before and after. What "
            "sample size is needed for 80% power in a one-sided test at the significance level of 0.05?",
            TTest(0.05, 0.5, samples=1, sides=1),
            0.8,
        ),
        (
            "The drug may reduce the level 4.0 units with a standard deviation of 10, measured before and after treatment, with a correlation "
            "coefficient of 0.875 between both. What sample size gives a power of 0.8 in a two-sided test?",
            TTest(0.05, 0.8, samples=1),
            0.8,
        ),
        (
            "The difference of the means will be 7.5. The standard deviation under diet A is assumed to be 15 and the standard deviation under diet "
            "B to be 15. What sample size in each group has a power of 80 % in a two-tailed test at significance level of 5%?",
            TTest(0.05, 0.5, samples=2),
            0.8,
        ),
        (
            "The mean scores for each group will be 10, 12 and 14, respectively. The standard deviation in all groups is assumed to be 8. How many "
            "students in each group give 90% power?",
            OneWayAnova.of_means(0.05, [10, 12, 14], 8),
            0.9,
        ),
        (
            "The proportions for each stage will be 0.2, 0.3, and 0.5 in women, and will be 0.3, 0.3, and 0.4 in men. How many patients in all give "
            "80% power?",
            ChiSquareTest.of_rows(0.05, [[0.2, 0.3, 0.5], [0.3, 0.3, 0.4]]),
            0.8,
        ),
        (
            "The proportion of patients who recover will be 0.65 in group A and 0.45 in group B. What size has a two-sided test with 80% power?",
            ProportionTest(0.05, 0.65, 0.45, samples=2),
            0.8,
        ),
        (
            "The probabilities of failure over time in groups E and C are 0.3 and 0.45. The hazard ratio is assumed to be 0.6. What size gives 80% "
            "power for a two-sided test?",
            SurvivalTest(0.05, 0.6, (0.3, 0.45)),
            0.8,
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Design) else "",
)
def test_a_question_for_a_sample_size_is_read(text: str, design: Design, given: float) -> None:
    question = read_question(text)
    assert (question.target, question.design.words, question.given) == ("size", design.words, given)
    assert question.design.alpha == design.alpha
    assert question.answer() == design.size(given)


@pytest.mark.parametrize(
    "words",
    ["She recruited 37 participants.", "A random sample of 37 adults is drawn.", "She has 37 patients.", "There is one group, having 37 persons."],
)
def test_a_question_for_a_power_gives_the_sample_size(words: str) -> None:
    question = read_question(f"{ONE_SAMPLE.format(words)}. What\u2019s the power?")
    assert (question.target, question.given) == ("power", 37)
    assert question.answer() == TTest(0.05, -0.5, samples=1).power(37)


def test_a_question_that_does_not_say_how_many_sides_can_be_read_in_two_ways() -> None:
    text = "The drug lowers the pressure by 6.5 mmHg with a standard deviation of 13, before and after. What is the power with 40 patients?"
    question = read_question(text)
    assert [design.sides for design in (question.design, *question.other_readings) if isinstance(design, TTest)] == [2, 1]
    assert read_question(text.replace("What", "She plans a two-sided test. What")).other_readings == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("How old is the patient?", "no kind of design is recognised"),
        (ONE_SAMPLE.format("How many are needed in"), "the power to achieve is missing"),
        (f"{ONE_SAMPLE.format('For')}, what is the power?", "the sample size is missing"),
        ("The hazard ratio is assumed to be 0.5. What size has 80% power?", "the probabilities of failure is missing"),
        (
            "The proportions for each stage will be 0.2, and 0.3 in women, and will be 0.3, and 0.4 in men. What size has 80% power?",
            "do not add up to 1",
        ),
        ("It is assumed to be 5 with a standard deviation of 0. What size detects a difference from 6 with a power of 80%?", "is not positive"),
    ],
)
def test_a_question_without_what_is_needed_is_told_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(UnreadableError, match=says):
        read_question(text)
