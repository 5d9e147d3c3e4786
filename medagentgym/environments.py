"""The interpreters that run code steps, apart from the one that runs medagentgym.

A *family* of tasks shares an environment: `envs/<family>.in` lists the packages that its code is to find, `envs/<family>.lock` every version with its
hashes. `build` makes of a lock a virtual environment in a folder that is named by family, lock and version of Python, so that environments of two
locks stand side by side, and the name says all about what is in it. Where nobody names another interpreter (`sandbox.python`), code runs in it.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from medagentgym.errors import InfrastructureError, UserError, exit_with, infrastructure_boundary, one_line
from medagentgym.record import write_text

if TYPE_CHECKING:
    from medagentgym.config import Config


class HasFamily(Protocol):
    """The part of a task (class or object) that decides where its code runs."""

    @property
    def environment_family(self) -> str:
        """Family of the packages that code steps find."""
        ...


ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "envs"
FOLDER_VARIABLE = "MEDAGENTGYM_ENVIRONMENTS"
"""Environment variable with the folder in which environments are made, where `.environments` of the project is not the place."""
COMPLETE = "complete.json"
"""File that is written into an environment last."""

_PACKAGES = """
import importlib.metadata, json, platform
found = {(package.metadata["Name"] or "?").lower() + "==" + package.version for package in importlib.metadata.distributions()}
print(json.dumps({"python": platform.python_version(), "packages": sorted(found - {name for name in found if name.startswith("medagentgym==")})}))
"""
_SECONDS = 60.0
_OF_THE_CALLER = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")
"""Variables that would lead an installation elsewhere."""


def families() -> list[str]:
    """The families that there are locks for."""
    return sorted(path.stem for path in LOCKS.glob("*.lock"))


def environment_name(family: str) -> str:
    """What identifies the environment of a family: family, digest of its lock, version of Python. Raises `UserError` for an unknown family."""
    try:
        lock = (LOCKS / f"{family}.lock").read_bytes()
    except OSError:
        raise UserError(
            f"environment {family!r}: there is no {LOCKS / family}.lock (there are: {', '.join(families()) or 'none'}); name an interpreter in "
            "sandbox.python"
        ) from None
    return f"{family}-{hashlib.sha256(lock).hexdigest()[:12]}-python{sys.version_info.major}.{sys.version_info.minor}"


def environment_folder(family: str) -> Path:
    """Where the environment of a family is, or would be. Raises `UserError`."""
    return Path(os.environ.get(FOLDER_VARIABLE) or ROOT / ".environments").expanduser().absolute() / environment_name(family)


def is_built(family: str) -> bool:
    """Whether the environment of a family is complete. Raises `UserError`."""
    folder = environment_folder(family)
    return (folder / COMPLETE).is_file() and _python_of(folder) is not None


def build(family: str) -> Path:
    """Make the environment of a family unless it is there, and give its folder.

    Of several builders at once one builds and the others wait. Raises `UserError` or `InfrastructureError`; then nothing half-made counts as built.
    """
    folder = environment_folder(family)
    with infrastructure_boundary("disk"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.parent / f".{folder.name}.lock"):
            if not is_built(family):
                _build(family, folder)
    return folder


def interpreter(config: Config, task: HasFamily) -> Path:
    """The interpreter for the code steps of a task: `sandbox.python` (an interpreter, or the folder of an environment), else that of its family.

    Raises `UserError` where there is none, saying what to type.
    """
    given = config.sandbox.python
    if given is not None:
        return _given(given)
    return _built(environment_folder(task.environment_family), task.environment_family)


def identity(config: Config, task: HasFamily) -> str:
    """What there is to know of the environment of code steps, wherever it lies: its name, or version and packages of an interpreter that was given.

    Two environments of one identity have the same packages. Raises `UserError`.
    """
    python = interpreter(config, task)
    return environment_name(task.environment_family) if config.sandbox.python is None else _contents(python)


def _given(path: Path) -> Path:
    if not path.is_dir():
        return path
    python = _python_of(path)
    if python is None:
        raise UserError(f"sandbox.python: {path} holds no bin/python; give an interpreter, or the folder of a virtual or conda environment")
    return python


def _python_of(folder: Path) -> Path | None:
    return next((python for python in (folder / "bin" / "python", folder / "bin" / "python3") if python.is_file()), None)


@cache
def _built(folder: Path, family: str) -> Path:
    python = _python_of(folder)
    if python is None or not (folder / COMPLETE).is_file():
        raise UserError(
            f"environment {family}: not built yet; type `{shlex.quote(sys.executable)} -m medagentgym environments build {family}`, or name an "
            "interpreter in sandbox.python"
        )
    return python


@cache
def _contents(python: Path) -> str:
    try:
        done = subprocess.run([python, "-I", "-c", _PACKAGES], env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=True)
        answer = json.loads(done.stdout)
        packages = hashlib.sha256("\n".join(answer["packages"]).encode()).hexdigest()
        return f"Python {answer['python']}, packages {packages[:12]}"
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        words = one_line((getattr(error, "stderr", None) or b"").decode("utf-8", "replace"))[-300:] or one_line(error)
        raise UserError(f"sandbox.python: {python} does not run ({words}); give the path of a Python interpreter") from error


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a lock that the kernel frees when its holder dies."""
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _build(family: str, folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    own_pip = importlib.util.find_spec("pip") is None
    pip = [str(folder / "bin" / "python"), "-m", "pip"] if own_pip else [sys.executable, "-m", "pip", "--python", str(folder)]
    try:
        _run(family, [sys.executable, "-m", "venv", *([] if own_pip else ["--without-pip"]), str(folder)])
        _run(
            family, [*pip, "install", "--quiet", "--no-input", "--disable-pip-version-check", "--require-hashes", "-r", str(LOCKS / f"{family}.lock")]
        )
        write_text(folder / COMPLETE, json.dumps({"environment": folder.name}) + "\n")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _run(family: str, command: list[str]) -> None:
    """Run a command of an installation. What it makes can be read by all: as root, boxes are users of their own."""
    environment = {name: value for name, value in os.environ.items() if name not in _OF_THE_CALLER}
    done = subprocess.run(command, env=environment, umask=0o022, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).decode("utf-8", "replace").splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()] or lines or ["no reason given"]
        raise InfrastructureError("machine", f"the environment {family} could not be made: {one_line(errors[-1])[:500]}")


def _families_of(argument: str) -> list[str]:
    """The family of that name; of a configuration file those that its tasks need, unless it names an interpreter. Raises `UserError`."""
    if not argument.endswith((".yaml", ".yml", ".json")):
        return [argument]
    from medagentgym.configuration import experiments, load_config
    from medagentgym.tasks.registry import get_task_class

    configs = [config for config in experiments(load_config(Path(argument))) if config.sandbox.python is None]
    return [get_task_class(config.task).environment_family for config in configs]


def main(arguments: Sequence[str]) -> int:
    """`[build FAMILY...]`: a table of the environments, or build those that are missing. Needs no package but this one to build.

    A configuration file stands for the families of its tasks.

    Raises `UserError` or `InfrastructureError`.
    """
    if not arguments:
        from tabulate import tabulate

        print(
            tabulate(
                [(name, "yes" if is_built(name) else "no", environment_folder(name)) for name in families()], headers=("family", "built", "folder")
            )
        )
        return 0
    if arguments[0] != "build" or len(arguments) < 2:
        raise UserError("command line: environments: expects `medagentgym environments` or `medagentgym environments build FAMILY...`")
    for family in dict.fromkeys(family for argument in arguments[1:] for family in _families_of(argument)):
        if not is_built(family):
            print(f"Installing the packages of code steps: {family} (about half a minute) ...", file=sys.stderr, flush=True)
            build(family)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (UserError, InfrastructureError) as error:
        exit_with(error)
