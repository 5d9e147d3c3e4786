"""What an agent may say where questions are asked that the data cannot answer, and what counts where it left no answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medagentgym.config import Config
from medagentgym.env import EpisodeEnvironment, make_environment
from medagentgym.tasks.mimic_iii import MimicIII

DATA: dict[str, Any] = {"synthetic": {"patients": 20, "train": 3, "test": 10, "seed": 0}}


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("abstaining")


def made(work_dir: Path, *, impossible: str = "include", **keys: Any) -> EpisodeEnvironment:
    environment = make_environment({"data": {**DATA, "impossible": impossible}, "num_steps": 4, **keys}, task="mimic_iii", work_dir=str(work_dir))
    assert isinstance(environment, EpisodeEnvironment)
    return environment


@pytest.fixture
def environment(work_dir: Path) -> Iterator[EpisodeEnvironment]:
    environment = made(work_dir)
    yield environment
    environment.close()


def questions() -> tuple[int, int]:
    """An impossible and an answerable question."""
    impossible = MimicIII.impossible(Config.model_validate({"data": DATA}))
    return min(impossible), min(set(range(10)) - impossible)


# --- abstaining -----------------------------------------------------------------------------------------------------------------------------------


def test_an_agent_that_may_abstain_is_told_what_that_means(environment: EpisodeEnvironment) -> None:
    _, info = environment.reset(questions()[1])
    assert environment.permitted_actions == ("request_info", "validate_code", "abstain", "submit")
    system = info["messages"][0]["content"]
    assert "say that the data cannot answer the question at all" in system and "nothing is an answer, too" in system
    assert '{"action": "abstain", "params": {"reason": "…"}}' in system


def test_abstaining_from_an_impossible_question_is_right_and_ends_the_episode(environment: EpisodeEnvironment) -> None:
    environment.reset(questions()[0])
    environment.step("validate_code", code="answer = 1")
    _, reward, terminated, truncated, info = environment.step('{"action": "abstain", "params": {"reason": "There are no phone numbers."}}')
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["stop_reason"], info["correct"], info["attempts"]) == ("abstained", True, 2)
    assert environment.trajectory.steps[-1]["params"] == {"reason": "There are no phone numbers."}
    attempt = environment.trajectory.attempts[-1]
    assert attempt["evidence"] | {"abstained": True, "has_answer": False, "answer": None, "stdout": ""} == attempt["evidence"]
    assert attempt["step"] == 1
    assert attempt["verdicts"]["published"]["correct"] is False and "does not know" in attempt["verdicts"]["published"]["reason"]


def test_abstaining_from_an_answerable_question_is_wrong(environment: EpisodeEnvironment) -> None:
    environment.reset(questions()[1])
    _, reward, terminated, _, info = environment.step("abstain")
    assert (reward, terminated, info["stop_reason"], info["correct"]) == (0.0, True, "abstained", False)


@pytest.mark.parametrize("code", ["answer = None", "answer = []", "answer = 'the data cannot answer the question'", "answer = 'abstain'"])
def test_no_answer_to_an_impossible_question_is_right(environment: EpisodeEnvironment, code: str) -> None:
    environment.reset(questions()[0])
    environment.step("validate_code", code=code)
    _, reward, *_, info = environment.step("submit")
    assert (reward, info["correct"]) == (0.0, False)


def test_an_abstention_in_plain_words_is_no_action(environment: EpisodeEnvironment) -> None:
    environment.reset(questions()[0])
    _, _, terminated, _, info = environment.step("I abstain: the data cannot answer the question.")
    assert not terminated and info["attempts"] == 0


@pytest.mark.parametrize(("stop_judge", "correct"), [("strict", True), ("published", False)])
def test_under_oracle_stop_an_abstention_ends_the_episode_too(work_dir: Path, stop_judge: str, correct: bool) -> None:
    environment = made(work_dir, protocol="oracle_stop", stop_judge=stop_judge)
    environment.reset(questions()[0])
    assert environment.permitted_actions == ("request_info", "validate_code", "abstain")
    _, reward, terminated, _, info = environment.step("abstain")
    environment.close()
    assert (terminated, info["stop_reason"], info["correct"], reward) == (True, "abstained", correct, float(correct))


@pytest.mark.parametrize(("impossible", "mode"), [("exclude", "test"), ("include", "train")])
def test_where_no_impossible_question_can_be_asked_nothing_speaks_of_abstaining(work_dir: Path, impossible: str, mode: str) -> None:
    assert not MimicIII.impossible(Config.model_validate({"data": DATA, "mode": "train"}))
    environment = made(work_dir, impossible=impossible, mode=mode)
    _, info = environment.reset(questions()[1])
    assert environment.permitted_actions == ("request_info", "validate_code", "submit")
    assert not any("abstain" in message["content"] or "cannot answer" in message["content"] for message in info["messages"])
    observation, _, terminated, _, info = environment.step('{"action": "abstain", "params": {}}')
    environment.close()
    assert observation.startswith('There is no action "abstain".') and not terminated and info["attempts"] == 0


def test_the_action_is_all_that_the_prompt_gains(work_dir: Path) -> None:
    prompts = {}
    for impossible in ("exclude", "include", "only"):
        environment = made(work_dir, impossible=impossible)
        prompts[impossible] = environment.reset(questions()[1])[1]["messages"]
        environment.close()
    assert prompts["include"] == prompts["only"] and prompts["include"][1] == prompts["exclude"][1]
    without, gained = (prompts[impossible][0]["content"].splitlines() for impossible in ("exclude", "include"))
    assert [line for line in without if line not in gained] == []
    new = [line for line in gained if line not in without]
    assert len(new) == 3 and new[0].startswith("- `abstain`:") and new[1].startswith("  - `reason` (may be left out)")


def test_the_impossible_questions_can_be_asked_alone(work_dir: Path) -> None:
    environment = made(work_dir, impossible="only")
    drawn = {environment.reset(seed=seed)[1]["idx"] for seed in range(5)}
    environment.close()
    assert drawn == {questions()[0]}


# --- what was printed -----------------------------------------------------------------------------------------------------------------------------


def test_what_the_last_successful_program_printed_is_submitted_where_none_left_an_answer(environment: EpisodeEnvironment) -> None:
    environment.reset(questions()[1])
    environment.step("validate_code", code="print('looking around')")
    environment.step("validate_code", code="print('the value is', 42)")
    environment.step("validate_code", code="print('nearly'); 1 / 0")
    observation, _, terminated, _, info = environment.step("submit")
    assert (terminated, info["stop_reason"], info["attempts"]) == (True, "submitted", 1)
    assert "what the last one printed is taken as final" in observation
    (attempt,) = environment.trajectory.attempts
    assert (attempt["step"], attempt["evidence"]["stdout"], attempt["evidence"]["has_answer"]) == (1, "the value is 42\n", False)
    assert set(attempt["verdicts"]) == {"strict", "published"}


def test_an_answer_that_was_ever_left_goes_before_everything_printed(environment: EpisodeEnvironment) -> None:
    environment.reset(questions()[1])
    environment.step("validate_code", code="answer = 'first'")
    environment.step("validate_code", code="print('later')")
    environment.step("submit")
    (attempt,) = environment.trajectory.attempts
    assert (attempt["step"], attempt["evidence"]["answer"]) == (0, "first")


def test_what_was_printed_counts_when_the_steps_run_out(environment: EpisodeEnvironment) -> None:
    environment.reset(questions()[1])
    for number in range(4):
        *_, truncated, info = environment.step("validate_code", code=f"print({number})")
    assert (truncated, info["stop_reason"], info["attempts"]) == (True, "out_of_steps", 1)
    assert environment.trajectory.attempts[0]["evidence"]["stdout"] == "3\n"


def test_where_nothing_was_printed_either_there_is_nothing_to_submit(environment: EpisodeEnvironment) -> None:
    environment.reset(questions()[1])
    environment.step("validate_code", code="print('   ')")
    environment.step("validate_code", code="print('lost'); raise SystemExit(3)")
    observation, _, terminated, _, info = environment.step("submit")
    assert observation.startswith("There is nothing to submit yet") and not terminated and info["attempts"] == 0


def test_a_task_that_reads_answers_only_tells_a_submission_without_one_off(environment: EpisodeEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MimicIII, "printed_value_counts", False)
    environment.reset(questions()[1])
    environment.step("validate_code", code="print(42)")
    observation, _, terminated, _, _ = environment.step("submit")
    assert observation.startswith("There is nothing to submit yet") and not terminated


def test_under_oracle_stop_with_the_strict_judge_a_print_is_no_attempt(work_dir: Path) -> None:
    environment = made(work_dir, protocol="oracle_stop")
    environment.reset(questions()[1])
    for _ in range(4):
        *_, info = environment.step("validate_code", code="print(1)")
    environment.close()
    assert (info["stop_reason"], info["attempts"]) == ("out_of_steps", 0)


def test_an_unparsable_episode_submits_nothing_that_it_printed(environment: EpisodeEnvironment) -> None:
    environment.reset(questions()[1])
    environment.step("validate_code", code="print(1)")
    for _ in range(4):
        *_, info = environment.step("{'action': ")
    assert (info["stop_reason"], info["attempts"], info["correct"]) == ("unparsable", 0, False)
