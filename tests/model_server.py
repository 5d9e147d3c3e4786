"""A scripted model service on the loopback that speaks the chat completions interface.

In a test:

    with ModelServer(["first reply", Behaviour(status=500), Behaviour(text="second", delay=0.3)]) as server:
        ... server.base_url ... server.requests ...

Alone, for tests that start it in a subprocess; it prints its port on one line and serves until it is terminated:

    python tests/model_server.py --port 0 --script script.json [--log requests.jsonl] [--latency 0.3]

A script is

- a list of behaviours that are used up in the order of the requests, the last one again and again;
- or an object `{"conversations": [{"match": <regular expression>, "replies": [...]}, ...], "otherwise": [...]}`: the first entry whose expression is
  found in a user message of the request serves it, with the reply whose number is the count of assistant messages that follow the first message
  that matches. What a conversation is answered so does not depend on what other conversations do, nor on tries that failed before;
- in Python also a function from the request's body to a behaviour.

A behaviour is a text (the reply), or an object with the fields of `Behaviour`. One that fails (`status`, `drop`, `body`, or `delay`) inside a
conversation has `times`: how often it fails before the next entry of `then` answers instead.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FAVOURED_PATH = re.compile(r"/chat/completions(\?.*)?$")


@dataclass
class Behaviour:
    """How one request is answered."""

    text: str | None = None
    """Content of the reply."""
    tool_calls: list[dict[str, Any]] | None = None
    reasoning: str | None = None
    """Sent as `reasoning_content`."""
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    """None: counted from the texts, four characters a token. An empty object: no usage is sent."""
    status: int = 200
    """With another one, `body` or an error with `text` as its message is sent."""
    body: Any = None
    """Sent as it is: a text, also one that is not JSON, or JSON data."""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the answer."""
    drop: bool = False
    """Break the connection instead of answering."""
    samples: list[str] | None = None
    """Contents of several choices."""
    times: int = 1
    """Inside a conversation: how often this is used before `then` is."""
    then: Any = None
    """Inside a conversation: what answers after `times` requests for the same reply."""


Script = list[Any] | dict[str, Any] | Callable[[dict[str, Any]], Any]


def as_behaviour(entry: Any) -> Behaviour:
    """A behaviour from what a script holds."""
    if isinstance(entry, Behaviour):
        return entry
    if isinstance(entry, str):
        return Behaviour(text=entry)
    known = {item.name for item in fields(Behaviour)}
    if isinstance(entry, dict) and "action" in entry and not set(entry) & known:
        return Behaviour(text=json.dumps(entry))
    if not isinstance(entry, dict) or not set(entry) <= known:
        raise ValueError(f"not a behaviour: {entry!r}")
    return Behaviour(**entry)


class ModelServer:
    """The server, a context manager. `requests` holds what was asked: `path`, `headers` (names in lower case) and `body`."""

    def __init__(self, script: Script, *, port: int = 0, latency: float = 0.0, log: Path | None = None) -> None:
        self.script = script
        self.latency = latency
        self.log = log
        self.requests: list[dict[str, Any]] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self._position = 0
        self._asked: dict[str, int] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server = _Server(("127.0.0.1", port), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> ModelServer:
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    __enter__ = start

    def __exit__(self, *_: object) -> None:
        self.stop()

    def take(self, path: str, headers: dict[str, str], body: Any) -> Behaviour:
        """Note a request and choose its answer."""
        request = {"path": path, "headers": headers, "body": body}
        with self._lock:
            self.requests.append(request)
            if self.log is not None:
                with self.log.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(request) + "\n")
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            return self._choose(body)

    def done(self) -> None:
        """Note that a request has been answered."""
        with self._lock:
            self.in_flight -= 1

    def wait(self, seconds: float) -> None:
        """Let time pass, unless the server stops."""
        if seconds > 0:
            self._stopping.wait(seconds)

    def _choose(self, body: Any) -> Behaviour:
        if callable(self.script):
            return as_behaviour(self.script(body))
        if isinstance(self.script, list):
            entry = self.script[min(self._position, len(self.script) - 1)]
            self._position += 1
            return as_behaviour(entry)
        return self._in_conversation(body, self.script)

    def _in_conversation(self, body: Any, script: dict[str, Any]) -> Behaviour:
        messages = body.get("messages", []) if isinstance(body, dict) else []
        for conversation in script.get("conversations", []):
            matching = [
                n
                for n, message in enumerate(messages)
                if message["role"] == "user" and re.search(conversation["match"], _content(message), re.DOTALL)
            ]
            if matching:
                return self._reply(conversation["replies"], messages[matching[0] :], messages)
        if "otherwise" not in script:
            return Behaviour(status=400, text="no conversation of the script matches")
        first_user = next((n for n, message in enumerate(messages) if message["role"] == "user"), 0)
        return self._reply(script["otherwise"], messages[first_user:], messages)

    def _reply(self, replies: list[Any], since: list[dict[str, Any]], messages: list[dict[str, Any]]) -> Behaviour:
        number = sum(message["role"] == "assistant" for message in since)
        behaviour = as_behaviour(replies[min(number, len(replies) - 1)])
        if behaviour.then is None:
            return behaviour
        conversation = json.dumps(messages)
        earlier = self._asked.get(conversation, 0)
        self._asked[conversation] = earlier + 1
        while behaviour.then is not None and earlier >= behaviour.times:
            earlier -= behaviour.times
            behaviour = as_behaviour(behaviour.then)
        return behaviour


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._send(200, json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}), {})

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                body = json.loads(raw)
            except ValueError:
                body = raw.decode("utf-8", "replace")
            behaviour = server.take(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            try:
                self._answer(behaviour, body)
            finally:
                server.done()

        def _answer(self, behaviour: Behaviour, body: Any) -> None:
            server.wait(server.latency + behaviour.delay)
            if behaviour.drop:
                # Closed with a reset, as by a machine that goes down.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                return
            if not FAVOURED_PATH.search(self.path):
                self._send(404, json.dumps({"error": {"message": f"no such path: {self.path}"}}), {})
                return
            self._send(behaviour.status, _body(behaviour, body), behaviour.headers)

        def _send(self, status: int, text: str, headers: dict[str, str]) -> None:
            content = text.encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: `--log` is for that."""

    return Handler


def _body(behaviour: Behaviour, request: Any) -> str:
    if behaviour.body is not None:
        return behaviour.body if isinstance(behaviour.body, str) else json.dumps(behaviour.body)
    if behaviour.status != 200:
        return json.dumps({"error": {"message": behaviour.text or "scripted failure", "type": "scripted", "param": None, "code": None}})
    texts = behaviour.samples if behaviour.samples is not None else [behaviour.text]
    reason = behaviour.finish_reason or ("tool_calls" if behaviour.tool_calls else "stop")
    choices = []
    for index, text in enumerate(texts):
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if behaviour.tool_calls:
            message["tool_calls"] = behaviour.tool_calls
        if behaviour.reasoning:
            message["reasoning_content"] = behaviour.reasoning
        choices.append({"index": index, "message": message, "finish_reason": reason, "logprobs": None})
    model = request.get("model", "scripted") if isinstance(request, dict) else "scripted"
    answer = {"id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": model, "choices": choices}
    if behaviour.usage is None:
        messages = request.get("messages", []) if isinstance(request, dict) else []
        prompt = sum(len(_content(message)) for message in messages) // 4 + 1
        completion = sum(len(text or "") for text in texts) // 4 + 1
        answer["usage"] = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    elif behaviour.usage:
        answer["usage"] = behaviour.usage
    return json.dumps(answer)


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content)


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model service on the loopback")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--script", type=Path, required=True, help="JSON file, see the module")
    parser.add_argument("--log", type=Path, help="JSON Lines file to which every request is added")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    options = parser.parse_args()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    script = json.loads(options.script.read_text(encoding="utf-8"))
    with ModelServer(script, port=options.port, latency=options.latency, log=options.log) as server:
        print(server.port, flush=True)
        while not stopped.is_set():
            time.sleep(0.05)


if __name__ == "__main__":
    main()
