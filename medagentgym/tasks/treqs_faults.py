"""Faults of TREQS's questions that make an answer impossible to judge: found by rule, because no list of them is published.

- *Asked which, counted*: over a hundred questions ask which patients there are, or for a list of them, and their SQL counts them.
- *Every row with every row*: the SQL selects columns of two tables that have nothing to do with each other but the admission, and so pairs each of a
  patient's diagnoses, say, with each of the procedures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from medagentgym.tasks.probes import NOT_EXPRESSIBLE, WRONG_GOLD

_NUMBER_WORDS = re.compile(r"\b(?:how many|how much|number|numbers|count|counts|total|amount|quantity|calculate|compute|sum)\b", re.IGNORECASE)
_WHICH_WORDS = re.compile(
    r"^\W*(?:which|who|whose|find|get|give|bring|show|look for|identify|provide|tell|mention|specify|name|list)\b|\b(?:list|names?|ids?) of\b",
    re.IGNORECASE,
)
_COUNT = re.compile(r"\s*SELECT\s+COUNT\s*\([^()]*\)\s*FROM\b", re.IGNORECASE)
_SELECTED = re.compile(r"\s*SELECT\s+(?P<columns>(?:\w+\.\"?\w+\"?\s*,\s*)+\w+\.\"?\w+\"?)\s+FROM\b", re.IGNORECASE)


def fault(question: str, sql: str, gold: Mapping[str, Any]) -> str | None:
    """What is wrong with a question's SQL, in the words of the audit; None where none of the faults is found.

    `gold` is what the SQL gives on the task's database (`medagentgym.ehr.gold.Gold.to_json`).
    """
    if counts_where_asked_which(question, sql):
        return f"{WRONG_GOLD}: the question asks which patients, the SQL counts them"
    if gold["columns"] and (tables := _paired_tables(sql, gold["rows"])):
        return f"{NOT_EXPRESSIBLE}: every row of {tables[0]} is paired with every row of {tables[1]}"
    return None


def counts_where_asked_which(question: str, sql: str) -> bool:
    """Whether a question asks for patients and its SQL gives their number."""
    return bool(_COUNT.match(sql) and _WHICH_WORDS.search(question) and not _NUMBER_WORDS.search(question))


def _paired_tables(sql: str, rows: list[list[Any]]) -> tuple[str, str] | None:
    """Two tables besides DEMOGRAPHIC whose columns are selected side by side and hold several values each."""
    match = _SELECTED.match(sql)
    if match is None:
        return None
    tables = [column.strip().partition(".")[0].upper() for column in match["columns"].split(",")]
    several = list(
        dict.fromkeys(table for position, table in enumerate(tables) if table != "DEMOGRAPHIC" and len({row[position] for row in rows}) > 1)
    )
    return (several[0], several[1]) if len(several) > 1 else None
