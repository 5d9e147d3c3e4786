"""Reading an answer as rows. An answer may be read in more than one way; the judge accepts it where one of them is the gold.

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
| mapping to values | one row with the keys as names; and rows of key and value (counts) |
| mapping to lists, or to mappings with the same keys | columns with the keys as names |
| mapping from 0, 1, 2, ..., also as texts | the list of its values |
| mapping of one key to anything | also that alone: the key is a label |
| anything else | nothing |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from medagentgym.judges.final_answer import held_data
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

    @property
    def widths(self) -> set[int]:
        """How many columns the rows have."""
        return {len(row) for row in self.rows}


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
            yield from _of_list(data, depth)
        case "mapping":
            yield from _of_mapping(data, depth)
        case "table":
            yield from _of_table(data)


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
        yield from _checked(as_rows(data), flat=all(map(is_scalar, data)))
    labels = [element.get("index") if kind(element) == "table" and len(element["columns"]) == 1 else None for element in data]
    if labels and labels[0] and all(label == labels[0] for label in labels) and all(isinstance(label, str) for label in labels[0]):
        yield from _checked([[row[0] for row in element["rows"]] for element in data], labels[0])
    if len(data) == 1 and (kind(data[0]) in ("table", "mapping") or (isinstance(data[0], list) and not all(map(is_scalar, data[0])))):
        yield from readings(data[0], depth + 1)


def _of_mapping(data: dict[str, Any], depth: int) -> Iterator[Reading]:
    names = _text_keys(data)
    values = [value for _, value in data["items"]]
    if names:
        if all(map(is_scalar, values)):
            yield Reading([values], tuple(names))
        yield from _columns(names, values)
    yield from _checked(as_rows(data))
    if values and all(type(key) in (int, str) and str(key) == str(position) for position, (key, _) in enumerate(data["items"])):
        yield from readings(values, depth + 1)
    if len(values) == 1 and not is_scalar(values[0]):
        yield from readings(values[0], depth + 1)


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
    names = [str(name) for name in data["columns"]]
    yield from _checked(data["rows"], names)
    index = data.get("index")
    if not index:
        return
    labels = [label if isinstance(label, list) else [label] for label in index]
    if len({len(label) for label in labels}) == 1:
        yield from _checked([label + row for label, row in zip(labels, data["rows"], strict=True)])
    if len(names) == 1 and all(isinstance(label, str) for label in index) and len(set(index)) == len(index):
        yield from _checked([[row[0] for row in data["rows"]]], index)


def _checked(rows: Rows | None, names: Sequence[str] | None = None, *, flat: bool = False) -> Iterator[Reading]:
    if rows is not None and all(is_scalar(cell) for row in rows for cell in row):
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
