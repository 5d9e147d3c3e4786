"""The workflow with every sandbox that this machine offers."""

from __future__ import annotations

import csv
import os

import pytest
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


def test_a_run_under_a_strict_umask_works(project: Project) -> None:
    project.write(work_dir="private", end_idx=3)
    previous = os.umask(0o077)
    try:
        project.run()
    finally:
        os.umask(previous)
    assert (project.folder / "private/reports/test/summary.md").is_file()
