"""What a task is: where its instances come from, what an agent sees of them, and how an attempt is judged.

A new task is a subclass of `Task`, one entry point in the group `medagentgym.tasks`, and one configuration file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from medagentgym.built_data import MANIFEST_FILE
from medagentgym.judges.base import Judge
from medagentgym.record import read_object
from medagentgym.sandbox.base import BoxSpec
from medagentgym.tasks.broken_programs import another_answer, surplus_answer
from medagentgym.tasks.cheats import generic_cheats
from medagentgym.tasks.execution import Boxes, Execution
from medagentgym.tasks.probes import Probe

if TYPE_CHECKING:
    from medagentgym.config import Config


@dataclass(frozen=True)
class Instance:
    """One question of a task."""

    idx: int
    """Position in the source question file, counted from 0."""
    instance_id: str
    question: str
    """The question as the agent reads it."""
    record: Mapping[str, Any]
    """The whole row of the built task file, the gold included. Never shown to an agent, never in a box."""


class Task(ABC):
    """A set of instances on one data set.

    Class methods answer what is needed while the workflow is planned, from the configuration and the source files alone. An object is a task whose
    data have been built into `folder`.
    """

    name: ClassVar[str]
    credentialed: ClassVar[bool] = False
    """Whether the data fall under a data use agreement that restricts sending them to model services."""
    code_modules: ClassVar[tuple[str, ...]] = ()
    """Modules and packages besides the task's own module whose code decides what an agent sees; they are part of the episodes' fingerprint."""
    environment_family: ClassVar[str] = "ehr"
    """The packages that its code steps find: `envs/<family>.lock`."""
    permitted_actions: ClassVar[tuple[str, ...]] = ("request_info", "validate_code", "debug", "terminal", "submit")
    """`submit` and `abstain` are permitted by the protocol and by the questions asked, whether they are named here or not."""
    attempt_form: ClassVar[str] = "no code has run to its end and left a variable `answer`"
    """Why there is nothing to submit, where no attempt has been made."""
    boxes_an_episode: ClassVar[int] = 1
    """How many boxes an episode may hold at once: 2 where `execute` takes a fresh one."""
    preload: ClassVar[tuple[str, ...]] = BoxSpec.preload
    """Modules that its boxes import once, when they start."""
    is_classification: ClassVar[bool] = False
    """Whether every question has one of a few answers, so that tables show the balanced accuracy beside the success rate."""
    printed_value_counts: ClassVar[bool] = False
    """Whether, under `protocol: submit`, what the last successful program printed is judged where no program ever left an `answer`."""

    def __init__(self, folder: Path, config: Config) -> None:
        """Open the data built in `folder` (`work_dir/data/<task>`). Raises `UserError` where they are missing or incomplete."""
        self.folder = folder
        self.config = config
        self.box_has_own_paths = True
        """Whether boxes show data at the paths of `mounts`; where the sandbox has no file system of its own, code sees the host's paths."""

    # --- while planning -------------------------------------------------------------------------------------------------------------------------

    @classmethod
    def is_credentialed(cls, config: Config) -> bool:
        """Whether the data of a configuration are credentialed: `data.credentialed`, or where that is null what the task says of itself."""
        return cls.credentialed if config.data.credentialed is None else config.data.credentialed

    @classmethod
    @abstractmethod
    def indices(cls, config: Config) -> list[int]:
        """The `idx` of every instance that the configuration admits, ascending, before `start_idx` and `end_idx` are applied.

        Reads the source question file only. Raises `UserError` naming file and key.
        """

    @classmethod
    @abstractmethod
    def count(cls, config: Config) -> int:
        """How many rows the source question file has (the upper bound of `end_idx`). Raises `UserError`."""

    @classmethod
    def impossible(cls, config: Config) -> set[int]:
        """The `idx` of every question of `config.mode` that the data cannot answer, whatever `data.impossible` says; none by default.

        Where there are any and they are asked, agents are permitted to `abstain`. Reads the source question file only. Raises `UserError`.
        """
        return set()

    @classmethod
    def knows_impossible(cls) -> bool:
        """Whether its question files may mark questions as impossible: where `impossible` is overridden."""
        return any("impossible" in vars(base) for base in cls.__mro__[: cls.__mro__.index(Task)])

    @classmethod
    @abstractmethod
    def sources(cls, config: Config) -> list[Path]:
        """The files that the build reads (a few; a directory's files may be summed up by one of them)."""

    @classmethod
    @abstractmethod
    def build(cls, config: Config, folder: Path) -> None:
        """Build the data into `folder`, atomically: after a failure nothing half-built is left. Writes `folder/build.json` last.

        Raises `UserError` for what is wrong with the source files.
        """

    @classmethod
    def remarks(cls, config: Config) -> list[str]:
        """What a reader of the tables must know of the data and of how attempts are judged, in sentences: here those of the build's manifest.

        Nothing where the data are not built.
        """
        try:
            found = read_object(config.work_dir / "data" / config.task / MANIFEST_FILE).get("remarks")
        except (OSError, ValueError):
            return []
        return [str(remark) for remark in found] if isinstance(found, list) else []

    @classmethod
    def asks_impossible(cls, config: Config) -> bool:
        """Whether there are impossible questions and the configuration admits them, so that agents may abstain."""
        return config.data.impossible != "exclude" and bool(cls.impossible(config))

    # --- while running --------------------------------------------------------------------------------------------------------------------------

    @cached_property
    def may_abstain(self) -> bool:
        """Whether agents are permitted to abstain."""
        return type(self).asks_impossible(self.config)

    def is_impossible(self, instance: Instance) -> bool | None:
        """Whether the data cannot answer the question; None where the task knows no such questions."""
        return None

    @abstractmethod
    def instance(self, idx: int) -> Instance:
        """The instance at `idx`. Raises `UserError` where there is none."""

    @abstractmethod
    def prompt_fields(self, instance: Instance) -> dict[str, str]:
        """What the prompt templates may refer to, at least `question`, `now`, `tables`, `answer_form`."""

    @abstractmethod
    def mounts(self, instance: Instance) -> dict[str, Path]:
        """Path in the box -> folder of the host, read-only."""

    def seen_at(self, path: str, instance: Instance) -> str:
        """Where the agent's code finds what `mounts` puts at `path` in the box."""
        return path if self.box_has_own_paths else str(self.mounts(instance)[path].resolve())

    def request_info(self, params: Mapping[str, Any]) -> str:
        """Answer a `request_info` action. Raises `AgentError` where the request makes no sense."""
        from medagentgym.errors import AgentError

        raise AgentError(f"request_info is not available in task {self.name}")

    def execute(self, instance: Instance, code: str, boxes: Boxes, seed: int) -> Execution:
        """Run what an agent gave to `validate_code`, and gather the evidence where that was an attempt.

        Here: the code runs in the episode's box, and an execution that ran to its end and left `answer` is an attempt. Raises `AgentError` for what
        cannot be run and `InfrastructureError`.
        """
        return Execution.of(boxes.own().run(code, seed=seed))

    def close(self) -> None:  # noqa: B027 (most tasks hold nothing open)
        """Free what the task holds open in the calling thread."""

    @abstractmethod
    def reference(self, instance: Instance) -> Any:
        """What the judges compare an attempt with, as JSON data."""

    @abstractmethod
    def reference_code(self, instance: Instance) -> str:
        """A Python program that leaves the right `answer` when it runs in the box. Raises `UserError` where the instance has none."""

    # --- what the audit asks for ----------------------------------------------------------------------------------------------------------------

    def reference_actions(self, instance: Instance) -> list[tuple[str, dict[str, Any]]]:
        """The actions that solve the instance: those of agent `reference`, and of the audit.

        Here: the reference program, and abstaining where the question is impossible. Raises `UserError` where the instance has none.
        """
        if self.is_impossible(instance):
            return [("abstain", {})]
        return [("validate_code", {"code": self.reference_code(instance)})]

    def broken_references(self, instance: Instance) -> dict[str, str]:
        """Programs close to the reference that every judge worth its name rejects, by name (letters, digits, underscores).

        Here: the reference program with every value of its answer changed (`another_value`) and with one value more (`surplus`); for an impossible
        question one that answers it. Raises `UserError` where the instance has no reference program.
        """
        if self.is_impossible(instance):
            return {"another_value": "answer = 1\n"}
        program = self.reference_code(instance)
        return {"another_value": another_answer(program), "surplus": surplus_answer(program)}

    def cheats(self, instance: Instance) -> list[Probe]:
        """What must not be accepted more often than its floor allows: here `medagentgym.tasks.cheats`, and abstaining where that is permitted."""
        abstaining = [Probe("abstain", "cheat", (("abstain", {}),), "constant")] if self.may_abstain else []
        return [*generic_cheats([self.seen_at(path, instance) for path in self.mounts(instance)]), *abstaining]

    def ungradable(self, instance: Instance) -> str | None:
        """Why no attempt at the instance can be judged, as far as the data tell; None where nothing is known against it.

        One of `medagentgym.tasks.probes.REASONS`, a colon and more words if there is more to say: `tie: 12 rows share the highest value`.
        """
        return None

    @classmethod
    @abstractmethod
    def judges(cls) -> dict[str, Judge]:
        """The judges of this task by name, `strict` and `published` at least."""

    @abstractmethod
    def instance_digest(self, idx: int) -> str:
        """SHA-256 of the instance's built row: what the episode's fingerprint knows of the task record."""

    @abstractmethod
    def data_digest(self) -> str:
        """SHA-256 that identifies the built data (from `build.json`, not by reading everything again)."""
