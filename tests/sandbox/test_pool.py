"""Boxes are shared between threads and episodes, and nothing outlives those who use them."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from medagentgym.errors import InfrastructureError
from medagentgym.sandbox import Backend, BoxPool, BoxSpec


@pytest.fixture(scope="module")
def light(spec: BoxSpec) -> BoxSpec:
    """A box that starts at once."""
    return dataclasses.replace(spec, preload=())


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_box_is_used_again_and_clean(backend: Backend, light: BoxSpec) -> None:
    with BoxPool(backend, 1) as pool:
        with pool.box(light) as first:
            first.run("open('secret', 'w').write('x')")
            first.shell("(sleep 50 &)")
        with pool.box(light) as second:
            assert second is first
            assert second.run("import os\nanswer = os.listdir('.')").answer == []


def test_a_box_that_failed_is_not_used_again(backend: Backend, light: BoxSpec) -> None:
    with BoxPool(backend, 1) as pool:
        with pool.box(light) as first:
            first.close()
        with pool.box(light) as second:
            assert second is not first and second.run("answer = 1").answer == 1


def test_a_box_that_cannot_be_cleaned_is_thrown_away(backend: Backend, light: BoxSpec) -> None:
    with BoxPool(backend, 1) as pool:
        with pool.box(light) as first:
            assert first.run("import os\nfor _ in range(400):\n    os.mkdir('d')\n    os.chdir('d')").exit_status == 0
        assert first.closed
        with pool.box(light) as second:
            assert second.run("import os\nanswer = os.listdir('.')").answer == []


def test_folders_too_deep_for_recursion_are_thrown_away_with_their_box(backend: Backend, light: BoxSpec) -> None:
    roomy = dataclasses.replace(light, limits=dataclasses.replace(light.limits, work_files=10_000))
    with BoxPool(backend, 1) as pool:
        with pool.box(roomy) as first:
            first.run("import os\nopen('patients.csv', 'w').write('x')\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')")
        assert first.closed and (first.work_folder == "/work" or not Path(first.work_folder).parent.exists())
        with pool.box(roomy) as second:
            assert second.run("answer = 1").answer == 1


def test_an_exception_of_the_borrower_gives_the_box_back(backend: Backend, light: BoxSpec) -> None:
    with BoxPool(backend, 1) as pool:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError), pool.box(light):
                raise ZeroDivisionError
        with pool.box(light) as box:
            assert box.run("answer = 1").answer == 1


def test_the_pool_holds_boxes_of_different_specs_within_its_size(backend: Backend, light: BoxSpec, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    other = dataclasses.replace(light, read_only={"/data": tmp_path})
    with BoxPool(backend, 1) as pool:
        with pool.box(light) as first:
            pass
        with pool.box(other) as second:
            assert second is not first and first.closed


def test_more_threads_than_boxes_wait_for_their_turn(backend: Backend, light: BoxSpec) -> None:
    before, children = descriptors(), set(psutil.Process().children())

    def episode(number: int) -> bool:
        with pool.box(light) as box:
            wrote = box.run(f"import os\nassert os.listdir('.') == []\nopen('{number}', 'w').close()\nanswer = {number}")
            return wrote.answer == number and box.run("import os\nanswer = os.listdir('.')").answer == [str(number)]

    with BoxPool(backend, 2) as pool, ThreadPoolExecutor(6) as threads:
        assert all(threads.map(episode, range(24)))
        assert len(set(psutil.Process().children()) - children) == 2
    assert set(psutil.Process().children()) == children and descriptors() == before


def test_a_box_outlives_the_thread_that_asked_for_it(backend: Backend, light: BoxSpec) -> None:
    boxes = []
    starter = threading.Thread(target=lambda: boxes.append(backend.start(light)))
    starter.start()
    starter.join()
    time.sleep(0.2)
    assert boxes[0].run("answer = 1").answer == 1
    boxes[0].close()


def test_closing_the_pool_ends_the_steps_that_run(backend: Backend, light: BoxSpec) -> None:
    children = psutil.Process().children()
    pool = BoxPool(backend, 1)
    timer = threading.Timer(0.5, pool.close)
    timer.start()
    with pytest.raises(InfrastructureError), pool.box(light) as box:
        box.run("import time\ntime.sleep(15)")
    timer.join()
    with pytest.raises(InfrastructureError, match="closed"), pool.box(light):
        pass
    assert psutil.Process().children() == children


WORKER = """
import sys, threading, time
from pathlib import Path
from medagentgym.sandbox import BoxPool, BoxSpec, choose_backend

pool = BoxPool(choose_backend(sys.argv[1]), 2)
spec = BoxSpec(python=Path(sys.executable), preload=())

def episode(code):
    with pool.box(spec) as box:
        box.run(code)

threading.Thread(target=episode, args=("pass",)).start()
daemon = "import os, time\\nif os.fork() == 0:\\n    os.setsid()\\n    if os.fork():\\n        os._exit(0)\\ntime.sleep(100)"
threading.Thread(target=episode, args=(daemon,)).start()
time.sleep(1)
print("ready", flush=True)
time.sleep(100)
"""


def test_no_box_survives_a_worker_that_is_killed(backend: Backend) -> None:
    worker = subprocess.Popen([sys.executable, "-c", textwrap.dedent(WORKER), backend.name], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    started = psutil.Process(worker.pid).children(recursive=True)
    assert len(started) >= 3
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    _, alive = psutil.wait_procs(started, timeout=1.0)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
