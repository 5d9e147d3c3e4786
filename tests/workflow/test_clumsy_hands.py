"""What a user may mistype, misname or change behind the workflow's back: one line that says so, and nothing wrong is made."""

from __future__ import annotations

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
