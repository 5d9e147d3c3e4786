"""Running the Snakemake workflow from Python: the command, its signals, and what its summary says."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from medagentgym.config import Config
from medagentgym.csv_tables import SUMMARY_AGAIN, read_csv_table
from medagentgym.errors import InfrastructureError, UserError, one_line
from medagentgym.record import write_text

SNAKEFILE = Path(__file__).resolve().parent.parent / "Snakefile"

NOT_OF_THE_RESULTS = frozenset({"config_path", "async_run", "n_jobs", "parallel_backend"})
"""Keys that say how to run and change nothing in what is made: they are not handed on, so that every way of starting a run makes the same plan."""


def run_workflow(config_file: Path, overrides: Mapping[str, Any], *, cores: int, targets: Sequence[str] = ()) -> int:
    """Run the workflow on `cores` cores for `targets` (all without one), and give its exit status, 130 after Ctrl-C.

    `overrides` are keys of the configuration that win over the file; they are handed on as `--config key=value`, so they must not hold secrets (a
    configuration that was loaded holds none). Snakemake runs in the current folder. Raises `UserError` where there is no Snakefile.
    """
    return _run(workflow_command(config_file, overrides, cores=cores, targets=targets))


def workflow_command(config_file: Path, overrides: Mapping[str, Any], *, cores: int, targets: Sequence[str] = ()) -> list[str]:
    """The command line of `run_workflow`. Raises `UserError` where there is no Snakefile."""
    if not SNAKEFILE.is_file():
        raise UserError(f"{SNAKEFILE}: no such file; the workflow is run from a checkout of the project, installed with `pip install --editable`")
    command = [sys.executable, "-m", "snakemake", *targets, "--snakefile", str(SNAKEFILE), "--cores", str(cores), "--configfile", str(config_file)]
    given = [f"{key}={_as_yaml(value)}" for key, value in overrides.items() if key not in NOT_OF_THE_RESULTS]
    return [*command, "--config", *given] if given else command


def run_configuration(config: Config, *, cores: int, config_file: Path | None = None, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run the workflow of a configuration and give what its summary says (`read_summary`).

    It comes from `config_file` with `overrides`. Without a file, it is written into the working folder, which is private to its user, named by its
    content. Raises `UserError`, `InfrastructureError` where the workflow failed, or `KeyboardInterrupt`.
    """
    if config_file is None:
        config_file, overrides = _write_configuration(config), {}
    status = run_workflow(config_file, overrides or {}, cores=cores)
    if status == 128 + signal.SIGINT:
        raise KeyboardInterrupt
    if status != 0:
        raise InfrastructureError("workflow", f"ended with status {status}; what is finished is kept, and the same call runs only what is missing")
    return read_summary(config)


_COUNTS = ("asked", "done", "missing", "scored", "successes")


def read_summary(config: Config) -> dict[str, Any]:
    """What the summary of a finished run says, by its leading judge: `success_rate` (None where nothing could be scored), `asked`, `done`, `missing`.

    `experiments` holds the same for each experiment, with `task`, `tag`, `mode` and that `judge`; the rate above them is that of all scored episodes
    together. Raises `UserError` where there is no summary.
    """
    path = config.work_dir / "reports" / (config.name or "run") / "summary.csv"
    if not path.is_file():
        raise UserError(f"{path}: the summary cannot be read, because it is not there; run the workflow first")
    rows = read_csv_table(path, ("task", "tag", "mode", "judge", *_COUNTS), "summary", SUMMARY_AGAIN)
    leading = {(row["task"], row["tag"], row["mode"]): row for row in reversed(rows)}
    found: list[dict[str, Any]] = []
    for (task, tag, mode), row in reversed(leading.items()):
        try:
            numbers = {name: int(float(row[name] or 0)) for name in _COUNTS}
        except ValueError as error:
            raise UserError(f"{path}: not a readable summary ({one_line(error)}); {SUMMARY_AGAIN}") from error
        named = {"task": task, "tag": tag, "mode": mode, "judge": row["judge"]}
        found.append({**named, **numbers, "success_rate": _rate(numbers["successes"], numbers["scored"])})
    total = {name: sum(row[name] for row in found) for name in _COUNTS}
    return {"success_rate": _rate(total["successes"], total["scored"]), **total, "experiments": found}


def _write_configuration(config: Config) -> Path:
    content = json.dumps(config.model_dump(mode="json", exclude_unset=True, exclude=set(NOT_OF_THE_RESULTS)), indent=1, sort_keys=True) + "\n"
    config.work_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    config.work_dir.chmod(0o700)
    path = config.work_dir / ".configurations" / hashlib.sha256(content.encode()).hexdigest()[:16] / f"{config.name or 'run'}.json"
    write_text(path, content)
    return path


def _rate(successes: int, scored: int) -> float | None:
    return successes / scored if scored else None


def _as_yaml(value: Any) -> str:
    """A value as Snakemake's `--config` reads it back."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    # Snakemake takes quotes off the ends of a value, after which `007` is 7; the spaces keep them on.
    return f" {text} " if isinstance(value, str) else text


def _run(command: Sequence[str]) -> int:
    """Run a command to its end and give its exit status, 128 and the signal's number where it was interrupted. It does not outlive this process.

    Ctrl-C and termination reach the command and everything that it started once each, as they would from a terminal.
    """
    parent = os.getpid()
    # In a process group of its own the terminal's Ctrl-C reaches only this process, which hands it on, wherever it came from.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0, preexec_fn=lambda: _stop_with(parent))
    received: list[int] = []

    def hand_on(number: int, _: FrameType | None) -> None:
        received.append(number)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)

    in_main_thread = threading.current_thread() is threading.main_thread()
    previous = {number: signal.signal(number, hand_on) for number in (signal.SIGINT, signal.SIGTERM)} if in_main_thread else {}
    try:
        status = process.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if status < 0:
        return 128 - status
    return 128 + received[0] if received and status != 0 else status


def _stop_with(parent: int) -> None:
    """In the child, before the command starts: be interrupted when the parent is gone (Linux; elsewhere nothing)."""
    # A shell starts what runs in the background deaf to Ctrl-C; what we hand on must be heard.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGINT, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
