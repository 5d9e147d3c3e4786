"""The task database on disk: one folder with a CSV file a table and one SQLite file with the same tables."""

from __future__ import annotations

import csv
import hashlib
import math
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from medagentgym.ehr.raw_tables import table_files
from medagentgym.ehr.schema import SQLITE_AFFINITY, Column, Database, Kind, Table
from medagentgym.errors import UserError, one_line

Row = tuple[Any, ...]

_BATCH = 10_000
_LONGEST_VALUE = 60
LARGEST_INTEGER = 2**63 - 1
"""The largest whole number that SQLite keeps as one."""


class DuplicateKeyError(UserError):
    """The key of a table does not identify its rows, or is no whole number; says which value, as far as `rows`, those written last, show it."""

    def __init__(self, table: Table, rows: Sequence[Row]) -> None:
        counts = Counter(row[table.column_names.index(str(table.key))] for row in rows)
        no_key = next((value for value in counts if value is not None and not isinstance(value, int)), None)
        if no_key is not None:
            super().__init__(f"table {table.name}: {table.key} {no_key} is not a whole number")
            return
        value, count = counts.most_common(1)[0]
        more = f" ({value} occurs in {count} rows)" if count > 1 else ""
        super().__init__(f"table {table.name}: {table.key} is not unique{more}")


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
        """Write a table, returning the number of its rows. Raises `DuplicateKeyError` where its key is not unique."""
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
                    raise DuplicateKeyError(table, batch) from error
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


def rows_of_csv(path: Path, table: Table, key: str) -> Iterator[Row]:
    """The rows of a table's CSV file in a published folder: columns in any order and case, others ignored, values typed by the schema.

    Raises `UserError` naming file, line and column, and `key` of the configuration.
    """
    try:
        yield from _rows_of_csv(path, table)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); correct {key}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a readable CSV file: no text in UTF-8; correct {key}") from error
    except _DamagedCsvError as error:
        raise UserError(f"{error}; correct {key}") from error


class _DamagedCsvError(Exception):
    """What is wrong with a CSV file, and where."""


def _rows_of_csv(path: Path, table: Table) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(_without_nul(stream), strict=True)
        try:
            header = [name.strip().upper() for name in next(reader, [])]
            if not any(header):
                raise _DamagedCsvError(f"{path}: the file is empty")
            for name, what in (
                (", ".join(name for name in table.column_names if name.upper() not in header), "is missing"),
                (", ".join(name for name in table.column_names if header.count(name.upper()) > 1), "occurs more than once"),
            ):
                if name:
                    raise _DamagedCsvError(f"{path}: column {name} {what}")
            positions = [header.index(name.upper()) for name in table.column_names]
            for fields in reader:
                if len(fields) != len(header):
                    raise _DamagedCsvError(f"{path}, line {reader.line_num}: {len(fields)} fields instead of {len(header)}")
                try:
                    yield tuple(_value(fields[position], column) for position, column in zip(positions, table.columns, strict=True))
                except ValueError as error:
                    raise _DamagedCsvError(f"{path}, line {reader.line_num}: {error}") from error
        except csv.Error as error:
            raise _DamagedCsvError(f"{path}, line {reader.line_num}: not a readable CSV file ({one_line(error)})") from error


def _without_nul(lines: Iterable[str]) -> Iterator[str]:
    """The lines, as they are; a character NUL, which no text holds, is an error of the CSV."""
    for line in lines:
        if "\0" in line:
            raise csv.Error("a character NUL")
        yield line


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
    folder.mkdir(parents=True)
    copy_sqlite_file(source, folder / database.file_name, key)
    counts = {}
    try:
        with closing(sqlite3.connect(folder / database.file_name, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            present = {name.upper() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            missing = [table.name for table in database.tables if table.name.upper() not in present]
            if missing:
                raise UserError(f"{source}: table {', '.join(missing)} is missing; correct {key}")
            for table in database.tables:
                columns = {row[1].upper() for row in connection.execute(f"PRAGMA table_info({table.name})")}
                absent = [name for name in table.column_names if name.upper() not in columns]
                if absent:
                    raise UserError(f"{source}, table {table.name}: column {', '.join(absent)} is missing; correct {key}")
                _require_values_of_kind(connection, table, f"{source}, table {table.name}", key)
                counts[table.name] = _export(connection, table, folder / table.file_name)
            add_indexes(connection, database)
    except sqlite3.DatabaseError as error:
        raise UserError(f"{source}: not a readable SQLite database ({one_line(error)}); correct {key}") from error
    return counts


def copy_sqlite_file(source: Path, target: Path, key: str) -> None:
    """Copy a file that is to be a SQLite database. Raises `UserError` where it cannot be read or is empty."""
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise UserError(f"{source}: cannot be read ({error.strerror}); correct {key}") from error
    if target.stat().st_size == 0:
        raise UserError(f"{source}: the file is empty; correct {key}")


def _require_values_of_kind(connection: sqlite3.Connection, table: Table, place: str, key: str) -> None:
    """Refuse bytes, texts in columns of numbers that are no numbers, and rows with the same key, none of which SQLite minds. Raises `UserError`."""
    for column in table.columns:
        kinds = "'blob'" if column.kind in ("text", "time") else "'blob', 'text'"
        query = f"SELECT DISTINCT {column.name} FROM {table.name} WHERE typeof({column.name}) IN ({kinds}) AND {column.name} != ''"
        for (value,) in connection.execute(query):
            if isinstance(value, bytes) or (value.lower() != "nan" and _number(value) is None):
                what = "no text" if column.kind in ("text", "time") else "not a number"
                shown = one_line(str(value)[:_LONGEST_VALUE])
                raise UserError(f'{place}: "{shown}" is {what} (column {column.name}); correct {key}')
    if table.key is not None:
        repeated = connection.execute(
            f"SELECT {table.key}, count(*) FROM {table.name} WHERE {table.key} IS NOT NULL GROUP BY 1 HAVING count(*) > 1 LIMIT 1"
        ).fetchone()
        if repeated is not None:
            raise UserError(f"{place}: {table.key} {repeated[0]} occurs in {repeated[1]} rows; correct {key}")


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
    if column.kind == "integer" and re.fullmatch(r"[+-]?\d{1,18}", text):
        return int(text)
    number = _number(text)
    if number is None:
        raise ValueError(f'"{text[:_LONGEST_VALUE]}" is not a number (column {column.name})')
    return int(number) if column.kind == "integer" and number.is_integer() and abs(number) <= LARGEST_INTEGER else number


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
