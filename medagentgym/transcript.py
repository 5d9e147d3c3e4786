"""What happened in an episode, for a person to read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medagentgym.record import STOP_REASONS, read_record


def transcript(path: Path) -> str:
    """The conversation, the verdicts on every attempt and the end of the episode in a record's file, ours or a published one.

    The reasons of verdicts quote the gold answer. Raises `UserError` where the file is no episode.
    """
    record = read_record(path)
    parts = [f"{path}: {record['task'] or 'published episode'}, instance {record['idx']} ({record['instance_id']}), rollout {record['rollout']}"]
    parts += [_message(message) for message in record["messages"]]
    parts += list(_verdicts(record))
    parts.append(f"{record['result']}, score {record['score']:g}: {STOP_REASONS[record['stop_reason']]}")
    return "\n\n".join(parts)


def _message(message: dict[str, Any]) -> str:
    content = message.get("content")
    calls = [f"calls {call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls") or ()]
    return "\n".join([f"--- {message.get('role', '?')} ---", *([str(content)] if content else []), *calls])


def _verdicts(record: dict[str, Any]) -> Iterator[str]:
    for number, attempt in enumerate(record["attempts"], start=1):
        judged = [f"  {judge}: {'right' if verdict['correct'] else 'wrong'}: {verdict['reason']}" for judge, verdict in attempt["verdicts"].items()]
        yield "\n".join([f"--- attempt {number}, step {attempt['step'] + 1} ---", _left_behind(attempt["evidence"]), *judged])


def _left_behind(evidence: dict[str, Any]) -> str:
    if evidence.get("abstained"):
        return "abstained: the data cannot answer the question"
    if not evidence["has_answer"]:
        return "no answer: judged by what was printed"
    return f"answer: {evidence['answer']}"
