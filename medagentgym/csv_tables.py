"""CSV tables that the workflow wrote itself and reads again: whole, or told to be damaged."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from pathlib import Path

from medagentgym.errors import UserError, one_line

SUMMARY_AGAIN = "delete the file and run the workflow again, which makes it from the scores"
"""What to do about a damaged `summary.csv`."""


def read_csv_table(path: Path, needed: Collection[str], what: str, to_do: str) -> list[dict[str, str]]:
    """The rows of a table by column name.

    Raises `UserError` that names the file, calls it `what`, and ends in `to_do`, where the file is missing, lacks one of the columns `needed`, holds
    a row of another length than its header, or does not end where a row does.
    """
    try:
        return rows_of(path.read_text(encoding="utf-8"), needed)
    except FileNotFoundError as error:
        raise UserError(f"{path}: this {what} is not there; {to_do}") from error
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{path}: not a readable {what} ({one_line(error)}); {to_do}") from error


def rows_of(text: str, needed: Collection[str]) -> list[dict[str, str]]:
    """The rows of a table's text. Raises `ValueError` or `csv.Error` where it is damaged."""
    if not text.endswith("\n"):
        raise ValueError("it is cut off" if text else "it is empty")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = next(reader)
    missing = [name for name in needed if name not in header]
    if missing:
        raise ValueError(f"column {missing[0]} is missing")
    rows = []
    for number, cells in enumerate(reader, start=1):
        if len(cells) != len(header):
            raise ValueError(f"row {number} has {len(cells)} cells, the header {len(header)}")
        rows.append(dict(zip(header, cells, strict=True)))
    return rows
