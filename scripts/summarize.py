"""Sum the scores of a run up: `python scripts/summarize.py --plan PLAN --asked COUNTS --out reports/my_run SCORES...`.

Snakemake's rule `summary` runs the same. Either appends a line an experiment to `work_dir/running_records.jsonl`.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medagentgym.errors import UserError, exit_with
from medagentgym.plan import read_plan
from medagentgym.summary import append_running_record, print_summary, summarize


def main(
    plan: Path, scores: Sequence[Path], asked: Mapping[str, int], out: Path, *, partial: bool, excluded_by_audit: Mapping[str, int] | None = None
) -> None:
    """Write the tables, the figure and the report of a run, and add it to the running records."""
    configs = read_plan(plan)
    summary = summarize(configs, scores, asked, out, partial, excluded_by_audit)
    append_running_record(configs[0].work_dir, out.name, summary)


def from_snakemake(job: Any) -> None:
    """Take the arguments from Snakemake's job object; a user's mistake is told in the rule's log, too."""
    log = Path(job.log[0])
    scores = [Path(file) for file in job.input.scores]
    try:
        out, partial, excluded = Path(job.output[0]).parent, bool(job.params.partial), dict(job.params.excluded_by_audit)
        main(Path(job.resources.plan), scores, dict(job.params.asked), out, partial=partial, excluded_by_audit=excluded)
        log.write_text(f"{len(scores)} score tables summed up\n", encoding="utf-8")
    except UserError as error:
        log.write_text(f"failed: {error}\n", encoding="utf-8")
        exit_with(error)


def from_command_line() -> None:
    """Take the arguments from the command line."""
    parser = argparse.ArgumentParser(description="Sum the scores of a run up.")
    parser.add_argument("--plan", type=Path, required=True, help="plan file, in work_dir/.plans")
    parser.add_argument("--asked", required=True, help='episodes asked for, as JSON: {"<task>/<tag>/<mode>": 100}')
    parser.add_argument("--excluded_by_audit", default="{}", help="instances that `data.exclude: audit` left out, as JSON like --asked")
    parser.add_argument("--out", type=Path, required=True, help="folder of the reports")
    parser.add_argument("--partial", action="store_true", help="make the table although episodes are missing, and say so in it")
    parser.add_argument("scores", type=Path, nargs="+", help="score tables, in the order of the plan's experiments")
    given = parser.parse_args()
    try:
        asked, excluded = json.loads(given.asked), json.loads(given.excluded_by_audit)
        main(given.plan, given.scores, asked, given.out, partial=given.partial, excluded_by_audit=excluded)
        print_summary(given.out)
    except UserError as error:
        exit_with(error)


if __name__ == "__main__":
    if "snakemake" in globals():
        from_snakemake(globals()["snakemake"])
    else:
        from_command_line()
