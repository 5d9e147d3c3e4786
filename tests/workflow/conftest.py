"""Projects on a few made-up patients, whose data are built once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Script
from workflow_project import MADE_UP, Project


@pytest.fixture(scope="session")
def built_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of the made-up patients, built once by the workflow itself."""
    project = Project(tmp_path_factory.mktemp("data"), {"name": "test", "work_dir": "work", "data": MADE_UP, "agent": {"name": "reference"}})
    project.run("data")
    return project.folder / "work" / "data"


@pytest.fixture
def project(tmp_path: Path, built_data: Path) -> Project:
    """A project whose data are built, with the reference agent."""
    shutil.copytree(built_data, tmp_path / "work" / "data")
    config = {"name": "test", "work_dir": "work", "data": MADE_UP, "agent": {"name": "reference"}, "result_dir_tag": "reference", "num_steps": 6}
    return Project(tmp_path, config)


@pytest.fixture
def serve() -> Iterator[Any]:
    """Start scripted model services; gives a function from a script to a running one."""
    servers: list[ModelServer] = []

    def start(script: Script, **options: Any) -> ModelServer:
        servers.append(ModelServer(script, **options).start())
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
