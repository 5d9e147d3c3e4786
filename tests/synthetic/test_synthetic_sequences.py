"""Made-up sequences of questions."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from medagentgym.config import DatasetConfig, SyntheticConfig
from medagentgym.ehr.build import build_ehr
from medagentgym.ehr.seqsql import RECIPE
from medagentgym.synthetic import generate
from medagentgym.synthetic.sequences import make_sequences

CONFIG = SyntheticConfig(patients=60, seed=4, train=90, test=90)
MODES = ("train", "test")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("made")
    generate(CONFIG, folder, make_sequences)
    return {mode: json.loads((folder / "questions" / f"{mode}.json").read_text(encoding="utf-8")) for mode in MODES}


def turns(row: dict[str, Any]) -> list[str]:
    return [row["seed_question"], *re.split(r"(?<=[?.]) (?=[A-Z])", row["question"].replace(" Give the patient id of each of them.", ""))]


def test_rows_have_the_published_fields_and_the_sql_of_the_last_question(made: dict[str, list[dict[str, Any]]]) -> None:
    for mode in MODES:
        assert len(made[mode]) == 90
        assert all(set(row) == {"seed_question", "question", "query", "id"} for row in made[mode])


def test_sequences_have_two_to_four_questions_of_which_all_lengths_occur(made: dict[str, list[dict[str, Any]]]) -> None:
    lengths = Counter(len(turns(row)) for mode in MODES for row in made[mode])
    assert set(lengths) == {2, 3, 4} and min(lengths.values()) > 15


def test_only_the_first_question_names_the_patient(made: dict[str, list[dict[str, Any]]]) -> None:
    rows = [row for mode in MODES for row in made[mode]]
    assert not any(re.search(r"\bpatient \d", row["question"]) for row in rows)
    assert sum(bool(re.search(r"\bpatient \d", row["seed_question"])) for row in rows) > len(rows) / 2


def test_a_question_that_refers_to_one_patient_follows_one_that_names_exactly_one(made: dict[str, list[dict[str, Any]]]) -> None:
    referring = [row for mode in MODES for row in made[mode] if re.search(r"\b(?:this|same) patient\b", row["question"])]
    assert referring
    for row in referring:
        (patient,) = set(re.findall(r"\bpatient (\d+)", row["seed_question"]))
        assert f"subject_id = {patient}" in row["query"]


def test_a_group_is_narrowed_down_by_every_question(made: dict[str, list[dict[str, Any]]]) -> None:
    groups = [row for mode in MODES for row in made[mode] if row["seed_question"].startswith("how many patients were diagnosed")]
    assert groups
    for row in groups:
        restrictions = [turn for turn in turns(row)[1:] if "ow many of" in turn]
        conditions = row["query"].partition("from patients where ")[2]
        said = len(re.findall(r"\bpatients\.(?:gender =|dod is|subject_id in)", conditions))
        assert said == 1 + len(restrictions)


def test_no_sequence_occurs_twice_and_training_and_test_share_none(made: dict[str, list[dict[str, Any]]]) -> None:
    texts = {mode: [(row["seed_question"], row["question"]) for row in made[mode]] for mode in MODES}
    assert all(len(set(texts[mode])) == 90 for mode in MODES)
    assert not set(texts["train"]) & set(texts["test"])


def test_the_same_configuration_gives_the_same_sequences(tmp_path: Path, made: dict[str, list[dict[str, Any]]]) -> None:
    generate(CONFIG, tmp_path, make_sequences)
    assert json.loads((tmp_path / "questions" / "test.json").read_text(encoding="utf-8")) == made["test"]


def test_nearly_every_last_question_has_an_answer(tmp_path: Path) -> None:
    build_ehr(RECIPE, DatasetConfig(synthetic=CONFIG), {}, tmp_path / "built")
    manifest = json.loads((tmp_path / "built" / "build.json").read_text(encoding="utf-8"))
    for mode in MODES:
        summary = manifest["questions"][mode]
        assert (summary["rows"], summary["error"], summary["empty"]) == (90, 0, 0) and summary["usable"] >= 80
