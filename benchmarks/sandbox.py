"""How long a code step takes in a warm box, against starting Python for each (`python benchmarks/sandbox.py`).

The step reads a CSV table, queries SQLite and prints. Times are medians in milliseconds.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from tabulate import tabulate

from medagentgym.config import Config
from medagentgym.environments import interpreter
from medagentgym.sandbox import Box, BoxSpec, choose_backend
from medagentgym.sandbox.control_groups import memory_guard
from medagentgym.tasks.mimic_iii import MimicIII

BARE_OF_THE_TARGETS = 182
"""Milliseconds that `python` with pandas and a query took on the machine for which the targets were set."""
THINKING_SECONDS = 0.05

STEP = """
import sqlite3
import pandas as pd
table = pd.read_csv("{data}/table.csv")
connection = sqlite3.connect("file:{data}/task.sqlite?mode=ro", uri=True)
rows = pd.read_sql("SELECT subject_id, value FROM measurements WHERE value > 50", connection)
print(len(table), rows["value"].mean())
"""


def make_data(folder: Path, rows: int = 1000) -> None:
    values = [(number, number * 7 % 101) for number in range(rows)]
    (folder / "table.csv").write_text("subject_id,value\n" + "".join(f"{subject},{value}\n" for subject, value in values))
    connection = sqlite3.connect(folder / "task.sqlite")
    connection.execute("CREATE TABLE measurements (subject_id INTEGER, value REAL)")
    connection.executemany("INSERT INTO measurements VALUES (?, ?)", values)
    connection.commit()
    connection.close()
    folder.chmod(0o755)


def median_ms(action: Callable[[], object], repeats: int, pause: float = 0.0) -> float:
    seconds = []
    for _ in range(repeats):
        time.sleep(pause)
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return 1000 * statistics.median(seconds)


def memory_of_its_own(process: psutil.Process) -> float:
    """Bytes that only the zygote and the child that waits hold, each counted once."""
    return sum(region.private_dirty + region.shared_dirty / 2 for region in process.memory_maps())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    backend = choose_backend(options.backend)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_data(folder)
        spec = BoxSpec(python=interpreter(Config(), MimicIII), read_only={"/data": folder})
        bare_code = STEP.format(data=folder)
        box = backend.start(spec)
        code = STEP.format(data=box.data_folder)
        assert box.run(code).exit_status == 0
        time.sleep(0.1)
        own = sum(memory_of_its_own(process) for process in psutil.Process().children(recursive=True))
        boxes: list[Box] = []
        bare_runs: list[float] = []

        def run_bare() -> None:
            bare_runs.append(median_ms(lambda: subprocess.run([spec.python, "-c", bare_code], check=True, stdout=subprocess.DEVNULL), 3))

        def measured(action: Callable[[], object], repeats: int, pause: float = 0.0) -> float:
            run_bare()  # in between, so that both see the same machine
            return median_ms(action, repeats, pause)

        rows: list[tuple[str, float, float | None]] = [
            ("step in a warm box", measured(lambda: box.run(code), options.steps), 15),
            ("the same, 50 ms after the last, as when a model thinks", measured(lambda: box.run(code), options.steps, THINKING_SECONDS), 15),
            ("empty step in a warm box", measured(lambda: box.run("pass"), options.steps), None),
            ("shell command in a warm box", measured(lambda: box.shell("true"), options.steps), None),
            ("reset", measured(box.reset, options.steps), 10),
            ("start of a box, pandas imported", measured(lambda: boxes.append(backend.start(spec)), 10), 250),
        ]
        run_bare()
        bare = statistics.median(bare_runs)
        rows.insert(0, ("python with pandas for every step", bare, None))
        for started in (box, *boxes):
            started.close()
    print(f"{backend.name} ({backend.level}, memory by {memory_guard()}); an idle box holds {own / 1e6:.0f} MB of its own (target: 60)\n")
    table = [(what, ms, bare / ms, ms * BARE_OF_THE_TARGETS / bare, target) for what, ms, target in rows]
    headers = ["", "ms", "times faster", "ms, scaled", "target"]
    print(tabulate(table, headers=headers, floatfmt=("", ".1f", ".1f", ".1f", ".0f")))
    print(f"\nscaled: to a machine on which the first line takes {BARE_OF_THE_TARGETS} ms, as on that for which the targets were set")
    print(f"load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
