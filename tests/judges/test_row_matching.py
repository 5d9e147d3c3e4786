"""Rows are looked up as they would be found by comparing each with each."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from medagentgym.judges.base import Evidence
from medagentgym.judges.gold_keys import gold_keys
from medagentgym.judges.row_matching import GoldRows, Row, covered_rows, equal_rows, row_key
from medagentgym.judges.row_sets import RowSetJudge
from medagentgym.judges.values import read_value


def row(*cells: Any) -> Row:
    return tuple(map(read_value, cells))


def some_number(generator: random.Random) -> float:
    scale = 10.0 ** generator.choice([-6, -3, -1, 0, 1, 2, 4, 7, 11])
    return round(generator.uniform(-scale, scale), generator.choice([0, 1, 2, 3, 6, 12]))


def near(number: float, generator: random.Random) -> Any:
    match generator.randrange(5):
        case 0:
            return round(number, generator.choice([1, 2, 3]))
        case 1:
            return number * (1 + generator.choice([-1, 1]) * generator.choice([5e-7, 9e-7, 2e-6]))
        case 2:
            return f"{number:.{generator.choice([1, 2, 4])}f}"
        case 3:
            return round(number)
        case _:
            return number + generator.choice([-1, 1]) * generator.choice([1e-9, 5e-4, 0.049, 0.06])


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_the_rows_that_a_row_equals_are_found(width: int) -> None:
    generator = random.Random(width)
    numbers = [some_number(generator) for _ in range(40)]
    rows = [row(*(generator.choice(numbers) for _ in range(width)), generator.choice("ab")) for _ in range(600)]
    gold = GoldRows(rows)
    found_some = 0
    for _ in range(600):
        *cells, letter = generator.choice(rows)
        given = row(*(near(float(cell.content), generator) for cell in cells), letter.content)
        expected = {row_key(other) for other in gold.rows.values() if equal_rows(other, given)}
        assert set(gold.equal_to(given)) == expected, given
        found_some += bool(expected)
    assert found_some > 50


def some_time(generator: random.Random) -> str:
    day, clock = f"2105-03-0{generator.randint(1, 3)}", f"{generator.randint(8, 9):02}:{generator.choice([0, 30]):02}"
    return generator.choice([day, f"{day} {clock}", f"{day} {clock}:00", f"{day} {clock}:0{generator.randint(1, 2)}.5", clock, f"{clock}:01"])


@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_rows_whose_times_a_row_equals_are_found(width: int) -> None:
    generator = random.Random(width)
    gold = GoldRows(row(*(some_time(generator) for _ in range(width))) for _ in range(200))
    found_some = 0
    for _ in range(1_000):
        given = row(*(some_time(generator) for _ in range(width)))
        expected = [row_key(other) for other in gold.rows.values() if equal_rows(other, given)]
        assert sorted(gold.equal_to(given)) == sorted(expected), given
        found_some += bool(expected)
    assert found_some > 20


def test_as_many_rows_are_covered_as_can_be_the_first_ones_first() -> None:
    generator = random.Random(5)

    def can_all_be(wanted: tuple[Any, ...], equal: dict[Any, set[Any]], room: dict[Any, int]) -> bool:
        if not wanted:
            return True
        fits = [given for given in equal if wanted[0] in equal[given] and room[given]]
        return any(can_all_be(wanted[1:], equal, room | {given: room[given] - 1}) for given in fits)

    for _ in range(500):
        gold = [row_key(row(number)) for number in range(generator.randint(1, 6))]
        equal = {row_key(row(letter)): {key for key in gold if generator.random() < 0.4} for letter in "abcd"[: generator.randint(1, 4)]}
        room = {given: generator.choice([1, 1, 2]) for given in equal}
        expected: tuple[Any, ...] = ()
        for key in gold:
            expected += (key,) if can_all_be((*expected, key), equal, room) else ()
        assert covered_rows(gold, equal, room) == set(expected), (equal, room)


def test_golds_that_an_answer_satisfies_share_a_key() -> None:
    generator = random.Random(3)
    golds = [row(generator.choice([round(generator.uniform(0, 3), decimals) for decimals in (0, 1, 2, 3, 9)])) for _ in range(400)]
    keys = {gold: set(gold_keys([gold], [], 0, flat=False)) for gold in golds}
    shared = 0
    for gold in keys:
        for other in keys:
            if equal_rows(gold, other):
                assert keys[gold] & keys[other], (gold, other)
                shared += gold != other
    assert shared > 100


def reference(rows: list[Any], width: int) -> dict[str, Any]:
    return {"gold": {"columns": [f"column {position}" for position in range(width)], "rows": rows, "boolean": False, "status": "usable"}}


def seconds_to_judge(gold: dict[str, Any], answer: Any, *, correct: bool) -> float:
    start = time.process_time()
    verdict = RowSetJudge().judge(gold, Evidence(True, answer, "", "", 0))
    assert verdict.correct is correct, verdict
    return time.process_time() - start


@pytest.mark.slow
def test_time_grows_with_the_number_of_rows_and_not_with_its_square() -> None:
    def taken(count: int) -> float:
        rows = [[f"drug {number}", number + 0.123456] for number in range(count)]
        return seconds_to_judge(reference(rows, 2), [[round(cost, 2), drug] for drug, cost in rows], correct=True)

    assert taken(20_000) < 12 * taken(5_000)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["2105-03-04 {:02}:{:02}:{:02}", "{:02}:{:02}:{:02}"], ids=["moments", "times of the day"])
def test_time_grows_with_the_number_of_times_and_not_with_its_square(form: str) -> None:
    def taken(count: int) -> float:
        times = [form.format(number // 3600, number // 60 % 60, number % 60) for number in range(count)]
        return seconds_to_judge(reference([[time] for time in times], 1), [f"{time}.5" for time in times], correct=True)

    assert taken(16_000) < 40 * taken(2_000)


HOSTILE: dict[str, Any] = {
    "huge number": 10**4000,
    "huge numbers": [10**300 + step for step in range(2000)],
    "numbers of every size": [[10.0**exponent] for exponent in range(-300, 300)],
    "deep lists": eval("[" * 60 + "1" + "]" * 60),
    "deep text": "[" * 100_000 + "]" * 100_000,
    "unclosed text": "['" + "a" * 500_000,
    "many quotes": "'" * 300_000,
    "minus signs": "-" * 300_000 + "1]",
    "long digits": "[" + "9" * 100_000 + "]",
    "nested quotes": '"' + "'" * 50 + "1" + "'" * 50 + '"',
    "a list in commas": ",".join(map(str, range(20_000))),
    "a mapping with keys that are lists": {"kind": "mapping", "items": [[[1, 2], 3], [None, [4]], [{"kind": "other", "type": "x.Y", "text": ""}, 5]]},
    "a mapping with the same keys": {"kind": "mapping", "items": [[None, 1], [None, 2], ["nan", 3]]},
    "a table without columns": {"kind": "table", "columns": [], "rows": [[]] * 1000},
    "a table of objects": {"kind": "table", "columns": ["a"], "rows": [[{"kind": "other", "type": "x.Y", "text": "12"}]]},
    "a list of everything": [None, True, 1, 1.5, "x", [], [[]], {"kind": "mapping", "items": []}],
    "lone surrogates and control characters": "\ud800\x00\u202e12",
    "many columns": [[1] * 2000],
    "equal columns": [[number % 2] * 8 for number in range(500)],
}


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answers_are_wrong_in_passing(answer: Any) -> None:
    for gold in (
        reference([[12]], 1),
        reference([[number / 7] for number in range(1000)], 1),
        reference([[number % 2, *[number % 3] * 7] for number in range(50)], 8),
        {"gold": {"columns": None, "rows": [[12], ["a"]], "boolean": False, "status": "usable"}},
        {"gold": {"columns": ["a"], "rows": [], "boolean": False, "status": "empty"}},
        {"gold": {"columns": ["a"], "rows": [[1]], "boolean": True, "status": "usable"}},
    ):
        if not (gold["gold"]["rows"] == [] and answer == HOSTILE["a table without columns"]):
            assert seconds_to_judge(gold, answer, correct=False) < 20
