"""How the baseline agent reads the last of several questions."""

from __future__ import annotations

import pytest

from medagentgym.agent.baseline_rules.sequences import last_question


def test_a_single_question_stays_as_it_is() -> None:
    text = "What was the dose of this patient? And When?"
    assert last_question(text) == text


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("what is the gender of patient 12?\nWhen was this patient born?", "When was patient 12 born?"),
        ("did patient 12 die?\nAnd when was the same patient born?", "when was patient 12 born?"),
        (
            "was patient 12 given heparin on the last hospital visit?\nAnd which drugs did this patient get on that same visit?",
            "which drugs did patient 12 get on the last hospital visit?",
        ),
        (
            "was patient 12 admitted since 2 years ago?\nWho knows? And which drugs did this patient get in the same period?",
            "which drugs did patient 12 get since 2 years ago?",
        ),
        (
            "what was the minimum ph value of patient 12 in 2104?\nWhen was the first of these measured? And the maximum value?",
            "what was the maximum ph value of patient 12 in 2104?",
        ),
    ],
)
def test_what_refers_back_is_put_in_its_place(text: str, last: str) -> None:
    assert last_question(text) == last


def test_a_group_that_was_narrowed_down_is_not_understood() -> None:
    assert last_question("how many patients have gout?\nHow many of them are men?") == "How many of them are men?"
