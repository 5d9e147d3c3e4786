"""What a user may mistype, misname or change behind the workflow's back: one line that says so, and nothing wrong is made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from workflow_project import Project

pytestmark = pytest.mark.slow


def mistakes(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("medagentgym:")]


@pytest.mark.parametrize("name", ["a b;$HOME`id`'\"x", "-x", "./there/../ünï/"])
def test_a_working_folder_may_be_called_anything_that_a_shell_would_read(tmp_path: Path, name: str) -> None:
    made = tmp_path / Path(name.replace("there/../", ""))
    data = {"synthetic": {"patients": 10, "train": 1, "test": 3}}
    project = Project(tmp_path, {"name": "test", "work_dir": name, "data": data, "agent": {"name": "reference"}})
    project.run()
    assert (made / "reports" / "test" / "summary.csv").exists() and (made / "running_records.jsonl").exists()
    assert {path.name for path in tmp_path.iterdir()} == {".snakemake", "config.yaml", made.name}


@pytest.mark.parametrize(
    ("name", "said"), [("w{x}y", "brace"), ("config.yaml", "not a folder"), ("config.yaml/x", "not a folder"), ("/proc/x", "/proc/x")]
)
def test_a_working_folder_that_cannot_be_one_is_refused_in_one_line(project: Project, name: str, said: str) -> None:
    project.write(work_dir=name)
    lines = mistakes(project.run(status=2))
    assert len(lines) == 1 and "work_dir" in lines[0] and said in lines[0]


@pytest.mark.parametrize("target", ["work/mimic_iii/reference/test/history_99.json", "{folder}/work/mimic_iii/reference/test/history_0.json"])
def test_an_episode_that_is_not_planned_is_refused_in_one_line_that_names_one_that_is(project: Project, target: str) -> None:
    lines = mistakes(project.run(target.format(folder=project.folder), status=2))
    assert len(lines) == 1 and "work/mimic_iii/reference/test/history_0.json" in lines[0].replace(str(project.folder), "")


def test_the_target_data_beside_others_leaves_no_episode_out(project: Project) -> None:
    project.write(end_idx=3)
    project.run("data", "scores")
    assert len(project.episodes("reference")) > 0
    assert len((project.folder / "work/mimic_iii/reference/scores_test.csv").read_text().splitlines()) == 1 + 2 * len(project.episodes("reference"))


def test_partial_is_true_or_false(project: Project) -> None:
    assert "partial" in mistakes(project.run("--config=partial=yess", status=2))[0]


def test_questions_that_changed_after_a_run_are_neither_judged_nor_extended(project: Project, built_data: Path) -> None:
    source = project.folder / "published"
    shutil.copytree(built_data / "mimic_iii" / "database", source, ignore=shutil.ignore_patterns("*.sqlite"))
    rows = [json.loads(line) for line in (built_data / "mimic_iii" / "test_tasks.jsonl").read_text().splitlines()]
    kept = [{key: row[key] for key in ("id", "question", "template", "query", "answer")} for row in rows if not row["is_impossible"]][:4]
    questions = source / "valid_tasks.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in kept))
    shutil.rmtree(project.folder / "work")
    project.write(data={"data_path": "published", "credentialed": False}, result_dir_tag="swapped", end_idx=3)
    project.run()
    table = project.report("summary.csv")
    questions.write_text("".join(json.dumps(row) + "\n" for row in [kept[1], kept[0], *kept[2:]]))
    lines = mistakes(project.run(status=1))
    assert lines and all("history_0.json" in line and "instance 0" in line for line in lines)
    assert project.report("summary.csv") == table
    project.write(end_idx=4)
    assert "history_0.json" in mistakes(project.run(status=1))[0]
    assert not project.episode(3, "swapped").exists()


@pytest.mark.parametrize("content", ["[1]", "3", "{", "{}"])
def test_a_damaged_manifest_or_fingerprint_is_one_line(project: Project, content: str) -> None:
    project.write(end_idx=2)
    project.run()
    for file in (project.folder / "work/data/mimic_iii/build.json", project.episode(0, "reference").with_name("configuration.json")):
        whole = file.read_bytes()
        file.write_text(content)
        project.write(end_idx=3)
        output = project.run(status=None)
        assert "Traceback" not in output and str(file.relative_to(project.folder)) in mistakes(output)[0]
        file.write_bytes(whole)
