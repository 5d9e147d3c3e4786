from __future__ import annotations

from collections import Counter

from medagentgym.judges.references import most_satisfied
from medagentgym.judges.sample_sizes import SampleSizeJudge
from medagentgym.power_analysis.questions import read_question
from medagentgym.synthetic.studies import LARGEST_STUDY, make_rows
from medagentgym.tasks.npowerai import check_gold

ROWS = make_rows(0, "test", 160)


def test_the_same_seed_gives_the_same_rows_and_another_one_others() -> None:
    assert make_rows(0, "test", 40) == ROWS[:40]
    assert make_rows(1, "test", 40) != ROWS[:40]
    assert not {row["question"] for row in make_rows(0, "train", 160)} & {row["question"] for row in ROWS}


def test_eight_kinds_of_study_are_asked_for_size_and_for_power_equally_often() -> None:
    counts = Counter((row["task_type"], row["estimate_target"]) for row in ROWS)
    assert len(counts) == 16 and set(counts.values()) == {10}
    assert len({row["question"] for row in ROWS}) == len(ROWS)


def test_every_gold_is_the_answer_to_the_words_of_its_question() -> None:
    for row in ROWS:
        check = check_gold(row["question"], {"target": row["estimate_target"], "value": row["answer"]})
        assert check.finding == "agrees", (row, check)


def test_the_smallest_sample_size_is_asked_for() -> None:
    for row in ROWS:
        if row["estimate_target"] == "size":
            asked = read_question(row["question"])
            assert asked.design.power(row["answer"]) >= asked.given
            assert row["answer"] == asked.design.smallest or asked.design.power(row["answer"] - 1) < asked.given
            assert isinstance(row["answer"], int) and row["answer"] <= LARGEST_STUDY


def test_every_question_says_level_and_sides_of_its_test() -> None:
    for row in ROWS:
        assert "significance level of" in row["question"]
        assert read_question(row["question"]).other_readings == (), row["question"]


def test_no_constant_scores_well() -> None:
    judge = SampleSizeJudge()
    golds = [{"target": row["estimate_target"], "value": row["answer"], "published": row["answer"], "tolerance": 0.0} for row in ROWS]
    assert most_satisfied([judge.summarise(gold) for gold in golds]) < 0.1 * len(golds)
