"""Boxes for programs, of every backend that works here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from medagentgym.sandbox import Backend, Box, BoxSpec, Limits, choose_backend
from medagentgym.sandbox.selection import probe

BACKENDS = ("bubblewrap", "landlock", "none")


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Every backend that works on this machine."""
    outcome = probe(request.param)
    if not outcome.works:
        pytest.skip(outcome.reason)
    return choose_backend(request.param)


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
