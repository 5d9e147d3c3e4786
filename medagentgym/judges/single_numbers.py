"""Reading an answer as one number, for judges whose gold is one."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

from medagentgym.sandbox.answers import as_rows, kind

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_LONGEST_TEXT = 60


def read_number(answer: Any) -> int | float | None:
    """The one finite number that an answer (JSON data of `medagentgym.sandbox.answers`) is.

    A number as text counts (`"84.0"`), and so do a list of one and a table of one cell. A boolean is no number, nor is a text with a unit; None for
    these and everything else.
    """
    if kind(answer) not in ("scalar", "list", "table"):
        return None
    rows = as_rows(answer)
    if rows is None or len(rows) != 1 or len(rows[0]) != 1:
        return None
    cell = rows[0][0]
    if isinstance(cell, str):
        return number_of_text(cell)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    return cell if abs(cell) <= sys.float_info.max else None


def number_of_text(text: str) -> int | float | None:
    """The finite number that a text is, an `int` where it is written as one; None where it is none."""
    if len(text) > _LONGEST_TEXT or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    if not math.isfinite(number):
        return None
    return int(text) if text.strip().lstrip("+-").isdigit() else number
