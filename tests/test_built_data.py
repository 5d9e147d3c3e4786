"""Built data that were damaged since are told before an episode is run or judged on them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medagentgym.built_data import read_manifest
from medagentgym.config import Config
from medagentgym.errors import UserError
from medagentgym.tasks.registry import get_task_class


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Config, Path]]:
    """Builds a task's made-up data once; gives configuration and folder."""
    made: dict[str, tuple[Config, Path]] = {}

    def build(task: str) -> tuple[Config, Path]:
        if task not in made:
            data = {"synthetic": {"patients": 30, "train": 0, "test": 3}}
            config = Config.model_validate({"work_dir": tmp_path_factory.mktemp(task), "task": task, "data": data})
            folder = config.work_dir / "data" / task
            get_task_class(task).build(config, folder)
            made[task] = config, folder
        return made[task]

    return build


def without_its_end(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def without_its_last_row(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))


def with_another_gold(path: Path) -> None:
    """The same size, another content."""
    content = path.read_bytes()
    digit = next(position for position in range(len(content) - 1, 0, -1) if content[position : position + 1].isdigit())
    path.write_bytes(content[:digit] + (b"8" if content[digit : digit + 1] != b"8" else b"7") + content[digit + 1 :])


@pytest.mark.parametrize(
    ("task", "file", "damage"),
    [
        ("npowerai", "test_tasks.jsonl", without_its_end),
        ("npowerai", "test_tasks.jsonl", without_its_last_row),
        ("npowerai", "test_tasks.jsonl", with_another_gold),
        ("npowerai", "test_tasks.jsonl", Path.unlink),
        ("mimic_iii", "test_tasks.jsonl", with_another_gold),
        ("mimic_iii", "lookup.sqlite", without_its_end),
        ("mimic_iii", "database/mimic_iii.sqlite", without_its_end),
        ("mimic_iii", "database/PATIENTS.csv", without_its_last_row),
    ],
)
def test_a_damaged_file_of_the_built_data_is_named_and_what_to_do(
    built: Callable[[str], tuple[Config, Path]], task: str, file: str, damage: Any, tmp_path: Path
) -> None:
    config, sound = built(task)
    folder = tmp_path / task
    shutil.copytree(sound, folder)
    get_task_class(task)(folder, config).close()
    damage(folder / file)
    with pytest.raises(UserError, match=rf"{Path(file).name}.*; delete {folder} and build the data again") as told:
        get_task_class(task)(folder, config)
    assert "\n" not in str(told.value)


def test_data_that_were_built_before_sizes_were_kept_are_read(built: Callable[[str], tuple[Config, Path]], tmp_path: Path) -> None:
    _, sound = built("npowerai")
    shutil.copytree(sound, tmp_path / "old")
    manifest = json.loads((tmp_path / "old" / "build.json").read_text())
    assert set(manifest.pop("sizes")) == {"test_tasks.jsonl"}
    (tmp_path / "old" / "build.json").write_text(json.dumps(manifest))
    assert read_manifest(tmp_path / "old") == manifest


@pytest.mark.parametrize("damage", [{"questions": None}, {"questions": {"test": {}}}, {"sizes": []}])
def test_a_manifest_that_lost_a_part_is_one_line(built: Callable[[str], tuple[Config, Path]], tmp_path: Path, damage: dict[str, Any]) -> None:
    _, sound = built("npowerai")
    shutil.copytree(sound, tmp_path / "data")
    manifest = json.loads((tmp_path / "data" / "build.json").read_text()) | damage
    (tmp_path / "data" / "build.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=r"damaged .*build the data again"):
        read_manifest(tmp_path / "data")


def test_building_twice_gives_the_same_manifest(built: Callable[[str], tuple[Config, Path]], tmp_path: Path) -> None:
    config, sound = built("mimic_iii")
    get_task_class("mimic_iii").build(config, tmp_path / "again")
    assert (tmp_path / "again" / "build.json").read_bytes() == (sound / "build.json").read_bytes()
