"""Which instances are audited: those that a configuration asks for, whatever an earlier audit said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medagentgym.configuration import instance_range
from medagentgym.tasks.registry import get_task_class

if TYPE_CHECKING:
    from medagentgym.config import Config


def without_audit(config: Config) -> Config:
    """The configuration as it is without `data.exclude: audit`."""
    return config.model_copy(update={"data": config.data.model_copy(update={"exclude": sorted(config.data.excluded_indices)})})


def audited_indices(config: Config) -> list[int]:
    """The `idx` of every instance that a configuration asks for, `data.exclude: audit` apart. Raises `UserError`."""
    task = get_task_class(config.task)
    wanted = instance_range(config, task.count(config))
    return [idx for idx in task.indices(without_audit(config)) if idx in wanted]
