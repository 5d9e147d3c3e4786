"""Tasks biocoder and biodsbench through the whole chain, on made-up programs and a made-up study."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow_project import ROOT, Project

from medagentgym import environments

pytestmark = pytest.mark.slow


def small_demo(name: str, test: int, **more: Any) -> dict[str, Any]:
    config = yaml.safe_load((ROOT / "config" / f"demo_{name}.yaml").read_text(encoding="utf-8"))
    config["data"]["synthetic"] |= {"train": 2, "test": test}
    return {**config, "name": "test", "work_dir": "work", **more}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def successes(project: Project) -> dict[str, tuple[str, str]]:
    return {row["judge"]: (row["successes"], row["done"]) for row in rows(project.report("summary.csv"))}


def test_the_demo_of_functions_runs_and_records_can_be_scored_again(tmp_path: Path) -> None:
    project = Project(tmp_path, small_demo("biocoder", 4, sandbox={"python": sys.executable}))
    project.run()
    assert successes(project) == {"strict": ("4", "4"), "published": ("4", "4")}
    folder = tmp_path / "work" / "biocoder" / "reference"
    episodes = {path.name: path.read_bytes() for path in sorted((folder / "test").glob("history_*.json"))}
    (attempt,) = json.loads(episodes["history_1.json"])["attempts"]
    assert attempt["evidence"]["complete"] and attempt["evidence"]["gathered"]["calls"] > 0
    (folder / "scores_test.parquet").unlink()
    project.run()
    assert {path.name: path.read_bytes() for path in sorted((folder / "test").glob("history_*.json"))} == episodes
    assert successes(project)["strict"] == ("4", "4")


def test_the_demo_of_a_study_runs_and_no_cheat_gets_past_its_judge(tmp_path: Path) -> None:
    if not environments.is_built("bioinformatics"):
        pytest.skip("the environment bioinformatics is not built: medagentgym environments build bioinformatics")
    project = Project(tmp_path, small_demo("biodsbench", 4))
    project.run()
    assert successes(project)["strict"] == ("4", "4")
    project.run("audit")
    probes = rows((tmp_path / "work" / "audit" / "biodsbench_summary.csv").read_text(encoding="utf-8"))
    judged = [probe for probe in probes if probe["what"] in ("broken", "cheat")]
    assert len(judged) > 20 and all(probe["within_floor"] == "True" for probe in judged), judged
