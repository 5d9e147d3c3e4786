"""Damaged sources of the EHR tasks: one line that names file or table and key and says what to do, and nothing written."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from medagentgym.built_data import QuestionFile
from medagentgym.config import DatasetConfig, SyntheticConfig
from medagentgym.ehr.build import build_ehr
from medagentgym.ehr.recipe import Recipe
from medagentgym.errors import UserError
from medagentgym.tasks.ehr_questions import EhrQuestionTask
from medagentgym.tasks.registry import get_task_class

Damage = Callable[[bytes], bytes]
MADE_UP = SyntheticConfig(patients=10, seed=1, train=1, test=6)
TASKS = ("mimic_iii", "eicu", "treqs")
COHORT_TABLE = {"mimic_iii": "ADMISSIONS", "eicu": "patient", "treqs": "PATIENTS"}
"""A raw table that says who there is."""
TABLE = {"mimic_iii": "PATIENTS", "eicu": "patient", "treqs": "DEMOGRAPHIC"}
"""A table of the database."""


def recipe_of(task: str) -> Recipe:
    kind = get_task_class(task)
    assert issubclass(kind, EhrQuestionTask)
    return kind.recipe


@pytest.fixture(scope="module", params=TASKS)
def task(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, task: str) -> Path:
    """A folder with raw tables, questions, and the data built from both."""
    folder = tmp_path_factory.mktemp(task)
    made = recipe_of(task).make_up(MADE_UP, folder / "made")
    shutil.copytree(made.raw, folder / "raw")
    shutil.copyfile(made.questions["test"].path, folder / "questions.json")
    build(task, folder, raw_path=folder / "raw")
    return folder


@pytest.fixture
def source(whole: Path, tmp_path: Path) -> Path:
    """A copy of the whole folder, to be damaged."""
    shutil.copytree(whole, tmp_path / "source")
    return tmp_path / "source"


def build(task: str, source: Path, **data: Path) -> Path:
    target = source / "work" / task
    questions = {"test": QuestionFile(source / "questions.json", "data.questions.test")}
    build_ehr(recipe_of(task), DatasetConfig.model_validate({"sample_patients": 5, **data}), questions, target)  # type: ignore[arg-type]
    return target


def refused(task: str, source: Path, **data: Path) -> str:
    shutil.rmtree(source / "work", ignore_errors=True)
    with pytest.raises(UserError) as raised:
        build(task, source, **data)
    said = str(raised.value)
    assert not list((source / "work").iterdir()), "something was written"
    assert "\n" not in said and "\0" not in said and ".partial" not in said and len(said) < 700
    return said


def raw_file(source: Path, table: str) -> Path:
    return source / "raw" / f"{table}.csv.gz"


def damage(path: Path, change: Damage) -> None:
    """Change what a file holds, inside of its compression."""
    packed = path.suffix == ".gz"
    content = change(gzip.decompress(path.read_bytes()) if packed else path.read_bytes())
    path.write_bytes(gzip.compress(content) if packed else content)


def with_text_for_numbers(content: bytes) -> bytes:
    header, first, *others = content.split(b"\n")
    return b"\n".join([header, b",".join(b"abc" for _ in first.split(b",")), *others])


def with_a_column_twice(content: bytes) -> bytes:
    header, _, rows = content.partition(b"\n")
    return header + b"," + header.split(b",")[0] + b"\n" + rows.replace(b"\n", b",1\n")


DAMAGES: dict[str, tuple[Damage, str]] = {
    "empty": (lambda content: b"", "the file is empty"),
    "only blanks": (lambda content: b" \n\n", "the file is empty"),
    "cut": (lambda content: content[: content.rindex(b",")], "not a readable CSV file|fields instead of"),
    "a web page": (lambda content: b"<html>\n<body>not found</body>\n", "with a header of|is missing"),
    "UTF-16": (lambda content: content.decode().encode("utf-16"), "UTF-8"),
    "an open quote": (lambda content: content.replace(b"\n", b'\n"', 1), "not a readable CSV file"),
    "a column less": (lambda content: content.replace(content.split(b"\n")[0].split(b",")[1], b"other", 1), "is missing"),
    "a column twice": (with_a_column_twice, "occurs more than once"),
    "a cell more": (lambda content: content.rstrip(b"\n") + b",1\n", "not a readable CSV file|fields instead of"),
    "text for numbers": (with_text_for_numbers, "is not a (whole )?number|is not a time"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_raw_table_is_one_line_with_file_and_key(task: str, source: Path, name: str) -> None:
    change, complaint = DAMAGES[name]
    path = raw_file(source, COHORT_TABLE[task])
    damage(path, change)
    said = refused(task, source, raw_path=source / "raw")
    assert said.startswith(str(path)) and re.search(complaint, said) and "data.raw_path" in said


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_table_of_the_published_layout_is_one_line_with_file_and_key(task: str, source: Path, name: str) -> None:
    change, complaint = DAMAGES[name]
    path = source / "work" / task / "database" / f"{TABLE[task]}.csv"
    published = shutil.copytree(path.parent, source / "published")
    damage(published / path.name, change)
    said = refused(task, source, data_path=published)
    assert said.startswith(str(published / path.name)) and re.search(complaint, said) and "data.data_path" in said


@pytest.mark.parametrize("change", [lambda content: b"\xef\xbb\xbf" + content, lambda content: content.replace(b"\n", b"\r\n")], ids=["mark", "crlf"])
def test_a_byte_order_mark_and_line_ends_of_windows_change_nothing(task: str, source: Path, change: Damage) -> None:
    before = {path.name: path.read_bytes() for path in (source / "work" / task / "database").iterdir()}
    published = shutil.copytree(source / "work" / task / "database", source / "published")
    for path in (*published.glob("*.csv"), *(source / "raw").iterdir()):
        damage(path, change)
    for data in ({"raw_path": source / "raw"}, {"data_path": published}):
        built = build(task, source, **data)
        assert {path.name: path.read_bytes() for path in (built / "database").glob("*.csv")}.items() <= before.items()


def test_rows_that_are_there_twice_are_one_line(task: str, source: Path) -> None:
    path = raw_file(source, COHORT_TABLE[task])
    damage(path, lambda content: content + content.split(b"\n")[1] + b"\n")
    said = refused(task, source, raw_path=source / "raw")
    assert re.match(rf"{re.escape(str(path))}: \w+ \d+ occurs in 2 rows; fetch it again, or correct data\.raw_path", said)


def test_a_cohort_of_nobody_is_one_line(task: str, source: Path) -> None:
    path = raw_file(source, COHORT_TABLE[task])
    damage(path, lambda content: content[: content.index(b"\n") + 1])
    assert re.match(rf"{re.escape(str(path))}: no row has a \w+; fetch it again", refused(task, source, raw_path=source / "raw"))


@pytest.mark.parametrize("task", ["mimic_iii", "eicu"], indirect=True)  # the tables of TREQS have no key
def test_a_key_that_is_there_twice_is_one_line(task: str, source: Path) -> None:
    published = shutil.copytree(source / "work" / task / "database", source / "published")
    path = published / f"{TABLE[task]}.csv"
    damage(path, lambda content: content + content.split(b"\n")[1] + b"\n")
    said = refused(task, source, data_path=published)
    assert said.startswith(str(path)) and "is not unique" in said and "occurs in 2 rows" in said and "correct data.data_path" in said


def test_a_folder_and_a_dangling_link_in_place_of_a_file_are_one_line(task: str, source: Path) -> None:
    published = shutil.copytree(source / "work" / task / "database", source / "published")
    for path, data in (
        (published / f"{TABLE[task]}.csv", {"data_path": published}),
        (raw_file(source, COHORT_TABLE[task]), {"raw_path": source / "raw"}),
    ):
        path.unlink()
        path.mkdir()
        assert refused(task, source, **data).startswith(f"{path}: cannot be read (Is a directory)")
        path.rmdir()
        path.symlink_to(source / "nowhere")
        assert refused(task, source, **data).startswith(f"{path}: cannot be read (No such file or directory)")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_must_not_be_read_is_one_line(task: str, source: Path) -> None:
    path = raw_file(source, COHORT_TABLE[task])
    path.chmod(0)
    assert refused(task, source, raw_path=source / "raw").startswith(f"{path}: cannot be read (Permission denied)")


# --- SQLite -----------------------------------------------------------------------------------------------------------------------------------------


def change_database(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


SQLITE_DAMAGES: dict[str, tuple[Callable[[Path, str], object], str]] = {
    "empty": (lambda path, table: path.write_bytes(b""), "the file is empty"),
    "a web page": (lambda path, table: path.write_text("<html>" * 200), "not a readable SQLite database"),
    "cut": (lambda path, table: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "not a readable SQLite database"),
    "a table less": (lambda path, table: change_database(path, f"DROP TABLE {table}"), "is missing"),
    "a view for a table": (
        lambda path, table: change_database(path, f"ALTER TABLE {table} RENAME TO hidden", f"CREATE VIEW {table} AS SELECT * FROM hidden"),
        "is missing",
    ),
    "text for numbers": (lambda path, table: change_database(path, f"UPDATE {table} SET AGE = 'abc'"), '"abc" is not a number'),
    "bytes": (lambda path, table: change_database(path, f"UPDATE {table} SET GENDER = x'ff00'"), "is no text"),
    "another encoding": (lambda path, table: change_database(path, f"UPDATE {table} SET GENDER = CAST(x'e9' AS TEXT)"), "decode to UTF-8"),
}


@pytest.mark.parametrize("task", ["eicu", "treqs"], indirect=True)
@pytest.mark.parametrize("name", SQLITE_DAMAGES)
def test_a_damaged_database_is_one_line_with_file_and_key(task: str, source: Path, name: str) -> None:
    change, complaint = SQLITE_DAMAGES[name]
    path = source / "given.sqlite"
    shutil.copyfile(source / "work" / task / "database" / recipe_of(task).database.file_name, path)
    change(path, TABLE[task])
    said = refused(task, source, sqlite_path=path)
    assert said.startswith(str(path)) and re.search(complaint, said) and "correct data.sqlite_path" in said


def test_a_key_that_is_there_twice_in_a_database_is_one_line(source: Path, task: str) -> None:
    table = next((table for table in recipe_of(task).database.tables if table.key is not None), None)
    path = source / "given.sqlite"
    shutil.copyfile(source / "work" / task / "database" / recipe_of(task).database.file_name, path)
    if table is None:  # no table of the task has a key: the same rows twice are rows
        change_database(path, f"INSERT INTO {TABLE[task]} SELECT * FROM {TABLE[task]}")
        assert build(task, source, sqlite_path=path).is_dir()
        return
    change_database(path, f"CREATE TABLE copy AS SELECT * FROM {table.name}", f"DROP TABLE {table.name}", f"ALTER TABLE copy RENAME TO {table.name}")
    change_database(path, f"INSERT INTO {table.name} SELECT * FROM {table.name}")
    said = refused(task, source, sqlite_path=path)
    assert f"table {table.name}: {table.key} " in said and "occurs in 2 rows; correct data.sqlite_path" in said
