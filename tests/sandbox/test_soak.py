"""Many steps in many boxes at once, a third of them hostile: every result belongs to its step, and nothing is left."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from medagentgym.sandbox import Backend, BoxPool, BoxSpec, Limits

STEPS = 2000
STEPS_OF_AN_EPISODE = 10
BOXES = 8

HOSTILE = [
    "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "import os\nos.closerange(0, 100)\nos._exit(5)",
    "import os\nwhile True:\n    os.fork()",
    "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(100)",
    "print('x' * 1_000_000)",
    "block = bytearray(10**10)",
    "import os\nfor number in range(150):\n    open(f'{number}', 'w').write('x')\n    os.chmod('.', 0o311)",
    "import ctypes\nctypes.string_at(0)",
    "answer = list(range(10**6))",
]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["bubblewrap"], indirect=True)
def test_no_result_is_mixed_up_and_nothing_is_left(backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    limits = Limits(
        wall_seconds=30, cpu_seconds=1, memory_mb=512, processes=16, work_mb=16, work_files=1000, output_bytes=10_000, answer_bytes=10_000
    )
    spec = BoxSpec(python=Path(sys.executable), limits=limits, preload=("json",))
    before = len(os.listdir("/proc/self/fd")), set(psutil.Process().children())

    def episode(number: int) -> list[str]:
        failures = []
        with pool.box(spec) as box:
            for position in range(STEPS_OF_AN_EPISODE):
                step = number * STEPS_OF_AN_EPISODE + position
                if step % 3 == 0:
                    box.run(HOSTILE[step // 3 % len(HOSTILE)])
                    continue
                seen = "import os\nnames = [name for name in os.listdir('.') if name.startswith('episode')]\n"
                result = box.run(f"{seen}open('episode{number}', 'w').close()\nprint({step})\nanswer = [{step}, names]")
                if result.stdout != f"{step}\n" or result.answer[0] != step or not set(result.answer[1]) <= {f"episode{number}"}:
                    failures.append(str(result))
        return failures

    with BoxPool(backend, BOXES) as pool, ThreadPoolExecutor(2 * BOXES) as threads:
        failures = [failure for episode_failures in threads.map(episode, range(STEPS // STEPS_OF_AN_EPISODE)) for failure in episode_failures]
    assert failures == []
    assert (len(os.listdir("/proc/self/fd")), set(psutil.Process().children())) == before
    assert os.listdir(tmp_path) == []


WORKER = """
import sys, threading, time
from pathlib import Path
from medagentgym.errors import InfrastructureError
from medagentgym.sandbox import BoxPool, BoxSpec, Limits, choose_backend

hostile = eval(sys.stdin.read())
limits = Limits(wall_seconds=20, cpu_seconds=2, memory_mb=512, processes=16, work_mb=16, work_files=1000)
spec = BoxSpec(python=Path(sys.executable), limits=limits, preload=("json",))
pool = BoxPool(choose_backend(sys.argv[1]), 8)
started = threading.Semaphore(0)

def episodes(number):
    while True:
        with pool.box(spec) as box:
            box.run("answer = 1")
            started.release()
            for step in range(10):
                box.run(hostile[(number + step) % len(hostile)] if step % 3 == 0 else "import time\\ntime.sleep(0.01)")

for number in range(16):
    threading.Thread(target=episodes, args=(number,), daemon=True).start()
for _ in range(16):
    started.acquire()
time.sleep(1)
print("busy", flush=True)
time.sleep(100)
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"], indirect=True)
def test_no_box_outlives_a_worker_that_is_killed_in_the_midst_of_it(backend: Backend, tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)  # as `/tmp` is
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, backend.name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(repr(HOSTILE))
    worker.stdin.close()
    assert worker.stdout.readline() == "busy\n"
    started = psutil.Process(worker.pid).children(recursive=True)
    assert len(started) >= 8
    worker.kill()
    worker.wait()
    worker.stdout.close()
    _, alive = psutil.wait_procs(started, timeout=1.0)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
    deadline = time.monotonic() + 10
    while os.listdir(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("backend", ["bubblewrap"], indirect=True)
def test_an_idle_box_needs_little_memory_of_its_own(backend: Backend, spec: BoxSpec) -> None:
    before = psutil.Process().children(recursive=True)
    box = backend.start(dataclasses.replace(spec, read_only={}))
    for _ in range(20):
        box.run("answer = 'x' * 40_000\nprint(answer)")
    new = [process for process in psutil.Process().children(recursive=True) if process not in before]
    own = sum(region.private_dirty + region.shared_dirty / 2 for process in new for region in process.memory_maps())
    box.close()
    assert 0 < own < 100 * 2**20
