"""Reading an action out of a reply, as models really write replies.

What is taken:

- One JSON object `{"action": ..., "params": {...}}`, with or without a fence, with text around it, in the dialects of `medagentgym.env.lenient_json`;
  parameters beside `action` instead of below `params`; the usual other names of the keys (`name` and `arguments` of tool calls, for example).
- Native tool calls. They go before the text.
- Thinking (`<think>...</think>`, and the marks of other models) is left out, an action in it is a draft. Where thinking does not end, the last action
  in it counts.
- Of several actions the first counts. An action that was meant but cannot be read is an error, even where a readable one follows.
- A reply with no action but exactly one closed fence labelled as Python that holds a program is taken as `validate_code` of that program, where
  that is permitted.

What was done to understand a reply is said in `remarks`, which the agent is shown. A program in a string is taken to the letter. It is changed in one
case only: it does not compile as it stands, and does once a surplus level of escaping, indentation or fencing is taken off.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from medagentgym.actions import ACTION_FORMS, ActionForm, Parameter, action_form
from medagentgym.env.lenient_json import Found, find_objects, unescape

ReplyKind = Literal["action", "prose", "broken"]

_THINK_TAG = re.compile(
    r"(?P<close></(?:seed:)?(?i:think|thinking|thought|reasoning)>|\[/THINK\]|\u25c1/think\u25b7|<\|channel\|>final<\|message\|>)"
    r"|<(?:seed:)?(?i:think|thinking|thought|reasoning)>|\[THINK\]|\u25c1think\u25b7|<\|channel\|>analysis<\|message\|>"
)
_PART_OF_ACTION = re.compile(r"[\"'](?:action|params|arguments|code|cmd|info_type|error_msg)[\"']\s*:", re.IGNORECASE)
_MEANT_ACTION = re.compile(r"\{\s*[\"'\u201c\u201d\u2018\u2019]?action[\"'\u201c\u201d\u2018\u2019]?\s*[:=]", re.IGNORECASE)
_FENCE_LINE = re.compile(r"[ \t]*```[ \t]*([\w+-]*)[ \t]*$")
_FENCED_PROGRAM = re.compile(r"\A\s*```[ \t]*(?:\w+)?[ \t]*\n(.*?)\n?[ \t]*```\s*\Z", re.DOTALL)
_CALL_START = re.compile(r"\{\s*[\"']?action[\"']?\s*:\s*[\"'](\w+)[\"']", re.IGNORECASE)
_CODE_START = re.compile(r"[\"']?code[\"']?\s*:\s*\"", re.IGNORECASE)
_CODE_END = re.compile(r"\"(?=\s*\}|\s*,\s*\"\w+\"\s*:)")
_ERROR_MESSAGE_TAIL = re.compile(r"\"\s*,\s*\"(?P<name>\w+)\"\s*:\s*\"(?P<text>(?:[^\"\\]|\\.){0,20000})\"\s*\}")
_CODE_FILE = "program_of_a_reply.py"
_MAX_PROGRAM = 200_000
"""Characters of the longest program that is tried for compiling."""

_NAME_KEYS = ("action", "action_name", "name", "tool", "tool_name", "function", "function_name")
_PARAMS_KEYS = ("params", "parameters", "arguments", "args", "action_input", "action_params", "input", "kwargs")

# Compiling a program warns of its invalid escapes; that is the program's business, not the reader's.
warnings.filterwarnings("ignore", module=re.escape(_CODE_FILE.removesuffix(".py")))


@dataclass(frozen=True)
class ParsedReply:
    """What was read out of a reply. `action` is `error` where it holds no readable action; `params` then holds `message` and `kind`."""

    action: str
    params: dict[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    """Sentences for the agent on how its reply was understood."""
    kind: ReplyKind = "action"
    """`action`; `prose`: text without an action, which may be meant as final; `broken`: an action was meant or is missing."""

    @property
    def error(self) -> str | None:
        """What was wrong with the reply, for the agent to read; None where it holds an action."""
        return None if self.kind == "action" else str(self.params["message"])


def parse_reply(text: str, permitted: Sequence[str], tool_calls: Sequence[Mapping[str, Any]] | None = None, *, cut: bool = False) -> ParsedReply:
    """Read the action out of a reply. Never raises: what cannot be read is a `ParsedReply` of kind `prose` or `broken`.

    `permitted` are the actions of the task. `tool_calls` are the reply's native ones in the form of the chat completions interface. `cut` says that
    the reply ended at a limit of its length: nothing missing at its end is made up for then.
    """
    if tool_calls:
        return _from_tool_calls(tool_calls, permitted)
    text = _valid_unicode(text)
    remarks: list[str] = []
    try:
        found = _outside_thinking(text, _actions_in(text, permitted, close=not cut), remarks)
        if found.candidates:
            if len(found.candidates) > 1:
                remarks.append(f"Your reply holds {len(found.candidates)} actions; only the first was carried out.")
            first = found.candidates[0]
            if first.call is None:
                return _broken(f"The action in your reply cannot be read: {first.reason}. {_form_hint(permitted)}")
            return _checked(first.call, permitted, remarks)
        return _without_action(text, found, permitted, remarks)
    except _RefusedError as refused:
        return _broken(str(refused))


def without_thinking(text: str) -> str:
    """A reply without its thinking, for replies that hold no action but an explanation."""
    position, rest = 0, ""
    for tag in _THINK_TAG.finditer(text):
        if tag["close"]:
            rest, position = "", tag.end()
        else:
            rest += text[position : tag.start()]
            position = len(text)
    return (rest + text[position:]).strip()


# --- finding ------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Call:
    """An action as written: its name, and its parameters below `params` and beside the name."""

    name: Any
    params: Any
    beside: dict[str, Any]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    """A place in the text where an action is, or was meant (`call` is None)."""

    start: int
    end: int
    call: _Call | None
    reason: str = ""


@dataclass(frozen=True)
class _Outside:
    """What a reply holds outside its thinking."""

    candidates: list[_Candidate]
    text: str
    thinks_only: bool


class _RefusedError(Exception):
    """The reply is broken; the message is for the agent."""


def _actions_in(text: str, permitted: Sequence[str], *, close: bool) -> list[_Candidate]:
    candidates: list[_Candidate] = []
    covered = 0
    for found in find_objects(text, close=close):
        if found.start < covered:
            continue
        if found.value is not None:
            calls = list(_calls_in(found.value, permitted))
            candidates.extend(_Candidate(found.start, found.end, call) for call in calls)
        elif _MEANT_ACTION.match(text, found.start):
            rescued = _rescue_quotes(text, found.start) if close else None
            candidates.append(rescued or _Candidate(found.start, found.start + 1, None, found.reason))
            covered = rescued.end if rescued else covered
    return candidates


def _outside_thinking(text: str, candidates: list[_Candidate], remarks: list[str]) -> _Outside:
    """Leave the thinking out. Tags inside an action are its own (a program may print one)."""
    closed_at, opened_at = 0, None
    spans = [(candidate.start, candidate.end) for candidate in candidates]
    for tag in _THINK_TAG.finditer(text):
        if any(start <= tag.start() < end for start, end in spans):
            continue
        if tag["close"]:
            closed_at, opened_at = tag.end(), None
        elif opened_at is None:
            opened_at = tag.start()
    after = [candidate for candidate in candidates if candidate.start >= closed_at]
    if opened_at is None:
        rest = text[closed_at:]
        return _Outside(after, rest, closed_at > 0 and not rest.strip())
    before = [candidate for candidate in after if candidate.start < opened_at]
    if before:
        return _Outside(before, text[closed_at:opened_at], False)
    if after:
        remarks.append("Your thinking was not closed with </think>; the last action in it was taken.")
    return _Outside(after[-1:], text[closed_at:opened_at], not text[closed_at:opened_at].strip())


def _calls_in(value: Any, permitted: Sequence[str], depth: int = 0) -> Iterator[_Call]:
    """The actions in a value: itself, or further inside where it is only a wrapper."""
    if depth > 4:
        return
    if isinstance(value, list):
        for item in value:
            yield from _calls_in(item, permitted, depth + 1)
    elif isinstance(value, dict):
        call = _as_call(value, permitted)
        if call is not None:
            yield call
        else:
            for item in value.values():
                if isinstance(item, (dict, list)):
                    yield from _calls_in(item, permitted, depth + 1)


def _as_call(value: dict[str, Any], permitted: Sequence[str]) -> _Call | None:
    keys = {str(key).strip().lower(): key for key in value}
    for name_key in _NAME_KEYS:
        if name_key not in keys:
            continue
        name = value[keys[name_key]]
        params_key = next((key for key in _PARAMS_KEYS if key in keys), None)
        if isinstance(name, (dict, list)):
            inner = next(_calls_in(name, permitted, 3), None)
            if inner is not None and (inner.params or params_key is None):
                return inner
            if inner is not None and params_key is not None:
                return _Call(inner.name, value[keys[params_key]], {}, inner.remarks)
            continue
        # Under other names than `action`, only what is an action beyond doubt: data have keys such as `name`, too.
        if name_key not in ("action", "action_name") and _known_action(name, permitted) is None and not (params_key and isinstance(name, str)):
            continue
        beside = {str(key): item for key, item in value.items() if key not in (keys[name_key], keys.get(params_key or ""))}
        return _Call(name, None if params_key is None else value[keys[params_key]], beside)
    if len(value) == 1:
        (name, params), *_ = value.items()
        if _known_action(name, permitted) is not None:
            return _Call(name, params, {})
    return None


def _from_tool_calls(tool_calls: Sequence[Mapping[str, Any]], permitted: Sequence[str]) -> ParsedReply:
    function = tool_calls[0].get("function")
    if not isinstance(function, Mapping):
        return _broken(f"The tool call in your reply names no function. {_form_hint(permitted)}")
    remarks = [] if len(tool_calls) == 1 else [f"Your reply holds {len(tool_calls)} actions; only the first was carried out."]
    arguments = function.get("arguments")
    try:
        return _checked(_Call(function.get("name"), arguments, {}), permitted, remarks)
    except _RefusedError as refused:
        return _broken(str(refused))


def _rescue_quotes(text: str, start: int) -> _Candidate | None:
    """Read an action whose program has quotes that are not escaped: the longest reading that is a program, where there is one."""
    name = _CALL_START.match(text, start)
    code_start = _CODE_START.search(text, name.end(), name.end() + 200) if name else None
    if name is None or code_start is None:
        return None
    stop = min(len(text), code_start.end() + _MAX_PROGRAM)
    ends = list(_CODE_END.finditer(text, code_start.end(), stop))
    for end in reversed(ends[-12:]):
        code = unescape(text[code_start.end() : end.start()])
        if not _compiles(code):
            continue
        params = {"code": code}
        tail = _ERROR_MESSAGE_TAIL.match(text, end.start())
        if tail is not None:
            params[tail["name"]] = unescape(tail["text"])
        remark = "The quotes in your code were not escaped as JSON wants it; it was read as the program that it most likely is."
        return _Candidate(start, end.end(), _Call(name[1], params, {}, (remark,)))
    return None


# --- checking -----------------------------------------------------------------------------------------------------------------------------------


def _checked(call: _Call, permitted: Sequence[str], remarks: list[str]) -> ParsedReply:
    remarks.extend(call.remarks)
    name = _permitted_action(call.name, permitted)
    form = action_form(name)
    params = _params_of(call, form)
    if form is None:
        return ParsedReply(name, {str(key): value for key, value in (params or call.beside).items()}, tuple(remarks))
    checked: dict[str, Any] = {}
    for parameter in form.parameters:
        value = _value_of(parameter, params)
        if value is None:
            value = _value_of(parameter, call.beside)
        if value is None:
            if parameter.required:
                raise _RefusedError(f'The action {name} needs the parameter "{parameter.name}" ({parameter.description}). Write {form.example}.')
            continue
        checked[parameter.name] = _text_of(name, parameter, value, remarks)
    if name == "submit" and any(key in params for key in ("answer", "result", "final_answer")):
        remarks.append("submit takes no parameters: the answer that counts is the one that your last program left in the variable answer.")
    return ParsedReply(name, checked, tuple(remarks))


def _permitted_action(name: Any, permitted: Sequence[str]) -> str:
    listed = ", ".join(permitted)
    if not isinstance(name, str) or not name.strip():
        raise _RefusedError(f'The value of "action" must be the name of an action as a text. Permitted actions: {listed}.')
    known = _known_action(name, permitted)
    if known in permitted:
        return str(known)
    if known is not None:
        raise _RefusedError(f"The action {known} is not available in this task. Permitted actions: {listed}.")
    shown = " ".join(name.split())[:60]
    by_letters = {_letters(action): action for action in permitted}
    near = difflib.get_close_matches(_letters(name)[:60], by_letters, n=1, cutoff=0.4)
    suggestion = f" Did you mean {by_letters[near[0]]}?" if near else ""
    raise _RefusedError(f'There is no action "{shown}".{suggestion} Permitted actions: {listed}.')


def _known_action(name: Any, permitted: Sequence[str]) -> str | None:
    """The action that a name stands for, whatever its case, spaces and dashes, or None."""
    if not isinstance(name, str) or len(name) > 200:
        return None
    letters = _letters(name.strip().removesuffix("()").rsplit(".", 1)[-1])
    return next((action for action in (*permitted, *ACTION_FORMS) if _letters(action) == letters), None)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _params_of(call: _Call, form: ActionForm | None) -> dict[str, Any]:
    params = call.params
    if isinstance(params, list) and len(params) == 1:
        params = params[0]
    if params is None or params == "" or params == []:
        return {}
    if isinstance(params, dict):
        return params
    if isinstance(params, str):
        inner = _object_of(params)
        if inner is not None:
            return inner
        needed = [parameter for parameter in form.parameters if parameter.required] or list(form.parameters) if form else []
        if len(needed) == 1 and not params.lstrip().startswith('{"'):
            return {needed[0].name: params}
    raise _RefusedError(f'"params" must be an object. Write {form.example if form else "an object of parameters"}.')


def _object_of(text: str) -> dict[str, Any] | None:
    """The object that a text is, all of it, or None."""
    stripped = text.strip()
    found: Found | None = next(find_objects(stripped, close=False), None) if stripped.startswith("{") else None
    return found.value if found is not None and found.start == 0 and found.end == len(stripped) else None


def _value_of(parameter: Parameter, params: Mapping[str, Any]) -> Any:
    keys = {str(key).strip().lower(): key for key in params}
    for name in (parameter.name, *parameter.other_names):
        if name in keys and params[keys[name]] is not None:
            return params[keys[name]]
    return None


def _text_of(action: str, parameter: Parameter, value: Any, remarks: list[str]) -> str:
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        value = "\n".join(line.removesuffix("\n") for line in value) if parameter.is_code else ", ".join(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and not parameter.is_code:
        value = str(value)
    if not isinstance(value, str):
        kind = {dict: "an object", list: "a list", bool: "true or false"}.get(type(value), "a number")
        raise _RefusedError(f'The parameter "{parameter.name}" of {action} must be a text, not {kind}.')
    if parameter.choices:
        return next((choice for choice in parameter.choices if _letters(choice) == _letters(value)), value)
    if parameter.required and not value.strip():
        raise _RefusedError(f'The parameter "{parameter.name}" of {action} is empty.')
    return _valid_unicode(_program_of(value, remarks) if parameter.is_code else value)


# --- programs -----------------------------------------------------------------------------------------------------------------------------------


def _program_of(code: str, remarks: list[str]) -> str:
    """The program as written, or without one surplus level of fencing, escaping or indentation where only that makes it compile."""
    fenced = _FENCED_PROGRAM.match(code)
    if fenced is not None and not _compiles(code):
        code = fenced[1]
    if not ("\\" in code or code[:1].isspace()) or _compiles(code):
        return code
    for what, other in (
        ("indented as a whole", textwrap.dedent(code)),
        ("indented", code.strip()),
        ("escaped twice", code.replace('\\"', '"').replace("\\'", "'")),
        ("escaped twice", unescape(code)),
    ):
        if other != code and _compiles(other):
            remarks.append(f"Your code was {what} and did not compile as it stood; it was read without that.")
            return other
    return code


def _compiles(code: str) -> bool:
    if len(code) > _MAX_PROGRAM:
        return False
    try:
        compile(code, _CODE_FILE, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def _is_program(code: str) -> bool:
    """Whether a text is a program that does something, not only a name or a value."""
    if len(code) > _MAX_PROGRAM or not _compiles(code):
        return False
    body = ast.parse(code, _CODE_FILE).body
    return any(not isinstance(statement, ast.Expr) or any(isinstance(node, ast.Call) for node in ast.walk(statement)) for statement in body)


# --- replies without an action ------------------------------------------------------------------------------------------------------------------


def _without_action(text: str, found: _Outside, permitted: Sequence[str], remarks: list[str]) -> ParsedReply:
    if not text.strip():
        return _broken(f"Your reply was empty. {_form_hint(permitted)}")
    if found.thinks_only:
        return _broken(f"Your reply holds only thinking and no action after it. {_form_hint(permitted)}")
    programs = [code for label, code in _fences(found.text) if label.lower() in ("python", "py", "python3") and _is_program(code)]
    if len(programs) == 1 and "validate_code" in permitted:
        remarks.append(f"Your reply holds code but no action; it was run as validate_code. {_form_hint(permitted)}")
        return ParsedReply("validate_code", {"code": programs[0]}, tuple(remarks))
    if programs:
        return _broken(f"Your reply holds code but no action, so nothing was run. {_form_hint(permitted)}")
    rest = found.text.strip()
    if _PART_OF_ACTION.search(rest) or (rest.startswith(("{", "[{", "```")) and "{" in rest[:200]):
        return _broken(f'The object in your reply has no readable "action". {_form_hint(permitted)}')
    return _error("prose", f"Your reply holds no action. {_form_hint(permitted)}")


def _fences(text: str) -> Iterator[tuple[str, str]]:
    """Label and content of every closed fence."""
    label, lines = None, list[str]()
    for line in text.split("\n"):
        mark = _FENCE_LINE.match(line)
        if mark is None:
            lines.append(line)
        elif label is None:
            label, lines = mark[1], []
        elif not mark[1]:
            yield label, "\n".join(lines)
            label = None


def _form_hint(permitted: Sequence[str]) -> str:
    return f'Answer with one JSON object {{"action": "…", "params": {{…}}}}; permitted actions: {", ".join(permitted)}.'


def _broken(message: str) -> ParsedReply:
    return _error("broken", message)


def _error(kind: Literal["prose", "broken"], message: str) -> ParsedReply:
    return ParsedReply("error", {"message": message, "kind": kind}, (), kind)


def _valid_unicode(text: str) -> str:
    """The text with halves of surrogate pairs joined, or replaced where they stand alone, so that it can be written as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def as_reply(action: str, params: Mapping[str, Any] | None = None) -> str:
    """A reply that holds an action, in the form that models are asked for."""
    return json.dumps({"action": action, "params": dict(params or {})}, ensure_ascii=False)
