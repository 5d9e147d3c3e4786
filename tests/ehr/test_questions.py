"""Question files as people have them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from raw_mimic import QUESTIONS, write_questions

from medagentgym.ehr.questions import impossible_flags, named_patients, read_questions, shown_question
from medagentgym.errors import UserError


def test_a_json_list_and_json_lines_are_the_same_questions(tmp_path: Path) -> None:
    listed = read_questions(write_questions(tmp_path / "valid.json"), "key")
    lines = read_questions(write_questions(tmp_path / "valid.jsonl"), "key")
    assert listed == lines
    assert [question.idx for question in listed] == [0, 1, 2, 3, 4]


def test_blank_lines_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(["", json.dumps(QUESTIONS[0]), "  ", json.dumps(QUESTIONS[2]), "", ""]))
    assert impossible_flags(path, "key") == (False, True)
    assert [question.idx for question in read_questions(path, "key")] == [0, 1]


def test_a_line_separator_inside_a_text_does_not_end_a_row(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps({**QUESTIONS[0], "question": "one\u2028two\x85three"}, ensure_ascii=False) + "\n", encoding="utf-8")
    assert len(impossible_flags(path, "key")) == 1


def test_without_a_flag_a_question_without_sql_is_impossible(tmp_path: Path) -> None:
    rows = [{"template": "a", "query": query} for query in ("null", None, "", "select 1")]
    assert impossible_flags(write_questions(tmp_path / "q.json", rows), "key") == (True, True, True, False)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write_questions(tmp_path / "q.json")
    assert len(impossible_flags(path, "key")) == 5
    write_questions(path, QUESTIONS[:2])
    assert len(impossible_flags(path, "key")) == 2


def test_the_template_is_shown_and_of_an_impossible_question_the_natural_words() -> None:
    assert shown_question("count the patients.", "How many patients?", impossible=False) == "count the patients."
    assert shown_question("appointment", "Is there an appointment?", impossible=True) == "Is there an appointment?"
    assert shown_question("", "How many patients?", impossible=False) == "How many patients?"


def test_patients_are_named_by_the_sql(tmp_path: Path) -> None:
    rows = [
        {"template": "a", "query": "select 1 from admissions where admissions.subject_id = 17 and x.subject_id=18"},
        {"template": "b", "query": "select 1 from patients where SUBJECT_ID in (3, 4) and hadm_id = 99"},
        {"template": "c", "query": "select 1 from a join b on a.subject_id = b.subject_id"},
    ]
    assert named_patients(read_questions(write_questions(tmp_path / "q.json", rows), "key")) == {3, 4, 17, 18}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('[{"a": 1', "no JSON"),
        ("ROW_ID,SUBJECT_ID\n1,2\n", "line 1: not a question file"),
        ('{"template": "a", "query": "select 1"}\n{"templ', "line 2"),
        ("[1, 2]", "row 0: not a question"),
        ("[]", "holds no question"),
        ("", "holds no question"),
        ('[{"query": "select 1"}]', "row 0: has no template or question"),
        ('[{"template": "a"}, {"template": "a", "is_impossible": false}]', "row 1: has no query"),
        ('[{"template": 5, "query": "select 1"}]', "row 0: template is no text"),
        ('[{"a": 1}]', "row 0: has no template or question; correct data.questions.test"),
        ('[{"template": "a", "query": "select 1", "template": "b"}]', "template occurs more than once in an object; correct data.questions.test"),
    ],
)
def test_what_is_no_question_file_is_named(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "questions.json"
    path.write_text(content)
    with pytest.raises(UserError, match=re.escape(str(path))) as raised:
        read_questions(path, "data.questions.test")
    assert complaint in str(raised.value) and "correct data.questions.test" in str(raised.value)
    assert "\n" not in str(raised.value)
    with pytest.raises(UserError, match=re.escape(str(raised.value))):  # planning, which reads no more than the flags, says the same
        impossible_flags(path, "data.questions.test")


def test_a_missing_or_binary_file_is_named_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"correct data\.questions\.test"):
        impossible_flags(tmp_path / "absent.json", "data.questions.test")
    (tmp_path / "binary.json").write_bytes(b"\x1f\x8b\xff\x00")
    with pytest.raises(UserError, match=r"no text in UTF-8; correct data\.questions\.test"):
        impossible_flags(tmp_path / "binary.json", "data.questions.test")
