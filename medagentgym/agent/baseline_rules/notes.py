"""Does a note contradict the tables? A rule that reads sentences with numbers and dates.

The rule is `contradicts`; the agent sends its source with the question's admission and entity filled in, so it runs where a model's program runs and
sees what that sees. It takes every sentence of the admission's notes that mentions the entity, cuts it into statements at "and", and asks the tables
for a row of the entity and the admission in which each number and each date of the statement stands.
"""

from __future__ import annotations

import csv
import inspect
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping

_ASKED = re.compile(r'\(HADM_ID\) (?P<admission>\d+) mentions the entity "(?P<entity>.*?)"\. ')
_NOTES = re.compile(r"`(?P<path>[^`]*/notes\.csv)`")


def program(fields: Mapping[str, str]) -> str | None:
    """The program for a question; None where it is no question about a note."""
    asked, notes = _ASKED.search(fields["question"]), _NOTES.search(fields["tables"])
    if asked is None or notes is None:
        return None
    sources = [inspect.getsource(function) for function in (rows_of_entity, statements, agrees, contradicts)]
    imports = "import csv\nimport re\nimport sqlite3\nimport sys\nfrom collections.abc import Iterator\n"
    call = f"answer = contradicts({fields['database']!r}, {notes['path']!r}, {asked['admission']!r}, {asked['entity']!r})\n"
    return "\n\n".join([imports, *sources, call])


def rows_of_entity(connection: sqlite3.Connection, admission: str, entity: str) -> Iterator[list[str]]:
    """The rows of an admission, from any table, in which the entity stands as a text or by a code that a dictionary gives its title."""
    columns = {
        table: [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    }
    codes: dict[str, set[str]] = {}
    for table, names in columns.items():
        if "HADM_ID" not in names:
            titles = [name for name in names if name in ("LABEL", "SHORT_TITLE", "LONG_TITLE")]
            for key in {"ITEMID", "ICD9_CODE"}.intersection(names):
                for title in titles:
                    found = connection.execute(f'SELECT "{key}" FROM "{table}" WHERE lower("{title}") = ?', (entity.lower(),))
                    codes.setdefault(key, set()).update(str(code) for (code,) in found)
    for table, names in columns.items():
        if "HADM_ID" in names:
            for row in connection.execute(f'SELECT * FROM "{table}" WHERE HADM_ID = ?', (int(admission),)):
                cells = ["" if cell is None else str(cell).lower() for cell in row]
                if entity.lower() in cells or any(cell in codes.get(name, ()) for name, cell in zip(names, cells, strict=True)):
                    yield cells


def statements(notes: str, admission: str, entity: str) -> Iterator[str]:
    """What the notes of an admission say of an entity, cut at "and"; the entity itself is taken out."""
    csv.field_size_limit(sys.maxsize)
    with open(notes, encoding="utf-8-sig", newline="") as stream:
        texts = [row["TEXT"] for row in csv.DictReader(stream) if row["HADM_ID"].partition(".")[0] == admission]
    for sentence in re.split(r"(?<=[.;])\s+|\n", "\n".join(texts).lower()):
        if entity.lower() in sentence:
            yield from re.split(r",? and ", sentence.replace(entity.lower(), " "))


def agrees(statement: str, row: list[str]) -> bool:
    """Whether every date, time of day and number of a statement stands in a row."""
    for moment in re.findall(r"\d{4}-\d{2}-\d{2}|\b\d{1,2}:\d{2}\b", statement):
        if not any(moment in cell for cell in row):
            return False
    plain = re.sub(r"\d{4}-\d{2}-\d{2}|\b\d{1,2}:\d{2}\b", " ", statement)
    numbers = {float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w%])", plain)}
    held = {float(cell) for cell in row if re.fullmatch(r"\d+(\.\d+)?", cell)}
    return numbers <= held


def contradicts(database: str, notes: str, admission: str, entity: str) -> bool:
    """Whether a statement about the entity has no row that agrees with it."""
    rows = list(rows_of_entity(sqlite3.connect(f"file:{database}?mode=ro", uri=True), admission, entity))
    return not all(any(agrees(statement, row) for row in rows) for statement in statements(notes, admission, entity))
