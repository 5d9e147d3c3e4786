"""Answers that a question file holds without SQL, in whatever shape, as golds.

Accepted are one value (text, number, truth value, null), a flat list of values, a list of rows of the same width, and the text of a list or of a list
of tuples, as Python prints one. The shape says how many columns there are: rows have theirs, and of a flat list it is unknown whether its values are
the rows of one column or the columns of one row (`Gold.columns` is None: the judge compares the values). Anything else is a gold with the status
`error`, and its reason.

Whether an answer of 0 or 1 is a no or a yes, which SQL would tell, the question tells: its last sentence begins with a verb such as "did" or "is".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from medagentgym.ehr.gold import Gold, status_of, typed_value

LONGEST_TEXT = 1_000_000
"""Characters of a text that is read as a list."""

_SENTENCE = re.compile(r"(?<=[?.!])\s+(?=[A-Z])|\n")
_YES_OR_NO = re.compile(r"(?:and|so|then|but|also)?,? *(?:did|do|does|has|have|had|is|are|was|were|can|could|will|would)\b", re.IGNORECASE)
_TRUTH = {"true": 1, "yes": 1, "false": 0, "no": 0}
_NO_LITERALS = re.compile(r"\b(?:nan|null)\b")
"""What stands for nothing in a printed list and is no Python."""


def gold_of_stored(value: Any, question: str) -> Gold:
    """The gold that a stored answer states. `question` is the text that was asked, the last sentence of it the one that is answered."""
    try:
        columns, rows = _rows_of(_parsed(value))
    except _UnreadableShapeError as error:
        return Gold(columns=(), rows=(), boolean=False, status="error", reason=str(error))
    single = rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else None
    boolean = isinstance(single, bool) or (asks_yes_or_no(question) and _truth(single) is not None)
    if boolean:
        rows = [(_truth(single),)]
        columns = ("column_1",)
    values = tuple(tuple(int(cell) if isinstance(cell, bool) else cell for cell in row) for row in rows)
    return Gold(columns=columns, rows=values, boolean=boolean, status=status_of(values))


def asks_yes_or_no(question: str) -> bool:
    """Whether the last sentence of a text asks for a yes or a no."""
    sentences = [sentence.strip() for sentence in _SENTENCE.split(question) if sentence and sentence.strip()]
    return bool(sentences) and bool(_YES_OR_NO.match(sentences[-1]))


class _UnreadableShapeError(Exception):
    """A stored answer of a shape that is none of the accepted ones; its text says which."""


def _parsed(value: Any) -> Any:
    """The value, with texts of lists read."""
    if isinstance(value, str):
        return _parsed_text(value)
    if isinstance(value, list):
        elements = [_parsed_text(element) if isinstance(element, str) else element for element in value]
        if len(elements) == 1 and isinstance(value[0], str) and isinstance(elements[0], list | tuple):
            return elements[0] if isinstance(elements[0], list) else elements
        return elements
    return value


def _parsed_text(text: str) -> Any:
    stripped = text.strip()
    if not (stripped[:1] in ("[", "(") and stripped[-1:] in ("]", ")")):
        return text
    if len(stripped) > LONGEST_TEXT:
        raise _UnreadableShapeError(f"a text of a list of more than {LONGEST_TEXT:,} characters")
    try:
        parsed = ast.literal_eval(_NO_LITERALS.sub("None", stripped))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        if stripped.startswith("["):
            raise _UnreadableShapeError("a text in brackets that is no list of values") from None
        return text
    return parsed if isinstance(parsed, list | tuple) else text


def _rows_of(value: Any) -> tuple[tuple[str, ...] | None, list[tuple[Any, ...]]]:
    """Names of the columns, if their number is known, and the rows."""
    if isinstance(value, tuple):
        value = [value]
    if not isinstance(value, list):
        return ("column_1",), [(_scalar(value),)]
    if not any(isinstance(element, list | tuple) for element in value):
        return None, [(_scalar(element),) for element in value]
    if not all(isinstance(element, list | tuple) for element in value):
        raise _UnreadableShapeError("a list of values and lists side by side")
    widths = {len(row) for row in value}
    if len(widths) > 1 or widths == {0}:
        raise _UnreadableShapeError("rows of different widths" if len(widths) > 1 else "rows without a value")
    names = tuple(f"column_{number}" for number in range(1, widths.pop() + 1))
    return names, [tuple(_scalar(cell) for cell in row) for row in value]


def _scalar(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, bool | int | float | str) or value is None:
        return typed_value(value) if not isinstance(value, bool) else value
    raise _UnreadableShapeError("lists nested deeper than rows" if isinstance(value, list | tuple) else f"a value of the type {type(value).__name__}")


def _truth(value: Any) -> int | None:
    if isinstance(value, bool | int) and value in (0, 1):
        return int(value)
    return _TRUTH.get(value.strip().lower()) if isinstance(value, str) else None


def spoken_patients(texts: Sequence[str]) -> set[int]:
    """The SUBJECT_ID of every patient that a question speaks of by number: "patient 3", "patient id 3"."""
    pattern = re.compile(r"\bpatients?(?:'s)?(?: with)?(?: the)?(?: id| number)?[ #:]*(\d+)", re.IGNORECASE)
    return {int(match) for text in texts for match in pattern.findall(text)}
