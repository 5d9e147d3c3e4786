"""Files come out of a box as they are, and nothing but files of the box does."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import psutil
import pytest

from medagentgym.errors import AgentError, InfrastructureError
from medagentgym.sandbox import Backend, Box, BoxSpec

LIMIT = 1_000_000


def test_a_file_that_a_step_left_is_read_byte_by_byte(box: Box) -> None:
    box.run("import os\nos.makedirs('results/more')\nopen('results/more/predictions.bin', 'wb').write(bytes(range(256)) * 1000)\nopen('empty', 'w')")
    assert box.read_file("results/more/predictions.bin", LIMIT) == bytes(range(256)) * 1000
    assert box.read_file("empty", LIMIT) == b""
    assert box.run("answer = 1").answer == 1


def test_names_may_be_any_text(box: Box) -> None:
    box.run("open('Größe -n $(x) \\n.csv', 'w').write('a')")
    assert box.read_file("Größe -n $(x) \n.csv", LIMIT) == b"a"


def test_a_file_is_read_to_its_limit_and_no_further(box: Box) -> None:
    box.run("open('ten', 'w').write('0123456789')")
    assert box.read_file("ten", 10) == b"0123456789"
    with pytest.raises(AgentError, match="ten: is larger than 9 bytes"):
        box.read_file("ten", 9)


@pytest.mark.parametrize("path", ["", ".", "..", "../etc/passwd", "/etc/passwd", "a/../../b", "a//b", "a/", "./a", "a\0b", "x" * 5000])
def test_a_path_that_leaves_the_work_folder_is_refused(box: Box, path: str) -> None:
    with pytest.raises(AgentError, match="within the work folder"):
        box.read_file(path, LIMIT)


TRICKS = {
    "nothing": ("pass", "there is no such file"),
    "a link to a file of the host": ("os.symlink('/etc/passwd', 'result')", "symbolic link"),
    "a link to a file of its own": ("open('other', 'w').write('x')\nos.symlink('other', 'result')", "symbolic link"),
    "a link to nothing": ("os.symlink('/nowhere', 'result')", "symbolic link"),
    "a link to itself": ("os.symlink('result', 'result')", "symbolic link"),
    "a folder": ("os.mkdir('result')", "not a regular file"),
    "a pipe without an end": ("os.mkfifo('result')", "not a regular file"),
    "a hard link": ("open('other', 'w').write('x')\nos.link('other', 'result')", "more than one name"),
    "a sparse giant": ("with open('result', 'wb') as stream:\n    stream.truncate(30 * 2**20)", "larger than"),
    "a link to an endless device": ("os.symlink('/dev/zero', 'result')", "symbolic link"),
    "a link to the memory of the zygote": ("os.symlink(f'/proc/{os.getppid()}/mem', 'result')", "symbolic link"),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_what_is_no_file_of_the_box_is_refused_in_words(box: Box, trick: str) -> None:
    code, reason = TRICKS[trick]
    prepared = box.run(f"import os\n{code}")
    assert prepared.exit_status == 0, prepared.stderr
    with pytest.raises(AgentError, match=f"^result: .*{reason}"):
        box.read_file("result", LIMIT)
    assert box.run("answer = 'next'").answer == "next"


@pytest.mark.parametrize("target", ["/etc", "/", "/proc/self/root/etc", "."])
def test_a_link_in_the_place_of_a_folder_is_not_followed(box: Box, target: str) -> None:
    box.run(f"import os\nos.symlink({target!r}, 'results')\nopen('passwd', 'w').write('own')")
    with pytest.raises(AgentError, match=r"results/passwd: .*symbolic link"):
        box.read_file("results/passwd", LIMIT)


def test_a_file_in_the_place_of_a_folder_is_refused(box: Box) -> None:
    box.run("open('results', 'w').write('x')")
    with pytest.raises(AgentError, match="not a regular file in regular folders"):
        box.read_file("results/predictions.csv", LIMIT)


def test_a_socket_is_no_file(box: Box) -> None:
    made = box.run("import socket\nserver = socket.socket(socket.AF_UNIX)\nserver.bind('result')")
    if made.exit_status != 0:
        pytest.skip("this backend permits no sockets")
    with pytest.raises(AgentError, match="not a regular file"):
        box.read_file("result", LIMIT)


def test_a_closed_file_or_folder_ends_in_its_content_or_in_words(box: Box) -> None:
    code = "open(path, 'w').write('own')\n    os.chmod(path, 0)"
    box.run(f"import os\nos.mkdir('shut')\nfor path in ('result', 'shut/result'):\n    {code}\nos.chmod('shut', 0)")
    for path in ("result", "shut/result"):
        try:
            assert box.read_file(path, LIMIT) == b"own"
        except AgentError as error:
            assert str(error) == f"{path}: cannot be opened."
    assert box.reset()


def test_no_swap_is_fast_enough(box: Box) -> None:
    """The swapping processes do not outlive their step, so what is read is one of the two things that they swapped, and never the host's."""
    swapping = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            for make in (lambda: os.symlink("/etc/passwd", "next"), lambda: open("next", "w").write("own")):
                make()
                os.rename("next", "result")
    os._exit(0)
import time
time.sleep(0.05)
"""
    for _ in range(10):
        box.run(swapping)
        try:
            assert box.read_file("result", LIMIT) in (b"own", b"")
        except AgentError as error:
            assert "symbolic link" in str(error) or "no such file" in str(error)
        box.run("import os\nfor name in os.listdir('.'):\n    os.unlink(name)")


def test_a_file_of_one_episode_is_not_there_in_the_next(box: Box) -> None:
    box.run("open('result', 'w').write('first')")
    assert box.read_file("result", LIMIT) == b"first" and box.reset()
    with pytest.raises(AgentError, match="no such file"):
        box.read_file("result", LIMIT)


def test_reading_leaves_no_descriptor_on_either_side(box: Box) -> None:
    box.run("import os\nopen('result', 'w').write('x')\nos.symlink('result', 'link')")

    def read() -> None:
        box.read_file("result", LIMIT)
        for path in ("link", "missing"):
            with pytest.raises(AgentError):
                box.read_file(path, LIMIT)

    def open_files() -> int:
        count = len(os.listdir("/proc/self/fd"))
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.AccessDenied):  # as an ordinary user, the zygote cannot be looked into
                count += process.num_fds()
        return count

    read()  # from then on the child of the next step is there
    before = open_files()
    for _ in range(20):
        read()
    assert open_files() == before


def test_a_step_never_sees_what_was_read_of_an_earlier_episode(box: Box) -> None:
    box.run("open('result', 'w').write('secret-of-' * 1000 + 'the-first-episode')")
    box.read_file("result", LIMIT)
    assert box.reset()
    search = """
found, sought = False, bytes(reversed(b"edosipe-tsrif-eht-fo-terces"))
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        first, last = (int(number, 16) for number in line.split()[0].split("-"))
        if line.split()[1].startswith("rw") and last - first < 2**28:
            memory.seek(first)
            found = found or memory.read(last - first).count(sought) > 1  # one is the sought text itself
answer = found
"""
    result = box.run(search)
    assert result.answer is False, result.stderr


def test_a_closed_box_has_no_files(backend: Backend, tmp_path: Path) -> None:
    box = backend.start(BoxSpec(python=Path(sys.executable), preload=()))
    box.close()
    with pytest.raises(InfrastructureError, match="closed"):
        box.read_file("result", LIMIT)
