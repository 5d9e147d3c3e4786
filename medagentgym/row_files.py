"""Files of rows: JSON Lines, a JSON list of objects, or CSV with a header (also `.gz`, or the one file of a `.zip`).

A row's `idx` is its position in the file, counted from 0; blank lines do not count. CSV gives texts, and an empty cell is a value that is not there.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from medagentgym.errors import UserError, one_line

_LONGEST_CELL = 2**27


@dataclass(frozen=True)
class SourceRow:
    """One row of a file, and where it stands."""

    idx: int
    values: Mapping[str, Any]
    path: Path
    key: str
    """The key of the configuration that names the file."""

    @property
    def place(self) -> str:
        """The row in the words of an error message."""
        return f"{self.path}, row {self.idx}"

    def get(self, name: str) -> Any:
        """The value of a column; None where it is absent, null or an empty text."""
        value = self.values.get(name)
        return None if isinstance(value, str) and not value.strip() else value

    def text(self, name: str, default: str | None = None) -> str:
        """A column as text, as it stands in the file; numbers and booleans in their JSON form. `default` where there is none.

        Raises `UserError` where there is neither, and for a list or an object.
        """
        value = self.get(name)
        if value is None:
            if default is None:
                raise UserError(f"{self.place}: has no {name}; correct {self.key}")
            return default
        if isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            return json.dumps(value)
        raise UserError(f"{self.place}: {name} is no text; correct {self.key}")

    def number(self, name: str) -> int | float:
        """A column as a finite number, also where it is written as text; whole numbers are `int`. Raises `UserError`."""
        value = self.get(name)
        try:
            number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
        except (ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise UserError(f"{self.place}: {name} is no number ({_shown(value)}); correct {self.key}")
        return int(number) if number.is_integer() else number

    def list(self, name: str) -> list[Any]:
        """A column as a list. Raises `UserError`."""
        value = self.get(name)
        if not isinstance(value, list):
            raise UserError(f"{self.place}: {name} is no list ({_shown(value)}); correct {self.key}")
        return value


def read_rows(path: Path, key: str) -> list[SourceRow]:
    """The rows of a file. `key` is the key of the configuration that names it. Raises `UserError` naming file and row."""
    return [SourceRow(idx, values, path, key) for idx, values in enumerate(_objects(path, key))]


def count_rows(path: Path, key: str) -> int:
    """How many rows a file has. Remembers files that have not changed. Raises `UserError`."""
    try:
        state = path.stat()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); correct {key}") from error
    return _count(path, key, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=16)
def _count(path: Path, key: str, modified: int, size: int) -> int:
    return len(_objects(path, key))


def _objects(path: Path, key: str) -> list[dict[str, Any]]:
    content = _content(path, key)
    stem = path.name.lower().removesuffix(".gz").removesuffix(".zip")
    rows = _from_csv(content, path, key) if stem.endswith(".csv") else _from_json(content, path, key)
    for idx, row in enumerate(rows):
        if not isinstance(row, dict):
            raise UserError(f"{path}, row {idx}: no JSON object; correct {key}")
    if not rows:
        raise UserError(f"{path}: holds no row; correct {key}")
    return rows


def _content(path: Path, key: str) -> str:
    try:
        raw = path.read_bytes()
        if path.suffix.lower() == ".gz":
            raw = gzip.decompress(raw)
        elif path.suffix.lower() == ".zip":
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                files = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
                if len(files) != 1:
                    raise UserError(f"{path}: holds {len(files)} files where one is expected; unpack it, and correct {key}")
                raw = archive.read(files[0])
        return raw.decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise UserError(f"{path}: cannot be unpacked ({one_line(error)}); correct {key}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); correct {key}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: no text in UTF-8; correct {key}") from error


def _from_csv(content: str, path: Path, key: str) -> list[dict[str, Any]]:
    limit = csv.field_size_limit(_LONGEST_CELL)
    if (before_nul := content.partition("\0")[0]) != content:
        raise UserError(f"{path}, line {before_nul.count(chr(10)) + 1}: no CSV (a character NUL); correct {key}")
    try:
        reader = csv.DictReader(io.StringIO(content, newline=""), strict=True)
        header = reader.fieldnames or []
        repeated = sorted({name for name in header if name and header.count(name) > 1})
        if repeated:
            raise UserError(f"{path}: column {', '.join(repeated)} occurs more than once; correct {key}")
        rows: list[dict[str, Any]] = list(reader)
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.reader.line_num}: no CSV ({error}); correct {key}") from error
    finally:
        csv.field_size_limit(limit)
    for idx, row in enumerate(rows):
        if None in row or None in row.values():
            raise UserError(f"{path}, row {idx}: has another number of cells than the header; correct {key}")
    return rows


def _from_json(content: str, path: Path, key: str) -> list[Any]:
    if content.lstrip()[:1] == "[":
        return list(_parsed(content, f"{path}", key))
    return [_parsed(line, f"{path}, line {number}", key) for number, line in enumerate(content.split("\n"), start=1) if line.strip()]


def _parsed(text: str, place: str, key: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda _: None, object_pairs_hook=with_every_key_once)
    except RepeatedKeyError as error:
        raise UserError(f"{place}: {error}; correct {key}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: neither a JSON list nor JSON Lines ({one_line(error)}); correct {key}") from error


class RepeatedKeyError(Exception):
    """An object of JSON has a key twice; its text says which."""


def with_every_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads(object_pairs_hook=...)`: the object. Raises `RepeatedKeyError`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKeyError(f"{next(name for name in names if names.count(name) > 1)} occurs more than once in an object")
    return found


def _shown(value: Any) -> str:
    text = one_line(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= 60 else f"{text[:57]}..."
