"""How the outcome of an action is put into words for the agent, within a fixed length."""

from __future__ import annotations

import json
from typing import Any

from medagentgym.sandbox.base import Limits, StepResult


def shorten(text: str, characters: int) -> str:
    """`text` in at most about `characters` characters: head and tail, and between them how much was left out."""
    if len(text) <= characters:
        return text
    head = characters * 2 // 3
    tail = characters - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[... {left_out:,} of {len(text):,} characters left out ...]\n{text[-tail:]}"


def describe_limit(name: str, limits: Limits) -> str:
    """A limit that a step has hit, as the agent reads it."""
    words = {
        "wall_seconds": f"stopped after {limits.wall_seconds:g} s",
        "cpu_seconds": f"stopped after {limits.cpu_seconds:g} s of processor time",
        "memory_mb": f"memory limit {limits.memory_mb} MiB",
        "processes": f"limit of {limits.processes} processes and threads",
        "open_files": f"limit of {limits.open_files} open files",
        "file_mb": f"limit of {limits.file_mb} MiB a file",
        "work_mb": f"the work folder is full ({limits.work_mb} MiB)",
        "work_files": f"the work folder is full ({limits.work_files:,} files)",
        "output_bytes": f"output was cut after {limits.output_bytes:,} bytes",
        "answer_bytes": f"`answer` is larger than {limits.answer_bytes:,} bytes and was not taken",
    }
    return words.get(name, f"limit reached: {name}")


def describe_step(result: StepResult, limits: Limits, characters: int, *, expects_answer: bool = True) -> str:
    """The observation of a code step or a shell command: how it ended, what it printed, what it left in `answer`.

    `expects_answer` is false where no `answer` is wanted of the code, so that none is missed.
    Holds no times, so that the same step always reads the same. At most about `characters` characters long.
    """
    if result.exit_status == 0:
        head = "The code ran to its end."
    elif result.exit_status is None:
        head = "The code was stopped."
    elif result.exit_status < 0:
        head = f"The code was killed by signal {-result.exit_status}."
    else:
        head = f"The code failed with exit status {result.exit_status}."
    parts = [head]
    parts += [f"Limit: {describe_limit(name, limits)}." for name in result.limits_hit]
    if result.box_lost:
        parts.append("The sandbox had to be started again: the files of the working folder are gone.")
    sections = [("stdout", result.stdout), ("stderr", result.stderr)]
    if result.has_answer:
        sections.append(("answer", preview_answer(result.answer)))
    filled = [(name, text.rstrip("\n")) for name, text in sections if text.strip()]
    if not filled:
        parts.append("Nothing was printed and no `answer` was left." if expects_answer else "Nothing was printed.")
    elif expects_answer and not result.has_answer and result.exit_status == 0:
        parts.append("No `answer` was left.")
    share = characters // max(1, len(filled))
    parts += [f"{name}:\n{shorten(text, share)}" for name, text in filled]
    return "\n".join(parts)


def preview_answer(answer: Any) -> str:
    """An encoded answer as one line of JSON."""
    return json.dumps(answer, ensure_ascii=False)
