"""Tasks whose instances are the rows of task files: one file a mode, one row an instance, and nothing to make but those rows.

A subclass says how a row of a source file becomes a built row (`built_row`), how an attempt is judged, and what the prompt shows beside the question.
What it gets: both layouts (the published folder with `{train,test}_tasks.jsonl`, and files named one by one in `data.questions`), made-up rows where
it can make them up, a build that is whole or not at all, digests, and the manifest.

A built row is a JSON object. `question` (the text that the agent reads) is needed; `id` is made of mode and `idx` where it is not given. `gold` is an
object that no agent ever meets: what the judges compare with, the reference solution, and `ungradable` where an attempt cannot be judged, with the
reason. Changing nothing but `gold` makes no episode run again; it is judged again. `about`, where a task has it, holds what is known of an instance
besides, of which an agent meets no more than `question` makes of it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from medagentgym.agent.registry import get_agent_class
from medagentgym.built_data import (
    BUILD_SCHEMA,
    MANIFEST_FILE,
    MODES,
    SELECTION_KEYS,
    SOURCE_KEYS,
    Mode,
    QuestionFile,
    digest,
    file_digest,
    file_sizes,
    read_manifest,
    tasks_file,
)
from medagentgym.errors import UserError, one_line
from medagentgym.record import write_json
from medagentgym.row_files import SourceRow, count_rows, read_rows
from medagentgym.staging import staged_folder
from medagentgym.tasks.base import Instance, Task
from medagentgym.tasks.selection import select

if TYPE_CHECKING:
    from medagentgym.config import Config, SyntheticConfig

VISIBLE_FOLDER = "visible"
"""Folder of the built data that holds what an agent's code may read, where a task has such files."""


class TaskFileTask(Task):
    """A task made of task files."""

    permitted_actions: ClassVar[tuple[str, ...]] = ("validate_code", "debug", "terminal", "submit")
    code_modules: ClassVar[tuple[str, ...]] = ("medagentgym.tasks.task_file",)
    published_files: ClassVar[Mapping[Mode, tuple[str, ...]]] = {"train": ("train_tasks.jsonl",), "test": ("test_tasks.jsonl",)}
    """Names of the task files in a folder of the published layout, by mode; of several that are there the first is taken."""
    source_keys: ClassVar[tuple[str, ...]] = ("data_path", "questions", "synthetic")
    """Keys of `data` that may say where the data come from: exactly one of them is given. `questions` may stand beside `raw_path`
    and `sqlite_path`."""
    answer_form: ClassVar[str]
    """How the agent is told to leave its answer."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Raises `TypeError` for a task (a class with a `name`) that does not say how rows are built."""
        super().__init_subclass__(**keywords)
        said = {name for base in cls.__mro__[: cls.__mro__.index(TaskFileTask)] for name in vars(base)}
        if "name" in said and said.isdisjoint(("built_row", "built_rows")):
            raise TypeError(
                f"{cls.__module__}.{cls.__qualname__}: a subclass of TaskFileTask with a name is a task, and needs a class method "
                "built_row(row, config), or built_rows(rows, mode, config) (docs/extending.md)"
            )

    # --- for a subclass to fill in --------------------------------------------------------------------------------------------------------------

    @classmethod
    def built_row(cls, row: SourceRow, config: Config) -> dict[str, Any]:
        """The built row of a source row, for `built_rows`, where that is not overridden. Raises `UserError` for what is wrong with it."""
        raise NotImplementedError(f"{cls.__name__}.built_row")  # out of reach for a task: see __init_subclass__

    @classmethod
    def built_rows(cls, rows: list[SourceRow], mode: Mode, config: Config) -> list[dict[str, Any]]:
        """The built rows of a mode, in the order of the source rows. To override where rows need each other, or something read once for all."""
        return [cls.built_row(row, config) for row in rows]

    @classmethod
    def made_up_rows(cls, synthetic: SyntheticConfig, mode: Mode) -> list[dict[str, Any]]:
        """Made-up source rows. Raises `UserError` where the task has none."""
        others = [key for key in cls.source_keys if key != "synthetic"]
        raise UserError(f"data.synthetic: task {cls.name} cannot make data up; give {_joined(others, 'or')}")

    @classmethod
    def further_sources(cls, config: Config) -> list[Path]:
        """Files besides the task files that the build reads."""
        return []

    @classmethod
    def build_visible(cls, folder: Path, rows: Mapping[Mode, list[dict[str, Any]]], config: Config) -> None:
        """Write what an agent's code may read, besides the prompt, into `folder`, which exists. `rows` are the built rows. Default: nothing."""

    @classmethod
    def build_hidden(cls, folder: Path, visible: Path, config: Config) -> None:
        """Write what the task needs and no box ever sees into `folder`; `visible` is the finished folder of `build_visible`. Default: nothing."""

    @classmethod
    def remarks_of_build(cls, rows: Mapping[Mode, list[dict[str, Any]]], config: Config) -> list[str]:
        """What a reader of tables must know of these data, in sentences; the summary prints them."""
        return []

    @classmethod
    def counts_of_build(cls, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Figures on the built rows of a mode for the manifest, as JSON data."""
        return {}

    # --- while planning -------------------------------------------------------------------------------------------------------------------------

    @classmethod
    def source(cls, config: Config) -> str:
        """Which key of `data` says where the data come from. Raises `UserError` where it is not exactly one, or one that this task cannot read."""
        data = config.data
        given = [key for key in SOURCE_KEYS if getattr(data, key) is not None]
        if data.questions and given not in (["raw_path"], ["sqlite_path"]):
            given.append("questions")
        expected = f"task {cls.name} reads exactly one of {_joined(cls.source_keys, 'and')}"
        if len(given) != 1:
            raise UserError(f"data: {expected}; given: {' and '.join(f'data.{key}' for key in given) or 'none of them'}")
        if given[0] not in cls.source_keys:
            raise UserError(f"data.{given[0]}: {expected}")
        return given[0]

    @classmethod
    def question_files(cls, config: Config) -> dict[Mode, QuestionFile]:
        """The task files of all modes that there are; none for made-up data. Raises `UserError` where there is none."""
        source, data = cls.source(config), config.data
        if source == "synthetic":
            return {}
        if source != "data_path":
            files = {mode: QuestionFile(data.questions[mode], f"data.questions.{mode}") for mode in MODES if mode in data.questions}
            if not files:
                raise UserError("data.questions: names no task file; give one for mode test, and one for train where you need it")
            return files
        assert data.data_path is not None
        found = {}
        for mode in MODES:
            paths = [data.data_path / name for name in cls.published_files.get(mode, ())]
            path = next((path for path in paths if path.is_file()), None)
            if path is not None:
                found[mode] = QuestionFile(path, "data.data_path")
        if not found:
            names = [name for mode in MODES for name in cls.published_files.get(mode, ())]
            raise UserError(f"{data.data_path}: holds none of {', '.join(names)}; correct data.data_path")
        return found

    @classmethod
    def question_file(cls, config: Config) -> QuestionFile:
        """The task file of `config.mode`. Raises `UserError` where there is none."""
        files = cls.question_files(config)
        mode: Mode = config.mode
        if mode not in files:
            names = _joined(cls.published_files.get(mode, ()), "or") or "a task file"
            missing = f"{config.data.data_path}: {names} is missing" if config.data.data_path is not None else f"data.questions.{mode}: is missing"
            raise UserError(f"{missing}, so there are no instances for mode {mode}")
        return files[mode]

    @classmethod
    def count(cls, config: Config) -> int:
        """How many rows the task file of `config.mode` has."""
        if cls.source(config) == "synthetic":
            assert config.data.synthetic is not None
            return int(getattr(config.data.synthetic, config.mode))
        file = cls.question_file(config)
        return count_rows(file.path, file.key)

    @classmethod
    def indices(cls, config: Config) -> list[int]:
        """The `idx` of every instance that the configuration admits, ascending."""
        return select(config, cls.count(config), ())

    @classmethod
    def sources(cls, config: Config) -> list[Path]:
        """The task files, and what else the build reads."""
        return [*(file.path for file in cls.question_files(config).values()), *cls.further_sources(config)]

    # --- the build ------------------------------------------------------------------------------------------------------------------------------

    @classmethod
    def build(cls, config: Config, folder: Path) -> None:
        """Build the rows of all modes, and what agents may read, into `folder`."""
        source = cls.source(config)
        with staged_folder(folder) as staging:
            questions: dict[str, dict[str, Any]] = {}
            rows: dict[Mode, list[dict[str, Any]]] = {}
            for mode, (source_rows, source_digest) in cls._source_rows(config).items():
                _progress(f"{cls.name}: {mode}: {len(source_rows):,} rows")
                rows[mode] = [
                    {"idx": row.idx, "id": f"{mode}-{row.idx}", **built}
                    for row, built in zip(source_rows, cls.built_rows(source_rows, mode, config), strict=True)
                ]
                _write_rows(tasks_file(staging, mode), rows[mode])
                questions[mode] = {
                    "rows": len(rows[mode]),
                    "ungradable": sum("ungradable" in row["gold"] for row in rows[mode]),
                    **cls.counts_of_build(rows[mode]),
                    "source_sha256": source_digest,
                    "sha256": file_digest(tasks_file(staging, mode)),
                }
            visible = staging / VISIBLE_FOLDER
            visible.mkdir()
            cls.build_visible(visible, rows, config)
            cls.build_hidden(staging, visible, config)
            files = _open_to_boxes(visible)
            data_digest = digest(files)
            manifest = {
                "schema": BUILD_SCHEMA,
                "task": cls.name,
                "source": source,
                "configuration": config.data.model_dump(mode="json", exclude=set(SELECTION_KEYS)),
                "questions": questions,
                "files": files,
                "remarks": cls.remarks_of_build(rows, config),
                "data_digest": data_digest,
                "digest": digest({"data": data_digest, "questions": {mode: summary["sha256"] for mode, summary in questions.items()}}),
                "sizes": file_sizes(staging),
            }
            write_json(staging / MANIFEST_FILE, manifest)
        for name, summary in questions.items():
            _progress(f"{cls.name}: {name}: {summary['rows']:,} instances, {summary['ungradable']:,} of them cannot be judged")

    @classmethod
    def _source_rows(cls, config: Config) -> dict[Mode, tuple[list[SourceRow], str]]:
        """The source rows of every mode, with the digest of where they come from."""
        synthetic = config.data.synthetic
        if synthetic is None:
            return {mode: (read_rows(file.path, file.key), file_digest(file.path)) for mode, file in cls.question_files(config).items()}
        made_up: dict[Mode, tuple[list[SourceRow], str]] = {}
        for mode in MODES:
            rows = cls.made_up_rows(synthetic, mode) if getattr(synthetic, mode) > 0 else []
            if rows:
                place = Path(f"made-up {mode} rows")
                made_up[mode] = [SourceRow(idx, row, place, f"data.synthetic.{mode}") for idx, row in enumerate(rows)], digest(rows)
        return made_up

    # --- while running --------------------------------------------------------------------------------------------------------------------------

    def __init__(self, folder: Path, config: Config) -> None:
        super().__init__(folder, config)
        self.manifest = read_manifest(folder)
        if config.mode not in self.manifest["questions"]:
            raise UserError(f"{folder}: holds no {config.mode} instances; name a task file for mode {config.mode} and build the data again")
        self._file = tasks_file(folder, config.mode)
        try:
            self._lines = self._file.read_bytes().splitlines()
        except OSError as error:
            raise UserError(f"{folder}: damaged ({one_line(error)}); delete it and build the data again, with the target `data`") from error
        self._gold_reaches_the_agent = config.protocol == "oracle_stop" or get_agent_class(config.agent.name).sees_reference

    def record(self, idx: int) -> dict[str, Any]:
        """The built row at `idx`. Raises `UserError` where there is none."""
        if not 0 <= idx < len(self._lines):
            raise UserError(f"{self._file}: has no instance {idx}; there are 0 to {len(self._lines) - 1}")
        try:
            return dict(json.loads(self._lines[idx]))
        except ValueError as error:
            raise UserError(
                f"{self._file}: damaged at instance {idx}; delete {self.folder} and build the data again, with the target `data`"
            ) from error

    def instance(self, idx: int) -> Instance:
        """The instance at `idx`. Raises `UserError` where there is none."""
        record = self.record(idx)
        return Instance(idx=idx, instance_id=str(record["id"]), question=self.question(record), record=record)

    def question(self, record: Mapping[str, Any]) -> str:
        """The question as the agent reads it."""
        return str(record["question"])

    def prompt_fields(self, instance: Instance) -> dict[str, str]:
        """`question` and `answer_form`; `now` and `tables` are empty."""
        return {"question": instance.question, "now": "", "tables": "", "answer_form": self.answer_form}

    def mounts(self, instance: Instance) -> dict[str, Path]:
        """The files that agents may read, at `/data`, where there are any."""
        return {"/data": self.folder / VISIBLE_FOLDER} if self.manifest["files"] else {}

    def reference(self, instance: Instance) -> Any:
        """The `gold` of the built row."""
        return instance.record["gold"]

    def ungradable(self, instance: Instance) -> str | None:
        """Why an attempt at the instance cannot be judged, as the build found; None where it can."""
        reason = instance.record["gold"].get("ungradable")
        return None if reason is None else str(reason)

    def instance_digest(self, idx: int) -> str:
        """SHA-256 of the built row, with the question as the agent reads it in place of `about`.

        The gold is left out where it changes no episode: under `submit`, for agents that are not given the reference.
        """
        record = self.record(idx)
        record["question"] = self.question(record)
        record.pop("about", None)
        if not self._gold_reaches_the_agent:
            del record["gold"]
        return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()

    def data_digest(self) -> str:
        """SHA-256 of the files that agents may read, as the build wrote it down."""
        return str(self.manifest["data_digest"])


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for row in rows:
            stream.write(json.dumps(row, allow_nan=False) + "\n")


def _open_to_boxes(folder: Path) -> dict[str, str]:
    """Let the unprivileged user of a box read a folder whatever the umask is. Gives SHA-256 by path below the folder."""
    folder.chmod(0o755)
    files = {}
    for path in sorted(folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        if path.is_file():
            files[path.relative_to(folder).as_posix()] = file_digest(path)
    return files


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _joined(names: Sequence[str], word: str) -> str:
    return f" {word} ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
