"""What was answered, and what the gold is, as text for a person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

LONGEST_TEXT = 10_000
"""Characters of one text in a table; an episode's record has all of them."""


def shortened(text: str, width: int) -> str:
    """Text of at most `width` characters: the middle of a longer one is left out."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def answer_of(record: Mapping[str, Any]) -> str:
    """The last answer in the record of an episode. A published record keeps none, which is an empty text."""
    if record["schema"] == "published":
        return ""
    return answer_text(record["attempts"][-1]["evidence"]) if record["attempts"] else "(no attempt)"


def answer_text(evidence: Mapping[str, Any]) -> str:
    """What an attempt left behind: its `answer`, else what was gathered of it beside that, else what it printed."""
    if evidence.get("abstained"):
        return "(abstained)"
    if not evidence.get("complete", True) and evidence["answer"] is None and evidence["has_answer"]:
        return "(too large to be kept)"
    gathered = evidence.get("gathered")
    if evidence["answer"] is None and isinstance(gathered, Mapping):
        return _left_variables(gathered["left"]) if isinstance(gathered.get("left"), Mapping) else f"(printed) {evidence['stdout'].strip()}"
    return _as_text(evidence["answer"]) if evidence["has_answer"] else f"(printed) {evidence['stdout'].strip()}"


def gold_text(reference: Any) -> str:
    """The gold in a reference of one of our tasks; the reference itself, as JSON, where it has another form."""
    if not isinstance(reference, Mapping):
        return _as_text(reference)
    rows = reference.get("gold")
    if isinstance(rows, Mapping) and "rows" in rows:
        return _rows_text(rows)
    if "test_cases" in reference:
        return str(reference["test_cases"])
    if "solution" in reference:
        return f"(printed) {str(reference.get('output', '')).strip()}" if "output" in reference else "(none: the reference cannot be run)"
    return _as_text(reference["value"] if reference.get("value") is not None else reference)


def _rows_text(gold: Mapping[str, Any]) -> str:
    if gold.get("impossible"):
        return "(none: the data cannot answer the question)"
    if gold.get("status") == "error":
        return f"(none: the gold could not be computed, {gold.get('reason')})"
    rows = gold["rows"]
    if len(rows) != 1 or len(rows[0]) != 1:
        return _as_text(rows)
    (value,) = rows[0]
    return str(bool(value)) if gold.get("boolean") and value in (0, 1) else _as_text(value)


def _left_variables(left: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {what}" for name, what in left.items())


def _as_text(value: Any) -> str:
    """JSON data as Python writes it: texts without quotes, rows of one column as the list of their values."""
    if isinstance(value, list) and value and all(isinstance(row, list) and len(row) == 1 for row in value):
        value = [row[0] for row in value]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else repr(value)
