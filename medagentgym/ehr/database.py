"""The task database on disk: one folder with a CSV file a table and one SQLite file with the same tables."""

from __future__ import annotations

import csv
import hashlib
import math
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from medagentgym.ehr.raw_tables import table_files
from medagentgym.ehr.schema import SQLITE_AFFINITY, Column, Database, Kind, Table
from medagentgym.errors import UserError, one_line

Row = tuple[Any, ...]

_BATCH = 10_000


class DatabaseWriter:
    """Writes tables into a folder, each into its CSV file and into the SQLite file. Same rows, same bytes."""

    def __init__(self, folder: Path, database: Database) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.database = database
        self.path = folder / database.file_name
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = OFF")
        self.connection.execute("PRAGMA synchronous = OFF")

    def write(self, table: Table, rows: Iterable[Row]) -> int:
        """Write a table, returning the number of its rows. Raises `UserError` where its key is not unique."""
        definitions = ", ".join(
            f"{column.name} {'INTEGER PRIMARY KEY' if column.name == table.key else SQLITE_AFFINITY[column.kind]}" for column in table.columns
        )
        self.connection.execute(f"CREATE TABLE {table.name} ({definitions})")
        insert = f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})"
        count = 0
        with (self.folder / table.file_name).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(table.column_names)
            self.connection.execute("BEGIN")
            for batch in _batches(rows):
                try:
                    self.connection.executemany(insert, batch)
                except sqlite3.IntegrityError as error:
                    raise UserError(f"table {table.name}: {table.key} is not unique ({one_line(error)})") from error
                writer.writerows(batch)
                count += len(batch)
            self.connection.execute("COMMIT")
        return count

    def finish(self) -> None:
        """Make the indexes and the statistics that SQLite plans queries with, and close the file."""
        add_indexes(self.connection, self.database)
        self.connection.close()

    def close(self) -> None:
        """Close the file as it is."""
        self.connection.close()


def add_indexes(connection: sqlite3.Connection, database: Database) -> None:
    """Make the schema's indexes and the statistics that SQLite plans queries with."""
    for table in database.tables:
        for index in table.indexes:
            connection.execute(f"CREATE INDEX IF NOT EXISTS {table.name}_BY_{'_AND_'.join(index)} ON {table.name} ({', '.join(index)})")
    connection.execute("ANALYZE")


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open a finished database that nobody writes any more. The connection may move between threads, one at a time."""
    location = path.resolve().as_uri()
    return sqlite3.connect(f"{location}?mode=ro&immutable=1", uri=True, check_same_thread=False)


# --- databases that exist already -----------------------------------------------------------------------------------------------------------------


def rows_of_csv(path: Path, table: Table) -> Iterator[Row]:
    """The rows of a table's CSV file in a published folder: columns in any order and case, others ignored, values typed by the schema.

    Raises `UserError` naming file, line and column.
    """
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            header = [name.strip().upper() for name in next(reader, [])]
            absent = [name for name in table.column_names if name.upper() not in header]
            if absent:
                raise UserError(f"{path}: column {', '.join(absent)} is missing")
            positions = [header.index(name.upper()) for name in table.column_names]
            for fields in reader:
                if len(fields) != len(header):
                    raise UserError(f"{path}, line {reader.line_num}: {len(fields)} fields instead of {len(header)}")
                try:
                    yield tuple(_value(fields[position], column) for position, column in zip(positions, table.columns, strict=True))
                except ValueError as error:
                    raise UserError(f"{path}, line {reader.line_num}: {error}") from error
        except (csv.Error, UnicodeDecodeError) as error:
            raise UserError(f"{path}, line {reader.line_num}: not a readable CSV file ({one_line(error)})") from error


def find_csv_tables(folder: Path, database: Database, key: str) -> dict[str, Path]:
    """The CSV files of the tables of a folder in the published layout. Raises `UserError` naming the missing ones."""
    files = {name: path for name, path in table_files(folder, key).items() if path.suffix.lower() == ".csv"}
    missing = [table.file_name for table in database.tables if table.name.upper() not in files]
    if missing:
        raise UserError(f"{folder}: {', '.join(missing)} is missing; correct {key}")
    return {table.name: files[table.name.upper()] for table in database.tables}


def copy_database(source: Path, folder: Path, database: Database, key: str) -> dict[str, int]:
    """Copy a database in EHRSQL's shape (names in either case) and write its tables as CSV files. Returns the tables' row counts.

    Raises `UserError` where the file is no SQLite database, or a table or column is missing.
    """
    if not source.is_file():
        raise UserError(f"{source}: no such file; correct {key}")
    folder.mkdir(parents=True)
    shutil.copyfile(source, folder / database.file_name)
    counts = {}
    try:
        with closing(sqlite3.connect(folder / database.file_name, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            present = {name.upper() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
            missing = [table.name for table in database.tables if table.name.upper() not in present]
            if missing:
                raise UserError(f"{source}: table {', '.join(missing)} is missing; correct {key}")
            for table in database.tables:
                columns = {row[1].upper() for row in connection.execute(f"PRAGMA table_info({table.name})")}
                absent = [name for name in table.column_names if name.upper() not in columns]
                if absent:
                    raise UserError(f"{source}, table {table.name}: column {', '.join(absent)} is missing")
                counts[table.name] = _export(connection, table, folder / table.file_name)
            add_indexes(connection, database)
    except sqlite3.DatabaseError as error:
        raise UserError(f"{source}: not a readable SQLite database ({one_line(error)}); correct {key}") from error
    return counts


def describe_database(connection: sqlite3.Connection, name: str) -> Database:
    """The tables of a SQLite file of which nothing is known beforehand. Columns are of the kind that they are declared as; times that are declared as
    text are told by their values."""
    tables = []
    listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid").fetchall()
    for (table,) in listed:
        columns = []
        for _, column, declared, *_ in connection.execute(f'PRAGMA table_info("{table}")').fetchall():
            columns.append(Column(column, _declared_kind(connection, table, column, str(declared))))
        tables.append(Table(table, tuple(columns), key=next((column.name for column in columns if column.name.upper() == "ROW_ID"), None)))
    return Database(name, tuple(tables), None)


def _declared_kind(connection: sqlite3.Connection, table: str, column: str, declared: str) -> Kind:
    """Kind of a column by SQLite's rules of affinity (https://www.sqlite.org/datatype3.html), and by one value where it may hold times."""
    declared = declared.upper()
    if "INT" in declared:
        return "integer"
    if any(word in declared for word in ("REAL", "FLOA", "DOUB", "NUM", "DEC")):
        return "real"
    example = connection.execute(f'SELECT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL LIMIT 1').fetchone()
    return "time" if example is not None and re.fullmatch(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}.*)?", str(example[0])) else "text"


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _export(connection: sqlite3.Connection, table: Table, path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(table.column_names)
        for batch in _batches(connection.execute(f"SELECT {', '.join(table.column_names)} FROM {table.name} ORDER BY {table.key or 'rowid'}")):
            writer.writerows(batch)
            count += len(batch)
    return count


def _batches(rows: Iterable[Row]) -> Iterator[Sequence[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _value(text: str, column: Column) -> Any:
    if text == "" or text.lower() == "nan":
        return None
    if column.kind in ("text", "time"):
        return text
    if column.kind == "integer" and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f'"{text}" is not a number (column {column.name})')
    if column.kind == "integer":
        if not number.is_integer():
            return number
        return int(number)
    return number
