"""The strict judge of questions that a database query answers: the answer must be the gold's set of rows, no more and no less.

What counts as the answer is said in `medagentgym.judges.final_answer`, how it is read as rows in `medagentgym.judges.readings`, when two cells are
equal in `medagentgym.judges.values` and `medagentgym.judges.columns`. `docs/judges.md` has the rules in one table. `reference["gold"]`:

| key | |
|---|---|
| `columns` | names of the gold's columns; null: a flat list of values, whose sets are compared |
| `rows` | the rows |
| `status`, `reason` | `error`: could not be computed, and why; such a gold is answered correctly by nobody |
| `boolean` | whether the SQL asks for a yes or no |
| `impossible` | the database cannot answer the question: only an abstention is right, and it is right nowhere else |
| `units` | the unit of each column's numbers, or null |
| `percent` | `fraction` or `percentage`: the numbers are shares written so, and the other form is right, too; null: they are not |
| `ordered` | null, or the rank of each row: rows of a higher rank must not come before rows of a lower one |
| `alternatives` | other right answers: `rows` (and `ordered`), and where a tie leaves open which rows belong to them, `pick` of those in `among` |

- Rows are compared as sets: repeated rows do not count. Every distinct row of the gold has a row of the answer to itself; where rounding makes rows
  of the gold alike, the answer repeats the rounded row for each of them, and not more often than the gold does.
- Columns may come in another order. A column that the answer gives the name of one of the gold's is that one. So is one whose name says in other
  words that it is the minimum, the mean, the last and so on (`medagentgym.judges.columns.PARTS`), where one column of either side says so. The others
  may be permuted where one permutation, the same for all rows, makes the sets of rows equal. Two unnamed numbers in the wrong order (blood pressures)
  are therefore right; under names that say which is which they are wrong.
- A gold without rows, or of nothing but nulls, is answered by "nothing": `None`, NaN, an empty list or table, or words for it
  (`medagentgym.judges.nothing`). 0 and False are not nothing.
- An object that is no plain data equals nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from medagentgym.judges.base import Evidence, Verdict
from medagentgym.judges.columns import PARTS, Column, Share, columns_of, parts_of, plain_name
from medagentgym.judges.final_answer import NO_ANSWER, final_answer
from medagentgym.judges.gold_keys import gold_keys
from medagentgym.judges.readings import Reading, readings
from medagentgym.judges.references import KEY_SEPARATOR, ReferenceStatus, ReferenceSummary
from medagentgym.judges.row_matching import GoldRows, Row, RowKey, covered_rows, row_key
from medagentgym.judges.values import Value, number_value, read_value

_MOST_PERMUTATIONS = 50
_FEWEST_PERMUTATIONS = 6
"""All orders of three columns, whatever the number of rows."""
_MOST_PERMUTED_ROWS = 500_000


class RowSetJudge:
    """Compares the answer with the gold as sets of rows."""

    name = "strict"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Judge one attempt."""
        gold = Gold.read(reference)
        if evidence.abstained or gold.impossible:
            return _judge_abstention(gold, evidence)
        if gold.error is not None:
            return _wrong(f"the reference could not be computed: {gold.error}" if gold.error else "the reference could not be computed")
        answer = final_answer(evidence)
        if answer is NO_ANSWER:
            return _wrong("no answer")
        reason = None
        for reading in readings(answer):
            for accepted in gold.accepted:
                verdict = accepted.judge(reading)
                if verdict.correct:
                    return verdict
                reason = reason or verdict.reason
        return _wrong(reason or "the answer cannot be read as rows of plain values")

    def summarise(self, reference: Any) -> ReferenceSummary:
        """Status and keys of the gold (`medagentgym.judges.gold_keys`).

        Where several answers are right, one that says "nothing" or nothing but zeros makes the whole gold `empty` or `zero`.
        """
        gold = Gold.read(reference)
        if gold.impossible:
            return ReferenceSummary("impossible", "impossible")
        if gold.error is not None:
            return ReferenceSummary("error", "error")
        statuses = [accepted.status for accepted in gold.accepted]
        status = next(status for status in _SEVEREST_FIRST if status in statuses)
        keys = dict.fromkeys(key for accepted in gold.accepted for key in accepted.answer_keys())
        return ReferenceSummary(status, KEY_SEPARATOR.join(keys))


_SEVEREST_FIRST: tuple[ReferenceStatus, ...] = ("empty", "zero", "usable")


@dataclass(frozen=True)
class Gold:
    """The gold answer of a question."""

    accepted: tuple[Accepted, ...]
    """The right answers, the one that the gold SQL gave first."""
    error: str | None = None
    """None, or why the gold could not be computed (which may be the empty text)."""
    impossible: bool = False

    @classmethod
    def read(cls, reference: Mapping[str, Any]) -> Gold:
        """Read `reference["gold"]`."""
        gold = reference["gold"]
        if gold.get("status") == "error":
            return cls((), error=" ".join(str(gold.get("reason") or "").split()))
        if gold.get("impossible"):
            return cls((), impossible=True)
        columns = columns_of(gold)
        boolean = bool(gold.get("boolean", False)) or any(isinstance(cell, bool) for row in gold.get("rows") or () for cell in _cells(row))
        if boolean and columns is not None:
            columns = tuple(replace(column, boolean=True) for column in columns)
        answers = [Accepted.read(form, columns, boolean) for form in (gold, *(gold.get("alternatives") or ()))]
        return cls(tuple(form for answer in answers for form in answer.forms()))


@dataclass(frozen=True)
class Accepted:
    """One right answer: `rows`, and `pick` of the rows in `among`."""

    columns: tuple[Column, ...] | None
    rows: tuple[Row, ...]
    among: tuple[Row, ...] = ()
    pick: int = 0
    ranks: tuple[int, ...] | None = None
    """The rank of each of `rows`, where their order counts; those in `among` come after them."""
    cell: Column = field(default_factory=Column)
    """How the cells of a flat list are read (`columns` is None)."""

    @classmethod
    def read(cls, form: Mapping[str, Any], columns: tuple[Column, ...] | None, boolean: bool) -> Accepted:
        """Read a gold or one of its alternatives."""
        cell = Column(boolean=boolean)
        rows, among = (tuple(_typed_rows(form.get(name) or (), columns, cell, verbatim=columns is not None)) for name in ("rows", "among"))
        ranks = form.get("ordered")
        pick = int(form.get("pick") or 0)
        if columns is None:
            rows = tuple((value,) for row in rows for value in row)
        return cls(columns, rows, among, pick, None if columns is None or ranks is None else tuple(ranks), cell)

    def forms(self) -> Iterator[Accepted]:
        """This answer, and where its numbers are shares the same ones in their other form."""
        yield self
        share = self.columns[0].share if self.columns and len(self.columns) == 1 else None
        if share is not None and any(cell.kind == "number" for row in self.rows + self.among for cell in row):
            column = Column(self.columns[0].name) if self.columns else Column()
            rows, among = (tuple((_other_form(row[0], share),) for row in rows) for rows in (self.rows, self.among))
            yield Accepted((column,), rows, among, self.pick, self.ranks)

    # --- judging ------------------------------------------------------------------------------------------------------------------------------------

    def judge(self, reading: Reading) -> Verdict:
        """Whether a reading of an answer is this answer."""
        if self.says_nothing:
            return _right("nothing, as the gold") if reading.is_nothing else _wrong(f"{_count(len(reading.rows), 'row')} where the gold is empty")
        if self.columns is None:
            values = _read_cells([value for row in reading.rows for value in row])
            return self._compare([(value,) for value in _read_as(self.cell, values)], "value")
        if not reading.rows and self._may_be_null:
            reading = Reading([[None] * len(self.columns)])
        shaped = self._shaped(reading)
        if isinstance(shaped, str):
            return _wrong(shaped)
        rows = _read_rows(shaped.rows)
        if not self._may_be_null and all(cell.kind == "missing" for row in rows for cell in row):
            return _wrong(f"an empty answer where the gold has {_count(len(self._gold.rows), 'row')}")
        first = None
        for order in self._orders(shaped.names, rows):
            verdict = self._compare(self._ordered_as(rows, order), "row")
            if verdict.correct:
                return verdict
            first = first or verdict
        return first or _wrong("columns that cannot be the gold's")

    @property
    def says_nothing(self) -> bool:
        """No row, or nothing but nulls."""
        return not self.pick and all(cell.kind == "missing" for row in self.rows for cell in row)

    @property
    def _may_be_null(self) -> bool:
        """Whether one of the rows is nothing but nulls."""
        return any(all(cell.kind == "missing" for cell in row) for row in self.rows + self.among)

    @property
    def status(self) -> ReferenceStatus:
        """`empty`, `zero` or `usable`; where one row is to be picked, what the least usable of them is."""
        choices = [[row] for row in self.among] if self.pick == 1 and not self.rows else [self.rows + self.among]
        statuses = list(map(_status, choices))
        return next(status for status in _SEVEREST_FIRST if status in statuses)

    def answer_keys(self) -> Iterable[str]:
        """The keys of answers that are this one."""
        return gold_keys(self.rows, self.among, self.pick, flat=self.columns is None)

    @cached_property
    def _must(self) -> GoldRows:
        return GoldRows(self.rows)

    @cached_property
    def _gold(self) -> GoldRows:
        return GoldRows(self.rows + self.among)

    @cached_property
    def _entries(self) -> Counter[RowKey]:
        """How often each row stands in `among`."""
        return Counter(map(row_key, self.among))

    def _shaped(self, reading: Reading) -> Reading | str:
        """The reading with as many columns as the gold, or why it has not."""
        width = len(self.columns or ())
        if not reading.rows:
            return f"an empty answer where the gold has {_count(len(self._gold.rows), 'row')}"
        if reading.flat and width > 1:
            if len(reading.rows) == width and len({row_key(row) for row in self.rows}) + self.pick == 1:
                return Reading([[row[0] for row in reading.rows]])
            return f"a list of {_count(len(reading.rows), 'value')} where the gold has {_count(width, 'column')}"
        if reading.widths != {width}:
            given = " and ".join(str(number) for number in sorted(reading.widths))
            return f"rows of {given} columns where the gold has {width}"
        return reading

    def _orders(self, names: Sequence[str] | None, rows: Sequence[Row]) -> Iterator[tuple[int, ...]]:
        """For each column of the gold the position of the answer's column that may be it: as they stand first, then every order that may be right."""
        columns = self.columns or ()
        width = len(columns)
        pinned = self._pinned(names, rows) if width > 1 else {}
        as_they_stand = _fill(pinned, width)
        yield as_they_stand
        if width == 1 or len(pinned) == width:
            return
        fits = {ours: self._fitting(ours, [pinned[ours]] if ours in pinned else range(width), rows) for ours in range(width)}
        for tried, order in enumerate(_permutations(width, fits)):
            if order != as_they_stand:
                yield order
            if tried >= _MOST_PERMUTATIONS or (tried >= _FEWEST_PERMUTATIONS and tried * len(rows) > _MOST_PERMUTED_ROWS):
                return

    def _pinned(self, names: Sequence[str] | None, rows: Sequence[Row]) -> dict[int, int]:
        """Position of a column of the gold -> position of the answer's column that its name makes that one."""
        if names is None:
            return {}
        columns = self.columns or ()
        given, expected = [plain_name(name) for name in names], [column.plain_name for column in columns]
        pinned = {ours: given.index(str(name)) for ours, name in enumerate(expected) if given.count(str(name)) == expected.count(name) == 1}
        of_given, of_expected = ([parts_of(str(name)) for name in of] for of in (names, (column.name for column in columns)))
        for part in PARTS:
            ours, theirs = ([position for position, parts in enumerate(of) if part in parts] for of in (of_expected, of_given))
            if not len(ours) == len(theirs) == 1 == len(of_expected[ours[0]]) == len(of_given[theirs[0]]):
                continue
            alike = _kinds(self.rows + self.among, ours[0]) & _kinds(rows, theirs[0])  # `max_drug` beside `n` is no maximum of a number
            if alike and ours[0] not in pinned and theirs[0] not in pinned.values():
                pinned[ours[0]] = theirs[0]
        return pinned

    def _fitting(self, position: int, candidates: Iterable[int], rows: Sequence[Row]) -> list[int]:
        """The columns of the answer whose every value is one of a column of the gold."""
        column = (self.columns or ())[position]
        gold = GoldRows((row[position],) for row in self.rows + self.among)
        fitting = []
        for candidate in candidates:
            given = {row_key((row[candidate],)): row[candidate] for row in rows}
            values = ((column.read(value),) for value in given.values())
            if all(row_key(value) in gold.rows or any(gold.equal_to(value)) for value in values):
                fitting.append(candidate)
        return fitting

    def _ordered_as(self, rows: Sequence[Row], order: Sequence[int]) -> Sequence[Row]:
        """The answer's rows with the gold's columns in the gold's order, each cell read as its column reads it."""
        columns = self.columns or ()
        stays = list(order) == list(range(len(columns)))
        if not any(column.reads_values for column in columns):
            return rows if stays else [tuple([row[position] for position in order]) for row in rows]
        cells = list(zip(*rows, strict=True))
        return list(zip(*(_read_as(column, cells[position]) for column, position in zip(columns, order, strict=True)), strict=True))

    def _compare(self, answer: Sequence[Row], thing: str) -> Verdict:
        """Whether every row of each side has its equal on the other."""
        keys = list(map(row_key, answer))
        answer_by_key = dict(zip(keys, answer, strict=True))
        exact = [key for key in answer_by_key if key in self._gold.rows]
        equal: dict[RowKey, set[RowKey]] = {key: {key} for key in exact}
        for key, row in answer_by_key.items():
            if key not in equal:
                equal[key] = set(self._gold.equal_to(row))
        surplus = [key for key, keys in equal.items() if not keys]
        found = set[RowKey]().union(*equal.values())
        if not surplus and not self._must.rows.keys() <= found:  # a row that is one of the gold's exactly may, repeated, stand for others as well
            for key in exact:
                equal[key].update(self._gold.equal_to(answer_by_key[key]))
            found = found.union(*equal.values())
        missing = self._must.rows.keys() - found
        expected, given = len(self._must.rows) + self.pick, len(answer_by_key)
        if missing or surplus:
            if expected == given == 1:
                return _wrong(f"another {thing} than the gold's")
            faults = [f"{len(surplus)} of its {given} distinct {thing}s not in the gold"] if surplus else []
            faults += [f"{len(missing)} of the gold's {expected} distinct {thing}s missing"] if missing else []
            return _wrong("; ".join(faults))
        covered = self._covered(equal, Counter(keys))
        if not self._must.rows.keys() <= covered:
            return _wrong(f"{_count(given, f'distinct {thing}')} where the gold has {expected}")
        picked = {key for key, keys in equal.items() if not keys & self._must.rows.keys()}
        available = sum(count for key, count in self._entries.items() if key in covered or key in self._must.rows)
        if not len(picked) <= self.pick <= available:
            return _wrong(f"{_count(len(picked), thing)} of those that share a rank, where {self.pick} belong to the answer")
        if self.ranks is not None and not self._in_order(answer, equal):
            return _wrong(f"the gold's {thing}s in another order")
        return _right(f"the gold's {thing}" if expected == 1 else f"the gold's {given} distinct {thing}s and no other")

    def _covered(self, equal: Mapping[RowKey, set[RowKey]], given: Counter[RowKey]) -> set[RowKey]:
        """The gold's rows that have a row of the answer to themselves, as many as can. `given`: how often the answer has each of its rows.

        A rounded row that equals several of the gold's is there for as many of them as it is repeated, as rounding the gold's rows repeats it. Where
        it is repeated more often than that, its number says nothing, and it is there for one.
        """
        if all(len(keys) == 1 for keys in equal.values()):
            return set[RowKey]().union(*equal.values())
        of_gold = Counter(map(row_key, self.rows))
        most = {
            key: sum(of_gold[other] for other in keys) + min(self.pick, sum(self._entries[other] for other in keys)) for key, keys in equal.items()
        }
        room = {key: given[key] if given[key] <= most[key] else 1 for key in equal}
        return covered_rows([*self._must.rows, *(key for key, _ in self._entries.most_common())], equal, room)

    def _in_order(self, answer: Sequence[Row], equal: Mapping[RowKey, set[RowKey]]) -> bool:
        """Whether the answer's rows can be read off the gold from lower to higher ranks."""
        assert self.ranks is not None
        ranks: dict[RowKey, set[int]] = {key: {max(self.ranks, default=0) + 1} for key in map(row_key, self.among)}
        for row, rank in zip(self.rows, self.ranks, strict=True):
            ranks.setdefault(row_key(row), set()).add(rank)
        reached = min(self.ranks, default=0)
        for row in answer:
            possible = [rank for key in equal[row_key(row)] for rank in ranks[key] if rank >= reached]
            if not possible:
                return False
            reached = min(possible)
        return True


def _status(rows: Sequence[Row]) -> ReferenceStatus:
    values = [cell for row in rows for cell in row if cell.kind != "missing"]
    if not values:
        return "empty"
    return "zero" if all(cell.content in (0, False) and cell.kind in ("number", "boolean") for cell in values) else "usable"


def _judge_abstention(gold: Gold, evidence: Evidence) -> Verdict:
    if not gold.impossible:
        return _wrong("an abstention where the database holds the answer")
    if evidence.abstained:
        return _right("an abstention, and the database cannot answer the question")
    if final_answer(evidence) is NO_ANSWER:
        return _wrong("no answer and no abstention")
    return _wrong("an answer to a question that the database cannot answer")


def _cells(row: Any) -> Sequence[Any]:
    return row if isinstance(row, (list, tuple)) else [row]


def _typed_rows(rows: Iterable[Any], columns: Sequence[Column] | None, cell: Column, *, verbatim: bool = False) -> Iterator[Row]:
    for row in rows:
        values = list(map(_read_verbatim if verbatim else read_value, _cells(row)))
        if columns is None or len(columns) != len(values):
            yield tuple([cell.read(value) for value in values])
        else:
            yield tuple([column.read(value) for column, value in zip(columns, values, strict=True)])


def _read_verbatim(raw: Any) -> Value:
    """A cell of the database: a number that it holds as a text is not rounded."""
    value = read_value(raw)
    return replace(value, verbatim=True) if value.kind == "number" and isinstance(raw, str) else value


def _read_rows(rows: Sequence[Sequence[Any]]) -> list[Row]:
    """The cells of rows of one width."""
    if rows and len(rows[0]) == 1:
        return [(value,) for value in _read_cells([row[0] for row in rows])]
    return list(zip(*map(_read_cells, zip(*rows, strict=True)), strict=True))


def _read_cells(cells: Sequence[Any]) -> list[Value]:
    """The cells of a column, each that is there often read once; a `True` is no 1."""
    typed = list(zip(map(type, cells), cells, strict=True))
    values = {cell: read_value(cell[1]) for cell in set(typed)}
    return [values[cell] for cell in typed]


def _read_as(column: Column, cells: Sequence[Value]) -> Sequence[Value]:
    """The cells as the column reads them."""
    if not column.reads_values:
        return cells
    values = {id(cell): column.read(cell) for cell in {id(cell): cell for cell in cells}.values()}
    return [values[id(cell)] for cell in cells]


def _other_form(value: Value, share: Share) -> Value:
    """A share's number in its other form: a fraction as a percentage, or the other way round."""
    if value.kind != "number":
        return value
    return number_value(float(value.content) * (100 if share == "fraction" else 0.01))


def _kinds(rows: Sequence[Row], position: int) -> set[str]:
    return {row[position].kind for row in rows}


def _fill(pinned: Mapping[int, int], width: int) -> tuple[int, ...]:
    """The pinned positions, and the others as they stand."""
    free = iter(sorted(set(range(width)) - set(pinned.values())))
    return tuple(pinned[position] if position in pinned else next(free) for position in range(width))


def _permutations(width: int, fits: Mapping[int, Sequence[int]], chosen: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Every order in which each column of the gold gets a column of the answer that fits it."""
    if len(chosen) == width:
        yield chosen
        return
    for theirs in fits[len(chosen)]:
        if theirs not in chosen:
            yield from _permutations(width, fits, (*chosen, theirs))


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _right(reason: str) -> Verdict:
    return Verdict(True, 1.0, reason)


def _wrong(reason: str) -> Verdict:
    return Verdict(False, 0.0, reason)
