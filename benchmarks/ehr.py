"""How long the MIMIC-III demo takes from raw tables to database and index, in how much memory, and how long a term lookup takes.

    python benchmarks/ehr.py [--raw FOLDER] [--questions FILE] [--enlarge 10]

Without `--raw`, the demo of `MEDAGENTGYM_SHARED_DATA` is used. `--enlarge N` builds once more with N times as many rows in CHARTEVENTS, to show that
memory does not follow its size. A lookup is compared with what answers the same request without an index: read every table with pandas and measure
the distance between the term and every cell.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TERMS = (
    "aspirin",
    "asprin",
    "vancomicin",
    "hemoglobin a1c",
    "congestive hart failure",
    "acute respiratory failure",
    "hypertension nos",
    "temprature",
    "diabetes mellitus type 2",
    "blood culture",
    "potassium chloride",
    "0389",
)
BUILD = """
import resource, sys, time
from pathlib import Path
from medagentgym.config import Config
from medagentgym.tasks.mimic_iii import MimicIII
config = Config.model_validate({"work_dir": sys.argv[3], "data": {"raw_path": sys.argv[1], "questions": {"test": sys.argv[2]}}})
began, used = time.perf_counter(), time.process_time()
MimicIII.build(config, Path(sys.argv[3]) / "data" / "mimic_iii")
print(time.perf_counter() - began, time.process_time() - used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def build(raw: Path, questions: Path, work_dir: Path) -> str:
    """Build in a process of its own. Seconds by the clock and of the processors, and the peak of its memory, in words."""
    finished = subprocess.run([sys.executable, "-c", BUILD, raw, questions, work_dir], cwd=ROOT, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(finished.stderr)
    seconds, processors, memory = map(float, finished.stdout.split())
    return f"{seconds:8.2f} s ({processors:.2f} s of the processors), {memory:.0f} MiB at most"


def enlarge(raw: Path, folder: Path, times: int) -> Path:
    """A copy of raw tables, by links, with several times as many rows in CHARTEVENTS: the further ones are of admissions that are not there."""
    folder.mkdir()
    for path in raw.iterdir():
        if not path.name.upper().startswith("CHARTEVENTS."):
            (folder / path.name).symlink_to(path.resolve())
            continue
        opener = gzip.open if path.suffix == ".gz" else open
        with gzip.open(folder / "CHARTEVENTS.csv.gz", "wt", compresslevel=1, newline="") as target:
            writer = csv.writer(target, lineterminator="\n")
            for copy in range(times):
                with opener(path, "rt", newline="") as source:  # type: ignore[operator]
                    reader = csv.reader(source)
                    header = next(reader)
                    if copy == 0:
                        writer.writerow(header)
                    admission = [name.upper() for name in header].index("HADM_ID")
                    for row in reader:
                        row[0] = str(int(row[0]) + copy * 1_000_000_000)
                        row[admission] = str(int(row[admission] or 0) + copy * 1_000_000)
                        writer.writerow(row)
    return folder


def scan_every_cell(folder: Path, term: str) -> list[tuple[float, str, str, str]]:
    """The cells nearest to a term, without an index."""
    import pandas as pd
    from rapidfuzz import fuzz, process

    found = []
    for path in sorted(folder.glob("*.csv")):
        table = pd.read_csv(path, low_memory=False)
        for column in table.columns:
            best = process.extract(term, table[column].astype(str).tolist(), scorer=fuzz.ratio, limit=5)
            found += [(score, path.name, column, value) for value, score, _ in best]
    return sorted(found, reverse=True)[:5]


def milliseconds(function, terms: tuple[str, ...], repeats: int) -> float:  # type: ignore[no-untyped-def]
    """Median time of one call."""
    times = []
    for _ in range(repeats):
        for term in terms:
            began = time.perf_counter()
            function(term)
            times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def main() -> None:
    shared = Path(os.environ.get("MEDAGENTGYM_SHARED_DATA", ROOT.parent / "shared" / "data"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raw", type=Path, default=shared / "mimic_iii_demo")
    parser.add_argument("--questions", type=Path, default=shared / "ehrsql" / "mimic_iii" / "valid.json")
    parser.add_argument("--enlarge", type=int, default=0, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        print(f"build, raw tables to database, golds and index    {build(options.raw, options.questions, work / 'work')}")
        if options.enlarge:
            larger = enlarge(options.raw, work / "larger", options.enlarge)
            print(f"build, CHARTEVENTS {options.enlarge:3} times as large               {build(larger, options.questions, work / 'larger_work')}")

        from medagentgym.ehr.lookup import Lookup

        folder = work / "work" / "data" / "mimic_iii"
        lookup = Lookup(folder / "lookup.sqlite")
        indexed = milliseconds(lambda term: lookup.answer({"data_path": "/data", "info_type": "term", "keyterm": term}), TERMS, 5)
        scanned = milliseconds(lambda term: scan_every_cell(folder / "database", term), TERMS[:3], 1)
        print(f"term lookup, median, index                        {indexed:8.2f} ms")
        print(f"term lookup, median, reading and scanning all     {scanned:8.2f} ms   {scanned / indexed:6.0f} times as long")


if __name__ == "__main__":
    main()
