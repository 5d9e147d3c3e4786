"""Study tables as cBioPortal gives them out, laid out as agents find them: one CSV file a table, in a folder a study.

A study is a folder or an archive (`.tar.gz`, `.tgz`, `.tar`) of cBioPortal's data hub (https://github.com/cBioPortal/datahub): tables separated by
tabs (`data_clinical_patient.txt`, ...), with lines that begin with `#` above the header, beside descriptions (`meta_*.txt`, `case_lists/`), which are
left out. Tables that are CSV files already (also `.gz`) are taken as they are. Cells keep their text.

File format: https://docs.cbioportal.org/file-formats/
"""

from __future__ import annotations

import csv
import gzip
import io
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from medagentgym.errors import UserError, one_line

ARCHIVES = (".tar.gz", ".tgz", ".tar")
_TABULATED = (".txt", ".tsv", ".xena")
_COMMENT = "#"
_TO_DO = "get the study again"
_NO_TABLES = ("meta_", "license", "readme", "cases_")


@dataclass(frozen=True)
class Study:
    """A study as it was given."""

    name: str
    path: Path
    """Folder or archive."""

    @property
    def files(self) -> list[Path]:
        """The files that its layout reads. Raises `UserError` where something that is called like a table is none."""
        if self.path.is_file():
            return [self.path]
        paths = sorted(path for path in self.path.iterdir() if table_name(path.name) is not None)
        for path in paths:
            if not path.is_file():
                raise UserError(f"{path}: should be a table and is no file; {_TO_DO}")
        return paths


def table_name(file_name: str) -> str | None:
    """The name under which a file of a study is laid out, None where it is no table: `data_cna.txt` is `data_cna.csv`."""
    lower = file_name.lower()
    if lower.startswith((".", "_", *_NO_TABLES)):
        return None
    bare = file_name[:-3] if lower.endswith(".gz") else file_name
    stem, _, ending = bare.rpartition(".")
    return f"{stem}.csv" if stem and f".{ending.lower()}" in (*_TABULATED, ".csv") else None


def find_studies(folder: Path, key: str) -> dict[str, Study]:
    """The studies of a folder by name: its folders and archives. Raises `UserError` where it cannot be read."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise UserError(f"{folder}: cannot be read ({error.strerror}); correct {key}") from error
    found: dict[str, Study] = {}
    for entry in entries:
        ending = next((ending for ending in ARCHIVES if entry.name.lower().endswith(ending)), None)
        if entry.name.startswith(".") or not (entry.is_dir() or (ending and entry.is_file())):
            continue
        name = entry.name[: -len(ending)] if ending and entry.is_file() else entry.name
        if name in found:
            raise UserError(f"{folder}: holds study {name} twice ({found[name].path.name} and {entry.name}); keep one, or correct {key}")
        found[name] = Study(name, entry)
    return found


def table_names(study: Study) -> list[str]:
    """The tables that a study would be laid out as. Raises `UserError`."""
    if study.path.is_dir():
        return [name for path in study.files if (name := table_name(path.name)) is not None]
    with _tables(study) as tables:
        return [name for file_name, _ in tables if (name := table_name(file_name)) is not None]


def lay_out(study: Study, folder: Path) -> list[str]:
    """Write the tables of a study into `folder` as CSV files; gives their names. Raises `UserError` naming file and line."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    with _tables(study) as tables:
        for file_name, stream in tables:
            name = table_name(file_name)
            assert name is not None
            if name in names:
                raise UserError(f"{study.path}: holds table {name} twice; take one of them out")
            _write_table(f"{study.path}: {file_name}", file_name, stream, folder / name)
            names.append(name)
    if not names:
        raise UserError(f"{study.path}: holds no table of a study (data_clinical_patient.txt, data_mutations.txt, ... or CSV files); {_TO_DO}")
    return sorted(names)


@contextmanager
def _tables(study: Study) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    try:
        if study.path.is_dir():
            yield _tables_of_folder(study)
        else:
            with tarfile.open(study.path) as archive:
                yield _tables_of_archive(archive)
    except tarfile.ReadError as error:
        raise UserError(f"{study.path}: cannot be unpacked (no archive, or a damaged one); {_TO_DO}") from error
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{study.path}: cannot be unpacked ({one_line(error)}); {_TO_DO}") from error
    except OSError as error:
        raise UserError(f"{study.path}: cannot be read ({one_line(error)}); {_TO_DO}") from error


def _tables_of_folder(study: Study) -> Iterator[tuple[str, IO[bytes]]]:
    for path in study.files:
        with path.open("rb") as stream:
            yield path.name, stream


def _tables_of_archive(archive: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes]]]:
    """The tables of the archive's first level: nothing is unpacked by its name."""
    for member in archive:
        parts = PurePosixPath(member.name).parts
        if parts and len([part for part in parts if part != "."]) <= 2 and table_name(parts[-1]) is not None:
            if not member.isreg():
                raise UserError(f"{archive.name!s}: {member.name} should be a table and is no file; {_TO_DO}")
            stream = archive.extractfile(member)
            if stream is not None:
                with stream:
                    yield parts[-1], stream


def _write_table(place: str, file_name: str, raw: IO[bytes], target: Path) -> None:
    with gzip.open(raw) if file_name.lower().endswith(".gz") else nullcontext(raw) as stream:
        if table_name(file_name) == file_name.removesuffix(".gz"):
            with target.open("wb") as copy:
                shutil.copyfileobj(stream, copy)
            return
        lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n")
        try:
            with target.open("w", encoding="utf-8", newline="") as table:
                _convert(place, lines, table)
        except UnicodeDecodeError as error:
            raise UserError(f"{place}: not UTF-8 text ({error.reason}); {_TO_DO}") from error
        finally:
            lines.detach()


def _convert(place: str, lines: Iterable[str], table: IO[str]) -> None:
    """Write the header, which is the first line that begins with no `#`, and the rows; short rows are filled up with empty cells."""
    writer = csv.writer(table, lineterminator="\n")
    width = None
    for number, text in enumerate(lines, start=1):
        line = text.rstrip("\r\n")
        if "\0" in line:
            raise UserError(f"{place}, line {number}: a character NUL, so this is no table; {_TO_DO}")
        if width is None and (line.startswith(_COMMENT) or not line.strip()):
            continue
        cells = line.split("\t")
        if width is None:
            _check_header(cells, f"{place}, line {number}")
            width = len(cells)
        elif not line.strip():
            continue
        elif len(cells) > width and not "".join(cells[width:]).strip():
            cells = cells[:width]
        if len(cells) < width and not text.endswith("\n"):
            raise UserError(f"{place}, line {number}: the file ends in the middle of a row; {_TO_DO}")
        if len(cells) > width:
            raise UserError(f"{place}, line {number}: has {len(cells)} cells, and the header {width}; {_TO_DO}")
        writer.writerow([*cells, *[""] * (width - len(cells))])
    if width is None:
        raise UserError(f"{place}: holds no header; {_TO_DO}")


def _check_header(cells: list[str], place: str) -> None:
    if cells[0].lstrip().startswith("<"):
        raise UserError(f"{place}: a web page, not a table; {_TO_DO}")
    repeated = sorted({name for name in cells if name and cells.count(name) > 1})
    if repeated:
        raise UserError(f"{place}: column {', '.join(repeated[:3])} occurs more than once; {_TO_DO}")
