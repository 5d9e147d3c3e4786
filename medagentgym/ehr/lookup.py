"""What answers `request_info`: which columns a table has, which values a column has, and where a term occurs.

The index is built once beside the database (`lookup.sqlite`, on the host only; see `medagentgym.ehr.lookup_index`). A text is looked up among the
distinct values of all text columns: candidates come from SQLite's trigram index, so the cost does not grow with the tables, and rapidfuzz ranks them,
so that typing errors are tolerated. A number or a time is looked up among the values of the other columns as what it is; where no column holds it,
the nearest values are given. Columns that only number the rows are not searched.
"""

from __future__ import annotations

import difflib
import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from rapidfuzz import fuzz

from medagentgym.ehr.database import open_read_only
from medagentgym.ehr.lookup_index import VALUES_SHOWN
from medagentgym.ehr.schema import Kind
from medagentgym.errors import AgentError

INFO_TYPES = ("column_names", "column_values", "term")

NEAREST_SHOWN = 5
"""Values offered where nothing like the term was found."""

_SIMILAR = 80.0
"""Score from which a value counts as similar to a term (0 to 100)."""
_CONTAINING = 99.0
"""Score over which a value contains the term."""
_TRIGRAM_POSTINGS = 4000
"""Index entries that one lookup reads at most: it takes the rarest trigrams of the term."""
_FEWEST_TRIGRAMS = 3
_CANDIDATES = 300
_LONGEST_VALUE = 300
_LONGEST_TERM = 200
_VALUES_COUNTED = 1000
"""Values that begin like a time are counted up to here, so that an answer about a whole year costs no more than one about a day."""
_LONGEST_NUMBER = 15
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}(?:-\d{2}(?:[ t]\d{2}(?::\d{2}(?::\d{2})?)?)?)?", re.ASCII)
_UNSEARCHABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters and halves of characters, which no value holds and SQLite does not take."""


@dataclass(frozen=True)
class IndexedColumn:
    """What the index knows of one column."""

    number: int
    name: str
    kind: Kind
    distinct: int
    nulls: int
    smallest: str | None
    largest: str | None


@dataclass(frozen=True)
class IndexedTable:
    """What the index knows of one table."""

    name: str
    rows: int
    columns: tuple[IndexedColumn, ...]
    first_text: int
    """The table's values in the text index are those numbered from here ..."""
    end_text: int
    """... to before here."""


@dataclass(frozen=True)
class _Hit:
    score: float
    table: str
    column: str
    value: str
    rows: int


@dataclass(frozen=True)
class _Moment:
    """A date or time, or the beginning of one: all times that begin like it are meant."""

    text: str

    @property
    def end(self) -> str:
        """The first text that is behind all that begin so."""
        return self.text[:-1] + chr(ord(self.text[-1]) + 1)


class Lookup:
    """Answers `request_info` from the index. May be used by many threads at once: each has its own connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        columns: dict[str, list[IndexedColumn]] = {}
        for table, *column in self._index.execute(
            "SELECT table_name, id, name, kind, distinct_values, nulls, smallest, largest FROM columns ORDER BY id"
        ):
            columns.setdefault(table, []).append(IndexedColumn(*column))
        self.tables = {
            name: IndexedTable(name, rows, tuple(columns[name]), first, end)
            for name, rows, first, end in self._index.execute("SELECT name, rows, first_text, end_text FROM tables ORDER BY rowid")
        }

    def answer(self, params: Mapping[str, Any]) -> str:
        """Answer `data_path` (a file name or path, or several), `info_type` and `keyterm`. Raises `AgentError` where the request makes no sense."""
        info_type = re.sub(r"[\s-]+", "_", str(params.get("info_type") or "").strip().lower())
        if info_type not in INFO_TYPES:
            nearest = difflib.get_close_matches(info_type, INFO_TYPES, n=1, cutoff=0.6)
            meant = f" Did you mean {nearest[0]}?" if nearest else ""
            raise AgentError(f"request_info: info_type is {params.get('info_type')!r}; it must be one of {', '.join(INFO_TYPES)}.{meant}")
        tables = self._tables(params.get("data_path"))
        if info_type == "column_names":
            return "\n".join(self._column_names(table) for table in tables)
        keyterm = params.get("keyterm")
        keyterm = "" if keyterm is None else str(keyterm).strip()
        if not keyterm:
            needed = "the name of a column" if info_type == "column_values" else "the term to look for"
            raise AgentError(f"request_info: {info_type} needs keyterm, {needed}.")
        return self._column_values(tables, keyterm) if info_type == "column_values" else self._term(tables, keyterm)

    # --- tables and columns ---------------------------------------------------------------------------------------------------------------------

    @property
    def _index(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = open_read_only(self.path)
        return connection

    def close(self) -> None:
        """Close the connection of the calling thread; it is opened again where it is needed."""
        connection: sqlite3.Connection | None = self._local.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def _tables(self, data_path: Any) -> list[IndexedTable]:
        """The tables that a path, or a list of paths, stands for; a folder and the database file stand for all."""
        paths = data_path if isinstance(data_path, (list, tuple)) else str(data_path or "").split(",")
        by_folded_name = {_folded_name(name): table for name, table in self.tables.items()}
        found: dict[str, IndexedTable] = {}
        for path in paths:
            text = str(path).strip().replace("\\", "/")
            last = PurePosixPath(text).name
            name = _folded_name(re.sub(r"\.csv$", "", last, flags=re.IGNORECASE))
            if name in by_folded_name:
                found[name] = by_folded_name[name]
            elif text.endswith("/") or last.lower() in ("", ".", "data", "database") or last.lower().endswith(".sqlite"):
                return list(self.tables.values())
            else:
                close = difflib.get_close_matches(name, by_folded_name, n=3, cutoff=0.5)
                nearest = [by_folded_name[table].name for table in close] or list(self.tables)
                raise AgentError(f"request_info: there is no file {text}. {_files_in_words(nearest, 'Nearest', 'The files are')}")
        return list(found.values())

    def _column_names(self, table: IndexedTable) -> str:
        return f"{table.name}.csv ({_number(table.rows, 'row')}): {', '.join(f'{column.name} ({column.kind})' for column in table.columns)}"

    def _column_values(self, tables: list[IndexedTable], keyterm: str) -> str:
        wanted = _folded_name(keyterm.rpartition(".")[2].strip("\"'`[] "))
        holding = [(table, column) for table in tables for column in table.columns if _folded_name(column.name) == wanted]
        if not holding:
            raise AgentError(self._no_such_column(tables, keyterm, wanted))
        if len(holding) > 1:
            names = ", ".join(f"{table.name}.csv" for table, _ in holding)
            raise AgentError(f"request_info: several tables have a column {holding[0][1].name}; name one in data_path: {names}.")
        table, column = holding[0]
        rows = self._index.execute("SELECT value, rows FROM common_values WHERE column_id = ? ORDER BY rowid", (column.number,)).fetchall()
        head = f"{table.name}.csv, column {column.name} ({column.kind}): {_number(column.distinct, 'distinct value')} in {_number(table.rows, 'row')}"
        if column.nulls:
            head += f", {column.nulls:,} of them empty"
        if column.smallest is not None:
            head += f"; from {column.smallest} to {column.largest}"
        lines = [head + (". Most frequent first, with the number of rows:" if rows else ".")]
        lines += [f"{_clipped(value)}: {number:,}" for value, number in rows]
        if column.distinct > len(rows):
            lines.append(f"... and {_number(column.distinct - len(rows), 'more distinct value')}")
        return "\n".join(lines)

    def _no_such_column(self, tables: list[IndexedTable], keyterm: str, wanted: str) -> str:
        names = list(dict.fromkeys(column.name for table in tables for column in table.columns))
        by_folded_name = {_folded_name(name): name for name in names}
        nearest = [by_folded_name[name] for name in difflib.get_close_matches(wanted, by_folded_name, n=3, cutoff=0.5)]
        where = f"{tables[0].name}.csv" if len(tables) == 1 else "these files"
        advice = f"Nearest: {', '.join(nearest)}." if nearest else f"The columns are {', '.join(names)}."
        elsewhere = [table.name for table in self.tables.values() if any(_folded_name(column.name) == wanted for column in table.columns)]
        if elsewhere:
            advice += f" A column {keyterm} is in {', '.join(f'{name}.csv' for name in elsewhere)}."
        return f"request_info: {where} has no column {keyterm}. {advice}"

    # --- terms ----------------------------------------------------------------------------------------------------------------------------------

    def _term(self, tables: list[IndexedTable], keyterm: str) -> str:
        term = " ".join(_UNSEARCHABLE.sub(" ", keyterm.lower()).split())[:_LONGEST_TERM]
        value = _plain_value(term)
        hits = self._hits(tables, term)
        found = [hit for hit in hits if hit.score >= _SIMILAR and (value is None or hit.score > _CONTAINING)]
        lines = [] if value is None else self._equal_values(tables, value, keyterm)
        groups = {
            f'Equal to "{keyterm}":': [hit for hit in found if hit.score >= 100],
            f'Containing "{keyterm}":': [hit for hit in found if _CONTAINING < hit.score < 100],
            f'Similar to "{keyterm}":': [hit for hit in found if hit.score <= _CONTAINING],
        }
        room = VALUES_SHOWN
        for title, group in groups.items():
            shown = group[: max(room, 0)]
            room -= len(shown)
            if shown:
                lines += [line for line in [title] if line not in lines] + [*map(_line, shown)]
            if len(shown) < len(group):
                lines.append(f"... and {len(group) - len(shown)} more or so; a longer term finds fewer")
        if lines:
            return "\n".join(lines)
        where = f"{tables[0].name}.csv" if len(tables) == 1 else f"{len(tables)} files"
        nearest = [*map(_line, hits[:NEAREST_SHOWN])] if value is None else self._nearest_values(tables, value)
        answer = f'Nothing like "{keyterm}" was found among the values of {where}.'
        return "\n".join([f"{answer} Nearest:", *nearest]) if nearest else answer

    # --- numbers and times ----------------------------------------------------------------------------------------------------------------------

    def _equal_values(self, tables: list[IndexedTable], value: float | _Moment, keyterm: str) -> list[str]:
        """Lines on the columns that hold a number, or times that begin in a certain way."""
        lines = []
        for table, column in _searched(tables, value):
            if isinstance(value, _Moment):
                query = "SELECT value, rows FROM exact_values WHERE column_id = ? AND value >= ? AND value < ? LIMIT ?"
                counted = self._index.execute(query, (column.number, value.text, value.end, _VALUES_COUNTED)).fetchall()
                if len(counted) > 1:
                    at_least = "at least " if len(counted) == _VALUES_COUNTED else ""
                    rows = _number(sum(number for _, number in counted), "row")
                    lines.append(
                        f"{table.name}.csv, column {column.name}: {at_least}{len(counted):,} times from {counted[0][0]} on ({at_least}{rows})"
                    )
                    continue
            else:
                counted = self._index.execute(
                    "SELECT value, rows FROM exact_values WHERE column_id = ? AND value = ?", (column.number, value)
                ).fetchall()
            lines += [f"{table.name}.csv, column {column.name}: {found} ({_number(rows, 'row')})" for found, rows in counted]
        title = f'Beginning with "{keyterm}":' if isinstance(value, _Moment) else f'Equal to "{keyterm}":'
        return [title, *lines] if lines else []

    def _nearest_values(self, tables: list[IndexedTable], value: float | _Moment) -> list[str]:
        """Lines on the columns in whose range a number or time lies, with the values next to it."""
        lines = []
        wanted, comparison = (value.text, "=") if isinstance(value, _Moment) else (value, "<>")
        neighbour = f"SELECT value FROM exact_values WHERE column_id = ? AND typeof(value) {comparison} 'text' AND value"
        for table, column in _searched(tables, value):
            below = self._index.execute(f"{neighbour} < ? ORDER BY value DESC LIMIT 1", (column.number, wanted)).fetchone()
            above = self._index.execute(f"{neighbour} > ? ORDER BY value LIMIT 1", (column.number, wanted)).fetchone()
            if below is not None and above is not None:
                lines.append(f"{table.name}.csv, column {column.name}: between {below[0]} and {above[0]}")
        return lines

    # --- texts ----------------------------------------------------------------------------------------------------------------------------------

    def _hits(self, tables: list[IndexedTable], term: str) -> list[_Hit]:
        """Values like a term, best first."""
        ranges = [(table.first_text, table.end_text) for table in tables]
        if len(tables) == len(self.tables):
            ranges = [(0, max(table.end_text for table in tables))]
        candidates: set[int] = set()
        for first, end in ranges:
            candidates.update(self._candidates(term, first, end))
        marks = ", ".join("?" * len(candidates))
        rows = self._index.execute(f"SELECT table_name, column_name, value, rows FROM texts WHERE id IN ({marks}) ORDER BY id", sorted(candidates))
        hits = [_Hit(_score(term, value), table, column, value, number) for table, column, value, number in rows]
        return sorted(hits, key=lambda hit: (-hit.score, -hit.rows, len(hit.value), hit.table, hit.column, hit.value))

    def _candidates(self, term: str, first: int, end: int) -> set[int]:
        index = self._index
        found = {row[0] for row in index.execute("SELECT id FROM texts WHERE value = ? COLLATE NOCASE AND id >= ? AND id < ?", (term, first, end))}
        trigrams = sorted(_trigrams(term))
        if not trigrams:
            prefix = re.sub(r"([\\%_])", r"\\\1", term) + "%"
            query = "SELECT id FROM texts WHERE value LIKE ? ESCAPE '\\' AND id >= ? AND id < ? LIMIT ?"
            return found | {row[0] for row in index.execute(query, (prefix, first, end, _CANDIDATES))}
        match = "SELECT rowid FROM text_search WHERE text_search MATCH ? AND rowid >= ? AND rowid < ?"
        found |= {row[0] for row in index.execute(f"{match} LIMIT ?", (_phrase(term), first, end, _CANDIDATES))}
        marks = ", ".join("?" * len(trigrams))
        postings = index.execute(f"SELECT trigram, texts FROM trigrams WHERE trigram IN ({marks}) ORDER BY texts, trigram", trigrams).fetchall()
        rare: list[str] = []
        read = 0
        for trigram, texts in postings:
            if len(rare) >= _FEWEST_TRIGRAMS and read + texts > _TRIGRAM_POSTINGS:
                break
            rare.append(trigram)
            read += texts
        if rare:
            query = f"{match} ORDER BY rank LIMIT ?"
            found |= {row[0] for row in index.execute(query, (" OR ".join(map(_phrase, rare)), first, end, _CANDIDATES))}
        return found


def _searched(tables: list[IndexedTable], value: float | _Moment) -> Iterator[tuple[IndexedTable, IndexedColumn]]:
    """The columns that may hold a number, or a time."""
    for table in tables:
        for column in table.columns:
            if column.kind == "time" if isinstance(value, _Moment) else column.kind in ("integer", "real"):
                yield table, column


def _plain_value(term: str) -> float | _Moment | None:
    """The number or time that a term states, if it does."""
    if _MOMENT.fullmatch(term):
        return _Moment(term.replace("t", " "))
    if len(term) <= _LONGEST_NUMBER and any(character.isdigit() for character in term) and _NUMBER.fullmatch(term):
        number = float(term.replace(",", ""))
        return int(number) if number.is_integer() else number
    return None


def _folded_name(name: str) -> str:
    """A name as it is compared: without regard to case, spaces and underscores."""
    return re.sub(r"[\s_]+", "", name).upper()


def _score(term: str, value: str) -> float:
    """How like a term a value is: 100 equal, over 99 containing it (the shorter the better), else by edit distance and shared words, at most 99."""
    folded = " ".join(value.lower().split())
    if folded == term:
        return 100.0
    if term in folded:
        return _CONTAINING + 0.99 * len(term) / len(folded)
    scores = [fuzz.ratio(term, folded), fuzz.token_sort_ratio(term, folded), 0.85 * fuzz.token_set_ratio(term, folded)]
    if " " not in term:
        scores.append(0.95 * max(fuzz.ratio(term, word) for word in re.split(r"[\s/,;()\[\]-]+", folded)))
    elif len(folded) > len(term):
        scores.append(0.95 * fuzz.partial_ratio(term, folded))
    return min(_CONTAINING, max(scores))


def _trigrams(text: str) -> set[str]:
    folded = text.lower()
    return {folded[start : start + 3] for start in range(len(folded) - 2)}


def _phrase(text: str) -> str:
    """A phrase of SQLite's full-text query language."""
    return '"' + text.replace('"', '""') + '"'


def _line(hit: _Hit) -> str:
    return f"{hit.table}.csv, column {hit.column}: {_clipped(hit.value)} ({_number(hit.rows, 'row')})"


def _clipped(value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE else value[:_LONGEST_VALUE] + "..."


def _files_in_words(names: Sequence[str], some: str, all_of_them: str) -> str:
    return f"{some if len(names) <= 3 else all_of_them}: {', '.join(f'{name}.csv' for name in names)}."


def _number(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
