"""The published comparison, faults included."""

from __future__ import annotations

import pytest

from medagentgym.judges.base import Evidence
from medagentgym.judges.published import PublishedEhrJudge
from medagentgym.judges.row_sets import RowSetJudge


def accepts(gold: list[str], stdout: str, stderr: str = "", exit_status: int | None = 0) -> bool:
    return PublishedEhrJudge().judge({"published": gold}, Evidence(False, None, stdout, stderr, exit_status)).correct


@pytest.mark.parametrize(
    ("gold", "output"),
    [
        (["iv"], "iv\n"),
        (["1"], "10\n"),
        (["1"], "True\n"),
        (["0"], "False\n"),
        (["True"], "1\n"),
        (["false"], "0\n"),
        (["None"], "None\n"),
        (["None"], "0\n"),
        (["None"], "False\n"),
        (["37.0"], "37\n"),
        (["iv, po"], "po\niv\n"),
        (["iv", "po"], "iv\n"),
        (["27.4"], "27.400001525878878\n"),
        (["iv"], "\n".join(["im", "iv", "po", "sc"])),
        ([], "None\n"),
        ([], "[]\n"),
        ([], "0\n"),
    ],
)
def test_the_gold_is_found_in_the_output(gold: list[str], output: str) -> None:
    assert accepts(gold, output)


@pytest.mark.parametrize(
    ("gold", "output"),
    [
        (["iv"], "po\n"),
        (["iv", "po"], "po\n"),
        (["0"], "True False\n"),
        (["iv, po"], "iv\n"),
        (["IV"], "iv\n"),
        (["37.5"], "37\n"),
        (["1"], ""),
        (["None"], "[]\n"),
        ([], "iv\n"),
    ],
)
def test_the_gold_is_not_found_in_the_output(gold: list[str], output: str) -> None:
    assert not accepts(gold, output)


def test_what_is_written_to_stderr_counts() -> None:
    assert accepts(["iv"], "", "warning: iv\n")


@pytest.mark.parametrize("exit_status", [1, -9, None])
def test_code_that_failed_is_no_attempt(exit_status: int | None) -> None:
    assert not accepts(["iv"], "iv\n", exit_status=exit_status)


def test_the_known_faults_are_where_the_strict_judge_disagrees() -> None:
    reference = {"gold": {"columns": ["n"], "rows": [[1]], "boolean": False, "status": "usable"}, "published": ["1"]}
    everything = Evidence(True, list(range(20)), str(list(range(20))), "", 0)
    substring = Evidence(True, 10, "10\n", "", 0)
    for cheat in (everything, substring):
        assert PublishedEhrJudge().judge(reference, cheat).correct
        assert not RowSetJudge().judge(reference, cheat).correct


def test_only_the_first_item_of_a_list_counts_in_the_published_system() -> None:
    reference = {"gold": {"columns": ["route"], "rows": [["iv"], ["po"]], "boolean": False, "status": "usable"}, "published": ["iv", "po"]}
    half = Evidence(True, ["iv"], "['iv']\n", "", 0)
    assert PublishedEhrJudge().judge(reference, half).correct
    assert not RowSetJudge().judge(reference, half).correct
