"""The files of an audit in `work_dir/audit/`, and what `data.exclude: audit` takes from them.

- `<task>.csv`: one row an instance (`COLUMNS`, then a column a probe and judge: whether the judge accepted it).
- `<task>_summary.csv`, `<task>_summary.md`: how often each judge accepted each probe, with the floors.
- `<task>.json`: which data were audited, why the audit fails, what it warns of, and the digests of the others, so that damage to them is noticed.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medagentgym.built_data import MANIFEST_FILE, file_digest
from medagentgym.csv_tables import rows_of
from medagentgym.errors import UserError, one_line
from medagentgym.record import read_object, write_json, write_text

if TYPE_CHECKING:
    from medagentgym.config import Config

AUDIT_SCHEMA = "medagentgym/audit/2"

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


def write_audit(folder: Path, task: str, about: Mapping[str, Any], *, table: str, summary: str, page: str) -> None:
    """Write the files of an audit: the text of its table, of its summary and of its page, and what `about` says of it."""
    folder.mkdir(parents=True, exist_ok=True)
    about_file = folder / f"{task}.json"
    about_file.unlink(missing_ok=True)  # it vouches for the others, so it goes first and comes last
    texts = {f"{task}.csv": table, f"{task}_summary.csv": summary, f"{task}_summary.md": page}
    for name, text in texts.items():
        write_text(folder / name, text)
    write_json(about_file, {**about, "files": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in texts}})


def ungradable(config: Config, asked: Collection[int]) -> set[int]:
    """Those of the instances `asked` of `config.mode` that the audit found impossible to judge.

    Raises `UserError` where there is no audit, where it is damaged or of other data, or where it lacks one of the instances.
    """
    path = audit_folder(config.work_dir) / f"{config.task}.csv"
    to_do = "run the target `audit` with this configuration first"
    if not path.is_file() or not path.with_suffix(".json").is_file():
        raise UserError(f"data.exclude: `audit` needs {path}, which is not there; {to_do}")
    about = _about(path)
    if about["data"] != audited_data(config):
        raise UserError(f"{path}: audits other data than {config.work_dir / 'data' / config.task} holds now; {to_do}")
    try:
        rows = [(row["mode"], int(row["idx"]), _GRADABLE[row["gradable"]]) for row in rows_of(_text(path, about, path), COLUMNS)]
    except (ValueError, KeyError, csv.Error) as error:
        raise UserError(f"{path}: not a readable audit ({one_line(error)}); {_again(path)}") from error
    found = {idx: gradable for mode, idx, gradable in rows if mode == config.mode}
    missing = sorted(set(asked) - set(found))
    if missing:
        which = f"instance {missing[0]}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        raise UserError(f"{path}: lacks {which} of mode {config.mode}; {to_do}")
    return {idx for idx in asked if not found[idx]}


def summary_page(audit: Path) -> str:
    """The summary for people that belongs to `<task>.csv`. Raises `UserError` where it cannot be read or is damaged."""
    return _text(audit, _about(audit), audit.with_name(f"{audit.stem}_summary.md"))


def read_outcome(audit: Path) -> tuple[list[str], list[str]]:
    """Why the audit `<task>.csv` fails, and what else it warns of, one line each. Raises `UserError` where that cannot be read."""
    about = _about(audit)
    return about["failures"], about["warnings"]


def _again(audit: Path) -> str:
    return f"delete {audit} and run the target `audit` with this configuration again"


def _about(audit: Path) -> dict[str, Any]:
    """What `<task>.json` says of the audit `<task>.csv`. Raises `UserError`."""
    path = audit.with_suffix(".json")
    try:
        about = read_object(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not the account of an audit ({one_line(error)}); {_again(audit)}") from error
    if about.get("schema") != AUDIT_SCHEMA:
        raise UserError(f"{path}: not the account of an audit by this version; {_again(audit)}")
    kinds = {"data": str, "files": dict, "failures": list, "warnings": list}
    lacking = next((key for key, kind in kinds.items() if not isinstance(about.get(key), kind)), None)
    if lacking is not None:
        raise UserError(f"{path}: not the whole account of an audit (key {lacking}); {_again(audit)}")
    return about


def _text(audit: Path, about: Mapping[str, Any], path: Path) -> str:
    """The text of a file of an audit. Raises `UserError` where it is not the one that the audit wrote."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); {_again(audit)}") from error
    if hashlib.sha256(content).hexdigest() != about["files"].get(path.name):
        raise UserError(f"{path}: not a readable audit (it is cut off, or was changed since the audit wrote it); {_again(audit)}")
    return content.decode("utf-8")
