"""Answers and golds in words."""

from __future__ import annotations

from typing import Any

import pytest

from medagentgym.answers import answer_of, answer_text, gold_text, shortened
from medagentgym.judges.base import Evidence


def rows(*values: list[Any], boolean: bool = False, **more: Any) -> dict[str, Any]:
    return {"gold": {"columns": ["c"], "rows": list(values), "boolean": boolean, "status": "usable", **more}, "published": []}


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (rows([20]), "20"),
        (rows([1], boolean=True), "True"),
        (rows([0], boolean=True), "False"),
        (rows([None], boolean=True), "None"),
        (rows(["iv"], ["po"]), "['iv', 'po']"),
        (rows(["iv", 2], ["po", 3]), "[['iv', 2], ['po', 3]]"),
        (rows(), "[]"),
        (rows(["iv drip"]), "iv drip"),
        (rows(impossible=True), "(none: the data cannot answer the question)"),
        (rows(status="error", reason="no such table"), "(none: the gold could not be computed, no such table)"),
        ({"shape": "number", "value": 4.25, "low": 4, "high": 5}, "4.25"),
        ({"shape": "weeks_and_days", "value": [3, 4]}, "[3, 4]"),
        ({"target": "size", "value": 84, "tolerance": 0.0}, "84"),
        ({"target": "size", "value": None, "published": "many"}, '{"target": "size", "value": null, "published": "many"}'),
        ({"solution": "def f(): ...", "output": "[1, 2]\n", "printed": ""}, "(printed) [1, 2]"),
        ({"solution": "def f(): ...", "ungradable": "cannot be run"}, "(none: the reference cannot be run)"),
        ({"solution": "x = 1", "test_cases": "assert x == 1", "study": "s"}, "assert x == 1"),
        ({"gold": 3, "impossible": False}, '{"gold": 3, "impossible": false}'),
        (7, "7"),
    ],
)
def test_the_gold_of_every_task_and_of_an_unknown_one_is_put_in_words(reference: Any, words: str) -> None:
    assert gold_text(reference) == words


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (Evidence(True, [["iv"], ["po"]], "", "", 0), "['iv', 'po']"),
        (Evidence(True, None, "", "", 0), "None"),
        (Evidence(False, None, " 5 tables\n", "", 0), "(printed) 5 tables"),
        (Evidence(False, None, "", "", None, abstained=True), "(abstained)"),
        (Evidence(True, None, "", "", 0, complete=False), "(too large to be kept)"),
        (Evidence(True, None, "[1]\n", "", 0, gathered={"printed": "", "calls": 1}), "(printed) [1]"),
        (Evidence(True, None, "", "", 0, gathered={"assertions": [], "left": {"x": "data: int", "y": "missing: "}}), "x: data: int; y: missing: "),
    ],
)
def test_what_an_attempt_left_behind_is_put_in_words(evidence: Evidence, words: str) -> None:
    assert answer_text(evidence.to_json()) == words
    assert answer_of({"schema": "ours", "attempts": [{"evidence": evidence.to_json()}]}) == words


def test_a_text_is_shortened_in_its_middle() -> None:
    assert (shortened("abcdefgh", 8), shortened("abcdefgh", 5)) == ("abcdefgh", "ab…gh")
