"""Which instances a configuration asks for: the filters that every task shares."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from medagentgym.audit.files import ungradable
from medagentgym.errors import UserError
from medagentgym.record import read_json

if TYPE_CHECKING:
    from medagentgym.config import Config


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
        some = ", ".join(map(str, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise UserError(f"{where}: there is no instance {some}; the question file has 0 to {count - 1}")
