"""Raw tables on their way to the rows of a database: what the cuts of different raw data share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medagentgym.ehr.raw_tables import RawTable, open_duckdb, require_unique, stream_rows
from medagentgym.ehr.schema import Database, Kind

Row = tuple[Any, ...]


class TableCut(ABC):
    """The raw tables of one folder, from which the tables of a database are made.

    Raises `UserError` naming file and column for whatever is wrong with the raw files: at once where what `identifiers` names, a column a table, does
    not identify the rows, else while rows are read.
    """

    def __init__(self, database: Database, raw: Mapping[str, RawTable], scratch: Path, identifiers: Mapping[str, str]) -> None:
        self._database = database
        self._raw = raw
        self._connection = open_duckdb(scratch)
        try:
            for table, column in identifiers.items():
                require_unique(self._connection, raw[table], column)
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Free what DuckDB holds."""
        self._connection.close()

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table, in the order of the schema and of RAW_ROW; the column that numbers rows, if the cut numbers them, counts from 0."""
        number = self.numbered(table)
        columns = ", ".join(
            f"strftime({column.name}, '%Y-%m-%d %H:%M:%S')" if column.kind == "time" else column.name
            for column in self._database.table(table).columns
            if column.name != number
        )
        rows = stream_rows(self._connection, f"SELECT {columns} FROM ({self.query(table)}) ORDER BY RAW_ROW", self._raw.values())
        for row_id, row in enumerate(rows):
            yield row if number is None else (row_id, *row)

    @abstractmethod
    def numbered(self, table: str) -> str | None:
        """The first column of a table, where the cut numbers its rows anew."""

    @abstractmethod
    def query(self, table: str) -> str:
        """SQL of a table's rows: its columns but the one that numbers them, and RAW_ROW, which orders them."""

    def typed(self, table: str, columns: str, *, row: str, only: str = "true") -> str:
        """SQL of the rows of a raw table, with RAW_ROW, the whole number in the raw column `row`.

        `columns` are words `NAME:kind`, or `NAME=RAW_NAME:kind` where the raw column is called otherwise; of several raw columns, separated by `|`,
        the first that is not empty counts. `only` is a condition on the raw columns, which are text.
        """
        raw = self._raw[table]
        selected = [f"{raw.value(row, 'integer')} AS RAW_ROW"]
        for name, source, kind in column_words(columns):
            alternatives = [raw.value(alternative, kind) for alternative in source.split("|")]
            selected.append(f"coalesce({', '.join(alternatives)}) AS {name}")
        return f"SELECT {', '.join(selected)} FROM {raw.scan()} WHERE {only}"


def column_words(columns: str) -> Iterator[tuple[str, str, Kind]]:
    """Name, raw name and kind of each word `NAME:kind` or `NAME=RAW_NAME:kind`."""
    kinds: dict[str, Kind] = {"integer": "integer", "real": "real", "text": "text", "time": "time"}
    for word in columns.split():
        names, _, kind = word.partition(":")
        name, _, source = names.partition("=")
        yield name, source or name, kinds[kind]
