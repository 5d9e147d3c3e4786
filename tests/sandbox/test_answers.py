"""Answers as JSON data: what the encoder writes, what the host accepts, and how judges read it."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections import OrderedDict, deque, namedtuple
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from medagentgym.sandbox.answers import AnswerTooLargeError, MalformedAnswerError, as_rows, decode, encode, kind

Point = namedtuple("Point", "x y")


class Color(IntEnum):
    RED = 1


def through(value: Any) -> Any:
    """A value as the host sees it."""
    return decode(encode(value, 1_000_000))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (10**300, 10**300),
        (2.5, 2.5),
        ("é\ud800", "é?"),
        (math.nan, None),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (Decimal("1.10"), 1.1),
        (Decimal("NaN"), None),
        (Decimal("-Infinity"), "-Infinity"),
        (Decimal("1e999"), "Infinity"),
        (Fraction(1, 4), 0.25),
        (Color.RED, 1),
        (np.int64(5), 5),
        (np.float32(0.5), 0.5),
        (np.float64("nan"), None),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.ma.masked, None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
        (dt.datetime(2105, 12, 31, 23, 59), "2105-12-31 23:59:00"),
        (dt.datetime(2105, 1, 2, 3, 4, 5, 600000), "2105-01-02 03:04:05.600000"),
        (dt.date(2105, 1, 2), "2105-01-02"),
        (dt.time(3, 4), "03:04:00"),
        (pd.Timestamp("2105-01-02 03:04"), "2105-01-02 03:04:00"),
        (np.datetime64("2105-01-02T03:04:05"), "2105-01-02 03:04:05"),
        (np.datetime64("2105-01-02T03:04:05.500000000"), "2105-01-02 03:04:05.5"),
        (np.datetime64("2105-01-02"), "2105-01-02"),
        (dt.timedelta(days=1, hours=2, seconds=3.5), "P1DT2H0M3.5S"),
        (-dt.timedelta(hours=1), "-P0DT1H0M0S"),
        (pd.Timedelta("1 days 00:00:00.000000001"), "P1DT0H0M0.000000001S"),
        (np.timedelta64(90, "m"), "P0DT1H30M0S"),
        (pd.Period("2105-03", "M"), "2105-03"),
        ([], []),
        ((1, [2, (3,)]), [1, [2, [3]]]),
        (Point(1, 2), [1, 2]),
        (range(3), [0, 1, 2]),
        (deque([1]), [1]),
        ({"b", "a", "c"}, ["a", "b", "c"]),
        ({3, 1.5, "x", None}, [None, 1.5, 3, "x"]),
        ({}.keys(), []),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array(7), 7),
        (np.array([1.0, np.nan]), [1.0, None]),
        (np.array(["2105-01-02T03:04:05"], dtype="datetime64[ns]"), ["2105-01-02 03:04:05"]),
        (np.array([(1, "a")], dtype=[("x", int), ("y", "U1")]), [[1, "a"]]),
        (pd.Index(["a", "b"]), ["a", "b"]),
        (pd.array([1, None]), [1, None]),
        (pd.Categorical(["a", "b", "a"]), ["a", "b", "a"]),
        ({"a": 1}, {"kind": "mapping", "items": [["a", 1]]}),
        (OrderedDict([((1, 2), {"x": None})]), {"kind": "mapping", "items": [[[1, 2], {"kind": "mapping", "items": [["x", None]]}]]}),
        ({"kind": "table"}, {"kind": "mapping", "items": [["kind", "table"]]}),
    ],
)
def test_a_value_becomes_json(value: Any, expected: Any) -> None:
    assert through(value) == expected
    assert type(through(value)) is type(expected)


def test_a_frame_is_a_table_and_tells_its_index_where_that_says_something() -> None:
    frame = pd.DataFrame({"name": ["a", None], "time": pd.to_datetime(["2105-01-02", None]), "n": [1, 2]})
    table = {"kind": "table", "columns": ["name", "time", "n"], "rows": [["a", "2105-01-02 00:00:00", 1], [None, None, 2]]}
    assert through(frame) == table
    assert through(frame.iloc[1:])["index"] == [1]
    counts = through(pd.Series(["x", "y", "x"]).value_counts())
    assert counts == {"kind": "table", "columns": ["count"], "rows": [[2], [1]], "index": ["x", "y"]}
    assert through(pd.DataFrame({"a": []})) == {"kind": "table", "columns": ["a"], "rows": []}
    assert through(pd.DataFrame([[1, 2]], columns=["same", "same"]))["rows"] == [[1, 2]]
    assert through(frame.groupby("name").agg({"n": ["sum", "max"]}))["columns"] == [["n", "sum"], ["n", "max"]]


def test_other_objects_are_named_and_shown() -> None:
    data = through(Exception("x"))
    assert data == {"kind": "other", "type": "builtins.Exception", "text": "Exception('x')"}
    assert len(through(b"x" * 5000)["text"]) == 1000
    assert through(iter([1]))["type"] == "builtins.list_iterator"
    assert through(10**5000)["kind"] == "other"


def test_an_object_that_fails_to_show_itself_is_still_named() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

    assert through([Hostile()])[0]["text"] == "<no repr: RuntimeError>"


def test_what_does_not_fit_is_refused_before_it_is_built() -> None:
    with pytest.raises(AnswerTooLargeError):
        encode("x" * 100, 50)
    with pytest.raises(AnswerTooLargeError):
        encode(range(10**12), 1000)
    wide: Any = 1
    for _ in range(35):
        wide = [wide, wide]
    with pytest.raises(AnswerTooLargeError):
        encode(wide, 100_000)


def test_deep_and_cyclic_values_end() -> None:
    deep: Any = 1
    for _ in range(1000):
        deep = [deep]
    assert "other" in json.dumps(through(deep))
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    assert through(cyclic)[0]["kind"] == "other"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\xff",
        b"{",
        b"NaN",
        b"[Infinity]",
        b"1e999",
        b"[[-1e400]]",
        b"1" * 5000,
        b"[" * 100_000,
        b"[" * 500 + b"]" * 500,
        b"{}",
        b'{"kind": "judge"}',
        b'{"kind": ["mapping"], "items": []}',
        b'{"kind": "mapping", "items": [[1]]}',
        b'{"kind": "mapping", "items": {}}',
        b'{"kind": "mapping", "items": [], "extra": 1}',
        b'{"kind": "table", "columns": ["a"], "rows": [[1, 2]]}',
        b'{"kind": "table", "columns": ["a"], "rows": [[1]], "index": []}',
        b'{"kind": "other", "type": 1, "text": ""}',
    ],
)
def test_what_is_not_an_answer_is_refused(sent: bytes) -> None:
    with pytest.raises(MalformedAnswerError):
        decode(sent)


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        (None, [[None]]),
        (5, [[5]]),
        ([], []),
        ([1, "a"], [[1], ["a"]]),
        ([(1, 2), [3, 4]], [[1, 2], [3, 4]]),
        ([{"a": 1, "b": 2}], [[1, 2]]),
        ({"a": 1, "b": [2, 3]}, [["a", 1], ["b", 2, 3]]),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), [[1, "x"], [2, "y"]]),
        (pd.Series([1, 2]), [[1], [2]]),
        ([pd.Series([1])], [[1]]),
        ([[[1]]], None),
        (object(), None),
        ([object()], None),
        ({"a": {"b": [1]}}, None),
    ],
)
def test_an_answer_is_read_as_rows(value: Any, rows: Any) -> None:
    assert as_rows(through(value)) == rows


def test_the_kind_of_an_answer() -> None:
    assert [kind(through(value)) for value in (1, [1], {}, pd.Series([1]), object)] == ["scalar", "list", "mapping", "table", "other"]
