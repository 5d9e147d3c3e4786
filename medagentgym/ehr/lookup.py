"""The index that answers `request_info`: which columns a table has, which values a column has, and where a term occurs.

Built once beside the database (`lookup.sqlite`, on the host only). A term is looked up among the distinct values of all text columns: candidates come
from SQLite's trigram index, so the cost does not grow with the tables, and rapidfuzz ranks them, so that typing errors are tolerated.
"""

from __future__ import annotations

import difflib
import re
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from rapidfuzz import fuzz

from medagentgym.ehr.database import open_read_only
from medagentgym.ehr.schema import Kind, Table
from medagentgym.errors import AgentError

INFO_TYPES = ("column_names", "column_values", "term")

VALUES_SHOWN = 50
"""Most values of a column, or of a term, in one answer."""
NEAREST_SHOWN = 5
"""Values offered where nothing like the term was found."""

_SIMILAR = 80.0
"""Score from which a value counts as similar to a term (0 to 100)."""
_TRIGRAM_POSTINGS = 4000
"""Index entries that one lookup reads at most: it takes the rarest trigrams of the term."""
_FEWEST_TRIGRAMS = 3
_CANDIDATES = 300
_LONGEST_VALUE = 300
_LONGEST_TERM = 200
_UNSEARCHABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters and halves of characters, which no value holds and SQLite does not take."""


@dataclass(frozen=True)
class IndexedColumn:
    """What the index knows of one column."""

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


def build_lookup(database: Path, path: Path, tables: Sequence[Table]) -> None:
    """Write the index of a finished database to `path`."""
    with closing(open_read_only(database)) as source, closing(sqlite3.connect(path, isolation_level=None)) as index:
        index.execute("PRAGMA journal_mode = OFF")
        index.execute("PRAGMA synchronous = OFF")
        index.execute("BEGIN")
        index.execute("CREATE TABLE tables (name TEXT, rows INTEGER, first_text INTEGER, end_text INTEGER)")
        index.execute(
            "CREATE TABLE columns (table_name TEXT, name TEXT, kind TEXT, distinct_values INTEGER, nulls INTEGER, smallest TEXT, largest TEXT)"
        )
        index.execute("CREATE TABLE common_values (table_name TEXT, column_name TEXT, value TEXT, rows INTEGER)")
        index.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, table_name TEXT, column_name TEXT, value TEXT, rows INTEGER)")
        for table in tables:
            _index_table(source, index, table)
        index.execute("CREATE INDEX texts_by_value ON texts (value COLLATE NOCASE)")
        index.execute("CREATE INDEX common_values_by_column ON common_values (table_name, column_name)")
        index.execute("CREATE VIRTUAL TABLE text_search USING fts5(value, content = 'texts', content_rowid = 'id', tokenize = 'trigram')")
        index.execute("INSERT INTO text_search(text_search) VALUES ('rebuild')")
        index.execute("INSERT INTO text_search(text_search) VALUES ('optimize')")
        index.execute("CREATE TABLE trigrams (trigram TEXT PRIMARY KEY, texts INTEGER) WITHOUT ROWID")
        index.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, text_search, row)")
        index.execute("INSERT INTO trigrams SELECT term, doc FROM temp.vocabulary")
        index.execute("COMMIT")


def _index_table(source: sqlite3.Connection, index: sqlite3.Connection, table: Table) -> None:
    rows = source.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0]
    (first,) = index.execute("SELECT coalesce(max(id), 0) + 1 FROM texts").fetchone()
    for column in table.columns:
        counts = source.execute(
            f"SELECT {column.name}, count(*) FROM {table.name} WHERE {column.name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
        ).fetchall()
        values = [value for value, _ in counts]
        nulls = rows - sum(number for _, number in counts)
        limits = (str(min(values)), str(max(values))) if values and column.kind != "text" else (None, None)
        index.execute("INSERT INTO columns VALUES (?, ?, ?, ?, ?, ?, ?)", (table.name, column.name, column.kind, len(values), nulls, *limits))
        index.executemany("INSERT INTO common_values VALUES (?, ?, ?, ?)", ((table.name, column.name, str(v), n) for v, n in counts[:VALUES_SHOWN]))
        if column.kind == "text":
            index.executemany(
                "INSERT INTO texts (table_name, column_name, value, rows) VALUES (?, ?, ?, ?)",
                ((table.name, column.name, str(value), number) for value, number in counts),
            )
    (end,) = index.execute("SELECT coalesce(max(id), 0) + 1 FROM texts").fetchone()
    index.execute("INSERT INTO tables VALUES (?, ?, ?, ?)", (table.name, rows, first, end))


class Lookup:
    """Answers `request_info` from the index. May be used by many threads at once: each has its own connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        columns: dict[str, list[IndexedColumn]] = {}
        for table, *column in self._index.execute(
            "SELECT table_name, name, kind, distinct_values, nulls, smallest, largest FROM columns ORDER BY rowid"
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
        by_upper_name = {name.upper(): table for name, table in self.tables.items()}
        found: dict[str, IndexedTable] = {}
        for path in paths:
            text = str(path).strip().replace("\\", "/")
            last = PurePosixPath(text).name
            name = re.sub(r"\.csv$", "", last, flags=re.IGNORECASE).upper()
            if name in by_upper_name:
                found[name] = by_upper_name[name]
            elif text.endswith("/") or last.lower() in ("", ".", "data", "database") or last.lower().endswith(".sqlite"):
                return list(self.tables.values())
            else:
                close = difflib.get_close_matches(name, by_upper_name, n=3, cutoff=0.5)
                nearest = [by_upper_name[table].name for table in close] or list(self.tables)
                raise AgentError(f"request_info: there is no file {text}. {_files_in_words(nearest, 'Nearest', 'The files are')}")
        return list(found.values())

    def _column_names(self, table: IndexedTable) -> str:
        return f"{table.name}.csv ({_number(table.rows, 'row')}): {', '.join(f'{column.name} ({column.kind})' for column in table.columns)}"

    def _column_values(self, tables: list[IndexedTable], keyterm: str) -> str:
        wanted = keyterm.rpartition(".")[2].strip("\"'`[] ").upper()
        holding = [(table, column) for table in tables for column in table.columns if column.name.upper() == wanted]
        if not holding:
            raise AgentError(self._no_such_column(tables, keyterm, wanted))
        if len(holding) > 1:
            names = ", ".join(f"{table.name}.csv" for table, _ in holding)
            raise AgentError(f"request_info: several tables have a column {holding[0][1].name}; name one in data_path: {names}.")
        table, column = holding[0]
        rows = self._index.execute(
            "SELECT value, rows FROM common_values WHERE table_name = ? AND column_name = ? ORDER BY rowid", (table.name, column.name)
        ).fetchall()
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
        by_upper_name = {name.upper(): name for name in names}
        nearest = [by_upper_name[name] for name in difflib.get_close_matches(wanted, by_upper_name, n=3, cutoff=0.5)]
        where = f"{tables[0].name}.csv" if len(tables) == 1 else "these files"
        advice = f"Nearest: {', '.join(nearest)}." if nearest else f"The columns are {', '.join(names)}."
        elsewhere = [table.name for table in self.tables.values() if any(column.name.upper() == wanted for column in table.columns)]
        if elsewhere:
            advice += f" A column {keyterm} is in {', '.join(f'{name}.csv' for name in elsewhere)}."
        return f"request_info: {where} has no column {keyterm}. {advice}"

    # --- terms ----------------------------------------------------------------------------------------------------------------------------------

    def _term(self, tables: list[IndexedTable], keyterm: str) -> str:
        term = " ".join(_UNSEARCHABLE.sub(" ", keyterm.lower()).split())[:_LONGEST_TERM]
        hits = self._hits(tables, term)
        where = f"{tables[0].name}.csv" if len(tables) == 1 else f"{len(tables)} files"
        found = [hit for hit in hits if hit.score >= _SIMILAR]
        if not found:
            answer = f'Nothing like "{keyterm}" was found among the text values of {where} (numbers and times are not searched).'
            nearest = hits[:NEAREST_SHOWN]
            return "\n".join([f"{answer} Nearest:", *map(_line, nearest)]) if nearest else answer
        lines = []
        groups = {
            f'Equal to "{keyterm}":': [hit for hit in found if hit.score >= 100],
            f'Containing "{keyterm}":': [hit for hit in found if 99 < hit.score < 100],
            f'Similar to "{keyterm}":': [hit for hit in found if hit.score <= 99],
        }
        room = VALUES_SHOWN
        for title, group in groups.items():
            shown = group[: max(room, 0)]
            room -= len(shown)
            if shown:
                lines += [title, *map(_line, shown)]
            if len(shown) < len(group):
                lines.append(f"... and {len(group) - len(shown)} more or so; a longer term finds fewer")
        return "\n".join(lines)

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


def _score(term: str, value: str) -> float:
    """How like a term a value is: 100 equal, over 99 containing it (the shorter the better), else by edit distance and shared words, at most 99."""
    folded = " ".join(value.lower().split())
    if folded == term:
        return 100.0
    if term in folded:
        return 99.0 + 0.99 * len(term) / len(folded)
    scores = [fuzz.ratio(term, folded), fuzz.token_sort_ratio(term, folded), 0.85 * fuzz.token_set_ratio(term, folded)]
    if " " not in term:
        scores.append(0.95 * max(fuzz.ratio(term, word) for word in re.split(r"[\s/,;()\[\]-]+", folded)))
    elif len(folded) > len(term):
        scores.append(0.95 * fuzz.partial_ratio(term, folded))
    return min(99.0, max(scores))


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
