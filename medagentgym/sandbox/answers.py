"""The variable `answer` of a code step as JSON data: written inside the box, read by the judges.

One scheme, in which every JSON object says what it is by its key `kind`:

| Python value | JSON data |
|---|---|
| `None`, NaN, `pandas.NaT`, `pandas.NA`, masked values | `null` |
| bool, int, float, str and the NumPy scalars of these kinds | the same as a JSON scalar |
| infinite floats | the strings `"Infinity"` and `"-Infinity"` |
| `Decimal`, `Fraction` | the nearest float |
| `datetime`, `Timestamp`, `datetime64` | ISO 8601 text with a space, `"2105-12-31 23:59:00"`, fractions of a second only where there are any |
| `date`, `time`, `Period` | ISO 8601 text |
| `timedelta`, `Timedelta`, `timedelta64` | ISO 8601 duration, `"P1DT2H3M4.5S"`, negative ones with a leading `-` |
| list, tuple, range, deque, dict views, `sqlite3.Row`, ndarray, pandas Index and extension arrays | an array |
| set, frozenset | an array, sorted by kind and value |
| dict and other mappings | `{"kind": "mapping", "items": [[key, value], ...]}` |
| DataFrame | `{"kind": "table", "columns": [...], "rows": [[...], ...]}`, with `"index": [...]` where the index is not 0, 1, 2, ... |
| Series | a table of one column |
| anything else | `{"kind": "other", "type": "module.Class", "text": "..."}`, the text being its `repr`, cut at 1,000 characters |

The encoder runs beside untrusted code and may be fooled by it; all that this yields is another answer of the same code. What the host takes from a
box has passed `decode`, which knows nothing but JSON. This module uses the standard library only, because it is also loaded inside the box.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import json
import math
import sys
from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping, ValuesView
from typing import Any

Scalar = None | bool | int | float | str
"""What a cell of a row can be."""

MAX_DEPTH = 40
"""Containers nested deeper than this become `other`."""

_MAX_DIGITS = 4000
_MAX_TEXT = 1000
_KINDS = {"mapping": {"kind", "items"}, "table": {"kind", "columns", "rows"}, "other": {"kind", "type", "text"}}
_OPTIONAL = {"mapping": set[str](), "table": {"index"}, "other": set[str]()}


class AnswerTooLargeError(Exception):
    """The answer does not fit into the limit `answer_bytes`."""


class MalformedAnswerError(ValueError):
    """What came out of a box is not an answer of this scheme."""


# --- inside the box -----------------------------------------------------------------------------------------------------------------------------


def encode(value: Any, limit: int) -> bytes:
    """`value` as JSON of at most `limit` bytes (UTF-8). Raises `AnswerTooLargeError`; an object that misbehaves raises what it likes."""
    encoder = _Encoder(limit)
    text = json.dumps(encoder.data(value, 0), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    encoded = text.encode("utf-8", "replace")
    if len(encoded) > limit:
        raise AnswerTooLargeError
    return encoded


class _Encoder:
    """One walk through an answer, which gives up as soon as the result cannot fit any more."""

    def __init__(self, limit: int) -> None:
        self.budget = limit
        self.open: set[int] = set()
        self.numpy: Any = sys.modules.get("numpy")
        self.pandas: Any = sys.modules.get("pandas")
        self.sqlite3: Any = sys.modules.get("sqlite3")

    def data(self, value: Any, depth: int) -> Any:
        scalar = self._standard_scalar(value)
        if scalar is not _NOT_SCALAR:
            self._spend(len(scalar) + 2 if isinstance(scalar, str) else 2)
            return scalar
        converted = self._library_value(value)
        if converted is not _NOT_SCALAR:
            return self.data(converted, depth)
        self._spend(2)
        if depth >= MAX_DEPTH or id(value) in self.open:
            return self._other(value, "...")
        self.open.add(id(value))
        try:
            return self._container(value, depth + 1)
        finally:
            self.open.discard(id(value))

    def _spend(self, count: int) -> None:
        self.budget -= count
        if self.budget < 0:
            raise AnswerTooLargeError

    def _standard_scalar(self, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            number = int.__int__(value)
            return number if number.bit_length() < _MAX_DIGITS * 3 else _NOT_SCALAR
        if isinstance(value, float):
            return _finite(float.__float__(value))
        if isinstance(value, (decimal.Decimal, fractions.Fraction)):
            try:
                return _finite(float(value))
            except OverflowError:
                return "Infinity" if value > 0 else "-Infinity"
            except ValueError:
                return None
        return _standard_time(value)

    def _library_value(self, value: Any) -> Any:
        """A NumPy or pandas value as the standard value that it stands for, or `_NOT_SCALAR`."""
        pandas, numpy = self.pandas, self.numpy
        if pandas is not None:
            if value is pandas.NaT or value is pandas.NA:
                return None
            if isinstance(value, (pandas.Index, pandas.api.extensions.ExtensionArray)):
                return list(value)
            if isinstance(value, (pandas.Period, pandas.Interval)):
                return str(value)
        if numpy is not None:
            if value is numpy.ma.masked:
                return None
            if isinstance(value, (numpy.datetime64, numpy.timedelta64)):
                return self._numpy_time(value)
            if isinstance(value, numpy.generic) and not isinstance(value, numpy.void):
                item = value.item()
                return _NOT_SCALAR if isinstance(item, numpy.generic) else item
            if isinstance(value, numpy.ndarray):
                if value.dtype.kind in "mM" or value.dtype.names:
                    return value[()] if value.ndim == 0 else list(value)
                self._spend(value.size)
                return value.tolist()
        return _NOT_SCALAR

    def _numpy_time(self, value: Any) -> Any:
        if self.numpy.isnat(value):
            return None
        if isinstance(value, self.numpy.datetime64):
            text = str(value).replace("T", " ")
            return text.rstrip("0").rstrip(".") if "." in text else text
        nanoseconds = int(value.astype("timedelta64[ns]").astype("int64"))
        return _duration(nanoseconds < 0, abs(nanoseconds))

    def _container(self, value: Any, depth: int) -> Any:
        pandas = self.pandas
        if pandas is not None and isinstance(value, pandas.Series):
            column = value.name
            return self._table([column], [list(value)], value.index, depth)
        if pandas is not None and isinstance(value, pandas.DataFrame):
            self._spend(value.size)
            return self._table(list(value.columns), [list(value.iloc[:, position]) for position in range(value.shape[1])], value.index, depth)
        if isinstance(value, (set, frozenset)):
            return sorted((self.data(element, depth) for element in value), key=_sort_key)
        if isinstance(value, (list, tuple, range, collections.deque, KeysView, ValuesView, ItemsView)):
            return [self.data(element, depth) for element in value]
        if self.sqlite3 is not None and isinstance(value, self.sqlite3.Row):
            return [self.data(element, depth) for element in value]
        if self.numpy is not None and isinstance(value, self.numpy.void):
            return [self.data(element, depth) for element in value.tolist()]
        if isinstance(value, Mapping):
            return {"kind": "mapping", "items": [[self.data(key, depth), self.data(element, depth)] for key, element in value.items()]}
        return self._other(value)

    def _table(self, columns: list[Any], cells: list[list[Any]], index: Any, depth: int) -> dict[str, Any]:
        encoded = [[self.data(cell, depth) for cell in column] for column in cells]
        rows = [list(row) for row in zip(*encoded, strict=True)] if encoded else [[] for _ in range(len(index))]
        table = {"kind": "table", "columns": [self.data(column, depth) for column in columns], "rows": rows}
        if not (isinstance(index, self.pandas.RangeIndex) and index.start == 0 and index.step == 1):
            table["index"] = [self.data(label, depth) for label in index]
        return table

    def _other(self, value: Any, text: str | None = None) -> dict[str, str]:
        kind = type(value)
        if text is None:
            try:
                text = str.__str__(repr(value))
            except Exception as error:
                text = f"<no repr: {type(error).__name__}>"
        return {"kind": "other", "type": f"{kind.__module__}.{kind.__qualname__}", "text": text[:_MAX_TEXT]}


_NOT_SCALAR = object()


def _finite(number: float) -> float | str | None:
    if math.isnan(number):
        return None
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def _standard_time(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        missing = value != value  # pandas.NaT is a datetime that does not equal itself
        return None if missing else value.isoformat(sep=" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        nanoseconds = (value.days * 86400 + value.seconds) * 10**9 + value.microseconds * 1000 + getattr(value, "nanoseconds", 0)
        return _duration(nanoseconds < 0, abs(nanoseconds))
    return _NOT_SCALAR


def _duration(negative: bool, nanoseconds: int) -> str:
    seconds, fraction = divmod(nanoseconds, 10**9)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    decimals = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{'-' if negative else ''}P{days}DT{hours}H{minutes}M{seconds}{decimals}S"


def _sort_key(element: Any) -> tuple[int, Any]:
    if element is None:
        return (0, 0)
    if isinstance(element, (bool, int, float)):
        return (1, element)
    if isinstance(element, str):
        return (2, element)
    return (3, json.dumps(element, sort_keys=True))


# --- on the host --------------------------------------------------------------------------------------------------------------------------------


def decode(encoded: bytes) -> Any:
    """The answer that a box sent. Raises `MalformedAnswerError` for what is not JSON of this scheme. Nothing in it is trusted."""
    try:
        data = json.loads(encoded.decode("utf-8"), parse_constant=_refuse)
        return _checked(data, 0)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError(f"not an answer: {type(error).__name__}") from error


def _refuse(name: str) -> Any:
    raise MalformedAnswerError(f"{name} is not JSON")


def _checked(data: Any, depth: int) -> Any:
    if depth > 3 * MAX_DEPTH:
        raise MalformedAnswerError("nested too deeply")
    if isinstance(data, str):
        return data.encode("utf-8", "replace").decode("utf-8")
    if isinstance(data, float) and not math.isfinite(data):  # 1e999
        raise MalformedAnswerError("a number that is none")
    if isinstance(data, list):
        return [_checked(element, depth + 1) for element in data]
    if isinstance(data, dict):
        kind = data.get("kind")
        if kind not in ("mapping", "table", "other") or not _KINDS[kind] <= data.keys() <= _KINDS[kind] | _OPTIONAL[kind]:
            raise MalformedAnswerError("an object of no known kind")
        checked = {key: _checked(value, depth + 1) for key, value in data.items()}
        if not _SHAPES[kind](checked):
            raise MalformedAnswerError(f"a broken {kind}")
        return checked
    return data


def _is_table(data: dict[str, Any]) -> bool:
    columns, rows, index = data["columns"], data["rows"], data.get("index")
    if not isinstance(columns, list) or not isinstance(rows, list):
        return False
    if not all(isinstance(row, list) and len(row) == len(columns) for row in rows):
        return False
    return index is None or (isinstance(index, list) and len(index) == len(rows))


_SHAPES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "mapping": lambda data: isinstance(data["items"], list) and all(isinstance(item, list) and len(item) == 2 for item in data["items"]),
    "table": _is_table,
    "other": lambda data: isinstance(data["type"], str) and isinstance(data["text"], str),
}


def is_scalar(data: Any) -> bool:
    """Whether decoded data are one value: null, a boolean, a number or a text."""
    return data is None or isinstance(data, (bool, int, float, str))


def kind(data: Any) -> str:
    """What decoded data are: `scalar`, `list`, `mapping`, `table` or `other`."""
    if is_scalar(data):
        return "scalar"
    if isinstance(data, list):
        return "list"
    return str(data["kind"])


def as_rows(data: Any) -> list[list[Scalar]] | None:
    """An answer as rows of scalars, or None where it cannot be read that way.

    A scalar is one row of one value; a list has one row an element (an element that is a list or a mapping gives the values of its row); a table has
    its rows, without the index, and cannot be read where it has rows and no columns; a mapping has its items as rows of key and value, where a value
    that is a list gives several, and one that holds none cannot be read.
    """
    match kind(data):
        case "scalar":
            return [[data]]
        case "list":
            return _rows(_cells(element) for element in data)
        case "table":
            return _rows(_cells(row) for row in data["rows"]) if data["columns"] or not data["rows"] else None
        case "mapping":
            return _rows(_joined(_cells(key), _cells(value)) for key, value in data["items"])
        case _:
            return None


def _cells(element: Any) -> list[Scalar] | None:
    if is_scalar(element):
        return [element]
    if isinstance(element, list):
        values = element
    elif element["kind"] == "mapping":
        values = [value for _, value in element["items"]]
    elif element["kind"] == "table" and len(element["rows"]) == 1 and element["columns"]:
        values = element["rows"][0]
    else:
        return None
    return values if all(map(is_scalar, values)) else None


def _joined(key: list[Scalar] | None, value: list[Scalar] | None) -> list[Scalar] | None:
    return key + value if key and value else None


def _rows(rows: Iterable[list[Scalar] | None]) -> list[list[Scalar]] | None:
    collected: list[list[Scalar]] = []
    for row in rows:
        if row is None:
            return None
        collected.append(row)
    return collected
