"""One package index, read-only, on the loopback of a box: served by the worker through a socket that came out of the box.

A box has no network. What it is shown at `http://127.0.0.1:3141/simple/` are the pages of projects and the files that those pages link to, fetched by
the worker; nothing else is forwarded. From a request nothing reaches the index but the name of a project: the method, the headers and the addresses
of the requests that the worker makes are its own. What can be fetched, and from where:

- pages: `<index>/<project>/`, of the index's own origin (scheme, host and port), also where it redirects;
- files: those that a page named in this episode, of the index's own origin or of a host that the configuration lists. A redirect leads to the origin
  of the file or of the index, or nowhere. What a page names elsewhere is left out of it, so that no page can lead the worker into its own network.

Sizes are bounded: a page, a file, requests at once, requests and bytes of an episode. Credentials of the index are sent to its own origin alone. An
index that cannot be reached, or refuses the credentials, fails the step as infrastructure: what an agent would have done with it is unknown.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import select
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from http.server import BaseHTTPRequestHandler
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urljoin, urlsplit

from medagentgym.errors import InfrastructureError, one_line
from medagentgym.sandbox.base import PackageIndex
from medagentgym.sandbox.project_page import ACCEPTED, HTML, JSON, ProjectFile, UnreadablePageError, canonical_name, read_page, write_html, write_json

if TYPE_CHECKING:
    from httpx2 import Client, Response

PORT = 3141
ADDRESS = f"http://127.0.0.1:{PORT}/simple/"
"""Where an installer in the box finds the index."""
MEBIBYTE = 1024 * 1024
PAGE_BYTES = 16 * MEBIBYTE
"""Largest page of a project."""
AT_ONCE = 8
"""Connections of one box that are served at once; further ones are closed."""
MOST_REQUESTS = 1000
"""Requests of one episode."""
REQUEST_BYTES = 65_536
"""Longest request, its headers included."""
MOST_REDIRECTS = 3
TRIES = 3
"""How often a request is made that fails for a reason of the network or the server."""
PAUSE_SECONDS = 0.5
PATIENCE_SECONDS, CONNECT_SECONDS = 30.0, 10.0
"""How long either side may be silent, and how long a connection may take."""

_PROJECT = re.compile(r"/simple/([A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?)/")
_pages_at_once = threading.BoundedSemaphore(2)


class RefusedError(Exception):
    """A request of the box that is not granted: a status of HTTP, and why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class UnreachableError(Exception):
    """The index failed, not the box."""


class PackageIndexServer:
    """Serves one box: one thread that accepts, one for each connection."""

    def __init__(self, listener: socket.socket, index: PackageIndex, largest_file: int) -> None:
        """Serve `index` on a listening socket, which is then the server's own. `largest_file` is in bytes."""
        self._listener = listener
        self._upstream = Upstream(index)
        self._index = index
        self._largest_file = largest_file
        self._lock = threading.Lock()
        self._closed = False
        self._episode = self._new_episode()
        listener.setblocking(False)
        self._thread = threading.Thread(target=self._accept, name="package-index", daemon=True)
        self._thread.start()

    def begin_episode(self) -> None:
        """Forget what the last episode has asked for. Nothing may run in the box meanwhile."""
        with self._lock:
            self._episode.end()
            with contextlib.suppress(OSError):
                while True:  # what a process asked that is dead by now
                    self._listener.accept()[0].close()
            self._episode = self._new_episode()

    def raise_failure(self) -> None:
        """Raise `InfrastructureError` where the index has failed the current episode since the last time."""
        failure = self._episode.take_failure()
        if failure:
            raise InfrastructureError("machine", f"the package index failed: {failure}")

    def close(self) -> None:
        """End every connection and free the socket. May be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._episode.end()
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _new_episode(self) -> Episode:
        return Episode(self._upstream, self._index.total_mb * MEBIBYTE, self._largest_file)

    def _accept(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        while True:
            poll.poll()
            with self._lock:
                if self._closed:
                    return
                try:
                    connection = self._listener.accept()[0]
                except BlockingIOError:
                    continue
                except OSError:  # no descriptor is left
                    connection = None
                episode = self._episode
            if connection is None:
                time.sleep(0.1)
            elif not episode.slots.acquire(blocking=False):
                connection.close()
            else:
                try:
                    threading.Thread(target=self._serve, args=(connection, episode), name="package-index", daemon=True).start()
                except RuntimeError:  # no thread is left
                    episode.slots.release()
                    connection.close()

    def _serve(self, connection: socket.socket, episode: Episode) -> None:
        try:
            with connection, episode.connected(connection), contextlib.suppress(OSError, ValueError):
                connection.setblocking(True)
                _Handler(connection, ("box", 0), cast(Any, episode))
        finally:
            episode.slots.release()


class Episode:
    """What one episode has asked for: the files that it may fetch, what it has used up, and how the index has failed it.

    Requests of an episode that is over may still wait for the index: they take no room from the next one, and what becomes of them is not its
    failure.
    """

    def __init__(self, upstream: Upstream, total_bytes: int, largest_file: int) -> None:
        self.upstream = upstream
        self.slots = threading.BoundedSemaphore(AT_ONCE)
        self._failure = ""
        self._left = total_bytes
        self._total = total_bytes
        self._largest_file = largest_file
        self._requests = 0
        self._files: dict[str, str] = {}
        """Path in the box -> address."""
        self._connections: set[socket.socket] = set()
        self._ended = False
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def connected(self, connection: socket.socket) -> Iterator[None]:
        """Keep a connection among those that end with the episode."""
        with self._lock:
            if self._ended:
                raise ConnectionError
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._connections.discard(connection)

    def fail(self, reason: str) -> None:
        """Note that the index has failed; the first reason is kept."""
        with self._lock:
            self._failure = self._failure or reason

    def take_failure(self) -> str:
        """How the index has failed since the last time; empty where it has not."""
        with self._lock:
            failure, self._failure = self._failure, ""
        return failure

    def end(self) -> None:
        """End all connections."""
        with self._lock:
            self._ended = True
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def count_request(self) -> None:
        """Raises `RefusedError` where the episode has made too many."""
        with self._lock:
            self._requests += 1
            if self._requests > MOST_REQUESTS:
                raise RefusedError(403, f"an episode may ask {MOST_REQUESTS} times")

    def spend(self, count: int) -> None:
        """Count bytes that go into the box. Raises `RefusedError` where they are too many."""
        with self._lock:
            if self._ended:
                raise ConnectionError
            if count > self._left:
                raise RefusedError(403, f"an episode may take {self._total // MEBIBYTE} MiB from the package index")
            self._left -= count

    def page(self, project: str, *, as_json: bool) -> bytes:
        """The page of a project, its links leading into the box. Raises `RefusedError`, `UnreachableError`."""
        fetched = self.upstream.page(project)
        with _pages_at_once:
            files = self.upstream.files(project, *fetched)
            paths = {file: self._path(file) for file in files}
            with self._lock:
                for file, path in paths.items():
                    self._files[path] = file.url
                    if file.metadata is not None:
                        self._files[f"{path}.metadata"] = _with_metadata_suffix(file.url)
            page = (write_json if as_json else write_html)(project, files, paths.__getitem__)
        self.spend(len(page))
        return page

    @contextlib.contextmanager
    def file(self, path: str) -> Iterator[tuple[int | None, Iterator[bytes]]]:
        """Length, where it is known, and content of a file that a page named. Raises `RefusedError`, `UnreachableError`."""
        with self._lock:
            address = self._files.get(path)
        if address is None:
            raise RefusedError(404, "no page that this episode has seen links to this file")
        with self.upstream.opened(address) as response:
            length = response.headers.get("content-length", "")
            size = int(length) if length.isdecimal() and "content-encoding" not in response.headers else None
            if size is not None:
                self._check_size(size)
                self.spend(size)
            yield size, self._counted(response, size)

    def _counted(self, response: Response, size: int | None) -> Iterator[bytes]:
        received = 0
        for chunk in response.iter_bytes(65_536):
            received += len(chunk)
            if size is None:
                self._check_size(received)
                self.spend(len(chunk))
            elif received > size or self._ended:
                raise ConnectionError
            yield chunk

    def _check_size(self, size: int) -> None:
        if size > self._largest_file:
            raise RefusedError(403, f"a file may have {self._largest_file // MEBIBYTE} MiB")

    @staticmethod
    def _path(file: ProjectFile) -> str:
        return f"/files/{hashlib.sha256(file.url.encode()).hexdigest()[:16]}/{quote(file.name, safe='+!~')}"


class _Handler(BaseHTTPRequestHandler):
    """One connection, one request. Nothing of it is logged."""

    server: Episode  # type: ignore[assignment]
    server_version = "package-index"
    sys_version = ""
    timeout = PATIENCE_SECONDS
    _answered = False

    def setup(self) -> None:
        """Bound what a request may take."""
        super().setup()
        self.rfile = BufferedReader(_AtMost(self.rfile, REQUEST_BYTES))

    def do_GET(self) -> None:
        """Answer with a page, a file, or why not."""
        try:
            self._answer()
        except RefusedError as error:
            self._refuse(error.status, str(error))
        except UnreachableError as error:
            self.server.fail(str(error))
            self._refuse(502, "the package index failed")

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing: the worker's log is not the agent's to write."""

    def _answer(self) -> None:
        self.server.count_request()
        if self.headers.get("Transfer-Encoding") or self.headers.get("Content-Length", "0").strip() != "0":
            raise RefusedError(400, "a request has no body here")
        project = _PROJECT.fullmatch(self.path)
        if project is not None:
            as_json = JSON in self.headers.get("Accept", "")
            page = self.server.page(canonical_name(project[1]), as_json=as_json)
            self._send_head(JSON if as_json else f"{HTML}; charset=utf-8", len(page))
            if self.command == "GET":
                self.wfile.write(page)
            return
        if not self.path.startswith("/files/"):
            raise RefusedError(404, "there are pages of projects here (/simple/<project>/), and the files that they link to")
        with self.server.file(self.path) as (length, content):
            self._send_head("application/octet-stream", length)
            if self.command == "GET":
                for chunk in content:
                    self.wfile.write(chunk)

    def _send_head(self, content_type: str, length: int | None) -> None:
        self._answered = True
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _refuse(self, status: int, reason: str) -> None:
        if self._answered:  # in the middle of a file nothing can be said any more
            raise ConnectionError
        reason = reason.encode("ascii", "replace").decode()
        text = f"{reason}\n".encode()
        self.send_response(status, reason)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)


class _AtMost(RawIOBase):
    """A stream that ends after so many bytes."""

    def __init__(self, stream: Any, count: int) -> None:
        self._stream = stream
        self._left = count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._stream.read1(min(len(buffer), self._left))
        self._left -= len(chunk)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._stream.close()
        super().close()


# --- the worker's own requests ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Upstream:
    """The index as the worker reaches it: with the proxy, the certificates and the name service of the host."""

    index: PackageIndex = field(repr=False)

    def page(self, project: str) -> tuple[bytes, str, str]:
        """The page of a project: content, type and address. Raises `RefusedError`, `UnreachableError`."""
        address = f"{self.index.url.rstrip('/')}/{project}/"
        with self._requested(address, {_origin(address)}, ACCEPTED) as response:
            content = bytearray()
            for chunk in response.iter_bytes(65_536):
                content += chunk
                if len(content) > PAGE_BYTES:
                    raise RefusedError(403, f"the page of a project may have {PAGE_BYTES // MEBIBYTE} MiB")
            return bytes(content), response.headers.get("content-type", HTML), str(response.url)

    def files(self, project: str, content: bytes, content_type: str, address: str) -> list[ProjectFile]:
        """The files that the page of a project links to, those left out that may not be fetched. Raises `UnreachableError`."""
        try:
            files = read_page(content, content_type, address)
        except UnreadablePageError as error:
            raise UnreachableError(f"{urlsplit(self.index.url).hostname}: the page of {project} is {error}") from error
        return [file for file in files if self._may_be_fetched(file.url)]

    @contextlib.contextmanager
    def opened(self, address: str) -> Iterator[Response]:
        """The answer that holds a file. Raises `RefusedError`, `UnreachableError`."""
        with self._requested(address, {_origin(self.index.url), _origin(address)}, "*/*") as response:
            yield response

    def _may_be_fetched(self, address: str) -> bool:
        """Whether a link leads to the index itself or to a host that is listed; encrypted where the index is."""
        try:
            scheme, host, port = _origin(address)
            parts = urlsplit(address)
        except ValueError:
            return False
        if parts.username is not None or parts.password is not None:
            return False
        own = _origin(self.index.url)
        if (scheme, host, port) == own:
            return True
        listed = (entry.lower().partition(":") for entry in self.index.hosts)
        return scheme in (own[0], "https") and any((host, str(port)) == (name, number or str(_default_port(scheme))) for name, _, number in listed)

    @contextlib.contextmanager
    def _requested(self, address: str, origins: set[tuple[str, str, int]], accept: str) -> Iterator[Response]:
        """The good answer to a request, redirects followed within `origins`."""
        import httpx2

        for _ in range(MOST_REDIRECTS + 1):
            with contextlib.ExitStack() as stack:
                try:
                    response = self._asked(address, accept, stack)
                    if not response.is_redirect:
                        self._check(response)
                        yield response
                        return
                    address = urljoin(address, response.headers.get("location", ""))
                except httpx2.HTTPError as error:
                    raise UnreachableError(f"{urlsplit(address).hostname}: {one_line(error) or type(error).__name__}") from None
                except httpx2.InvalidURL:
                    raise RefusedError(403, "the package index names an address that is none") from None
            try:
                permitted = _origin(address) in origins
            except ValueError:
                permitted = False
            if not permitted:
                raise RefusedError(403, "the package index redirects to another host")
        raise RefusedError(403, "the package index redirects without end")

    def _asked(self, address: str, accept: str, stack: contextlib.ExitStack) -> Response:
        """The answer to one request, tried again where the network or the server fails."""
        import httpx2

        own = _origin(address) == _origin(self.index.url)
        headers = {"Accept": accept, "User-Agent": "medagentgym", **({} if accept == ACCEPTED else {"Accept-Encoding": "identity"})}
        auth = (self.index.user, self.index.password) if own and (self.index.user or self.index.password) else None
        for attempt in range(TRIES):
            last = attempt == TRIES - 1
            try:
                response = stack.enter_context(_client().stream("GET", address, headers=headers, auth=auth))
            except httpx2.TransportError:
                if last:
                    raise
            else:
                if (response.status_code < 500 and response.status_code != 429) or last:
                    return response
                response.close()
            time.sleep(PAUSE_SECONDS * 2**attempt)
        raise AssertionError("unreachable")

    def _check(self, response: Response) -> None:
        status, host = response.status_code, response.url.host
        if status == 200:
            return
        if status in (401, 407):
            raise UnreachableError(f"{host} refuses the credentials; give PACKAGE_INDEX_USER and PACKAGE_INDEX_PASSWORD")
        if status == 429 or status >= 500:
            raise UnreachableError(f"{host} answers with status {status}")
        raise RefusedError(404 if status in (404, 410) else 403, f"the package index answers with status {status}")


def _origin(address: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address. Raises `ValueError`."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an address of the web")
    return parts.scheme, parts.hostname.rstrip(".").lower(), parts.port or _default_port(parts.scheme)


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _with_metadata_suffix(address: str) -> str:
    parts = urlsplit(address)
    return parts._replace(path=f"{parts.path}.metadata").geturl()


@lru_cache(maxsize=1)
def _client() -> Client:
    """What makes the requests, with the proxies and certificates of this process's environment: no redirect, no cookie, no credentials of its own."""
    import httpx2

    return httpx2.Client(
        follow_redirects=False,
        timeout=httpx2.Timeout(PATIENCE_SECONDS, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=10.0),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )
