"""How long a code step takes in a warm box, against starting Python for each (`python benchmarks/sandbox.py`).

The step reads a CSV table, queries SQLite and prints. Times are medians in milliseconds.
"""

from __future__ import annotations

import argparse
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
from medagentgym.sandbox import BoxSpec, choose_backend
from medagentgym.tasks.mimic_iii import MimicIII

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


def median_ms(action: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
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
        bare = median_ms(lambda: subprocess.run([spec.python, "-c", bare_code], check=True, stdout=subprocess.DEVNULL), 10)
        box = backend.start(spec)
        code = STEP.format(data=box.data_folder)
        assert box.run(code).exit_status == 0
        time.sleep(0.1)
        own = sum(memory_of_its_own(process) for process in psutil.Process().children(recursive=True))
        rows = [
            ("python with pandas for every step", bare),
            ("step in a warm box", median_ms(lambda: box.run(code), options.steps)),
            ("empty step in a warm box", median_ms(lambda: box.run("pass"), options.steps)),
            ("shell command in a warm box", median_ms(lambda: box.shell("true"), options.steps)),
            ("reset", median_ms(box.reset, options.steps)),
            ("start of a box, pandas imported", median_ms(lambda: backend.start(spec).close(), 10)),
        ]
        box.close()
    print(f"{backend.name} ({backend.level}); an idle box holds {own / 2**20:.0f} MiB of its own\n")
    print(tabulate([(what, ms, bare / ms) for what, ms in rows], headers=["", "ms", "times faster"], floatfmt=(".1f", ".1f", ".1f")))


if __name__ == "__main__":
    main()
