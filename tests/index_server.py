"""A package index on the loopback of this machine, with wheels that are made on the spot."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

JSON = "application/vnd.pypi.simple.v1+json"


def wheel(name: str, version: str, value: object = 7, requires: str = "", modules: tuple[str, ...] = ()) -> tuple[str, bytes]:
    """File name and content of a wheel whose module (or whose modules) has a `value`."""
    information = f"{name}-{version}.dist-info"
    requirement = f"Requires-Dist: {requires}\n" if requires else ""
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for module in modules or (name,):
            archive.writestr(f"{module}.py", f"value = {value!r}\n__version__ = {version!r}\n")
        archive.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requirement}")
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")
    return f"{name}-{version}-py3-none-any.whl", content.getvalue()


@dataclass
class Answer:
    """What a server answers to one path."""

    content: bytes = b""
    content_type: str = "application/octet-stream"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class Index:
    """An HTTP server with a table of answers, which keeps what it was asked."""

    def __init__(self, certificate: Path | None = None) -> None:
        """Serve; encrypted, where there is a file with a certificate and its key."""
        self.answers: dict[str, Answer | Callable[[BaseHTTPRequestHandler], Answer]] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        """Method, path and headers, in order."""
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.requests.append((self.command, self.path, {name.lower(): value for name, value in self.headers.items()}))
                found = index.answers.get(self.path, Answer(b"no such thing", status=404))
                answer = found(self) if callable(found) else found
                self.send_response(answer.status)
                for name, value in {"Content-Type": answer.content_type, "Content-Length": str(len(answer.content)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.content)

            do_POST = do_PUT = do_GET  # noqa: N815

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.origin = f"{'http' if certificate is None else 'https'}://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.origin}/simple"

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for."""
        return [path for _, path, _ in self.requests]

    def offer(self, project: str, *files: tuple[str, bytes], as_json: bool = False, links: tuple[str, ...] = ()) -> None:
        """Offer the files of a project, and name further `links` on its page."""
        entries = []
        for name, content in files:
            self.answers[f"/packages/{name}"] = Answer(content)
            entries.append((f"../../packages/{name}", hashlib.sha256(content).hexdigest(), name))
        entries += [(link, "", link.rpartition("/")[2]) for link in links]
        if as_json:
            data = {
                "meta": {"api-version": "1.1", "_last-serial": 1},
                "name": project,
                "versions": [],
                "files": [{"filename": name, "url": link, "hashes": {"sha256": digest} if digest else {}} for link, digest, name in entries],
            }
            self.answers[f"/simple/{project}/"] = Answer(json.dumps(data).encode(), JSON)
        else:
            anchors = "".join(f'<a href="{link}{"#sha256=" + digest if digest else ""}">{name}</a>\n' for link, digest, name in entries)
            self.answers[f"/simple/{project}/"] = Answer(f"<!DOCTYPE html><html><body>{anchors}</body></html>".encode(), "text/html")

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def basic(user: str, password: str) -> str:
    """The header of credentials."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
