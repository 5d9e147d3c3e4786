"""Task ehrcon: does a clinical note contradict the tables?

Questions in the form of the published task files: an admission, an entity that its notes mention, and whether what they say of it has an error. Notes
and tables are those of EHRCon (Kwon et al., NeurIPS 2024 Datasets and Benchmarks, https://github.com/dustn1259/EHRCon), which rest on MIMIC-III and
are credentialed; made-up notes over made-up patients stand in for them (`medagentgym.synthetic.notes`).
"""

from __future__ import annotations

import csv
import re
import shutil
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from medagentgym.built_data import Mode
from medagentgym.ehr.database import DatabaseWriter, add_indexes, copy_sqlite_file, describe_database, open_read_only
from medagentgym.ehr.layout import LOOKUP_FILE
from medagentgym.ehr.schema import MIMIC_III, Database
from medagentgym.errors import UserError, one_line
from medagentgym.judges.base import Judge
from medagentgym.row_files import SourceRow
from medagentgym.tasks.base import Instance
from medagentgym.tasks.probes import CONTRADICTION
from medagentgym.tasks.task_file import VISIBLE_FOLDER, TaskFileTask

if TYPE_CHECKING:
    from medagentgym.config import Config, SyntheticConfig

DATA_FOLDER = "/data"
NOTES_FILE = "notes.csv"
_DATABASE = Database("ehrcon", (), None)
_LONGEST_NOTE = 2**27
_IDENTIFIER = re.compile(r"(\d+(\.0)?)?")
_LONGEST_CELL = 60


class EhrCon(TaskFileTask):
    """Notes against tables, a yes or no each."""

    name: ClassVar[str] = "ehrcon"
    credentialed: ClassVar[bool] = True
    is_classification: ClassVar[bool] = True
    printed_value_counts: ClassVar[bool] = True
    permitted_actions: ClassVar[tuple[str, ...]] = ("request_info", "validate_code", "debug", "terminal", "submit")
    code_modules: ClassVar[tuple[str, ...]] = (*TaskFileTask.code_modules, "medagentgym.ehr.lookup", "medagentgym.ehr.lookup_index")
    source_keys: ClassVar[tuple[str, ...]] = ("data_path", "sqlite_path", "synthetic")
    answer_form: ClassVar[str] = (
        "Leave True or False in a variable `answer`: True where at least one thing that the note says of the entity disagrees with the tables, or is "
        "not in them; False where all of it agrees."
    )

    # --- the build ------------------------------------------------------------------------------------------------------------------------------

    @classmethod
    def is_credentialed(cls, config: Config) -> bool:
        """Patients' records are credentialed unless `data.credentialed` says otherwise; made-up records never are."""
        return config.data.synthetic is None and super().is_credentialed(config)

    @classmethod
    def made_up_rows(cls, synthetic: SyntheticConfig, mode: Mode) -> list[dict[str, Any]]:
        """Questions about made-up notes."""
        from medagentgym.synthetic.notes import make_notes

        return make_notes(synthetic).tasks[mode]

    @classmethod
    def further_sources(cls, config: Config) -> list[Path]:
        """The database and the notes."""
        return [] if config.data.synthetic is not None else [_database_file(config), _notes_file(config)]

    @classmethod
    def built_rows(cls, rows: list[SourceRow], mode: Mode, config: Config) -> list[dict[str, Any]]:
        """One question a row. Rows that ask the same and say otherwise cannot be judged."""
        built = [cls.built_row(row, config) for row in rows]
        first: dict[tuple[str, str, bool], int] = {}
        """Admission, entity and label -> the first row that has them."""
        for position, row in enumerate(built):
            first.setdefault((row["admission"], row["entity"].casefold(), row["gold"]["has_error"]), position)
        for row in built:
            other = first.get((row["admission"], row["entity"].casefold(), not row["gold"]["has_error"]))
            if other is not None:
                row["gold"]["ungradable"] = f"{CONTRADICTION}: instance {other} asks the same and has the other answer"
        return built

    @classmethod
    def built_row(cls, row: SourceRow, config: Config) -> dict[str, Any]:
        """The question of a row, and whether there is an error."""
        admission = _whole_number(row, "Hospital admission")
        entity = " ".join(row.text("Medical entity").split())
        has_error = _truth(row, "Has error")
        gold: dict[str, Any] = {
            "has_error": has_error,
            "gold": {"columns": ["has_error"], "rows": [[int(has_error)]], "boolean": True, "status": "usable", "reason": ""},
            "published": [str(has_error)],
        }
        if row.get("checks") is not None:
            gold["checks"] = row.get("checks")
        return {
            "id": row.text("id", str(row.idx)),
            "question": (
                f'A note of hospital admission (HADM_ID) {admission} mentions the entity "{entity}". Read what the notes of this admission say of '
                "it, and compare every such statement (values, units, doses, times, that something was found, given or done) with the tables. Does "
                "at least one of the statements contradict the tables?"
            ),
            "admission": admission,
            "entity": entity,
            "gold": gold,
        }

    @classmethod
    def build_visible(cls, folder: Path, rows: Mapping[Mode, list[dict[str, Any]]], config: Config) -> None:
        """The database and the notes."""
        target = folder / _DATABASE.file_name
        synthetic = config.data.synthetic
        if synthetic is not None:
            from medagentgym.synthetic.notes import NOTE_COLUMNS, make_notes

            _write_made_up_tables(synthetic, config, folder)
            with (folder / NOTES_FILE).open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(NOTE_COLUMNS)
                writer.writerows(make_notes(synthetic).notes)
            return
        source = _database_file(config)
        copy_sqlite_file(source, target, "data.sqlite_path or data.data_path")
        try:
            with closing(sqlite3.connect(target, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = DELETE")
                add_indexes(connection, describe_database(connection, _DATABASE.name))
        except sqlite3.DatabaseError as error:
            raise UserError(f"{source}: not a readable SQLite database ({one_line(error)}); correct data.sqlite_path or data.data_path") from error
        notes = _notes_file(config)
        _check_notes(notes, "data.data_path" if config.data.notes_path is None else "data.notes_path")
        shutil.copyfile(notes, folder / NOTES_FILE)

    @classmethod
    def build_hidden(cls, folder: Path, visible: Path, config: Config) -> None:
        """The lookup index."""
        from medagentgym.ehr.lookup_index import build_lookup

        database = visible / _DATABASE.file_name
        with closing(open_read_only(database)) as connection:
            tables = describe_database(connection, _DATABASE.name).tables
        build_lookup(database, folder / LOOKUP_FILE, tables)

    # --- while running --------------------------------------------------------------------------------------------------------------------------

    def __init__(self, folder: Path, config: Config) -> None:
        super().__init__(folder, config)
        from medagentgym.ehr.lookup import Lookup

        try:
            self._lookup = Lookup(folder / LOOKUP_FILE)
        except sqlite3.Error as error:
            raise UserError(f"{folder}: damaged ({one_line(error)}); delete it and build the data again, with the target `data`") from error

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        """`strict` reads the answer as a yes or no, `published` looks for the word in the output."""
        from medagentgym.judges.published import PublishedEhrConJudge
        from medagentgym.judges.row_sets import RowSetJudge

        return {"strict": RowSetJudge(), "published": PublishedEhrConJudge()}

    def prompt_fields(self, instance: Instance) -> dict[str, str]:
        """`question`, `tables` (with a few rows each, and the notes' columns), `answer_form`, `database`."""
        data = self.seen_at(DATA_FOLDER, instance)
        notes = f"Notes, as a CSV file with the columns {', '.join(self._note_columns)}: `{data}/{NOTES_FILE}`."
        return {
            **super().prompt_fields(instance),
            "database": f"{data}/{_DATABASE.file_name}",
            "tables": f"{notes}\n\nTables of the database:\n\n{self._tables}",
        }

    def request_info(self, params: Mapping[str, Any]) -> str:
        """Answer from the lookup index. Safe to call from several threads."""
        return self._lookup.answer(params)

    def close(self) -> None:
        """Close the calling thread's connection to the lookup index."""
        self._lookup.close()

    def reference_code(self, instance: Instance) -> str:
        """A program that leaves the label; for made-up notes one that looks up in the tables what the note says."""
        checks = instance.record["gold"].get("checks")
        if checks is None:
            return f"answer = {instance.record['gold']['has_error']}\n"
        database = f"file:{quote(self.seen_at(DATA_FOLDER, instance))}/{_DATABASE.file_name}?mode=ro&immutable=1"
        return (
            "import sqlite3\n\n"
            f"connection = sqlite3.connect({database!r}, uri=True)\n"
            f"statements = {checks!r}\n"
            'found = [connection.execute(f"SELECT count(*) FROM {condition}", values).fetchone()[0] for condition, values in statements]\n'
            "answer = not all(found)\n"
        )

    @cached_property
    def _note_columns(self) -> list[str]:
        with (self.folder / VISIBLE_FOLDER / NOTES_FILE).open(encoding="utf-8-sig", newline="") as stream:
            return next(csv.reader(stream), [])

    @cached_property
    def _tables(self) -> str:
        """Every table's name, number of rows, columns and first rows."""
        parts = []
        with closing(open_read_only(self.folder / VISIBLE_FOLDER / _DATABASE.file_name)) as connection:
            for table in self._lookup.tables.values():
                rows = connection.execute(f'SELECT * FROM "{table.name}" LIMIT ?', (self.config.env.preview_rows,))
                header = [column[0] for column in rows.description]
                parts.append("\n".join([f"{table.name} ({table.rows:,} rows)", *(",".join(map(_cell, row)) for row in [header, *rows])]))
        return "\n\n".join(parts)


def _write_made_up_tables(synthetic: SyntheticConfig, config: Config, folder: Path) -> None:
    from medagentgym.ehr.mimic_iii import make_up, write_from_raw
    from medagentgym.ehr.recipe import RawSource

    made = make_up(synthetic, folder / "made")
    with closing(DatabaseWriter(folder / "made" / "tables", Database(_DATABASE.name, MIMIC_III.tables, None))) as writer:
        write_from_raw(RawSource(made.raw, {}, config.data, folder / "made" / "scratch", _progress), writer)
        writer.finish()
    (folder / "made" / "tables" / _DATABASE.file_name).rename(folder / _DATABASE.file_name)
    shutil.rmtree(folder / "made")


def _database_file(config: Config) -> Path:
    """The SQLite file that the configuration names. Raises `UserError`."""
    if config.data.sqlite_path is not None:
        return config.data.sqlite_path
    folder = config.data.data_path
    assert folder is not None
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".sqlite", ".sqlite3", ".db"))
    if len(found) != 1:
        there = f"holds several: {', '.join(path.name for path in found)}" if found else "holds none"
        raise UserError(f"{folder}: needs one SQLite file (*.sqlite or *.db) and {there}; correct data.data_path")
    return found[0]


def _notes_file(config: Config) -> Path:
    """The file of notes that the configuration names: in a published folder the CSV with the columns HADM_ID and TEXT. Raises `UserError`."""
    if config.data.notes_path is not None:
        if not _holds_notes(config.data.notes_path):
            raise UserError(f"{config.data.notes_path}: not a CSV file with the columns HADM_ID and TEXT; correct data.notes_path")
        return config.data.notes_path
    folder = config.data.data_path
    if folder is None:
        raise UserError("data.notes_path: is missing; give the CSV file of the notes (columns HADM_ID and TEXT)")
    found = [path for path in sorted(folder.glob("*.[cC][sS][vV]")) if _holds_notes(path)]
    if len(found) != 1:
        there = f"there are several: {', '.join(path.name for path in found)}" if found else "there is none"
        raise UserError(f"{folder}: needs one CSV file of notes, with the columns HADM_ID and TEXT, and {there}; correct data.data_path")
    return found[0]


def _holds_notes(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            header = {name.strip().upper() for name in next(csv.reader(stream), [])}
    except (OSError, csv.Error):
        return False
    return {"HADM_ID", "TEXT"} <= header


def _check_notes(path: Path, key: str) -> None:
    """Read a file of notes to its end. Raises `UserError` naming the line where it is damaged."""
    limit = csv.field_size_limit(_LONGEST_NOTE)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            header = [name.strip().upper() for name in next(reader, [])]
            repeated = sorted({name for name in header if name and header.count(name) > 1})
            if repeated:
                raise UserError(f"{path}: column {', '.join(repeated)} occurs more than once; correct {key}")
            admission, holds_note = header.index("HADM_ID"), False
            for cells in reader:
                holds_note = True
                place = f"{path}, line {reader.line_num}"
                if len(cells) != len(header):
                    raise UserError(f"{place}: {len(cells)} fields instead of {len(header)}; correct {key}")
                if not _IDENTIFIER.fullmatch(cells[admission].strip()):
                    raise UserError(f"{place}: HADM_ID is no number: {cells[admission][:_LONGEST_CELL]!r}; correct {key}")
                if any("\0" in cell for cell in cells):
                    raise UserError(f"{place}: a character NUL; correct {key}")
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: no CSV ({one_line(error)}); correct {key}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: no text in UTF-8; correct {key}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); correct {key}") from error
    finally:
        csv.field_size_limit(limit)
    if not holds_note:
        raise UserError(f"{path}: holds no note; correct {key}")


def _whole_number(row: SourceRow, name: str) -> str:
    """An identifier: `127294.0` is 127294. Raises `UserError` for what is none."""
    text = row.text(name).strip()
    digits = text.removesuffix(".0")
    if not digits.isdecimal():
        raise UserError(f"{row.place}: {name} is no number: {text[:_LONGEST_CELL]!r}; correct {row.key}")
    return digits


def _truth(row: SourceRow, name: str) -> bool:
    text = row.text(name).strip().lower()
    if text not in ("true", "false", "1", "0", "1.0", "0.0"):
        raise UserError(f"{row.place}: {name} is neither true nor false: {text[:_LONGEST_CELL]!r}; correct {row.key}")
    return text in ("true", "1", "1.0")


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    shortened = text if len(text) <= _LONGEST_CELL else text[:_LONGEST_CELL] + "..."
    return f'"{shortened}"' if "," in shortened else shortened


def _progress(text: str) -> None:
    print(f"ehrcon: {text}", file=sys.stderr, flush=True)
