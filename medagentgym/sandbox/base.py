"""What a sandbox is: a backend that starts boxes, and a box that runs the steps of one episode at a time.

Paths inside a box are fixed, so that the same code gives the same output everywhere: `/data` is the task's data (read-only) and `/work` is the
episode's own folder, where code starts and `terminal` commands run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from medagentgym.errors import UserError

DATA_FOLDER = "/data"
WORK_FOLDER = "/work"


@dataclass(frozen=True)
class Limits:
    """What one code step may use. A limit that is hit is an observation for the agent, never an infrastructure failure."""

    wall_seconds: float = 120.0
    cpu_seconds: float = 120.0
    memory_mb: int = 2048
    processes: int = 64
    open_files: int = 256
    file_mb: int = 256
    work_mb: int = 512
    work_files: int = 10_000
    output_bytes: int = 1_000_000
    answer_bytes: int = 1_000_000


@dataclass(frozen=True)
class PackageIndex:
    """The one package index that is shown to a box, read-only. Who holds it knows the credentials; the box never does."""

    url: str
    """Address of its list of projects, without credentials: `https://pypi.org/simple`."""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    hosts: tuple[str, ...] = ()
    """Other hosts (`files.pythonhosted.org`, `host:8443`) from which files may be fetched that its pages link to."""
    total_mb: int = 512
    """What one episode may take from it altogether, MiB."""


@dataclass(frozen=True)
class BoxSpec:
    """What a box is made of. Two boxes of the same spec are interchangeable."""

    python: Path
    """Interpreter that runs the code steps."""
    read_only: Mapping[str, Path] = field(default_factory=dict)
    """Path inside the box -> file or folder of the host, mounted read-only (for example `{"/data": work_dir/data/mimic_iii/database}`)."""
    limits: Limits = Limits()
    preload: tuple[str, ...] = ("numpy", "pandas", "sqlite3")
    """Modules that are imported once when the box starts, where they are installed."""
    package_index: PackageIndex | None = None
    """The package index that code can install from; None: there is no network at all."""


@dataclass(frozen=True)
class StepResult:
    """Everything that came out of one step. All of it is written by untrusted code and capped in size."""

    stdout: str
    stderr: str
    exit_status: int | None
    """0: ran to its end; 1: uncaught exception or `sys.exit(1)`; negative: killed by that signal; None: stopped by a limit."""
    has_answer: bool = False
    """Whether the code left a variable `answer`."""
    answer: Any = None
    """The answer as JSON data, see `medagentgym.sandbox.answers`."""
    printed_answer: bool = False
    """Whether the code printed nothing and left an answer: `stdout` is then `str(answer)`, as if the code had printed it."""
    limits_hit: tuple[str, ...] = ()
    """Names of `Limits` fields that stopped or cut the step, for example `("wall_seconds",)` or `("output_bytes",)`."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    output_bytes: int = 0
    """Bytes that the code wrote to stdout and stderr, before the cap; a flood far beyond it is cut off and not counted to its end."""
    box_lost: bool = False
    """Whether the limit has cost the box, so that the episode goes on in another one, without the files of its work folder."""


class Box(Protocol):
    """One running box. It serves one episode at a time and is not thread-safe."""

    data_folder: str
    """The task's data as the code sees them: `/data`, or the host's folder where the backend has no file system of its own."""
    work_folder: str
    """The episode's own folder as the code sees it: `/work`, or a temporary folder of the host."""

    def run(self, code: str, *, seed: int = 0) -> StepResult:
        """Run `code` as a fresh Python program (a step's variables do not reach the next; files in `/work` do).

        `seed` seeds `random` and `numpy.random`. Raises `InfrastructureError` when the box itself fails.
        """
        ...

    def shell(self, command: str) -> StepResult:
        """Run a shell command in `/work`."""
        ...

    def read_file(self, path: str, limit_bytes: int) -> bytes:
        """What a file holds that a step left in the work folder. `path` is relative to that folder.

        Only a regular file of one name is read, through no link, and only where it has at most `limit_bytes`. Raises `AgentError` saying why there is
        nothing to take, and `InfrastructureError` when the box itself fails.
        """
        ...

    def reset(self) -> bool:
        """End the episode: kill what still runs, empty `/work` and `/tmp`. False: could not be cleaned, throw the box away."""
        ...

    def close(self) -> None:
        """Kill everything in the box and free what it holds. May be called twice."""
        ...

    def kill(self) -> None:
        """Kill the box from another thread: a step that runs in it then fails with `InfrastructureError`. `close` is still to be called."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the box cannot be used any more."""
        ...


def refuse_package_index(backend: Backend) -> UserError:
    """What a backend says whose boxes have no network of their own, when a package index is to be shown in one."""
    return UserError(
        f"sandbox.network: package-index needs boxes with a network of their own, which {backend.name} has not; write sandbox.backend: bubblewrap, "
        "or sandbox.network: none"
    )


class Backend(Protocol):
    """A way of making boxes."""

    name: str
    """`bubblewrap`, `landlock` or `none`."""
    level: str
    """How strong the isolation is, in a word that `docs/sandbox.md` explains, for example `namespaces`, `namespaces-root`, `none`."""
    own_file_system: bool
    """Whether its boxes show data at paths of their own (`/data`); else the code sees the host's paths."""
    own_network: bool
    """Whether its boxes have a loopback of their own, on which a package index can be shown."""

    def start(self, spec: BoxSpec) -> Box:
        """Start a box. Raises `InfrastructureError("sandbox", ...)`."""
        ...
