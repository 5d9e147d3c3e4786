"""How long the MIMIC-III demo takes from raw tables to database and index, in how much memory, and how long a term lookup takes.

    python benchmarks/ehr.py [--raw FOLDER] [--questions FILE] [--enlarge 10] [--index 100]

Without `--raw`, the demo of `MEDAGENTGYM_SHARED_DATA` is used. `--enlarge N` builds once more with N times as many rows in CHARTEVENTS, to show that
memory does not follow its size. `--index N` makes databases with up to N times the rows of all event tables (further patients, other times and
values) and builds their index: memory must be flat, time linear, and a lookup not slower. A lookup is compared with what answers the same request
without an index: read every table with pandas and measure the distance between the term and every cell.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import duckdb

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
NUMBERS = ("50971", "10006", "211", "37.2", "98.6", "123456789")
TIMES = ("2105-12-31", "2104-03", "2103-07-04 12:00:00", "2101-01-01 10", "2099-01")
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
INDEX = """
import resource, sys, time
from pathlib import Path
from medagentgym.ehr.lookup_index import build_lookup
from medagentgym.ehr.schema import MIMIC_III
began = time.perf_counter()
build_lookup(Path(sys.argv[1]), Path(sys.argv[2]), MIMIC_III.tables)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
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
        rows = f"read_csv('{path}', all_varchar => true, quote => '\"', escape => '\"') CROSS JOIN range({times}) AS copies(copy)"
        further = "CAST(CAST(row_id AS BIGINT) + copy * 1000000000 AS VARCHAR) AS row_id"
        elsewhere = "CAST(CAST(coalesce(hadm_id, '0') AS BIGINT) + copy * 1000000 AS VARCHAR) AS hadm_id"
        with duckdb.connect(config={"memory_limit": "1GB", "threads": 2, "preserve_insertion_order": False}) as connection:
            connection.execute(
                f"COPY (SELECT * REPLACE ({further}, {elsewhere}) FROM {rows}) TO '{folder}/CHARTEVENTS.csv.gz' (HEADER, COMPRESSION gzip)"
            )
    return folder


def blow_up(database: Path, target: Path, times: int) -> None:
    """A copy of a task database with several times the rows of its event tables: further patients, at other times, with other values."""
    from medagentgym.ehr.schema import MIMIC_III

    shutil.copyfile(database, target)
    with closing(sqlite3.connect(target, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute(
            "CREATE TEMP TABLE copies AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) SELECT i FROM n", (times,)
        )
        for table in MIMIC_III.tables:
            if table.name.startswith("D_"):
                continue
            for index in table.indexes:
                connection.execute(f"DROP INDEX {table.name}_BY_{'_AND_'.join(index)}")
            values = []
            for column in table.columns:
                if column.name == "ROW_ID":
                    values.append("ROW_ID + i * 10000000")
                elif column.name in ("SUBJECT_ID", "HADM_ID", "ICUSTAY_ID", "EVENT_ID"):
                    values.append(f"{column.name} + i * 10000000")
                elif column.kind == "time":
                    values.append(f"datetime({column.name}, '-' || (i * 7) || ' minutes')")
                else:
                    values.append(f"{column.name} + i / 1000.0" if column.kind == "real" else column.name)
            connection.execute(f"INSERT INTO {table.name} SELECT {', '.join(values)} FROM {table.name}, copies")


def index_of(database: Path, path: Path) -> str:
    """Build an index in a process of its own. Seconds and the peak of its memory, in words."""
    finished = subprocess.run([sys.executable, "-c", INDEX, database, path], cwd=ROOT, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(finished.stderr)
    seconds, memory = map(float, finished.stdout.split())
    return f"{seconds:8.2f} s, {memory:.0f} MiB at most"


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
    parser.add_argument("--index", type=int, default=0, metavar="N")
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
        for kind, terms in {"text": TERMS, "number": NUMBERS, "time": TIMES}.items():
            took = milliseconds(lambda term: lookup.answer({"data_path": "/data", "info_type": "term", "keyterm": term}), terms, 5)
            print(f"term lookup, median, {kind:6}                      {took:8.2f} ms")
        if options.index:
            database = folder / "database" / "mimic_iii.sqlite"
            print(f"index alone                                      {index_of(database, work / 'index.sqlite')}")
            for times in sorted({max(1, options.index // 10), options.index}):
                blow_up(database, work / "larger.sqlite", times)
                (work / "index.sqlite").unlink()
                print(f"index of {times:3} times the events                     {index_of(work / 'larger.sqlite', work / 'index.sqlite')}")
            larger_lookup = Lookup(work / "index.sqlite")
            for kind, terms in {"text": TERMS, "number": NUMBERS, "time": TIMES}.items():
                took = milliseconds(lambda term: larger_lookup.answer({"data_path": "/data", "info_type": "term", "keyterm": term}), terms, 5)
                print(f"term lookup there, median, {kind:6}                {took:8.2f} ms")
        indexed = milliseconds(lambda term: lookup.answer({"data_path": "/data", "info_type": "term", "keyterm": term}), TERMS, 5)
        scanned = milliseconds(lambda term: scan_every_cell(folder / "database", term), TERMS[:3], 1)
        print(f"term lookup, median, index                        {indexed:8.2f} ms")
        print(f"term lookup, median, reading and scanning all     {scanned:8.2f} ms   {scanned / indexed:6.0f} times as long")


if __name__ == "__main__":
    main()
