"""Writing small raw tables, for the modules that make them up row by row."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


def write_tables(
    folder: Path, tables: Mapping[str, Rows], columns: Mapping[str, str], *, compressed: bool = False, spelt: Callable[[str], str] = str
) -> Path:
    """Write tables as `*.csv` or `*.csv.gz`; their `columns` are separated by spaces, and names and headers are `spelt` in capitals or not."""
    folder.mkdir(parents=True, exist_ok=True)
    for table, rows in tables.items():
        names = columns[table].split()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([spelt(name) for name in names])
        writer.writerows([row.get(name, "") for name in names] for row in rows)
        path = folder / f"{spelt(table)}.csv"
        if compressed:
            with gzip.open(f"{path}.gz", "wt", encoding="utf-8") as stream:
                stream.write(text.getvalue())
        else:
            path.write_text(text.getvalue(), encoding="utf-8")
    return folder
