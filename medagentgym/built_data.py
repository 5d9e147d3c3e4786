"""The folder of built data, whatever the task: what is in it, and which key of the configuration its sources come from."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from medagentgym.errors import UserError, one_line
from medagentgym.record import read_object

if TYPE_CHECKING:
    from medagentgym.config import DatasetConfig

BUILD_SCHEMA = "medagentgym/build/1"
MANIFEST_FILE = "build.json"

SELECTION_KEYS = frozenset({"exclude", "only", "impossible", "empty_gold"})
"""Keys of `data` that choose instances and do not change what is built."""

Mode = Literal["train", "test"]
MODES: tuple[Mode, ...] = ("train", "test")

SOURCE_KEYS = ("raw_path", "sqlite_path", "data_path", "synthetic")
"""Keys of `data` that say where the data come from."""


@dataclass(frozen=True)
class QuestionFile:
    """A question file of one mode."""

    path: Path
    key: str
    """The key of the configuration that named it."""


def tasks_file(folder: Path, mode: str) -> Path:
    """The built rows of a mode."""
    return folder / f"{mode}_tasks.jsonl"


def source_of(data: DatasetConfig) -> str:
    """Which key of `data` says where the data come from. Raises `UserError` where it is not exactly one."""
    given = [name for name in SOURCE_KEYS if getattr(data, name) is not None]
    if len(given) != 1:
        named = " and ".join(f"data.{name}" for name in given) or "none of them"
        raise UserError(f"data: give exactly one of raw_path, sqlite_path, data_path and synthetic; given: {named}")
    return given[0]


def read_manifest(folder: Path) -> dict[str, Any]:
    """The `build.json` of built data.

    Raises `UserError` where the data are missing, of another version, or damaged: the rows of a mode are not those that were built, or another file
    has not the size that it was built with.
    """
    path = folder / MANIFEST_FILE
    try:
        manifest = read_object(path)
    except FileNotFoundError as error:
        raise UserError(f"{folder}: the data are not built; build them first, with the target `data`") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not readable ({error}); delete {folder} and build the data again, with the target `data`") from error
    if manifest.get("schema") != BUILD_SCHEMA:
        raise UserError(f"{path}: built by another version; delete {folder} and build the data again, with the target `data`")
    try:
        damaged = _damaged(folder, manifest)
    except (OSError, AttributeError, KeyError, TypeError) as error:
        raise UserError(f"{folder}: damaged ({one_line(error)}); {_BUILD_AGAIN.format(folder=folder)}") from error
    if damaged is not None:
        raise UserError(f"{damaged}: cut off, or changed since it was built; {_BUILD_AGAIN.format(folder=folder)}")
    return manifest


_BUILD_AGAIN = "delete {folder} and build the data again, with the target `data`"


def file_sizes(folder: Path) -> dict[str, int]:
    """The sizes in bytes of all files below a folder, by their paths in it, sorted: what the manifest keeps of them."""
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}


def _damaged(folder: Path, manifest: dict[str, Any]) -> Path | None:
    """The first file that is not as it was built, as far as that can be seen without reading tables."""
    sizes: dict[str, int] = manifest.get("sizes", {})
    for name, size in sizes.items():
        if (folder / name).stat().st_size != size:
            return folder / name
    files = {tasks_file(folder, mode): built["sha256"] for mode, built in manifest["questions"].items()}
    return next((path for path, built in files.items() if file_digest(path) != built), None)


def digest(value: Any) -> str:
    """SHA-256 of JSON data, keys sorted."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
