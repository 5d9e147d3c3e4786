"""Where the kernel bounds whole boxes: which groups are found, that they hold, and that none is left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from ordinary_user import USER, accessible_python

from medagentgym.sandbox import Backend, BoxSpec, Limits, control_groups
from medagentgym.sandbox.box import ZygoteBox
from medagentgym.sandbox.control_groups import PREFIX, ControlGroup, Hierarchy, possible_hierarchies, sweep, usable_hierarchies
from medagentgym.sandbox.zygote import NOTICE

LIMITS = Limits(wall_seconds=30, cpu_seconds=30, memory_mb=256, processes=20, work_mb=24)


# --- finding ------------------------------------------------------------------------------------------------------------------------------------


def test_of_version_1_groups_are_made_below_the_own_one_of_each_controller(tmp_path: Path) -> None:
    own = "9:name=systemd:/\n8:pids:/session\n4:cpu,memory:/jobs/7/task\n0::/\n"
    mounts = (
        f"31 23 0:28 / {tmp_path} rw - tmpfs tmpfs rw\n"
        f"35 31 0:32 / {tmp_path}/cpu,memory rw,relatime - cgroup cgroup rw,cpu,memory\n"
        f"39 31 0:36 /session {tmp_path}/with\\040space rw - cgroup cgroup rw,pids\n"
        f"41 31 0:38 / {tmp_path}/unified rw - cgroup2 cgroup2 rw\n"
    )
    assert list(possible_hierarchies(own, mounts)) == [
        Hierarchy(tmp_path / "cpu,memory/jobs/7/task", 1, ("memory",)),
        Hierarchy(tmp_path / "with space", 1, ("pids",)),
    ]


def test_a_group_that_the_file_system_does_not_show_is_none(tmp_path: Path) -> None:
    mounts = f"35 31 0:32 /docker/abc {tmp_path} rw - cgroup cgroup rw,memory\n"
    assert list(possible_hierarchies("4:memory:/elsewhere\n", mounts)) == []
    assert list(possible_hierarchies("4:memory:/../outside\n", mounts.replace("/docker/abc", "/"))) == []
    assert list(possible_hierarchies("0::/\n", "")) == []


class TestVersion2:
    """A tree of groups as version 2 shows it, in ordinary files."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        groups = ("", "user.slice", "user.slice/user-1000.slice", "user.slice/user-1000.slice/session-3.scope")
        for group in groups:
            (tmp_path / group).mkdir(exist_ok=True)
            (tmp_path / group / "cgroup.subtree_control").write_text("" if group.endswith("scope") else "cpu memory pids\n")
            if group:
                (tmp_path / group / "memory.max").write_text("max\n")
                (tmp_path / group / "memory.high").write_text("max\n")
                (tmp_path / group / "pids.max").write_text("max\n")
        return tmp_path

    def found(self, tree: Path, own: str = "/user.slice/user-1000.slice/session-3.scope") -> list[Hierarchy]:
        return list(possible_hierarchies(f"0::{own}\n", f"31 23 0:28 / {tree} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"))

    def test_they_are_made_below_the_nearest_group_that_hands_the_controller_down(self, tree: Path) -> None:
        assert self.found(tree) == [Hierarchy(tree / "user.slice/user-1000.slice", 2, ("memory", "pids"))]
        (tree / "user.slice/user-1000.slice/session-3.scope/cgroup.subtree_control").write_text("memory\n")
        assert self.found(tree) == [Hierarchy(tree / "user.slice/user-1000.slice/session-3.scope", 2, ("memory",))]

    @pytest.mark.parametrize("name", ["memory.max", "memory.high", "pids.max"])
    def test_no_limit_is_left_behind_on_the_way_there(self, tree: Path, name: str) -> None:
        (tree / "user.slice/user-1000.slice/session-3.scope" / name).write_text("1000000\n")
        assert self.found(tree) == []

    def test_where_nobody_hands_it_down_there_is_none(self, tree: Path) -> None:
        for file in tree.rglob("cgroup.subtree_control"):
            file.write_text("cpu\n")
        assert self.found(tree) == [] and self.found(tree, "/") == []

    def test_the_controller_may_belong_to_version_1_all_the_same(self, tree: Path) -> None:
        own = "4:memory:/session\n0::/user.slice\n"
        mounts = f"31 23 0:28 / {tree} rw - cgroup2 cgroup2 rw\n35 31 0:32 / {tree}/v1 rw - cgroup cgroup rw,memory\n"
        assert list(possible_hierarchies(own, mounts)) == [Hierarchy(tree / "v1/session", 1, ("memory",))]


def test_what_this_machine_says_of_itself_is_understood() -> None:
    for hierarchy in possible_hierarchies(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text()):
        assert (hierarchy.folder / "cgroup.procs").exists() and hierarchy.controllers
    assert (control_groups.memory_guard() == "watch") == (usable_hierarchies() == ())


# --- holding ------------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hierarchies() -> tuple[Hierarchy, ...]:
    if not usable_hierarchies():
        pytest.skip("no control group can be made here")
    return usable_hierarchies()


@pytest.fixture(scope="module")
def limited(backend: Backend, hierarchies: tuple[Hierarchy, ...]) -> Iterator[ZygoteBox]:
    box = backend.start(BoxSpec(python=Path(sys.executable), limits=LIMITS, preload=("json",)))
    assert isinstance(box, ZygoteBox)
    yield box
    box.close()


@pytest.fixture
def box(limited: ZygoteBox) -> Iterator[ZygoteBox]:
    assert limited.reset()
    yield limited
    assert limited.run("answer = 'alive'").answer == "alive"


def group_of(box: ZygoteBox) -> ControlGroup:
    assert box._group is not None
    return box._group


def members(group: ControlGroup) -> list[str]:
    return [name for folder in group._folders for name in (folder / "cgroup.procs").read_text().split()]


def test_a_box_and_all_that_it_starts_are_in_its_group(box: ZygoteBox, hierarchies: tuple[Hierarchy, ...]) -> None:
    assert group_of(box).version == hierarchies[0].version
    idle = len(members(group_of(box)))
    assert idle >= len(hierarchies)
    seen = []
    watcher = psutil.Process()

    def look() -> None:
        seen.append(len(members(group_of(box))))

    timer = threading.Timer(0.5, look)
    timer.start()
    box.shell("sleep 1 & sleep 1 & sleep 1 & wait")
    timer.join()
    assert seen[0] >= idle + 3 * len(hierarchies)
    assert str(watcher.pid) not in members(group_of(box))


def test_what_the_kernel_kills_for_its_memory_is_told_as_that_limit(box: ZygoteBox) -> None:
    group = group_of(box)
    group.limit_memory(group.own_bytes() + 60 * 2**20)
    try:
        result = box.run("import os\nblock = bytearray(100 * 2**20)")
        assert result.limits_hit == ("memory_mb",) and result.exit_status is None
        result = box.shell("python -c 'block = bytearray(100 * 2**20)'")
        assert result.limits_hit == ("memory_mb",) and result.exit_status is None
        result = box.run("import subprocess, sys\nanswer = subprocess.run([sys.executable, '-c', 'block = bytearray(100 * 2**20)']).returncode")
        assert result.limits_hit == ("memory_mb",) and result.exit_status is None and not result.has_answer, "whichever process it was"
        result = box.run("answer = 1")
        assert result.limits_hit == () and result.answer == 1, "told once"
    finally:
        box._limit_group(0)


def test_where_the_kernel_kills_one_process_the_others_do_not_wait_for_it_until_their_time_is_up(box: ZygoteBox) -> None:
    group = group_of(box)
    group.limit_memory(group.own_bytes() + 60 * 2**20)  # below the watch, which therefore sees nothing
    try:
        for start in (
            "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        break\n",
            "import os, time\nif os.fork():\n    time.sleep(3600)\n",
        ):
            result = box.run(start + "block = b'x' * (100 * 2**20)\ntime.sleep(3600)")
            assert result.limits_hit == ("memory_mb",) and result.exit_status is None
            assert box.run("answer = 1").answer == 1
    finally:
        box._limit_group(0)


def test_a_notice_of_a_kill_stops_the_step_that_it_speaks_of_and_no_other(box: ZygoteBox) -> None:
    os.write(box._notices, NOTICE.pack(box._steps))
    os.write(box._notices, NOTICE.pack(box._steps + 2))
    assert box.run("import time\ntime.sleep(0.2)\nanswer = 1").answer == 1
    threading.Timer(0.3, os.write, (box._notices, NOTICE.pack(box._steps + 1))).start()
    assert box.run("import time\ntime.sleep(3600)").limits_hit == ("memory_mb",)


def test_a_step_for_which_the_kernel_kills_the_zygote_is_told_as_the_limit(backend: Backend, hierarchies: tuple[Hierarchy, ...]) -> None:
    code = """
        import mmap
        try:
            open("/proc/self/oom_score_adj", "w").write("0")  # what a kernel without Landlock lets a process take back
        except OSError:
            pass
        shared = []
        while True:
            shared.append(mmap.mmap(-1, 8 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
            for page in range(0, 8 << 20, 4096):
                shared[-1][page] = 1
            shared[-1].madvise(mmap.MADV_DONTNEED)
    """
    box = backend.start(BoxSpec(python=Path(sys.executable), limits=LIMITS, preload=("pandas",)))
    assert isinstance(box, ZygoteBox)
    group = group_of(box)
    group.limit_memory(group.own_bytes() + 60 * 2**20)  # below the watch
    start = f"import os, sys, textwrap\nos.execv(sys.executable, [sys.executable, '-S', '-c', textwrap.dedent({code!r})])"
    with box:
        result = box.run(start)
        assert result.limits_hit == ("memory_mb",) and result.exit_status is None and not result.has_answer
        assert result.box_lost == box.closed


def test_files_in_memory_do_not_count_as_memory_of_processes(box: ZygoteBox) -> None:
    if box.work_folder != "/work":
        pytest.skip("the backend's files are on the disk")
    filled = box.run(
        "for folder in ('/work', '/tmp', '/dev/shm'):\n    open(f'{folder}/x', 'wb').write(bytes(20 * 2**20))\n"
        "block = b'x' * (200 * 2**20)\nanswer = len(block)"
    )
    assert filled.answer == 200 * 2**20 and filled.limits_hit == ()


def test_the_kernel_counts_processes_where_it_can(box: ZygoteBox, hierarchies: tuple[Hierarchy, ...]) -> None:
    if not any("pids" in hierarchy.controllers for hierarchy in hierarchies):
        pytest.skip("the kernel's controller of processes is not to be had")
    result = box.run(
        "import os, time\nanswer = 0\nwhile True:\n    if os.fork() == 0:\n        time.sleep(60)\n    answer += 1\n    print(answer, flush=True)"
    )
    assert "processes" in result.limits_hit
    assert int(result.stdout.split()[-1]) <= LIMITS.processes


# --- leaving nothing ----------------------------------------------------------------------------------------------------------------------------


def groups_at(hierarchies: tuple[Hierarchy, ...]) -> set[Path]:
    return {path for hierarchy in hierarchies for path in hierarchy.folder.glob(f"{PREFIX}*")}


def test_a_group_goes_with_its_box(backend: Backend, hierarchies: tuple[Hierarchy, ...]) -> None:
    box = backend.start(BoxSpec(python=Path(sys.executable), limits=LIMITS, preload=()))
    assert isinstance(box, ZygoteBox)
    folders = set(group_of(box)._folders)
    assert folders <= groups_at(hierarchies)
    box.shell("(setsid sleep 100 &)")
    box.close()
    assert not folders & groups_at(hierarchies)


def test_a_group_that_a_living_process_owns_is_not_swept_even_where_it_is_empty(hierarchies: tuple[Hierarchy, ...]) -> None:
    group = ControlGroup(hierarchies)
    for hierarchy in hierarchies:
        sweep(hierarchy.folder)
    assert set(group._folders) <= groups_at(hierarchies)
    group.remove()


WORKER = """
import sys, time
from pathlib import Path
from medagentgym.sandbox import BoxSpec, choose_backend

box = choose_backend(sys.argv[1]).start(BoxSpec(python=Path(sys.executable), preload=()))
print(*box._group._folders, sep="\\n", flush=True)
print("ready", flush=True)
time.sleep(100)
"""


def test_what_a_killed_worker_left_is_swept_by_the_next(backend: Backend, hierarchies: tuple[Hierarchy, ...]) -> None:
    worker = subprocess.Popen([sys.executable, "-c", textwrap.dedent(WORKER), backend.name], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    folders = set()
    while (line := worker.stdout.readline().strip()) != "ready":
        assert line
        folders.add(Path(line))
    assert folders <= groups_at(hierarchies)
    worker.kill()
    worker.wait()
    worker.stdout.close()
    deadline = time.monotonic() + 5
    while any((folder / "cgroup.procs").read_text() for folder in folders) and time.monotonic() < deadline:
        time.sleep(0.02)
    subprocess.run([sys.executable, "-c", "from medagentgym.sandbox.control_groups import usable_hierarchies as u; u()"], check=True)
    assert not folders & groups_at(hierarchies)


# --- as an ordinary user ------------------------------------------------------------------------------------------------------------------------

DELEGATED = """
import json, sys
from pathlib import Path
from medagentgym.sandbox import BoxSpec, Limits, choose_backend
from medagentgym.sandbox.control_groups import memory_guard, usable_hierarchies

answer = {"guard": memory_guard(), "controllers": [name for hierarchy in usable_hierarchies() for name in hierarchy.controllers]}
if usable_hierarchies():
    box = choose_backend("auto").start(BoxSpec(python=Path(sys.executable), preload=(), limits=Limits(memory_mb=256, processes=10)))
    answer["members"] = (box._group._folders[0] / "cgroup.procs").read_text().split()
    box._group.limit_memory(box._group.own_bytes() + 60 * 2**20)
    answer["limits"] = box.run("block = bytearray(100 * 2**20)").limits_hit
    box.close()
print(json.dumps(answer))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can delegate a group")
@pytest.mark.skipif(shutil.which("bwrap") is None or shutil.which("setpriv") is None, reason="needs bwrap and setpriv")
@pytest.mark.parametrize("is_delegated", [True, False])
def test_an_ordinary_user_has_groups_where_they_are_delegated(hierarchies: tuple[Hierarchy, ...], tmp_path: Path, is_delegated: bool) -> None:
    if hierarchies[0].version != 1:
        pytest.skip("of version 2, a group that has processes cannot be delegated to them")
    delegated = [hierarchy.folder / f"{PREFIX}delegated-{os.getpid()}" for hierarchy in hierarchies]
    try:
        for folder in delegated:
            folder.mkdir()
            for path in (folder, folder / "cgroup.procs", folder / "tasks"):
                os.chown(path, USER if is_delegated else 0, -1)
        enter = "; ".join(f"echo $$ > {folder}/cgroup.procs" for folder in delegated)
        command = [*accessible_python(USER), sys.executable, "-c", DELEGATED]
        done = subprocess.run(
            ["sh", "-c", f'{enter}; exec "$@"', "sh", *command],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parents[2],
            env={"PATH": os.environ["PATH"], "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"},
        )
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        if is_delegated:
            assert answer["guard"] == "control group, version 1" and answer["controllers"][0] == "memory"
            assert answer["members"] and answer["limits"] == ["memory_mb"]
        else:
            assert answer == {"guard": "watch", "controllers": []}
        assert [path for folder in delegated for path in folder.glob(f"{PREFIX}*")] == []
    finally:
        for folder in delegated:
            folder.rmdir()
