"""Made-up questions in TREQS's format."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from medagentgym.config import DatasetConfig, SyntheticConfig
from medagentgym.ehr.build import build_ehr
from medagentgym.ehr.treqs import RECIPE, TREQS
from medagentgym.ehr.treqs_cut import RAW_COLUMNS
from medagentgym.errors import UserError
from medagentgym.synthetic.treqs import generate
from medagentgym.synthetic.treqs.admissions import Admission
from medagentgym.synthetic.treqs.conditions import CONDITIONS
from medagentgym.synthetic.treqs.making import make_questions

CONFIG = SyntheticConfig(patients=60, seed=3, train=200, test=200)
MODES = ("train", "test")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "treqs"
    generate(CONFIG, folder)
    return folder


def questions(folder: Path, mode: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "questions" / f"{mode}.json").read_text(encoding="utf-8").splitlines()]


def test_the_same_configuration_gives_the_same_bytes_in_any_process(tmp_path: Path, made: Path) -> None:
    program = "import sys, pathlib; from medagentgym.config import SyntheticConfig; from medagentgym.synthetic.treqs import generate; "
    program += "generate(SyntheticConfig(patients=60, seed=3, train=200, test=200), pathlib.Path(sys.argv[1]))"
    environment = {**os.environ, "PYTHONHASHSEED": "5", "LC_ALL": "C", "TZ": "America/Lima"}
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "again")], env=environment, check=True, timeout=120)

    def digests(folder: Path) -> dict[str, str]:
        return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}

    assert digests(tmp_path / "again") == digests(made)


def test_there_are_the_raw_tables_that_the_cut_reads_and_both_question_files(made: Path) -> None:
    assert {path.name for path in (made / "raw").iterdir()} == {f"{name}.csv.gz" for name in RAW_COLUMNS}
    assert {path.name for path in made.iterdir()} == {"raw", "questions"}
    for mode in MODES:
        rows = questions(made, mode)
        assert len(rows) == 200 and all(set(row) == {"key", "question_refine", "sql"} for row in rows)


def test_no_question_is_asked_twice_and_training_and_test_share_none(made: Path) -> None:
    sql = {mode: [row["sql"] for row in questions(made, mode)] for mode in MODES}
    assert all(len(set(sql[mode])) == 200 for mode in MODES)
    assert not set(sql["train"]) & set(sql["test"])


def test_strings_stand_in_double_quotes_as_treqs_writes_them(made: Path) -> None:
    for row in questions(made, "test"):
        outside = re.sub(r'"[^"]*"', "", row["sql"])
        assert "'" not in outside and row["sql"].endswith('"'), row["sql"]


def test_all_sorts_of_questions_and_nearly_all_columns_occur(made: Path) -> None:
    rows = [row for mode in MODES for row in questions(made, mode)]
    heads = Counter(re.match(r"SELECT (COUNT|MAX|MIN|AVG)?", row["sql"])[1] for row in rows)  # type: ignore[index]
    assert set(heads) == {"COUNT", "MAX", "MIN", "AVG", None} and heads["COUNT"] > 0.5 * len(rows)
    used = {match for row in rows for match in re.findall(r'(\w+)\."(\w+)" (?:[<>=]+)', row["sql"])}
    assert len(used & {(kind.table, kind.column) for kind in CONDITIONS}) >= 0.9 * len({(kind.table, kind.column) for kind in CONDITIONS})


def test_nearly_every_question_finds_something_and_none_fails(tmp_path: Path) -> None:
    build_ehr(RECIPE, DatasetConfig(synthetic=CONFIG), {}, tmp_path / "built")
    manifest = json.loads((tmp_path / "built" / "build.json").read_text(encoding="utf-8"))
    for mode in MODES:
        summary = manifest["questions"][mode]
        assert (summary["rows"], summary["error"], summary["empty"]) == (200, 0, 0)
        assert summary["usable"] >= 190


def test_too_few_patients_for_so_many_questions_are_told() -> None:
    nobody = Admission(dict.fromkeys(TREQS.table("DEMOGRAPHIC").column_names) | {"SUBJECT_ID": "1", "NAME": "Ada A. Abbott", "GENDER": "F"})
    with pytest.raises(UserError, match=r"synthetic.test: 10 patients give no more than \d+ different questions"):
        make_questions(SyntheticConfig(patients=10, seed=1, train=0, test=100), [nobody], "test")


def test_a_folder_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is there already"):
        generate(SyntheticConfig(patients=10), tmp_path)
    assert list(tmp_path.iterdir()) == []
