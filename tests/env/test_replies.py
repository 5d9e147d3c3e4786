"""Replies as models really write them, and what is read out of them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from typing import Any

import pytest

from medagentgym.env.replies import ParsedReply, as_reply, parse_reply, without_thinking

# Programs in replies have invalid escapes, of which compiling them warns.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning")

EHR_ACTIONS = ("request_info", "validate_code", "debug", "submit")
ALL_ACTIONS = (*EHR_ACTIONS[:3], "terminal", "submit")

PROGRAM = "import sqlite3\ncon = sqlite3.connect('/data/mimic_iii.sqlite')\nanswer = con.execute(\"SELECT 1\").fetchall()\nprint(answer)"
ESCAPED = json.dumps(PROGRAM)


def code(text: str) -> dict[str, Any]:
    return {"code": text}


READABLE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "plain object": (f'{{"action": "validate_code", "params": {{"code": {ESCAPED}}}}}', "validate_code", code(PROGRAM)),
    "json fence": (f'```json\n{{"action": "validate_code", "params": {{"code": {ESCAPED}}}}}\n```', "validate_code", code(PROGRAM)),
    "JSON fence in capitals": ('```JSON\n{"action": "submit", "params": {}}\n```', "submit", {}),
    "python fence": ("```python\n{'action': 'submit', 'params': {}}\n```", "submit", {}),
    "fence without label": ('```\n{"action": "submit"}\n```', "submit", {}),
    "fence that is not closed": ('```json\n{"action": "submit", "params": {}}', "submit", {}),
    "assigned in a python fence": (
        '```python\nresponse = {"action": "validate_code", "params": {"code": "x = 1"}}\n```',
        "validate_code",
        code("x = 1"),
    ),
    "text before and after": (
        'First:\n\n{"action": "request_info", "params": {"data_path": "ADMISSIONS.csv", "info_type": "column_names"}}\n\nThen I go on.',
        "request_info",
        {"data_path": "ADMISSIONS.csv", "info_type": "column_names"},
    ),
    "braces in the text before": (
        'The set {a, b} and {x: 1} matter. {"action": "validate_code", "params": {"code": "x = 1"}}',
        "validate_code",
        code("x = 1"),
    ),
    "thinking before": (
        '<think>\nMaybe {"action": "submit", "params": {}}? No, first look.\n</think>\n\n{"action": "validate_code", "params": {"code": "print(1)"}}',
        "validate_code",
        code("print(1)"),
    ),
    "thinking without its opening tag": (
        'First I could {"action": "submit"}.\n</think>\n{"action": "validate_code", "params": {"code": "print(2)"}}',
        "validate_code",
        code("print(2)"),
    ),
    "thinking that never ends": (
        '<think>I could {"action": "submit"} now, but better:\n{"action": "validate_code", "params": {"code": "print(3)"}}',
        "validate_code",
        code("print(3)"),
    ),
    "thinking in the marks of other models": (
        '[THINK]{"action": "submit"}[/THINK]{"action": "validate_code", "params": {"code": "print(4)"}}',
        "validate_code",
        code("print(4)"),
    ),
    "channels": (
        '<|channel|>analysis<|message|>{"action": "submit"}?<|end|>'
        '<|start|>assistant<|channel|>final<|message|>{"action": "validate_code", "params": {"code": "print(5)"}}',
        "validate_code",
        code("print(5)"),
    ),
    "action before thinking that never ends": ('{"action": "submit"}\n<think>was that {"action": "debug"} right?', "submit", {}),
    "a program that prints thinking tags": (
        '{"action": "validate_code", "params": {"code": "print(\'<think>\')\\nprint(\'</think>\')"}}',
        "validate_code",
        code("print('<think>')\nprint('</think>')"),
    ),
    "triple quotes": (
        '{"action": "validate_code", "params": {"code": """' + PROGRAM + '\n"""}}',
        "validate_code",
        code(PROGRAM + "\n"),
    ),
    "single triple quotes": (
        "{'action': 'validate_code', 'params': {'code': '''\nd = {'a': {'b': 1}}\nprint(d)\n'''}}",
        "validate_code",
        code("\nd = {'a': {'b': 1}}\nprint(d)\n"),
    ),
    "triple quotes around a docstring": (
        '{"action": "validate_code", "params": {"code": """def f():\n    """One."""\n    return 1\nanswer = f()\n"""}}',
        "validate_code",
        code('def f():\n    """One."""\n    return 1\nanswer = f()\n'),
    ),
    "triple quotes keep escapes of the program": (
        '{"action": "validate_code", "params": {"code": """print("a\\nb")\nprint(r"\\d+")"""}}',
        "validate_code",
        code('print("a\\nb")\nprint(r"\\d+")'),
    ),
    "triple quotes on one line with escaped line breaks": (
        '{"action": "validate_code", "params": {"code": """import os\\nprint(os.sep)"""}}',
        "validate_code",
        code("import os\nprint(os.sep)"),
    ),
    "triple quotes with escaped quotes": (
        '{"action": "validate_code", "params": {"code": """x = \\"a\\"\nprint("b\\n")"""}}',
        "validate_code",
        code('x = "a"\nprint("b\\n")'),
    ),
    "Python literals": (
        "{'action': 'debug', 'params': {'code': 'x = None', 'error_msg': \"it's None\", 'verbose': True, 'more': None}}",
        "debug",
        {"code": "x = None", "error_msg": "it's None"},
    ),
    "trailing commas": ('{"action": "validate_code", "params": {"code": "x = [1,]",},}', "validate_code", code("x = [1,]")),
    "missing commas": ('{"action": "validate_code"\n "params": {"code": "x = 1"}}', "validate_code", code("x = 1")),
    "raw line breaks and tabs": ('{"action": "validate_code", "params": {"code": "if 1:\n\tx = 1\n"}}', "validate_code", code("if 1:\n\tx = 1\n")),
    "comments": (
        '{\n  // what to do\n  "action": "validate_code", # run\n  "params": {/* the code */ "code": "y = 7 // 2  # half"}\n}',
        "validate_code",
        code("y = 7 // 2  # half"),
    ),
    "typographic quotes": ("{“action”: “validate_code”, “params”: {“code”: “print('a')”}}", "validate_code", code("print('a')")),
    "bare words": ("{action: validate_code, params: {code: 'x = 1'}}", "validate_code", code("x = 1")),
    "closing brackets missing": ('{"action": "validate_code", "params": {"code": "x = 1"', "validate_code", code("x = 1")),
    "one bracket missing inside a fence": ('```json\n{"action": "submit", "params": {}\n```', "submit", {}),
    "one bracket too many": ('{"action": "submit", "params": {}}}', "submit", {}),
    "backslashes of a pattern": (
        r'{"action": "validate_code", "params": {"code": "import re\nre.findall(r\"\d+\\.\d\", s)"}}',
        "validate_code",
        code('import re\nre.findall(r"\\d+\\.\\d", s)'),
    ),
    "escapes that JSON does not have": (
        r"""{"action": "validate_code", "params": {"code": "re.sub('\s+', '\'', s)"}}""",
        "validate_code",
        code("re.sub('\\s+', ''', s)"),
    ),
    "f-strings and braces": (
        '{"action": "validate_code", "params": {"code": "d = {\'a\': \'}\'}\\nprint(f\\"{d[\'a\']}}}{{\\")"}}',
        "validate_code",
        code("d = {'a': '}'}\nprint(f\"{d['a']}}}{{\")"),
    ),
    "quotes that are not escaped": (
        '{"action": "validate_code", "params": {"code": "df = pd.read_csv("/data/ADMISSIONS.csv")\\nprint(df["AGE"], {"a": 1})"}}',
        "validate_code",
        code('df = pd.read_csv("/data/ADMISSIONS.csv")\nprint(df["AGE"], {"a": 1})'),
    ),
    "quotes that are not escaped, with a second parameter": (
        '{"action": "debug", "params": {"code": "x = d["a"]", "error_msg": "KeyError: \'a\'"}}',
        "debug",
        {"code": 'x = d["a"]', "error_msg": "KeyError: 'a'"},
    ),
    "escaped twice": (
        '{"action": "validate_code", "params": {"code": "import os\\\\nprint(\\\\\\"a\\\\\\")"}}',
        "validate_code",
        code('import os\nprint("a")'),
    ),
    "fence inside the string": ('{"action": "validate_code", "params": {"code": "```python\\nx = 1\\n```"}}', "validate_code", code("x = 1")),
    "indented as a whole": (
        '{"action": "validate_code", "params": {"code": """\n    x = 1\n    y = 2\n"""}}',
        "validate_code",
        code("\nx = 1\ny = 2\n"),
    ),
    "parameters beside the action": ('{"action": "validate_code", "code": "x = 1"}', "validate_code", code("x = 1")),
    "params missing": ('{"action": "submit"}', "submit", {}),
    "params null": ('{"action": "submit", "params": null}', "submit", {}),
    "params as text of an object": ('{"action": "validate_code", "params": "{\\"code\\": \\"x = 1\\"}"}', "validate_code", code("x = 1")),
    "params as the program itself": ('{"action": "validate_code", "params": "x = 1"}', "validate_code", code("x = 1")),
    "name and arguments": ('<tool_call>\n{"name": "validate_code", "arguments": {"code": "x = 1"}}\n</tool_call>', "validate_code", code("x = 1")),
    "function object in the text": (
        '{"type": "function", "function": {"name": "validate_code", "arguments": "{\\"code\\": \\"x = 1\\"}"}}',
        "validate_code",
        code("x = 1"),
    ),
    "action_input": ('{"thought": "look", "action": "terminal", "action_input": {"command": "ls"}}', "terminal", {"cmd": "ls"}),
    "action as an object": ('{"action": {"name": "validate_code", "params": {"code": "x = 1"}}}', "validate_code", code("x = 1")),
    "action as the key": ('{"validate_code": {"code": "x = 1"}}', "validate_code", code("x = 1")),
    "wrapped in an object": ('{"response": {"action": "validate_code", "params": {"code": "x = 1"}}}', "validate_code", code("x = 1")),
    "wrapped in a list": ('[{"action": "validate_code", "params": {"code": "x = 1"}}]', "validate_code", code("x = 1")),
    "other case and spaces": ('{"Action": " Validate Code ", "Params": {"Code": "x = 1"}}', "validate_code", code("x = 1")),
    "camel case and brackets": ('{"action": "validateCode()", "params": {"code": "x = 1"}}', "validate_code", code("x = 1")),
    "prefix": ('{"action": "functions.validate_code", "params": {"code": "x = 1"}}', "validate_code", code("x = 1")),
    "code as a list of lines": ('{"action": "validate_code", "params": {"code": ["x = 1", "print(x)"]}}', "validate_code", code("x = 1\nprint(x)")),
    "joined strings": ('{"action": "validate_code", "params": {"code": "x = 1\\n" +\n "print(x)"}}', "validate_code", code("x = 1\nprint(x)")),
    "side by side strings": ("{'action': 'validate_code', 'params': {'code': 'x = 1\\n'\n 'print(x)'}}", "validate_code", code("x = 1\nprint(x)")),
    "number for a text": (
        '{"action": "request_info", "params": {"data_path": "CHARTEVENTS.csv", "info_type": "term", "keyterm": 211}}',
        "request_info",
        {"data_path": "CHARTEVENTS.csv", "info_type": "term", "keyterm": "211"},
    ),
    "several tables": (
        '{"action": "request_info", "params": {"data_path": ["A.csv", "B.csv"], "info_type": "column_names"}}',
        "request_info",
        {"data_path": "A.csv, B.csv", "info_type": "column_names"},
    ),
    "kind of information in other words": (
        '{"action": "request_info", "params": {"table": "D_ITEMS", "info_type": "Column Values", "column": "LABEL"}}',
        "request_info",
        {"data_path": "D_ITEMS", "info_type": "column_values", "keyterm": "LABEL"},
    ),
    "non-ASCII": (
        '{"action": "validate_code", "params": {"code": "print(\'Größe \\u00b5g \\ud83d\\ude00 日本\')"}}',
        "validate_code",
        code("print('Größe µg 😀 日本')"),
    ),
    "half of a surrogate pair": ('{"action": "validate_code", "params": {"code": "x = \'\\ud83d\'"}}', "validate_code", code("x = '\ufffd'")),
    "Windows line ends": ('{\r\n"action": "validate_code",\r\n"params": {"code": "x = 1\\r\\ny = 2"}\r\n}', "validate_code", code("x = 1\r\ny = 2")),
    "two actions": ('{"action": "validate_code", "params": {"code": "x = 1"}}\n\n{"action": "submit", "params": {}}', "validate_code", code("x = 1")),
    "bare program": ("Let me run this.\n\n```python\nx = 1\nprint(x)\n```\n", "validate_code", code("x = 1\nprint(x)")),
}


@pytest.mark.parametrize("name", READABLE)
def test_an_action_is_read_from_a_reply_as_models_write_it(name: str) -> None:
    text, action, params = READABLE[name]
    parsed = parse_reply(text, ALL_ACTIONS)
    assert (parsed.action, parsed.params, parsed.kind) == (action, params, "action"), parsed


BROKEN: dict[str, tuple[str, str]] = {
    "empty": ("", "empty"),
    "white space": (" \n\t", "empty"),
    "only thinking": ('<think>I should {"action": "submit"}</think>', "only thinking"),
    "thinking that never ends, without an action": ("<think>hm, what are the tables", "only thinking"),
    "program cut in the middle": ('{"action": "validate_code", "params": {"code": "import os\\nos.remov', "does not end"),
    "triple-quoted program cut in the middle": ('{"action": "validate_code", "params": {"code": """import os\nos.remov', "does not end"),
    "first action unreadable, second readable": ('{"action": "validate_code", "params": {"code": "x = }\n{"action": "submit"}', "cannot be read"),
    "unknown action": (
        '{"action": "run_code", "params": {"code": "x"}}',
        'no action "run_code". Did you mean validate_code? Permitted actions: request_info',
    ),
    "action that the task has not": ('{"action": "terminal", "params": {"cmd": "ls"}}', "terminal is not available in this task"),
    "code missing": ('{"action": "validate_code", "params": {}}', 'validate_code needs the parameter "code"'),
    "code empty": ('{"action": "validate_code", "params": {"code": "  "}}', 'the parameter "code" of validate_code is empty'),
    "code of the wrong type": ('{"action": "validate_code", "params": {"code": {"x": 1}}}', "must be a text, not an object"),
    "code a number": ('{"action": "validate_code", "params": {"code": 5}}', "must be a text, not a number"),
    "error message missing": ('{"action": "debug", "params": {"code": "x"}}', 'needs the parameter "error_msg"'),
    "params a list": ('{"action": "validate_code", "params": [1, 2]}', '"params" must be an object'),
    "action null": ('{"action": null, "params": {}}', "must be the name of an action"),
    "action a number": ('{"action": 3}', "must be the name of an action"),
    "object without an action": ('{"answer": 5}', 'has no readable "action"'),
    "fenced object without an action": ('```json\n{"result": [1, 2]}\n```', 'has no readable "action"'),
    "parameters without an action": ('Action: validate_code\nAction Input: {"code": "x = 1"}', 'has no readable "action"'),
    "several programs": ("```python\nx = 1\n```\nor\n```python\ny = 2\n```", "nothing was run"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_reply_whose_action_is_broken_says_what_is_wrong_with_it(name: str) -> None:
    text, message = BROKEN[name]
    parsed = parse_reply(text, EHR_ACTIONS)
    assert (parsed.action, parsed.kind, parsed.params["kind"]) == ("error", "broken", "broken"), parsed
    assert message.lower() in parsed.params["message"].lower()
    assert parsed.error == parsed.params["message"]


@pytest.mark.parametrize(
    "text",
    [
        "The patient was admitted 3 times.",
        "I am done. The answer is stored in `answer`.",
        '<think>fine</think>The answer is {"count": 5}, as computed above.',
        "Final result: the set {1, 2, 3}.",
        "Here is the output:\n```\n3 rows\n```",
        "```sql\nSELECT 1\n```",
        "Use ```python\nx\n``` inline",
    ],
)
def test_text_without_an_action_is_prose(text: str) -> None:
    parsed = parse_reply(text, EHR_ACTIONS)
    assert (parsed.action, parsed.kind) == ("error", "prose")
    assert "request_info, validate_code, debug, submit" in parsed.params["message"]


def test_a_second_action_is_said_to_be_left_out() -> None:
    parsed = parse_reply('{"action": "submit"} {"action": "submit"} {"action": "submit"}', EHR_ACTIONS)
    assert parsed.remarks == ("Your reply holds 3 actions; only the first was carried out.",)


def test_reading_a_plain_reply_leaves_no_remark() -> None:
    assert parse_reply(as_reply("validate_code", {"code": PROGRAM}), EHR_ACTIONS) == ParsedReply("validate_code", {"code": PROGRAM})


@pytest.mark.parametrize("name", ["quotes that are not escaped", "escaped twice", "thinking that never ends", "bare program", "indented as a whole"])
def test_what_had_to_be_guessed_is_said(name: str) -> None:
    assert parse_reply(READABLE[name][0], ALL_ACTIONS).remarks


def test_a_program_that_does_not_compile_is_passed_on_as_written() -> None:
    program = "!pip install x\nprint('a\\n'"
    assert parse_reply(as_reply("validate_code", {"code": program}), EHR_ACTIONS).params == {"code": program}


def test_a_bare_program_is_not_run_where_code_is_not_permitted() -> None:
    assert parse_reply("```python\nx = 1\n```", ("request_info", "submit")).kind == "broken"


def test_a_reply_that_was_cut_is_not_completed() -> None:
    text = '{"action": "validate_code", "params": {"code": "x = 1"'
    assert parse_reply(text, EHR_ACTIONS).kind == "action"
    assert parse_reply(text, EHR_ACTIONS, cut=True).kind == "broken"


def test_an_answer_given_to_submit_is_said_not_to_count() -> None:
    parsed = parse_reply('{"action": "submit", "params": {"answer": 5}}', EHR_ACTIONS)
    assert (parsed.action, parsed.params) == ("submit", {})
    assert "takes no parameters" in parsed.remarks[0]


@pytest.mark.parametrize(
    ("reply", "params"),
    [
        ('{"action": "abstain", "params": {}}', {}),
        ('{"action": "abstain"}', {}),
        ('{"abstain": {}}', {}),
        ('{"name": "Abstain", "arguments": {"reason": "no phone numbers"}}', {"reason": "no phone numbers"}),
        ('{"action": "abstain", "params": "no phone numbers"}', {"reason": "no phone numbers"}),
        ('{"action": "abstain", "params": {"explanation": ["no phone numbers", "no addresses"]}}', {"reason": "no phone numbers, no addresses"}),
    ],
)
def test_an_abstention_is_read_where_it_is_permitted_with_or_without_a_reason(reply: str, params: dict[str, str]) -> None:
    parsed = parse_reply(reply, (*EHR_ACTIONS, "abstain"))
    assert (parsed.action, parsed.params, parsed.remarks) == ("abstain", params, ())


def test_where_it_is_not_permitted_an_abstention_is_as_unknown_as_any_other_word() -> None:
    refused = parse_reply('{"action": "abstain", "params": {}}', EHR_ACTIONS)
    assert refused.params["message"].startswith('There is no action "abstain".') and "not available" not in refused.params["message"]
    for reply in ('{"abstain": {}}', '{"name": "abstain"}'):
        assert parse_reply(reply, EHR_ACTIONS) == parse_reply(reply.replace("abstain", "unknown"), EHR_ACTIONS)


@pytest.mark.parametrize("text", ["I abstain.", "abstain", "The data cannot answer the question, so I abstain.", "**abstain**"])
def test_an_abstention_in_plain_words_is_not_guessed_at(text: str) -> None:
    assert parse_reply(text, (*EHR_ACTIONS, "abstain")).kind == "prose"


def test_parameters_of_an_action_that_only_the_task_knows_are_passed_on() -> None:
    parsed = parse_reply('{"action": "order_test", "params": {"name": "troponin", "times": 2}}', ("order_test",))
    assert (parsed.action, parsed.params) == ("order_test", {"name": "troponin", "times": 2})


@pytest.mark.parametrize("arguments", ['{"code": "x = 1"}', {"code": "x = 1"}, '{"code": """x = 1"""}', "x = 1"])
def test_a_native_tool_call_is_an_action(arguments: Any) -> None:
    parsed = parse_reply("", EHR_ACTIONS, [{"id": "1", "type": "function", "function": {"name": "validate_code", "arguments": arguments}}])
    assert (parsed.action, parsed.params) == ("validate_code", {"code": "x = 1"})


def test_a_tool_call_goes_before_the_text_and_the_first_of_several_counts() -> None:
    calls = [{"function": {"name": "submit", "arguments": "{}"}}, {"function": {"name": "validate_code", "arguments": '{"code": "x"}'}}]
    parsed = parse_reply('{"action": "validate_code", "params": {"code": "y"}}', EHR_ACTIONS, calls)
    assert parsed.action == "submit"
    assert "2 actions" in parsed.remarks[0]


@pytest.mark.parametrize(
    "call",
    [
        {},
        {"function": None},
        {"function": {"name": "validate_code", "arguments": '{"code": "x = '}},
        {"function": {"name": "nothing", "arguments": "{}"}},
    ],
)
def test_a_broken_tool_call_is_an_error(call: dict[str, Any]) -> None:
    assert parse_reply("", EHR_ACTIONS, [call]).kind == "broken"


def test_thinking_is_taken_off_an_explanation() -> None:
    assert without_thinking("<think>a\nb</think>\nThe column is missing.") == "The column is missing."
    assert without_thinking("a</think> b <think>c</think> d") == "d"
    assert without_thinking("b <think>c") == "b"
    assert without_thinking("plain") == "plain"


# --- properties, over seeded random input ---------------------------------------------------------------------------------------------------------

PIECES = [
    "\\",
    '"',
    "'",
    "{",
    "}",
    "\n",
    "\t",
    "\\n",
    '"""',
    "'''",
    "```",
    "f'{x}'",
    "é",
    "😀",
    "<think>",
    "</think>",
    "//",
    "#",
    '"action": ',
    "]",
    ",",
    ":",
    "a = 1",
    "\u2028",
    "\x0b",
]


def random_text(random_source: random.Random, length: int) -> str:
    return "".join(random_source.choice(PIECES) for _ in range(length))


def test_any_program_in_valid_json_survives_to_the_letter() -> None:
    source = random.Random(1)
    for _ in range(3000):
        program = "x" + random_text(source, source.randrange(1, 30)) + "x"
        reply = source.choice(["{}", "```json\n{}\n```", "Now:\n{}", "<think>so</think>{}"]).replace(
            "{}", as_reply("validate_code", {"code": program})
        )
        parsed = parse_reply(reply, EHR_ACTIONS)
        assert parsed.action == "validate_code"
        if not parsed.remarks:
            assert parsed.params == {"code": program}


def test_any_program_that_compiles_survives_a_python_literal_and_raw_line_breaks() -> None:
    source = random.Random(2)
    for _ in range(1000):
        program = "\n".join(f"x{n} = {random_text(source, source.randrange(1, 12))!r}" for n in range(source.randrange(1, 6)))
        for reply in (
            repr({"action": "validate_code", "params": {"code": program}}).replace("\\n", "\\n"),
            as_reply("validate_code", {"code": program}).replace("\\n", "\\n"),
        ):
            assert parse_reply(reply, EHR_ACTIONS).params == {"code": program}


def test_random_text_never_raises() -> None:
    source = random.Random(3)
    for _ in range(5000):
        text = random_text(source, source.randrange(1, 60))
        parsed = parse_reply(text, EHR_ACTIONS, cut=source.random() < 0.5)
        assert parsed.kind in ("action", "prose", "broken")
        str(parsed.params).encode("utf-8")


def test_replies_cut_anywhere_never_yield_another_program() -> None:
    reply = as_reply("validate_code", {"code": PROGRAM})
    for end in range(len(reply)):
        parsed = parse_reply(reply[:end], EHR_ACTIONS, cut=True)
        assert parsed.kind != "action" or (parsed.params == {"code": PROGRAM} and end > len(reply) - 3), reply[:end]


@pytest.mark.parametrize(
    "junk",
    [
        "{" * 1_000_000,
        '{"a":' * 200_000,
        '{"a": "' * 150_000,
        "{'''" * 250_000,
        "{“a" * 300_000,
        "{/* " * 250_000,
        "```python\n" * 100_000,
        "<think>" * 140_000,
        '{"action": "validate_code", "params": {"code": "' + '"}' * 500_000,
        '{"action": "validate_code", "params": {"code": "' + "\\" * 999_999,
        '{"action": ' * 90_000,
        "[" * 1_000_000,
        " " * 1_000_000,
        '{"a": [' + "1," * 500_000,
        "a\u00a0" * 500_000,
        '{"action": "validate_code", "params": {"code": "' + "-" * 190_000 + '1"}}',
        '{"action": "validate_code", "params": {"code": " ' + "(" * 190_000 + '1"}}',
    ],
    ids=lambda junk: junk[:12],
)
def test_a_megabyte_of_junk_is_read_in_time_that_grows_with_its_length_only(junk: str) -> None:
    def seconds(text: str) -> float:
        started = time.thread_time()
        parse_reply(text, EHR_ACTIONS)
        return time.thread_time() - started

    quarter, whole = seconds(junk[: len(junk) // 4]), seconds(junk)
    assert whole < 12 * quarter + 1.0


def test_reading_a_program_with_invalid_escapes_warns_nobody() -> None:
    program = (
        "from medagentgym.env.replies import parse_reply, as_reply\n"
        "print(parse_reply(as_reply('validate_code', {'code': 'x = \"\\\\d\"'}), ('validate_code',)).params)"
    )
    done = subprocess.run([sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str({"code": 'x = "\\d"'})
    assert "program_of_a_reply" not in done.stderr
