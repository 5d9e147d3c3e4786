"""The scripted model service that other tests talk to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from model_server import Behaviour, ModelServer

PROGRAM = Path(__file__).with_name("model_server.py")


def ask(port: int, *contents: str) -> dict[str, Any]:
    """Ask with contents that are by turns from the user and from the assistant."""
    messages = [{"role": "assistant" if number % 2 else "user", "content": content} for number, content in enumerate(contents)]
    request = Request(f"http://127.0.0.1:{port}/v1/chat/completions", json.dumps({"model": "m", "messages": messages}).encode())
    with build_opener(ProxyHandler({})).open(request, timeout=10) as answer:
        return dict(json.load(answer))


def content(answer: dict[str, Any]) -> str:
    return str(answer["choices"][0]["message"]["content"])


def test_a_list_is_used_up_in_order_and_its_last_entry_again_and_again() -> None:
    with ModelServer(["a", {"action": "submit"}, {"text": "c"}]) as server:
        assert [content(ask(server.port, "x")) for _ in range(4)] == ["a", '{"action": "submit"}', "c", "c"]
        assert [request["body"]["model"] for request in server.requests] == ["m"] * 4


def test_conversations_are_answered_by_what_they_hold_whatever_their_order() -> None:
    script = {"conversations": [{"match": "first", "replies": ["a", "b"]}, {"match": "sec.nd", "replies": ["c"]}], "otherwise": ["d"]}
    with ModelServer(script) as server:
        assert content(ask(server.port, "second question")) == "c"
        assert content(ask(server.port, "first question", "a", "so")) == "b"
        assert content(ask(server.port, "first question")) == "a"
        assert content(ask(server.port, "third")) == "d"
        assert content(ask(server.port, "an example", "reply", "first question")) == "a"


def test_a_failure_inside_a_conversation_comes_once_for_each_conversation() -> None:
    script = {"otherwise": [{"status": 500, "times": 2, "then": "a"}, "b"]}
    with ModelServer(script) as server:
        for question in ("x", "y"):
            for _ in range(2):
                with pytest.raises(HTTPError):
                    ask(server.port, question)
            assert content(ask(server.port, question)) == "a"
            assert content(ask(server.port, question, "a", "go on")) == "b"


def test_a_script_may_be_a_function() -> None:
    with ModelServer(lambda body: Behaviour(text=body["messages"][0]["content"].upper())) as server:
        assert content(ask(server.port, "abc")) == "ABC"


def test_a_mistake_in_a_script_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a behaviour"):
        ModelServer([{"txet": "a"}]).take("/", {}, {})


def test_alone_it_prints_its_port_logs_what_is_asked_and_ends_when_told(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "log.jsonl"
    script.write_text(json.dumps({"otherwise": ["hello"]}))
    command = [sys.executable, str(PROGRAM), "--port", "0", "--script", str(script), "--log", str(log), "--latency", "0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        assert content(ask(port, "x")) == "hello"
        process.terminate()
        assert process.wait(10) == 0
    assert [json.loads(line)["body"]["messages"][0]["content"] for line in log.read_text().splitlines()] == ["x"]
