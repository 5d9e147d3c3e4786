"""One result folder, one configuration: what an episode depends on, in a form that can be compared.

The folder of an experiment's episodes holds `configuration.json`: the resolved configuration without what changes no episode, and digests of the
prompts, the data and the code of the environment; beside them, not compared, versions and what permitted sending the records to a model. A run whose
fingerprint differs is stopped before anything is spent, and told which keys differ.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import medagentgym
from medagentgym import environments
from medagentgym.errors import UserError
from medagentgym.record import parse_episode_file, read_object, write_text
from medagentgym.tasks.registry import get_task_class

if TYPE_CHECKING:
    from medagentgym.config import Config
    from medagentgym.tasks.base import Task


class HasInstances(Protocol):
    """The part of `medagentgym.tasks.base.Task` that the fingerprint of an episode needs."""

    name: ClassVar[str]

    def instance_digest(self, idx: int) -> str:
        """SHA-256 of the task record of an instance."""
        ...


FINGERPRINT_SCHEMA = "medagentgym/experiment/1"
FILE_NAME = "configuration.json"

CHANGES_NO_EPISODE = frozenset(
    {
        # where things are, and how much is run at once
        "config_path",
        "credentials_path",
        "work_dir",
        "result_dir_tag",
        "name",
        "experiments",
        "async_run",
        "n_jobs",
        "parallel_backend",
        "in_flight",
        "batch_size",
        "sandbox.backend",
        "sandbox.python",
        # which episodes are run: a run can be extended
        "start_idx",
        "end_idx",
        "data.exclude",
        "data.only",
        "data.impossible",  # but see configuration_part
        "data.empty_gold",
        "training.num_rollouts",
        "training.rollout_indices",
        # what happens after an episode
        "scoring",
        # who may be asked, and how patiently
        "data_policy",
        "agent.n_retry",
        "agent.retry_delay",
        "agent.llm.timeout_seconds",
        "agent.llm.base_url",
        "agent.llm.port",
        "agent.llm.api_key_name",
        "agent.llm.price",
        "debugger.timeout_seconds",
        "debugger.base_url",
        "debugger.port",
        "debugger.api_key_name",
        "debugger.price",
        # replaced by digests
        "data.raw_path",
        "data.sqlite_path",
        "data.data_path",
        "data.metadata_path",
        "data.questions",
        "data.gold_overrides",
        "data.credentialed",
        "prompts",
        "agent.replies",
    }
)
"""Keys of the configuration that are no part of the fingerprint, with everything below them."""

ENVIRONMENT_MODULES = (
    "medagentgym.episode",
    "medagentgym.env.environment",
    "medagentgym.env.observation",
    "medagentgym.env.replies",
    "medagentgym.env.lenient_json",
    "medagentgym.actions",
    "medagentgym.agent.conversation",
    "medagentgym.prompting",
    "medagentgym.sandbox.zygote",
    "medagentgym.sandbox.answers",
)
"""Modules whose code decides what an agent sees; those of the task, the agent and (where it stops episodes) the judge are added."""


def configuration_part(config: Config) -> dict[str, Any]:
    """The part of the fingerprint that follows from the configuration and the files it names alone: dotted key -> value."""
    from medagentgym.prompting import prompt_digest

    part = dict(_flatten(config.model_dump(mode="json")))
    if config.agent.name != "llm":
        part = {key: value for key, value in part.items() if not key.startswith("agent.llm.")}
    if config.sandbox.network == "none":
        part = {key: value for key, value in part.items() if not key.startswith("sandbox.package_index")}
    part["prompts"] = prompt_digest(config)
    if config.protocol == "oracle_stop" and config.scoring.size_tolerance > 0:
        part["scoring.size_tolerance"] = config.scoring.size_tolerance  # here the strict judge ends episodes
    if get_task_class(config.task).asks_impossible(config):
        # The agents may abstain, and are told so; whether answerable questions are asked beside the impossible ones changes nothing more.
        part["data.impossible"] = "asked"
    if config.agent.replies is not None:
        part["agent.replies"] = _file_digest(config.agent.replies, "agent.replies")
    return dict(sorted(part.items()))


def complete(config: Config, task: Task) -> dict[str, Any]:
    """The content of `configuration.json` for an experiment whose data are built."""
    digests = {"data": task.data_digest(), "environment": environment_digest(config, task), "packages": environments.identity(config, task)}
    parts = {"configuration": configuration_part(config), "digests": digests}
    return {"schema": FINGERPRINT_SCHEMA, "fingerprint": digest(parts), **parts, "versions": versions(config, task)}


def environment_digest(config: Config, task: Task) -> str:
    """SHA-256 over the code that decides what an agent sees."""
    from medagentgym.agent.registry import get_agent_class

    agent = get_agent_class(config.agent.name)
    modules = [*ENVIRONMENT_MODULES, *task.code_modules, type(task).__module__, *agent.code_modules, agent.__module__]
    if config.protocol == "oracle_stop":
        modules += ["medagentgym.judges", type(task.judges()[config.stop_judge]).__module__]
    return code_digest(modules)


def code_digest(modules: Iterable[str]) -> str:
    """SHA-256 over the source files of modules, and of packages with all that is below them; each once, whatever the order they are given in."""
    sha = hashlib.sha256()
    for name in sorted(set(modules)):
        spec = find_spec(name)
        source = Path(str(spec.origin if spec is not None else inspect.getsourcefile(import_module(name))))
        is_package = spec is not None and spec.submodule_search_locations is not None
        for file in sorted(source.parent.rglob("*.py")) if is_package else [source]:
            sha.update(f"{name}/{file.relative_to(source.parent)}".encode() + b"\0" + file.read_bytes() + b"\0")
    return sha.hexdigest()


def digest(value: Any) -> str:
    """SHA-256 of JSON data, keys sorted."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def versions(config: Config, task: Task) -> dict[str, str]:
    """Versions worth knowing later, `code_environment` that of the interpreter of the code steps; they are recorded, not compared."""
    import platform

    return {"medagentgym": medagentgym.__version__, "python": platform.python_version(), "code_environment": environments.identity(config, task)}


def read(folder: Path) -> dict[str, Any] | None:
    """The fingerprint file of a result folder, or None where there is none. Raises `UserError` where it is unreadable."""
    path = folder / FILE_NAME
    try:
        data = read_object(path)
        if not all(isinstance(data.get(key), dict) for key in ("configuration", "digests")) or not isinstance(data.get("fingerprint"), str):
            raise ValueError("not a whole fingerprint")
        return data
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not readable ({error}); restore the file, or use another result_dir_tag") from error


def has_episodes(folder: Path) -> bool:
    """Whether a folder holds any record of an episode."""
    try:
        return any(parse_episode_file(entry.name) for entry in os.scandir(folder))
    except FileNotFoundError:
        return False


def _import_message(folder: Path) -> str:
    return (
        f"{folder}: holds episodes but no {FILE_NAME}, so it is an import: it can be scored (--config partial=true), not extended; "
        "use another result_dir_tag for new episodes"
    )


def check_configuration(folder: Path, config: Config) -> None:
    """Compare the configuration with the one that made the folder. Writes nothing.

    Raises `UserError` naming the keys that differ, or saying that the folder holds imported episodes, which can be scored but not extended.
    """
    stored = read(folder)
    if stored is None:
        if has_episodes(folder):
            raise UserError(_import_message(folder))
        return
    _compare(folder, stored.get("configuration", {}), configuration_part(config))


def claim(folder: Path, wanted: Mapping[str, Any]) -> None:
    """Make `folder` the folder of this fingerprint: create its file exclusively, or compare with the one that is there.

    Raises `UserError` naming what differs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    stored = read(folder)
    if stored is None:
        if has_episodes(folder):
            raise UserError(_import_message(folder))
        temporary = folder / f".{FILE_NAME}.{os.getpid()}.partial"
        write_text(temporary, json.dumps(wanted, indent=1, ensure_ascii=False) + "\n")
        try:
            os.link(temporary, path)
            return
        except FileExistsError:
            stored = read(folder) or {}
        finally:
            temporary.unlink()
    _compare(folder, stored.get("configuration", {}), wanted["configuration"])
    names = {"data": "the data built for the task", "environment": "the code of the environment", "packages": "the packages that code steps find"}
    for key, value in wanted["digests"].items():
        if stored.get("digests", {}).get(key) != value:
            made_by = stored.get("versions", {}).get("medagentgym", "?")
            raise UserError(
                f"{folder}: its episodes were made with other {key} ({names.get(key, key)} has changed since; medagentgym {made_by}); "
                "use another result_dir_tag, or go back to what made them"
            )


def of_episode(experiment: str, task: HasInstances, idx: int) -> str:
    """The fingerprint of an episode, from that of its experiment and the task record of its instance."""
    return digest([experiment, task.instance_digest(idx)])


def check_episode(path: Path, record: Mapping[str, Any], experiment: str, task: HasInstances) -> None:
    """Refuse an episode of another experiment, or of a task record that has changed since: its verdict would be that of another question.

    Raises `UserError`.
    """
    if record["schema"] != "published" and record.get("fingerprint") != of_episode(experiment, task, int(record["idx"])):
        raise UserError(
            f"{path}: was not made with this configuration and the present record of instance {record['idx']} of {task.name}; put the task's source "
            "files back, use another work_dir, or delete the file to have the episode made again"
        )


def check_data(folder: Path, stored: Mapping[str, Any], task: Task) -> None:
    """Refuse data other than those that the episodes of a folder were made with. Raises `UserError`."""
    if stored["digests"].get("data") != task.data_digest():
        raise UserError(
            f"{folder}: its episodes were made with other data than {task.folder} holds now; put the source files back, or use another work_dir"
        )


def _compare(folder: Path, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    different = [key for key in sorted({*stored, *wanted}) if stored.get(key) != wanted.get(key)]
    if not different:
        return
    shown = "; ".join(f"{key}: {_brief(stored.get(key))} then, {_brief(wanted.get(key))} now" for key in different[:5])
    more = f"; and {len(different) - 5} more" if len(different) > 5 else ""
    raise UserError(
        f"{folder}: its episodes were made with another configuration ({shown}{more}); use another result_dir_tag, or change the keys back"
    )


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _flatten(value: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, item in value.items():
        dotted = f"{prefix}{key}"
        if dotted in CHANGES_NO_EPISODE:
            continue
        if isinstance(item, dict) and item:
            yield from _flatten(item, f"{dotted}.")
        else:
            yield dotted, item


def _file_digest(path: Path, key: str) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the key {key}") from error
