"""What is told to end ends, also while a judge is busy with an answer that wears it out."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from sums_task import TESTS, install, sum_of, write_rows
from workflow_project import Project, wait_for

pytestmark = pytest.mark.slow

ROWS = [*(sum_of(1, number) for number in range(4)), sum_of(0, 0), *(sum_of(2, number) for number in range(4))]
"""The judge gets stuck at the fifth."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project on sums whose judge gets stuck where `STUCK_IN` says so."""
    install(tmp_path / "installed")
    paths = [str(tmp_path / "installed"), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    config = {"name": "test", "work_dir": "work", "task": "stuck_sums", "agent": {"name": "reference"}, "result_dir_tag": "reference"}
    return Project(tmp_path, config | {"data": {"data_path": str(write_rows(tmp_path / "source", ROWS))}})


def episodes(project: Project) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (project.folder / "work" / "stuck_sums" / "reference" / "test").glob("history_*.json")}


def process_of(run: subprocess.Popen[str], words: str) -> psutil.Process:
    """The process below a run whose command line holds these words, the shells around it apart."""
    below = psutil.Process(run.pid).children(recursive=True)
    return next(process for process in below if words in " ".join(process.cmdline()) and process.name() not in ("bash", "sh"))


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(("stuck_in", "in_flight"), [("expression", 1), ("expression", 3), ("query", 1), ("query", 3)])
def test_a_worker_whose_judge_is_stuck_ends_when_it_is_told_to_and_keeps_what_is_finished(project: Project, stuck_in: str, in_flight: int) -> None:
    project.write(in_flight=in_flight)
    run = project.start("episodes", STUCK_IN=stuck_in)
    wait_for((project.folder / "stuck").exists)
    worker = process_of(run, "medagentgym.worker")
    worker.terminate()
    output, _ = run.communicate(timeout=60)
    assert run.returncode != 0 and has_ended(worker)
    assert "stopped: signal SIGTERM; finished episodes are kept" in output and "Traceback" not in output
    before = episodes(project)
    assert len(before) < len(ROWS)
    project.run()
    after = episodes(project)
    assert len(after) == len(ROWS) and all(after[name] == before[name] for name in before)


def test_a_worker_whose_judge_is_stuck_does_not_outlive_its_run(project: Project) -> None:
    project.write(in_flight=3)
    run = project.start("episodes", STUCK_IN="expression")
    wait_for((project.folder / "stuck").exists)
    worker = process_of(run, "medagentgym.worker")
    run.kill()
    wait_for(lambda: has_ended(worker))
    (log,) = (project.folder / "work" / "logs" / "stuck_sums").rglob("*.log")
    wait_for(lambda: "stopped: the workflow that started this process is gone; finished episodes are kept" in log.read_text())


@pytest.mark.parametrize("stuck_in", ["expression", "query"])
def test_ctrl_c_ends_scoring_whose_judge_is_stuck_and_the_next_run_scores(project: Project, stuck_in: str) -> None:
    project.run("episodes")
    before = episodes(project)
    run = project.start(STUCK_IN=stuck_in)
    wait_for((project.folder / "stuck").exists)
    scoring = process_of(run, "score.py")
    os.killpg(run.pid, signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert run.returncode != 0 and has_ended(scoring)
    assert "stopped: signal SIGINT; nothing is lost" in output and "Traceback" not in output
    project.run()
    assert episodes(project) == before and f"{len(ROWS)}" in project.report("summary.csv")


def test_ctrl_c_ends_an_audit_whose_judge_is_stuck_and_nothing_is_written(project: Project) -> None:
    project.run("data")
    run = project.start("audit", STUCK_IN="expression")
    wait_for((project.folder / "stuck").exists)
    audit = process_of(run, "audit.py")
    os.killpg(run.pid, signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert run.returncode != 0 and has_ended(audit)
    assert "stopped: signal SIGINT; nothing is written before an audit is whole" in output and "Traceback" not in output
    assert not list((project.folder / "work" / "audit").glob("*"))


def test_nothing_of_a_worker_is_left_when_it_has_done_its_work(project: Project) -> None:
    run = project.start("episodes")
    seen: dict[int, psutil.Process] = {}
    while run.poll() is None:
        try:
            seen |= {process.pid: process for process in psutil.Process(run.pid).children(recursive=True)}
        except psutil.NoSuchProcess:
            break
        time.sleep(0.02)
    run.communicate(timeout=60)
    assert run.returncode == 0 and seen
    assert [process for process in seen.values() if not has_ended(process)] == []
