"""The whole chain on real records: the open MIMIC-III demo and EHRSQL's validation questions."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow_project import ROOT, Project, model

pytestmark = [pytest.mark.slow, pytest.mark.shared_data]


def test_every_answerable_question_is_judged_right_and_a_model_is_corrected_by_its_second_try(shared_data: Path, tmp_path: Path, serve: Any) -> None:
    config = yaml.safe_load((ROOT / "config" / "mimic_demo.yaml").read_text(encoding="utf-8"))
    config["data"]["raw_path"] = str(shared_data / "mimic_iii_demo")
    config["data"]["questions"]["test"] = str(shared_data / "ehrsql" / "mimic_iii" / "valid.json")
    project = Project(tmp_path, {**config, "name": "test", "work_dir": "work"})
    project.run()
    strict = next(row for row in csv.DictReader(project.report("summary.csv").splitlines()) if row["judge"] == "strict")
    assert strict["asked"] == strict["done"] == strict["successes"] == "760" and strict["missing"] == "0"
    assert int(strict["usable"]) >= 100 and strict["usable_successes"] == strict["usable"]
    manifest = json.loads((tmp_path / "work" / "data" / "mimic_iii" / "build.json").read_text(encoding="utf-8"))
    assert manifest["questions"]["test"]["rows"] == 1122 and manifest["questions"]["test"]["error"] == 0
    assert len(manifest["tables"]) == 17 and 80 <= manifest["tables"]["PATIENTS"]["rows"] <= 100

    usable = next(idx for idx in range(1122) if project.episode(idx, "reference").exists() and _found_something(project.record(idx, "reference")))
    right = project.record(usable, "reference")["steps"][0]["params"]["code"]
    acts = [{"action": "validate_code", "params": {"code": code}} for code in ("answer = 'no idea'", right)] + [{"action": "submit", "params": {}}]
    server = serve({"conversations": [{"match": "# Question", "replies": [json.dumps(act) for act in acts]}]})
    project.write(agent=model(server), result_dir_tag="model", start_idx=usable, end_idx=usable + 1)
    project.run()
    record = project.record(usable, "model")
    assert [attempt["verdicts"]["strict"]["correct"] for attempt in record["attempts"]] == [False, True] and record["result"] == "success"
    assert len(server.requests) == 3


def _found_something(record: dict[str, Any]) -> bool:
    answer = record["attempts"][0]["evidence"]["answer"]
    return isinstance(answer, list) and answer not in ([], [[None]], [[0]])
