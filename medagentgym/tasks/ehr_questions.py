"""Questions about records of patients that are answered from the tables of a database: what the EHR tasks share.

A task of this kind is a subclass with its `recipe` (`medagentgym.ehr.recipe`), and what it says of its records.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sqlite3
from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from medagentgym.built_data import MODES, SELECTION_KEYS, Mode, QuestionFile, read_manifest, source_of, tasks_file
from medagentgym.ehr.layout import DATABASE_FOLDER, LOOKUP_FILE
from medagentgym.ehr.questions import impossible_flags, shown_question
from medagentgym.ehr.recipe import Recipe
from medagentgym.errors import UserError, one_line
from medagentgym.tasks.base import Instance, Task
from medagentgym.tasks.probes import TIE
from medagentgym.tasks.selection import select

if TYPE_CHECKING:
    from medagentgym.config import Config
    from medagentgym.judges.base import Judge

DATA_FOLDER = "/data"
"""Where the tables are in the box."""

ANSWER_FORM = (
    "Leave the result in a variable `answer`, and nothing beside what was asked for: one value (a number, a text, True or False), a list of values "
    "where the question asks for several, or a list of rows (lists, or a pandas table) where each item has several values. Answer yes or no as True "
    "or False. Give texts and times as they stand in the tables (times as YYYY-MM-DD HH:MM:SS). Where the tables hold nothing that answers the "
    "question, `answer` is None or an empty list."
)
_LONGEST_CELL = 60


class EhrQuestionTask(Task):
    """Questions with gold SQL on a database."""

    recipe: ClassVar[Recipe]
    answer_form: ClassVar[str] = ANSWER_FORM
    published_files: ClassVar[Mapping[Mode, tuple[str, ...]]] = {"train": ("train_tasks.jsonl",), "test": ("valid_tasks.jsonl", "test_tasks.jsonl")}
    """Names of the question files in a folder of the published layout, by mode; of several that are there the first is taken."""
    credentialed: ClassVar[bool] = True
    permitted_actions: ClassVar[tuple[str, ...]] = ("request_info", "validate_code", "debug", "submit")
    printed_value_counts: ClassVar[bool] = True
    code_modules: ClassVar[tuple[str, ...]] = (
        "medagentgym.tasks.ehr_questions",
        "medagentgym.ehr.lookup",
        "medagentgym.ehr.lookup_index",
        "medagentgym.ehr.schema",
    )

    # --- while planning -------------------------------------------------------------------------------------------------------------------------

    @classmethod
    def is_credentialed(cls, config: Config) -> bool:
        """Patients' records are credentialed unless `data.credentialed` says otherwise, as for open demos; made-up records never are."""
        return config.data.synthetic is None and super().is_credentialed(config)

    @classmethod
    def indices(cls, config: Config) -> list[int]:
        """The `idx` of every instance that the configuration admits, ascending.

        Raises `UserError` for an unreadable question file, for an `idx` that it does not have, and for `empty_gold: exclude` before the data are
        built.
        """
        without_answer = cls._without_answer(config) if config.data.empty_gold == "exclude" else set()
        return select(config, cls.count(config), without_answer, cls.impossible(config))

    @classmethod
    def count(cls, config: Config) -> int:
        """How many rows the question file of `config.mode` has."""
        if source_of(config.data) == "synthetic":
            assert config.data.synthetic is not None
            return int(getattr(config.data.synthetic, config.mode))
        file = cls._question_file(config)
        return len(impossible_flags(file.path, file.key, cls.recipe.question_format))

    @classmethod
    def sources(cls, config: Config) -> list[Path]:
        """The files that the build reads: tables, those that exist, and question files."""
        source, paths = source_of(config.data), [file.path for file in cls.question_files(config).values()]
        if source == "synthetic":
            return []
        if config.data.sqlite_path is not None:
            return [config.data.sqlite_path, *paths]
        from medagentgym.ehr.raw_tables import table_files

        folder = config.data.raw_path or config.data.data_path
        assert folder is not None
        files = table_files(folder, f"data.{source}")
        names = cls.recipe.raw_tables if source == "raw_path" else tuple(table.name.upper() for table in cls.recipe.database.tables)
        return [*(files[name] for name in names if name in files), *paths]

    @classmethod
    def build(cls, config: Config, folder: Path) -> None:
        """Build the data into `folder` (see `medagentgym.ehr.build`)."""
        from medagentgym.ehr.build import build_ehr

        source_of(config.data)
        build_ehr(cls.recipe, config.data, cls.question_files(config), folder)

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        """`strict` compares sets of rows, `published` looks for the gold in the output."""
        from medagentgym.judges.published import PublishedEhrJudge
        from medagentgym.judges.row_sets import RowSetJudge

        return {"strict": RowSetJudge(), "published": PublishedEhrJudge()}

    @classmethod
    def impossible(cls, config: Config) -> set[int]:
        """The rows of the question file that are marked as impossible."""
        if config.data.synthetic is not None:
            return set(cls.recipe.made_up_impossible(config.data.synthetic, config.mode))
        file = cls._question_file(config)
        return {idx for idx, impossible in enumerate(impossible_flags(file.path, file.key, cls.recipe.question_format)) if impossible}

    @classmethod
    def knows_impossible(cls) -> bool:
        """Whether the question set has them."""
        return cls.recipe.question_format.has_impossible

    @classmethod
    def question_files(cls, config: Config) -> dict[Mode, QuestionFile]:
        """The question files of all modes that the configuration names; none for made-up data. Raises `UserError` where there is none."""
        data = config.data
        if data.synthetic is not None:
            if data.gold == "stored":
                raise UserError("data.gold: `stored` takes the answers of a question file, and made-up questions have none; set it to `executed`")
            return {}
        if data.data_path is not None:
            names = cls.published_files
            found = {mode: next((data.data_path / name for name in names[mode] if (data.data_path / name).is_file()), None) for mode in MODES}
            files = {mode: QuestionFile(path, "data.data_path") for mode, path in found.items() if path is not None}
            if not files:
                raise UserError(f"{data.data_path}: holds neither {names['train'][0]} nor {names['test'][0]}; correct data.data_path")
            return files
        files = {mode: QuestionFile(data.questions[mode], f"data.questions.{mode}") for mode in MODES if mode in data.questions}
        if not files:
            raise UserError("data.questions: names no question file; give one for mode test, and one for train where you need it")
        return files

    @classmethod
    def _question_file(cls, config: Config) -> QuestionFile:
        files = cls.question_files(config)
        mode: Mode = config.mode
        if mode not in files:
            name = cls.published_files[mode][0]
            missing = f"{config.data.data_path}: {name} is missing" if config.data.data_path is not None else f"data.questions.{mode}: is missing"
            raise UserError(f"{missing}, so there are no questions for mode {mode}")
        return files[mode]

    @classmethod
    def _without_answer(cls, config: Config) -> set[int]:
        """The answerable questions whose gold on the built database is empty or could not be computed."""
        folder = config.work_dir / "data" / cls.name
        manifest = read_manifest(folder)
        wanted = config.data.model_dump(mode="json", exclude=set(SELECTION_KEYS))
        if manifest["configuration"] != wanted or config.mode not in manifest["questions"]:
            raise UserError(
                f"{folder}: built from another configuration, so data.empty_gold cannot be applied; build the data again, with the target `data`"
            )
        with tasks_file(folder, config.mode).open("rb") as stream:
            rows = map(json.loads, stream)
            return {row["idx"] for row in rows if not row["is_impossible"] and row["gold"]["status"] in ("empty", "error")}

    # --- while running --------------------------------------------------------------------------------------------------------------------------

    def __init__(self, folder: Path, config: Config) -> None:
        super().__init__(folder, config)
        self.manifest = read_manifest(folder)
        self._file = tasks_file(folder, config.mode)
        if config.mode not in self.manifest["questions"]:
            raise UserError(f"{folder}: holds no {config.mode} questions; name a question file for mode {config.mode} and build the data again")
        from medagentgym.ehr.lookup import Lookup

        try:
            self._lines = self._file.read_bytes().splitlines()
            self._lookup = Lookup(folder / LOOKUP_FILE)
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"{folder}: damaged ({one_line(error)}); delete it and build the data again, with the target `data`") from error

    def instance(self, idx: int) -> Instance:
        """The instance at `idx`. Raises `UserError` where there is none."""
        try:
            row = json.loads(self._line(idx))
        except ValueError as error:
            raise UserError(
                f"{self._file}: damaged at instance {idx}; delete {self.folder} and build the data again, with the target `data`"
            ) from error
        question = shown_question(row["template"], row["question"], impossible=row["is_impossible"])
        return Instance(idx=idx, instance_id=row["id"], question=question, record=row)

    def is_impossible(self, instance: Instance) -> bool:
        """Whether the question file says that the database cannot answer the question."""
        return bool(instance.record["is_impossible"])

    def prompt_fields(self, instance: Instance) -> dict[str, str]:
        """`question`, `now` (the present of the database), `tables` (with a few rows each), `answer_form`, `data_folder`, `database`."""
        data = self.seen_at(DATA_FOLDER, instance)
        return {
            "question": instance.question,
            "now": self.recipe.database.now or "",
            "tables": self._tables,
            "answer_form": self.answer_form,
            "data_folder": data,
            "database": f"{data}/{self.recipe.database.file_name}",
        }

    def mounts(self, instance: Instance) -> dict[str, Path]:
        """The database folder, at `/data`."""
        return {DATA_FOLDER: self.folder / DATABASE_FOLDER}

    def request_info(self, params: Mapping[str, Any]) -> str:
        """Answer from the lookup index. Safe to call from several threads."""
        return self._lookup.answer(params)

    def close(self) -> None:
        """Close the calling thread's connection to the lookup index."""
        self._lookup.close()

    def reference(self, instance: Instance) -> dict[str, Any]:
        """`gold` (see `medagentgym.judges.row_sets`) and `published` (the flat list of strings)."""
        return {"gold": instance.record["gold"], "published": instance.record["answer"]}

    def reference_code(self, instance: Instance) -> str:
        """A program that runs the gold SQL on the database. Raises `UserError` where it cannot be run, and for an impossible question."""
        if instance.record["is_impossible"]:
            raise UserError(f"{self.name} {instance.idx}: the database cannot answer the question, so no program leaves the right answer")
        gold = instance.record["gold"]
        if gold["status"] == "error":
            raise UserError(f"{self.name} {instance.idx}: the gold SQL cannot be run ({gold['reason']})")
        database = f"file:{quote(self.seen_at(DATA_FOLDER, instance))}/{self.recipe.database.file_name}?mode=ro&immutable=1"
        return (
            "import sqlite3\n\n"
            f"connection = sqlite3.connect({database!r}, uri=True)\n"
            f"sql = {instance.record['sql']!r}\n"
            "answer = [list(row) for row in connection.execute(sql)]\n"
        )

    def ungradable(self, instance: Instance) -> str | None:
        """A tie in the gold SQL that leaves the answer open in a way that the judge cannot follow."""
        tie = instance.record["gold"].get("tie")
        return f"{TIE}: {tie}" if tie else super().ungradable(instance)

    def instance_digest(self, idx: int) -> str:
        """SHA-256 of the built row."""
        return hashlib.sha256(self._line(idx)).hexdigest()

    def data_digest(self) -> str:
        """SHA-256 of "now" and of the tables, as the build wrote it down."""
        return str(self.manifest["data_digest"])

    def _line(self, idx: int) -> bytes:
        if not 0 <= idx < len(self._lines):
            raise UserError(f"{self._file}: has no instance {idx}; there are 0 to {len(self._lines) - 1}")
        return self._lines[idx]

    @cached_property
    def _tables(self) -> str:
        """Every table's file, number of rows, columns and first rows."""
        parts = []
        for table in self.recipe.database.tables:
            rows = self.manifest["tables"][table.name]["rows"]
            with (self.folder / DATABASE_FOLDER / table.file_name).open(encoding="utf-8", newline="") as stream:
                preview = [",".join(map(_cell, row)) for row in islice(csv.reader(stream), 1 + self.config.env.preview_rows)]
            parts.append("\n".join([f"{table.file_name} ({rows:,} rows)", *preview]))
        return "\n\n".join(parts)


def _cell(value: str) -> str:
    shortened = value if len(value) <= _LONGEST_CELL else value[:_LONGEST_CELL] + "..."
    return f'"{shortened}"' if "," in shortened else shortened
