"""Where things are in the folder of built data, and which source of the configuration they come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from medagentgym.errors import UserError

if TYPE_CHECKING:
    from medagentgym.config import DatasetConfig

BUILD_SCHEMA = "medagentgym/build/1"
MANIFEST_FILE = "build.json"
LOOKUP_FILE = "lookup.sqlite"
DATABASE_FOLDER = "database"

SELECTION_KEYS = frozenset({"exclude", "only", "impossible", "empty_gold"})
"""Keys of `data` that choose instances and do not change what is built."""

Mode = Literal["train", "test"]


def tasks_file(folder: Path, mode: str) -> Path:
    """The built rows of a mode."""
    return folder / f"{mode}_tasks.jsonl"


@dataclass(frozen=True)
class QuestionFile:
    """A question file of one mode."""

    path: Path
    key: str
    """The key of the configuration that named it."""


def source_of(data: DatasetConfig) -> str:
    """Which key of `data` says where the data come from. Raises `UserError` where it is not exactly one."""
    given = [name for name in ("raw_path", "sqlite_path", "data_path", "synthetic") if getattr(data, name) is not None]
    if len(given) != 1:
        named = " and ".join(f"data.{name}" for name in given) or "none of them"
        raise UserError(f"data: give exactly one of raw_path, sqlite_path, data_path and synthetic; given: {named}")
    return given[0]
