"""The workflow with every sandbox that this machine offers."""

from __future__ import annotations

import csv
import json
import os

import pytest
from index_server import Index, basic, wheel
from workflow_project import Project

from medagentgym.sandbox import probe_backends

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("backend", ["bubblewrap", "landlock", "none"])
def test_the_reference_agent_solves_everything_in_each_sandbox_and_the_table_names_it(project: Project, backend: str) -> None:
    found = next(probe for probe in probe_backends() if probe.name == backend)
    if not found.works:
        pytest.skip(f"{backend} does not work here: {found.reason}")
    project.write(sandbox={"backend": backend}, end_idx=8)
    output = project.run()
    row = next(csv.DictReader(project.report("summary.csv").splitlines()))
    assert row["successes"] == row["asked"] and backend in row["sandbox"], output
    assert project.record(0, "reference")["sandbox"]["backend"] == backend


def test_an_episode_installs_a_package_and_uses_it_and_the_next_has_to_do_so_again(project: Project) -> None:
    if not probe_backends()[0].works:
        pytest.skip(f"bubblewrap does not work here: {probe_backends()[0].reason}")
    install = "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', 'install', 'tiny'], check=True)"
    steps = ["import tiny", install, "import tiny\nanswer = tiny.value"]
    (project.folder / "replies.json").write_text(json.dumps([{"action": "validate_code", "params": {"code": code}} for code in steps]))
    index = Index()
    try:
        index.offer("tiny", wheel("tiny", "1.0"))
        credentials = {"PACKAGE_INDEX_USER": "reader", "PACKAGE_INDEX_PASSWORD": "sesame-open"}
        sandbox = {"network": "package-index", "package_index": index.url}
        project.write(agent={"name": "scripted", "replies": "replies.json"}, result_dir_tag="installing", sandbox=sandbox, end_idx=2, in_flight=1)
        output = project.run(**credentials)
    finally:
        index.close()
    assert all(headers["authorization"] == basic("reader", "sesame-open") for _, _, headers in index.requests)
    for idx in range(2):
        record = project.record(idx, "installing")
        assert [step["exit_status"] for step in record["steps"][:3]] == [1, 0, 0], output
        assert record["attempts"][0]["evidence"]["answer"] == 7
        assert "package index" in record["messages"][0]["content"]
    policy = json.loads((project.episode(0, "installing").parent / "configuration.json").read_text())["data_policy"]
    assert policy == [{"model": "sandbox.package_index", "endpoint": "127.0.0.1", "permitted_by": "not credentialed", "basis": None}]
    assert [path for path in project.files() if b"sesame" in path.read_bytes()] == []


def test_a_run_under_a_strict_umask_works(project: Project) -> None:
    project.write(work_dir="private", end_idx=3)
    previous = os.umask(0o077)
    try:
        project.run()
    finally:
        os.umask(previous)
    assert (project.folder / "private/reports/test/summary.md").is_file()
