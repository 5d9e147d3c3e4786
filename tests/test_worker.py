"""What a worker says of its episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scored_episodes import attempt, write_episode, write_published_episode

from medagentgym.config import Config
from medagentgym.plan import data_folder
from medagentgym.record import EpisodeKey, read_record
from medagentgym.tasks.mimic_iii import MimicIII
from medagentgym.worker import Shard, is_solved, open_experiment


def judged(strict: bool, published: bool) -> dict[str, Any]:
    verdicts = {"strict": strict, "published": published}
    return {**attempt(1), "verdicts": {name: {"correct": correct, "score": float(correct), "reason": ""} for name, correct in verdicts.items()}}


ORACLE: dict[str, Any] = {"protocol": "oracle_stop"}


@pytest.mark.parametrize(
    ("attempts", "changes", "strict", "published"),
    [
        ([judged(False, True)], {}, False, True),
        ([judged(False, True), judged(True, False)], {}, True, False),
        ([judged(False, True), judged(True, False)], ORACLE, True, True),
        ([judged(True, True)], {"stop_reason": "unparsable"}, False, False),
        ([], {"result": "success"}, False, False),
        ([attempt(1)], {"result": "success"}, False, False),
    ],
)
def test_an_episode_is_solved_where_the_asked_judge_said_so(
    tmp_path: Path, attempts: list[dict[str, Any]], changes: dict[str, Any], strict: bool, published: bool
) -> None:
    record = read_record(write_episode(tmp_path, 0, *attempts, **changes))
    assert (is_solved(record, "strict"), is_solved(record, "published")) == (strict, published)


def test_a_published_episode_is_solved_to_the_published_judge_alone(tmp_path: Path) -> None:
    record = read_record(write_published_episode(tmp_path, 0, {"result": "success"}))
    assert is_solved(record, "published") and not is_solved(record, "strict")


def test_the_progress_line_counts_by_the_leading_judge_and_names_it(tmp_path: Path) -> None:
    config = Config.model_validate(
        {
            "work_dir": tmp_path,
            "agent": {"name": "reference"},
            "result_dir_tag": "tag",
            "data": {"synthetic": {"patients": 20, "train": 1, "test": 2}, "impossible": "include"},
            "scoring": {"judges": ["published", "strict"]},
        }
    )
    data_folder(config).parent.mkdir(parents=True)
    MimicIII.build(config, data_folder(config))
    keys = [EpisodeKey(0), EpisodeKey(1)]
    with open_experiment(config) as experiment:
        shard = Shard(experiment, keys)
        shard.run()
        impossible = MimicIII.impossible(config)
        results = [read_record(experiment.folder / f"history_{key.idx}.json")["result"] for key in keys]
        assert len(impossible) == 1 and results == ["success", "success"]  # of the stop judge; the published one knows no abstaining
        assert shard.progress().endswith("2 of 2 done (2 run now), 1 solved (judge published)")
        again = Shard(experiment, keys)
        again.run()
        assert again.progress().endswith("2 of 2 done (0 run now), 1 solved (judge published)")
