"""Print what audits say, and fail where a strict judge can be fooled: `python scripts/show_audit.py work_dir/audit/mimic_iii.csv ...`.

Snakemake's rule `audit` runs the same.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medagentgym.audit.files import read_outcome, summary_page
from medagentgym.errors import UserError, exit_with


def main(audits: Sequence[Path]) -> list[str]:
    """Print the tables of the audits, then what they warn of and why they fail; gives the latter."""
    failures = []
    for audit in audits:
        print(summary_page(audit), flush=True)
        print(f"table   {audit}\n", flush=True)
    for audit in audits:
        failing, warnings = read_outcome(audit)
        for line in [*warnings, *failing]:
            print(f"medagentgym: audit of {line}", file=sys.stderr, flush=True)
        failures += failing
    return failures


def from_snakemake(job: Any) -> None:
    """Take the arguments from Snakemake's job object; why an audit fails is told in the rule's log, too."""
    log = Path(job.log[0])
    try:
        failures = main([Path(audit) for audit in job.input])
    except UserError as error:
        log.write_text(f"failed: {error}\n", encoding="utf-8")
        exit_with(error)
    more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
    log.write_text(f"failed: {failures[0]}{more}\n" if failures else "no cheat is above its floor\n", encoding="utf-8")
    sys.exit(1 if failures else 0)


def from_command_line() -> None:
    """Take the arguments from the command line."""
    parser = argparse.ArgumentParser(description="Print what audits say.")
    parser.add_argument("audits", type=Path, nargs="+", help="tables of audits, work_dir/audit/<task>.csv")
    given = parser.parse_args()
    try:
        failures = main(given.audits)
    except UserError as error:
        exit_with(error)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    if "snakemake" in globals():
        from_snakemake(globals()["snakemake"])
    else:
        from_command_line()
