"""The record of an episode: one JSON object in one file, written at once or not at all.

Fields (`RECORD_SCHEMA`):

- `schema`, `task`, `mode`, `idx`, `instance_id`, `rollout`, `seed`, `fingerprint`, `versions`: which episode this is and what made it.
- `protocol`, `stop_judge`: under which rules it ran.
- `messages`: the conversation as sent and received.
- `steps`: one entry an action: `action`, `params`, `observation` (as shown), `exit_status`, `has_answer`, `answer`, `limits_hit`, `wall_seconds`,
  `cpu_seconds`.
- `attempts`: one entry an execution that left an answer (or printed one, where that counts) or an abstention: `step`, `evidence`
  (`medagentgym.judges.Evidence`), `verdicts` (judge name -> verdict).
- `result` (`success` | `failure`), `score`, `stop_reason` (one of `STOP_REASONS`), `usage`, `sandbox` (`backend`, `level`).

Results of the published system are lists of chat messages that end in `{"result": ..., "score": ...}`; `read_record` takes both.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medagentgym.errors import UserError

RECORD_SCHEMA = "medagentgym/episode/1"

STOP_REASONS = {
    "submitted": "the agent submitted",
    "abstained": "the agent said that the data cannot answer the question",
    "accepted": "the stop judge accepted an attempt",
    "out_of_steps": "the agent used all its steps",
    "out_of_budget": "the agent's tokens, context window or cost were used up",
    "unparsable": "too many replies held no readable action",
    "published": "the published system does not say why its episodes end",
}

_NEEDED = {"task": str, "idx": int, "instance_id": str, "rollout": int, "steps": list, "attempts": list, "result": str, "stop_reason": str}
"""Keys without which a record can be neither scored nor told from another one, and what they hold; the lists hold objects."""
_OPTIONAL = {"protocol": str, "stop_judge": str, "usage": dict, "sandbox": dict, "messages": list}
"""Keys that may be absent or null, and what they hold otherwise."""
_EVIDENCE = frozenset({"has_answer", "answer", "stdout", "stderr", "exit_status"})
"""Keys without which an attempt cannot be judged again."""

_FILE_NAME = re.compile(r"^history_(?P<idx>\d+)(?:_(?P<rollout>\d+))?\.json$")


@dataclass(frozen=True, order=True)
class EpisodeKey:
    """Which episode of an experiment: the instance's position and the number of the rollout, both from 0."""

    idx: int
    rollout: int = 0


def episode_file(folder: Path, key: EpisodeKey, num_rollouts: int) -> Path:
    """Where the record of an episode lies: `history_<idx>.json`, or `history_<idx>_<rollout>.json` where there are several rollouts."""
    name = f"history_{key.idx}.json" if num_rollouts == 1 else f"history_{key.idx}_{key.rollout}.json"
    return folder / name


def parse_episode_file(name: str) -> tuple[int, int | None] | None:
    """`idx` and rollout (None where the name has none) of a record's file name, or None for another file."""
    match = _FILE_NAME.match(name)
    if match is None:
        return None
    rollout = match["rollout"]
    return int(match["idx"]), None if rollout is None else int(rollout)


def write_json(path: Path, data: Any) -> None:
    """Write JSON so that the file is either whole or absent, whatever happens meanwhile. Keys keep their order."""
    write_text(path, json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str, *, alone: bool = False) -> None:
    """Write a text file whole or not at all: into a temporary file of the same folder, then renamed over the target.

    `alone` says that nobody else can be writing this file (its lock is held): the temporary file's name is then fixed, so that what a killed process
    left behind is overwritten and does not pile up.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if alone:
        temporary = str(path.parent / f".{path.name}.partial")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    else:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_json(path: Path) -> Any:
    """Read JSON data. Raises `OSError`, or `ValueError` where the file holds none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def read_object(path: Path) -> dict[str, Any]:
    """Read the JSON object of a file. Raises `OSError`, or `ValueError` where the file holds none."""
    data = read_json(path)
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return data


def read_record(path: Path) -> dict[str, Any]:
    """Read the record of an episode, ours or a published one. A published one is given our keys, with `schema` `published`.

    Raises `UserError` naming the file where it is neither.
    """
    try:
        data = read_json(path)
    except FileNotFoundError as error:
        raise UserError(f"{path}: there is no such episode") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a readable episode ({error}); delete the file to have the episode made again") from error
    if isinstance(data, list):
        return _from_published(path, data)
    if not isinstance(data, dict) or data.get("schema") != RECORD_SCHEMA:
        raise UserError(f"{path}: not an episode record (key schema); move the file away")
    damaged = next((key for key, kind in _NEEDED.items() if type(data.get(key)) is not kind or not _holds_objects(data[key])), None)
    damaged = damaged or next(("attempts" for attempt in data["attempts"] if not _is_attempt(attempt)), None)
    damaged = damaged or next((key for key, kind in _OPTIONAL.items() if not isinstance(data.get(key), kind | None)), None)
    if damaged is not None:
        raise UserError(f"{path}: not a whole episode record (key {damaged}); delete the file to have the episode made again")
    return data


def _is_attempt(attempt: dict[str, Any]) -> bool:
    verdicts = attempt.get("verdicts") or {}
    evidence = attempt.get("evidence")
    told = isinstance(verdicts, dict) and all(
        isinstance(verdict, dict) and {"correct", "score", "reason"} <= set(verdict) for verdict in verdicts.values()
    )
    return type(attempt.get("step")) is int and isinstance(evidence, dict) and set(evidence) >= _EVIDENCE and told


def _holds_objects(value: Any) -> bool:
    return not isinstance(value, list) or all(isinstance(item, dict) for item in value)


def _from_published(path: Path, messages: list[Any]) -> dict[str, Any]:
    last = messages[-1] if messages else None
    key = parse_episode_file(path.name)
    if not isinstance(last, dict) or last.get("result") not in ("success", "failure") or key is None:
        raise UserError(f"{path}: a list that does not end in a result is not an episode; move the file away")
    score = last.get("score") or 0.0
    if not isinstance(score, (int, float)) or not math.isfinite(score):
        raise UserError(f"{path}: its score is no number; correct the last entry of the list, or move the file away")
    conversation = [message for message in messages[:-1] if isinstance(message, dict)]
    return {
        "schema": "published",
        "task": None,
        "mode": path.parent.name,
        "idx": key[0],
        "instance_id": str(key[0]),
        "rollout": key[1] or 0,
        "protocol": "oracle_stop",
        "stop_judge": "published",
        "messages": conversation,
        "steps": [{} for message in conversation if message.get("role") == "assistant"],
        "attempts": [],
        "result": last["result"],
        "score": float(score),
        "stop_reason": "published",
        "usage": None,
        "sandbox": None,
    }
