"""Scores: every finished episode judged again from its record, and nothing that is unknown counted as a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scored_episodes import SmallTask, TaskWithImpossible, abstention, attempt, write_episode, write_published_episode

from medagentgym.answers import LONGEST_TEXT
from medagentgym.errors import UserError
from medagentgym.scores import read_scores, records, score_episodes, timings_file, write_csv, write_scored, write_scores, wrong_file

BOTH = ["strict", "published"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "small" / "my-model" / "test"


def scored(*files: Path, judges: list[str] = BOTH, task: SmallTask | None = None, **options: Any) -> list[dict[str, Any]]:
    """The rows as they come back from the written table."""
    out = files[0].parent.parent / "scores_test.parquet"
    write_scores(score_episodes(files, task or SmallTask(), judges, **options).scores, out)
    return records(read_scores(out))


def test_an_episode_has_one_row_a_judge_with_everything_that_the_tables_need(folder: Path) -> None:
    strict, published = scored(write_episode(folder, 0, attempt(10), attempt(1)))
    assert strict == {
        "task": "small",
        "tag": "my-model",
        "mode": "test",
        "idx": 0,
        "rollout": 0,
        "instance_id": "question-0",
        "judge": "strict",
        "correct": True,
        "score": 1.0,
        "reason": "the gold's row",
        "first_attempt_correct": False,
        "attempts": 2,
        "stop_reason": "submitted",
        "protocol": "submit",
        "stop_judge": "strict",
        "censored": False,
        "lower": 1.0,
        "upper": 1.0,
        "judges_agree": True,
        "steps": 3,
        "calls": 2,
        "retries": 0,
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "reasoning_tokens": 0,
        "cached_tokens": 0,
        "cost": None,
        "sandbox_backend": "bubblewrap",
        "sandbox_level": "namespaces",
        "sees_reference": False,
        "gold_status": "usable",
        "gold_key": strict["gold_key"],
        "gold_low": None,
        "gold_high": None,
        "impossible": None,
        "abstained": False,
    }
    assert (published["judge"], published["correct"], published["first_attempt_correct"]) == ("published", True, True)


def test_the_last_attempt_counts_under_submit(folder: Path) -> None:
    right_then_wrong = write_episode(folder, 0, attempt(1), attempt(2), stop_reason="out_of_steps")
    (row,) = scored(right_then_wrong, judges=["strict"])
    assert (row["correct"], row["first_attempt_correct"], row["stop_reason"]) == (False, True, "out_of_steps")


def test_verdicts_come_from_the_evidence_and_not_from_what_the_record_says_of_them(folder: Path) -> None:
    lying = attempt(2) | {"verdicts": {"strict": {"correct": True, "score": 1.0, "reason": "an older judge"}}}
    (row,) = scored(write_episode(folder, 0, lying, result="success", score=1.0), judges=["strict"])
    assert (row["correct"], row["score"]) == (False, 0.0)


def test_an_episode_without_an_attempt_is_a_failure(folder: Path) -> None:
    (row,) = scored(write_episode(folder, 0, stop_reason="out_of_budget"), judges=["strict"])
    assert (row["correct"], row["first_attempt_correct"], row["attempts"], row["reason"]) == (False, False, 0, "no attempt")


def test_an_unparsable_episode_never_submitted_its_last_attempt(folder: Path) -> None:
    (row,) = scored(write_episode(folder, 0, attempt(1), stop_reason="unparsable"), judges=["strict"])
    assert (row["correct"], row["first_attempt_correct"], row["reason"]) == (False, True, "no readable action")


def test_where_the_judges_disagree_both_rows_say_so(folder: Path) -> None:
    agreeing, disagreeing = write_episode(folder, 0, attempt(1)), write_episode(folder, 1, attempt(["iv"]))
    assert [(row["idx"], row["correct"], row["judges_agree"]) for row in scored(disagreeing, agreeing)] == [
        (0, True, True),
        (0, True, True),
        (1, False, False),
        (1, True, False),
    ]


def stopped(folder: Path, *attempts: dict[str, Any], by: str, reason: str = "accepted", idx: int = 0) -> Path:
    return write_episode(folder, idx, *attempts, protocol="oracle_stop", stop_judge=by, stop_reason=reason)


def test_an_episode_stopped_on_an_answer_that_the_scoring_judge_overrules_is_censored(folder: Path) -> None:
    strict, published = scored(stopped(folder, attempt(10), by="published"))
    assert (strict["correct"], strict["censored"], strict["lower"], strict["upper"]) == (False, True, 0.0, 1.0)
    assert "unknown" in strict["reason"]
    assert (published["correct"], published["censored"], published["lower"], published["upper"]) == (True, False, 1.0, 1.0)


def test_an_attempt_that_the_scoring_judge_would_have_accepted_earlier_is_a_success(folder: Path) -> None:
    # Stored golds: "iv" is printed only by the second attempt, the first left the right answer silently.
    strict, published = scored(stopped(folder, attempt(["iv", "po"], printed="done\n"), attempt(["iv"]), by="published", idx=1))
    assert (strict["correct"], strict["censored"], strict["first_attempt_correct"]) == (True, False, True)
    assert (published["correct"], published["first_attempt_correct"]) == (True, False)


def test_a_look_at_the_data_is_not_the_first_attempt(folder: Path) -> None:
    strict, published = scored(stopped(folder, attempt(None, "5 tables\n", has_answer=False), attempt(1), by="published"))
    assert [(row["attempts"], row["correct"], row["first_attempt_correct"]) for row in (strict, published)] == [(2, True, True)] * 2


def test_an_episode_that_ran_out_of_steps_under_its_stop_judge_is_known_to_have_failed(folder: Path) -> None:
    strict, published = scored(stopped(folder, attempt(2), by="published", reason="out_of_steps"))
    assert [(row["correct"], row["censored"], row["upper"]) for row in (strict, published)] == [(False, False, 0.0)] * 2


def test_a_published_record_has_only_its_own_result_and_is_no_failure_under_strict(folder: Path) -> None:
    won = write_published_episode(folder, 0, {"result": "success", "score": 1.0})
    lost = write_published_episode(folder, 1, {"result": "failure"})
    rows = {(row["idx"], row["judge"]): row for row in scored(won, lost)}
    assert (rows[0, "published"]["correct"], rows[0, "published"]["score"]) == (True, 1.0)
    assert (rows[1, "published"]["correct"], rows[1, "published"]["score"]) == (False, 0.0)
    for idx in (0, 1):
        row = rows[idx, "strict"]
        assert (row["correct"], row["score"], row["lower"], row["upper"], row["censored"], row["judges_agree"]) == (
            None,
            None,
            None,
            None,
            False,
            None,
        )
        assert (row["attempts"], row["first_attempt_correct"], row["calls"], row["sandbox_backend"]) == (None, None, None, None)
        assert "keeps no evidence" in row["reason"]
    assert rows[0, "strict"]["stop_reason"] == "published"


def test_evidence_that_was_cut_off_keeps_the_verdict_of_its_time(folder: Path) -> None:
    cut = attempt(None, complete=False) | {"verdicts": {"strict": {"correct": True, "score": 1.0, "reason": "at the time"}}}
    strict, published = scored(write_episode(folder, 0, cut))
    assert (strict["correct"], strict["reason"]) == (True, "at the time")
    assert (published["correct"], published["score"]) == (None, None)
    assert published["judges_agree"] is None


def test_the_gold_of_each_instance_is_described(folder: Path) -> None:
    files = [write_episode(folder, idx, attempt(1)) for idx in range(5)]
    rows = scored(*files, judges=["published"])
    assert [row["gold_status"] for row in rows] == ["usable", "usable", "usable", "empty", "error"]
    keys = [row["gold_key"] for row in rows]
    assert keys[0] == keys[2]
    assert len(set(keys)) == 4


def test_abstaining_is_right_from_impossible_questions_alone_and_the_published_judge_does_not_know_it(folder: Path) -> None:
    files = [write_episode(folder, 0, abstention(), stop_reason="abstained"), write_episode(folder, 5, abstention(), stop_reason="abstained")]
    files += [write_episode(folder, 6, attempt(None)), write_episode(folder, 7, attempt([]), abstention(1), stop_reason="abstained")]
    rows = {(row["idx"], row["judge"]): row for row in scored(*files, task=TaskWithImpossible())}
    assert [(rows[idx, "strict"]["correct"], rows[idx, "strict"]["abstained"]) for idx in (0, 5, 6, 7)] == [
        (False, True),
        (True, True),
        (False, False),
        (True, True),
    ]
    assert [rows[idx, "published"]["correct"] for idx in (0, 5, 7)] == [False] * 3
    assert "abstention" in rows[5, "published"]["reason"]
    assert [rows[idx, "strict"]["impossible"] for idx in (0, 5, 6, 7)] == [False, True, True, True]
    assert [rows[idx, "strict"]["gold_status"] for idx in (0, 5)] == ["usable", "impossible"]
    assert rows[5, "strict"]["gold_key"] is None
    assert [rows[idx, "strict"]["first_attempt_correct"] for idx in (5, 7)] == [True, False]


def test_an_abstention_counts_as_the_first_attempt_before_what_was_only_printed(folder: Path) -> None:
    looked = attempt(None, "5 tables\n", has_answer=False)
    (row,) = scored(stopped(folder, looked, abstention(1), by="published", reason="abstained", idx=5), judges=["strict"], task=TaskWithImpossible())
    assert (row["correct"], row["first_attempt_correct"], row["censored"]) == (True, True, False)


def test_a_record_from_before_there_were_abstentions_is_read(folder: Path) -> None:
    old = attempt(1)
    del old["evidence"]["abstained"]
    (row,) = scored(write_episode(folder, 0, old), judges=["strict"])
    assert (row["correct"], row["abstained"], row["impossible"]) == (True, False, None)


def test_rollouts_of_an_instance_are_separate_rows(folder: Path) -> None:
    files = [write_episode(folder, 0, attempt(rollout), rollout=rollout) for rollout in (1, 0)]
    assert [(row["rollout"], row["correct"]) for row in scored(*files, judges=["strict"])] == [(0, False), (1, True)]


def test_an_audit_is_marked(folder: Path) -> None:
    (row,) = scored(write_episode(folder, 0, attempt(1)), judges=["strict"], sees_reference=True)
    assert row["sees_reference"] is True


def test_no_episode_gives_an_empty_table(tmp_path: Path) -> None:
    write_scores(score_episodes([], SmallTask(), BOTH).scores, tmp_path / "scores.parquet")
    assert records(read_scores(tmp_path / "scores.parquet")) == []


def test_the_same_episodes_give_the_same_bytes_and_nothing_else_is_left(folder: Path) -> None:
    files = [write_episode(folder, idx, attempt(idx)) for idx in range(4)]
    out, again = folder.parent / "scores_test.parquet", folder.parent / "again.parquet"
    write_scores(score_episodes(files, SmallTask(), BOTH).scores, out)
    write_scores(score_episodes(files[::-1], SmallTask(), BOTH).scores, again)
    assert out.read_bytes() == again.read_bytes()
    assert out.with_suffix(".csv").read_bytes() == again.with_suffix(".csv").read_bytes()
    assert b"pandas" not in out.read_bytes()
    assert sorted(path.name for path in folder.parent.iterdir()) == ["again.csv", "again.parquet", "scores_test.csv", "scores_test.parquet", "test"]


def test_timings_are_kept_apart_from_the_scores(folder: Path) -> None:
    files = [write_episode(folder, 1, attempt(1), attempt(2)), write_published_episode(folder, 0, {"result": "failure"})]
    out = timings_file(folder.parent / "scores_test.parquet")
    write_csv(score_episodes(files, SmallTask(), BOTH).timings, out)
    assert out.name == "scores_test_timings.csv"
    assert out.read_text() == "task,tag,mode,idx,rollout,steps,wall_seconds,cpu_seconds\nsmall,my-model,test,1,0,3,0.5,0.25\n"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: [write_episode(folder, 0, attempt(1), task="other")], "history_0.json: an episode of task other, not of small"),
        (lambda folder: [write_episode(folder, 0, attempt(1)), write_episode(folder, 0, attempt(1), rollout=0)], "the same episode as"),
        (lambda folder: [write_published_episode(folder, 0, {"no": "result"})], "does not end in a result"),
        (lambda folder: [write_episode(folder, 99, attempt(1))], "there is no instance 99"),
        (lambda folder: [folder / "history_7.json"], "there is no such episode"),
        (lambda folder: [folder / "notes.json"], "not named like an episode"),
        (lambda folder: [write_episode(folder, 1, attempt(1), idx=2)], "holds the episode of idx 2, rollout 0"),
    ],
)
def test_what_is_no_episode_of_the_task_is_named(folder: Path, make: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        score_episodes(make(folder), SmallTask(), BOTH)


def test_a_judge_that_the_task_does_not_have_is_named(folder: Path) -> None:
    with pytest.raises(UserError, match="no judge 'lenient'; it has published, strict"):
        score_episodes([], SmallTask(), ["lenient"])


def test_a_table_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    path.write_bytes(b"not a table")
    with pytest.raises(UserError, match=r"scores\.parquet: not a readable score table"):
        read_scores(path)


def test_wrong_answers_are_listed_with_question_answer_gold_and_what_each_judge_said(folder: Path) -> None:
    files = [
        write_episode(folder, 0, attempt(1)),
        write_episode(folder, 1, attempt(["po"]), attempt([["iv"], ["po"], ["sc"]])),
        write_episode(folder, 2),
    ]
    files += [write_published_episode(folder, 3, {"result": "failure"})]
    rows = records(score_episodes(files, SmallTask(), BOTH).wrong)
    assert [(row["idx"], row["episode"]) for row in rows] == [(idx, f"small/my-model/test/history_{idx}.json") for idx in (1, 2, 3)]
    assert [(row["question"], row["answer"], row["gold"]) for row in rows] == [
        ("Which of the 101?", "['iv', 'po', 'sc']", "['iv', 'po']"),
        ("Which of the 102?", "(no attempt)", "True"),
        ("Which of the 103?", "", "[]"),
    ]
    assert [(row["strict_verdict"], row["published_verdict"]) for row in rows] == [("wrong", "correct"), ("wrong", "wrong"), ("unscorable", "wrong")]
    assert rows[1]["strict_reason"] == "no attempt"


def test_the_list_of_wrong_answers_has_the_same_bytes_wherever_the_working_folder_lies(folder: Path, tmp_path: Path) -> None:
    contents = set()
    for place in (folder, tmp_path / "elsewhere" / "small" / "my-model" / "test"):
        out = place.parent / "scores_test.parquet"
        write_scored(score_episodes([write_episode(place, idx, attempt(7)) for idx in (1, 0)], SmallTask(), BOTH), out)
        contents.add(wrong_file(out).read_bytes())
    assert len(contents) == 1


def test_an_answer_without_end_is_shortened_in_the_list(folder: Path) -> None:
    (row,) = records(score_episodes([write_episode(folder, 0, attempt("x" * 300_000))], SmallTask(), BOTH).wrong)
    assert len(row["answer"]) == LONGEST_TEXT and "…" in row["answer"]


def test_a_score_table_of_which_a_bit_has_changed_is_named(folder: Path) -> None:
    out = folder.parent / "scores_test.parquet"
    write_scores(score_episodes([write_episode(folder, idx, attempt(idx)) for idx in range(4)], SmallTask(), BOTH).scores, out)
    content = bytearray(out.read_bytes())
    content[40] ^= 1
    out.write_bytes(content)
    with pytest.raises(UserError, match=r"scores_test\.parquet: not a readable score table .*delete the file to have it made again"):
        read_scores(out)
