"""Keys that tell which golds one and the same answer satisfies: those that share a key.

An answer that satisfies a gold is the gold itself or a rounded form of it; a gold with a tie is satisfied by every choice among the tied rows. Each
of these answers has a key, in which neither the order of rows and columns nor repeated rows count, truth values are the numbers 1 and 0, and a single
row of several values is the list of those values. The best constant answer is the key that most golds have: the floor of a task.

Two golds may share an answer without sharing a key only where one is a date and the other a time of that day, where a row repeats a value, where
a tie leaves more than `MOST_CHOICES` choices, and where an answer is rounded in another unit of time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import combinations, islice, permutations

from medagentgym.judges.row_matching import Row
from medagentgym.judges.values import FEWEST_DECIMALS, Value, equal_values, number_value

MOST_CHOICES = 200
EMPTY = "empty"
_MOST_DECIMALS = 9
_MOST_ROUNDED_ROWS = 500
"""Rows beyond which only the exact answer has a key: nobody guesses them."""
_MOST_PERMUTED = 4
"""Columns up to which rows have the same key in whatever order their columns stand."""


def gold_keys(rows: Sequence[Row], among: Sequence[Row], pick: int, *, flat: bool) -> list[str]:
    """The keys of a right answer: `rows` and `pick` of those in `among`, exact and rounded. `flat`: a list of values whose columns are not known."""
    keys = []
    for chosen in islice(combinations(_distinct(among), pick), MOST_CHOICES) if pick else [()]:
        answer = [*rows, *chosen]
        if all(cell.kind == "missing" for row in answer for cell in row):
            keys.append(EMPTY)
            continue
        for form in _forms(answer):
            keys.append(_digest(_text(form)))
            if len({_spelled(row) for row in form}) == 1 and len(form[0]) > 1 and not flat and len(set(map(_spell, form[0]))) == len(form[0]):
                keys.append(_digest(_text([(cell,) for cell in form[0]])))
    return list(dict.fromkeys(keys))


def _distinct(rows: Sequence[Row]) -> list[Row]:
    return list({_spelled(row): row for row in rows}.values())


def _forms(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The rows as they are, and with their numbers rounded to each number of decimals at which they still count as equal."""
    yield rows
    if len(rows) > _MOST_ROUNDED_ROWS:
        return
    shown = max((cell.decimals for row in rows for cell in row if isinstance(cell.content, float)), default=0)
    for decimals in range(FEWEST_DECIMALS, min(shown, _MOST_DECIMALS + 1)):
        for towards in (1, -1):
            yield [tuple([_rounded(cell, decimals, towards) for cell in row]) for row in rows]


def _rounded(cell: Value, decimals: int, towards: int) -> Value:
    """The number rounded; halves, which count as equal to both neighbours, upwards or downwards."""
    if not isinstance(cell.content, float) or cell.kind != "number":
        return cell
    rounded = number_value(round(cell.content + towards * 1e-10 * 10.0**-decimals, decimals), decimals)
    return rounded if equal_values(cell, rounded) else cell


def _spell(cell: Value) -> str:
    if cell.kind == "boolean":
        return repr(("number", int(cell.content)))
    return repr((cell.kind, cell.content))


def _spelled(row: Row) -> tuple[str, ...]:
    return tuple(map(_spell, row))


def _text(rows: Sequence[Row]) -> str:
    """The rows as a set, under the order of columns that gives the smallest text."""
    spelled = {_spelled(row) for row in rows}
    width = max(map(len, spelled))
    if width == 1 or width > _MOST_PERMUTED or any(len(row) != width for row in spelled):
        return repr(sorted(spelled))
    return min(repr(sorted(tuple(row[position] for position in order) for row in spelled)) for order in permutations(range(width)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
