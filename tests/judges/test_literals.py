"""Texts that hold data are read as the data that were written, few elements as well as a million."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest

from medagentgym.judges.literals import MAX_DEPTH, NotDataError, data_in
from medagentgym.sandbox.answers import decode, encode


def some_value(generator: random.Random, depth: int) -> Any:
    if depth and generator.random() < 0.5:
        elements = [some_value(generator, depth - 1) for _ in range(generator.choice([0, 1, 1, 2, 5]))]
        match generator.randrange(3):
            case 0:
                return elements
            case 1:
                return tuple(elements)
            case _:
                return {generator.choice([str(position), position]): element for position, element in enumerate(elements)}
    return generator.choice(
        [
            None,
            True,
            False,
            0,
            -7,
            12,
            10**20,
            0.5,
            -1.25e-7,
            1e22,
            "",
            "a",
            "it's",
            'a "b"',
            "a, b",
            "[1]",
            "0389",
            "back\\slash",
            "caf\u00e9",
            "None",
        ]
    )


@pytest.mark.parametrize("seed", range(3))
def test_what_python_and_json_write_is_read_back(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(2_000):
        value = [some_value(generator, 3), some_value(generator, 1)]
        assert data_in(repr(value)) == decode(encode(value, 1_000_000)), value
        assert data_in(json.dumps(value)) == decode(encode(json.loads(json.dumps(value)), 1_000_000)), value


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("(12)", 12),
        ("(12,)", [12]),
        ("('a, b')", "a, b"),
        ("('a', )", ["a"]),
        ("[0389, 1]", ["0389", 1]),
        ("[1, nan, None, <NA>]", [1, None, None, None]),
        ("[1 2 3]", [1, 2, 3]),
        ("['iv' 'po']", ["iv", "po"]),
        ("[1., .5, 5.e1]", [1.0, 0.5, 50.0]),
        ("[+1, -2]", [1, -2]),
        ("[np.int64(1), 2, 'x']", [1, 2, "x"]),
        ("{1, 2}", [1, 2]),
        ("{'a': 1, 'a': 2}", {"kind": "mapping", "items": [["a", 1], ["a", 2]]}),
        ('{"a": NaN, "b": Infinity}', {"kind": "mapping", "items": [["a", None], ["b", "Infinity"]]}),
    ],
)
def test_forms_that_are_none_of_both(text: str, data: Any) -> None:
    assert data_in(text) == data


@pytest.mark.parametrize("text", ["12", "a", "[1", "[1,, 2]", "{1: 2, 3}", "[1]]", "[a]", "[-Infinity]", "[1, 2] [3]", "[None()]", "[Nonesuch, 1]"])
def test_what_is_no_data_is_refused(text: str) -> None:
    with pytest.raises(NotDataError):
        data_in(text)


def test_data_that_are_nested_too_deeply_are_refused_in_either_form() -> None:
    for opening, closing in (("[", "]"), ('{"a": ', "}"), ("{'a': ", "}"), ("(0, ", ")")):
        data_in(opening * MAX_DEPTH + "[]" + closing * MAX_DEPTH)
        with pytest.raises(NotDataError):
            data_in(opening * (MAX_DEPTH + 1) + "[]" + closing * (MAX_DEPTH + 1))


@pytest.mark.slow
@pytest.mark.parametrize("element", ["1", "1.5", "'a'", "None", "[1]", "('a', 1)"])
def test_time_grows_with_the_length_of_the_text(element: str) -> None:
    def taken(count: int) -> float:
        text = "[" + f"{element}, " * count + "]"
        start = time.process_time()
        assert len(data_in(text)) == count
        return time.process_time() - start

    assert taken(80_000) < 40 * taken(10_000)
