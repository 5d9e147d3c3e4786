"""Tasks medcalcbench and npowerai through the whole chain, on made-up notes and studies: episodes, tables, audit, corrected labels."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow_project import ROOT, Project

from medagentgym import environments
from medagentgym.synthetic.calculations import make_rows

pytestmark = pytest.mark.slow


def small_demo(name: str, test: int) -> dict[str, Any]:
    config = yaml.safe_load((ROOT / "config" / f"demo_{name}.yaml").read_text(encoding="utf-8"))
    config["data"]["synthetic"] |= {"train": 4, "test": test}
    return {**config, "name": "test", "work_dir": "work"}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def successes(project: Project, agent: str, judge: str = "strict") -> tuple[int, int]:
    """Successes and finished episodes."""
    (found,) = [row for row in rows(project.report("summary.csv")) if (row["tag"], row["judge"]) == (agent, judge)]
    assert found["asked"] == found["done"]
    return int(found["successes"]), int(found["done"])


@pytest.fixture
def statistics() -> None:
    if not environments.is_built("statistics"):
        pytest.skip("the environment statistics is not built: medagentgym environments build statistics")


def test_the_demo_of_calculations_runs_and_rules_solve_what_a_note_states(tmp_path: Path) -> None:
    project = Project(tmp_path, small_demo("medcalcbench", 33))
    project.run()
    assert successes(project, "reference") == (33, 33)
    assert successes(project, "baseline") == (33, 33)
    right_as_published, _ = successes(project, "reference", "published")
    assert right_as_published < 33  # dates, ages and negative values never pass there


@pytest.mark.usefixtures("statistics")
def test_the_demo_of_studies_runs_and_statsmodels_agrees_with_the_golds(tmp_path: Path) -> None:
    project = Project(tmp_path, small_demo("npowerai", 16))
    project.run()
    assert successes(project, "reference") == (16, 16)
    assert successes(project, "baseline") == (16, 16)


def test_no_cheat_gets_past_the_judge_of_calculations(tmp_path: Path) -> None:
    project = Project(tmp_path, small_demo("medcalcbench", 33))
    project.run("audit")
    audited = rows((tmp_path / "work" / "audit" / "medcalcbench.csv").read_text(encoding="utf-8"))
    assert len(audited) == 33 and all(row["gradable"] == "True" for row in audited), audited
    probes = rows((tmp_path / "work" / "audit" / "medcalcbench_summary.csv").read_text(encoding="utf-8"))
    judged = [probe for probe in probes if probe["what"] in ("broken", "cheat")]
    assert len(judged) > 20 and all(probe["within_floor"] == "True" for probe in judged), judged


@pytest.mark.usefixtures("statistics")
def test_the_audit_finds_wrong_golds_and_leaves_them_out(tmp_path: Path) -> None:
    from medagentgym.synthetic.studies import make_rows as make_studies

    studies = [row for row in make_studies(0, "test", 32) if row["estimate_target"] == "size"][:8]
    for row in studies[:3]:
        row["answer"] += 7
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "test_tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in studies), encoding="utf-8")
    config = {"name": "test", "work_dir": "work", "task": "npowerai", "agent": {"name": "reference"}, "result_dir_tag": "reference", "num_steps": 4}
    project = Project(tmp_path, {**config, "data": {"data_path": "tasks", "exclude": "audit"}})
    project.run("audit")
    audited = rows((tmp_path / "work" / "audit" / "npowerai.csv").read_text(encoding="utf-8"))
    assert [row["idx"] for row in audited if row["reason"] == "gold is wrong"] == ["0", "1", "2"]
    project.run()
    assert successes(project, "reference") == (5, 5)
    assert "npowerai: Of 8 test golds 5 agree with the answer computed from the question, 3 are wrong" in project.report("summary.md")


def test_corrected_labels_score_finished_episodes_again_without_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    task_file = tmp_path / "tasks" / "test_tasks.jsonl"
    task_file.write_text("".join(json.dumps(row) + "\n" for row in make_rows(0, "test", 6)), encoding="utf-8")
    config = {"name": "test", "work_dir": "work", "task": "medcalcbench", "agent": {"name": "baseline"}, "result_dir_tag": "baseline", "num_steps": 4}
    project = Project(tmp_path, {**config, "data": {"data_path": "tasks"}})
    project.run()
    assert successes(project, "baseline") == (6, 6)
    folder = tmp_path / "work" / "medcalcbench" / "baseline" / "test"
    before = {file.name: file.read_bytes() for file in folder.glob("history_*.json")}  # seconds included
    (tmp_path / "corrected.jsonl").write_text(json.dumps({"idx": 2, "Ground Truth Answer": "123456"}) + "\n", encoding="utf-8")
    project.write(data={"data_path": "tasks", "gold_overrides": "corrected.jsonl"})
    refused = project.run(status=None)
    assert "was built with another data.gold_overrides" in refused
    for file in sorted((tmp_path / "work" / "data" / "medcalcbench").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    (tmp_path / "work" / "data" / "medcalcbench").rmdir()
    project.run()
    assert {file.name: file.read_bytes() for file in folder.glob("history_*.json")} == before
    assert successes(project, "baseline") == (5, 6)
    assert re.search(
        r"medcalcbench: The golds of 1 of 6 test instances are those of the corrected labels corrected.jsonl", project.report("summary.md")
    )
