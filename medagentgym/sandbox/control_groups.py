"""Control groups: the kernel's own bound on the memory and the processes of a whole box, where this process may make groups.

A box's limits are watched in any case (see `zygote.Watch`). Where a group can be made, the kernel holds them too, also between two looks of the
watch, and for memory that no process shows: files in memory, socket buffers, page tables. Which groups can be made is found by making one.

Of version 1 (`man 7 cgroups`), a group is made below that of this process. Of version 2, where a group that has processes cannot have groups with
limits below it, it is made below the nearest ancestor that hands the memory controller down, and only where no limit is left behind on the way there.

A group is removed when its box is closed. What a killed process left is swept by the next: the owner of a group holds a lock on its folder, which the
kernel frees when the owner dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

PREFIX = "medagentgym-box-"
REMOVE_SECONDS = 1.0
"""How long the processes of a group may take to vanish once they are killed."""
NEEDED = "memory"
WANTED = ("memory", "pids")


@dataclass(frozen=True)
class Hierarchy:
    """A group in which the groups of boxes are made."""

    folder: Path
    version: int
    controllers: tuple[str, ...]
    """Which of `memory` and `pids` it has."""


class ControlGroup:
    """The group of one box: one folder in every hierarchy."""

    def __init__(self, hierarchies: tuple[Hierarchy, ...]) -> None:
        """Make an empty group without limits. Raises `OSError`."""
        self.version = hierarchies[0].version
        self._folders: list[Path] = []
        self._of: dict[str, Path] = {}
        self._locks: list[int] = []
        try:
            for hierarchy in hierarchies:
                folder = self._make(hierarchy.folder)
                self._of.update(dict.fromkeys(hierarchy.controllers, folder))
            self._events = os.open(self._of[NEEDED] / ("memory.events" if self.version == 2 else "memory.oom_control"), os.O_RDONLY | os.O_CLOEXEC)
            self._locks.append(self._events)
        except BaseException:
            self.remove()
            raise

    def _make(self, parent: Path) -> Path:
        for _ in range(10):
            folder = parent / f"{PREFIX}{secrets.token_hex(8)}"
            folder.mkdir(mode=0o755)
            self._folders.append(folder)
            if (lock := _locked(folder)) is not None:
                self._locks.append(lock)
                return folder
            _removed(self._folders.pop())  # somebody was just sweeping it
        raise OSError(f"{parent}: groups cannot be locked")

    def add(self, process: int) -> None:
        """Move a process into the group; what it starts from then on is in it, too. Raises `OSError`."""
        for folder in self._folders:
            (folder / "cgroup.procs").write_text(str(process))

    def limit_processes(self, count: int) -> None:
        """Permit so many processes and threads, where the kernel counts them. Raises `OSError`."""
        if "pids" in self._of:
            (self._of["pids"] / "pids.max").write_text(str(count))

    def limit_memory(self, size: int) -> None:
        """Permit so many bytes, none of them in swap space. Raises `OSError`."""
        folder = self._of[NEEDED]
        if self.version == 2:
            (folder / "memory.max").write_text(str(size))
            if (folder / "memory.swap.max").exists():
                (folder / "memory.swap.max").write_text("0")
            return
        together = folder / "memory.memsw.limit_in_bytes"  # memory and swap space, never less than memory alone
        if together.exists():
            together.write_text("-1")
        (folder / "memory.limit_in_bytes").write_text(str(size))
        if together.exists():
            together.write_text(str(size))

    def own_bytes(self) -> int:
        """Bytes that the processes of the group hold and no file does. Raises `OSError`."""
        return _number(r"^(?:anon|rss) (\d+)$", (self._of[NEEDED] / "memory.stat").read_text())

    def kills(self) -> int:
        """How many of the group's processes the kernel has killed so far because the memory was used up. Raises `OSError`."""
        return _number(r"^oom_kill (\d+)$", os.pread(self._events, 4096, 0).decode())

    def remove(self) -> None:
        """Kill what is in the group and remove it. What will not go is left to the next sweep."""
        deadline = time.monotonic() + REMOVE_SECONDS
        for folder in self._folders:
            while not _removed(folder) and time.monotonic() < deadline:
                _kill_members(folder)
                time.sleep(0.002)
        self._folders.clear()
        for descriptor in self._locks:
            os.close(descriptor)
        self._locks.clear()


@lru_cache(maxsize=1)
def usable_hierarchies() -> tuple[Hierarchy, ...]:
    """Where this process can make the groups of boxes, that of the memory first; empty where it cannot. Sweeps what killed processes left there.

    Found by making a group and moving a process into it. The outcome is kept for the life of the process.
    """
    own, mounts = Path("/proc/self/cgroup"), Path("/proc/self/mountinfo")
    try:
        candidates = list(possible_hierarchies(own.read_text(), mounts.read_text()))
    except OSError:
        return ()
    usable: dict[str, Hierarchy] = {}
    for hierarchy in candidates:
        new = tuple(controller for controller in hierarchy.controllers if controller not in usable)
        if new and (NEEDED in usable or NEEDED in new) and _works(Hierarchy(hierarchy.folder, hierarchy.version, new), usable):
            usable.update(dict.fromkeys(new, Hierarchy(hierarchy.folder, hierarchy.version, new)))
    found = tuple(dict.fromkeys(usable.values()))
    for hierarchy in found:
        for folder in (hierarchy.folder, *_siblings(hierarchy.folder)):
            sweep(folder)
    return found


def memory_guard() -> str:
    """What bounds the memory of a whole box here, in words: a control group and its version, or the watch."""
    hierarchies = usable_hierarchies()
    return f"control group, version {hierarchies[0].version}" if hierarchies else "watch"


def make_group() -> ControlGroup | None:
    """A group for one box, or None where none can be made."""
    hierarchies = usable_hierarchies()
    if not hierarchies:
        return None
    try:
        return ControlGroup(hierarchies)
    except OSError:
        return None


def possible_hierarchies(own_groups: str, mounts: str) -> Iterator[Hierarchy]:
    """The groups below which one with limits might be made, that of the memory first.

    `own_groups` is what `/proc/<process>/cgroup` says of a process, `mounts` is its `/proc/<process>/mountinfo`.
    """
    where = {controller: (identifier, path) for identifier, controllers, path in _lines(own_groups) for controller in controllers.split(",")}
    folders = list(_mounted(mounts))
    for controller in WANTED:
        if controller in where:
            path = where[controller][1]
            for kind, options, root, mount in folders:
                if kind == "cgroup" and controller in options and (folder := _below(mount, root, path)) is not None:
                    yield Hierarchy(folder, 1, (controller,))
                    break
    if NEEDED in where or "" not in where:
        return
    for kind, _, root, mount in folders:
        if kind == "cgroup2" and (own := _below(mount, root, where[""][1])) is not None:
            if (folder := _handing_down(own, mount)) is not None:
                handed = (folder / "cgroup.subtree_control").read_text().split()
                yield Hierarchy(folder, 2, tuple(controller for controller in WANTED if controller in handed))
            return


def sweep(folder: Path) -> None:
    """Remove the groups of boxes whose owners are gone, as far as they are empty."""
    try:
        left = [Path(entry.path) for entry in os.scandir(folder) if entry.name.startswith(PREFIX)]
    except OSError:
        return
    for group in left:
        lock = _locked(group)
        if lock is not None:
            _removed(group)
            os.close(lock)


def _siblings(folder: Path) -> list[Path]:
    """The groups beside one, among them that of a run that was killed."""
    try:
        return [path for path in folder.parent.iterdir() if path.is_dir() and (path / "cgroup.procs").exists() and path != folder]
    except OSError:
        return []


def _works(hierarchy: Hierarchy, beside: dict[str, Hierarchy]) -> bool:
    """Whether a group can be made there, limited, filled with a process and removed."""
    hierarchies = (*dict.fromkeys(beside.values()), hierarchy)
    try:
        group = ControlGroup(hierarchies)
    except (OSError, KeyError):
        return False
    try:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={"PATH": os.defpath}) as process:
            group.limit_processes(2)
            group.limit_memory(1 << 30)
            group.add(process.pid)
            return group.kills() == 0 and group.own_bytes() >= 0
    except OSError:
        return False
    finally:
        group.remove()


def _handing_down(own: Path, mount: Path) -> Path | None:
    """The nearest group, from `own` upwards, that gives its groups the memory controller, without leaving a limit behind on the way; else None."""
    folder = own
    while True:
        try:
            if NEEDED in (folder / "cgroup.subtree_control").read_text().split():
                return folder
            if folder == mount or _has_limit(folder):
                return None
        except OSError:
            return None
        folder = folder.parent


def _has_limit(folder: Path) -> bool:
    limits = [folder / name for name in ("memory.max", "memory.high", "pids.max")]
    return any(limit.read_text().strip() != "max" for limit in limits if limit.exists())


def _lines(own_groups: str) -> Iterator[tuple[str, str, str]]:
    for line in own_groups.splitlines():
        identifier, controllers, path = line.split(":", 2)
        yield identifier, controllers, path


def _mounted(mounts: str) -> Iterator[tuple[str, list[str], str, Path]]:
    """Kind, options, root and mount point of every file system of control groups."""
    for line in mounts.splitlines():
        place, _, file_system = line.partition(" - ")
        kind, _, options = file_system.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            root, mount = (re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field) for field in place.split(" ")[3:5])
            yield kind, options.split(","), root, Path(mount)


def _below(mount: Path, root: str, path: str) -> Path | None:
    """The folder of a group, where the file system shows it."""
    group = PurePosixPath(path)
    if ".." in group.parts or not group.is_relative_to(root):
        return None
    return mount / group.relative_to(root)


def _locked(folder: Path) -> int | None:
    """A descriptor that holds the lock of a group's folder; None where somebody else holds it or the group is gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(folder)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _kill_members(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for process in (folder / "cgroup.procs").read_text().split():
            if int(process) > 0:  # 0 is one of another PID namespace
                os.kill(int(process), signal.SIGKILL)


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text, re.MULTILINE)
    return int(match[1]) if match else 0
