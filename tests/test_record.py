"""The record of an episode on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scored_episodes import attempt, write_episode

from medagentgym.errors import UserError
from medagentgym.record import RECORD_SCHEMA, EpisodeKey, episode_file, parse_episode_file, read_object, read_record, write_text


def test_names_follow_the_published_system(tmp_path: Path) -> None:
    assert episode_file(tmp_path, EpisodeKey(17), 1).name == "history_17.json"
    assert episode_file(tmp_path, EpisodeKey(17, 2), 3).name == "history_17_2.json"
    assert parse_episode_file("history_17_2.json") == (17, 2) and parse_episode_file("history_17.json") == (17, None)
    assert parse_episode_file("history_x.json") is None and parse_episode_file("configuration.json") is None


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "history_0.json"
    write_text(path, "old")
    path.chmod(0o644)
    with pytest.raises(TypeError):
        write_text(path, 5)  # type: ignore[arg-type]
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_published_list_is_read_as_a_record(tmp_path: Path) -> None:
    path = tmp_path / "history_4_1.json"
    path.write_text(json.dumps([{"role": "system", "content": "s"}, {"role": "assistant", "content": "a"}, {"result": "success", "score": 1}]))
    record = read_record(path)
    assert (record["schema"], record["idx"], record["rollout"], record["result"], record["score"]) == ("published", 4, 1, "success", 1.0)
    assert len(record["messages"]) == 2 and record["protocol"] == "oracle_stop"


@pytest.mark.parametrize("content", ["", "{", "[]", '[{"role": "user"}]', '{"schema": "something else"}', "3"])
def test_what_is_no_episode_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "history_4.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"history_4\.json"):
        read_record(path)


@pytest.mark.parametrize(
    "damage", [{"idx": "4"}, {"steps": None}, {"steps": [1]}, {"attempts": {}}, {"usage": "x"}, {"protocol": [1]}, {"stop_reason": 5}]
)
def test_a_record_that_lost_a_part_is_named_with_the_key(tmp_path: Path, damage: dict[str, object]) -> None:
    whole = {"schema": RECORD_SCHEMA, "task": "t", "idx": 4, "instance_id": "i", "rollout": 0, "steps": [], "attempts": [], "result": "failure"}
    path = tmp_path / "history_4.json"
    path.write_text(json.dumps({**whole, "stop_reason": "submitted"}))
    assert read_record(path)["idx"] == 4
    path.write_text(json.dumps({**whole, "stop_reason": "submitted", **damage}))
    with pytest.raises(UserError, match=rf"history_4.json: .*{next(iter(damage))}"):
        read_record(path)


@pytest.mark.parametrize("score", ["abc", [1], float("nan")])
def test_a_published_score_that_is_no_number_is_named(tmp_path: Path, score: object) -> None:
    path = tmp_path / "history_4.json"
    path.write_text(json.dumps([{"role": "user", "content": "q"}, {"result": "success", "score": score}]))
    with pytest.raises(UserError, match=r"history_4.json: its score"):
        read_record(path)


@pytest.mark.parametrize("content", ["", "[1]", "null", "[" * 100_000, "\udcff"])
def test_an_object_is_read_or_refused_whatever_the_file_holds(tmp_path: Path, content: str) -> None:
    path = tmp_path / "any.json"
    path.write_text(content, errors="surrogateescape")
    with pytest.raises(ValueError):
        read_object(path)


def test_what_a_killed_writer_left_behind_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "history_0.json"
    (tmp_path / ".history_0.json.partial").write_text("half a rec")
    write_text(path, "whole", alone=True)
    assert path.read_text() == "whole" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "damage",
    [
        {"evidence": None},
        {"evidence": {"answer": 1}},
        {"step": "0"},
        {"verdicts": ["strict"]},
        {"verdicts": {"strict": {"correct": True}}},
    ],
)
def test_a_record_whose_attempt_lost_a_part_is_named_and_not_judged(tmp_path: Path, damage: dict[str, object]) -> None:
    path = write_episode(tmp_path, 4, attempt(1))
    assert read_record(path)["idx"] == 4
    write_episode(tmp_path, 4, {**attempt(1), **damage})
    with pytest.raises(UserError, match=r"history_4\.json: not a whole episode record \(key attempts\); delete the file"):
        read_record(path)
