"""Impossible questions through the real workflow, from the configuration to the table."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from workflow_project import MADE_UP, Project

from medagentgym.config import Config
from medagentgym.tasks.mimic_iii import MimicIII

pytestmark = pytest.mark.slow

ABSTAIN = {"action": "abstain", "params": {}}
NONE = {"action": "validate_code", "params": {"code": "answer = None"}}


def rows_of(project: Project) -> dict[tuple[str, str], dict[str, str]]:
    return {(row["tag"], row["judge"]): row for row in csv.DictReader(project.report("summary.csv").splitlines())}


def test_abstentions_are_judged_and_counted_apart_from_answers(project: Project) -> None:
    impossible = sorted(MimicIII.impossible(Config.model_validate({"data": MADE_UP})))[:2]
    answerable = [idx for idx in range(30) if idx not in MimicIII.impossible(Config.model_validate({"data": MADE_UP}))][:2]
    built = [json.loads(line) for line in (project.folder / "work/data/mimic_iii/test_tasks.jsonl").read_text().splitlines()]
    right = {"action": "validate_code", "params": {"code": f"answer = {built[answerable[0]]['gold']['rows']!r}"}}
    replies: dict[int, list[Any]] = {impossible[0]: [ABSTAIN], impossible[1]: [NONE], answerable[0]: [right], answerable[1]: [ABSTAIN]}
    (project.folder / "replies.json").write_text(json.dumps(replies))
    project.write(
        data={**MADE_UP, "impossible": "include", "only": sorted([*impossible, *answerable])},
        agent={"name": "scripted", "replies": "replies.json"},
        experiments=[{"result_dir_tag": "scripted"}, {"result_dir_tag": "reference", "agent": {"name": "reference"}}],
    )
    project.run()
    rows = rows_of(project)
    names = ("done", "successes", "answerable", "answerable_successes", "wrongly_abstained", "impossible", "abstained", "abstain_floor")
    assert [rows["scripted", "strict"][name] for name in names] == ["4", "2", "2", "1", "1", "2", "1", "0.5"]
    assert [rows["reference", "strict"][name] for name in names] == ["4", "4", "2", "2", "0", "2", "2", "0.5"]
    assert [rows["scripted", "published"][name] for name in ("abstained", "abstain_floor")] == ["1", ""]
    assert rows["scripted", "strict"]["stop_reasons"] == "abstained 2, submitted 2"
    with (project.folder / "work/mimic_iii/scripted/scores_test.csv").open(encoding="utf-8") as stream:
        scores = {int(row["idx"]): row for row in csv.DictReader(stream) if row["judge"] == "strict"}
    assert [scores[idx]["correct"] for idx in (*impossible, *answerable)] == ["True", "False", "True", "False"]
    assert [scores[idx]["abstained"] for idx in (*impossible, *answerable)] == ["True", "False", "False", "True"]
    assert [scores[idx]["impossible"] for idx in (*impossible, *answerable)] == ["True", "True", "False", "False"]
    record = project.record(impossible[0], "scripted")
    assert (record["result"], record["stop_reason"], record["attempts"][0]["evidence"]["abstained"]) == ("success", "abstained", True)
    assert "abstained from impossible" in project.report("summary.md") and "abstained from impossible" in project.report("report.html")

    project.write(data={**MADE_UP, "only": sorted([*impossible, *answerable])})
    refused = project.run(status=None)
    assert 'data.impossible: "asked" then, null now' in refused and "Traceback" not in refused


def test_the_impossible_questions_alone_can_be_asked(project: Project) -> None:
    project.write(data={**MADE_UP, "impossible": "only"}, end_idx=20)
    project.run()
    row = rows_of(project)["reference", "strict"]
    assert [row[name] for name in ("done", "successes", "answerable", "answerable_rate", "abstained", "floor", "abstain_floor")] == [
        "2", "2", "0", "", "2", "0.0", "1.0",
    ]  # fmt: skip
