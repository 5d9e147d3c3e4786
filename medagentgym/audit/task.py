"""The audit of one task of a planned run: what rule `audit_task` calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from medagentgym.audit.files import AUDIT_SCHEMA, audit_folder, audited_data, write_audit
from medagentgym.audit.instances import InstanceAudit, Instances
from medagentgym.audit.selection import audited_indices, without_audit
from medagentgym.audit.tables import failures, instance_table, page, summary_table, warnings
from medagentgym.errors import UserError, infrastructure_boundary

if TYPE_CHECKING:
    from medagentgym.config import Config


def audit_task(configs: Sequence[Config], threads: int, tell: Callable[[str], None]) -> list[str]:
    """Audit a task and write its files (`medagentgym.audit.files`); gives why it fails, one line each (`medagentgym.audit.tables.failures`).

    `configs` are the experiments of that task in one run. Their instances are audited, `data.exclude: audit` apart, mode by mode, `threads` at once.
    Raises `UserError` and `InfrastructureError`; then nothing is written.
    """
    first = configs[0]
    data = audited_data(first)
    modes = [_audit_mode([config for config in configs if config.mode == mode], threads, tell) for mode in _modes(configs)]
    about: dict[str, Any] = {"schema": AUDIT_SCHEMA, "task": first.task, "data": data, "modes": _modes(configs)}
    about |= {"failures": failures(first.task, modes), "warnings": warnings(first.task, modes)}
    with infrastructure_boundary("disk"):
        table, summary = (of(first.task, modes).to_csv(index=False, lineterminator="\n") for of in (instance_table, summary_table))
        write_audit(audit_folder(first.work_dir), first.task, about, table=table, summary=summary, page=page(first.task, modes))
    return list(about["failures"])


def _modes(configs: Sequence[Config]) -> list[str]:
    return sorted({config.mode for config in configs})


def _audit_mode(configs: Sequence[Config], threads: int, tell: Callable[[str], None]) -> Instances:
    from medagentgym.sandbox import choose_backend
    from medagentgym.sandbox.pool import BoxPool
    from medagentgym.tasks.registry import get_task_class
    from medagentgym.tasks.selection import why_none_is_left

    config = without_audit(configs[0])
    indices = sorted({idx for each in configs for idx in audited_indices(each)})
    if not indices:
        raise UserError(f"{config.task}/{config.mode}: no instance is left to audit: {why_none_is_left(config, get_task_class(config.task))}")
    task = get_task_class(config.task)(config.work_dir / "data" / config.task, config)
    with infrastructure_boundary("sandbox"):
        backend = choose_backend(config.sandbox.backend)
    task.box_has_own_paths = backend.own_file_system
    with BoxPool(backend, size=threads * task.boxes_an_episode) as pool:
        instances = InstanceAudit(config, task, pool, threads, tell).run(indices)
    task.close()
    tell(f"{config.task}/{config.mode}: {len(indices)} instances audited, {len(instances.gradable)} can be judged")
    return instances
