"""Which rows of the gold equal which rows of an answer, where numbers and times are equal within limits."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from medagentgym.judges.values import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE, Value, equal_values

Row = tuple[Value, ...]
RowKey = tuple[tuple[str, object], ...]

_FEW = 16
"""Rows that are compared one by one rather than looked up."""
_FINEST = 9
"""Decimals of the finest steps in which numbers are looked up."""
_FARTHEST = 1e300
_WIDE = 2
"""And for all columns but the first."""
_NEIGHBOURS = (-1, 0, 1)
_MOST_COLUMNS = 3


def row_key(row: Row) -> RowKey:
    """The same for rows whose cells are exactly equal."""
    return tuple([(cell.kind, cell.content) for cell in row])


def equal_rows(gold: Row, answer: Row) -> bool:
    """Whether the rows are equal cell by cell, the first as the gold."""
    return len(gold) == len(answer) and all(map(equal_values, gold, answer))


class GoldRows:
    """The distinct rows of a gold, for looking up which of them an answer's row equals."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows: dict[RowKey, Row] = {row_key(row): row for row in rows}
        self._groups: dict[RowKey, _Group] | None = None

    def equal_to(self, row: Row) -> Iterator[RowKey]:
        """The keys of the rows that an answer's `row` equals, exactly or within limits."""
        if self._groups is None:
            members: dict[RowKey, list[Row]] = defaultdict(list)
            for gold in self.rows.values():
                members[_shape(gold)].append(gold)
            self._groups = {shape: _Group(rows) for shape, rows in members.items()}
        group = self._groups.get(_shape(row))
        for gold in () if group is None else group.near(row):
            if equal_rows(gold, row):
                yield row_key(gold)


def _shape(row: Row) -> RowKey:
    """The same for all rows that could be equal: the cells but for the size of numbers and the time of the day."""
    return tuple([_cell_shape(cell) for cell in row])


def _cell_shape(cell: Value) -> tuple[str, object]:
    if cell.kind == "number" or cell.kind == "clock":
        return cell.kind, None
    if cell.kind == "moment":
        return cell.kind, cell.content.date()
    return cell.kind, cell.content


class _Group:
    """Rows of one shape. Where there are many, they lie in steps of their most varied numbers: as wide as the answer's last decimal, not too fine in
    all columns but the first, and wider where the relative tolerance is much of a step. What equals a number is at most one step away.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._by_step: dict[tuple[int, ...], dict[tuple[int, ...], list[Row]]] = {}
        numbers = [position for position, cell in enumerate(rows[0]) if cell.kind == "number"] if len(rows) > _FEW else []
        varied = sorted(numbers, key=lambda position: -len({row[position].content for row in rows}))
        self._columns = varied[:_MOST_COLUMNS]
        self._largest = [max(abs(row[position].content) for row in rows) for position in self._columns]

    def near(self, row: Row) -> Iterable[Row]:
        """All rows that `row` could equal, and few others."""
        if not self._columns:
            return self._rows
        cells = [row[position] for position in self._columns]
        if any(abs(cell.content) > 2 * largest + 1 for cell, largest in zip(cells, self._largest, strict=True)):
            return ()
        finest = (_FINEST, _WIDE, _WIDE)
        steps = tuple([_decimals(cell.content, min(cell.decimals or _FINEST, most)) for cell, most in zip(cells, finest, strict=False)])
        lists = self._by_step.get(steps)
        if lists is None:
            lists = self._by_step[steps] = defaultdict(list)
            for gold in self._rows:
                lists[tuple(_step(gold[position].content, step) for position, step in zip(self._columns, steps, strict=True))].append(gold)
        places = [_step(cell.content, step) for cell, step in zip(cells, steps, strict=True)]
        near = product(*[[place + by for by in _NEIGHBOURS] for place in places])
        return [gold for step in near if step in lists for gold in lists[step]]


def _decimals(number: float, shown: int) -> int:
    """How many decimals the steps of a look-up have: those shown, or fewer where what is tolerated is more than a tenth of such a step."""
    return min(shown, math.floor(-math.log10(10 * max(RELATIVE_TOLERANCE * abs(number), ABSOLUTE_TOLERANCE))))


def _step(number: float, decimals: int) -> int:
    scaled = number * 10.0**decimals
    return math.floor(min(max(scaled, -_FARTHEST), _FARTHEST) + 0.5)
