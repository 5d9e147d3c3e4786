"""Question files: a JSON list or JSON Lines, one object a question. Which fields a question set has is its `QuestionFormat`.

A question's `idx` is its position in the file, counted from 0; blank lines of JSON Lines do not count. Reading is cheap, because planning does it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from medagentgym.errors import UserError, one_line
from medagentgym.row_files import RepeatedKeyError, with_every_key_once

_CONSTANT = r"(?:\d+|'[^']*')"


@dataclass(frozen=True)
class QuestionFormat:
    """What the fields of a question file are called. Of several names the first that a row has counts."""

    question: tuple[str, ...] = ("question",)
    template: tuple[str, ...] = ("template",)
    query: tuple[str, ...] = ("query",)
    identifier: tuple[str, ...] = ("id",)
    has_impossible: bool = True
    """Whether the question set has questions that the database cannot answer: those that say so, or have no query."""
    needs_query: bool = True
    """Whether every answerable question has gold SQL. Where it need not, a row without has a stored answer."""
    answer: tuple[str, ...] = ("answer",)
    before: tuple[str, ...] = ()
    """What is shown above the question, on a line of its own."""


EHRSQL_FORMAT = QuestionFormat()
"""EHRSQL's files, and the published ones made of them."""


@dataclass(frozen=True)
class Question:
    """One row of a question file."""

    idx: int
    question_id: str
    question: str
    """The question in natural words, which may be empty."""
    template: str
    """The question in the words of its template: what the published system shows."""
    query: str
    """Gold SQL as released; empty for an impossible question."""
    is_impossible: bool
    stored_answer: tuple[Any, ...] | None
    """The answer that the file holds, None where it holds none."""
    released_answer: Any = None
    """The answer as it stands in the file, whatever its shape."""


def shown_question(template: str, question: str, *, impossible: bool) -> str:
    """The question as an agent reads it: the template, as in the published system. That of an impossible question is only a keyword, so there the
    natural words are shown.
    """
    first, second = (question, template) if impossible else (template, question)
    return first or second


def read_questions(path: Path, key: str, form: QuestionFormat = EHRSQL_FORMAT) -> list[Question]:
    """The questions of a file. Raises `UserError` naming file and row for what is no question."""
    return [_question(row, idx, path, key, form) for idx, row in enumerate(_rows(path, key))]


def impossible_flags(path: Path, key: str, form: QuestionFormat = EHRSQL_FORMAT) -> tuple[bool, ...]:
    """For each row of a question file, whether it is impossible to answer. Remembers files that have not changed. Raises as `read_questions`."""
    try:
        state = path.stat()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); correct {key}") from error
    return _impossible_flags(path, key, form, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _impossible_flags(path: Path, key: str, form: QuestionFormat, modified: int, size: int) -> tuple[bool, ...]:
    return tuple(_question(row, idx, path, key, form).is_impossible for idx, row in enumerate(_rows(path, key)))


def named_patients(questions: Iterable[Question]) -> set[int]:
    """The SUBJECT_ID of every patient that the gold SQL of a question names."""
    return {int(constant) for constant in named_constants(questions, "subject_id") if constant.isdigit()}


def named_constants(questions: Iterable[Question], column: str) -> set[str]:
    """Every constant that the gold SQL of a question compares `column` with (`= 3`, `in ( 3, 4 )`, `= '002-1039'`), without its quotes."""
    comparison = re.compile(
        rf"\b{column}\s*(?:=\s*(?P<one>{_CONSTANT})|in\s*\(\s*(?P<several>{_CONSTANT}(?:\s*,\s*{_CONSTANT})*)\s*\))", re.IGNORECASE
    )
    found: set[str] = set()
    for question in questions:
        for match in comparison.finditer(question.query):
            found.update(constant.strip("'") for constant in re.findall(_CONSTANT, match["one"] or match["several"]))
    return found


def _rows(path: Path, key: str) -> list[dict[str, Any]]:
    try:
        content = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); correct {key}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a question file: no text in UTF-8; correct {key}") from error
    rows: list[Any] = []
    if content.lstrip()[:1] == "[":
        try:
            rows = json.loads(content, parse_constant=_no_number, object_pairs_hook=with_every_key_once)
        except RepeatedKeyError as error:
            raise UserError(f"{path}: {error}; correct {key}") from error
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: not a question file: no JSON ({one_line(error)}); correct {key}") from error
    else:
        for number, line in enumerate(content.split("\n"), start=1):
            if line.strip():
                try:
                    rows.append(json.loads(line, parse_constant=_no_number, object_pairs_hook=with_every_key_once))
                except RepeatedKeyError as error:
                    raise UserError(f"{path}, line {number}: {error}; correct {key}") from error
                except (ValueError, RecursionError) as error:
                    raise UserError(f"{path}, line {number}: not a question file: neither a JSON list nor JSON Lines; correct {key}") from error
    for idx, row in enumerate(rows):
        if not isinstance(row, dict):
            raise UserError(f"{path}, row {idx}: not a question: no JSON object; correct {key}")
    if not rows:
        raise UserError(f"{path}: holds no question; correct {key}")
    return rows


def _no_number(constant: str) -> None:
    """NaN and infinities, which JSON does not know and Python reads, stand for no value."""


def _is_impossible(row: dict[str, Any], form: QuestionFormat) -> bool:
    if not form.has_impossible:
        return False
    flag = row.get("is_impossible")
    if isinstance(flag, bool):
        return flag
    return str(_field(row, form.query) or "null").strip().lower() in ("null", "none", "")


def _field(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if name in row), None)


def _question(row: dict[str, Any], idx: int, path: Path, key: str, form: QuestionFormat) -> Question:
    impossible = _is_impossible(row, form)
    texts = {}
    for name, names in (("question", form.question), ("template", form.template), ("query", form.query), ("before", form.before)):
        value = _field(row, names)
        if value is not None and not isinstance(value, str):
            raise UserError(f"{path}, row {idx}: {next(field for field in names if field in row)} is no text; correct {key}")
        texts[name] = (value or "").strip()
    before = texts.pop("before")
    if not texts["question"] and not texts["template"]:
        raise UserError(f"{path}, row {idx}: has no {' or '.join((*form.template, *form.question))}; correct {key}")
    if before:
        texts["question"] = f"{before}\n{texts['question']}"
    if impossible:
        texts["query"] = ""
    elif not texts["query"] and form.needs_query:
        raise UserError(f"{path}, row {idx}: has no {' or '.join(form.query)}; correct {key}")
    elif not texts["query"] and not any(name in row for name in form.answer):
        raise UserError(f"{path}, row {idx}: has no {' or '.join(form.answer)}; correct {key}")
    released = _field(row, form.answer)
    answer = released if released is None or isinstance(released, list) else [released]
    identifier = _field(row, form.identifier)
    return Question(
        idx=idx,
        question_id=str(idx if identifier is None else identifier),
        is_impossible=impossible,
        stored_answer=None if answer is None else tuple(answer),
        released_answer=released,
        **texts,
    )
