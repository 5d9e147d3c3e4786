"""Reading an answer as rows. An answer may be read in more than one way; the judge accepts it where one of them is the gold.

It is one answer nevertheless. Keys and the labels of an index may be names, which say nothing of the value, or values, so that a container is read
with and without them; but of two readings with the same number of rows and of columns, or as many values in all, only the likelier one counts, which
is the one further up in this table. `{"a": {"b": 5}}` is the row b, 5, since one key to anything is a label, and not the row a, 5 as well. What holds
nothing but labels holds no value to join them to: `{"po": []}` is a column without rows, and no "po". A reading that says nothing and one that has
values do not go together either: the first of the two counts.

| answer | read as |
|---|---|
| one value | one row of that value; a text with commas, semicolons, line breaks or "and" also as that many values, without bullets |
| a text that holds data | those data (`medagentgym.judges.literals`) |
| a text in dress: `Answer: 12`, `**12**`, `12.` | also the text without it |
| list, tuple, set, array of values | that many rows of one value; where the gold is one row of that many columns, that row |
| list of lists, tuples, arrays | one row each |
| list of mappings with the same keys | one row each, with the keys as names of the columns |
| list of Series with the same labels (rows taken out of a DataFrame) | one row each, with the labels as names |
| list of one table, mapping or list of lists | that one |
| table (DataFrame, Series) | its rows with its names of columns; also with its labelled index in front, where the gold has that column more |
| table of one column whose index is texts | also one row, the index being the names (a row taken out of a DataFrame) |
| table of one column that has neither name nor index (a Series made of a list) | the list of its values |
| table that has rows and no columns | not at all: an index alone is no value |
| mapping from 0, 1, 2, ..., also as texts | the list of its values, unless these are mappings from 0, 1, 2, ... themselves |
| mapping of texts to values | one row with the keys as names |
| mapping of texts to lists, or to mappings with the same keys | columns with the keys as names |
| mapping of one key to anything but a value | also that alone: the key is a label, though only a text is the label of nothing |
| mapping | also rows of key and value or values (counts), where all keys have some |
| anything else | not at all |

A text is one value, and what it holds, lists or says in dress are the same characters in another cut; all these readings count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from medagentgym.judges.final_answer import held_data
from medagentgym.judges.nothing import says_nothing
from medagentgym.judges.values import read_value
from medagentgym.sandbox.answers import as_rows, is_scalar, kind

_LISTED = re.compile(r"[,;\n]")
_AND = re.compile(r"(?:,\s*|\s)and\s", re.IGNORECASE)
_BULLET = re.compile(r"[-*\u2022]\s+(?=\S)")
_NUMBERED = re.compile(r"(?P<position>\d{1,4})[.)]\s+(?=\S)", re.ASCII)
_LABEL = re.compile(r"(?:the )?(?:final )?(?:answer|result)s?\s?[:=]\s?(?=\S)", re.IGNORECASE)
_WRAPPINGS = ("**", "`")
_LONGEST_DRESSED = 20_000
_MOST_MARKED = 10_000
_DEEPEST = 4
"""Containers of one element, and texts in quotation marks or dress, are opened so often at most."""

Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Reading:
    """An answer, read as rows of scalars."""

    rows: Rows
    names: tuple[str, ...] | None = None
    """Names of the columns, where the answer names them."""
    flat: bool = False
    """One value a row, from an answer without columns: the width is for the gold to say."""

    @cached_property
    def widths(self) -> set[int]:
        """How many columns the rows have."""
        return set(map(len, self.rows))

    @cached_property
    def is_nothing(self) -> bool:
        """Whether it has no value: no cell, nulls only, or words for nothing as its only cell."""
        if all(not row for row in self.rows):
            return True
        if len(self.rows) == 1 == len(self.rows[0]) and isinstance(self.rows[0][0], str) and says_nothing(self.rows[0][0]):
            return True
        return all(read_value(cell).kind == "missing" for row in self.rows for cell in row)

    def contradicts(self, other: Reading) -> bool:
        """Whether both together would be two guesses: one has values and one none, or they hold other values that are as many, in as many columns."""
        if self.is_nothing or other.is_nothing:
            return self.is_nothing != other.is_nothing
        if len(self._cells) == len(other._cells) and self._cells != other._cells:
            return True
        return any(
            width == width_of_other and len(rows) == len(others) and rows != others
            for width, rows in self._rows_by_width(other._possible_widths)
            for width_of_other, others in other._rows_by_width(self._possible_widths)
        )

    @cached_property
    def _cells(self) -> set[Any]:
        return {cell for row in self.rows for cell in row}

    @cached_property
    def _possible_widths(self) -> set[int]:
        return self.widths | {len(self.rows)} if self.flat else self.widths

    def _rows_by_width(self, widths: set[int]) -> Iterator[tuple[int, set[Any]]]:
        """The different rows as a judge sees them, whatever the order of their cells, where there are such of one of the `widths`."""
        if len(self.widths) == 1 and self.widths <= widths:
            yield min(self.widths), {_unordered(row) for row in self.rows}
        if self.flat and len(self.rows) > 1 and len(self.rows) in widths:
            yield len(self.rows), {_unordered([row[0] for row in self.rows])}


def _unordered(row: Sequence[Any]) -> Any:
    return frozenset(Counter((value.kind, value.content) for value in map(read_value, row)).items())


def readings(data: Any, depth: int = 0) -> Iterator[Reading]:
    """The ways to read an answer (JSON data of `medagentgym.sandbox.answers`), the likeliest first; none for what is no plain data."""
    if depth > _DEEPEST:
        return
    match kind(data):
        case "scalar":
            yield Reading([[data]], flat=True)
            if isinstance(data, str):
                yield from _of_text(data, depth)
        case "list":
            yield from _without_contradiction(_of_list(data, depth))
        case "mapping":
            yield from _without_contradiction(_of_mapping(data, depth))
        case "table":
            yield from _without_contradiction(_of_table(data))


def single_rows(data: Any, most: int) -> Iterator[tuple[Sequence[str] | None, Sequence[Any]]]:
    """The ways to read an answer as one row of at most `most` values: the names, where it has some that are not 0, 1, ..., and the values."""
    for reading in readings(data):
        if reading.flat and len(reading.rows) <= most:
            yield None, [row[0] for row in reading.rows]
        elif len(reading.rows) == 1 and len(reading.rows[0]) <= most:
            yield None if reading.names is None or _counts(reading.names) else reading.names, reading.rows[0]


def _without_contradiction(found: Iterable[Reading]) -> Iterator[Reading]:
    taken: list[Reading] = []
    for reading in found:
        if not any(reading.contradicts(other) for other in taken):
            taken.append(reading)
            yield reading


def _of_text(text: str, depth: int) -> Iterator[Reading]:
    held = held_data(text)
    if held is not text:
        yield from readings(held, depth + 1)
        return
    for parts in _lists_in(text.strip()):
        yield Reading([[part] for part in parts], flat=True)
    bare = _undressed(text)
    if bare != text:
        yield from readings(bare, depth + 1)


def _lists_in(text: str) -> Iterator[list[str]]:
    """The values that a text lists; commas of a list in lines, and "and", as parts of the values first."""
    if len(text) > _LONGEST_DRESSED:
        yield from _parts(_LISTED.split(text))
        return
    for mark in "\n;":
        if mark in text and len(set(_LISTED.findall(text))) > 1:
            yield from _parts(text.split(mark))
    yield from _parts(_LISTED.split(text))
    if _AND.search(text):
        yield from _parts(_LISTED.split(_AND.sub(",", text)))


def _parts(split: Sequence[str]) -> Iterator[list[str]]:
    """The parts of a list, and the same without its marks; none where a part is empty, or there is one only."""
    parts = [part.strip() for part in split]
    if len(parts) > 1 and all(parts):
        yield parts
        if len(parts) <= _MOST_MARKED:
            bare = _without_marks(parts)
            if bare != parts:
                yield bare


def _without_marks(parts: list[str]) -> list[str]:
    """The lines of a list without bullets, or without their numbers 1, 2, 3, ..., where all have them."""
    for pattern in (_BULLET, _NUMBERED):
        marks = [pattern.match(part) for part in parts]
        if all(marks) and (pattern is _BULLET or [int(mark["position"]) for mark in marks if mark] == list(range(1, len(parts) + 1))):
            return [part[mark.end() :] for part, mark in zip(parts, marks, strict=True) if mark]
    return parts


def _undressed(text: str) -> str:
    """The text without what says nothing of the value: the word "answer" before it, marks of Markdown around it, a full stop after it."""
    bare = text.strip()
    if len(bare) > _LONGEST_DRESSED:
        return text
    label = _LABEL.match(bare)
    if label:
        return bare[label.end() :]
    for mark in _WRAPPINGS:
        if bare.startswith(mark) and bare.endswith(mark) and len(bare) > 2 * len(mark) and mark not in bare[len(mark) : -len(mark)]:
            return bare[len(mark) : -len(mark)]
    return bare[:-1] if len(bare) > 1 and bare[-1] == "." else text


def _of_list(data: list[Any], depth: int) -> Iterator[Reading]:
    names = _common_keys(data)
    if names is not None:
        yield from _checked([[dict(map(tuple, element["items"]))[name] for name in names] for element in data], names)
    else:
        flat = all(map(is_scalar, data))
        yield from [Reading([[value] for value in data], flat=True)] if flat else _checked(as_rows(data))
    labels = _index_of_column(data[0]) if data else None
    if labels and all(isinstance(label, str) for label in labels) and all(_index_of_column(element) == labels for element in data):
        yield from _checked([[row[0] for row in element["rows"]] for element in data], labels)
    if len(data) == 1 and (kind(data[0]) in ("table", "mapping") or (isinstance(data[0], list) and not all(map(is_scalar, data[0])))):
        yield from readings(data[0], depth + 1)


def _index_of_column(element: Any) -> Any:
    return element.get("index") if kind(element) == "table" and len(element["columns"]) == 1 else None


def _of_mapping(data: dict[str, Any], depth: int) -> Iterator[Reading]:
    names = _text_keys(data)
    keys, values = ([item[position] for item in data["items"]] for position in (0, 1))
    numbers_rows = _counts(keys) and not all(kind(value) == "mapping" and _counts([key for key, _ in value["items"]]) for value in values)
    if numbers_rows:
        yield from readings(values, depth + 1)
    if names and all(map(is_scalar, values)):
        yield Reading([values], tuple(names))
    if names or (_counts(keys) and not numbers_rows):
        yield from _columns(list(map(str, keys)), values)
    if len(values) == 1 and not is_scalar(values[0]):
        yield from (reading for reading in readings(values[0], depth + 1) if names or not reading.is_nothing)
    yield from _checked(as_rows(data))
    if _counts(keys) and not numbers_rows:
        yield from readings(values, depth + 1)


def _counts(keys: Sequence[Any]) -> bool:
    """Whether keys are 0, 1, 2, ..., also as texts."""
    return bool(keys) and all(type(key) in (int, str) and str(key) == str(position) for position, key in enumerate(keys))


def _columns(names: Sequence[str], values: Sequence[Any]) -> Iterator[Reading]:
    """A mapping read as columns: its values are lists of one length, or mappings with the same keys (as a DataFrame's `to_dict` gives them)."""
    if all(isinstance(value, list) for value in values):
        columns = values
    elif all(kind(value) == "mapping" for value in values):
        labels = [[key for key, _ in value["items"]] for value in values]
        if any(label != labels[0] for label in labels):
            return
        columns = [[cell for _, cell in value["items"]] for value in values]
    else:
        return
    if len({len(column) for column in columns}) == 1:
        yield from _checked([list(row) for row in zip(*columns, strict=True)], names)


def _of_table(data: dict[str, Any]) -> Iterator[Reading]:
    if data["rows"] and not data["columns"]:
        return
    names = [str(name) for name in data["columns"]]
    index = data.get("index")
    yield from _checked(data["rows"], names, flat=not index and data["columns"] == [None])
    if not index:
        return
    labels = [label if isinstance(label, list) else [label] for label in index]
    if len({len(label) for label in labels}) == 1:
        yield from _checked([label + row for label, row in zip(labels, data["rows"], strict=True)])
    if len(names) == 1 and all(isinstance(label, str) for label in index) and len(set(index)) == len(index):
        yield from _checked([[row[0] for row in data["rows"]]], index)


def _checked(rows: Rows | None, names: Sequence[str] | None = None, *, flat: bool = False) -> Iterator[Reading]:
    if rows is not None and all(map(is_scalar, chain.from_iterable(rows))):
        yield Reading(rows, None if names is None else tuple(names), flat)


def _text_keys(mapping: Any) -> list[str] | None:
    """The keys of a mapping, where they are different texts."""
    if kind(mapping) != "mapping":
        return None
    keys = [key for key, _ in mapping["items"] if isinstance(key, str)]
    return keys if len(set(keys)) == len(mapping["items"]) else None


def _common_keys(elements: Sequence[Any]) -> list[str] | None:
    """The keys that a list of mappings shares, in the order of the first; None where it is no such list."""
    if not elements or kind(elements[0]) != "mapping":
        return None
    keys = [_text_keys(element) for element in elements]
    if any(names is None or set(names) != set(keys[0] or ()) for names in keys):
        return None
    return keys[0]
