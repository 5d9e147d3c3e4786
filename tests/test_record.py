"""The record of an episode on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medagentgym.errors import UserError
from medagentgym.record import EpisodeKey, episode_file, parse_episode_file, read_record, write_text


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
