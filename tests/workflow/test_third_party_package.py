"""A package that someone else wrote adds a task and an agent."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from workflow_project import ROOT, Project

pytestmark = pytest.mark.slow


def test_an_installed_package_adds_a_task_and_an_agent_that_run_through_snakemake(tmp_path: Path) -> None:
    source, installed, tasks = tmp_path / "source", tmp_path / "installed", tmp_path / "tasks"
    source.mkdir()
    for file in (ROOT / "docs" / "example_package").glob("*.*"):
        (source / file.name).write_bytes(file.read_bytes())
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--target",
        str(installed),
        str(source),
    ]
    subprocess.run(pip, check=True, capture_output=True)
    tasks.mkdir()
    rows = [{"drug": "paracetamol", "weight_kg": 60 + number, "dose_mg": 15 * (60 + number)} for number in range(5)]
    (tasks / "test_tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {"name": "test", "work_dir": "work", "task": "doses", "agent": {"name": "multiplier"}, "data": {"data_path": str(tasks)}}
    project = Project(tmp_path, config)
    project.run(PYTHONPATH=str(installed))
    strict = next(row for row in csv.DictReader(project.report("summary.csv").splitlines()) if row["judge"] == "strict")
    assert (strict["task"], strict["tag"], strict["done"], strict["successes"]) == ("doses", "multiplier", "5", "5")
    record = json.loads((tmp_path / "work" / "doses" / "multiplier" / "test" / "history_0.json").read_text())
    assert record["agent"] == "multiplier" and record["steps"][0]["action"] == "validate_code"

    assert "5 of 5 instances can be judged" in project.run("audit", PYTHONPATH=str(installed))
    audit = list(csv.DictReader((tmp_path / "work" / "audit" / "doses_summary.csv").read_text().splitlines()))
    assert {row["within_floor"] for row in audit if row["what"] in ("broken", "cheat")} == {"True"}


def test_without_the_package_its_task_is_unknown_in_one_line(tmp_path: Path) -> None:
    project = Project(tmp_path, {"name": "test", "work_dir": "work", "task": "doses", "data": {"data_path": str(tmp_path)}})
    output = project.run(status=2)
    assert "doses" in output and "mimic_iii" in output and "Traceback" not in output
