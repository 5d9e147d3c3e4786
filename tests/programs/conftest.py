"""Boxes for programs, of every backend that works here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from medagentgym.sandbox import Backend, Box, BoxSpec, Limits


@pytest.fixture(scope="session")
def _session_box(backend: Backend) -> Iterator[Box]:
    limits = Limits(wall_seconds=20, cpu_seconds=20, memory_mb=1024, work_mb=256)
    box = backend.start(BoxSpec(python=Path(sys.executable), limits=limits))
    yield box
    box.close()


@pytest.fixture
def box(_session_box: Box) -> Iterator[Box]:
    """A clean box of each backend."""
    assert _session_box.reset()
    yield _session_box
    assert not _session_box.closed
