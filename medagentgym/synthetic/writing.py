"""Writing the made-up data so that equal content means equal bytes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

_COMPRESSION = 4
"""Most of the saving for a third of the time of the usual level."""


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as gzipped CSV: names and text in double quotes, missing values empty, times as `2105-12-31 23:59:00`."""
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=raw, mtime=0) as stream:
        pyarrow.csv.write_csv(table, stream)


def write_questions(questions: Sequence[dict[str, Any]], path: Path) -> None:
    """Write questions as a JSON list, one question a line."""
    lines = ",\n".join(json.dumps(question, ensure_ascii=True) for question in questions)
    path.write_text(f"[\n{lines}\n]\n" if lines else "[]\n", encoding="ascii", newline="\n")


def write_lines(questions: Sequence[dict[str, Any]], path: Path) -> None:
    """Write questions as JSON Lines."""
    path.write_text("".join(json.dumps(question, ensure_ascii=True) + "\n" for question in questions), encoding="ascii", newline="\n")
