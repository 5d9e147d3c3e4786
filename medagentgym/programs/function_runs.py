"""Running a program with a function in it, once, and what came of it. The box is a fresh one, in which nothing else has run."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, replace

from medagentgym.errors import one_line
from medagentgym.programs.boxed import boxed
from medagentgym.programs.marker import Candidate, Context
from medagentgym.sandbox.base import Box, StepResult

SEED = 20250607
"""Seed of every run: what a program draws at random is the same for the reference and for every attempt."""
RESULT_BYTES = 32 * 1024 * 1024
"""Largest result of one call, as packed data."""
PRINTED_BYTES = 1024 * 1024
"""Most that the function may print in one run."""
STAND_IN = "__solution__"


@dataclass(frozen=True)
class FunctionRun:
    """What came of one run."""

    result: StepResult
    """The run as a code step; `stdout` is what the program printed, without what the function did, and there is no `answer`."""
    problem: str | None
    """Why the program did not run to its end; None where it did."""
    calls: int = 0
    """How often the program called the function."""
    printed: str = ""
    """What the function printed."""


def run_function(box: Box, context: Context, candidate: Candidate) -> FunctionRun:
    """Run the program of a context with a candidate. Raises `InfrastructureError`."""
    nonce = secrets.token_hex(16)
    result = box.run(boxed("forked_calls", {**request(context, candidate), "nonce": nonce}), seed=SEED)
    text, found, report = result.stdout.rpartition(f"\n{nonce} ")
    shown = replace(result, stdout=text if found else result.stdout, has_answer=False, answer=None, printed_answer=False)
    if not found:
        how = f"the limit {result.limits_hit[0]} stopped it" if result.limits_hit else f"it ended with exit status {result.exit_status}"
        return FunctionRun(replace(shown, exit_status=result.exit_status or None), f"the program did not run to its end: {how}")
    told = json.loads(report)
    return FunctionRun(shown, None if told["problem"] is None else one_line(told["problem"])[:500], told["calls"], told["printed"])


def request(context: Context, candidate: Candidate) -> dict[str, object]:
    """What `forked_calls` is asked for, the nonce aside."""
    return {
        "program": context.with_lines(f"{context.function} = {STAND_IN}"),
        "definitions": candidate.definitions,
        "function": candidate.function,
        "name": context.function,
        "owner": context.owner,
        "decorators": list(candidate.decorators),
        "documentation": candidate.documentation,
        "result_bytes": RESULT_BYTES,
        "printed_bytes": PRINTED_BYTES,
    }


def run_digest(context: Context, candidate: Candidate, conditions: str) -> str:
    """SHA-256 of all that a run depends on: the program, the function, the harness, and the `conditions` (packages, limits)."""
    code = boxed("forked_calls", request(context, candidate))
    return hashlib.sha256(json.dumps([SEED, conditions, code]).encode()).hexdigest()
