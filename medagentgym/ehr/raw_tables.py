"""Raw PhysioNet tables: a folder of `*.csv` or `*.csv.gz`, file names and headers in either case, read as a stream by DuckDB."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medagentgym.ehr.schema import Kind
from medagentgym.errors import UserError, one_line

if TYPE_CHECKING:
    import duckdb

_HEADER_BYTES = 65_536
_BUFFER_BYTES = 4 * 2**20
_BATCH = 10_000
_LONGEST_VALUE = 60
_TO_DO = "fetch it again, or correct data.raw_path"
_WRONG_VALUE = "wrong value: "
_NOT_OF_KIND: dict[str, str] = {"integer": " is not a whole number", "real": " is not a number", "time": " is not a time"}


@dataclass(frozen=True)
class RawTable:
    """One raw table that exists and whose header has been read."""

    name: str
    path: Path
    header: tuple[str, ...]
    """The columns as the file writes them, in order."""

    def scan(self) -> str:
        """A DuckDB table function that streams the file: every column as text under its upper-case name, an empty field as null."""
        columns = ", ".join(f"{quote_text(column.upper())}: 'VARCHAR'" for column in self.header)
        literal = re.sub(r"([*?\[])", r"[\1]", str(self.path))
        return (
            f"read_csv({quote_text(literal)}, columns = {{{columns}}}, auto_detect = false, header = true, delim = ',', "
            f"quote = '\"', escape = '\"', nullstr = '', buffer_size = {_BUFFER_BYTES})"
        )

    def value(self, column: str, kind: Kind) -> str:
        """A DuckDB expression for a column's value: text lower-cased and stripped, numbers and times cast, what is empty null.

        A value that is no such number or time ends the query with an error that names file and column (see `naming_the_file`).
        """
        text = f"nullif(trim({column}), '')"
        if kind == "text":
            return f"lower({text})"
        duckdb_type = {"integer": "BIGINT", "real": "DOUBLE", "time": "TIMESTAMP"}[kind]
        cast = f"try_cast({text} AS {duckdb_type})"
        if kind != "integer":
            cast = f"CASE WHEN isfinite({cast}) THEN {cast} END"
        complaint = (
            f"{quote_text(f'{_WRONG_VALUE}{self.path}: column {column}: ')} || left({text}, {_LONGEST_VALUE}) || {quote_text(_NOT_OF_KIND[kind])}"
        )
        return f"coalesce({cast}, CASE WHEN {text} IS NOT NULL THEN CAST(error({complaint}) AS {duckdb_type}) END)"


def table_files(folder: Path, key: str) -> dict[str, Path]:
    """The CSV files of a folder by the upper-case name of their table. Of a table that is there twice, the compressed file, which carries a checksum.

    Raises `UserError` naming `key` of the configuration where the folder cannot be read.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.name.lower().endswith((".csv", ".csv.gz")))
    except OSError as error:
        raise UserError(f"{folder}: not a readable folder of tables ({error.strerror}); correct {key}") from error
    found: dict[str, Path] = {}
    for path in sorted(files, key=lambda path: path.name.lower().endswith(".gz")):
        found[re.sub(r"\.csv(\.gz)?$", "", path.name, flags=re.IGNORECASE).upper()] = path
    return found


def find_raw_tables(folder: Path, needed: Mapping[str, Sequence[str]], key: str, *, optional: Collection[str] = ()) -> dict[str, RawTable]:
    """The needed tables (name -> needed columns, both upper case) of a raw folder; those of `optional` may be absent.

    Reads one header a table. Raises `UserError` for a missing table or column, and for a file that is no CSV.
    """
    files = table_files(folder, key)
    missing = [name for name in needed if name not in files and name not in optional]
    if missing:
        raise UserError(f"{folder}: table {', '.join(missing)} is missing (expected {missing[0]}.csv or {missing[0]}.csv.gz); correct {key}")
    tables = {}
    for name, columns in needed.items():
        if name not in files:
            continue
        header = read_header(files[name])
        present = {column.upper() for column in header}
        absent = [column for column in columns if column not in present]
        if len(absent) == len(columns):
            raise UserError(f"{files[name]}: not a CSV table with a header of {name} (expected columns {', '.join(columns)}); {_TO_DO}")
        if absent:
            raise UserError(f"{files[name]}: column {', '.join(absent)} is missing; {_TO_DO}")
        tables[name] = RawTable(name, files[name], header)
    return tables


def read_header(path: Path) -> tuple[str, ...]:
    """The column names of a CSV file, as written. Raises `UserError` where there is no readable first line."""
    opener: Callable[..., gzip.GzipFile] = gzip.open if path.name.lower().endswith(".gz") else open  # type: ignore[assignment]
    try:
        with opener(path, "rb") as stream:
            line = stream.readline(_HEADER_BYTES).decode("utf-8-sig")
    except EOFError as error:
        raise UserError(f"{path}: the gzip file is cut short; fetch it again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path}: not a gzip file, or damaged ({one_line(error)}); fetch it again") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a CSV file in UTF-8; {_TO_DO}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); {_TO_DO}") from error
    if not line.strip():
        raise UserError(f"{path}: the file is empty; {_TO_DO}")
    header = tuple(name.strip() for name in next(csv.reader([line])))
    repeated = sorted({name for name in header if [other.upper() for other in header].count(name.upper()) > 1})
    if repeated:
        raise UserError(f"{path}: column {', '.join(repeated)} occurs more than once; {_TO_DO}")
    return header


def open_duckdb(scratch: Path) -> duckdb.DuckDBPyConnection:
    """A DuckDB that reads raw tables in little memory, whatever their size: what does not fit goes to the folder `scratch`, which need not exist.

    Write the larger side of a join first.
    """
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": min(4, os.cpu_count() or 1),
        "memory_limit": "512MB",
        "temp_directory": str(scratch),
    }
    connection: duckdb.DuckDBPyConnection = duckdb.connect(config=settings)
    connection.execute("SET enable_progress_bar = false")
    # Joins run as they are written, the right side in memory: DuckDB takes every raw file for a small one, and would else hold the large side.
    connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    return connection


def stream_rows(connection: duckdb.DuckDBPyConnection, query: str, tables: Iterable[RawTable]) -> Iterator[tuple[Any, ...]]:
    """The rows of a query on raw tables, one after the other. Raises `UserError` naming the file where one of them is damaged."""
    with naming_the_file(tables):
        result = connection.execute(query)
        while batch := result.fetchmany(_BATCH):
            yield from batch


def require_unique(connection: duckdb.DuckDBPyConnection, table: RawTable, column: str) -> None:
    """Raises `UserError` where two rows have the same whole number in a column that identifies them, and where no row has one."""
    query = f"SELECT {table.value(column, 'integer')} AS identifier, count(*) FROM {table.scan()} GROUP BY 1 HAVING identifier IS NOT NULL"
    with naming_the_file([table]):
        found = connection.execute(f"{query} ORDER BY 2 DESC, 1 LIMIT 1").fetchone()
    if found is None:
        raise UserError(f"{table.path}: no row has a {column}; {_TO_DO}")
    if found[1] > 1:
        raise UserError(f"{table.path}: {column} {found[0]} occurs in {found[1]} rows; {_TO_DO}")


def quote_text(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def naming_the_file(tables: Iterable[RawTable]) -> Iterator[None]:
    """Turn what DuckDB says of a damaged file among `tables` into a `UserError` that names file, column and line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        if (mistake := _user_error(str(error), tables)) is not None:
            raise mistake from error
        raise


def _user_error(message: str, tables: Iterable[RawTable]) -> UserError | None:
    if _WRONG_VALUE in message:
        return UserError(f"{one_line(message[message.index(_WRONG_VALUE) + len(_WRONG_VALUE) :])}; {_TO_DO}")
    path = next((table.path for table in tables if str(table.path) in message), None)
    if path is None:
        return None
    if "GZIP" in message:
        return UserError(f"{path}: the gzip file is cut short or damaged; fetch it again")
    line = re.search(r"CSV Error on Line: (\d+)", message)
    if line is None:
        return None
    detail = re.search(
        r"^(Expected Number.*|Invalid unicode.*|Value with unterminated.*|.*maximum line size.*)$", message, re.MULTILINE | re.IGNORECASE
    )
    return UserError(f"{path}, line {line[1]}: not a readable CSV file ({one_line(detail[1] if detail else message.splitlines()[0])}); {_TO_DO}")
