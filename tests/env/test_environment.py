"""The environment on its own, as in someone's reinforcement learning loop."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy
import psutil
import pytest
from gymnasium.utils.env_checker import check_env

import medagentgym.env  # noqa: F401 (registers the environments)
from medagentgym.env.environment import EpisodeEnvironment
from medagentgym.errors import UserError

CONFIG: dict[str, Any] = {"data": {"synthetic": {"patients": 20, "train": 5, "test": 10}}, "num_steps": 4}


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("environment")


@pytest.fixture
def environment(work_dir: Path) -> Iterator[gymnasium.Env[str, str]]:
    made = gymnasium.make("medagentgym/mimic_iii-v0", config=CONFIG, work_dir=str(work_dir))
    yield made
    made.close()


def act(name: str, **params: str) -> str:
    return json.dumps({"action": name, "params": params})


def test_gymnasium_finds_the_environment_and_its_checker_is_content(environment: gymnasium.Env[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*not within the observation space.*render.*")
        check_env(environment.unwrapped, skip_render_check=True)


def test_reset_chooses_the_instance_and_the_seed_repeats_the_draw(environment: gymnasium.Env[str, str]) -> None:
    text, info = environment.reset(options={"idx": 3})
    assert info["idx"] == 3 and info["messages"][-1]["content"] == text and "2105-12-31" in text
    drawn = [environment.reset(seed=7)[1]["idx"] for _ in range(2)]
    assert drawn[0] == drawn[1]
    with pytest.raises(UserError, match="500"):
        environment.reset(options={"idx": 500})


def test_a_right_answer_that_is_submitted_is_rewarded(environment: gymnasium.Env[str, str]) -> None:
    environment.reset(options={"idx": 0})
    task = environment.unwrapped.task  # type: ignore[attr-defined]
    _, reward, terminated, truncated, info = environment.step(act("validate_code", code=task.reference_code(task.instance(0))))
    assert (reward, terminated, truncated, info["attempts"]) == (0.0, False, False, 1)
    _, reward, terminated, truncated, info = environment.step(act("submit"))
    assert (reward, terminated, truncated, info["stop_reason"], info["correct"]) == (1.0, True, False, "submitted", True)


def test_the_published_form_of_a_step_takes_the_parameters_as_keywords(environment: gymnasium.Env[str, str]) -> None:
    environment.reset(options={"idx": 0})
    observation, *_ = environment.unwrapped.step("validate_code", code="print(6 * 7)")  # type: ignore[call-arg]
    assert "42" in observation


def test_steps_that_run_out_truncate_and_the_last_attempt_is_judged(environment: gymnasium.Env[str, str]) -> None:
    environment.reset(options={"idx": 0})
    for number in range(4):
        _, reward, terminated, truncated, info = environment.step(act("validate_code", code=f"answer = 'wrong {number}'"))
    assert (reward, terminated, truncated, info["stop_reason"]) == (0.0, False, True, "out_of_steps")


def test_an_episode_whose_box_a_step_has_cost_goes_on_in_another(environment: gymnasium.Env[str, str]) -> None:
    environment.reset(options={"idx": 0})
    episode = environment.unwrapped
    assert isinstance(episode, EpisodeEnvironment)
    environment.step(act("validate_code", code="open('note', 'w').write('x')"))
    lost = episode.own()
    lost.close()
    observation, *_ = environment.step(act("validate_code", code="import os\nprint('here', os.listdir('.'))"))
    assert "here []" in observation
    assert episode.own() is not lost


def test_unreadable_replies_say_what_is_wrong_and_end_the_episode_after_n_retry(environment: gymnasium.Env[str, str]) -> None:
    environment.reset(options={"idx": 0})
    for _ in range(3):
        observation, _, terminated, _, _ = environment.step("{'action': ")
        assert observation and not terminated
    _, reward, terminated, _, info = environment.step("{'action': ")
    assert terminated and reward == 0.0 and info["stop_reason"] == "unparsable"


def test_the_verdict_of_a_wrong_attempt_is_told_only_where_the_configuration_says_so(work_dir: Path) -> None:
    for tell in (False, True):
        config = {**CONFIG, "protocol": "oracle_stop", "tell_verdict": tell}
        environment = gymnasium.make("medagentgym/mimic_iii-v0", config=config, work_dir=str(work_dir))
        environment.reset(options={"idx": 0})
        observation, *_ = environment.step(act("validate_code", code="answer = 'surely wrong'"))
        environment.close()
        assert ("wrong" in observation.replace("surely wrong", "")) == tell


@pytest.mark.slow
def test_many_random_episodes_in_eight_environments_leave_nothing_behind(work_dir: Path) -> None:
    process = psutil.Process()

    def state() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(process.children(recursive=True))

    def play(episodes: int) -> None:
        environments = gymnasium.make_vec("medagentgym/mimic_iii-v0", num_envs=8, vectorization_mode="sync", config=CONFIG, work_dir=str(work_dir))
        environments.action_space.seed(5)
        environments.reset(seed=5)
        finished = 0
        while finished < episodes:
            _, _, terminated, truncated, _ = environments.step(environments.action_space.sample())
            finished += int(numpy.sum(terminated | truncated))
        environments.close()

    play(16)
    before, memory = state(), process.memory_info().rss
    play(200)
    (descriptors, children), (descriptors_before, children_before) = state(), before
    assert descriptors <= descriptors_before and children <= children_before
    assert process.memory_info().rss < memory + 50 * 2**20


def test_the_documented_module_offers_the_environment_with_reset_of_an_instance_and_steps_by_name(work_dir: Path) -> None:
    from medagentgym.env import EpisodeEnvironment, make_environment

    environment = make_environment(CONFIG, task="mimic_iii", work_dir=str(work_dir))
    assert isinstance(environment, EpisodeEnvironment)
    _, info = environment.reset(2)
    assert info["idx"] == 2
    observation, *_ = environment.step("request_info", data_path="PATIENTS.csv", info_type="column_names")
    environment.close()
    assert "SUBJECT_ID" in observation
