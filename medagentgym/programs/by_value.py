"""Python values as data, so that they can leave an interpreter that runs untrusted code: written in one process of a box, read in another one.

Nothing is pickled: what is read is JSON, arrays of plain numbers and Parquet tables of plain columns, and of all classes only those of this list come
out of it. The writer runs beside untrusted code and may be fooled by it; all that this yields is other data.

Packed data are a length (8 bytes, big-endian), JSON of that length, and the *blobs* that it refers to by number. In the JSON, `null`, truth values,
texts, numbers and arrays (lists) stand for themselves; everything else is an object with the key `t`:

| `t` | value |
|---|---|
| `float`, `int`, `complex` | numbers that JSON does not know: NaN, infinities, very large ones |
| `tuple`, `set`, `frozenset`, `dict`, `ordered`, `counter`, `defaults`, `deque`, `range`, `slice` | containers of the standard library |
| `named`, `view` | a named tuple, as one of a new class with the same names; the keys, values or items of a dictionary |
| `bytes`, `bytearray`, `decimal`, `fraction`, `datetime`, `date`, `time`, `timedelta`, `path`, `pattern` | other values of the standard library |
| `array`, `objects`, `matrix`, `masked`, `scalar`, `dtype` | NumPy |
| `timestamp`, `duration`, `nat`, `na`, `period`, `interval` | scalars of pandas |
| `series`, `frame`, `index`, `rows`, `labels`, `categorical` | pandas: columns go as Parquet, the rest as above |
| `sparse` | a SciPy sparse matrix or array |
| `sequence` | `Bio.Seq.Seq` |
| `iterator` | an iterator: its first items, whether it ended, and the error that ended it |
| `instance` | an object of a class that the reader has named: its attributes |

This module uses the standard library, and NumPy, pandas and pyarrow where they are loaded; its text is sent into boxes.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import datetime
import decimal
import fractions
import io
import json
import keyword
import math
import pathlib
import re
import struct
import sys
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

MAX_DEPTH = 60
MAX_ITEMS = 1000
"""Items that are taken of an iterator."""

_EXACT_NUMBER = 2**63
_new_named_tuple: Callable[[str, list[str]], Any] = collections.namedtuple
_FACTORIES: dict[str, Callable[[], Any]] = {kind.__name__: kind for kind in (list, dict, set, int, float, str, tuple, bool)}
_PLAIN_KINDS = "biufcmMSU"
_PARQUET_KINDS = "biuf"
_TEXT_DTYPES = ("object", "str", "string")
_VIEWS: dict[type, str] = {type(getattr(kind(), view)()): view for kind in (dict, collections.OrderedDict) for view in ("keys", "values", "items")}
_SCALAR_TYPES = (str, int, float, bool, type(None))


class NotDataError(TypeError):
    """A value is no data, or holds something that is none. The message says what."""


class TooLargeError(ValueError):
    """A value is larger than what may cross."""


class MalformedError(ValueError):
    """What was read is no packed value."""


# --- writing ------------------------------------------------------------------------------------------------------------------------------------


Bases = Literal["none", "containers", "all"]
"""Which objects of classes that derive from a kind of data cross as that kind: none, lists and dictionaries and the like, or all, numbers, texts and
tables among them. A dictionary with a factory of its own is a dictionary without one then."""


def pack(value: Any, limit: int, names: Mapping[type, str] | None = None, *, iterators: bool = True, as_bases: Bases = "none") -> bytes:
    """A value as at most `limit` bytes.

    `names` are classes whose objects cross with their attributes; `iterators` says whether the items of iterators are taken from them, and `as_bases`
    which objects cross as the kind of data that their class derives from.

    Raises `NotDataError` and `TooLargeError`; an object that misbehaves raises what it likes.
    """
    writer = _Writer(limit, names or {}, iterators, as_bases)
    head = json.dumps({"value": writer.node(value, 0), "blobs": [len(blob) for blob in writer.blobs]}, separators=(",", ":")).encode()
    packed = b"".join([struct.pack(">Q", len(head)), head, *writer.blobs])
    if len(packed) > limit:
        raise TooLargeError(f"{len(packed):,} bytes, where {limit:,} may cross")
    return packed


def described(value: Any) -> str:
    """What a value is, in words for an agent."""
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    try:
        shape = getattr(value, "shape", None) if kind.__module__.partition(".")[0] in ("numpy", "pandas", "scipy") else None
        if isinstance(shape, tuple) and shape:
            return f"{kind.__name__} of {' x '.join(f'{length:,}' for length in shape)}"
        if kind in (list, tuple, dict, set):
            return f"{name} of {len(value):,}"
    except Exception:
        return name
    return name


class _Writer:
    """One walk through a value, which gives up as soon as the result cannot fit any more."""

    def __init__(self, limit: int, names: Mapping[type, str], iterators: bool, as_bases: Bases) -> None:
        self.as_bases = as_bases
        self.limit = limit
        self.left = limit
        self.names = names
        self.iterators = iterators
        self.blobs: list[bytes] = []
        self.open: set[int] = set()
        self.numpy: Any = sys.modules.get("numpy")
        self.pandas: Any = sys.modules.get("pandas")

    def node(self, value: Any, depth: int) -> Any:
        self._spend(8)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            self._spend(len(value))
            return value
        if kind is int:
            return value if abs(value) < _EXACT_NUMBER else {"t": "int", "v": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"t": "float", "v": str(value)}
        if depth > MAX_DEPTH:
            raise NotDataError("containers in containers without an end")
        if id(value) in self.open:
            raise NotDataError(f"a {described(value)} that holds itself")
        self.open.add(id(value))
        try:
            found = self._standard(value, kind, depth + 1)
            if found is None:
                found = self._library(value, kind, depth + 1)
            if found is None and self.as_bases != "none":
                found = self._based(value, depth + 1)
        finally:
            self.open.discard(id(value))
        if found is None:
            raise NotDataError(f"{_with_article(described(value))}, which is no data")
        return found

    def _nodes(self, values: Iterable[Any], depth: int) -> list[Any]:
        return [self.node(value, depth) for value in values]

    def _pairs(self, items: Iterable[tuple[Any, Any]], depth: int) -> list[Any]:
        return [[self.node(key, depth), self.node(value, depth)] for key, value in items]

    def _spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise TooLargeError(f"more than {self.limit:,} bytes, which is what may cross")

    def _blob(self, content: bytes) -> int:
        self._spend(len(content))
        self.blobs.append(content)
        return len(self.blobs) - 1

    def _standard(self, value: Any, kind: type, depth: int) -> dict[str, Any] | list[Any] | None:
        if kind is list:
            return self._nodes(value, depth)
        if kind is tuple:
            return {"t": "tuple", "v": self._nodes(value, depth)}
        if kind is dict:
            return {"t": "dict", "v": self._pairs(value.items(), depth)}
        if kind in (set, frozenset):
            return {"t": kind.__name__, "v": sorted(self._nodes(value, depth), key=lambda node: json.dumps(node, sort_keys=True))}
        if kind in (collections.OrderedDict, collections.Counter):
            return {"t": "ordered" if kind is collections.OrderedDict else "counter", "v": self._pairs(value.items(), depth)}
        if kind is collections.defaultdict:
            factory = value.default_factory
            if factory is not None and _FACTORIES.get(getattr(factory, "__name__", "")) is not factory:
                if self.as_bases == "none":
                    raise NotDataError("a defaultdict with a factory of its own")
                return {"t": "dict", "v": self._pairs(value.items(), depth)}
            return {"t": "defaults", "v": self._pairs(value.items(), depth), "factory": None if factory is None else factory.__name__}
        if kind is collections.deque:
            return {"t": "deque", "v": self._nodes(value, depth), "longest": value.maxlen}
        if kind in _VIEWS:
            return {"t": "view", "of": _VIEWS[kind], "v": self._pairs(value, depth) if _VIEWS[kind] == "items" else self._nodes(value, depth)}
        if kind is range or kind is slice:
            return {"t": kind.__name__, "v": self._nodes((value.start, value.stop, value.step), depth)}
        if kind is complex:
            return {"t": "complex", "v": self._nodes((value.real, value.imag), depth)}
        if kind in (bytes, bytearray):
            return {"t": kind.__name__, "v": self._blob(bytes(value))}
        if kind in (decimal.Decimal, fractions.Fraction):
            return {"t": kind.__name__.lower(), "v": str(value)}
        if kind is datetime.timedelta:
            return {"t": "timedelta", "v": [value.days, value.seconds, value.microseconds]}
        if kind in (datetime.datetime, datetime.date, datetime.time):
            return {"t": kind.__name__, "v": value.isoformat()}
        if isinstance(value, pathlib.PurePath) and kind.__module__.partition(".")[0] == "pathlib":
            return {"t": "path", "v": str(value)}
        if kind is re.Pattern and isinstance(value.pattern, str):
            return {"t": "pattern", "v": value.pattern, "flags": value.flags}
        if kind in self.names:
            return {"t": "instance", "v": self.names[kind], "attributes": self._pairs(vars(value).items(), depth)}
        if self.iterators and isinstance(value, Iterator) and not isinstance(value, io.IOBase):
            return self._iterator(value, depth)
        return None

    def _based(self, value: Any, depth: int) -> Any:
        """A value of a class of its own as the kind of data that the class derives from, by that kind's own methods; None where it is none."""
        plain: Any = None
        if isinstance(value, (list, tuple, set, frozenset)):
            kinds: tuple[Any, ...] = (list, tuple, set, frozenset)
            base = next(kind for kind in kinds if isinstance(value, kind))
            plain = base(base.__iter__(value))
            fields = _field_names(value) if base is tuple else None
            if fields is not None:
                return {
                    "t": "named",
                    "class": f"{type(value).__module__}.{type(value).__qualname__}",
                    "fields": fields,
                    "v": self._nodes(plain, depth),
                }
        elif isinstance(value, dict):
            plain = dict(dict.items(value))
        elif self.as_bases == "containers":
            return None
        elif isinstance(value, str):
            plain = str.__str__(value)
        elif isinstance(value, int):
            plain = int.__int__(value)
        elif isinstance(value, float):
            plain = float.__float__(value)
        elif self.numpy is not None and isinstance(value, self.numpy.ndarray):
            plain = self.numpy.ndarray.view(value, self.numpy.ndarray)
        elif self.pandas is not None and isinstance(value, (self.pandas.DataFrame, self.pandas.Series)):
            base = self.pandas.DataFrame if isinstance(value, self.pandas.DataFrame) else self.pandas.Series
            plain = base(value)
        return None if plain is None else self.node(plain, depth)

    def _iterator(self, value: Iterator[Any], depth: int) -> dict[str, Any]:
        """The first items of an iterator. It runs on beside what called it, so an error that ends it is told in place of the item."""
        items: list[Any] = []
        node = {"t": "iterator", "v": items, "ended": False, "error": None}
        try:
            while len(items) < MAX_ITEMS:
                items.append(self.node(next(value), depth))
        except StopIteration:
            node["ended"] = True
        except (NotDataError, TooLargeError):
            raise
        except Exception as error:
            node["error"] = [type(error).__name__, str(error)]
        return node

    def _library(self, value: Any, kind: type, depth: int) -> dict[str, Any] | None:
        if self.numpy is not None:
            found = self._numpy(value, kind, depth)
            if found is not None:
                return found
        if self.pandas is not None:
            found = self._pandas(value, kind, depth)
            if found is not None:
                return found
        if kind.__module__.startswith("scipy.sparse") and hasattr(value, "tocoo"):
            entries = value.tocoo()
            parts = (entries.data, *getattr(entries, "coords", (entries.row, entries.col)))
            return {"t": "sparse", "class": kind.__name__, "shape": list(map(int, value.shape)), "v": self._nodes(parts, depth)}
        if kind.__module__ == "Bio.Seq" and kind.__name__ == "Seq":
            return {"t": "sequence", "v": self._blob(bytes(value))}
        return None

    # --- NumPy ----------------------------------------------------------------------------------------------------------------------------------

    def _numpy(self, value: Any, kind: type, depth: int) -> dict[str, Any] | None:
        numpy = self.numpy
        if kind is numpy.ndarray:
            return self._array(value, depth)
        if kind is numpy.matrix:
            return {"t": "matrix", "v": self._array(numpy.asarray(value), depth)}
        if kind is numpy.ma.MaskedArray:
            return {"t": "masked", "v": self._array(value.data, depth), "mask": self._array(numpy.ma.getmaskarray(value), depth)}
        if value is numpy.ma.masked:
            return {"t": "masked", "v": self._array(numpy.zeros(()), depth), "mask": self._array(numpy.ones((), bool), depth)}
        if isinstance(value, numpy.generic) and kind.__module__ == "numpy":
            array = numpy.asarray(value)
            if array.dtype.kind in _PLAIN_KINDS:
                return {"t": "scalar", "dtype": array.dtype.str, "v": base64.b64encode(array.tobytes()).decode()}
        if isinstance(value, numpy.dtype) and value.kind in _PLAIN_KINDS:
            return {"t": "dtype", "v": value.str}
        return None

    def _array(self, array: Any, depth: int) -> dict[str, Any]:
        if array.dtype.kind in _PLAIN_KINDS:
            return {"t": "array", "dtype": array.dtype.str, "shape": list(array.shape), "v": self._blob(array.tobytes())}
        if array.dtype == object:
            return {"t": "objects", "shape": list(array.shape), "v": self._nodes(array.ravel().tolist(), depth)}
        raise NotDataError(f"an array of {array.dtype}")

    # --- pandas ---------------------------------------------------------------------------------------------------------------------------------

    def _pandas(self, value: Any, kind: type, depth: int) -> dict[str, Any] | None:
        pandas = self.pandas
        if value is pandas.NaT or value is pandas.NA:
            return {"t": "nat" if value is pandas.NaT else "na"}
        if kind is pandas.Timestamp:
            return {"t": "timestamp", "v": int(value.as_unit("ns").value), "zone": None if value.tzinfo is None else _zone_name(value.tzinfo)}
        if kind is pandas.Timedelta:
            return {"t": "duration", "v": int(value.as_unit("ns").value)}
        if kind is pandas.Period:
            return {"t": "period", "v": str(value), "frequency": value.freqstr}
        if kind is pandas.Interval:
            return {"t": "interval", "v": self._nodes((value.left, value.right), depth), "closed": value.closed}
        if kind is pandas.DataFrame:
            return self._frame(value, depth)
        if kind is pandas.Series:
            frame = self._columns([value], value.index, depth)
            return {"t": "series", "name": self.node(value.name, depth), **frame}
        if isinstance(value, pandas.Index):
            return self._index(value, depth)
        if kind is pandas.Categorical or isinstance(value, pandas.api.extensions.ExtensionArray):
            return {"t": "categorical", "v": self._pandas(pandas.Series(value), pandas.Series, depth)}
        return None

    def _frame(self, frame: Any, depth: int) -> dict[str, Any]:
        columns = [frame.iloc[:, position] for position in range(frame.shape[1])]
        return {"t": "frame", "columns": self._index(frame.columns, depth), **self._columns(columns, frame.index, depth)}

    def _columns(self, columns: list[Any], index: Any, depth: int) -> dict[str, Any]:
        """Columns of one length and their index: plain ones in one Parquet table, the others as data."""
        arrays: dict[str, Any] = {}
        nodes = [self._column(column, f"c{position}", arrays, depth) for position, column in enumerate(columns)]
        table = None if not arrays else self._blob(_parquet(arrays))
        return {"cells": nodes, "table": table, "index": self._index(index, depth)}

    def _column(self, column: Any, name: str, arrays: dict[str, Any], depth: int) -> dict[str, Any]:
        numpy, pandas = self.numpy, self.pandas
        dtype, values = column.dtype, column.array
        self._spend(2 * len(column))
        if isinstance(dtype, numpy.dtype) and dtype.kind in _PARQUET_KINDS and dtype.itemsize in (1, 2, 4, 8) and dtype.str[1:] != "f2":
            arrays[name] = column.to_numpy()
            return {"as": "plain", "dtype": dtype.str}
        if isinstance(dtype, numpy.dtype) and dtype.kind in "mM":
            arrays[name] = column.to_numpy().view("int64")
            return {"as": "time", "dtype": dtype.str}
        if isinstance(dtype, pandas.DatetimeTZDtype):
            arrays[name] = column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy().view("int64")
            return {"as": "zoned", "unit": dtype.unit, "zone": _zone_name(dtype.tz)}
        if isinstance(dtype, pandas.CategoricalDtype):
            arrays[name] = numpy.asarray(values.codes, dtype="int32")
            return {"as": "codes", "categories": self._index(values.categories, depth), "ordered": bool(values.ordered)}
        if dtype.kind == "O" and (isinstance(dtype, (numpy.dtype, pandas.StringDtype))):
            return self._object_column(column, name, arrays, depth)
        if hasattr(values, "_mask") and hasattr(values, "_data"):  # nullable numbers and truth values
            arrays[name], arrays[f"{name}m"] = values._data, values._mask
            return {"as": "nullable", "dtype": str(dtype)}
        if isinstance(dtype, numpy.dtype):
            return {"as": "data", "dtype": "", "v": self._array(column.to_numpy(), depth)}
        return {"as": "data", "dtype": str(dtype), "v": self._nodes(list(values), depth)}

    def _object_column(self, column: Any, name: str, arrays: dict[str, Any], depth: int) -> dict[str, Any]:
        cells = column.tolist()
        strings = isinstance(column.dtype, self.pandas.StringDtype)
        missing = {"none" if cell is None else "na" if cell is self.pandas.NA else "nan" for cell in cells if type(cell) is not str}
        texts = all(type(cell) is str or cell is None or cell is self.pandas.NA or (type(cell) is float and cell != cell) for cell in cells)
        if texts and len(missing) <= 1 and _is_encodable("".join(cell for cell in cells if type(cell) is str)):
            self._spend(sum(len(cell) for cell in cells if type(cell) is str) // 8)  # repeated texts take little room in Parquet
            arrays[name] = [cell if type(cell) is str else None for cell in cells]
            return {"as": "texts", "dtype": str(column.dtype) if strings else "object", "missing": next(iter(missing), "none")}
        return {"as": "data", "dtype": str(column.dtype), "v": self._nodes(cells, depth)}

    def _index(self, index: Any, depth: int) -> dict[str, Any]:
        pandas = self.pandas
        if type(index) is pandas.RangeIndex:
            return {"t": "rows", "v": [index.start, index.stop, index.step], "name": self.node(index.name, depth)}
        if isinstance(index, pandas.MultiIndex):
            levels = [self._level(index.get_level_values(level), depth) for level in range(index.nlevels)]
            return {"t": "labels", "v": levels, "names": self._nodes(index.names, depth), "length": len(index)}
        return {"t": "index", "v": self._level(index, depth), "name": self.node(index.name, depth)}

    def _level(self, index: Any, depth: int) -> dict[str, Any]:
        arrays: dict[str, Any] = {}
        node = self._column(self.pandas.Series(index, index=range(len(index)), dtype=index.dtype), "c0", arrays, depth)
        return {"cells": [node], "table": None if not arrays else self._blob(_parquet(arrays))}


def _parquet(arrays: dict[str, Any]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    texts = pyarrow.string()
    columns = [pyarrow.array(column, type=texts) if isinstance(column, list) else pyarrow.array(column) for column in arrays.values()]
    stream = io.BytesIO()
    table = pyarrow.Table.from_arrays(columns, names=list(arrays))
    pyarrow.parquet.write_table(table, stream, compression="zstd", store_schema=False)
    return stream.getvalue()


def _field_names(value: Any) -> list[str] | None:
    """The names of the fields of a named tuple; None where it is another tuple, or has names that a new class cannot have."""
    fields = getattr(type(value), "_fields", None)
    if type(fields) is not tuple or len(fields) != tuple.__len__(value):
        return None
    names = [type(value).__name__, *fields]
    if any(type(name) is not str or not name.isidentifier() or keyword.iskeyword(name) for name in names) or len(set(fields)) < len(fields):
        return None
    return None if any(name.startswith("_") for name in fields) else list(fields)


def _zone_name(zone: datetime.tzinfo) -> str | float:
    """The name of a time zone in the database of zones, or, where it is always the same, its offset from UTC in seconds."""
    name = str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone)
    name = name.partition("zoneinfo/")[2].rstrip("')") or name  # dateutil names the file
    if name == "UTC" and zone.utcoffset(None) == datetime.timedelta(0):
        return name
    if not isinstance(zone, datetime.timezone):
        with contextlib.suppress(ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
            return zoneinfo.ZoneInfo(name).key
    offset = zone.utcoffset(None)
    if offset is None:
        raise NotDataError(f"times of the zone {name}")
    return offset.total_seconds()


def _is_encodable(text: str) -> bool:
    """Whether a text can be written as UTF-8: it holds no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _with_article(words: str) -> str:
    return f"{'an' if words[:1].lower() in 'aeiou' else 'a'} {words}"


# --- reading ------------------------------------------------------------------------------------------------------------------------------------


def unpack(packed: bytes, classes: Mapping[str, type] | None = None) -> Any:
    """The value. `classes` are those whose objects may come out of it, by the names that the writer gave them. Raises `MalformedError`."""
    try:
        (length,) = struct.unpack(">Q", packed[:8])
        head = json.loads(packed[8 : 8 + length])
        blobs, start = [], 8 + length
        for size in head["blobs"]:
            blobs.append(packed[start : start + size])
            start += size
        return _Reader(blobs, classes or {}).value(head["value"])
    except MalformedError:
        raise
    except Exception as error:
        raise MalformedError(f"no packed value: {type(error).__name__}: {error}") from error


class _Ended(Exception):
    """An iterator that came over by value has no more items, although the original one had."""


class _Reader:
    def __init__(self, blobs: list[bytes], classes: Mapping[str, type]) -> None:
        self.blobs = blobs
        self.classes = classes

    def value(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.value(element) for element in node]
        if not isinstance(node, dict):
            return node
        kind = node["t"]
        read = getattr(self, f"_read_{kind}", None) if isinstance(kind, str) and kind.isalpha() else None
        if read is None:
            raise MalformedError(f"unknown kind {kind!r}")
        return read(node)

    def _all(self, nodes: list[Any]) -> list[Any]:
        return [self.value(node) for node in nodes]

    def _items(self, pairs: list[Any]) -> list[tuple[Any, Any]]:
        return [(self.value(key), self.value(value)) for key, value in pairs]

    def _read_int(self, node: dict[str, Any]) -> int:
        return int(node["v"], 16)

    def _read_float(self, node: dict[str, Any]) -> float:
        return float(node["v"])

    def _read_complex(self, node: dict[str, Any]) -> complex:
        return complex(*self._all(node["v"]))

    def _read_tuple(self, node: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self._all(node["v"]))

    def _read_named(self, node: dict[str, Any]) -> Any:
        name, fields = node["class"], node["fields"]
        known: Any = self.classes.get(name)
        if getattr(known, "_fields", None) != tuple(fields):
            known = _new_named_tuple(str(name).rpartition(".")[2], fields)
        return known._make(self._all(node["v"]))

    def _read_view(self, node: dict[str, Any]) -> Any:
        if node["of"] == "items":
            return dict(self._items(node["v"])).items()
        parts = self._all(node["v"])
        return dict.fromkeys(parts).keys() if node["of"] == "keys" else dict(enumerate(parts)).values()

    def _read_set(self, node: dict[str, Any]) -> set[Any]:
        return set(self._all(node["v"]))

    def _read_frozenset(self, node: dict[str, Any]) -> frozenset[Any]:
        return frozenset(self._all(node["v"]))

    def _read_dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        return dict(self._items(node["v"]))

    def _read_ordered(self, node: dict[str, Any]) -> Any:
        return collections.OrderedDict(self._items(node["v"]))

    def _read_counter(self, node: dict[str, Any]) -> Any:
        return collections.Counter(dict(self._items(node["v"])))

    def _read_defaults(self, node: dict[str, Any]) -> Any:
        factory = node["factory"]
        return collections.defaultdict(None if factory is None else _FACTORIES[factory], self._items(node["v"]))

    def _read_deque(self, node: dict[str, Any]) -> Any:
        return collections.deque(self._all(node["v"]), node["longest"])

    def _read_range(self, node: dict[str, Any]) -> range:
        return range(*self._all(node["v"]))

    def _read_slice(self, node: dict[str, Any]) -> slice:
        return slice(*self._all(node["v"]))

    def _read_bytes(self, node: dict[str, Any]) -> bytes:
        return bytes(self.blobs[node["v"]])

    def _read_bytearray(self, node: dict[str, Any]) -> bytearray:
        return bytearray(self.blobs[node["v"]])

    def _read_decimal(self, node: dict[str, Any]) -> decimal.Decimal:
        return decimal.Decimal(node["v"])

    def _read_fraction(self, node: dict[str, Any]) -> fractions.Fraction:
        return fractions.Fraction(node["v"])

    def _read_timedelta(self, node: dict[str, Any]) -> datetime.timedelta:
        return datetime.timedelta(*node["v"])

    def _read_datetime(self, node: dict[str, Any]) -> datetime.datetime:
        return datetime.datetime.fromisoformat(node["v"])

    def _read_date(self, node: dict[str, Any]) -> datetime.date:
        return datetime.date.fromisoformat(node["v"])

    def _read_time(self, node: dict[str, Any]) -> datetime.time:
        return datetime.time.fromisoformat(node["v"])

    def _read_path(self, node: dict[str, Any]) -> pathlib.Path:
        return pathlib.Path(node["v"])

    def _read_pattern(self, node: dict[str, Any]) -> Any:
        return re.compile(node["v"], node["flags"])

    def _read_instance(self, node: dict[str, Any]) -> Any:
        kind = self.classes[node["v"]]
        instance: Any = object.__new__(kind)
        vars(instance).update(self._items(node["attributes"]))
        return instance

    def _read_iterator(self, node: dict[str, Any]) -> Iterator[Any]:
        return _items_of(self._all(node["v"]), node["ended"] is True, node["error"])

    # --- NumPy, SciPy, Biopython ----------------------------------------------------------------------------------------------------------------

    def _read_array(self, node: dict[str, Any]) -> Any:
        import numpy

        return numpy.frombuffer(self.blobs[node["v"]], dtype=_plain_dtype(node["dtype"])).reshape(node["shape"]).copy()

    def _read_objects(self, node: dict[str, Any]) -> Any:
        import numpy

        array = numpy.empty(node["shape"], dtype=object)
        for position, cell in zip(numpy.ndindex(*array.shape), self._all(node["v"]), strict=True):
            array[position] = cell
        return array

    def _read_matrix(self, node: dict[str, Any]) -> Any:
        import numpy

        return numpy.asmatrix(self.value(node["v"]))

    def _read_masked(self, node: dict[str, Any]) -> Any:
        import numpy

        data, mask = self.value(node["v"]), self.value(node["mask"])
        return numpy.ma.masked if data.shape == () and bool(mask) else numpy.ma.MaskedArray(data, mask=mask)

    def _read_scalar(self, node: dict[str, Any]) -> Any:
        import numpy

        return numpy.frombuffer(base64.b64decode(node["v"]), dtype=_plain_dtype(node["dtype"]))[0]

    def _read_dtype(self, node: dict[str, Any]) -> Any:
        return _plain_dtype(node["v"])

    def _read_sparse(self, node: dict[str, Any]) -> Any:
        import scipy.sparse

        data, *coordinates = self._all(node["v"])
        name = node["class"]
        form, _, kind = str(name).partition("_")
        if form not in ("coo", "csr", "csc", "lil", "dok", "dia", "bsr") or kind not in ("matrix", "array"):
            raise MalformedError(f"unknown sparse form {name!r}")
        entries = getattr(scipy.sparse, f"coo_{kind}")((data, tuple(coordinates)), shape=tuple(node["shape"]))
        return entries.asformat(form)

    def _read_sequence(self, node: dict[str, Any]) -> Any:
        from Bio.Seq import Seq  # type: ignore[import-not-found]

        return Seq(self.blobs[node["v"]])

    # --- pandas ---------------------------------------------------------------------------------------------------------------------------------

    def _read_timestamp(self, node: dict[str, Any]) -> Any:
        import pandas

        moment = pandas.Timestamp(node["v"], unit="ns")
        return moment if node["zone"] is None else moment.tz_localize("UTC").tz_convert(_zone(node["zone"]))

    def _read_duration(self, node: dict[str, Any]) -> Any:
        import pandas

        return pandas.Timedelta(node["v"], unit="ns")

    def _read_nat(self, node: dict[str, Any]) -> Any:
        import pandas

        return pandas.NaT

    def _read_na(self, node: dict[str, Any]) -> Any:
        import pandas

        return pandas.NA

    def _read_period(self, node: dict[str, Any]) -> Any:
        import pandas

        return pandas.Period(node["v"], freq=node["frequency"])

    def _read_interval(self, node: dict[str, Any]) -> Any:
        import pandas

        left, right = self._all(node["v"])
        return pandas.Interval(left, right, closed=node["closed"])

    def _read_frame(self, node: dict[str, Any]) -> Any:
        import pandas

        index = self.value(node["index"])
        columns = self._columns(node, len(index))
        frame = pandas.DataFrame(dict(enumerate(columns)), index=range(len(index)))
        frame.index, frame.columns = index, self.value(node["columns"])
        return frame

    def _read_series(self, node: dict[str, Any]) -> Any:
        index = self.value(node["index"])
        (series,) = self._columns(node, len(index))
        series.index, series.name = index, self.value(node["name"])
        return series

    def _read_rows(self, node: dict[str, Any]) -> Any:
        import pandas

        start, stop, step = node["v"]
        return pandas.RangeIndex(start, stop, step, name=self.value(node["name"]))

    def _read_index(self, node: dict[str, Any]) -> Any:
        import pandas

        (series,) = self._columns(node["v"], None)
        return pandas.Index(series, name=self.value(node["name"]), dtype=series.dtype)

    def _read_labels(self, node: dict[str, Any]) -> Any:
        import pandas

        levels = [self._columns(level, node["length"])[0] for level in node["v"]]
        return pandas.MultiIndex.from_arrays([pandas.Index(level, dtype=level.dtype) for level in levels], names=self._all(node["names"]))

    def _read_categorical(self, node: dict[str, Any]) -> Any:
        return self.value(node["v"]).array

    def _columns(self, node: dict[str, Any], length: int | None) -> list[Any]:
        cells, table = node["cells"], {}
        if node["table"] is not None:
            table = _read_parquet(self.blobs[node["table"]])
        columns = [self._column(column, f"c{position}", table) for position, column in enumerate(cells)]
        if any(length is not None and len(column) != length for column in columns):
            raise MalformedError("columns of different lengths")
        return columns

    def _column(self, node: dict[str, Any], name: str, table: Mapping[str, Any]) -> Any:
        import numpy
        import pandas

        form = node["as"]
        if form == "plain":
            return pandas.Series(_numbers(table[name]).astype(_plain_dtype(node["dtype"]), copy=False))
        if form == "time":
            return pandas.Series(_numbers(table[name]).view(_plain_dtype(node["dtype"])))
        if form == "zoned":
            moments = pandas.Series(_numbers(table[name]).view(f"M8[{node['unit']}]"))
            return moments.dt.tz_localize("UTC").dt.tz_convert(_zone(node["zone"]))
        if form == "codes":
            categories = self.value(node["categories"])
            return pandas.Series(pandas.Categorical.from_codes(_numbers(table[name]), categories=categories, ordered=node["ordered"]))
        if form == "nullable":
            missing = numpy.asarray(_numbers(table[f"{name}m"]), dtype=bool)
            column = pandas.Series(pandas.array(_numbers(table[name]), dtype=_nullable(node["dtype"])))
            column[missing] = pandas.NA
            return column
        if form == "texts":
            missing_cell = {"none": None, "nan": math.nan, "na": pandas.NA}[node["missing"]]
            cells = [missing_cell if cell is None else cell for cell in table[name].to_pylist()]
            if node["dtype"] not in _TEXT_DTYPES:
                raise MalformedError(f"a column of {node['dtype']}")
            return pandas.Series(cells, dtype=node["dtype"])
        if form == "data":
            cells = self.value(node["v"])
            if node["dtype"] == "":
                return pandas.Series(cells)
            array = numpy.empty(len(cells), dtype=object)
            array[:] = cells
            column = pandas.Series(array, dtype=object)
            return column if node["dtype"] == "object" else column.astype(node["dtype"])
        raise MalformedError(f"unknown column {form!r}")


def _read_parquet(content: bytes) -> dict[str, Any]:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(io.BytesIO(content), use_threads=False)
    columns = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = field.type
        if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind) or pyarrow.types.is_string(kind)):
            raise MalformedError(f"a column of {kind}")
        columns[field.name] = column
    return columns


def _numbers(column: Any) -> Any:
    array = column.to_numpy()
    if array.dtype.kind not in _PARQUET_KINDS:
        raise MalformedError("a column of numbers holds something else")
    return array.copy()  # Arrow's own memory cannot be written to


def _plain_dtype(name: Any) -> Any:
    import numpy

    dtype = numpy.dtype(name)
    if dtype.kind not in _PLAIN_KINDS:
        raise MalformedError(f"an array of {dtype}")
    return dtype


def _nullable(name: Any) -> str:
    if not re.fullmatch(r"U?Int(8|16|32|64)|Float(32|64)|boolean", str(name)):
        raise MalformedError(f"a column of {name}")
    return str(name)


def _zone(name: Any) -> datetime.tzinfo | str:
    """A time zone for pandas, which has its own idea of what stands for a name."""
    if isinstance(name, (int, float)):
        return datetime.timezone(datetime.timedelta(seconds=name))
    return datetime.UTC if name == "UTC" else zoneinfo.ZoneInfo(name).key


def _items_of(items: list[Any], ended: bool, error: Any) -> Iterator[Any]:
    """The items of an iterator that came over by value, and the error that ended it."""
    yield from items
    if error is not None:
        name, text = error
        raise exception_of(name, text, {})
    if not ended:
        raise _Ended(f"of an iterator no more than {MAX_ITEMS} items can be taken")


def exception_of(name: Any, text: Any, classes: Mapping[str, type]) -> Exception:
    """An exception of a class that is built in or in `classes`, else a `RuntimeError` that names the class."""
    import builtins

    kind = classes.get(str(name)) or getattr(builtins, str(name), None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(str(text))
        except Exception:
            pass
    return RuntimeError(f"{name}: {text}")
