"""Print what audits say, and fail where a strict judge can be fooled: `python scripts/show_audit.py work_dir/audit/mimic_iii.csv ...`.

Snakemake's rule `audit` runs the same.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medagentgym.audit.files import read_above_floor, summary_page
from medagentgym.errors import UserError, exit_with


def main(audits: Sequence[Path]) -> list[str]:
    """Print the tables of the audits; gives what a strict judge accepts above its floor, one line each."""
    for audit in audits:
        print(summary_page(audit), flush=True)
        print(f"table   {audit}\n", flush=True)
    return [line for audit in audits for line in read_above_floor(audit)]


def fail(above: Sequence[str]) -> None:
    """Say what is above its floor, and exit with status 1 where anything is."""
    for line in above:
        print(f"medagentgym: audit of {line}", file=sys.stderr, flush=True)
    sys.exit(1 if above else 0)


def from_snakemake(job: Any) -> None:
    """Take the arguments from Snakemake's job object; what is above its floor is told in the rule's log, too."""
    log = Path(job.log[0])
    try:
        above = main([Path(audit) for audit in job.input])
    except UserError as error:
        log.write_text(f"failed: {error}\n", encoding="utf-8")
        exit_with(error)
    more = f" (and {len(above) - 1} more)" if len(above) > 1 else ""
    log.write_text(f"failed: {above[0]}{more}\n" if above else "every probe is at or under its floor\n", encoding="utf-8")
    fail(above)


def from_command_line() -> None:
    """Take the arguments from the command line."""
    parser = argparse.ArgumentParser(description="Print what audits say.")
    parser.add_argument("audits", type=Path, nargs="+", help="tables of audits, work_dir/audit/<task>.csv")
    given = parser.parse_args()
    try:
        above = main(given.audits)
    except UserError as error:
        exit_with(error)
    fail(above)


if __name__ == "__main__":
    if "snakemake" in globals():
        from_snakemake(globals()["snakemake"])
    else:
        from_command_line()
