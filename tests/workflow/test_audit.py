"""The audit as a user runs it: its own target, and a run that leaves out what it found."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest
from sums_task import TESTS, install, sum_of, write_rows
from workflow_project import Project

pytestmark = pytest.mark.slow

ROWS = [sum_of(1, 2), sum_of(3, 3), sum_of(2, 2, gold=5), sum_of(4, 4)]
"""The third sum is wrong."""


def sums(folder: Path, task: str = "sums", **changes: Any) -> tuple[Project, dict[str, str]]:
    """A project on the small task, and the environment variables that make the task known."""
    install(folder / "installed")
    source = write_rows(folder / "source", ROWS)
    config = {"name": "test", "work_dir": "work", "task": task, "agent": {"name": "reference"}, "result_dir_tag": "reference"}
    project = Project(folder, config | {"data": {"data_path": str(source)}} | changes)
    paths = [str(folder / "installed"), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return project, {"PYTHONPATH": os.pathsep.join(paths)}


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_the_audit_of_made_up_records_passes_and_says_the_same_twice(project: Project) -> None:
    project.write(data=project.config["data"] | {"impossible": "include"})
    output = project.run("audit")
    audit = project.folder / "work" / "audit"
    rows = rows_of(audit / "mimic_iii.csv")
    gradable = [row for row in rows if row["gradable"] == "True"]
    assert len(rows) == 30 and f"{len(gradable)} of 30 instances can be judged" in output
    assert {row["kind"] for row in gradable} == {"answerable", "impossible"}
    assert {row["reason"] for row in rows if row["gradable"] == "False"} <= {"empty"}
    summary = {row["name"]: row for row in rows_of(audit / "mimic_iii_summary.csv")}
    assert int(summary["reference"]["strict"]) == len(gradable)
    assert [name for name, row in summary.items() if row["within_floor"] == "False"] == []
    assert int(summary["print_everything"]["published"]) > int(summary["print_everything"]["strict"])
    first = {path.name: path.read_bytes() for path in audit.iterdir()}
    assert "audit_task" not in project.run("audit", "--quiet=progress")
    for path in audit.iterdir():
        path.unlink()
    project.run("audit")
    assert {path.name: path.read_bytes() for path in audit.iterdir()} == first


def test_the_audit_needs_neither_model_nor_credentials_nor_the_folder_of_another_configuration(project: Project) -> None:
    project.run()
    project.write(num_steps=7, agent={"name": "llm", "llm": {"base_url": "http://127.0.0.1:9/v1"}}, data=project.config["data"] | {"only": [0, 1, 2]})
    assert "made with another configuration" in project.run(status=2)
    project.run("audit")
    assert len(rows_of(project.folder / "work" / "audit" / "mimic_iii.csv")) == 3


def test_what_cannot_be_judged_is_left_out_by_name_and_the_summary_says_how_many(tmp_path: Path) -> None:
    project, environment = sums(tmp_path)
    project.run(**environment)
    assert project.report("summary.csv").count("\n") == 3
    before = {path.name: path.read_bytes() for path in (tmp_path / "work" / "sums" / "reference" / "test").glob("history_*.json")}
    excluding = project.config["data"] | {"exclude": "audit"}

    project.write(data=excluding)
    refused = project.run(status=2, **environment)
    assert "work/audit/sums.csv, which is not there; run the target `audit`" in refused and "Traceback" not in refused

    assert "3 of 4 instances can be judged" in project.run("audit", **environment)
    row = rows_of(tmp_path / "work" / "audit" / "sums.csv")[2]
    assert (row["idx"], row["gradable"], row["reason"]) == ("2", "False", "reference fails")

    project.run(**environment)
    strict = next(row for row in csv.DictReader(project.report("summary.csv").splitlines()) if row["judge"] == "strict")
    assert (strict["asked"], strict["done"], strict["successes"], strict["excluded_by_audit"]) == ("3", "3", "3", "1")
    for name in ("summary.md", "report.html"):
        assert "the audit found that they cannot be judged" in project.report(name)
    after = {path.name: path.read_bytes() for path in (tmp_path / "work" / "sums" / "reference" / "test").glob("history_*.json")}
    assert after == before


def test_other_data_need_another_audit(tmp_path: Path) -> None:
    project, environment = sums(tmp_path)
    project.write(data=project.config["data"] | {"exclude": ["audit", 0]})
    project.run("audit", **environment)
    write_rows(tmp_path / "source", [sum_of(2, 3), *ROWS[1:]])
    project.run("data", **environment)
    refused = project.run(status=2, **environment)
    assert "audits other data than" in refused
    project.run("audit", **environment)
    project.run(**environment)
    records = sorted(path.name for path in (tmp_path / "work" / "sums" / "reference" / "test").glob("history_*.json"))
    assert records == ["history_1.json", "history_3.json"]


def test_a_judge_that_can_be_fooled_makes_the_audit_fail_with_its_tables_written(tmp_path: Path) -> None:
    project, environment = sums(tmp_path, task="foolable_sums")
    said = "foolable_sums/test: judge strict accepts probe equal_object on 3 of 3 instances, and its floor is 0"
    for _ in range(2):  # a second run does not pass because the tables are there
        output = project.run("audit", status=1, **environment)
        assert said in output
        assert "ABOVE ITS FLOOR" in output
    audit = tmp_path / "work" / "audit"
    assert len(rows_of(audit / "foolable_sums.csv")) == 4
    assert json.loads((audit / "foolable_sums.json").read_text())["failures"] == [said]


def test_a_change_of_what_is_asked_makes_the_audit_anew(tmp_path: Path) -> None:
    project, environment = sums(tmp_path)
    project.run("audit", **environment)
    assert len(rows_of(tmp_path / "work" / "audit" / "sums.csv")) == 4
    project.write(end_idx=2)
    project.run("audit", **environment)
    assert len(rows_of(tmp_path / "work" / "audit" / "sums.csv")) == 2
