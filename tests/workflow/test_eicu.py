"""Task eicu through the whole chain: made-up patients, and the open demo with EHRSQL's validation questions."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow_project import ROOT, Project

pytestmark = pytest.mark.slow


def ran(tmp_path: Path, config: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """The strict judge's row of the summary, and what the build says."""
    project = Project(tmp_path, {**config, "name": "test", "work_dir": "work"})
    project.run()
    strict = next(row for row in csv.DictReader(project.report("summary.csv").splitlines()) if row["judge"] == "strict")
    return strict, json.loads((tmp_path / "work" / "data" / "eicu" / "build.json").read_text(encoding="utf-8"))


def test_every_made_up_question_is_answered_by_its_reference(tmp_path: Path) -> None:
    config = yaml.safe_load((ROOT / "config" / "demo_eicu.yaml").read_text(encoding="utf-8"))
    config["data"]["synthetic"] |= {"patients": 30, "train": 5, "test": 30}
    config["experiments"] = config["experiments"][1:]
    strict, build = ran(tmp_path, config)
    assert strict["asked"] == strict["done"] == strict["successes"] == "27" and strict["missing"] == "0"
    assert build["cohort"]["patients"] == 30 and len(build["tables"]) == 10 and build["questions"]["test"]["error"] == 0


@pytest.mark.shared_data
def test_two_hundred_questions_on_the_demo_are_answered_by_their_reference(shared_data: Path, tmp_path: Path) -> None:
    config = yaml.safe_load((ROOT / "config" / "eicu_demo.yaml").read_text(encoding="utf-8"))
    config["data"]["raw_path"] = str(shared_data / "eicu_demo")
    config["data"]["questions"]["test"] = str(shared_data / "ehrsql" / "eicu" / "valid.json")
    config["end_idx"] = 200
    strict, build = ran(tmp_path, config)
    assert strict["asked"] == strict["done"] == strict["successes"] == "200" and strict["missing"] == "0"
    assert int(strict["usable"]) > 0 and strict["usable_successes"] == strict["usable"]
    assert build["questions"]["test"]["rows"] == 1117 and build["questions"]["test"]["error"] == 0
    assert build["cohort"]["missing_raw_tables"] == ["lab", "vitalperiodic"]
