"""A box with a package index can install from it, and reaches nothing else."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from index_server import JSON, Answer, Index, basic, wheel

from medagentgym.errors import InfrastructureError, UserError
from medagentgym.sandbox import Backend, Box, BoxPool, BoxSpec, Limits, PackageIndex, choose_backend, package_index
from medagentgym.sandbox.landlock import LandlockBackend
from medagentgym.sandbox.none import NoBackend
from medagentgym.sandbox.selection import probe

LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=1024, work_mb=64, file_mb=8)


@pytest.fixture(scope="module")
def networked() -> Backend:
    if not probe("bubblewrap").works:
        pytest.skip(probe("bubblewrap").reason)
    return choose_backend("auto", network="package-index")


@pytest.fixture(scope="module")
def _served() -> Iterator[Index]:
    index = Index()
    yield index
    index.close()


@pytest.fixture
def index(_served: Index) -> Index:
    _served.answers.clear()
    _served.requests.clear()
    return _served


def spec_of(index: Index, **more: Any) -> BoxSpec:
    return BoxSpec(python=Path(sys.executable), limits=LIMITS, preload=("json",), package_index=PackageIndex(index.url, **more))


@pytest.fixture(scope="module")
def _box(networked: Backend, _served: Index) -> Iterator[Box]:
    box = networked.start(spec_of(_served))
    yield box
    box.close()


@pytest.fixture
def box(_box: Box, index: Index) -> Iterator[Box]:
    """A clean box that is shown the index."""
    assert _box.reset()
    yield _box
    assert _box.run("answer = 'alive'").answer == "alive"


ASK = """
import http.client, re
def first_file(project):
    return re.search("/files/[^#']*?[.]whl", ask("/simple/" + project + "/")[1])[0]
def ask(path, method="GET", headers={}, body=None, host=None):
    connection = http.client.HTTPConnection("127.0.0.1", 3141, timeout=20)
    connection.putrequest(method, path, skip_host=host is not None)
    for name, value in {**({"Host": host} if host else {}), **headers}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    response = connection.getresponse()
    return response.status, response.read().decode("utf-8", "replace"), response.getheader("Content-Type")
"""


def ask(box: Box, *arguments: object, **options: object) -> list[Any]:
    """Status, content and type of the answer to one request from within the box."""
    given = ", ".join([*map(repr, arguments), *(f"{name}={value!r}" for name, value in options.items())])
    result = box.run(f"{ASK}\nanswer = ask({given})")
    assert result.has_answer, result.stderr
    return list(result.answer)


# --- installing ---------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_json", [False, True])
def test_what_is_installed_is_there_in_later_steps_and_gone_after_the_episode(box: Box, index: Index, as_json: bool) -> None:
    index.offer("tiny", wheel("tiny", "1.0"), as_json=as_json)
    installed = box.shell("pip install tiny")
    assert installed.exit_status == 0, installed.stderr
    assert "Successfully installed tiny-1.0" in installed.stdout
    assert box.run("import tiny\nanswer = tiny.value").answer == 7
    assert box.shell("python -c 'import tiny; print(tiny.value)'").stdout == "7\n"
    assert box.reset()
    assert "ModuleNotFoundError" in box.run("import tiny").stderr
    assert {path for path in index.paths if "tiny" in path} == {"/simple/tiny/", "/packages/tiny-1.0-py3-none-any.whl"}


def test_a_code_step_can_install_as_well_as_a_shell(box: Box, index: Index) -> None:
    index.offer("tiny", wheel("tiny", "1.0", requires="tinier"))
    index.offer("tinier", wheel("tinier", "2.0", value=8))
    done = box.run("import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', 'install', 'Tiny==1.*'], check=True)")
    assert done.exit_status == 0, done.stderr
    assert box.run("import tiny, tinier\nanswer = [tiny.value, tinier.value]").answer == [7, 8]


def test_a_project_that_the_index_has_not_is_not_found(box: Box, index: Index) -> None:
    result = box.shell("pip install nowhere-to-be-found")
    assert result.exit_status == 1 and "No matching distribution found for nowhere-to-be-found" in result.stderr


def test_packages_of_the_environment_count_as_installed_and_can_be_superseded(networked: Backend, index: Index) -> None:
    index.offer("numpy", wheel("numpy", "99.0", value="another"))
    index.offer("tiny", wheel("tiny", "1.0", requires="numpy"))
    index.offer("tinier", wheel("tinier", "1.0", requires="numpy>=99"))
    box = networked.start(dataclasses.replace(spec_of(index), preload=("numpy",)))
    try:
        needs_any = box.shell("pip install tiny")
        assert needs_any.exit_status == 0 and "/simple/numpy/" not in index.paths, needs_any.stderr
        assert box.run("import numpy, tiny\nanswer = int(numpy.arange(3).sum())").answer == 3
        needs_newer = box.shell("pip install tinier")
        assert needs_newer.exit_status == 0, needs_newer.stderr
        assert box.shell("python -c 'import numpy; print(numpy.value)'").stdout == "another\n"
        assert box.run("import numpy, tinier\nanswer = numpy.value").answer == "another", "although the box had imported the environment's"
        assert box.reset()
        assert box.run("import numpy\nanswer = int(numpy.arange(3).sum())").answer == 3
    finally:
        box.close()


def test_two_boxes_at_once_are_separate(networked: Backend, box: Box, index: Index) -> None:
    other_index = Index()
    other_index.offer("tiny", wheel("tiny", "2.0", value="other"))
    index.offer("tiny", wheel("tiny", "1.0", value="first"))
    other = networked.start(spec_of(other_index))
    try:
        boxes = {"first": box, "other": other}
        threads = [threading.Thread(target=one.shell, args=("pip install tiny",)) for one in boxes.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, one in boxes.items():
            assert one.run("import tiny\nanswer = tiny.value").answer == name
        assert other_index.paths == index.paths == ["/simple/tiny/", f"/packages/tiny-{1.0}-py3-none-any.whl"] or len(other_index.paths) == 2
    finally:
        other.close()
        other_index.close()


# --- what is refused ----------------------------------------------------------------------------------------------------------------------------


REFUSED = [
    ("/", {}),
    ("/simple/", {}),
    ("/simple/tiny", {}),
    ("/simple/tiny/?x=1", {}),
    ("/simple/tiny/json/", {}),
    ("/simple/../secret", {}),
    ("/simple/../", {}),
    ("/simple/%2e%2e/", {}),
    ("/simple/a%2Fb/", {}),
    ("/simple/" + "x" * 101 + "/", {}),
    ("/simple/-tiny/", {}),
    ("/packages/tiny-1.0-py3-none-any.whl", {}),
    ("/files/0000000000000000/tiny-1.0-py3-none-any.whl", {}),
    ("http://127.0.0.1:3141/simple/tiny/", {}),
    ("http://example.org/simple/tiny/", {}),
    ("/secret", {"host": "example.org"}),
]


@pytest.mark.parametrize(("path", "more"), REFUSED)
def test_other_paths_and_hosts_are_refused_and_nothing_is_forwarded(box: Box, index: Index, path: str, more: dict[str, Any]) -> None:
    index.answers["/secret"] = Answer(b"secret")
    index.offer("tiny", wheel("tiny", "1.0"))
    status, content, _ = ask(box, path, **more)
    assert status == 404 and "secret" not in content
    assert index.requests == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "PATCH"])
def test_no_other_method_is_forwarded(box: Box, index: Index, method: str) -> None:
    index.offer("tiny", wheel("tiny", "1.0"))
    assert ask(box, "/simple/tiny/", method=method)[0] == 501
    assert index.requests == []


@pytest.mark.parametrize("headers", [{"Content-Length": "5"}, {"Transfer-Encoding": "chunked"}, {"Content-Length": "x"}])
def test_a_body_is_refused(box: Box, index: Index, headers: dict[str, str]) -> None:
    index.offer("tiny", wheel("tiny", "1.0"))
    assert ask(box, "/simple/tiny/", headers=headers, body=b"12345")[0] == 400
    assert index.requests == []


def test_nothing_of_a_request_reaches_the_index_but_the_name_of_the_project(box: Box, index: Index) -> None:
    index.offer("tiny", wheel("tiny", "1.0"))
    headers = {"X-Patient": "4711", "User-Agent": "patient 4711", "Cookie": "patient=4711", "Accept": "text/4711", "Authorization": "Basic NDcxMQ=="}
    assert ask(box, "/simple/TINY/", headers=headers)[0] == 200
    assert index.paths == ["/simple/tiny/"]
    assert "4711" not in json.dumps(index.requests) and "authorization" not in index.requests[0][2]


def test_a_page_holds_nothing_but_files_at_addresses_of_the_box(box: Box, index: Index) -> None:
    page = """<html><head><base href="/packages/"><script>evil()</script><meta name="pypi:tracks" content="https://evil.example"></head><body>
        <a href="tiny-1.0-py3-none-any.whl#sha256=00" onclick="evil()" data-requires-python="&gt;=3.8" data-yanked="old &lt;b&gt;">x</a>
        <a href="notes.txt">notes</a> <a href="javascript:evil()">x.whl</a> <a href="file:///etc/passwd.whl">x.whl</a></body></html>"""
    index.answers["/simple/tiny/"] = Answer(page.encode(), "text/html")
    status, content, kind = ask(box, "/simple/tiny/")
    assert status == 200 and kind == "text/html; charset=utf-8"
    assert "evil" not in content and "notes" not in content and "passwd" not in content and index.origin not in content
    assert 'data-requires-python="&gt;=3.8"' in content and 'data-yanked="old &lt;b&gt;"' in content and 'href="/files/' in content
    status, content, kind = ask(box, "/simple/tiny/", headers={"Accept": JSON})
    [file] = json.loads(content)["files"]
    assert kind == JSON and file["filename"] == "tiny-1.0-py3-none-any.whl" and file["requires-python"] == ">=3.8" and file["yanked"] == "old <b>"


def test_files_on_other_hosts_are_left_out_unless_they_are_listed(networked: Backend, box: Box, index: Index) -> None:
    elsewhere = Index()
    name, content = wheel("tiny", "1.0")
    elsewhere.answers[f"/{name}"] = Answer(content)
    port = elsewhere.origin.rpartition(":")[2]
    links = (f"{elsewhere.origin}/{name}", "http://169.254.169.254/tiny-3-py3-none-any.whl", f"http://user:secret@127.0.0.1:{port}/{name}")
    index.offer("tiny", links=links)
    permitted = networked.start(spec_of(index, hosts=(f"127.0.0.1:{port}",)))
    try:
        assert "No matching distribution" in box.shell("pip install tiny").stderr
        assert elsewhere.requests == []
        assert permitted.shell("pip install tiny").exit_status == 0
        assert elsewhere.paths == [f"/{name}"]
    finally:
        permitted.close()
        elsewhere.close()


@pytest.mark.parametrize("first", ["/simple/tiny/", "/packages/tiny-1.0-py3-none-any.whl"])
def test_a_redirect_to_another_host_is_not_followed(box: Box, index: Index, first: str) -> None:
    elsewhere = Index()
    index.offer("tiny", wheel("tiny", "1.0"))
    index.answers[first] = Answer(status=302, headers={"Location": f"{elsewhere.origin}/stolen"})
    result = box.shell("pip install tiny")
    assert result.exit_status == 1
    assert elsewhere.requests == []
    elsewhere.close()


def test_a_redirect_within_the_index_is_followed_but_not_for_ever(box: Box, index: Index) -> None:
    index.offer("tiny", wheel("tiny", "1.0"))
    index.answers["/simple/moved/"] = Answer(status=301, headers={"Location": "/simple/tiny/"})
    index.answers["/simple/round/"] = Answer(status=301, headers={"Location": "/simple/round/"})
    assert "tiny-1.0" in ask(box, "/simple/moved/")[1]
    status, content, _ = ask(box, "/simple/round/")
    assert status == 403 and "redirects without end" in content and index.paths.count("/simple/round/") == package_index.MOST_REDIRECTS + 1


def test_a_box_reaches_nothing_else(box: Box, index: Index) -> None:
    port = int(index.origin.rpartition(":")[2])
    code = """
import socket
answer = []
for address in (("127.0.0.1", PORT), ("192.0.2.1", 80), ("10.0.0.1", 443), ("169.254.169.254", 80)):
    try:
        socket.create_connection(address, timeout=1).close()
        answer.append("connected")
    except OSError as error:
        answer.append(type(error).__name__)
try:
    answer.append(socket.getaddrinfo("pypi.org", 443))
except OSError as error:
    answer.append("no name")
"""
    assert box.run(code.replace("PORT", str(port))).answer == ["ConnectionRefusedError", "OSError", "OSError", "OSError", "no name"]


def test_the_port_cannot_be_taken_from_the_index(box: Box, index: Index) -> None:
    index.offer("tiny", wheel("tiny", "1.0"))
    code = """
import socket
answer = []
for address in ("127.0.0.1", "0.0.0.0"):
    for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        server = socket.socket()
        if option:
            server.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            server.bind((address, 3141))
            server.listen()
            answer.append("taken")
        except OSError as error:
            answer.append(error.strerror)
"""
    assert set(box.run(code).answer) == {"Address already in use"}
    assert box.shell("pip install tiny").exit_status == 0


# --- how much ---------------------------------------------------------------------------------------------------------------------------------------


def test_a_file_that_is_too_large_is_refused_with_its_limit(box: Box, index: Index) -> None:
    name, _ = wheel("tiny", "1.0")
    index.offer("tiny", (name, bytes(9 * 2**20)))
    result = box.shell("pip install tiny")
    assert result.exit_status == 1 and "a file may have 8 MiB" in result.stderr


def test_an_episode_may_take_so_much_and_the_next_as_much_again(networked: Backend, index: Index) -> None:
    name, _ = wheel("large", "1.0")
    index.offer("large", (name, bytes(700_000)))
    box = networked.start(spec_of(index, total_mb=1))
    fetch = f"{ASK}\npath = first_file('large')\nanswer = [ask(path)[0], ask(path)[:2]]"
    try:
        for _ in range(2):
            assert box.run(fetch).answer == [200, [403, "an episode may take 1 MiB from the package index\n"]]
            assert box.reset()
    finally:
        box.close()


def test_a_page_that_is_too_large_is_refused(box: Box, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.offer("tiny", wheel("tiny", "1.0"))
    monkeypatch.setattr(package_index, "PAGE_BYTES", 50)
    assert ask(box, "/simple/tiny/")[0] == 403


def test_an_episode_may_ask_so_often(box: Box, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.offer("tiny", wheel("tiny", "1.0"))
    monkeypatch.setattr(package_index, "MOST_REQUESTS", 3)
    assert box.run(f"{ASK}\nanswer = [ask('/simple/tiny/')[0] for _ in range(5)]").answer == [200, 200, 200, 403, 403]
    assert len(index.requests) == 3


def test_a_file_counts_only_in_the_episode_that_saw_its_page(box: Box, index: Index) -> None:
    index.offer("tiny", wheel("tiny", "1.0"))
    path = box.run(f"{ASK}\nanswer = first_file('tiny')").answer
    assert ask(box, path)[0] == 200 and ask(box, path, method="HEAD")[:2] == [200, ""]
    assert box.reset()
    assert ask(box, path)[0] == 404


def test_a_swarm_of_connections_and_endless_requests_harm_nobody(box: Box, index: Index) -> None:
    index.offer("tiny", wheel("tiny", "1.0"))
    swarm = """
import socket, time
connections = []
for number in range(60):
    connection = socket.create_connection(("127.0.0.1", 3141))
    connection.send(b"GET /simple/tiny/ HTTP/1.1\\r\\n" if number % 2 else b"G" * 1000)
    connections.append(connection)
try:
    for _ in range(1000):
        connections[0].send(b"A" * 65536)
except OSError:
    pass
answer = "done"
"""
    before = threading.active_count()
    assert box.run(swarm).answer == "done"
    assert threading.active_count() <= before + package_index.AT_ONCE
    assert box.reset()
    assert box.shell("pip install tiny").exit_status == 0


# --- when the index fails -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [500, 503, 429, 401])
def test_an_index_that_fails_is_no_failure_of_the_agent(box: Box, index: Index, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_index, "PAUSE_SECONDS", 0.01)
    index.answers["/simple/tiny/"] = Answer(b"failed", status=status)
    with pytest.raises(InfrastructureError, match=r"machine: the package index failed: 127\.0\.0\.1 (answers with status|refuses the credentials)"):
        box.shell("pip install tiny")
    assert len(index.requests) == (1 if status == 401 else package_index.TRIES)


def test_what_becomes_of_an_ended_episode_is_no_failure_of_the_next(index: Index) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    server = package_index.PackageIndexServer(listener, PackageIndex(index.url), 1000)
    try:
        ended = server._episode
        server.begin_episode()
        ended.fail("too late")
        server.raise_failure()
        server._episode.fail("in time")
        with pytest.raises(InfrastructureError, match="in time"):
            server.raise_failure()
        assert all(ended.slots.acquire(blocking=False) for _ in range(package_index.AT_ONCE))
        assert server._episode.slots.acquire(blocking=False)
    finally:
        server.close()


def test_a_server_that_recovers_is_asked_again(box: Box, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_index, "PAUSE_SECONDS", 0.01)
    index.offer("tiny", wheel("tiny", "1.0"))
    good = index.answers["/simple/tiny/"]
    index.answers["/simple/tiny/"] = lambda handler: Answer(status=503) if len(index.requests) < 2 else good  # type: ignore[return-value]
    assert box.shell("pip install tiny").exit_status == 0


def test_an_index_that_is_gone_or_talks_nonsense_is_no_failure_of_the_agent(
    networked: Backend, box: Box, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_index, "PAUSE_SECONDS", 0.01)
    index.answers["/simple/tiny/"] = Answer(b"{", JSON)
    with pytest.raises(InfrastructureError, match="the page of tiny is not a page of a package index"):
        box.shell("pip install tiny")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        gone = dataclasses.replace(spec_of(index), package_index=PackageIndex(f"http://127.0.0.1:{unused.getsockname()[1]}/simple"))
        lonely = networked.start(gone)
        try:
            with pytest.raises(InfrastructureError, match=r"the package index failed: 127\.0\.0\.1: "):
                lonely.shell("pip install tiny")
            assert lonely.run("answer = 1").answer == 1, "the box itself is well"
        finally:
            lonely.close()


# --- credentials --------------------------------------------------------------------------------------------------------------------------------


def test_credentials_go_to_the_index_alone_and_never_into_the_box(networked: Backend, index: Index) -> None:
    elsewhere = Index()
    name, content = wheel("tiny", "1.0")
    elsewhere.answers[f"/{name}"] = Answer(content)
    index.offer("tiny", links=(f"{elsewhere.origin}/{name}",))
    index.offer("tinier", wheel("tinier", "1.0"))
    spec = spec_of(index, user="reader", password="sesame-open", hosts=(elsewhere.origin.removeprefix("http://"),))
    assert "sesame" not in repr(spec) and "reader" not in repr(spec)
    box = networked.start(spec)
    try:
        installed = box.shell("pip install -v tiny tinier; pip config list; env; cat /proc/*/environ; ls .packages/*/*/*/tiny.py")
        assert installed.exit_status == 0
        assert "sesame" not in installed.stdout + installed.stderr and basic("reader", "sesame-open") not in installed.stdout + installed.stderr
        assert [headers.get("authorization") for _, _, headers in index.requests] == [basic("reader", "sesame-open")] * len(index.requests)
        assert elsewhere.paths == [f"/{name}"] and "authorization" not in elsewhere.requests[0][2]
    finally:
        box.close()
        elsewhere.close()


def test_the_proxy_of_the_environment_is_used(networked: Backend, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose name no service knows is reached through the proxy, which is this server as well."""
    name, content = wheel("tiny", "1.0")
    index.answers["http://index.invalid/simple/tiny/"] = Answer(f'<a href="/packages/{name}">x</a>'.encode(), "text/html")
    index.answers[f"http://index.invalid/packages/{name}"] = Answer(content)
    monkeypatch.setenv("http_proxy", index.origin)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    package_index._client.cache_clear()
    box = networked.start(dataclasses.replace(spec_of(index), package_index=PackageIndex("http://index.invalid/simple")))
    try:
        assert box.shell("pip install tiny").exit_status == 0
        assert index.paths == ["http://index.invalid/simple/tiny/", f"http://index.invalid/packages/{name}"]
    finally:
        box.close()
        package_index._client.cache_clear()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_the_certificates_of_the_environment_are_trusted_and_no_others(networked: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_index, "PAUSE_SECONDS", 0.01)
    key, certificate, both = (tmp_path / name for name in ("key.pem", "certificate.pem", "both.pem"))
    names = ["-subj", "/CN=index", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(key), "-out", str(certificate), *names]
    subprocess.run(make, check=True, capture_output=True)
    both.write_text(key.read_text() + certificate.read_text())
    index = Index(both)
    index.offer("tiny", wheel("tiny", "1.0"), links=("http://127.0.0.1/plain-1-py3-none-any.whl",))
    box = networked.start(spec_of(index, hosts=("127.0.0.1",)))
    try:
        with pytest.raises(InfrastructureError, match=r"the package index failed.*certificate"):
            box.shell("pip install tiny")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        package_index._client.cache_clear()
        assert box.shell("pip install tiny").exit_status == 0
        assert "plain" not in ask(box, "/simple/tiny/")[1], "what is encrypted leads to nothing that is not"
    finally:
        box.close()
        index.close()
        package_index._client.cache_clear()


# --- boxes ------------------------------------------------------------------------------------------------------------------------------------------


def test_nothing_is_left_of_a_box_with_an_index(networked: Backend, index: Index) -> None:
    index.offer("tiny", wheel("tiny", "1.0"))
    before = len(os.listdir("/proc/self/fd")), threading.active_count(), psutil.Process().children()
    with BoxPool(networked, 2) as pool:
        for _ in range(3):
            with pool.box(spec_of(index)) as box:
                assert box.run("import os\nanswer = os.listdir('.')").answer == []
                assert box.shell("pip install tiny").exit_status == 0
    package_index._client().close()
    package_index._client.cache_clear()
    deadline = time.monotonic() + 10
    while (len(os.listdir("/proc/self/fd")), threading.active_count()) > before[:2] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(os.listdir("/proc/self/fd")) <= before[0] and threading.active_count() <= before[1] and psutil.Process().children() == before[2]


@pytest.mark.parametrize("backend_class", [LandlockBackend, NoBackend])
def test_backends_without_a_network_of_their_own_refuse(backend_class: type[LandlockBackend | NoBackend], index: Index) -> None:
    with pytest.raises(UserError, match=r"^sandbox\.network: package-index needs boxes with a network of their own, which (landlock|none) has not"):
        backend_class().start(spec_of(index))
    with pytest.raises(UserError, match=r"sandbox\.network"):
        choose_backend(backend_class.name, network="package-index")
