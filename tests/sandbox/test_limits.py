"""Every limit stops or cuts the step, is reported by its name, and leaves the box working."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from medagentgym.sandbox import Box, BoxSpec, Limits, choose_backend
from medagentgym.sandbox.selection import probe

LIMITS = Limits(
    wall_seconds=30,
    cpu_seconds=30,
    memory_mb=256,
    processes=20,
    open_files=64,
    file_mb=4,
    work_mb=8,
    work_files=200,
    output_bytes=10_000,
    answer_bytes=5_000,
)


def started(name: str, limits: Limits) -> Iterator[Box]:
    outcome = probe(name)
    if not outcome.works:
        pytest.skip(outcome.reason)
    box = choose_backend(name).start(BoxSpec(python=Path(sys.executable), limits=limits, preload=()))
    yield box
    box.close()


@pytest.fixture(scope="module", params=["bubblewrap", "landlock", "none"])
def limited(request: pytest.FixtureRequest) -> Iterator[Box]:
    yield from started(request.param, LIMITS)


@pytest.fixture
def box(limited: Box) -> Iterator[Box]:
    assert limited.reset()
    yield limited
    assert limited.run("answer = 'alive'").answer == "alive"


@pytest.fixture(scope="module", params=["bubblewrap", "landlock", "none"])
def watched(request: pytest.FixtureRequest) -> Iterator[Box]:
    """A box whose memory is bounded by the watch alone, as where no control group can be made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("medagentgym.sandbox.box.make_group", lambda: None)
        yield from started(request.param, LIMITS)


@pytest.fixture(scope="module", params=["bubblewrap", "landlock", "none"])
def hasty(request: pytest.FixtureRequest) -> Iterator[Box]:
    """A box whose steps have one second."""
    yield from started(request.param, dataclasses.replace(LIMITS, wall_seconds=1.0))


@pytest.fixture(scope="module", params=["bubblewrap", "landlock", "none"])
def frugal(request: pytest.FixtureRequest) -> Iterator[Box]:
    """A box whose steps have one second of processor time."""
    yield from started(request.param, dataclasses.replace(LIMITS, cpu_seconds=1.0))


def test_wall_time(hasty: Box) -> None:
    result = hasty.run("import time\nprint('before')\ntime.sleep(60)")
    assert result.limits_hit == ("wall_seconds",) and result.exit_status is None
    assert result.stdout == "before\n"
    assert result.wall_seconds >= 1.0


def test_wall_time_of_a_program_that_ignores_signals(hasty: Box) -> None:
    result = hasty.run(
        "import signal, time\nfor number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:\n"
        "    signal.signal(number, signal.SIG_IGN)\ntime.sleep(60)"
    )
    assert result.limits_hit == ("wall_seconds",)


def test_endless_output_is_stopped(hasty: Box) -> None:
    result = hasty.shell("yes")
    assert "output_bytes" in result.limits_hit and result.stdout.startswith("y\ny\n")
    assert len(result.stdout) == 7500


def test_processor_time(frugal: Box) -> None:
    result = frugal.run("while True:\n    pass")
    assert "cpu_seconds" in result.limits_hit and result.exit_status is None


def test_processor_time_of_all_processes_together(frugal: Box) -> None:
    result = frugal.run("import os\nfor _ in range(3):\n    os.fork()\nwhile True:\n    pass")
    assert "cpu_seconds" in result.limits_hit


def test_processor_time_of_children_for_which_nobody_waits(frugal: Box) -> None:
    result = frugal.run(
        "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nfor _ in range(100):\n    if os.fork() == 0:\n"
        "        end = time.process_time() + 0.3\n        while time.process_time() < end:\n            pass\n        os._exit(0)\n"
        "    try:\n        os.wait()\n    except ChildProcessError:\n        pass"
    )
    assert result.limits_hit == ("cpu_seconds",)


def test_memory_of_one_process(box: Box) -> None:
    result = box.run("block = bytearray(2 * 10**9)")
    assert result.limits_hit == ("memory_mb",) and "MemoryError" in result.stderr


def test_memory_of_many_processes(box: Box) -> None:
    result = box.run("import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        break\nblock = b'x' * (100 * 2**20)\ntime.sleep(60)")
    assert result.limits_hit == ("memory_mb",) and result.exit_status is None


LET_GO_OF = """
import mmap, os, sys, time
shared = []
for _ in range(60):
    shared.append(mmap.mmap(-1, 8 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
    for page in range(0, 8 << 20, 4096):
        shared[-1][page] = 1
    shared[-1].madvise(mmap.MADV_DONTNEED)
time.sleep(60)
"""
"""The pages stay, though no process shows them: 480 MiB."""


def test_shared_memory_counts_also_where_a_process_has_let_go_of_it(watched: Box) -> None:
    assert watched.run(LET_GO_OF).limits_hit == ("memory_mb",)
    assert watched.shell(f"python -S -c '{LET_GO_OF}'").limits_hit == ("memory_mb",)
    within = LET_GO_OF.replace("range(60)", "range(18)").replace("shared[-1].madvise(mmap.MADV_DONTNEED)", "").replace("sleep(60)", "sleep(0.3)")
    assert watched.run(f"{within}answer = 1").answer == 1, "what is within the limit is not counted twice"


def test_processes(box: Box) -> None:
    result = box.run("import os, time\nwhile True:\n    if os.fork() == 0:\n        time.sleep(60)")
    assert "processes" in result.limits_hit


def test_threads(box: Box) -> None:
    result = box.run(
        "import threading, time\nfor _ in range(100):\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\ntime.sleep(60)"
    )
    assert set(result.limits_hit) in ({"processes"}, {"memory_mb"}, {"processes", "memory_mb"}), "the count, or the room for their stacks"


def test_an_error_that_only_looks_like_a_limit_is_none(box: Box) -> None:
    result = box.run("import os\nreader, writer = os.pipe()\nos.set_blocking(reader, False)\nos.read(reader, 1)")
    assert result.exit_status == 1 and result.limits_hit == ()


def test_open_files(box: Box) -> None:
    result = box.run("files = [open('/dev/null') for _ in range(100)]")
    assert result.limits_hit == ("open_files",)


def test_file_size(box: Box) -> None:
    result = box.run("open('large', 'wb').write(bytes(5 * 2**20))")
    assert result.limits_hit == ("file_mb",)
    assert box.shell("head -c 5000000 /dev/zero > large").limits_hit == ("file_mb",)


def test_output_is_cut_but_counted_and_does_not_hide_the_other_stream(box: Box) -> None:
    result = box.run("import sys\nprint('x' * 20_000)\nprint('end', file=sys.stderr)")
    assert result.limits_hit == ("output_bytes",) and result.exit_status == 0
    assert result.stdout == "x" * 7500 and result.stderr == "end\n"
    assert result.output_bytes == 20_001 + 4


def test_a_character_is_not_cut_in_two(box: Box) -> None:
    assert box.run("print('x' + 'é' * 20_000)").stdout == "x" + "é" * 3749


def test_a_large_answer_is_refused(box: Box) -> None:
    result = box.run("answer = list(range(10_000))")
    assert not result.has_answer and result.limits_hit == ("answer_bytes",)
    assert box.run("import sys\nanswer = 'x' * 10_000").limits_hit == ("answer_bytes",)
    assert box.run("answer = []\nfor _ in range(60):\n    answer = [answer, answer]").limits_hit == ("answer_bytes",)


def test_a_cyclic_answer_ends(box: Box) -> None:
    result = box.run("answer = [1]\nanswer.append(answer)")
    assert result.answer == [1, {"kind": "other", "type": "builtins.list", "text": "..."}]


class TestFolders:
    """Limits of a file system of its own, which only `bubblewrap` has."""

    @pytest.fixture(autouse=True)
    def _only_with_file_systems(self, box: Box) -> None:
        if box.work_folder != "/work":
            pytest.skip("the backend has no file systems of its own")

    @pytest.mark.parametrize("folder", ["/work", "/tmp", "/dev/shm"])
    def test_size(self, box: Box, folder: str) -> None:
        result = box.run(f"for number in range(10):\n    open(f'{folder}/{{number}}', 'wb').write(bytes(2**20))")
        assert result.limits_hit == ("work_mb",) and "No space left" in result.stderr

    @pytest.mark.parametrize("folder", ["/work", "/tmp", "/dev/shm"])
    def test_number_of_files(self, box: Box, folder: str) -> None:
        result = box.run(f"import time\nfor number in range(300):\n    open(f'{folder}/{{number}}', 'w').close()\ntime.sleep(60)")
        assert result.limits_hit == ("work_files",) and result.exit_status is None

    def test_a_sparse_file_stays_within_the_file_size(self, box: Box) -> None:
        assert box.run("import os\nos.truncate(os.open('sparse', os.O_CREAT | os.O_RDWR), 2**40)").limits_hit == ("file_mb",)


class TestWatchedFolders:
    """The same limits where the folders are the host's."""

    @pytest.fixture(autouse=True)
    def _only_without_file_systems(self, box: Box) -> None:
        if box.work_folder == "/work":
            pytest.skip("the backend has file systems of its own")

    @pytest.mark.parametrize("end", ["", "\nimport time\ntime.sleep(60)"])
    def test_size(self, box: Box, end: str) -> None:
        result = box.run("for number in range(10):\n    open(f'{number}', 'wb').write(bytes(2**20))" + end)
        assert result.limits_hit == ("work_mb",)

    @pytest.mark.parametrize("folder", [".", "$TMPDIR"])
    def test_number_of_files(self, box: Box, folder: str) -> None:
        result = box.shell(f"mkdir -p {folder}/a/b; cd {folder}/a/b; for n in $(seq 300); do : > $n; done; sleep 60")
        assert result.limits_hit == ("work_files",) and result.exit_status is None


def test_all_limits_hold_for_a_box_of_other_limits_too() -> None:
    outcome = probe("bubblewrap")
    if not outcome.works:
        pytest.skip(outcome.reason)
    limits = dataclasses.replace(LIMITS, memory_mb=512, open_files=32)
    box = choose_backend("bubblewrap").start(BoxSpec(python=Path(sys.executable), limits=limits))
    assert box.run("answer = len(bytearray(300 * 2**20))").answer == 300 * 2**20
    assert box.run("files = [open('/dev/null') for _ in range(40)]").limits_hit == ("open_files",)
    box.close()
