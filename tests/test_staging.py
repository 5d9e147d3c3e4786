"""Folders that are built whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from medagentgym.staging import staged_folder


def test_a_finished_folder_takes_its_place(tmp_path: Path) -> None:
    with staged_folder(tmp_path / "data" / "task") as staging:
        (staging / "file").write_text("new")
        assert not (tmp_path / "data" / "task").exists()
    assert (tmp_path / "data" / "task" / "file").read_text() == "new"
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["task"]


def test_a_folder_that_is_there_is_replaced_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "old").write_text("old")
    with staged_folder(tmp_path / "task") as staging:
        (staging / "file").write_text("new")
    assert [path.name for path in tmp_path.rglob("*")] == ["task", "file"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_a_failure_nothing_is_left_and_what_was_there_stays(tmp_path: Path, failure: type[BaseException]) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "old").write_text("old")
    with pytest.raises(failure), staged_folder(tmp_path / "task") as staging:
        (staging / "half").write_text("half")
        raise failure
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["old", "task"]


def test_what_a_killed_build_left_is_removed_and_a_running_one_is_not_disturbed(tmp_path: Path) -> None:
    abandoned = tmp_path / ".task.killed.partial"
    abandoned.mkdir()
    with staged_folder(tmp_path / "task") as running:
        (running / "file").write_text("slow")
        with staged_folder(tmp_path / "task") as staging:
            (staging / "file").write_text("quick")
        assert running.is_dir()
        assert not abandoned.exists()
    assert (tmp_path / "task" / "file").read_text() == "slow"
