"""The table that is printed of a reports folder, and what must be known before it is quoted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from scored_episodes import SmallTask, TaskWithImpossible, abstention, attempt, write_episode

from medagentgym.__main__ import main
from medagentgym.config import Config
from medagentgym.scores import score_episodes, write_scored
from medagentgym.summary import experiment_key, summarize


def summed_up(tmp_path: Path, files: list[Path], task: SmallTask, **keys: Any) -> Path:
    """The reports folder of episodes that are scored with both judges."""
    config = Config.model_validate({"task": "small", "result_dir_tag": "my-model", "mode": "test", "agent": {"name": "scripted"}} | keys)
    scores = tmp_path / "scores_test.parquet"
    write_scored(score_episodes(files, task, ("strict", "published")), scores)
    summarize([config], [scores], {experiment_key(config): len(files)}, tmp_path / "demo", False)
    return tmp_path / "demo"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "small" / "my-model" / "test"


def notes_of(reports: Path) -> list[str]:
    above = (reports / "summary.md").read_text(encoding="utf-8").partition("\n## Success\n")[0]
    return [paragraph for paragraph in above.strip().split("\n\n")[1:] if not paragraph.startswith("task ")]


def printed(reports: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["show", str(reports)]) == 0
    return capsys.readouterr().out


def censored_episodes(folder: Path) -> tuple[list[Path], dict[str, str]]:
    rules = {"protocol": "oracle_stop", "stop_judge": "published"}
    files = [write_episode(folder, idx, attempt(answer), stop_reason="accepted", **rules) for idx, answer in ((0, 1), (1, ["iv"]))]
    return [*files, write_episode(folder, 2, attempt(0), stop_reason="out_of_steps", **rules)], rules


def test_the_notes_of_the_summary_stand_beneath_the_printed_table_in_lines_that_fit(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, rules = censored_episodes(folder)
    reports = summed_up(tmp_path, files, SmallTask(), **rules)
    shown = printed(reports, capsys)
    notes = notes_of(reports)
    assert len(notes) == 2 and "leaks the label" in notes[1]
    below = shown.partition("first try")[2]
    for note in notes:
        assert note in " ".join(below.split())
    assert max(map(len, shown.rpartition("\n\n")[0].splitlines())) <= 100


def test_what_a_task_says_of_its_data_is_printed_too(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = summed_up(tmp_path, [write_episode(folder, 0, attempt(1))], SmallTask())
    text = (reports / "summary.md").read_text(encoding="utf-8")
    (reports / "summary.md").write_text(text.replace("## Success", "small: 313 of 865 golds are wrong.\n\n## Success"), encoding="utf-8")
    assert "\n\nsmall: 313 of 865 golds are wrong.\n\n" in printed(reports, capsys)


def test_censored_episodes_have_their_bounds_in_print(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, rules = censored_episodes(folder)
    shown = printed(summed_up(tmp_path, files, SmallTask(), **rules), capsys)
    assert re.search(r"experiment +judge +bounds\n.*\nmy-model +strict +33\.3 to 66\.7 %\nmy-model +published +-\n", shown)


def test_where_few_golds_are_usable_the_rate_on_these_is_printed(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [write_episode(folder, 0, attempt(1)), *(write_episode(folder, idx, abstention()) for idx in (5, 6, 7))]
    shown = printed(summed_up(tmp_path, files, TaskWithImpossible()), capsys)
    assert re.search(r"on usable golds +usable floor\n.*\nmy-model +strict +1/1 = 100\.0 % +100\.0 %\n", shown)


def test_neither_bounds_nor_usable_golds_are_printed_where_all_golds_are_usable(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = printed(summed_up(tmp_path, [write_episode(folder, 0, attempt(1))], SmallTask()), capsys)
    tables = shown.rpartition("\n\n")[0]
    assert "1/1 = 100.0 %" in tables and "bounds" not in tables and "usable" not in tables


def test_without_its_notes_a_table_says_that_they_are_missing(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = summed_up(tmp_path, [write_episode(folder, 0, attempt(1))], SmallTask())
    (reports / "summary.md").unlink()
    shown = printed(reports, capsys)
    assert "1/1 = 100.0 %" in shown and "its notes on these figures are not shown" in " ".join(shown.split())
