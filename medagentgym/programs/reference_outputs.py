"""Golds of programs: what they print with the reference function, in the boxes and with the packages that attempts will have.

Every reference runs twice, and once more with a function that does nothing. An outcome is kept in a file named by the digest of program, harness and
packages, so that the data can be built again without running anything.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medagentgym import environments
from medagentgym.errors import UserError, one_line
from medagentgym.programs.function_runs import FunctionRun, run_digest, run_function
from medagentgym.programs.marker import Candidate, Context
from medagentgym.record import read_object, write_json
from medagentgym.sandbox import box_spec, choose_backend, configured_limits
from medagentgym.sandbox.base import BoxSpec
from medagentgym.sandbox.pool import BoxPool
from medagentgym.tasks.probes import BROKEN_PASSES, CANNOT_RUN, NONDETERMINISTIC, NOT_EXPRESSIBLE

if TYPE_CHECKING:
    from medagentgym.config import Config
    from medagentgym.tasks.base import Task

PROGRESS_SECONDS = 10.0
LONGEST_OUTPUT = 20_000
"""Characters of an output that can be judged: what a record keeps of it."""


def reference_outputs(
    programs: Sequence[tuple[Context, Candidate]], task: type[Task], config: Config, cache: Path, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    """What each program prints, as part of a gold: `output`, `printed` and `warnings`, or `ungradable` with the reason; and `environment`,
    the packages with which it ran.

    Raises `UserError` where the task's environment is not built, and `InfrastructureError`.
    """
    environment = environments.identity(config, task)
    python = environments.interpreter(config, task)
    conditions = f"{environment} {configured_limits(config.sandbox)}"
    files = [cache / f"{run_digest(context, candidate, conditions)}.json" for context, candidate in programs]
    missing = [position for position, file in enumerate(files) if not file.is_file()]
    if missing:
        threads = min(os.cpu_count() or 1, len(missing), config.in_flight)
        spec = replace(box_spec(config.sandbox, python, {}), preload=task.preload, package_index=None)
        tell(f"running {len(missing)} reference programs, three times each, {threads} at once")
        with closing(BoxPool(choose_backend(config.sandbox.backend), threads)) as pool, ThreadPoolExecutor(threads) as executor:
            told = time.monotonic()
            made = executor.map(lambda position: _made(pool, spec, *programs[position]), missing)
            for done, (position, gold) in enumerate(zip(missing, made, strict=True), start=1):
                write_json(files[position], gold)
                if time.monotonic() - told > PROGRESS_SECONDS:
                    told = time.monotonic()
                    tell(f"{done} of {len(missing)} reference programs have run")
    return [{**_kept(file), "environment": environment} for file in files]


def _kept(file: Path) -> dict[str, Any]:
    try:
        return read_object(file)
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: damaged ({one_line(error)}); delete the file and build the data again, with the target `data`") from error


def _made(pool: BoxPool, spec: BoxSpec, context: Context, candidate: Candidate) -> dict[str, Any]:
    def run(candidate: Candidate) -> FunctionRun:
        with pool.box(spec) as box:
            return run_function(box, context, candidate)

    first, second, empty = run(candidate), run(candidate), run(empty_candidate(context, candidate))
    problem = first.problem or second.problem
    if problem is not None:
        return {"ungradable": f"{_kind_of(problem)}: {problem}"}
    if first.calls == 0:
        return {"ungradable": f"{CANNOT_RUN}: the program never calls the function"}
    if (first.result.stdout, first.printed) != (second.result.stdout, second.printed):
        return {"ungradable": f"{NONDETERMINISTIC}: two runs of the reference print different texts"}
    if len(first.result.stdout) > LONGEST_OUTPUT:
        return {"ungradable": f"{NOT_EXPRESSIBLE}: the program prints {len(first.result.stdout):,} characters"}
    if empty.problem is None and (empty.result.stdout, empty.printed) == (first.result.stdout, first.printed):
        return {"ungradable": f"{BROKEN_PASSES}: a function that does nothing gives the same output"}
    return {"output": first.result.stdout, "printed": first.printed, "warnings": first.result.stderr, "calls": first.calls}


def _kind_of(problem: str) -> str:
    return NOT_EXPRESSIBLE if "which is no data" in problem else CANNOT_RUN


def empty_candidate(context: Context, candidate: Candidate) -> Candidate:
    """A function of the same name that does nothing, whatever it is given."""
    decorators = "".join(f"@{name}\n" for name in candidate.decorators)
    return Candidate("", f"{decorators}def {context.function}(*arguments, **options):\n    pass\n", candidate.decorators, None)
