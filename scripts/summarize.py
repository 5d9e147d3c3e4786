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


def main(plan: Path, scores: Sequence[Path], asked: Mapping[str, int], out: Path, *, partial: bool) -> None:
    """Write the tables, the figure and the report of a run, and add it to the running records."""
    configs = read_plan(plan)
    summary = summarize(configs, scores, asked, out, partial)
    append_running_record(configs[0].work_dir, out.name, summary)


def from_snakemake(job: Any) -> None:
    """Take the arguments from Snakemake's job object; a user's mistake is told in the rule's log, too."""
    log = Path(job.log[0])
    scores = [Path(file) for file in job.input.scores]
    try:
        main(Path(job.resources.plan), scores, dict(job.params.asked), Path(job.output[0]).parent, partial=bool(job.params.partial))
        log.write_text(f"{len(scores)} score tables summed up\n", encoding="utf-8")
    except UserError as error:
        log.write_text(f"failed: {error}\n", encoding="utf-8")
        exit_with(error)


def from_command_line() -> None:
    """Take the arguments from the command line."""
    parser = argparse.ArgumentParser(description="Sum the scores of a run up.")
    parser.add_argument("--plan", type=Path, required=True, help="plan file, in work_dir/.plans")
    parser.add_argument("--asked", required=True, help='episodes asked for, as JSON: {"<task>/<tag>/<mode>": 100}')
    parser.add_argument("--out", type=Path, required=True, help="folder of the reports")
    parser.add_argument("--partial", action="store_true", help="make the table although episodes are missing, and say so in it")
    parser.add_argument("scores", type=Path, nargs="+", help="score tables, in the order of the plan's experiments")
    given = parser.parse_args()
    try:
        main(given.plan, given.scores, json.loads(given.asked), given.out, partial=given.partial)
        print_summary(given.out)
    except UserError as error:
        exit_with(error)


if __name__ == "__main__":
    if "snakemake" in globals():
        from_snakemake(globals()["snakemake"])
    else:
        from_command_line()
