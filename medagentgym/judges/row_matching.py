"""Which rows of the gold equal which rows of an answer, where numbers and times are equal within limits."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product

from medagentgym.judges.values import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE, Precision, Value, equal_values, truncated

Row = tuple[Value, ...]
RowKey = tuple[tuple[str, object], ...]
_Precisions = tuple[Precision | None, ...]
"""Of the cells of a row: how precise its dates and times are."""

_TIMES = ("moment", "clock")
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
        self._groups: dict[_Precisions, dict[RowKey, _Group]] | None = None

    def equal_to(self, row: Row) -> Iterator[RowKey]:
        """The keys of the rows that an answer's `row` equals, exactly or within limits."""
        if self._groups is None:
            members: dict[_Precisions, dict[RowKey, list[Row]]] = defaultdict(lambda: defaultdict(list))
            for gold in self.rows.values():
                precisions = tuple([cell.precision if cell.kind in _TIMES else None for cell in gold])
                members[precisions][_shape(gold, precisions)].append(gold)
            self._groups = {precisions: {shape: _Group(rows) for shape, rows in shapes.items()} for precisions, shapes in members.items()}
        for precisions, groups in self._groups.items():
            group = groups.get(_shape(row, precisions)) if len(row) == len(precisions) else None
            for gold in () if group is None else group.near(row):
                if equal_rows(gold, row):
                    yield row_key(gold)


def covered_rows(gold: Iterable[RowKey], equal: Mapping[RowKey, Collection[RowKey]], room: Mapping[RowKey, int]) -> set[RowKey]:
    """The rows of the gold, the first ones first, that have a row of the answer each. `equal`: the gold's rows that a row of the answer equals;
    `room`: for how many of them it is there."""
    cover = _Cover(equal, room)
    return {key for key in gold if cover.reaches(key)}


class _Cover:
    """Which row of the answer is there for which of the gold's, in a matching that grows by one row of the gold at a time."""

    def __init__(self, equal: Mapping[RowKey, Collection[RowKey]], room: Mapping[RowKey, int]) -> None:
        self._room = room
        self._given_for: dict[RowKey, list[RowKey]] = defaultdict(list)
        for given, keys in equal.items():
            for key in keys:
                self._given_for[key].append(given)
        self._taken: dict[RowKey, set[RowKey]] = {given: set() for given in equal}
        self._holder: dict[RowKey, RowKey] = {}
        self._full: set[RowKey] = set()
        """Rows of the answer from which no way leads to one that has room; none ever will."""

    def reaches(self, key: RowKey) -> bool:
        """Whether a row of the answer is there for this row of the gold, if need be after others have moved on to another row of the answer."""
        if key in self._holder:
            return True
        came_from: dict[RowKey, RowKey] = {}
        waiting = deque([key])
        while waiting:
            moving = waiting.popleft()
            for given in self._given_for.get(moving, ()):
                if given in came_from or given in self._full:
                    continue
                came_from[given] = moving
                if len(self._taken[given]) < self._room[given]:
                    self._move(given, came_from)
                    return True
                waiting.extend(self._taken[given])
        self._full.update(came_from)
        return False

    def _move(self, given: RowKey, came_from: Mapping[RowKey, RowKey]) -> None:
        while True:
            moving = came_from[given]
            before = self._holder.get(moving)
            self._holder[moving] = given
            self._taken[given].add(moving)
            if before is None:
                return
            self._taken[before].remove(moving)
            given = before


def _shape(row: Row, precisions: _Precisions) -> RowKey:
    """The same for all rows that could be equal: the cells but for the size of numbers, and times to a precision."""
    return tuple([_cell_shape(cell, precision) for cell, precision in zip(row, precisions, strict=True)])


def _cell_shape(cell: Value, precision: Precision | None) -> tuple[str, object]:
    if cell.kind == "number":
        return cell.kind, None
    if cell.kind in _TIMES and precision is not None:
        return cell.kind, truncated(cell, precision)
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
        steps = tuple([_decimals(cell.content, min(_shown(cell), most)) for cell, most in zip(cells, finest, strict=False)])
        lists = self._by_step.get(steps)
        if lists is None:
            lists = self._by_step[steps] = defaultdict(list)
            for gold in self._rows:
                lists[tuple(_step(gold[position].content, step) for position, step in zip(self._columns, steps, strict=True))].append(gold)
        places = [_step(cell.content, step) for cell, step in zip(cells, steps, strict=True)]
        near = product(*[[place + by for by in _NEIGHBOURS] for place in places])
        return [gold for step in near if step in lists for gold in lists[step]]


def _shown(cell: Value) -> int:
    """How many decimals a number shows, in the unit of the gold."""
    if not cell.decimals:
        return _FINEST
    return cell.decimals if cell.shown_in == 1 else math.floor(cell.decimals - math.log10(cell.shown_in))


def _decimals(number: float, shown: int) -> int:
    """How many decimals the steps of a look-up have: those shown, or fewer where what is tolerated is more than a tenth of such a step."""
    return min(shown, math.floor(-math.log10(10 * max(RELATIVE_TOLERANCE * abs(number), ABSOLUTE_TOLERANCE))))


def _step(number: float, decimals: int) -> int:
    scaled = number * 10.0**decimals
    return math.floor(min(max(scaled, -_FARTHEST), _FARTHEST) + 0.5)
