"""Boxes that several test modules share."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from medagentgym.sandbox import Backend, Box, BoxSpec, Limits

LIMITS = Limits(wall_seconds=20, cpu_seconds=20, memory_mb=1024, work_mb=64, work_files=500, file_mb=32, output_bytes=100_000, answer_bytes=50_000)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task's data: one table as CSV and in SQLite."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "patients.csv").write_text("subject_id,gender\n1,m\n2,f\n3,f\n")
    connection = sqlite3.connect(folder / "task.sqlite")
    connection.execute("CREATE TABLE admissions (subject_id INTEGER, admittime TEXT)")
    connection.executemany("INSERT INTO admissions VALUES (?, ?)", [(1, "2105-01-01 08:00:00"), (2, "2105-02-03 10:30:00")])
    connection.commit()
    connection.close()
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


@pytest.fixture(scope="session")
def spec(data: Path) -> BoxSpec:
    return BoxSpec(python=Path(sys.executable), read_only={"/data": data}, limits=LIMITS)


@pytest.fixture(scope="session")
def _session_box(backend: Backend, spec: BoxSpec) -> Iterator[Box]:
    box = backend.start(spec)
    yield box
    box.close()


@pytest.fixture
def box(_session_box: Box, backend: Backend, spec: BoxSpec) -> Iterator[Box]:
    """A clean box of each backend."""
    assert _session_box.reset()
    yield _session_box
    assert not _session_box.closed
