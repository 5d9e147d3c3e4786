"""Made-up programs with a function missing."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

import pytest

from medagentgym.programs.marker import Candidate, Context
from medagentgym.synthetic.functions import KINDS, make_rows


def printed(row: dict[str, str], solution: str) -> str:
    context = Context.read(row["context"], row["solution"])
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(context.with_lines(solution), "program", "exec"), {"__name__": "__main__"})
    return said.getvalue()


def test_the_same_seed_gives_the_same_rows_and_another_other_ones() -> None:
    assert make_rows(1, "test", 30) == make_rows(1, "test", 30)
    rows = [*make_rows(1, "test", 30), *make_rows(1, "train", 30), *make_rows(2, "test", 30)]
    assert len({row["idx"] for row in rows}) == 90


def test_every_kind_is_asked_before_one_is_asked_again() -> None:
    rows = make_rows(0, "test", len(KINDS))
    assert len({row["signature"] for row in rows}) == len(KINDS)


@pytest.mark.parametrize("position", range(len(KINDS)), ids=lambda position: KINDS[position].signature)
def test_a_program_runs_with_its_reference_and_prints_something_of_its_seed(position: int, tmp_path: Path) -> None:
    first, second = (make_rows(0, "test", 2 * len(KINDS))[place] for place in (position, position + len(KINDS)))
    reference = Candidate.read(first["solution"], Context.read(first["context"], first["solution"]).function, None)
    assert isinstance(reference, Candidate)
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        output = printed(first, first["solution"])
        assert output == printed(first, first["solution"]) != ""
        assert output != printed(second, second["solution"])
    finally:
        os.chdir(before)
    assert not list(tmp_path.iterdir())


def test_the_reference_functions_agree_with_values_known_otherwise() -> None:
    variables: dict[str, object] = {}
    import numpy

    variables["np"] = numpy
    for kind in KINDS:
        if "self" not in kind.signature:
            exec(kind.solution, variables)
    known = {
        "gc_content('GGCCAT')": 4 / 6,
        "gc_content('NNN')": 0.0,
        "reverse_complement('GATTACAn')": "nTGTAATC",
        "kmer_counts('AANAA', 2)": {"AA": 2},
        "merge_intervals([('chr1', 5, 9), ('chr1', 1, 5), ('chr2', 1, 2)])": [("chr1", 1, 9), ("chr2", 1, 2)],
        "n50([2, 2, 2, 3, 3, 4, 8, 8])": 8,
        "transition_ratio([('A', 'G'), ('C', 'T'), ('A', 'C'), ('A', '-')])": 2.0,
        "list(open_reading_frames('CATGAAATAGG'))": [(1, 10)],
    }
    for expression, value in known.items():
        assert eval(expression, variables) == value, expression
