"""The files of an audit in `work_dir/audit/`, and what `data.exclude: audit` takes from them.

- `<task>.csv`: one row an instance (`COLUMNS`, then a column a probe and judge: whether the judge accepted it).
- `<task>_summary.csv`, `<task>_summary.md`: how often each judge accepted each probe, with the floors.
- `<task>.json`: which data were audited, why the audit fails, and what it warns of.
"""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from medagentgym.built_data import MANIFEST_FILE, file_digest
from medagentgym.errors import UserError
from medagentgym.record import read_object

if TYPE_CHECKING:
    from medagentgym.config import Config

AUDIT_SCHEMA = "medagentgym/audit/1"

COLUMNS = {
    "task": "Task.",
    "mode": "Which questions: train or test.",
    "idx": "Position of the instance in the source question file, from 0.",
    "instance_id": "The instance's own name.",
    "gradable": "Whether an attempt at it can be judged.",
    "reason": "Why not: one of `medagentgym.tasks.probes.REASONS`, or what the task says.",
    "detail": "More words on that.",
    "kind": "`answerable`, or `impossible` where the right answer is to abstain.",
    "gold_status": "Whether there is something to find (`medagentgym.judges.references`); empty where the judges cannot tell.",
    "gold_key": "The same for instances that one and the same answer solves.",
}


def audit_folder(work_dir: Path) -> Path:
    """Where the audits of a working folder lie."""
    return work_dir / "audit"


_GRADABLE = {"True": True, "False": False}


def audited_data(config: Config) -> str:
    """SHA-256 that identifies the built data of a task, golds included: that of their manifest. Raises `UserError` where they are not built."""
    manifest = config.work_dir / "data" / config.task / MANIFEST_FILE
    try:
        return file_digest(manifest)
    except OSError as error:
        raise UserError(f"{manifest}: cannot be read ({error.strerror}); build the data first, with the target `data`") from error


def ungradable(config: Config, asked: Collection[int]) -> set[int]:
    """Those of the instances `asked` of `config.mode` that the audit found impossible to judge.

    Raises `UserError` where there is no audit, where it is of other data, or where it lacks one of the instances.
    """
    path = audit_folder(config.work_dir) / f"{config.task}.csv"
    to_do = "run the target `audit` with this configuration first"
    try:
        about = read_object(path.with_suffix(".json"))
        with path.open(encoding="utf-8", newline="") as stream:
            rows = [(row["mode"], int(row["idx"]), _GRADABLE[row["gradable"]]) for row in csv.DictReader(stream)]
    except FileNotFoundError as error:
        raise UserError(f"data.exclude: `audit` needs {path}, which is not there; {to_do}") from error
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise UserError(f"{path}: not a readable audit; delete it, then {to_do}") from error
    if about.get("schema") != AUDIT_SCHEMA or about.get("data") != audited_data(config):
        raise UserError(f"{path}: audits other data than {config.work_dir / 'data' / config.task} holds now; {to_do}")
    found = {idx: gradable for mode, idx, gradable in rows if mode == config.mode}
    missing = sorted(set(asked) - set(found))
    if missing:
        which = f"instance {missing[0]}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        raise UserError(f"{path}: lacks {which} of mode {config.mode}; {to_do}")
    return {idx for idx in asked if not found[idx]}


def summary_page(audit: Path) -> str:
    """The summary for people that belongs to `<task>.csv`. Raises `UserError` where it cannot be read."""
    path = audit.with_name(f"{audit.stem}_summary.md")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read; run the target `audit` again") from error


def read_outcome(audit: Path) -> tuple[list[str], list[str]]:
    """Why the audit `<task>.csv` fails, and what else it warns of, one line each. Raises `UserError` where that cannot be read."""
    path = audit.with_suffix(".json")
    try:
        about = read_object(path)
        failures, warnings = ([str(line) for line in about[key]] for key in ("failures", "warnings"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not the account of an audit; delete {audit} and run the target `audit` again") from error
    return failures, warnings
