"""Fixtures that several test modules share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from medagentgym.sandbox import Backend, choose_backend
from medagentgym.sandbox.selection import probe

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; the test is skipped where it is absent."""
    folder = Path(os.environ.get("MEDAGENTGYM_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data are absent: {folder} (MEDAGENTGYM_SHARED_DATA)")
    return folder


@pytest.fixture(scope="session", params=["bubblewrap", "landlock", "none"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Every backend that works on this machine."""
    outcome = probe(request.param)
    if not outcome.works:
        pytest.skip(outcome.reason)
    return choose_backend(request.param)
