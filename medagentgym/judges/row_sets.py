"""The strict judge of questions that a database query answers: the answer must be the gold's set of rows.

`reference["gold"]` is `{"columns": [...] | null, "rows": [[...]], "boolean": bool, "status": ..., "reason": ...}`. How an answer is read:

- The order of rows and repeated rows do not count. Every row of the gold must be in the answer and every row of the answer in the gold: no more, no
  less. Cells are compared by `medagentgym.judges.values`.
- *Shape.* `medagentgym.sandbox.answers.as_rows` reads an answer as rows: a scalar is one row, a list has one row an element, a mapping one row of key
  and value an item. Beyond that, a mapping whose keys are the names of the gold's columns is a row (or, with lists for values, the columns of a
  table), and a table that lacks just as many columns as its labelled index has gets the index in front (the counts of `value_counts()`).
- *Width.* Every row of the answer has as many cells as the gold has columns. For a gold of one column, a scalar is one row and a list of scalars is
  one row each. For a gold of one row and several columns, a flat list of that many scalars is the row.
- *Order of columns.* Where the answer names its columns and the names are the gold's, the names decide. Otherwise the position does: an answer with
  its columns swapped is another statement (a systolic pressure of 80 and a diastolic one of 120) and wrong.
- *Empty gold* (no rows, or nothing but nulls): the answer says "nothing" too, as `None`, NaN, an empty list or an empty table. 0 is not nothing.
- *Golds without columns* (`columns: null`, as stored in published task files: flat lists): the sets of all cells are compared.
- An object that is no plain data equals nothing.
- A gold that could not be computed (`status: error`) is answered correctly by nobody; the audit lists it.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medagentgym.judges.base import Evidence, Verdict
from medagentgym.judges.references import ReferenceSummary
from medagentgym.judges.values import Value, as_truth, equal_values, fold_text, reach, read_value
from medagentgym.sandbox.answers import as_rows, is_scalar, kind

Row = tuple[Value, ...]


class RowSetJudge:
    """Compares the answer with the gold as sets of rows."""

    name = "strict"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Judge one attempt by its answer alone; what it printed does not count."""
        gold = Gold.read(reference)
        if gold.error is not None:
            return _wrong(f"the reference could not be computed: {gold.error}" if gold.error else "the reference could not be computed")
        if not evidence.has_answer:
            return _wrong("no answer")
        answer = AnswerRows.read(evidence.answer, gold.columns or ())
        if answer is None:
            return _wrong("the answer cannot be read as rows of plain values")
        if gold.empty:
            return _right("nothing, as the gold") if answer.empty else _wrong(f"{_count(len(answer.rows), 'row')} where the gold is empty")
        if answer.empty:
            return _wrong(f"an empty answer where the gold has {_count(len(gold.rows), 'row')}")
        if gold.columns is None:
            return _compare(gold.cells(), answer.cells(), "value", boolean=gold.boolean)
        aligned = _align(answer, gold)
        if isinstance(aligned, str):
            return _wrong(aligned)
        return _compare(gold.rows, aligned, "row", boolean=gold.boolean)

    def summarise(self, reference: Any) -> ReferenceSummary:
        """Status and key of the gold. A yes-or-no gold of 1 and a count of 1 share their key: the answer 1 satisfies both."""
        gold = Gold.read(reference)
        if gold.error is not None:
            return ReferenceSummary("error", "error")
        if gold.empty:
            return ReferenceSummary("empty", "empty")
        rows = gold.cells() if gold.columns is None else gold.rows
        zero = all(cell.kind == "missing" or (cell.kind == "number" and cell.content == 0) for row in rows for cell in row)
        text = "\n".join(sorted({repr([cell.key for cell in row]) for row in rows}))
        return ReferenceSummary("zero" if zero else "usable", hashlib.sha256(text.encode()).hexdigest()[:16])


@dataclass(frozen=True)
class Gold:
    """The gold answer of a question."""

    columns: tuple[str, ...] | None
    rows: tuple[Row, ...]
    boolean: bool
    error: str | None
    """None, or why the gold could not be computed (which may be the empty text)."""

    @classmethod
    def read(cls, reference: Mapping[str, Any]) -> Gold:
        """Read `reference["gold"]`."""
        gold = reference["gold"]
        columns = gold.get("columns")
        failed = gold.get("status") == "error"
        return cls(
            columns=None if columns is None else tuple(str(name) for name in columns),
            rows=tuple(tuple(read_value(cell) for cell in (row if isinstance(row, (list, tuple)) else [row])) for row in gold.get("rows") or []),
            boolean=bool(gold.get("boolean", False)),
            error=" ".join(str(gold.get("reason") or "").split()) if failed else None,
        )

    @property
    def empty(self) -> bool:
        """No row, or nothing but nulls."""
        return _all_missing(self.rows)

    def cells(self) -> list[Row]:
        """Every cell as a row of its own."""
        return [(cell,) for row in self.rows for cell in row]


@dataclass(frozen=True)
class AnswerRows:
    """An answer, read as rows."""

    rows: tuple[Row, ...]
    columns: tuple[str, ...] | None = None
    """Names of the columns, where the answer names them."""
    flat: bool = False
    """Whether the answer was a scalar or a list of scalars: one cell a row, and the width is for the gold to say."""

    @classmethod
    def read(cls, data: Any, gold_columns: Sequence[str]) -> AnswerRows | None:
        """Read an answer (JSON data of `medagentgym.sandbox.answers`); None where it cannot be read as rows."""
        match kind(data):
            case "scalar":
                return cls._of([[data]], flat=True)
            case "list":
                names = _common_keys(data)
                rows = as_rows(data) if names is None else [[dict(map(tuple, row["items"]))[name] for name in names] for row in data]
                return cls._of(rows, names, flat=all(is_scalar(element) for element in data))
            case "mapping":
                named = _named_columns(data, gold_columns)
                return cls._of(as_rows(data)) if named is None else cls._of(named[1], named[0])
            case "table":
                indexed = _with_index(data, len(gold_columns))
                return cls._of(as_rows(data), data["columns"]) if indexed is None else cls._of(indexed)
            case _:
                return None

    @classmethod
    def _of(cls, rows: Sequence[Sequence[Any]] | None, columns: Sequence[Any] | None = None, *, flat: bool = False) -> AnswerRows | None:
        if rows is None or not all(is_scalar(cell) for row in rows for cell in row):
            return None
        names = None if columns is None else tuple(str(name) for name in columns)
        return cls(tuple(tuple(read_value(cell) for cell in row) for row in rows), names, flat)

    @property
    def empty(self) -> bool:
        """No row, or nothing but nulls."""
        return _all_missing(self.rows)

    def cells(self) -> list[Row]:
        """Every cell as a row of its own."""
        return [(cell,) for row in self.rows for cell in row]


def _text_keys(mapping: Any) -> list[str] | None:
    """The keys of a mapping, where they are different texts."""
    if kind(mapping) != "mapping":
        return None
    keys = [key for key, _ in mapping["items"] if isinstance(key, str)]
    return keys if len(set(keys)) == len(mapping["items"]) else None


def _common_keys(elements: Sequence[Any]) -> list[str] | None:
    """The keys that a list of mappings shares, in the order of the first; None where it is no such list."""
    keys = [_text_keys(element) for element in elements]
    if not keys or any(names is None or set(names) != set(keys[0] or ()) for names in keys):
        return None
    return keys[0]


def _named_columns(mapping: Any, gold_columns: Sequence[str]) -> tuple[list[str], list[list[Any]]] | None:
    """Names and rows of a mapping from the names of the gold's columns to one value each, or to lists of the same length."""
    keys = _text_keys(mapping)
    if not keys or _order_by_name(keys, gold_columns) is None:
        return None
    values = [value for _, value in mapping["items"]]
    if all(is_scalar(value) for value in values):
        return keys, [values]
    if all(isinstance(value, list) for value in values) and len({len(value) for value in values}) == 1:
        return keys, [list(row) for row in zip(*values, strict=True)]
    return None


def _with_index(table: Any, width: int) -> list[list[Any]] | None:
    """The rows of a table with its labelled index in front, where that makes them as wide as the gold."""
    index = [label if isinstance(label, list) else [label] for label in table.get("index") or []]
    columns = len(table["columns"])
    if columns == width or not index or {len(label) + columns for label in index} != {width}:
        return None
    return [label + row for label, row in zip(index, table["rows"], strict=True)]


def _align(answer: AnswerRows, gold: Gold) -> Sequence[Row] | str:
    """The answer's rows with the gold's columns in the gold's order, or why they have none."""
    columns = gold.columns or ()
    width = len(columns)
    if answer.flat and width > 1:
        if len(answer.rows) == width and len({_key(row) for row in gold.rows}) == 1:
            return [tuple(row[0] for row in answer.rows)]
        return f"a list of {_count(len(answer.rows), 'value')} where the gold has {_count(width, 'column')}"
    widths = {len(row) for row in answer.rows}
    if widths != {width}:
        return f"rows of {' and '.join(str(number) for number in sorted(widths))} columns where the gold has {width}"
    order = _order_by_name(answer.columns, columns)
    return answer.rows if order is None else [tuple(row[position] for position in order) for row in answer.rows]


def _order_by_name(given: Sequence[str] | None, expected: Sequence[str]) -> list[int] | None:
    """Positions in `given` of the names in `expected`; None where the names are not the same set, or one stands twice."""
    if given is None:
        return None
    given_names, expected_names = [_column_name(name) for name in given], [_column_name(name) for name in expected]
    if sorted(given_names) != sorted(expected_names) or len(set(given_names)) != len(given_names):
        return None
    return [given_names.index(name) for name in expected_names]


def _column_name(name: str) -> str:
    """A column's name without its table: `PATIENTS.GENDER` is `gender`."""
    folded = fold_text(name)
    return folded.rpartition(".")[2] if folded.replace(".", "").replace("_", "").isalnum() else folded


def _compare(gold: Sequence[Row], answer: Sequence[Row], thing: str, *, boolean: bool) -> Verdict:
    """Whether every row of each side has its equal on the other. Both sides are read as truth values where the reference is boolean."""
    if boolean or any(cell.kind == "boolean" for row in gold for cell in row):
        gold, answer = ([tuple(as_truth(cell) for cell in row) for row in rows] for rows in (gold, answer))
    gold_by_key, answer_by_key = ({_key(row): row for row in rows} for rows in (gold, answer))
    answer_index, gold_index = _RowIndex(answer_by_key.values()), _RowIndex(gold_by_key.values())
    missing = sum(
        key not in answer_by_key and not any(_equal_rows(row, other) for other in answer_index.near(row)) for key, row in gold_by_key.items()
    )
    surplus = sum(key not in gold_by_key and not any(_equal_rows(other, row) for other in gold_index.near(row)) for key, row in answer_by_key.items())
    expected, given = len(gold_by_key), len(answer_by_key)
    if not missing and not surplus:
        return _right(f"the gold's {thing}" if expected == 1 else f"the gold's {expected} distinct {thing}s and no other")
    if expected == given == 1:
        return _wrong(f"another {thing} than the gold's")
    faults = [f"{surplus} of its {given} distinct {thing}s not in the gold"] if surplus else []
    faults += [f"{missing} of the gold's {expected} distinct {thing}s missing"] if missing else []
    return _wrong("; ".join(faults))


class _RowIndex:
    """Rows by the cells that are no numbers, and there in the order of one numeric column: finds the few that may equal a row."""

    def __init__(self, rows: Iterable[Row]) -> None:
        groups: dict[Any, list[Row]] = defaultdict(list)
        for row in rows:
            groups[_shape(row)].append(row)
        self._groups: dict[Any, tuple[int | None, list[Any], list[Row]]] = {}
        for shape, members in groups.items():
            column = _most_varied_number(members)
            if column is not None:
                members.sort(key=lambda row: row[column].content)
            self._groups[shape] = column, [] if column is None else [row[column].content for row in members], members

    def near(self, row: Row) -> Sequence[Row]:
        """Every row that could equal `row`."""
        column, numbers, members = self._groups.get(_shape(row), (None, [], []))
        if column is None:
            return members
        number = row[column].content
        return members[bisect_left(numbers, number - reach(number)) : bisect_right(numbers, number + reach(number))]


def _most_varied_number(rows: Sequence[Row]) -> int | None:
    columns = [position for position, cell in enumerate(rows[0]) if cell.kind == "number"]
    return max(columns, key=lambda position: len({row[position].content for row in rows}), default=None)


def _shape(row: Row) -> tuple[Any, ...]:
    return tuple((cell.kind, None) if cell.kind == "number" else cell.key for cell in row)


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(cell.key for cell in row)


def _equal_rows(gold: Row, answer: Row) -> bool:
    return len(gold) == len(answer) and all(equal_values(expected, given) for expected, given in zip(gold, answer, strict=True))


def _all_missing(rows: Iterable[Row]) -> bool:
    return all(cell.kind == "missing" for row in rows for cell in row)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _right(reason: str) -> Verdict:
    return Verdict(True, 1.0, reason)


def _wrong(reason: str) -> Verdict:
    return Verdict(False, 0.0, reason)
