"""Audit one task of a planned run: `python scripts/audit.py --plan PLAN --task mimic_iii --threads 8`.

Snakemake's rule `audit_task` runs the same.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from medagentgym.audit.task import audit_task
from medagentgym.errors import InfrastructureError, UserError, exit_with
from medagentgym.interruption import ending_when_told
from medagentgym.plan import read_plan


def main(plan: Path, task: str, threads: int, tell: Callable[[str], None]) -> None:
    """Write the audit of a task of a plan file, `threads` episodes at once."""
    audit_task([config for config in read_plan(plan) if config.task == task], threads, tell)


def say(line: str) -> None:
    """Tell how far the audit is."""
    print(line, file=sys.stderr, flush=True)


def from_snakemake(job: Any) -> None:
    """Take the arguments from Snakemake's job object; what is said is in the rule's log, too."""
    with Path(job.log[0]).open("w", encoding="utf-8") as log, ending_when_told(log, "nothing is written before an audit is whole; run it again"):

        def tell(line: str) -> None:
            say(line)
            print(line, file=log, flush=True)

        try:
            main(Path(job.resources.plan), job.wildcards.task, int(job.threads), tell)
        except (UserError, InfrastructureError) as error:
            print(f"failed: {error}", file=log, flush=True)
            exit_with(error)


def from_command_line() -> None:
    """Take the arguments from the command line."""
    parser = argparse.ArgumentParser(description="Audit one task of a planned run.")
    parser.add_argument("--plan", type=Path, required=True, help="plan file, in work_dir/.plans")
    parser.add_argument("--task", required=True, help="task that is audited")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="episodes at once (default: as many as there are cores)")
    given = parser.parse_args()
    try:
        main(given.plan, given.task, given.threads, say)
    except (UserError, InfrastructureError) as error:
        exit_with(error)


if __name__ == "__main__":
    if "snakemake" in globals():
        from_snakemake(globals()["snakemake"])
    else:
        from_command_line()
