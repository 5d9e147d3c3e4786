"""Which instances a configuration asks for: the filters that every task shares, and which of them left none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medagentgym.audit.files import ungradable
from medagentgym.errors import UserError
from medagentgym.record import read_json

if TYPE_CHECKING:
    from medagentgym.config import Config
    from medagentgym.tasks.base import Task


def select(config: Config, count: int, left_out: Iterable[int], impossible: Iterable[int] = ()) -> list[int]:
    """The `idx` from 0 to `count` - 1 that `data.only`, `data.exclude` and `training.rollout_indices` admit, without those in `left_out`, ascending.

    `impossible` are the instances that the data cannot answer, which `data.impossible` excludes, includes, or asks alone. Raises `UserError` naming
    the key and the valid range for an `idx` that the question file does not have, and where `data.exclude: audit` finds no audit of these data.
    """
    admitted = set(range(count))
    _check(config.data.excluded_indices, count, "data.exclude")
    if config.data.only is not None:
        _check(config.data.only, count, "data.only")
        admitted &= set(config.data.only)
    if config.training.rollout_indices is not None:
        path = config.training.rollout_indices
        listed = rollout_indices(path, config.task, config.mode)
        _check(listed, count, f"{path}: {config.task}.{config.mode}")
        admitted &= set(listed)
    if config.data.impossible == "exclude":
        admitted -= set(impossible)
    elif config.data.impossible == "only":
        admitted &= set(impossible)
    admitted -= config.data.excluded_indices | set(left_out)
    if config.data.excludes_ungradable:
        end = count if config.end_idx == -1 else config.end_idx
        admitted -= ungradable(config, {idx for idx in admitted if config.start_idx <= idx < end})
    return sorted(admitted)


def why_none_is_left(config: Config, kind: type[Task]) -> str:
    """Why a configuration asks for no instance: how many each of its filters leaves, which one leaves none, and what to do about it.

    Raises `UserError` where one of the filters cannot be applied.
    """
    end = kind.count(config) if config.end_idx == -1 else config.end_idx
    left = {idx for idx in kind.indices(_filtered(config)) if config.start_idx <= idx < end}
    counts = [f"{len(left)} from start_idx {config.start_idx} to end_idx {end}"]
    applied: dict[str, Any] = {}
    for key, value, words in _filters(config):
        applied[key] = value
        before, left = left, left & set(kind.indices(_filtered(config, **applied)))
        counts.append(f"{len(left)} after {words}")
        if not left:
            return f"{', '.join(counts)}; {_advice(config, kind, key, before)}"
    return f"{', '.join(counts)}; widen start_idx and end_idx"


_KEYS_OF_DATA = ("only", "impossible", "exclude", "empty_gold")


def _filters(config: Config) -> Iterator[tuple[str, Any, str]]:
    """The filters of a configuration in the order in which they are counted: key, value, and the filter in words."""
    data = config.data
    if config.training.rollout_indices is not None:
        yield "rollout_indices", config.training.rollout_indices, "training.rollout_indices"
    if data.only is not None:
        yield "only", data.only, "data.only"
    yield "impossible", data.impossible, f"data.impossible: {data.impossible}"
    if data.excluded_indices:
        yield "exclude", sorted(data.excluded_indices), "data.exclude"
    if data.empty_gold == "exclude":
        yield "empty_gold", data.empty_gold, "data.empty_gold: exclude"
    if data.excludes_ungradable:
        yield "exclude", data.exclude, "data.exclude: audit"


def _filtered(config: Config, **filters: Any) -> Config:
    """The configuration with these filters alone."""
    training = config.training.model_copy(update={"rollout_indices": filters.get("rollout_indices")})
    none: dict[str, Any] = {"only": None, "impossible": "include", "exclude": [], "empty_gold": "include"}
    data = config.data.model_copy(update={key: filters.get(key, none[key]) for key in _KEYS_OF_DATA})
    return config.model_copy(update={"training": training, "data": data})


def _advice(config: Config, kind: type[Task], key: str, before: set[int]) -> str:
    """What to do about a filter that leaves none of the instances `before`."""
    if key == "impossible" and config.data.impossible == "only":
        if not kind.knows_impossible():
            return f"task {kind.name} has no questions that the data cannot answer; set data.impossible to exclude{_tasks_with_impossible()}"
        elsewhere = sorted(kind.impossible(config) - before)
        if not elsewhere:
            return f"the {config.mode} file marks no question as impossible; set data.impossible to exclude"
        return f"the questions that the data cannot answer are others ({_some(elsewhere)}); ask for those, or set data.impossible to include"
    match key:
        case "rollout_indices":
            return f"name some of {_some(sorted(before))} in {config.training.rollout_indices}, or set training.rollout_indices to null"
        case "only":
            return f"name some of {_some(sorted(before))} in data.only, or set it to null for all"
        case "impossible":
            return "the data cannot answer any of these questions; set data.impossible to include to ask them all the same"
        case "empty_gold":
            return "all that remain have an empty gold on this database; set data.empty_gold to include, or take another database"
    if "audit" in config.data.exclude and not config.data.excluded_indices >= before:
        return "the audit says why none of them can be judged (column reason of its table); mend that, or take audit out of data.exclude"
    return "data.exclude names all that remain; take some out of it"


def _tasks_with_impossible() -> str:
    from medagentgym.tasks.registry import get_task_class, task_names

    found = []
    for name in task_names():
        try:
            found += [name] if get_task_class(name).knows_impossible() else []
        except UserError:  # a package that cannot be loaded is not what this message is about
            continue
    return f", or take a task that has some ({', '.join(found)})" if found else ""


def rollout_indices(path: Path, task: str, mode: str) -> list[int]:
    """The `idx` that a file `{task: {mode: [idx, ...]}}` lists. Raises `UserError` naming file and key."""
    try:
        content = read_json(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); correct training.rollout_indices") from error
    except ValueError as error:
        raise UserError(f"{path}: not JSON ({error}); correct training.rollout_indices") from error
    modes = content.get(task) if isinstance(content, dict) else None
    listed = modes.get(mode) if isinstance(modes, dict) else None
    if listed is None:
        raise UserError(f"{path}: has no list {task}.{mode}; correct training.rollout_indices")
    if not isinstance(listed, list) or any(type(idx) is not int for idx in listed):
        raise UserError(f"{path}: {task}.{mode} is not a list of whole numbers")
    return listed


def _check(indices: Iterable[int], count: int, where: str) -> None:
    unknown = sorted(idx for idx in set(indices) if not 0 <= idx < count)
    if unknown:
        raise UserError(f"{where}: there is no instance {_some(unknown)}; the question file has 0 to {count - 1}")


def _some(indices: Sequence[int]) -> str:
    return ", ".join(map(str, indices[:5])) + (", ..." if len(indices) > 5 else "")
