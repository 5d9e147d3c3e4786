"""Building the data of an EHR task: from any of its four sources to one folder, whole or not at all.

The folder holds `database/` (a CSV file a table and one SQLite file: what an agent may read), `lookup.sqlite`, `{train,test}_tasks.jsonl` (one line
a row of the question file, gold included), and, written last, `build.json`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medagentgym.built_data import BUILD_SCHEMA, MANIFEST_FILE, SELECTION_KEYS, Mode, QuestionFile, file_sizes, source_of, tasks_file
from medagentgym.config import DatasetConfig
from medagentgym.ehr.database import DatabaseWriter, DuplicateKeyError, copy_database, file_digest, find_csv_tables, open_read_only, rows_of_csv
from medagentgym.ehr.gold import Gold, gold_of_question
from medagentgym.ehr.layout import DATABASE_FOLDER, LOOKUP_FILE
from medagentgym.ehr.lookup_index import build_lookup
from medagentgym.ehr.questions import Question, read_questions, shown_question
from medagentgym.ehr.recipe import RawSource, Recipe
from medagentgym.ehr.schema import Database
from medagentgym.ehr.stored_differences import stored_difference
from medagentgym.errors import UserError, one_line
from medagentgym.record import write_json
from medagentgym.staging import staged_folder


def build_ehr(recipe: Recipe, data: DatasetConfig, question_files: Mapping[Mode, QuestionFile], folder: Path) -> None:
    """Build the data that `data` describes into `folder`. `question_files` are those of all modes; for made-up data there are none yet.

    Raises `UserError` for what is wrong with the source files; nothing half-built is left.
    """
    with staged_folder(folder) as staging:
        build = _Build(recipe, data, staging)
        raw = data.raw_path
        if data.synthetic is not None:
            build.progress(f"making up {data.synthetic.patients} patients")
            made = recipe.make_up(data.synthetic, staging / "made")
            raw, question_files = made.raw, made.questions
        questions = {mode: read_questions(file.path, file.key, recipe.question_format) for mode, file in question_files.items()}
        if data.gold == "stored":
            _require_stored_answers(questions, question_files)
        cohort = build.write_tables(raw, questions)
        golds = {mode: build.write_tasks(mode, questions[mode]) for mode in questions}
        build.progress("lookup index")
        build_lookup(build.database / recipe.database.file_name, staging / LOOKUP_FILE, recipe.database.tables)
        manifest = build.manifest(question_files, golds, cohort)
        shutil.rmtree(staging / "made", ignore_errors=True)
        _open_to_boxes(build.database)
        write_json(staging / MANIFEST_FILE, {**manifest, "sizes": file_sizes(staging)})
    for mode, summary in manifest["questions"].items():
        build.progress(f"{mode}: {summary['rows']} questions, {summary['usable']} of {summary['answerable']} answerable ones with a usable gold")
        if summary["stored_differs"]:
            count = len(summary["stored_differs"])
            build.progress(f"{mode}: {count} stored answers are other ones than the SQL gives here: `stored_differs` in {tasks_file(folder, mode)}")


@dataclass
class _Golds:
    """What the golds of a mode came to."""

    statuses: Counter[str] = field(default_factory=Counter)
    """How many have which status; that of impossible questions is `impossible`."""
    tied: list[int] = field(default_factory=list)
    """The `idx` of those whose answer a tie leaves open (`Gold.tie`)."""
    stored_differs: list[int] = field(default_factory=list)
    """The `idx` of those whose stored answer is another one than the executed SQL gives."""


class _Build:
    """One build on its way."""

    def __init__(self, recipe: Recipe, data: DatasetConfig, staging: Path) -> None:
        self.recipe = recipe
        self.data = data
        self.staging = staging
        self.database = staging / DATABASE_FOLDER

    def progress(self, text: str) -> None:
        print(f"{self.recipe.task}: {text}", file=sys.stderr, flush=True)

    # --- tables -------------------------------------------------------------------------------------------------------------------------------------

    def write_tables(self, raw: Path | None, questions: Mapping[Mode, list[Question]]) -> dict[str, Any] | None:
        """Write the database; gives what there is to say of the cohort where it was cut from raw tables."""
        tables = self.recipe.database
        if raw is not None:
            scratch = self.staging / "scratch"
            source = RawSource(raw, questions, self.data, scratch, self.progress)
            with _writer(self.database, tables) as writer:
                cohort = self.recipe.write_from_raw(source, writer)
                writer.finish()
            shutil.rmtree(scratch, ignore_errors=True)
            return cohort
        if self.data.data_path is not None:
            self._copy_csv(self.data.data_path)
        elif self.data.sqlite_path is not None:
            self.progress(f"copying {self.data.sqlite_path}")
            copy_database(self.data.sqlite_path, self.database, tables, "data.sqlite_path")
        return None

    def _copy_csv(self, folder: Path) -> None:
        files = find_csv_tables(folder, self.recipe.database, "data.data_path")
        with _writer(self.database, self.recipe.database) as writer:
            for table in self.recipe.database.tables:
                try:
                    count = writer.write(table, rows_of_csv(files[table.name], table, "data.data_path"))
                except (sqlite3.Error, DuplicateKeyError) as error:
                    raise UserError(f"{files[table.name]}: cannot be stored ({one_line(error)}); correct data.data_path") from error
                self.progress(f"{table.name}: {count:,} rows")
            writer.finish()

    # --- golds --------------------------------------------------------------------------------------------------------------------------------------

    def write_tasks(self, mode: Mode, questions: list[Question]) -> _Golds:
        """Write the built rows of a mode, in the order of its file."""
        self.progress(f"{mode}: gold answers of {len(questions):,} questions")
        golds = _Golds()
        with (
            self._gold_of() as gold_of,
            ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool,
            tasks_file(self.staging, mode).open("w", encoding="utf-8", newline="\n") as stream,
        ):
            for question, (gold, difference) in zip(questions, pool.map(gold_of, questions), strict=True):
                stream.write(json.dumps(self._built_row(question, gold, difference), ensure_ascii=False, allow_nan=False) + "\n")
                golds.statuses["impossible" if question.is_impossible else gold.status] += 1
                if gold.tie:
                    golds.tied.append(question.idx)
                if difference is not None:
                    golds.stored_differs.append(question.idx)
        return golds

    def _built_row(self, question: Question, gold: Gold, difference: str | None) -> dict[str, Any]:
        row = {
            "idx": question.idx,
            "id": question.question_id,
            "question": question.question,
            "template": question.template,
            "query": question.query,
            "sql": self.recipe.executable_sql(question.query),
            "is_impossible": question.is_impossible,
            "gold": gold.to_json() | ({"impossible": True} if question.is_impossible else {}),
            "answer": gold.published_answer(),
        }
        if question.stored_answer is not None:
            row["stored_answer"] = list(question.stored_answer)
        if difference is not None:
            row["stored_differs"] = difference
        return row

    @contextmanager
    def _gold_of(self) -> Iterator[Callable[[Question], tuple[Gold, str | None]]]:
        """A function that gives a question's gold, and how the stored answer differs from the executed one where it does.

        It may be called from several threads.
        """
        local = threading.local()
        connections: list[sqlite3.Connection] = []

        def gold_of(question: Question) -> tuple[Gold, str | None]:
            if question.is_impossible:
                return Gold(columns=(), rows=(), boolean=False, status="empty", reason="the database cannot answer the question"), None
            sql = self.recipe.executable_sql(question.query)
            if not question.query:
                return self.recipe.stored_gold(question, sql), None
            if not hasattr(local, "connection"):
                local.connection = open_read_only(self.database / self.recipe.database.file_name)
                connections.append(local.connection)
            shown = shown_question(question.template, question.question, impossible=False)
            executed = gold_of_question(local.connection, sql, shown)
            if question.stored_answer is None:
                return executed, None
            stored = self.recipe.stored_gold(question, sql)
            return stored if self.data.gold == "stored" else executed, stored_difference(stored, executed)

        try:
            yield gold_of
        finally:
            for connection in connections:
                connection.close()

    # --- manifest -----------------------------------------------------------------------------------------------------------------------------------

    def manifest(self, files: Mapping[Mode, QuestionFile], golds: Mapping[Mode, _Golds], cohort: dict[str, Any] | None) -> dict[str, Any]:
        """What `build.json` says."""
        database = self.recipe.database
        with closing(open_read_only(self.database / database.file_name)) as connection:
            rows = {table.name: connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0] for table in database.tables}
        tables = {table.name: {"rows": rows[table.name], "sha256": file_digest(self.database / table.file_name)} for table in database.tables}
        questions = {mode: self._questions_in_numbers(mode, files[mode], of_mode) for mode, of_mode in golds.items()}
        source = source_of(self.data)
        data_digest = _digest({"now": database.now, "tables": {name: table["sha256"] for name, table in tables.items()}})
        return {
            "schema": BUILD_SCHEMA,
            "task": self.recipe.task,
            "source": source,
            "comparable_with_published": source in ("sqlite_path", "data_path"),
            "now": database.now,
            "configuration": self.data.model_dump(mode="json", exclude=set(SELECTION_KEYS)),
            "tables": tables,
            "cohort": cohort,
            "questions": questions,
            "data_digest": data_digest,
            "digest": _digest({"data": data_digest, "questions": {mode: summary["sha256"] for mode, summary in questions.items()}}),
        }

    def _questions_in_numbers(self, mode: Mode, file: QuestionFile, golds: _Golds) -> dict[str, Any]:
        statuses = golds.statuses
        answerable = sum(number for status, number in statuses.items() if status != "impossible")
        return {
            "rows": statuses.total(),
            "answerable": answerable,
            **{status: statuses[status] for status in ("usable", "empty", "zero", "error")},
            "usable_share": round(statuses["usable"] / answerable, 6) if answerable else None,
            "tied": golds.tied,
            "stored_differs": golds.stored_differs,
            "source_sha256": file_digest(file.path),
            "sha256": file_digest(tasks_file(self.staging, mode)),
        }


@contextmanager
def _writer(folder: Path, database: Database) -> Iterator[DatabaseWriter]:
    with closing(DatabaseWriter(folder, database)) as writer:
        yield writer


def _require_stored_answers(questions: Mapping[Mode, list[Question]], files: Mapping[Mode, QuestionFile]) -> None:
    for mode, rows in questions.items():
        for question in rows:
            if question.stored_answer is None and not question.is_impossible:
                raise UserError(f"{files[mode].path}, row {question.idx}: has no answer, so data.gold cannot be `stored`; set it to `executed`")


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _open_to_boxes(database: Path) -> None:
    """Let the unprivileged user of a box read the tables whatever the umask is; the folders above stay private."""
    database.chmod(0o755)
    for file in database.iterdir():
        file.chmod(0o644)
