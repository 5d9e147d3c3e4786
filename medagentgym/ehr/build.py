"""Building the data of task mimic_iii: from any of its four sources to one folder, whole or not at all.

The folder holds `database/` (17 CSV files and `mimic_iii.sqlite`: what an agent may read), `lookup.sqlite`, `{train,test}_tasks.jsonl` (one line
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
from pathlib import Path
from typing import Any

from medagentgym.built_data import BUILD_SCHEMA, MANIFEST_FILE, SELECTION_KEYS, Mode, QuestionFile, source_of, tasks_file
from medagentgym.config import DatasetConfig
from medagentgym.ehr.cohort import Cohort, CohortRules
from medagentgym.ehr.cut import MimicIIICut, cost_rows
from medagentgym.ehr.database import DatabaseWriter, copy_database, file_digest, find_csv_tables, open_read_only, rows_of_csv
from medagentgym.ehr.gold import Gold, executable_sql, execute, stored_gold
from medagentgym.ehr.layout import DATABASE_FOLDER, LOOKUP_FILE
from medagentgym.ehr.lookup import build_lookup
from medagentgym.ehr.questions import Question, named_patients, read_questions
from medagentgym.ehr.schema import DATABASE_FILE, MIMIC_III, NOW, TABLE_BY_NAME
from medagentgym.errors import UserError
from medagentgym.record import write_json
from medagentgym.staging import staged_folder


def build_mimic_iii(data: DatasetConfig, question_files: Mapping[Mode, QuestionFile], folder: Path) -> None:
    """Build the data that `data` describes into `folder`. `question_files` are those of all modes; for made-up data there are none yet.

    Raises `UserError` for what is wrong with the source files; nothing half-built is left.
    """
    with staged_folder(folder) as staging:
        made = staging / "made"
        raw = data.raw_path
        if data.synthetic is not None:
            raw, question_files = _make_up(data, made)
        questions = {mode: read_questions(file.path, file.key) for mode, file in question_files.items()}
        if data.gold == "stored":
            _require_stored_answers(questions, question_files)
        database = staging / DATABASE_FOLDER
        cohort = None
        if raw is not None:
            cohort = _build_from_raw(raw, database, questions, _rules(data), staging)
        elif data.data_path is not None:
            _build_from_csv(data.data_path, database)
        elif data.sqlite_path is not None:
            _progress(f"copying {data.sqlite_path}")
            copy_database(data.sqlite_path, database, "data.sqlite_path")
        golds = {mode: _write_tasks(staging, mode, questions[mode], stored=data.gold == "stored") for mode in questions}
        _progress("lookup index")
        build_lookup(database / DATABASE_FILE, staging / LOOKUP_FILE)
        manifest = _manifest(data, staging, question_files, golds, cohort)
        shutil.rmtree(made, ignore_errors=True)
        _open_to_boxes(database)
        write_json(staging / MANIFEST_FILE, manifest)
    for mode, summary in manifest["questions"].items():
        _progress(f"{mode}: {summary['rows']} questions, {summary['usable']} of {summary['answerable']} answerable ones with a usable gold")


def _make_up(data: DatasetConfig, folder: Path) -> tuple[Path, dict[Mode, QuestionFile]]:
    from medagentgym.synthetic import generate

    assert data.synthetic is not None
    _progress(f"making up {data.synthetic.patients} patients")
    generate(data.synthetic, folder)
    files: dict[Mode, QuestionFile] = {}
    modes: tuple[Mode, ...] = ("train", "test")
    for mode in modes:
        if getattr(data.synthetic, mode) > 0:
            files[mode] = QuestionFile(folder / "questions" / f"{mode}.json", f"data.synthetic.{mode}")
    return folder / "raw", files


def _rules(data: DatasetConfig) -> CohortRules:
    if data.synthetic is not None:
        return CohortRules.everything(seed=data.synthetic.seed)
    return CohortRules(sample_patients=data.sample_patients, current_share=data.current_share, seed=data.seed)


def _build_from_raw(raw: Path, database: Path, questions: Mapping[Mode, list[Question]], rules: CohortRules, scratch: Path) -> dict[str, Any]:
    named = named_patients(question for rows in questions.values() for question in rows)
    _progress("cohort")
    with closing(MimicIIICut(raw, named, rules, scratch / "duckdb")) as cut, _writer(database) as writer:
        for table in MIMIC_III:
            rows = cost_rows(writer.connection, rules.seed) if table.name == "COST" else cut.rows(table.name)
            count = writer.write(table, rows)
            _progress(f"{table.name}: {count:,} rows")
        writer.finish()
        shutil.rmtree(scratch / "duckdb", ignore_errors=True)
        return _cohort_in_numbers(cut.cohort, len(named), rules)


def _cohort_in_numbers(cohort: Cohort, named: int, rules: CohortRules) -> dict[str, Any]:
    return {
        "patients": len(cohort.shift_days),
        "admissions": len(cohort.admissions),
        "current_patients": len(cohort.current),
        "named_in_questions": named,
        "named_and_present": len(cohort.named),
        "rules": rules.to_json(),
    }


def _build_from_csv(folder: Path, database: Path) -> None:
    files = find_csv_tables(folder, "data.data_path")
    with _writer(database) as writer:
        for table in MIMIC_III:
            try:
                count = writer.write(table, rows_of_csv(files[table.name], table))
            except sqlite3.Error as error:
                raise UserError(f"{files[table.name]}: cannot be stored ({error})") from error
            _progress(f"{table.name}: {count:,} rows")
        writer.finish()


@contextmanager
def _writer(database: Path) -> Iterator[DatabaseWriter]:
    with closing(DatabaseWriter(database)) as writer:
        yield writer


# --- golds ----------------------------------------------------------------------------------------------------------------------------------------


def _require_stored_answers(questions: Mapping[Mode, list[Question]], files: Mapping[Mode, QuestionFile]) -> None:
    for mode, rows in questions.items():
        for question in rows:
            if question.stored_answer is None and not question.is_impossible:
                raise UserError(f"{files[mode].path}, row {question.idx}: has no answer, so data.gold cannot be `stored`; set it to `executed`")


def _write_tasks(staging: Path, mode: Mode, questions: list[Question], *, stored: bool) -> Counter[str]:
    """Write the built rows of a mode, in the order of its file. Returns how many answerable questions have a gold of which status."""
    _progress(f"{mode}: gold answers of {len(questions):,} questions")
    statuses: Counter[str] = Counter()
    with (
        _gold_of(staging / DATABASE_FOLDER / DATABASE_FILE, stored=stored) as gold_of,
        ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool,
        tasks_file(staging, mode).open("w", encoding="utf-8", newline="\n") as stream,
    ):
        for question, gold in zip(questions, pool.map(gold_of, questions), strict=True):
            stream.write(json.dumps(_built_row(question, gold), ensure_ascii=False, allow_nan=False) + "\n")
            statuses["impossible" if question.is_impossible else gold.status] += 1
    return statuses


def _built_row(question: Question, gold: Gold) -> dict[str, Any]:
    row = {
        "idx": question.idx,
        "id": question.question_id,
        "question": question.question,
        "template": question.template,
        "query": question.query,
        "sql": executable_sql(question.query),
        "is_impossible": question.is_impossible,
        "gold": gold.to_json(),
        "answer": gold.published_answer(),
    }
    if question.stored_answer is not None:
        row["stored_answer"] = list(question.stored_answer)
    return row


@contextmanager
def _gold_of(database: Path, *, stored: bool) -> Iterator[Callable[[Question], Gold]]:
    """A function that gives a question's gold and may be called from several threads."""
    local = threading.local()
    connections: list[sqlite3.Connection] = []

    def gold_of(question: Question) -> Gold:
        if question.is_impossible:
            return Gold(columns=(), rows=(), boolean=False, status="empty", reason="the database cannot answer the question")
        if stored:
            return stored_gold(question.stored_answer or (), executable_sql(question.query))
        if not hasattr(local, "connection"):
            local.connection = open_read_only(database)
            connections.append(local.connection)
        return execute(local.connection, executable_sql(question.query))

    try:
        yield gold_of
    finally:
        for connection in connections:
            connection.close()


# --- manifest -------------------------------------------------------------------------------------------------------------------------------------


def _manifest(
    data: DatasetConfig, staging: Path, files: Mapping[Mode, QuestionFile], golds: Mapping[Mode, Counter[str]], cohort: dict[str, Any] | None
) -> dict[str, Any]:
    database = staging / DATABASE_FOLDER
    with closing(open_read_only(database / DATABASE_FILE)) as connection:
        rows = {table.name: connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0] for table in MIMIC_III}
    tables = {name: {"rows": rows[name], "sha256": file_digest(database / table.file_name)} for name, table in TABLE_BY_NAME.items()}
    questions = {}
    for mode, statuses in golds.items():
        answerable = sum(number for status, number in statuses.items() if status != "impossible")
        questions[mode] = {
            "rows": statuses.total(),
            "answerable": answerable,
            **{status: statuses[status] for status in ("usable", "empty", "zero", "error")},
            "usable_share": round(statuses["usable"] / answerable, 6) if answerable else None,
            "source_sha256": file_digest(files[mode].path),
            "sha256": file_digest(tasks_file(staging, mode)),
        }
    data_digest = _digest({"now": NOW, "tables": {name: table["sha256"] for name, table in tables.items()}})
    return {
        "schema": BUILD_SCHEMA,
        "task": "mimic_iii",
        "source": source_of(data),
        "comparable_with_published": source_of(data) in ("sqlite_path", "data_path"),
        "now": NOW,
        "configuration": data.model_dump(mode="json", exclude=set(SELECTION_KEYS)),
        "tables": tables,
        "cohort": cohort,
        "questions": questions,
        "data_digest": data_digest,
        "digest": _digest({"data": data_digest, "questions": {mode: summary["sha256"] for mode, summary in questions.items()}}),
    }


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _progress(text: str) -> None:
    print(f"mimic_iii: {text}", file=sys.stderr, flush=True)


def _open_to_boxes(database: Path) -> None:
    """Let the unprivileged user of a box read the tables whatever the umask is; the folders above stay private."""
    database.chmod(0o755)
    for file in database.iterdir():
        file.chmod(0o644)
