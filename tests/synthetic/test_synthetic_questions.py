"""The question files: EHRSQL's format, the split, and what cannot be answered."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter

import pytest

from medagentgym.config import SyntheticConfig
from medagentgym.synthetic import impossible_indices
from medagentgym.synthetic.questions.mimic_iii import KINDS, UNANSWERABLE

KEYS = {
    "db_id", "question", "template", "query", "value", "q_tag", "t_tag", "o_tag", "tag", "department", "importance", "para_type",
    "is_impossible", "split", "id",
}  # fmt: skip

SLOT = re.compile(r"\{\w+\}|\[\w+\]")


@pytest.mark.parametrize("mode", ["train", "test"])
def test_there_are_as_many_questions_as_asked_for_with_the_keys_of_ehrsql(made_up, mode):
    questions = made_up.questions(mode)
    assert len(questions) == getattr(made_up.config, mode)
    for question in questions:
        assert set(question) == KEYS
        assert question["split"] == mode and question["db_id"] == "mimic_iii"
        assert len(question["t_tag"]) == 5 and len(question["o_tag"]) == 9
        assert (question["query"] == "null") == question["is_impossible"]


@pytest.mark.parametrize("mode", ["train", "test"])
@pytest.mark.parametrize("count", [0, 1, 7, 10, 99, 300])
def test_one_question_in_ten_is_impossible_and_known_without_making_patients(mode, count):
    config = SyntheticConfig(seed=4, train=count, test=max(count, 1))
    positions = impossible_indices(config, mode)
    length = getattr(config, mode)
    assert positions <= set(range(length))
    assert length // 10 <= len(positions) <= -(-length // 10)


def test_the_impossible_positions_are_those_of_the_files(made_up):
    for mode in ("train", "test"):
        told = {position for position, question in enumerate(made_up.questions(mode)) if question["is_impossible"]}
        assert told == impossible_indices(made_up.config, mode)


def test_knowing_the_impossible_positions_loads_neither_the_questions_nor_the_tables():
    code = (
        "import sys; from medagentgym.config import SyntheticConfig; from medagentgym.synthetic import impossible_indices;"
        "impossible_indices(SyntheticConfig(), 'test');"
        "print([name for name in sys.modules if name.startswith(('medagentgym.synthetic.questions', 'medagentgym.synthetic.tables', 'pyarrow'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_longer_file_begins_with_the_shorter_one(made_up, tmp_path):
    from medagentgym.synthetic import generate

    longer = made_up.config.model_copy(update={"test": 25, "train": 400})
    generate(longer, tmp_path)
    made = {mode: json.loads((tmp_path / "questions" / f"{mode}.json").read_text()) for mode in ("train", "test")}
    assert made["test"] == made_up.questions("test")[:25]
    assert made["train"][:300] == made_up.questions("train")


def test_train_and_test_share_kinds_and_no_pair_of_kind_and_parameters(made_up):
    train, test = made_up.questions("train"), made_up.questions("test")
    assert len({question["q_tag"] for question in train} & {question["q_tag"] for question in test}) > 100
    pairs = [question["template"] for question in train + test]
    assert len(pairs) == len(set(pairs))
    assert len({question["id"] for question in train + test}) == len(pairs)


def test_kinds_take_turns(made_up):
    for mode in ("train", "test"):
        counts = Counter(question["q_tag"] for question in made_up.questions(mode) if not question["is_impossible"])
        assert len(counts) > 120
        assert max(counts.values()) <= 3


def test_there_are_many_kinds_and_each_has_a_paraphrase_with_the_same_slots():
    assert len(KINDS) >= 100 and len(UNANSWERABLE) >= 12
    for kind in [*KINDS, *UNANSWERABLE]:
        assert kind.wording == kind.wording.lower() and kind.paraphrases
        for paraphrase in kind.paraphrases:
            assert paraphrase.lower() != kind.wording
            assert set(SLOT.findall(paraphrase)) == set(SLOT.findall(kind.wording)), paraphrase


def test_the_wording_has_no_open_slot_no_wrong_article_and_no_loose_mark(made_up):
    for question in made_up.questions("train") + made_up.questions("test"):
        for text in (question["template"], question["question"]):
            assert not set("{}") & set(text), text
            assert "[time" not in text and "[n_" not in text and "[agg" not in text
            assert "  " not in text and " ?" not in text and not text.endswith((" .", " "))
            assert " a a" not in text and " a i" not in text
            assert text.endswith(("?", "."))
        assert question["template"] == question["template"].lower()
        assert question["template"] != question["question"]
        assert all(str(value) in question["template"] for value in question["value"].values())


def test_gold_sql_follows_the_conventions_of_ehrsql(made_up):
    for question in made_up.questions("train") + made_up.questions("test"):
        query = question["query"]
        if question["is_impossible"]:
            continue
        assert query == query.lower() and query.startswith("select ")
        assert "'now'" not in query and "2105-12-31 23" not in query
        assert query.count("(") == query.count(")")
        assert "patient_id" not in question["value"] or str(question["value"]["patient_id"]) in query


def test_every_family_of_questions_is_there(made_up):
    text = "\n".join(question["template"] + " | " + question["query"] for question in made_up.questions("train") + made_up.questions("test"))
    for sign in (
        "current_time", "start of year", "start of month", "dense_rank()", "count(*) > 0", "group by strftime", "offset 1", "cost.cost",
        "patients.dod", "admissions.age", "patients.gender", "microbiologyevents", "inputevents_cv", "outputevents", "transfers.careunit",
        "dischtime is null", "outtime is null", "today", "this month", "last year", "ago", "current hospital visit", "current icu visit",
    ):  # fmt: skip
        assert sign in text, sign
