"""An episode in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scored_episodes import abstention, attempt, write_episode

from medagentgym.__main__ import main
from medagentgym.errors import UserError
from medagentgym.transcript import transcript


def test_a_published_episode_is_shown_with_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history_4.json"
    path.write_text(json.dumps([{"role": "user", "content": "How many?"}, {"role": "assistant", "content": "Three."}, {"result": "failure"}]))
    assert main(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "instance 4" in shown and "--- assistant ---\nThree." in shown and shown.rstrip().splitlines()[-1].startswith("failure, score 0")


def test_an_episode_is_shown_with_every_attempt_and_why_it_was_wrong(tmp_path: Path) -> None:
    wrong = {"correct": False, "score": 0.0, "reason": "2 where the gold is 1"}
    shown = transcript(write_episode(tmp_path, 0, {**attempt(2), "verdicts": {"strict": wrong}}))
    assert "attempt 1, step 1" in shown and "strict: wrong: 2 where the gold is 1" in shown


def test_what_is_no_episode_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(UserError, match=r"other\.json"):
        transcript(tmp_path / "other.json")


def test_an_abstention_is_shown_as_one_and_a_print_as_no_answer(tmp_path: Path) -> None:
    shown = transcript(write_episode(tmp_path, 0, attempt(None, "5 tables\n", has_answer=False), abstention(1), stop_reason="abstained"))
    assert "no answer: judged by what was printed" in shown and "abstained: the data cannot answer the question" in shown
    assert shown.endswith("the agent said that the data cannot answer the question")
