"""What happened in an episode, for a person to read: what it was about and how it ended first, then the conversation."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from medagentgym import fingerprint
from medagentgym.answers import answer_of, answer_text, gold_text
from medagentgym.config import Config
from medagentgym.errors import UserError, one_line
from medagentgym.plan import read_plan
from medagentgym.record import STOP_REASONS, read_record
from medagentgym.tasks.registry import get_task_class

PROMPT_HEAD, PROMPT_TAIL = 4, 8
"""Lines shown of the beginning and the end of a message of the prompt."""
_LONGEST_LINE = 2000
"""Characters shown of one line of the heading."""
_TEXTS = frozenset({"answer", "code", "cmd", "command"})
"""Parameters that are shown on lines of their own, however short."""
_OBJECT = re.compile(r'\{\s*"')
_JSON = json.JSONDecoder(strict=False)


def transcript(path: Path, *, full: bool = False) -> str:
    """A heading, the conversation, the verdicts on every attempt and the end of the episode in a record's file, ours or a published one.

    What was said before the agent's first reply is shortened unless `full`. Heading and reasons quote the gold answer. Raises `UserError` where the
    file is no episode.
    """
    if not path.exists() and not path.is_absolute():
        raise UserError(
            f"{path}: there is no such episode; reports name episodes as they lie below the run's work_dir, so give that folder before the path, "
            f"for example {Path('work_dir/demo') / path}"
        )
    record = read_record(path)
    messages = record.get("messages") or []
    prompt = next((position for position, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))
    parts = [_heading(path, record)]
    parts += [_message(message, shorten=position < prompt and not full) for position, message in enumerate(messages)]
    parts += list(_verdicts(record))
    parts.append(_outcome(record))
    return "\n\n".join(parts)


# --- the heading ------------------------------------------------------------------------------------------------------------------------------------


def _heading(path: Path, record: Mapping[str, Any]) -> str:
    question, gold = _asked(path, record)
    lines = [
        ("task", f"{record['task'] or 'published episode'}, mode {record.get('mode')}"),
        ("instance", f"{record['idx']}, named {record['instance_id']}"),
        ("agent", record.get("agent")),
        ("question", question),
        ("answer", answer_of(record) or "(not kept in a published record)"),
        ("gold", gold),
        ("outcome", _outcome(record)),
        *((f"judge {judge}", _in_words(verdict)) for judge, verdict in _last_verdicts(record).items()),
        ("steps", _steps(record)),
        ("cost", _cost(record.get("usage") or {})),
    ]
    width = max(len(name) for name, _ in lines)
    shown = [f"{name:{width}}  {_limited(one_line(value))}" for name, value in lines if value]
    return "\n".join([f"{path}: instance {record['idx']}, rollout {record['rollout']}", "", *shown])


def _asked(path: Path, record: Mapping[str, Any]) -> tuple[str, str]:
    """Question and gold, from the data of the working folder in which the record lies, or why they are not known."""
    try:
        config = _configuration(path)
        task = get_task_class(config.task)(path.resolve().parents[3] / "data" / config.task, config)
        made_by = fingerprint.read(path.parent)
        if made_by is not None:
            fingerprint.check_episode(path, record, made_by["fingerprint"], task)
        instance = task.instance(int(record["idx"]))
        asked = instance.question, gold_text(task.reference(instance))
        task.close()
    except UserError as error:
        return "(not known: see the end of the prompt below)", f"(not known: {error})"
    return asked


def _configuration(path: Path) -> Config:
    """The configuration of the latest run that had the experiment of this episode. Raises `UserError`."""
    try:
        work_dir = path.resolve().parents[3]
    except IndexError as error:
        raise UserError("the file does not lie in the working folder of a run") from error
    place = path.resolve().parent.relative_to(work_dir).as_posix()
    plans = sorted((work_dir / ".plans").glob("*.json"), key=lambda plan: (plan.stat().st_mtime, plan.name), reverse=True)
    for plan in plans:
        try:
            configs = read_plan(plan)
        except UserError:  # of another version
            continue
        for config in configs:
            if f"{config.task}/{config.result_dir_tag}/{config.mode}" == place:
                return config
    raise UserError(f"no run in {work_dir} had this episode")


def _outcome(record: Mapping[str, Any]) -> str:
    score = f", score {record['score']:g}" if isinstance(record.get("score"), (int, float)) else ""
    stopped = str(record["stop_reason"])
    if stopped == "published":
        end = STOP_REASONS[stopped]
    else:
        end = f"ended because {STOP_REASONS[stopped]}" if stopped in STOP_REASONS else f"stop reason {stopped}"
    return f"{record['result']}{score}; {end}"


def _last_verdicts(record: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return dict(record["attempts"][-1].get("verdicts") or {}) if record["attempts"] else {}


def _in_words(verdict: Mapping[str, Any]) -> str:
    return f"{'right' if verdict['correct'] else 'wrong'}: {verdict['reason']}"


def _steps(record: Mapping[str, Any]) -> str:
    count, attempts = len(record["steps"]), len(record["attempts"])
    actions = Counter(str(step["action"]) for step in record["steps"] if step.get("action"))
    named = ", ".join(f"{action} {number}" for action, number in actions.items())
    known = "" if record["schema"] == "published" else f"; {attempts} {'attempt' if attempts == 1 else 'attempts'}"
    return f"{count}{f' ({named})' if named else ''}{known}"


def _cost(usage: Mapping[str, Any]) -> str:
    if not usage:
        return ""
    if not usage.get("calls"):
        return "no model was called"
    tokens = f"{usage['calls']} calls, {usage.get('prompt_tokens') or 0:,} tokens in, {usage.get('completion_tokens') or 0:,} out"
    return f"{tokens}; {'no price is configured' if usage.get('cost') is None else format(usage['cost'], '.4g')}"


def _limited(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}… ({len(text):,} characters)"


# --- the conversation -------------------------------------------------------------------------------------------------------------------------------


def _message(message: Mapping[str, Any], *, shorten: bool) -> str:
    content = str(message.get("content") or "")
    calls = [f"calls {_call(str(call['function']['name']), call['function']['arguments'])}" for call in message.get("tool_calls") or ()]
    if shorten:
        shown = _without_middle(content.splitlines())
    else:
        shown = [_with_actions(content) if message.get("role") == "assistant" else content]
    return "\n".join([f"--- {message.get('role', '?')} ---", *(shown if content else []), *calls])


def _with_actions(reply: str) -> str:
    """A reply with the actions that stand in it as JSON written as their names and parameters; what is around them stays."""
    shown, position = "", 0
    for start in _OBJECT.finditer(reply):
        if start.start() < position:
            continue
        try:
            given, end = _JSON.raw_decode(reply, start.start())
        except ValueError:
            continue
        except RecursionError:  # no action is nested so deeply, and each of its levels would be tried
            break
        if isinstance(given.get("action"), str) and isinstance(given.get("params", {}), dict):
            params = {**given.get("params", {}), **{name: value for name, value in given.items() if name not in ("action", "params")}}
            shown += reply[position : start.start()] + _call(given["action"], json.dumps(params, ensure_ascii=False))
            position = end
    return shown + reply[position:]


def _call(action: str, arguments: Any) -> str:
    """`action(arguments)`, without those that are texts of several lines, programs or commands: these follow, indented, as they were meant."""
    params = _object_of(arguments) if isinstance(arguments, str) else None
    if params is None:
        return f"{action}({arguments})"
    texts = {name: value for name, value in params.items() if isinstance(value, str) and (name in _TEXTS or "\n" in value)}
    others = {name: value for name, value in params.items() if name not in texts}
    lines = [f"{action}({json.dumps(others, ensure_ascii=False)})" if others or not texts else action]
    for name, text in texts.items():
        lines += [f"  {name}:", textwrap.indent(text.rstrip("\n"), "    ")]
    return "\n".join(lines)


def _object_of(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _without_middle(lines: Sequence[str]) -> list[str]:
    left_out = len(lines) - PROMPT_HEAD - PROMPT_TAIL
    if left_out <= 1:
        return list(lines)
    return [*lines[:PROMPT_HEAD], f"[... {left_out} lines, which --full shows ...]", *lines[-PROMPT_TAIL:]]


def _verdicts(record: Mapping[str, Any]) -> Iterator[str]:
    """The attempts with their verdicts. Those in a row that left the same and were judged alike are told once."""
    for said, group in groupby(enumerate(record["attempts"], start=1), key=lambda numbered: _judged(numbered[1])):
        alike = list(group)
        (first, begun), (last, ended) = alike[0], alike[-1]
        which = f"attempt {first}, step {begun['step'] + 1}"
        if len(alike) > 1:
            which = f"attempts {first} to {last}, steps {begun['step'] + 1} to {ended['step'] + 1}"
        yield f"--- {which} ---\n{said}"


def _judged(attempt: Mapping[str, Any]) -> str:
    judged = [f"  {judge}: {_in_words(verdict)}" for judge, verdict in (attempt.get("verdicts") or {}).items()]
    return "\n".join([_left_behind(attempt["evidence"]), *judged])


def _left_behind(evidence: Mapping[str, Any]) -> str:
    if evidence.get("abstained"):
        return "abstained: the data cannot answer the question"
    if not evidence["has_answer"]:
        return "no answer: judged by what was printed"
    return f"answer: {answer_text(evidence)}"
