"""The command line: `python -m medagentgym --config_path config/demo.yaml`, or `medagentgym ...` where the package is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from medagentgym.args import announce_backend, make_parser, parse_arguments
from medagentgym.errors import InfrastructureError, UserError, exit_with


def main(argv: Sequence[str] | None = None) -> int:
    """Run the workflow as the flags say, and give the exit status. A mistake is one line and status 2."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if not arguments:
        make_parser().print_help()
        return 2
    try:
        return SUBCOMMANDS[arguments[0]](arguments[1:]) if arguments[0] in SUBCOMMANDS else run(arguments)
    except (UserError, InfrastructureError) as error:
        exit_with(error)


def run(arguments: Sequence[str]) -> int:
    """Run the workflow: on one core, or with `--async_run` on `--n_jobs` cores."""
    from medagentgym.workflow import read_summary, run_workflow

    args = parse_arguments(arguments)
    if args.config_path is None:
        raise UserError("command line: --config_path is missing; give a configuration file, for example --config_path config/demo.yaml")
    if args.async_run:
        announce_backend(args.parallel_backend)
    status = run_workflow(args.config_path, args.overrides, cores=args.n_jobs if args.async_run else 1)
    if status == 0:
        for row in read_summary(args.config)["experiments"]:
            rate = "unknown" if row["success_rate"] is None else f"{row['success_rate']:.4f}"
            episodes = f"asked {row['asked']}, done {row['done']}, missing {row['missing']}"
            print(f"{row['task']}/{row['tag']}/{row['mode']}: success rate {rate} ({episodes}), judge {row['judge']}")
    return status


def check_sandboxes(arguments: Sequence[str]) -> int:
    """`medagentgym sandbox check`: a table of the sandboxes, and status 0 where one of them works."""
    if list(arguments) != ["check"]:
        raise UserError("command line: sandbox: expects `medagentgym sandbox check`")
    from tabulate import tabulate

    from medagentgym.sandbox import probe_backends

    backends = probe_backends()
    rows = [(backend.name, "yes" if backend.works else "no", backend.level, backend.memory, backend.reason) for backend in backends]
    print(tabulate(rows, headers=("sandbox", "works", "isolation", "memory of a box", "reason"), disable_numparse=True))
    return 0 if any(backend.works and backend.name != "none" for backend in backends) else 1


def show(arguments: Sequence[str]) -> int:
    """`medagentgym show FOLDER`: the table of a reports folder. `medagentgym show [--full] FILE`: what happened in an episode.

    The prompt of an episode is shortened unless `--full`. A reader that has seen enough (`| head`) ends it in silence.
    """
    paths = [Path(argument) for argument in arguments if argument != "--full"]
    full = len(paths) < len(arguments)
    if len(paths) != 1 or str(paths[0]).startswith("-"):
        raise UserError(
            "command line: show: expects one reports folder or one episode, for example `medagentgym show work_dir/demo/reports/demo`; "
            "with --full the whole prompt of an episode is shown"
        )
    try:
        _show(paths[0], full=full)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in the buffer is written when Python ends
    return 0


def _show(path: Path, *, full: bool) -> None:
    if path.suffix == ".json":
        from medagentgym.transcript import transcript

        print(transcript(path, full=full))
    elif full:
        raise UserError(f"command line: show: --full is for an episode, and {path} is none; leave it out")
    else:
        from medagentgym.summary import print_summary

        print_summary(path)


def see_to_environments(arguments: Sequence[str]) -> int:
    """`medagentgym environments [build FAMILY...]`: a table of the environments of code steps, or build those that are missing."""
    from medagentgym.environments import main

    return main(arguments)


SUBCOMMANDS = {"sandbox": check_sandboxes, "show": show, "environments": see_to_environments}


if __name__ == "__main__":
    sys.exit(main())
