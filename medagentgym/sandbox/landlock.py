"""Boxes without namespaces: each step confines itself with Landlock and a filter of system calls before it runs any code.

For machines that close user namespaces to ordinary users. Weaker than `bubblewrap`: paths are the host's, names and sizes of files (not what is in
them) can be seen, there is no network at all, and the work folder is on the host's disk, watched instead of capped. `docs/sandbox.md` has the table.

As root the steps become a user that exists nowhere else and keep one capability, to read: it reaches no further than the rules (level
`landlock-root`). As an ordinary user they remain that user (level `landlock`).
"""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path

from medagentgym.errors import InfrastructureError, UserError
from medagentgym.sandbox.base import DATA_FOLDER, BoxSpec, refuse_package_index
from medagentgym.sandbox.box import Launch, ZygoteBox, remove_folder
from medagentgym.sandbox.confinement import OLDEST_ABI, landlock_abi
from medagentgym.sandbox.environment import step_environment
from medagentgym.sandbox.identity import processes_of_this_user, unused_identity
from medagentgym.sandbox.interpreter import Interpreter, describe
from medagentgym.sandbox.seccomp import filter_program

_PROGRAMS = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]
_SETTINGS = ["/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/mime.types", "/etc/localtime", "/etc/os-release", "/etc/debian_version"]
_MACHINE = ["/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/filesystems", "/sys/devices/system/cpu"]
_DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]


class LandlockBackend:
    """Starts boxes whose steps confine themselves, see `Backend`."""

    name = "landlock"
    own_file_system = False
    own_network = False

    def __init__(self) -> None:
        self._as_root = os.geteuid() == 0
        self.level = "landlock-root" if self._as_root else "landlock"

    def start(self, spec: BoxSpec) -> ZygoteBox:
        """Start a box. Raises `InfrastructureError` where the kernel's Landlock is missing or too old, `UserError` for the interpreter."""
        if spec.package_index is not None:
            raise refuse_package_index(self)
        abi = landlock_abi()
        if abi < OLDEST_ABI:
            raise InfrastructureError(
                "sandbox", f"Landlock of version {abi} is too old or switched off; {OLDEST_ABI} is needed (Linux 6.12)", fatal=True
            )
        for source in spec.read_only.values():
            if not source.exists():
                raise UserError(f"{source}: does not exist, and the sandbox is to show it to the code; build the data first")
        interpreter = describe(spec.python)
        program = filter_program(own_network=False, own_processes=False, own_files=False)
        identity = unused_identity() if self._as_root else None
        folder = Path(tempfile.mkdtemp(prefix="medagentgym-box-"))
        work, temporary = folder / "work", folder / "tmp"
        for scratch in (work, temporary):
            scratch.mkdir(mode=0o700)
        if identity is not None:
            for own in (folder, work, temporary):
                os.chown(own, identity, identity)
        permitted = {
            "run": [*_PROGRAMS, str(interpreter.base_prefix), *_environment_paths(interpreter)],
            "list": [str(interpreter.packages)],
            "read": [*_SETTINGS, *_MACHINE, *(str(source.resolve()) for source in spec.read_only.values())],
            "use": _DEVICES,
            "own": [str(work), str(temporary)],
        }
        settings = {
            "work": str(work),
            "scratch": [str(work), str(temporary)],
            "capped": [],
            "watched": [str(work), str(temporary)],
            "own_folder": str(folder),
            "identity": identity,
            "keep_reading": identity is not None,
            "process_limit": spec.limits.processes + 1 if identity is not None else processes_of_this_user() + spec.limits.processes,
            "confinement": {"paths": permitted, "filter": base64.b64encode(program).decode()},
        }
        launch = Launch(
            command=[str(spec.python.absolute()), "-s", str(Path(__file__).parent / "zygote.py")],
            environment=step_environment(path=f"{interpreter.prefix}/bin:/usr/local/bin:/usr/bin:/bin", home=str(work), temporary=str(temporary)),
            settings=settings,
            clean_up=lambda: remove_folder(folder),
        )
        data = spec.read_only.get(DATA_FOLDER)
        return ZygoteBox(spec, launch, data_folder=str(data.resolve()) if data else DATA_FOLDER, work_folder=str(work))


def _environment_paths(interpreter: Interpreter) -> list[str]:
    """What of a virtual environment can be read: everything but medagentgym itself, which holds the judges."""
    if not interpreter.is_virtual:
        return []
    packages = [interpreter.packages]
    if (interpreter.packages / "medagentgym").is_dir():
        packages = [path for path in interpreter.packages.iterdir() if path.name != "medagentgym"]
    return [str(path) for path in (interpreter.prefix / "bin", interpreter.prefix / "pyvenv.cfg", *packages)]
