"""Building the index that answers `request_info` (`medagentgym.ehr.lookup`), beside a finished database.

Everything is counted by SQLite itself, a column at a time, with sorting on disk: memory does not follow the size of the tables, and time follows it
as sorting does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from medagentgym.ehr.schema import Table

VALUES_SHOWN = 50
"""Most values of a column, or of a term, in one answer."""

_SCHEMA = """
CREATE TABLE tables (name TEXT, rows INTEGER, first_text INTEGER, end_text INTEGER);
CREATE TABLE columns (
    id INTEGER PRIMARY KEY, table_name TEXT, name TEXT, kind TEXT, distinct_values INTEGER, nulls INTEGER, smallest TEXT, largest TEXT
);
CREATE TABLE common_values (column_id INTEGER, value TEXT, rows INTEGER);
CREATE TABLE texts (id INTEGER PRIMARY KEY, table_name TEXT, column_name TEXT, value TEXT, rows INTEGER);
CREATE TABLE exact_values (column_id INTEGER, value, rows INTEGER, PRIMARY KEY (column_id, value)) WITHOUT ROWID;
"""
_SEARCH = """
CREATE INDEX texts_by_value ON texts (value COLLATE NOCASE);
CREATE INDEX common_values_by_column ON common_values (column_id);
CREATE VIRTUAL TABLE text_search USING fts5(value, content = 'texts', content_rowid = 'id', tokenize = 'trigram');
INSERT INTO text_search(text_search) VALUES ('rebuild');
INSERT INTO text_search(text_search) VALUES ('optimize');
CREATE TABLE trigrams (trigram TEXT PRIMARY KEY, texts INTEGER) WITHOUT ROWID;
CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, text_search, row);
INSERT INTO trigrams SELECT term, doc FROM temp.vocabulary;
"""


def build_lookup(database: Path, path: Path, tables: Sequence[Table]) -> None:
    """Write the index of a finished database to `path`."""
    with closing(sqlite3.connect(path, isolation_level=None, uri=True)) as index:
        index.execute("PRAGMA journal_mode = OFF")
        index.execute("PRAGMA synchronous = OFF")
        index.execute("ATTACH ? AS source", (f"{database.resolve().as_uri()}?mode=ro&immutable=1",))
        index.execute("BEGIN")
        _run(index, _SCHEMA)
        for table in tables:
            _index_table(index, table)
        _run(index, _SEARCH)
        index.execute("COMMIT")


def _run(index: sqlite3.Connection, script: str) -> None:
    """Run statements inside the open transaction, which `executescript` would end."""
    for statement in script.split(";\n"):
        if statement.strip():
            index.execute(statement)


def _index_table(index: sqlite3.Connection, table: Table) -> None:
    (rows,) = index.execute(f'SELECT count(*) FROM source."{table.name}"').fetchone()
    (first,) = index.execute("SELECT coalesce(max(id), 0) + 1 FROM texts").fetchone()
    for column in table.columns:
        index.execute(
            f'CREATE TABLE temp.counted AS SELECT "{column.name}" AS value, count(*) AS rows FROM source."{table.name}" '
            f'WHERE "{column.name}" IS NOT NULL GROUP BY 1'
        )
        distinct, filled, *limits = index.execute("SELECT count(*), coalesce(sum(rows), 0), min(value), max(value) FROM temp.counted").fetchone()
        smallest, largest = (None if column.kind == "text" or limit is None else str(limit) for limit in limits)
        column_id = index.execute(
            "INSERT INTO columns (table_name, name, kind, distinct_values, nulls, smallest, largest) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (table.name, column.name, column.kind, distinct, rows - filled, smallest, largest),
        ).lastrowid
        most_frequent_first = "CAST(value AS TEXT), rows FROM temp.counted ORDER BY rows DESC, value"
        index.execute(f"INSERT INTO common_values SELECT ?, {most_frequent_first} LIMIT {VALUES_SHOWN}", (column_id,))
        if column.kind == "text":
            index.execute(
                f"INSERT INTO texts (table_name, column_name, value, rows) SELECT ?, ?, {most_frequent_first}",
                (table.name, column.name),
            )
        elif column.name != table.key:
            index.execute("INSERT INTO exact_values SELECT ?, value, rows FROM temp.counted", (column_id,))
        index.execute("DROP TABLE temp.counted")
    (end,) = index.execute("SELECT coalesce(max(id), 0) + 1 FROM texts").fetchone()
    index.execute("INSERT INTO tables VALUES (?, ?, ?, ?)", (table.name, rows, first, end))
