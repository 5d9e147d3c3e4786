"""Tasks treqs and ehr_seqsql through the whole chain, on made-up patients: episodes, tables, audit."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow_project import ROOT, Project

pytestmark = pytest.mark.slow


def small_demo(name: str, test: int) -> dict[str, Any]:
    config = yaml.safe_load((ROOT / "config" / f"demo_{name}.yaml").read_text(encoding="utf-8"))
    config["data"]["synthetic"] |= {"patients": 30, "train": 4, "test": test}
    return {**config, "name": "test", "work_dir": "work"}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def rates(project: Project, agent: str) -> dict[str, float]:
    """Success rate by judge."""
    summary = [row for row in rows(project.report("summary.csv")) if row["tag"] == agent]
    assert all(row["asked"] == row["done"] and row["missing"] == "0" for row in summary)
    return {row["judge"]: int(row["successes"]) / int(row["done"]) for row in summary}


def test_the_demo_of_treqs_runs_and_the_reference_is_always_right(tmp_path: Path) -> None:
    project = Project(tmp_path, small_demo("treqs", 12))
    project.run()
    assert rates(project, "reference")["strict"] == 1.0
    assert rates(project, "baseline")["strict"] > 0.5


def test_the_demo_of_sequences_runs_and_the_published_judge_accepts_what_the_strict_one_rejects(tmp_path: Path) -> None:
    project = Project(tmp_path, small_demo("ehr_seqsql", 12))
    project.run()
    assert rates(project, "reference")["strict"] == 1.0
    baseline = rates(project, "baseline")
    assert baseline["published"] == 1.0 and 0.0 < baseline["strict"] < 1.0


@pytest.mark.parametrize("name", ["treqs", "ehr_seqsql"])
def test_no_cheat_gets_past_the_strict_judge(tmp_path: Path, name: str) -> None:
    project = Project(tmp_path, small_demo(name, 6))
    project.run("audit")
    audited = rows((tmp_path / "work" / "audit" / f"{name}.csv").read_text(encoding="utf-8"))
    assert len(audited) == 6 and all(row["gradable"] == "True" for row in audited), audited
