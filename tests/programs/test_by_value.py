"""Values cross between interpreters as data, and come out as they went in."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import io
import json
import pickle
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from medagentgym.programs.by_value import MAX_ITEMS, MalformedError, NotDataError, TooLargeError, described, pack, unpack

LIMIT = 10_000_000


def crossed(value: Any, **options: Any) -> Any:
    return unpack(pack(value, LIMIT, **options))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        -(2**200),
        0.1 + 0.2,
        float("inf"),
        3 - 4j,
        "Größe\ud800\n",
        b"\x00\xff",
        (1, [2, {"three": {4}}]),
        frozenset({1, 2}),
        {1: "one", (2, 3): "pair", None: []},
        collections.OrderedDict([("b", 1), ("a", 2)]),
        collections.Counter("ACCA"),
        collections.deque([1, 2], maxlen=5),
        range(3, 30, 4),
        slice(None, 5, -1),
        decimal.Decimal("1.10"),
        fractions.Fraction(1, 3),
        datetime.datetime(2105, 12, 31, 23, 59, 0, 5),
        datetime.date(2000, 2, 29),
        datetime.timedelta(days=-1, seconds=5),
        Path("a/b.txt"),
    ],
    ids=repr,
)
def test_values_of_the_standard_library_come_out_as_they_went_in(value: Any) -> None:
    result = crossed(value)
    assert result == value and type(result) is type(value)


def test_a_dictionary_with_a_default_keeps_it() -> None:
    value: dict[str, list[int]] = collections.defaultdict(list, {"a": [1]})
    result = crossed(value)
    result["new"].append(2)
    assert dict(result) == {"a": [1], "new": [2]}


def test_a_dictionary_with_a_factory_of_its_own_and_what_derives_from_containers_cross_as_what_they_hold() -> None:
    class Counts(dict[str, int]):
        def __missing__(self, key: str) -> int:
            return 0

    held = {"nested": collections.defaultdict(lambda: 0, {"a": 1}), "own": Counts(b=2), "several": type("Several", (list,), {})([3])}
    for value in (held["nested"], held):
        with pytest.raises(NotDataError):
            pack(value, LIMIT)
    result = crossed(held, as_bases="containers")
    assert result == {"nested": {"a": 1}, "own": {"b": 2}, "several": [3]}
    assert [type(part) for part in result.values()] == [dict, dict, list]
    assert type(crossed(SaysYes("x"), as_bases="all")) is str
    with pytest.raises(NotDataError):
        pack(SaysYes("x"), LIMIT, as_bases="containers")


def test_a_named_tuple_keeps_its_names() -> None:
    pair = collections.namedtuple("pair", "low high")(1, [2])
    result = crossed(pair, as_bases="containers")
    assert (result.low, result.high) == pair == result and repr(result) == "pair(low=1, high=[2])"
    assert type(crossed(pair, as_bases="containers")) is not type(pair)
    packed = pack(pair, LIMIT, as_bases="containers")
    assert type(unpack(packed, {f"{__name__}.pair": type(pair)})) is type(pair)
    odd = type("odd", (tuple,), {"_fields": ("__class__", "class")})((1, 2))
    assert type(crossed(odd, as_bases="containers")) is tuple
    with pytest.raises(MalformedError):
        unpack(packed.replace(b"low", b"_o:"))


def test_the_views_of_a_dictionary_stay_views() -> None:
    value = {"b": 1, "a": 2}
    assert crossed(value.keys()) == {"a", "b"} and list(crossed(value.keys())) == ["b", "a"]
    assert crossed(value.items()) == value.items() and list(crossed(value.values())) == [1, 2]
    for view in (value.keys(), value.values(), value.items()):
        assert type(crossed(view)) is type(view) and repr(crossed(view)) == repr(view)


@pytest.mark.parametrize(
    "zone",
    [
        datetime.UTC,
        datetime.timezone(datetime.timedelta(hours=2)),
        datetime.timezone(datetime.timedelta(hours=1), "UTC"),
        "Europe/Berlin",
        "Etc/GMT-2",
    ],
    ids=str,
)
def test_times_with_an_offset_cross(zone: Any) -> None:
    times = pd.to_datetime(["2020-01-01", "2020-07-01"]).tz_localize(zone)
    pd.testing.assert_series_equal(crossed(pd.Series(times)), pd.Series(times), check_dtype=isinstance(zone, str))
    for result, time in zip([*crossed(times), crossed(times[0])], [*times, times[0]], strict=True):
        assert result == time and result.utcoffset() == time.utcoffset()


def test_texts_that_no_file_can_hold_cross() -> None:
    table = pd.DataFrame({"text": ["a\ud800", None], "n": [1, 2]}, index=pd.Index(["x", "\udfff"], dtype=object), dtype=object)
    result = crossed(table)
    assert result["text"].tolist() == table["text"].tolist() and result.index.tolist() == ["x", "\udfff"]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.array([[True], [False]]),
        np.array([1.5, np.nan, -np.inf], dtype="float32"),
        np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
        np.array(["ACGT", "é"]),
        np.array([1 + 2j]),
        np.array([], dtype="int8"),
        np.array(5),
        np.array([{"a": 1}, None, "x"], dtype=object),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_keep_kind_shape_and_values(array: Any) -> None:
    result = crossed(array)
    assert result.dtype == array.dtype and result.shape == array.shape
    np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize("value", [np.float64(0.1), np.int8(-3), np.bool_(True), np.str_("x"), np.datetime64("2020-01-01T05")])
def test_numpy_scalars_stay_numpy_scalars(value: Any) -> None:
    result = crossed(value)
    assert result == value and type(result) is type(value) and result.dtype == value.dtype


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_masked_arrays_and_matrices_cross() -> None:
    masked = crossed(np.ma.MaskedArray([1, 2, 3], mask=[False, True, False]))
    assert masked.sum() == 4 and masked.mask.tolist() == [False, True, False]
    assert type(crossed(np.matrix([[1, 2]]))) is np.matrix


FRAME = pd.DataFrame(
    {
        "whole": np.arange(4, dtype="int32"),
        "real": [0.1, np.nan, -np.inf, 3.0],
        "text": ["a", "b", np.nan, "ü"],
        "none": pd.Series(["a", None, "b", "b"], dtype=object, index=[10, 20, 30, 40]),
        "mixed": np.array([1, "two", (3,), None], dtype=object),
        "time": pd.to_datetime(["2020-01-01 00:00", None, "2020-01-03 05:00", "2020-01-04 00:00"]),
        "zoned": pd.to_datetime(["2020-01-01 00:00", None, "2020-01-03 05:00", "2020-01-04 00:00"]).tz_localize("Europe/Berlin"),
        "span": pd.to_timedelta(["1D", "2h", None, "0s"]),
        "kind": pd.Categorical(["x", "y", None, "x"], categories=["y", "x", "z"], ordered=True),
        "nullable": pd.array([1, None, 3, 4], dtype="Int64"),
        "flag": pd.array([True, None, False, True], dtype="boolean"),
        "string": pd.array(["p", None, "q", "r"], dtype="string"),
        "truth": [True, False, True, True],
    },
    index=pd.Index([10, 20, 30, 40], name="id"),
)


def test_a_table_keeps_columns_kinds_index_and_missing_values() -> None:
    result = crossed(FRAME)
    pd.testing.assert_frame_equal(result, FRAME)
    assert result["mixed"].tolist() == FRAME["mixed"].tolist()
    assert result["none"].tolist()[1] is None
    result.loc[10, "whole"] = 99  # what came over can be worked with


@pytest.mark.parametrize(
    "value",
    [
        FRAME.iloc[:0],
        pd.DataFrame(),
        pd.DataFrame(index=[1, 2]),
        FRAME["text"].value_counts(),
        pd.Series([1.5], index=pd.MultiIndex.from_tuples([("a", 1)], names=["x", None])),
        FRAME.groupby("text")[["whole", "real"]].agg(["sum", "max"]),
        pd.DataFrame([[1, 2]], columns=["same", "same"]),
    ],
    ids=["no rows", "nothing", "index only", "counts", "two levels", "columns of two levels", "columns of one name"],
)
def test_odd_tables_cross(value: Any) -> None:
    result = crossed(value)
    if isinstance(value, pd.Series):
        pd.testing.assert_series_equal(result, value)
    else:
        pd.testing.assert_frame_equal(result, value)


def test_scalars_and_indexes_of_pandas_cross() -> None:
    values = [pd.Timestamp("2020-01-01 05:00", tz="UTC"), pd.Timedelta("3h"), pd.Period("2020-03", "M"), pd.Interval(0, 1)]
    assert crossed(values) == values
    assert crossed(pd.NaT) is pd.NaT and crossed(pd.NA) is pd.NA
    pd.testing.assert_index_equal(crossed(pd.Index(["b", "a"], name="n")), pd.Index(["b", "a"], name="n"))
    assert type(crossed(pd.RangeIndex(3))) is pd.RangeIndex


class Reading:
    """A class of its own, with attributes."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.seen = [value]


def test_objects_cross_with_their_attributes_where_their_class_is_named() -> None:
    packed = pack([Reading(3)], LIMIT, {Reading: "Reading"})
    (result,) = unpack(packed, {"Reading": Reading})
    assert isinstance(result, Reading) and vars(result) == {"value": 3, "seen": [3]}
    with pytest.raises(MalformedError):
        unpack(packed, {})
    with pytest.raises(NotDataError, match="Reading, which is no data"):
        pack(Reading(3), LIMIT)


class SaysYes(str):
    """A text that equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "value",
    [SaysYes("x"), [SaysYes("x")], {"a": lambda: 1}, io.StringIO(), threading.Thread(), object(), type("Table", (pd.DataFrame,), {})([1])],
    ids=["text of its own", "in a list", "function", "file", "thread", "object", "table of its own"],
)
def test_what_has_a_will_of_its_own_is_no_data(value: Any) -> None:
    with pytest.raises(NotDataError):
        pack(value, LIMIT)


def test_a_list_that_holds_itself_is_no_data() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(NotDataError, match="holds itself"):
        pack(endless, LIMIT)


def test_what_is_too_large_is_given_up_before_it_is_written() -> None:
    for value in ([0] * 1_000_000, "x" * 1_000_000, np.zeros(1_000_000), pd.DataFrame({"a": np.random.default_rng(1).random(200_000)})):
        with pytest.raises(TooLargeError):
            pack(value, 100_000)


def numbers() -> Iterator[int]:
    yield 1
    yield 2
    raise KeyError("three")


def test_an_iterator_gives_its_items_and_the_error_that_ends_it() -> None:
    assert list(crossed(iter("abc"))) == ["a", "b", "c"]
    result = crossed(numbers())
    assert [next(result), next(result)] == [1, 2]
    with pytest.raises(KeyError):
        next(result)
    endless = crossed(iter(int, 1))
    assert [next(endless) for _ in range(MAX_ITEMS)] == [0] * MAX_ITEMS
    with pytest.raises(Exception, match="no more than"):
        next(endless)
    with pytest.raises(NotDataError):
        crossed(iter("abc"), iterators=False)


class Harmful:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("something was unpickled",))


def forged(value: Any, *blobs: bytes) -> bytes:
    head = json.dumps({"value": value, "blobs": [len(blob) for blob in blobs]}).encode()
    return struct.pack(">Q", len(head)) + head + b"".join(blobs)


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"garbage that is no packed value",
        pickle.dumps(Harmful()),
        forged({"t": "instance", "v": "os.system", "attributes": []}),
        forged({"t": "array", "dtype": "O", "shape": [1], "v": 0}, b"\0" * 8),
        forged({"t": "array", "dtype": "<i8", "shape": [10**12], "v": 0}, b"\0" * 8),
        forged({"t": "_class__", "v": 1}),
        forged({"t": "frame", "cells": [{"as": "data", "dtype": "__import__('os')", "v": []}], "table": None}),
        forged({"t": "tuple"}),
    ],
)
def test_what_is_no_packed_value_is_refused(packed: bytes) -> None:
    with pytest.raises(MalformedError):
        unpack(packed)


def test_a_table_of_anything_but_plain_columns_is_refused() -> None:
    stream = io.BytesIO()
    pq.write_table(pa.table({"c0": pa.array([b"bytes"])}), stream)
    index = {"t": "rows", "v": [0, 1, 1], "name": None}
    node = {"t": "series", "name": None, "cells": [{"as": "texts", "dtype": "object", "missing": "none"}], "table": 0, "index": index}
    with pytest.raises(MalformedError, match="binary"):
        unpack(forged(node, stream.getvalue()))


def test_values_are_described_in_words() -> None:
    assert described(FRAME) == "DataFrame of 4 x 13"
    assert described([1, 2, 3]) == "list of 3"
    assert described(numbers()) == "generator"
