"""Reading an answer as one number, for judges whose gold is one."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

from medagentgym.judges.readings import single_rows

_NUMBER = re.compile(r"\s*[+-]?(?:(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_LONGEST_TEXT = 60
_LONGEST_ANSWER = 1_000


def read_number(answer: Any) -> int | float | None:
    """The one finite number that an answer (JSON data of `medagentgym.sandbox.answers`) is.

    An answer is read as rows are (`medagentgym.judges.readings`): a number as text counts (`"84.0"`, `"1,234"`, `"**84**"`, `"[84]"`), and so do a
    list of one, a number under a label and a table of one cell. A boolean is no number, nor is a text with a unit; None for these and everything
    else.
    """
    if isinstance(answer, str) and len(answer) > _LONGEST_ANSWER:
        return None
    numbers = (_number_of(values[0]) for _, values in single_rows(answer, 1) if values)
    return next((number for number in numbers if number is not None), None)


def _number_of(cell: Any) -> int | float | None:
    if isinstance(cell, str):
        return number_of_text(cell)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    return cell if abs(cell) <= sys.float_info.max else None


def number_of_text(text: str) -> int | float | None:
    """The finite number that a text is, an `int` where it is written as one; None where it is none."""
    if len(text) > _LONGEST_TEXT or not _NUMBER.fullmatch(text):
        return None
    text = text.replace(",", "")
    number = float(text)
    if not math.isfinite(number):
        return None
    return int(text) if text.strip().lstrip("+-").isdigit() else number
