"""Running a program for the variables that it leaves, and assertions about them: two boxes, and nothing but data between them."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from medagentgym.errors import AgentError, one_line
from medagentgym.programs.boxed import boxed
from medagentgym.programs.test_cases import TestCases
from medagentgym.sandbox.base import Box, StepResult

LARGEST_LEFT = 64 * 1024 * 1024
"""Bytes of all that is taken from a program, and of each file that it wrote."""
_CHUNK = 8 * 1024 * 1024
_LARGEST_ACCOUNT = 256 * 1024
_VALUES = "values"
_LONGEST_PROBLEM = 300


@dataclass(frozen=True)
class ProgramRun:
    """What came of a program. All of it was written beside untrusted code."""

    result: StepResult
    """The run as a code step, without an `answer`."""
    ran_to_its_end: bool
    left: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Variable -> how it was taken (`data`, `object`, `too large`, `error`), and what it is."""
    threads: int = 0
    """Threads that still ran at the end."""
    open_files: int = 0
    """Files that were still open at the end."""
    values: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that the assertions name and the program wrote."""


@dataclass(frozen=True)
class Outcome:
    """What became of an assertion."""

    holds: bool
    problem: str | None

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON data."""
        return {"holds": self.holds, "problem": self.problem}


def run_program(box: Box, history: str, code: str, tests: TestCases, seed: int) -> ProgramRun:
    """Run `history` and `code` as one program, and take what the assertions look at. Raises `InfrastructureError`."""
    file = f".left_{secrets.token_hex(8)}"
    request = {"history": history, "code": code, "variables": tests.looked_at, "file": file, "bytes": LARGEST_LEFT}
    result = replace(box.run(boxed("left_variables", request), seed=seed), has_answer=False, answer=None, printed_answer=False)
    try:
        if result.exit_status != 0:
            return ProgramRun(result, ran_to_its_end=False)
        try:
            told = json.loads(box.read_file(f"{file}.json", _LARGEST_ACCOUNT))
            left = {name: (str(told["left"][name][0]), one_line(told["left"][name][1])) for name in tests.variables if name in told["left"]}
            threads, open_files = int(told["threads"]), int(told["files"])
            values = box.read_file(file, 2 * LARGEST_LEFT)
        except (AgentError, ValueError, KeyError, IndexError, TypeError, RecursionError):
            return ProgramRun(result, ran_to_its_end=False)
        return ProgramRun(result, True, left, threads, open_files, values, _files(box, tests))
    finally:
        if not box.closed:
            box.shell(f"rm -f {file} {file}.json")


def _files(box: Box, tests: TestCases) -> dict[str, bytes]:
    found = {}
    for name in tests.files:
        try:
            found[name] = box.read_file(name, LARGEST_LEFT)
        except AgentError:
            continue
    return found


def check(box: Box, tests: TestCases, run: ProgramRun) -> list[Outcome]:
    """Run the assertions in a fresh box on what a program left. Raises `InfrastructureError`."""
    nonce = secrets.token_hex(16)
    request: dict[str, Any] = {
        "file": _VALUES,
        "variables": list(tests.variables),
        "imports": list(tests.imports),
        "units": list(tests.units),
        "assertions": list(tests.assertions),
        "nonce": nonce,
        "files": {},
    }
    pieces = [(name, content[start : start + _CHUNK]) for name, content in {**run.files, _VALUES: run.values}.items() for start in _starts(content)]
    if sum(len(piece) for _, piece in pieces) <= _CHUNK:
        request["files"] = {name: base64.b64encode(piece).decode() for name, piece in pieces}
    else:
        for name, piece in pieces:
            box.run(boxed("assertions", {"files": {name: base64.b64encode(piece).decode()}, "units": [], "nonce": nonce}))
    result = box.run(boxed("assertions", request))
    count = sum(tests.assertions)
    _, found, report = result.stdout.rpartition(f"\n{nonce} ")
    if not found:
        how = f"limit {result.limits_hit[0]}" if result.limits_hit else f"exit status {result.exit_status}"
        return [Outcome(False, f"the assertions did not run to their end on what the program left ({how})")] * count
    told = json.loads(report)["assertions"]
    return [Outcome(one["holds"] is True, None if one["problem"] is None else one_line(one["problem"])[:_LONGEST_PROBLEM]) for one in told]


def _starts(content: bytes) -> range:
    return range(0, max(1, len(content)), _CHUNK)
