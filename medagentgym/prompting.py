"""The prompt of an episode: template files filled with what the task says of an instance, and example conversations between them.

Templates are Jinja2 files. They are given the fields of `Task.prompt_fields` and

- `actions`: the permitted actions, each with `name`, `description`, `example`, and `parameters` (`name`, `description`, `required`, `choices`);
- `permitted`: their names;
- `task`, `mode`, `protocol`, `tell_verdict`, `num_steps`, `wall_seconds`, `network`, `observation_characters`: as configured.

A template is one file: it cannot include others, so that its text alone is what the fingerprint must know. A field that does not exist is an error.
"""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medagentgym.actions import ACTION_FORMS, action_forms
from medagentgym.errors import UserError, one_line
from medagentgym.llm.messages import Message, make_system_message, make_user_message

if TYPE_CHECKING:
    from jinja2 import Template

    from medagentgym.config import Config

SHORTEST_QUESTION = 12
"""Characters below which a question is not searched for in examples: it would be found in any text."""


@dataclass(frozen=True)
class Example:
    """An example conversation of the few-shot file."""

    instance_id: str
    messages: tuple[Message, ...]
    line: int
    """Its line in the file, from 1."""


def render_prompt(config: Config, fields: Mapping[str, str], permitted: Sequence[str]) -> list[Message]:
    """System message, example conversations and user message of an episode.

    Raises `UserError` naming file and line where a template or the few-shot file is missing or wrong.
    """
    values: dict[str, Any] = {
        "actions": action_forms(permitted),
        "permitted": list(permitted),
        "task": config.task,
        "mode": config.mode,
        "protocol": config.protocol,
        "tell_verdict": config.tell_verdict,
        "num_steps": config.num_steps,
        "wall_seconds": config.sandbox.wall_seconds,
        "network": config.sandbox.network,
        "observation_characters": config.env.observation_characters,
        **fields,
    }
    system = _render("prompts.system", config.prompts.system, "system", values)
    user = _render("prompts.user", config.prompts.user, "user", values)
    examples = [dict(message) for example in few_shot_examples(config) for message in example.messages]
    return [make_system_message(system), *examples, make_user_message(user)]


def render_debug_prompt(code: str, error_message: str) -> str:
    """What the model of the `debug` action is asked."""
    return _render("debug", None, "debug", {"code": code, "error_message": error_message})


def prompt_digest(config: Config) -> str:
    """SHA-256 over everything that prompts are made of, the fields of the task aside: templates, example conversations, forms of the actions."""
    sha = hashlib.sha256()
    parts = [
        ("system", _template_text("prompts.system", config.prompts.system, "system")),
        ("user", _template_text("prompts.user", config.prompts.user, "user")),
        ("debug", _template_text("debug", None, "debug")),
        ("few_shot", "" if config.prompts.few_shot is None else _read("prompts.few_shot", config.prompts.few_shot)),
        ("actions", json.dumps([asdict(form) for form in ACTION_FORMS.values()])),
    ]
    for label, text in parts:
        content = text.encode()
        sha.update(f"{label} {len(content)}\n".encode() + content)
    return sha.hexdigest()


# --- examples -----------------------------------------------------------------------------------------------------------------------------------


def few_shot_examples(config: Config) -> list[Example]:
    """The example conversations of `prompts.few_shot`, none where it is not set.

    The file is JSON Lines: `{"instance_id": ..., "messages": [{"role": ..., "content": ...}, ...]}`, a conversation from a user message to a reply.
    Raises `UserError` naming file and line.
    """
    path = config.prompts.few_shot
    return [] if path is None else list(_parse_examples(str(path), _read("prompts.few_shot", path)))


def check_few_shot(config: Config, test_questions: Iterable[str], ids: Iterable[str | int]) -> None:
    """Make sure that no example gives away what is asked.

    `test_questions` and `ids` are the questions and instance ids of the split that is asked. Raises `UserError` naming the example's line where its
    instance is among them, or where one of the questions stands in it. Case and white space do not count.
    """
    examples = few_shot_examples(config)
    if not examples:
        return
    asked = {str(instance_id) for instance_id in ids}
    for example in examples:
        if example.instance_id in asked:
            raise UserError(
                f"{config.prompts.few_shot}:{example.line}: instance {example.instance_id} is among those asked; take examples from the train split"
            )
    texts = [(example, _folded("\n".join(_text_of(message) for message in example.messages))) for example in examples]
    for question in {_folded(question) for question in test_questions}:
        for example, text in texts:
            if len(question) >= SHORTEST_QUESTION and question in text:
                shown = question if len(question) <= 60 else f"{question[:60]}…"
                raise UserError(
                    f"{config.prompts.few_shot}:{example.line}: holds a question that is asked ({shown!r}); take examples from the train split"
                )


@lru_cache(maxsize=4)
def _parse_examples(path: str, text: str) -> tuple[Example, ...]:
    examples = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where}: not JSON ({one_line(error)}); expected one example a line") from error
        if not isinstance(data, dict) or not isinstance(data.get("instance_id"), (str, int)) or isinstance(data.get("instance_id"), bool):
            raise UserError(f"{where}: instance_id is missing; it is needed to make sure that the example is not among the questions asked")
        examples.append(Example(str(data["instance_id"]), _conversation(data.get("messages"), where), number))
    if not examples:
        raise UserError(f"{path}: holds no example; leave prompts.few_shot out")
    return tuple(examples)


def _conversation(messages: Any, where: str) -> tuple[Message, ...]:
    if not isinstance(messages, list) or not messages:
        raise UserError(f"{where}: messages is missing; expected a list of chat messages")
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant", "tool"):
            raise UserError(f"{where}: messages: expected the roles user and assistant, not {role!r}")
        if not isinstance(message.get("content"), str) and not message.get("tool_calls"):
            raise UserError(f"{where}: messages: the content of a message must be a text")
    if messages[0]["role"] != "user" or messages[-1]["role"] != "assistant":
        raise UserError(f"{where}: messages: an example begins with a user message and ends with a reply of the assistant")
    return tuple(messages)


def _text_of(message: Message) -> str:
    return str(message.get("content") or "") + json.dumps(message.get("tool_calls") or "", ensure_ascii=False)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


# --- templates ----------------------------------------------------------------------------------------------------------------------------------


def _render(key: str, path: Path | None, name: str, values: Mapping[str, Any]) -> str:
    import jinja2

    file = str(path) if path is not None else f"{name}.md.jinja"
    try:
        text = _template(file, _template_text(key, path, name)).render(values)
    except jinja2.TemplateSyntaxError as error:
        raise UserError(f"{file}:{error.lineno}: {one_line(error.message or 'not a template')}") from error
    except jinja2.UndefinedError as error:
        known = ", ".join(sorted(values))
        raise UserError(f"{_place(file, error)}: {one_line(error)}; there are: {known}") from error
    except jinja2.TemplateNotFound as error:
        raise UserError(f"{_place(file, error)}: a template cannot include another file ({error})") from error
    except Exception as error:
        # Whatever a template computes is its author's: division by zero, a wrong type, something that the sandbox forbids.
        raise UserError(f"{_place(file, error)}: {type(error).__name__}: {one_line(error)}") from error
    return text.strip()


@lru_cache(maxsize=16)
def _template(file: str, text: str) -> Template:
    from jinja2 import BaseLoader, Environment, FunctionLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    loader: BaseLoader = FunctionLoader(lambda name: (text, file, None) if name == file else None)
    environment: Environment = ImmutableSandboxedEnvironment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(file)


def _place(file: str, error: Exception) -> str:
    """File and line of the template in which an error arose."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{file}:{lines[-1]}" if lines else file


def _template_text(key: str, path: Path | None, name: str) -> str:
    if path is not None:
        return _read(key, path)
    return resources.files("medagentgym").joinpath("prompts", f"{name}.md.jinja").read_text(encoding="utf-8")


def _read(key: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); {key} names it") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text (byte {error.start}); {key} names it") from error
