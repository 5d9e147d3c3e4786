"""Damaged sources, as a user meets them: the command ends with one line that says what is wrong, and nothing is built."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from workflow_project import Project

from medagentgym.config import SyntheticConfig
from medagentgym.ehr.mimic_iii import make_up
from medagentgym.synthetic.calculations import make_rows

pytestmark = pytest.mark.slow


def raw_tables(folder: Path) -> dict[str, Any]:
    """Made-up raw tables with questions; gives the block `data`."""
    made = make_up(SyntheticConfig(patients=10, seed=1, train=1, test=4), folder / "made")
    return {"raw_path": str(made.raw), "questions": {"test": str(made.questions["test"].path)}, "credentialed": False}


def calculations(folder: Path) -> dict[str, Any]:
    """A published folder of made-up calculations; gives the block `data`."""
    (folder / "published").mkdir()
    (folder / "published" / "test_tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in make_rows(1, "test", 4)))
    return {"data_path": str(folder / "published")}


def _cut(folder: Path) -> None:
    path = next(folder.rglob("LABEVENTS.csv.gz"))
    path.write_bytes(path.read_bytes()[:-2000])


def _row_twice(folder: Path) -> None:
    path = next(folder.rglob("ADMISSIONS.csv.gz"))
    content = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(content + content.split(b"\n")[1] + b"\n"))


def _folder(folder: Path) -> None:
    path = next(folder.rglob("PATIENTS.csv.gz"))
    path.unlink()
    path.mkdir()


def _another_encoding(folder: Path) -> None:
    path = folder / "published" / "test_tasks.jsonl"
    path.write_text(path.read_text(), encoding="utf-16")


def _key_less(folder: Path) -> None:
    path = folder / "published" / "test_tasks.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({key: row[key] for key in row if key != "Patient Note"}) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("task", "source", "damage", "said"),
    [
        ("mimic_iii", raw_tables, _cut, "LABEVENTS.csv.gz: the gzip file is cut short"),
        ("mimic_iii", raw_tables, _row_twice, "occurs in 2 rows; fetch it again, or correct data.raw_path"),
        ("mimic_iii", raw_tables, _folder, "PATIENTS.csv.gz: cannot be read (Is a directory)"),
        ("medcalcbench", calculations, _another_encoding, "test_tasks.jsonl: no text in UTF-8; correct data.data_path"),
        ("medcalcbench", calculations, _key_less, "test_tasks.jsonl, row 0: has no Patient Note; correct data.data_path"),
    ],
    ids=["cut", "row twice", "folder", "encoding", "key less"],
)
def test_a_damaged_source_is_one_line_and_nothing_is_built(
    tmp_path: Path, task: str, source: Callable[[Path], dict[str, Any]], damage: Callable[[Path], None], said: str
) -> None:
    data = source(tmp_path)
    damage(tmp_path)
    project = Project(tmp_path, {"name": "test", "work_dir": "work", "task": task, "agent": {"name": "reference"}, "data": data})
    output = project.run("data", status=None)
    told = [line for line in output.splitlines() if line.startswith("medagentgym:")]
    assert len(told) == 1 and said in told[0] and "Traceback" not in output
    assert not list((tmp_path / "work").glob("data/*")), "something was built"
