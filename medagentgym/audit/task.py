"""The audit of one task of a planned run: what rule `audit_task` calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medagentgym.audit.files import AUDIT_SCHEMA, audit_folder, audited_data
from medagentgym.audit.instances import InstanceAudit, Instances
from medagentgym.audit.selection import audited_indices, without_audit
from medagentgym.audit.tables import failures, instance_table, page, summary_table, warnings
from medagentgym.errors import UserError, infrastructure_boundary
from medagentgym.record import write_json, write_text

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
    folder = audit_folder(first.work_dir)
    about: dict[str, Any] = {"schema": AUDIT_SCHEMA, "task": first.task, "data": data, "modes": _modes(configs)}
    about |= {"failures": failures(first.task, modes), "warnings": warnings(first.task, modes)}
    with infrastructure_boundary("disk"):
        _write(folder, first.task, modes, about)
    return list(about["failures"])


def _write(folder: Path, task: str, modes: Sequence[Instances], about: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    about_file = folder / f"{task}.json"
    about_file.unlink(missing_ok=True)  # it vouches for the others, so it goes first and comes last
    for name, table in ((task, instance_table(task, modes)), (f"{task}_summary", summary_table(task, modes))):
        write_text(folder / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
    write_text(folder / f"{task}_summary.md", page(task, modes))
    write_json(about_file, about)


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
