"""Which answers a query may give where `ORDER BY ... LIMIT` leaves a tie, so that a question with one does not hang on the order of rows in a file.

EHRSQL asks for "the last drug" or "the name of the diagnosis that patient ... first received" with `ORDER BY time LIMIT 1`, where several rows share
that time: every one of them is a right answer (https://github.com/glee4810/EHRSQL, changelog of version 1.5). A tie in the query itself leaves open
which of the tied rows belong to the result. A tie in a sub-query is followed outwards: the query is run once for each of the tied rows, written into
it in place of the sub-query. Equal sub-queries choose equally.

What cannot be followed is a reason not to judge by the answer: a tie in a sub-query that refers to the query around it and decides the result; more
than `MOST_ANSWERS` possible answers; a yes-or-no question that a tie leaves open; a result that is another one where SQLite visits rows in reverse
(which it cannot be made to do within groups: a column beside its group, which SQLite takes from any row, is not noticed).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations, groupby, islice
from typing import Any

from medagentgym.ehr.sql import Select, Token, literal_select, significant, sub_selects, text_of, tokens_of

Row = tuple[Any, ...]

MOST_ANSWERS = 200
MOST_TIED_ROWS = 1000
_MOST_REPLACED_ROWS = 100
"""Rows of a sub-query that are written into the query in its place."""
_MAY_DEPEND_ON_ORDER = {"limit", "group", "group_concat"}
"""Words without which the result of a query cannot depend on the order of rows."""
_PROGRESS_STEPS = 1_000_000


@dataclass(frozen=True)
class PossibleAnswer:
    """A result that a query may have: `rows`, and where a tie is left `pick` of the rows in `among`."""

    rows: tuple[Row, ...]
    among: tuple[Row, ...] = ()
    pick: int = 0

    def to_json(self, plain: Callable[[Any], Any]) -> dict[str, Any]:
        """The answer as one of a gold's `alternatives`; `plain` makes JSON data of a value."""
        rows, among = ([[plain(value) for value in row] for row in rows] for rows in (self.rows, self.among))
        return {"rows": rows, "among": among, "pick": self.pick} if self.pick else {"rows": rows}

    def holds(self, rows: Sequence[Row]) -> bool:
        """Whether `rows` are this answer."""
        given, needed = _as_set(rows), _as_set(self.rows)
        return needed <= given <= needed | _as_set(self.among) and len(given - needed) <= self.pick


class UndeterminedError(Exception):
    """The result of a query is not determined, in a way that cannot be followed. The text says why."""


class StepCounter:
    """Steps of SQLite's virtual machine."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.steps = 0

    @property
    def up(self) -> bool:
        """Whether there were more than the limit."""
        return self.steps > self.limit

    def count(self) -> bool:
        """Count the next million steps; true where that were too many."""
        self.steps += _PROGRESS_STEPS
        return self.up


@contextmanager
def limited_steps(connection: sqlite3.Connection, limit: int) -> Iterator[StepCounter]:
    """Within, statements of the connection are interrupted (`sqlite3.OperationalError`) after `limit` steps of SQLite's virtual machine in all."""
    counter = StepCounter(limit)
    connection.set_progress_handler(counter.count, min(_PROGRESS_STEPS, limit))
    try:
        yield counter
    finally:
        connection.set_progress_handler(None, 0)


def possible_answers(connection: sqlite3.Connection, sql: str, rows: Sequence[Row]) -> list[PossibleAnswer]:
    """The results that the query `sql` may have beside `rows`, which SQLite gave; none where there is no tie.

    Raises `UndeterminedError` where ties cannot be followed, and `sqlite3.Error`.
    """
    tokens = tokens_of(sql)
    words = significant(tokens)
    if not _MAY_DEPEND_ON_ORDER.intersection(words):
        return []
    answers: list[PossibleAnswer] = []
    if "limit" in words:
        for number, variant in enumerate(_frozen(connection, tokens)):
            if number >= MOST_ANSWERS:
                raise UndeterminedError(f"more than {MOST_ANSWERS} possible answers")
            answer = _answer(connection, variant)
            if answer not in answers:
                answers.append(answer)
        if not any(answer.holds(rows) for answer in answers):
            raise UndeterminedError("a choice among rows of equal rank that cannot be followed")
    if not _holds_reversed(connection, sql, answers or [PossibleAnswer(tuple(rows))]):
        raise UndeterminedError("the result depends on the order in which rows are stored")
    return [answer for answer in answers if answer.pick or not answer.holds(rows)]


def ranks_of(connection: sqlite3.Connection, select: Select) -> tuple[int, ...]:
    """The rank of each row of a SELECT's result, counted from 0; rows of equal keys share theirs."""
    width = len(select.results)
    last = None if select.limit is None else select.offset + select.limit
    ranks: list[int] = []
    seen: set[Row] = set()
    for rank, (_, group) in enumerate(groupby(connection.execute(select.with_keys()), key=lambda row: row[width:])):
        for row in group:
            if not select.distinct or row[:width] not in seen:
                seen.add(row[:width])
                ranks.append(rank)
        if last is not None and len(ranks) >= last:
            break
    return tuple(ranks[select.offset : last])


def _frozen(connection: sqlite3.Connection, tokens: Sequence[Token], kept: frozenset[str] = frozenset()) -> Iterator[list[Token]]:
    """The query in every form in which each sub-query with a limit is replaced by one of its possible results; those in `kept` stay as they are."""
    for begin, end in sub_selects(tokens):
        inner = tokens[begin:end]
        text = text_of(inner)
        if text in kept:
            continue
        select = Select.parse(inner)
        if select is None or select.limit is None:
            if "limit" in _outer(inner):
                raise UndeterminedError("a limit of rows in a sub-query that cannot be followed")
            continue
        try:
            results = _results(_tied(connection, select))
        except sqlite3.OperationalError as error:
            if "no such column" not in str(error):
                raise
            _require_no_effect(connection, tokens, begin, end, select)
            yield from _frozen(connection, tokens, kept | {text})
            return
        for result in results:
            if not result or len(result) > _MOST_REPLACED_ROWS:
                yield from _frozen(connection, tokens, kept | {text})
                continue
            replacement = tokens_of(literal_select(select.names, result))
            yield from _frozen(connection, _replaced(tokens, text, replacement), kept)
        return
    yield list(tokens)


def _outer(tokens: Sequence[Token]) -> list[str]:
    """The words that stand in no parentheses."""
    depth = 0
    words = []
    for word in significant(tokens):
        depth += (word == "(") - (word == ")")
        if depth == 0:
            words.append(word)
    return words


def _replaced(tokens: Sequence[Token], text: str, replacement: Sequence[Token]) -> list[Token]:
    """The query with every sub-query of this text replaced."""
    output = list(tokens)
    for begin, end in sorted(sub_selects(tokens), reverse=True):
        if text_of(tokens[begin:end]) == text:
            output[begin:end] = replacement
    return output


def _require_no_effect(connection: sqlite3.Connection, tokens: Sequence[Token], begin: int, end: int, select: Select) -> None:
    """For a sub-query that refers to the query around it: breaking its ties one way or the other must give the same result."""
    results = []
    for direction in ("asc", "desc"):
        broken = [*tokens[:begin], *tokens_of(f" {select.then_by_result(direction)} "), *tokens[end:]]
        results.append(_as_set(connection.execute(text_of(broken)).fetchall()))
    if results[0] != results[1]:
        raise UndeterminedError("rows of equal rank in a sub-query for each row")


def _answer(connection: sqlite3.Connection, tokens: Sequence[Token]) -> PossibleAnswer:
    select = Select.parse(tokens)
    if select is not None and select.limit is not None:
        return _tied(connection, select)
    if "limit" in _outer(tokens):
        raise UndeterminedError("a limit of rows that cannot be followed")
    return PossibleAnswer(tuple(connection.execute(text_of(tokens)).fetchall()))


def _tied(connection: sqlite3.Connection, select: Select) -> PossibleAnswer:
    """The result of a SELECT with a limit: the rows that belong to it in any case, and those of which a tie leaves some open.

    Rows belong to it by their position in the order; those of the groups of equal keys that the limit (or the offset) cuts are tied.
    """
    assert select.limit is not None
    begin, end = select.offset, select.offset + select.limit
    width = len(select.results)
    if select.has_star:
        raise UndeterminedError("a limit of rows with all columns of a table")
    must: list[Row] = []
    tied: list[tuple[int, list[Row]]] = []
    position = 0
    seen: set[Row] = set()
    for _, group in groupby(connection.execute(select.with_keys()), key=lambda row: row[width:]):
        rows = []
        for row in group:
            result = tuple(row[:width])
            if select.distinct:
                if result in seen:
                    continue
                seen.add(result)
            rows.append(result)
            if len(rows) > MOST_TIED_ROWS and position + len(rows) > end:
                raise UndeterminedError(f"more than {MOST_TIED_ROWS:,} rows of equal rank")
        inside = min(position + len(rows), end) - max(position, begin)
        if inside > 0 and (inside == len(rows) or len(set(rows)) == 1):
            must += rows[:inside]
        elif inside > 0:
            tied.append((inside, rows))
        position += len(rows)
        if position >= end:
            break
    if len(tied) > 1:
        raise UndeterminedError("rows of equal rank at both ends of a limit")
    pick, among = tied[0] if tied else (0, [])
    return PossibleAnswer(tuple(must), tuple(sorted(among, key=repr)), pick)


def _results(answer: PossibleAnswer) -> list[list[Row]]:
    """The possible results, tied rows chosen."""
    if not answer.pick:
        return [list(answer.rows)]
    distinct = list(dict.fromkeys(answer.among))
    chosen = list(islice(combinations(distinct, min(answer.pick, len(distinct))), MOST_ANSWERS + 1))
    if len(chosen) > MOST_ANSWERS:
        raise UndeterminedError(f"more than {MOST_ANSWERS} possible answers")
    return [[*answer.rows, *rows] for rows in chosen]


def _holds_reversed(connection: sqlite3.Connection, sql: str, answers: Sequence[PossibleAnswer]) -> bool:
    """Whether the query gives one of the answers when SQLite visits unordered rows in reverse."""
    connection.execute("PRAGMA reverse_unordered_selects = ON")
    try:  # the comment keeps the statement apart from the one that was compiled without the pragma
        rows = connection.execute(f"{sql} /* reversed */").fetchall()
    finally:
        connection.execute("PRAGMA reverse_unordered_selects = OFF")
    return any(answer.holds(rows) for answer in answers)


def _as_set(rows: Sequence[Row]) -> set[Row]:
    """Rows as a set, sums of fractions without the noise of their order."""
    return {tuple(float(f"{value:.9g}") if isinstance(value, float) else value for value in row) for row in rows}
