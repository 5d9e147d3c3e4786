"""Score the episodes of one experiment: `python scripts/score.py --plan PLAN --experiment 0 --out scores_test.parquet EPISODE...`.

Snakemake's rule `score` runs the same.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medagentgym.errors import UserError, exit_with
from medagentgym.interruption import ending_when_told
from medagentgym.plan import read_plan
from medagentgym.scores import score_experiment


def main(plan: Path, experiment: int, episodes: Sequence[Path], out: Path) -> None:
    """Write the scores of the experiment at position `experiment` of a plan file."""
    score_experiment(read_plan(plan)[experiment], episodes, out)


def from_snakemake(job: Any) -> None:
    """Take the arguments from Snakemake's job object; a user's mistake is told in the rule's log, too."""
    with Path(job.log[0]).open("w", encoding="utf-8") as log, ending_when_told(log, "nothing is lost: the same command scores again"):
        try:
            main(Path(job.resources.plan), int(job.resources.experiment), [Path(file) for file in job.input.episodes], Path(job.output[0]))
            print(f"{len(job.input.episodes)} episodes scored", file=log)
        except UserError as error:
            print(f"failed: {error}", file=log, flush=True)
            exit_with(error)


def from_command_line() -> None:
    """Take the arguments from the command line."""
    parser = argparse.ArgumentParser(description="Score the episodes of one experiment.")
    parser.add_argument("--plan", type=Path, required=True, help="plan file, in work_dir/.plans")
    parser.add_argument("--experiment", type=int, default=0, help="position of the experiment in the plan (default: 0)")
    parser.add_argument("--out", type=Path, required=True, help="score table to write (Parquet)")
    parser.add_argument("episodes", type=Path, nargs="+", help="records of episodes, or folders of them")
    given = parser.parse_args()
    files = [file for path in given.episodes for file in (sorted(path.glob("history_*.json")) if path.is_dir() else [path])]
    try:
        main(given.plan, given.experiment, files, given.out)
    except UserError as error:
        exit_with(error)


if __name__ == "__main__":
    if "snakemake" in globals():
        from_snakemake(globals()["snakemake"])
    else:
        from_command_line()
