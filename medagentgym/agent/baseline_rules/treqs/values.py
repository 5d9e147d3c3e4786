"""Which values of the tables stand in a question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medagentgym.agent.baseline_rules.treqs.columns import COLUMNS, Column

_BEFORE = 48
"""Characters before a value in which a cue counts."""
_AFTER = 32
_SHORTEST = 4
"""A shorter value needs a cue, whatever its column."""


@dataclass(frozen=True)
class Match:
    """A value of a column that stands in the question."""

    column: Column
    value: str
    start: int
    end: int
    nearness: int

    @property
    def sql(self) -> str:
        """The condition that a row has the value."""
        literal = self.value.replace("'", "''")
        return f"{self.column.table}.{self.column.name} = '{literal}'"


def search_program(text: str, database: str) -> str:
    """A Python program that prints, as one line of JSON, the values of text columns that stand in a question as whole words: [table, column, value,
    start, end].
    """
    columns = [(column.table, column.name) for column in COLUMNS]
    return "\n".join(
        [
            "import json, re, sqlite3",
            "",
            f"question = {text!r}",
            f"columns = {columns!r}",
            f'connection = sqlite3.connect("file:{database}?mode=ro&immutable=1", uri=True)',
            "found = []",
            "for table, column in columns:",
            '    for (value,) in connection.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"):',
            '        folded = " ".join(str(value).lower().split())',
            "        if folded and folded in question:",
            '            for match in re.finditer(rf"(?<!\\w){re.escape(folded)}(?!\\w)", question):',
            "                found.append([table, column, value, match.start(), match.end()])",
            "found.sort(key=lambda item: item[3] - item[4])",
            "print(json.dumps(found[:60]))",
            "",
        ]
    )


def matches_in(observation: str, text: str) -> list[Match]:
    """The matches that `search_program` printed, each with how well the words around it fit its column; without those that lack a cue they need."""
    line = next((line for line in observation.splitlines() if line.startswith("[[")), "[]")
    columns = {(column.table, column.name): column for column in COLUMNS}
    try:
        found = json.loads(line)
    except ValueError:  # cut by the limit of an observation
        return []
    matches = []
    for table, name, value, start, end in found:
        column = columns[table, name]
        nearness = column.is_near(text[max(0, start - _BEFORE) : start], text[end : end + _AFTER])
        if nearness or not (column.needs_cue or end - start < _SHORTEST):
            matches.append(Match(column, str(value), start, end, nearness))
    return matches


def chosen(matches: Iterable[Match], taken: Sequence[tuple[int, int]]) -> list[Match]:
    """The longest matches that overlap neither each other nor `taken`; of several columns for the same words the one that fits best."""
    order = {column: position for position, column in enumerate(COLUMNS)}
    ranked = sorted(matches, key=lambda match: (match.start - match.end, -match.nearness, order[match.column]))
    kept: list[Match] = []
    for match in ranked:
        spans = [*taken, *((other.start, other.end) for other in kept)]
        if not any(match.start < end and start < match.end for start, end in spans):
            kept.append(match)
    return sorted(kept, key=lambda match: match.start)
