"""The strict judge on the gold answers of real questions, run on the open MIMIC-III demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from medagentgym.config import Config
from medagentgym.judges.base import Evidence
from medagentgym.judges.row_sets import RowSetJudge
from medagentgym.tasks.mimic_iii import MimicIII

pytestmark = [pytest.mark.slow, pytest.mark.shared_data]

JUDGE = RowSetJudge()


@pytest.fixture(scope="module")
def references(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    work_dir = tmp_path_factory.mktemp("work_dir")
    sources = {"raw_path": shared_data / "mimic_iii_demo", "questions": {"test": shared_data / "ehrsql" / "mimic_iii" / "valid.json"}}
    config = Config.model_validate({"work_dir": work_dir, "data": sources})
    folder = work_dir / "data" / "mimic_iii"
    folder.parent.mkdir(parents=True)
    MimicIII.build(config, folder)
    task = MimicIII(folder, config)
    return [task.reference(task.instance(idx)) for idx in MimicIII.indices(config)]


def share_right(references: list[dict[str, Any]], answer: Any) -> float:
    return sum(JUDGE.judge(reference, Evidence(True, answer, "", "", 0)).correct for reference in references) / len(references)


def test_every_gold_is_its_own_right_answer(references: list[dict[str, Any]]) -> None:
    assert len(references) == 760
    for reference in references:
        rows = reference["gold"]["rows"]
        verdict = JUDGE.judge(reference, Evidence(True, rows, "", "", 0))
        assert verdict.correct or reference["gold"]["status"] == "error", (reference, verdict)


def test_no_gold_is_right_for_a_question_with_another_gold(references: list[dict[str, Any]]) -> None:
    answered = [reference for reference in references if reference["gold"]["status"] == "usable"]
    keys = [JUDGE.summarise(reference).key for reference in answered]
    for position, reference in enumerate(answered):
        for other, key in zip(answered, keys, strict=True):
            accepted = JUDGE.judge(reference, Evidence(True, other["gold"]["rows"], "", "", 0)).correct
            assert accepted == (key == keys[position]), (reference["gold"], other["gold"])


@pytest.mark.parametrize("constant", [None, 0, 1, True, False, [0, 1], [True, False], "0", list(range(200))])
def test_no_constant_answer_beats_the_floor(references: list[dict[str, Any]], constant: Any) -> None:
    keys = [JUDGE.summarise(reference).key for reference in references]
    floor = max(map(keys.count, keys)) / len(keys)
    assert share_right(references, constant) <= floor
