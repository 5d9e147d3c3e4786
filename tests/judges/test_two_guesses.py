"""An answer is one answer: no container holds two guesses of which either would be right, nor a guess beside "nothing"."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pandas as pd
import pytest

from medagentgym.judges.base import Evidence
from medagentgym.judges.row_sets import RowSetJudge
from medagentgym.sandbox.answers import decode, encode, is_scalar


def is_right(rows: list[Any], answer: Any, width: int = 1, **further: Any) -> bool:
    columns = [f"column {position}" for position in range(width)]
    reference = {"gold": {"columns": columns, "rows": rows, "boolean": False, "status": "usable", **further}}
    return RowSetJudge().judge(reference, Evidence(True, answer, "", "", 0)).correct


def left_in_answer(value: Any) -> Any:
    return decode(encode(value, 1_000_000))


def labels(*index: Any) -> pd.DataFrame:
    """A table that has an index and no column."""
    return pd.DataFrame(index=list(index))


@pytest.mark.parametrize(
    "answer",
    [
        {12: labels(13)},
        {12: {}},
        {12: []},
        {12: [[]]},
        {12: None, 13: []},
        labels(12),
        labels("12"),
        [labels(12)],
        {"a": labels(12)},
        {0: labels(12)},
        labels(12, 13),
        pd.DataFrame(index=pd.MultiIndex.from_tuples([(12, 13)])),
        pd.DataFrame(index=range(2)),
    ],
    ids=str,
)
def test_labels_of_no_value_are_neither_values_nor_nothing(answer: Any) -> None:
    data = left_in_answer(answer)
    assert not any(is_right([[guess]], data) for guess in (12, 13))
    assert not is_right([[12], [13]], data) and not is_right([[12, 13]], data, 2) and not is_right([], data)
    assert not any(is_right([[guess]], data, columns=None) for guess in (12, 13))


def test_a_yes_beside_a_no_is_neither() -> None:
    for answer in ({True: labels(False)}, {True: []}, "{True: []}", {True: {False: []}}, labels(True), {True: False}):
        assert not any(is_right([[truth]], left_in_answer(answer), boolean=True) for truth in (0, 1)), answer


@pytest.mark.parametrize("answer", [{"po": []}, {"po": {}}, {"po": None}, {"po": [None]}, {"a": [], "po": []}, pd.DataFrame({"po": []})], ids=str)
def test_names_of_no_values_are_nothing_and_no_values(answer: Any) -> None:
    data = left_in_answer(answer)
    assert is_right([], data)
    assert not is_right([["po"]], data) and not is_right([["a"], ["po"]], data) and not is_right([["po", None]], data, 2)


def test_of_two_labels_the_outer_one_is_the_name() -> None:
    for inner in ({"b": 5}, pd.Series({"b": 5}), pd.DataFrame({"n": [5]}, index=["b"])):
        data = left_in_answer({"a": inner})
        assert is_right([["b", 5]], data, 2) and not is_right([["a", 5]], data, 2), inner
    table = pd.DataFrame({"n": [5, 6]}, index=["b", "c"])
    assert is_right([["b", 5], ["c", 6]], left_in_answer(table.to_dict()), 2)
    assert is_right([["b", 5], ["c", 6]], left_in_answer(table.to_dict("index")), 2)


def test_numbers_of_rows_are_told_from_numbers_of_columns() -> None:
    named, unnamed = pd.DataFrame({"x": [1, 2], "y": [3, 4]}), pd.DataFrame([[1, 3], [2, 4]])
    as_numbers = [{"0": [1, 3], "1": [2, 4]}, dict(enumerate([(1, 3), (2, 4)]))]
    answers = [named.to_dict(), named.to_dict("index"), named.to_json(), named.to_json(orient="index"), unnamed.to_dict(), unnamed.to_json()]
    for answer in (*answers, *as_numbers):
        data = left_in_answer(answer)
        assert is_right([[1, 3], [2, 4]], data, 2) and not is_right([[1, 2], [3, 4]], data, 2), answer


class Answers:
    """Nested containers whose every value, key and label is another one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.given = 100

    def some(self) -> Any:
        self.given = 100
        return self._container(self.random.choice([1, 2, 3, 4]))

    def _leaf(self) -> Any:
        self.given += 1
        return self.random.choice([self.given, f"t{self.given}", f"t{self.given}", None])

    def _part(self, depth: int) -> Any:
        return self._leaf() if depth == 0 or self.random.random() < 0.25 else self._container(depth)

    def _container(self, depth: int) -> Any:
        count = self.random.choice([0, 1, 1, 2])
        match self.random.choice("lmmt"):
            case "l":
                return [self._part(depth - 1) for _ in range(count)]
            case "m":
                return {"kind": "mapping", "items": [[self._key(position), self._part(depth - 1)] for position in range(count)]}
            case _:
                width, length = self.random.choice([0, 1, 1, 2]), self.random.choice([1, 1, 2])
                rows = [[self._leaf() for _ in range(width)] for _ in range(length)]
                table = {"kind": "table", "columns": [self.random.choice(["n", None]) for _ in range(width)], "rows": rows}
                index = {"index": [self._key(position) for position in range(length)]}
                return table | self.random.choice([{}, index, index])

    def _key(self, position: int) -> Any:
        return self.random.choice([self._leaf(), self._leaf(), position, str(position), [self._leaf()], [self._leaf(), self._leaf()], []])


def scalars(data: Any) -> Iterator[Any]:
    if is_scalar(data):
        yield data
    elif isinstance(data, list):
        for element in data:
            yield from scalars(element)
    else:
        yield from scalars(data["items"] if data["kind"] == "mapping" else [data["rows"], data.get("index", [])])


@pytest.mark.parametrize("seed", range(4))
def test_no_answer_is_right_for_two_golds_of_as_many_rows_and_columns(seed: int) -> None:
    answers = Answers(seed)
    right = 0
    for _ in range(250):
        answer = answers.some()
        values = sorted({str(value): value for value in scalars(answer) if value is not None}.values(), key=str)[:7]
        pairs = [*combinations(values, 2), *((value, None) for value in values)]
        quads = list(combinations(values, 4))[:12]
        golds: dict[str, list[Any]] = defaultdict(list)
        golds["a value"] = [([[value]], 1, {}) for value in values]
        golds["a row"] = [([list(pair)], 2, {}) for pair in pairs]
        golds["two rows"] = [([[one], [other]], 1, {}) for one, other in pairs]
        golds["two wide rows"] = [([[a, b], [c, d]], 2, {}) for q in quads for a, b, c, d in (q, (q[0], q[2], q[1], q[3]), (q[0], q[3], q[1], q[2]))]
        golds["a value of a list"] = [([[value]], 1, {"columns": None}) for value in values]
        golds["two values of a list"] = [([[one], [other]], 1, {"columns": None}) for one, other in pairs]
        nothing = is_right([], answer)
        for shape, of_shape in golds.items():
            accepted = [rows for rows, width, further in of_shape if is_right(rows, answer, width, **further)]
            assert len(accepted) + nothing <= 1, (shape, answer, accepted)
            right += len(accepted)
    assert right > 100
