"""The program that lives in a box: it imports the task's libraries once and forks a child for every code step, one ahead.

It runs as PID 1 of the box where the backend has a PID namespace, else as a child of the worker and as the subreaper of everything that it starts. It
never runs agent code and never holds any: code, output and answer of a step pass by it, so that its memory, which every later step inherits, has
nothing of an earlier one. It uses the standard library only and needs no file of this package but `answers.py` beside it.

The control channel is a stream socket, inherited as the descriptor named on the command line. A frame is a length (4 bytes, big-endian) and JSON.

1. The zygote sends one byte, by which the kernel tells the host its process number. The host sends one frame, the box's settings (see `Settings`);
   the zygote imports the modules of `preload` and answers `{"ready": true, ...}`, with the listening sockets that were asked for as `SCM_RIGHTS`.
2. A request is one byte. `r` (run) and `s` (shell) are followed by one frame, which carries the write ends of two pipes for stdout and stderr as
   `SCM_RIGHTS` and is read *by the forked child*; `f` (file) is followed by one frame with a path; `x` (reset) stands alone.
3. The answer is a frame; that of `r` is followed by as many bytes of encoded answer and of text as the frame says. When it comes, nothing that the
   step started is alive any more. The answer to `f` carries the open file as `SCM_RIGHTS`, so that what it holds does not pass by the zygote either.

At the end of the channel the zygote exits, and with it everything in the box.
"""

from __future__ import annotations

import array
import base64
import contextlib
import ctypes
import errno
import gc
import io
import json
import mmap
import os
import random
import resource
import select
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION = 0x20080522

GREETING = b"z"
AFRESH = "afresh"
"""Argument of an interpreter that runs one program and is no zygote."""
LONGEST_REQUEST = 1 << 20
NOTICE = struct.Struct("!Q")
"""What the host sends when the kernel killed something for its memory: the number of the step, from 1."""
WATCH_SECONDS = 0.05
LISTEN_BACKLOG = 32
LOOK_SECONDS = 0.25
"""How often watched folders are looked through."""
RESET_SECONDS = 1.0
DEEPEST_FOLDER = 200
MOST_COUNTED = 10_000_000
"""Files that are counted at most, once a step is over."""
MOST_OPEN_FOLDERS = 500
"""Folders that are open at once while the files of a watched folder are counted."""
SHARED_MEMORY = "/dev/zero (deleted)"
"""How the kernel names memory that processes share and no file holds."""
START_SECONDS = 10.0
"""How long the child of a step may take to read what it is to run."""
MOST_STARTS = 10
"""Children that are started for one step, where each ends before it comes to it."""
MOST_FRAMES = 1000
"""Calls that a traceback shows, as many as the interpreter's own."""
CODE_NAME = "<code>"

_STATUS = struct.Struct("!BQQB")
"""What the child leaves at the start of the shared memory: what became of the answer, bytes of answer and of text, and the limit it ran into."""
_NO_ANSWER, _ANSWERED, _TOO_LARGE = range(3)
_LIMITS_BY_ERRNO = {errno.ENOSPC: "work_mb", errno.EDQUOT: "work_mb", errno.EFBIG: "file_mb", errno.EMFILE: "open_files"}
_REPORTED = ("", "memory_mb", "work_mb", "file_mb", "open_files", "processes")


class Settings:
    """What the host sends first."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.limits: dict[str, float] = data["limits"]
        """The fields of `Limits`."""
        self.preload: list[str] = data["preload"]
        self.work: str = data["work"]
        """Where steps start."""
        self.scratch: list[str] = data["scratch"]
        """Folders that a reset empties, `work` among them."""
        self.capped: list[str] = data["capped"]
        """Those of them that are file systems of their own, whose files are counted."""
        self.own_folder: str | None = data.get("own_folder")
        """Folder of the host around the scratch folders, removed at the end."""
        self.identity: int | None = data.get("identity")
        """User and group to become, where the box starts as root without a user namespace."""
        self.watched: list[str] = data.get("watched", [])
        """Those of them that are not, whose files are looked through now and then."""
        self.keep_reading: bool = data.get("keep_reading", False)
        """Whether the new user may still read what root can, which the confinement then narrows."""
        self.process_limit: int = data["process_limit"]
        """How many processes and threads the kernel may count for the box's user."""
        self.confinement: dict[str, Any] | None = data.get("confinement")
        """What `confinement.Confinement` takes, where the box itself does not isolate."""
        self.ports: list[int] = data["ports"]
        """Ports of the box's own loopback on which the host listens."""
        self.text_bytes: int = data["text_bytes"]
        """Longest text of an unprinted answer."""


class HostGoneError(Exception):
    """The control channel ended."""


# --- the channel --------------------------------------------------------------------------------------------------------------------------------


def receive_exactly(channel: socket.socket, count: int) -> bytes:
    """The next `count` bytes. Raises `HostGoneError`."""
    chunks = []
    while count:
        chunk = channel.recv(min(count, 1 << 20))
        if not chunk:
            raise HostGoneError
        chunks.append(chunk)
        count -= len(chunk)
    return b"".join(chunks)


def receive_frame(channel: socket.socket) -> Any:
    """The next frame. Raises `HostGoneError`."""
    (length,) = struct.unpack("!I", receive_exactly(channel, 4))
    if length > LONGEST_REQUEST:
        raise HostGoneError
    return json.loads(receive_exactly(channel, length))


def receive_frame_with(channel: socket.socket, most: int) -> tuple[dict[str, Any], list[int]]:
    """The next frame and the descriptors, at most so many, that came with its first bytes. Raises `HostGoneError`."""
    size = array.array("i", [0]).itemsize
    head, ancillary, _, _ = channel.recvmsg(4, socket.CMSG_SPACE(most * size), socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % size])
    head += receive_exactly(channel, 4 - len(head))
    return json.loads(receive_exactly(channel, struct.unpack("!I", head)[0])), list(descriptors)


def send_frame(channel: socket.socket, data: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send one frame, with descriptors where there are any."""
    encoded = json.dumps(data).encode()
    head = struct.pack("!I", len(encoded))
    if descriptors:
        socket.send_fds(channel, [head], list(descriptors))
        channel.sendall(encoded)
    else:
        channel.sendall(head + encoded)


# --- the child: one step ------------------------------------------------------------------------------------------------------------------------


class Step:
    """What a forked child does: prepare itself, run the code, leave the answer in the shared memory, and exit."""

    def __init__(self, zygote: Zygote, shared: mmap.mmap) -> None:
        self.zygote = zygote
        self.settings = zygote.settings
        self.shared = shared

    def run(self, start: int) -> NoReturn:
        """Prepare, wait for the start (a byte that says what kind of step it is), and run. Never returns, whatever happens."""
        try:
            self._prepare()
            kind = os.read(start, 1)
            if not kind:
                os._exit(0)
            request, descriptors = receive_frame_with(self.zygote.channel, 2)
            self._take_over(descriptors, start)
            if kind == b"s":
                self._exec_shell(request["command"])
            self._run_code(request["code"], request["seed"])
        except BaseException as error:
            os.write(2, f"sandbox: the step could not be started: {error!r}\n".encode())
            os._exit(70)

    def _take_over(self, descriptors: list[int], start: int) -> None:
        """Make the pipes of the host stdout and stderr, open stdin afresh (locks and flags stay with an open file), and close everything else."""
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(descriptors[0], 1)
        os.dup2(descriptors[1], 2)
        self.zygote.channel.detach()
        os.closerange(3, max(self.zygote.highest_descriptor, start, *descriptors) + 2)

    def _prepare(self) -> None:
        """Give up what a step may not have."""
        os.setsid()
        self.zygote.prctl(PR_SET_DUMPABLE, 1)
        if not self.zygote.is_init:
            self.zygote.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        with open("/proc/self/oom_score_adj", "w") as stream:
            stream.write("1000")
        for name, soft, hard in self.zygote.resource_limits:
            resource.setrlimit(name, (soft, hard))
        os.chdir(self.settings.work)
        if self.zygote.confinement is not None:
            self.zygote.confinement.apply()

    def _exec_shell(self, command: str) -> NoReturn:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        os.execv("/bin/sh", ["sh", "-c", command])

    def _run_code(self, code: str, seed: int) -> NoReturn:
        if self.zygote.is_superseded():
            self._run_afresh(code, seed)
        sys.path[:0] = ["", *self.zygote.writable_paths]
        run_program(code, seed, self.shared, self.zygote.answers, self.settings.limits["answer_bytes"], self.settings.text_bytes)

    def _run_afresh(self, code: str, seed: int) -> NoReturn:
        """Run the program in an interpreter of its own, because this one has imported another version of what the episode has installed."""
        request_reader, request_writer = os.pipe()
        answer_reader, answer_writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.set_inheritable(request_reader, True)
            os.set_inheritable(answer_writer, True)
            os.close(request_writer)
            os.execv(sys.executable, [sys.executable, "-s", os.path.abspath(__file__), AFRESH, str(request_reader), str(answer_writer)])
        os.close(request_reader)
        os.close(answer_writer)
        sizes = {"answer_bytes": self.settings.limits["answer_bytes"], "text_bytes": self.settings.text_bytes}
        with contextlib.suppress(BrokenPipeError), open(request_writer, "w", encoding="utf-8") as stream:
            json.dump({"code": code, "seed": seed, **sizes}, stream)
        answer = read_until_ended(child, answer_reader, len(self.shared))
        _, status = os.waitpid(child, 0)
        self.shared[: len(answer)] = answer
        exit_status = os.waitstatus_to_exitcode(status)
        if exit_status < 0:
            if -exit_status != signal.SIGKILL:
                signal.signal(-exit_status, signal.SIG_DFL)
            os.kill(os.getpid(), -exit_status)
        os._exit(exit_status & 255)


def _seed(seed: int) -> None:
    random.seed(seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(seed % 2**32)


def read_until_ended(child: int, reader: int, most: int) -> bytes:
    """What comes out of a pipe until a child has ended, whoever else holds the other end; at most so many bytes."""
    received = bytearray()
    ended = os.pidfd_open(child)
    os.set_blocking(reader, False)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(reader, select.POLLIN)
    is_over, is_open = False, True
    while not is_over:
        is_over = ended in dict(poll.poll())
        with contextlib.suppress(BlockingIOError):
            while is_open and (chunk := os.read(reader, 1 << 16)):
                received += chunk[: most - len(received)]
            if is_open:
                poll.unregister(reader)
                is_open = False
    os.close(ended)
    os.close(reader)
    return bytes(received)


def afresh(request_reader: int, answer_writer: int) -> NoReturn:
    """What the interpreter of a single program does: see `Step._run_afresh`."""
    with open(request_reader, encoding="utf-8") as stream:
        request = json.load(stream)
    sys.path[0] = ""
    with contextlib.suppress(Exception):
        __import__("numpy.random")
    answers = import_neighbour("answers")
    shared = mmap.mmap(-1, _STATUS.size + int(request["answer_bytes"]) + int(request["text_bytes"]))

    def hand_over() -> None:
        _, answer, text, _ = _STATUS.unpack(shared[: _STATUS.size])
        with contextlib.suppress(OSError), open(answer_writer, "wb") as stream:
            stream.write(shared[: _STATUS.size + answer + text])

    run_program(request["code"], request["seed"], shared, answers, request["answer_bytes"], request["text_bytes"], hand_over)


def run_program(
    code: str, seed: int, shared: mmap.mmap, answers: Any, answer_bytes: float, text_bytes: int, hand_over: Callable[[], None] = lambda: None
) -> NoReturn:
    """Run the code as a program of its own, leave its answer in `shared`, and exit."""

    def report(state: int, answer: int = 0, text: int = 0, limit: int = 0) -> None:
        shared[: _STATUS.size] = _STATUS.pack(state, answer, text, limit)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    _seed(seed)
    for name, stream in (("stdin", open(0, closefd=False)), ("stdout", _text_stream(1)), ("stderr", _text_stream(2))):  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    variables = _fresh_main(code)
    process = os.getpid()
    try:
        status, limit = _execute(code, variables)
    except BaseException as error:  # out of a trace function that the code has set, which is unset now
        _print_error(f"{type(error).__name__}\n")
        status, limit = 1, 0
    if os.getpid() != process:  # a fork that the code made and that ran on to the end of the program
        os._exit(status)
    if "answer" in variables:
        _leave_answer(variables["answer"], answers, shared, report, int(answer_bytes), text_bytes, limit)
    else:
        report(_NO_ANSWER, limit=limit)
    hand_over()
    os._exit(status)


def _text_stream(descriptor: int) -> io.TextIOWrapper:
    """A text stream that hands on every line at once, so that a step that is stopped has shown what it printed, and that can print any string."""
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _fresh_main(code: str) -> dict[str, Any]:
    """Make `__main__` a new, empty program, as `python -c` has it, and return its variables."""
    import linecache
    import types

    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv[:] = ["-c"]
    linecache.cache[CODE_NAME] = (len(code), None, code.splitlines(keepends=True), CODE_NAME)
    return main.__dict__


def _execute(code: str, variables: dict[str, Any]) -> tuple[int, int]:
    """Run a program to its very end, like the interpreter does: exit status, and the number of the limit that an uncaught error tells of."""
    import atexit
    import threading

    status, limit = 0, 0
    try:
        exec(compile(code, CODE_NAME, "exec", dont_inherit=True), variables)
    except BaseException as error:
        status, limit = _uncaught(error)
    for end in (threading._shutdown, atexit._run_exitfuncs):  # type: ignore[attr-defined]
        try:
            end()
        except BaseException as error:
            status = _uncaught(error)[0] or status
    _flush()
    return status, limit


def _uncaught(error: BaseException) -> tuple[int, int]:
    """Report an uncaught exception as the interpreter does: exit status and number of the limit."""
    import traceback

    limit = ""
    try:
        if isinstance(error, SystemExit):
            if error.code is None or isinstance(error.code, int):
                return (error.code or 0) & 255, 0
            _print_error(str(error.code) + "\n")
            return 1, 0
        limit = _limit_behind(error)
        own = error.__traceback__
        if own is not None:
            error.__traceback__ = own.tb_next
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(error), error, error.__traceback__)
        else:
            _print_error("".join(traceback.format_exception(error, limit=-MOST_FRAMES)))
    except BaseException:
        _print_error(f"{type(error).__name__}\n")
    return 1, _REPORTED.index(limit)


def _limit_behind(error: BaseException) -> str:
    """The limit that an uncaught error tells of, or nothing."""
    if isinstance(error, MemoryError):
        return "memory_mb"
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        return "memory_mb" if _can_fork() else "processes"  # there was no room for its stack
    if isinstance(error, BlockingIOError):
        return "" if _can_fork() else "processes"
    return _LIMITS_BY_ERRNO.get(error.errno or 0, "") if isinstance(error, OSError) else ""


def _can_fork() -> bool:
    try:
        child = os.fork()
    except OSError:
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def _print_error(text: str) -> None:
    try:
        _flush()
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def _flush() -> None:
    for stream in {id(stream): stream for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)}.values():
        try:
            stream.flush()  # type: ignore[union-attr]
        except BaseException:
            continue


def _leave_answer(answer: Any, answers: Any, shared: mmap.mmap, report: Any, longest: int, text_bytes: int, limit: int) -> None:
    """Write the answer, then its text as Python renders it, into the shared memory."""
    try:
        encoded = answers.encode(answer, longest)
    except answers.AnswerTooLargeError:
        report(_TOO_LARGE, 0, 0, limit)
        return
    except BaseException as error:
        report(_NO_ANSWER, 0, 0, limit)
        _print_error(f"The answer cannot be read: {type(error).__name__}\n")
        return
    start = _STATUS.size
    shared[start : start + len(encoded)] = encoded
    report(_ANSWERED, len(encoded), 0, limit)
    try:
        text = str(answer).encode("utf-8", "backslashreplace")[:text_bytes]
    except BaseException:
        return
    shared[start + len(encoded) : start + len(encoded) + len(text)] = text
    report(_ANSWERED, len(encoded), len(text), limit)


# --- the parent ---------------------------------------------------------------------------------------------------------------------------------


class Zygote:
    """PID 1 of the box, or the subreaper that stands in for it."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.is_init = os.getpid() == 1
        self.highest_descriptor = channel.fileno()
        self._library = ctypes.CDLL(None, use_errno=True)
        self.confinement: Any = None
        self._next: Waiting | None = None
        self.steps = 0
        self.left: dict[str, tuple[int, int]] = {}
        """Number and bytes of the files that the last step left in each folder."""
        channel.sendall(GREETING)
        settings, (self.notices,) = receive_frame_with(channel, 1)
        os.set_blocking(self.notices, False)
        self.settings = Settings(settings)

    def prctl(self, option: int, first: int, second: int = 0) -> None:
        """`man 2 prctl`. What the kernel refuses is left as it is."""
        self._library.prctl(option, *(ctypes.c_ulong(number) for number in (first, second, 0, 0)))

    def prepare(self) -> dict[str, Any]:
        """Give up every privilege, shield the process, import the libraries: what the host is told when the box is ready."""
        gc.disable()  # the search for garbage among what is being imported takes a fifth of the time, and there is next to none
        if self.settings.identity is not None:
            self._become(self.settings.identity)
        self.prctl(PR_SET_NO_NEW_PRIVS, 1)
        self.prctl(PR_SET_DUMPABLE, 0)
        if self.is_init:
            self.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        else:  # it has to live on for a moment when the host goes, to sweep
            self.prctl(PR_SET_CHILD_SUBREAPER, 1)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # as PID 1 it then ignores every signal of its children
        os.chdir(self.settings.work)
        del sys.path[0]
        self.writable_paths = os.environ["PYTHONPATH"].split(":")  # the zygote itself imports nothing from where steps can write
        for path in self.writable_paths:
            sys.path.remove(path)
            sys.path_importer_cache.pop(path, None)  # a step shall find what is there then, not what was there now
        started = time.monotonic()
        compiled, missing = self._preload()
        self.answers = import_neighbour("answers")
        if self.settings.confinement is not None:
            program = base64.b64decode(self.settings.confinement["filter"])
            self.confinement = import_neighbour("confinement").Confinement(self.settings.confinement["paths"], program)
        self.imported = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
        self.highest_descriptor = max(int(name) for name in os.listdir("/proc/self/fd"))
        self.resource_limits = self._resource_limits()
        self.mapped = int(read_text("/proc/self/statm").split()[0]) * resource.getpagesize()
        gc.freeze()
        gc.enable()
        return {"ready": True, "preload_seconds": time.monotonic() - started, "compiled": compiled, "missing": missing}

    def _become(self, identity: int) -> None:
        """Become another user without any privilege, but for that to read where it is to be kept."""
        self.prctl(PR_SET_KEEPCAPS, int(self.settings.keep_reading))
        os.setgroups([])
        os.setresgid(*3 * (identity,))
        os.setresuid(*3 * (identity,))
        kept = 1 << CAP_DAC_READ_SEARCH if self.settings.keep_reading else 0
        header, sets = struct.pack("=Ii", CAPABILITY_VERSION, 0), struct.pack("=6I", kept, kept, kept, 0, 0, 0)
        if self._library.capset(header, sets) != 0:
            raise OSError(ctypes.get_errno(), "privileges cannot be given up")
        if kept:
            self.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH)

    def _preload(self) -> tuple[int, list[str]]:
        """Import the modules: how many had no bytecode that fits, and which are not installed."""
        import importlib
        from importlib.machinery import SourceFileLoader

        compiled, missing = 0, []

        def count(*arguments: Any, **options: Any) -> None:
            nonlocal compiled
            compiled += 1

        write, SourceFileLoader.set_data = SourceFileLoader.set_data, count  # type: ignore[method-assign]
        try:
            for name in self.settings.preload:
                try:
                    importlib.import_module(name)
                except ImportError:
                    missing.append(name)
            if "numpy" in sys.modules:
                importlib.import_module("numpy.random")
            if "pandas" in sys.modules:
                _warm_up(sys.modules["pandas"])
        finally:
            SourceFileLoader.set_data = write  # type: ignore[method-assign]
        return compiled, missing

    def is_superseded(self) -> bool:
        """Whether the episode has installed something that this process has imported from elsewhere."""
        for path in self.writable_paths:
            with contextlib.suppress(OSError):
                if not self.imported.isdisjoint(name.partition(".")[0] for name in os.listdir(path)):
                    return True
        return False

    def _resource_limits(self) -> list[tuple[int, int, int]]:
        limits = self.settings.limits
        megabyte = 1024 * 1024
        pages = [int(count) * resource.getpagesize() for count in read_text("/proc/self/statm").split()]
        memory = int(limits["memory_mb"]) * megabyte
        wanted = [
            (resource.RLIMIT_CPU, int(limits["cpu_seconds"]) + 1, 1),
            (resource.RLIMIT_DATA, max(memory, pages[5] + 64 * megabyte), 0),
            (resource.RLIMIT_AS, pages[0] + 4 * memory + 4096 * megabyte, 0),
            (resource.RLIMIT_FSIZE, int(limits["file_mb"]) * megabyte, 0),
            (resource.RLIMIT_NOFILE, int(limits["open_files"]), 0),
            (resource.RLIMIT_NPROC, self.settings.process_limit, 0),
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_MEMLOCK, 0, 0),
            (resource.RLIMIT_MSGQUEUE, 0, 0),
        ]
        result = []
        for name, soft, more in wanted:
            highest = resource.getrlimit(name)[1]
            bounded = soft + more if highest == resource.RLIM_INFINITY else min(soft + more, highest)
            result.append((name, min(soft, bounded), bounded))
        return result

    def announce(self, report: dict[str, Any]) -> None:
        """Tell the host that the box is ready, and hand over the sockets on which it is to listen."""
        listeners = [socket.create_server(("127.0.0.1", port), backlog=LISTEN_BACKLOG) for port in self.settings.ports]
        send_frame(self.channel, report, [listener.fileno() for listener in listeners])
        for listener in listeners:
            listener.close()

    def serve(self) -> NoReturn:
        """Answer requests until the host goes."""
        while True:
            self._next = self._next or self._fork()
            kind = receive_exactly(self.channel, 1)
            if kind in b"rs":
                self._step(kind)
            elif kind == b"f":
                self._hand_over(receive_frame(self.channel)["path"])
            elif kind == b"x":
                send_frame(self.channel, {"clean": self._reset()})
            else:
                raise HostGoneError

    # --- one step -------------------------------------------------------------------------------------------------------------------------------

    def _fork(self) -> Waiting:
        """Fork the child of the next step, so that the step need not wait for that."""
        shared = mmap.mmap(-1, _STATUS.size + int(self.settings.limits["answer_bytes"]) + self.settings.text_bytes)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(writer)
            Step(self, shared).run(reader)
        os.close(reader)
        return Waiting(child, shared, writer)

    def _started(self, kind: bytes) -> Waiting:
        """Start the child that waits, or another one where something ended it meanwhile."""
        for _ in range(MOST_STARTS):
            step, self._next = self._next or self._fork(), None
            try:
                os.write(step.start, kind)
            except BrokenPipeError:
                step.shared.close()
                self.kill_all()
            else:
                return step
            finally:
                os.close(step.start)
        raise HostGoneError

    def has_notice(self) -> bool:
        """Whether the host has told that the kernel killed something of this step for its memory. Raises `HostGoneError`.

        A notice holds the number of its step: one may come when the step is over.
        """
        try:
            notice = os.read(self.notices, NOTICE.size)
        except BlockingIOError:
            return False
        if not notice:
            raise HostGoneError
        return bool(NOTICE.unpack(notice)[0] == self.steps)

    def _step(self, kind: bytes) -> None:
        started = time.monotonic()
        self.steps += 1
        step = self._started(kind)
        with step.shared:
            watch = Watch(self, step.child, started + self.settings.limits["wall_seconds"], is_shell=kind == b"s")
            watch.wait()
            self.kill_all(watch)
            self._restore_folders()
            result = watch.result()
            result["wall"] = time.monotonic() - started
            self._send_result(result, step.shared)

    def _send_result(self, result: dict[str, Any], shared: mmap.mmap) -> None:
        if self.has_unread_bytes():  # the child ended before it read its request
            raise HostGoneError
        state, answer, text, limit = _STATUS.unpack(shared[: _STATUS.size])
        answer = min(answer, int(self.settings.limits["answer_bytes"])) if state == _ANSWERED else 0
        text = min(text, self.settings.text_bytes) if state == _ANSWERED else 0
        if state == _TOO_LARGE:
            result["limits"].append("answer_bytes")
        if 0 < limit < len(_REPORTED):
            result["limits"].append(_REPORTED[limit])
        result["limits"] = sorted(set(result["limits"]) | self._full_folders())
        send_frame(self.channel, {**result, "answered": state == _ANSWERED, "answer": answer, "text": text})
        with memoryview(shared) as view, view[_STATUS.size : _STATUS.size + answer + text] as part:
            self.channel.sendall(part)

    def _restore_folders(self) -> None:
        """Open the episode's folders again where the step has closed them."""
        for folder in self.settings.scratch:
            status = os.lstat(folder)
            if status.st_uid == os.geteuid() and status.st_mode & 0o700 != 0o700:
                os.chmod(folder, 0o1777)

    def _hand_over(self, path: str) -> None:
        """Answer with an open file of the work folder, or with what is the matter with it."""
        try:
            descriptor = open_regular_file(self.settings.work, path.split("/"))
        except UnreadableError as error:
            send_frame(self.channel, {"problem": str(error)})
            return
        try:
            send_frame(self.channel, {"problem": None}, [descriptor])
        finally:
            os.close(descriptor)

    def has_unread_bytes(self) -> bool:
        """Whether the host has sent something that nobody has read."""
        poll = select.poll()
        poll.register(self.channel, select.POLLIN)
        return bool(poll.poll(0))

    def _full_folders(self) -> set[str]:
        """The limits of folders that are full to the last page."""
        self.left = {}
        full = {"work_mb" for folder in self.settings.capped if os.statvfs(folder).f_bavail == 0}
        for folder in self.settings.capped:
            self.left[folder] = files_of(folder), 0
        for folder in self.settings.watched:
            self.left[folder] = used_by(folder, MOST_COUNTED)
        return full | self._over({}, self.left)

    def overfull(self) -> set[str]:
        """The limits that the files of a folder exceed; of a step that found it so (and may be clearing up), only where it has become worse."""
        return self._over(self.left, {folder: (files_of(folder), 0) for folder in self.settings.capped})

    def overfull_watched(self) -> set[str]:
        """The same for watched folders, where it takes longer to find out."""
        most = int(self.settings.limits["work_files"])
        found = {folder: used_by(folder, max(most, self.left.get(folder, (0, 0))[0])) for folder in self.settings.watched}
        return self._over(self.left, found)

    def _over(self, before: dict[str, tuple[int, int]], now: dict[str, tuple[int, int]]) -> set[str]:
        limits = self.settings.limits
        over = set()
        for folder, (files, size) in now.items():
            files_before, size_before = before.get(folder, (0, 0))
            if files > max(limits["work_files"], files_before):
                over.add("work_files")
            if size > max(limits["work_mb"] * 1024 * 1024, size_before):
                over.add("work_mb")
        return over

    def kill_all(self, watch: Watch | None = None) -> None:
        """Kill every process but this one, and wait until none is left."""
        while True:
            if self.is_init:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
            else:
                for process in self.others():
                    try:
                        os.kill(process, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
            try:
                while True:
                    process, status, usage = os.wait4(-1, 0 if self.is_init else os.WNOHANG)
                    if process == 0:
                        time.sleep(0.001)
                        break
                    if watch is not None:
                        watch.reaped(process, status, usage)
            except ChildProcessError:
                return

    def others(self) -> list[int]:
        """Every process that descends from this one (in a PID namespace: every other process)."""
        if self.is_init:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        found: list[int] = []
        waiting = [os.getpid()]
        while waiting:
            children = children_of(waiting.pop())
            found += children
            waiting += children
        return found

    # --- between episodes -----------------------------------------------------------------------------------------------------------------------

    def _reset(self) -> bool:
        """Kill what runs and empty the folders. Whether they are empty then."""
        waiting = [] if self._next is None else [self._next.child]
        if self.others() != waiting:  # no step leaves anything, so this is for certainty
            self.kill_all()
        self.left = {}
        deadline = time.monotonic() + RESET_SECONDS
        try:
            for folder in self.settings.scratch:
                self._empty(folder, deadline)
        except (OSError, TimeoutError):
            return False
        return not any(os.listdir(folder) for folder in self.settings.scratch)

    def leave(self) -> NoReturn:
        """End the box. Of a PID namespace the kernel then kills the rest, and its file systems vanish; else that is done here."""
        if not self.is_init:
            self.kill_all()
            if self.settings.own_folder is not None:
                self._reset()
                for folder in [*self.settings.scratch, self.settings.own_folder]:
                    with contextlib.suppress(OSError):
                        os.rmdir(folder)
        os._exit(0)

    def _empty(self, folder: str, deadline: float) -> None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            remove_entries(descriptor, deadline)
            if os.fstat(descriptor).st_uid == os.geteuid():  # where others own the folder, a step could not change it either
                os.fchmod(descriptor, 0o1777)
                os.utime(descriptor, (0, 0))
        finally:
            os.close(descriptor)


def import_neighbour(name: str) -> Any:
    """Import a module that lies beside this program, without its folder becoming a place for other imports."""
    import importlib.util

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _warm_up(pandas: Any) -> None:
    """Do once what makes pandas import the rest of itself, so that it is not every step that does."""
    frame = pandas.read_csv(io.StringIO("text,number,time\na,1,2100-01-01\n"), parse_dates=["time"])
    str(frame.groupby("text").agg({"number": "sum"}))
    with contextlib.suppress(ImportError):
        import sqlite3

        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            str(pandas.read_sql("SELECT 1 AS number, 'a' AS text", connection))


class Waiting(NamedTuple):
    """A child that waits for its step."""

    child: int
    shared: mmap.mmap
    """Where it will leave its answer."""
    start: int
    """Descriptor of the pipe on which it waits."""


class Watch:
    """The watch over one running step: its wall time, and what all of its processes use together."""

    def __init__(self, zygote: Zygote, child: int, deadline: float, *, is_shell: bool) -> None:
        self.zygote = zygote
        self.is_shell = is_shell
        self.child = child
        self.deadline = deadline
        self.next_look = 0.0
        self.cpu_seconds = 0.0
        self.seen: dict[int, float] = {}
        """Processor time of each living process at the last look, with that of the children it waited for."""
        self.status: int | None = None
        self.limits: list[str] = []

    def wait(self) -> None:
        """Return when the child has ended or has to end. Raises `HostGoneError`."""
        poll = select.poll()
        descriptor = os.pidfd_open(self.child)
        try:
            poll.register(descriptor, select.POLLIN)
            begun = time.monotonic()
            while self.zygote.has_unread_bytes() and not poll.poll(1):  # no limit stops the child before it has taken its request from the channel
                if time.monotonic() > begun + START_SECONDS:
                    raise HostGoneError
            self.deadline += time.monotonic() - begun
            poll.register(self.zygote.channel, select.POLLRDHUP)
            poll.register(self.zygote.notices, select.POLLIN)
            while True:
                left = self.deadline - time.monotonic()
                if left <= 0:
                    self.limits.append("wall_seconds")
                    return
                for ready, _ in poll.poll(1000 * min(left, WATCH_SECONDS) + 1):
                    if ready == descriptor:
                        return
                    if ready == self.zygote.notices:
                        if self.zygote.has_notice():
                            self.limits.append("memory_mb")
                            return
                        continue
                    raise HostGoneError
                self._reap_orphans()
                if self._over():
                    return
        finally:
            os.close(descriptor)

    def _reap_orphans(self) -> None:
        """Collect daemons that ended, so that they do not count as processes of the box."""
        while True:
            info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if info is None or info.si_pid == self.child:
                return
            self.reaped(*os.wait4(info.si_pid, 0))

    def _over(self) -> bool:
        """Whether the processes of the step use more than they may, together."""
        limits = self.zygote.settings.limits
        page, tick = resource.getpagesize(), os.sysconf("SC_CLK_TCK")
        processes = self.zygote.others()
        resident = mapped = threads = 0
        seen: dict[int, float] = {}
        for process in processes:
            try:
                fields = read_text(f"/proc/{process}/stat").rpartition(")")[2].split()
            except OSError:
                continue
            seen[process] = sum(map(int, fields[11:15])) / tick
            threads += int(fields[17])
            mapped += max(0, int(fields[20]) - self.zygote.mapped)
            resident += int(fields[21]) * page
        # what ended without having been waited for (its parent ignores SIGCHLD) has used at least what it was last seen to use
        self.cpu_seconds += sum(used for process, used in self.seen.items() if process not in seen)
        self.seen = seen
        cpu = self.cpu_seconds + sum(seen.values())
        memory = int(limits["memory_mb"]) * 1024 * 1024
        if resident + mapped > memory and memory_of(processes, self.deadline) > memory:
            self.limits.append("memory_mb")
        if cpu > limits["cpu_seconds"]:
            self.limits.append("cpu_seconds")
        if threads > limits["processes"]:
            self.limits.append("processes")
        self.limits += self.zygote.overfull()
        if self.zygote.settings.watched and time.monotonic() > self.next_look:
            self.limits += self.zygote.overfull_watched()
            self.next_look = time.monotonic() + LOOK_SECONDS
        return bool(self.limits)

    def reaped(self, process: int, status: int, usage: resource.struct_rusage) -> None:
        """Take note of a process that has been waited for."""
        self.cpu_seconds += usage.ru_utime + usage.ru_stime
        self.seen.pop(process, None)
        if process == self.child:
            self.status = status

    def result(self) -> dict[str, Any]:
        """What the host is told: exit status (None: stopped by a limit), limits hit, processor time."""
        assert self.status is not None
        code = os.waitstatus_to_exitcode(self.status)
        ended_by = code - 128 if self.is_shell and code > 128 else -code  # a shell tells of its command's signal that way
        if not self.limits and ended_by in (signal.SIGXCPU, signal.SIGXFSZ):
            self.limits.append("cpu_seconds" if ended_by == signal.SIGXCPU else "file_mb")
        elif not self.limits and ended_by == signal.SIGKILL and self.cpu_seconds >= self.zygote.settings.limits["cpu_seconds"]:
            self.limits.append("cpu_seconds")
        return {"exit": None if self.limits else code, "limits": list(self.limits), "cpu": self.cpu_seconds}


def read_text(path: str) -> str:
    """A small file of `/proc`. What stands in it may be any bytes (a process names itself)."""
    with open(path, errors="replace") as stream:
        return stream.read()


def children_of(process: int) -> list[int]:
    """The children of all threads of a process."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            found += [int(child) for child in read_text(f"/proc/{process}/task/{thread}/children").split()]
    except OSError:
        pass
    return found


def memory_of(processes: Iterable[int], until: float) -> int:
    """Bytes of memory of processes together: each page once, whoever shares it, and memory that is shared without a name as large as it was made,
    since its pages stay where a process only gives up its view of them. A process that hides its maps counts with all that it has mapped.

    Processes with very many pages take long to look at; `until` is when it is no use any more.
    """
    total = 0
    shared: dict[str, int] = {}
    for process in processes:
        if time.monotonic() > until:
            break
        try:
            fields = dict(line.split(":", 1) for line in read_text(f"/proc/{process}/smaps_rollup").splitlines()[1:])
            total += 1024 * (_kibibytes(fields, "Pss") - _kibibytes(fields, "Pss_Shmem"))
            for line in read_text(f"/proc/{process}/maps").splitlines():
                if SHARED_MEMORY in line:
                    addresses, _, offset, _, inode, _ = line.split(None, 5)
                    start, end = (int(address, 16) for address in addresses.split("-"))
                    shared[inode] = max(shared.get(inode, 0), int(offset, 16) + end - start)
        except PermissionError:
            with contextlib.suppress(OSError):
                total += int(read_text(f"/proc/{process}/statm").split()[0]) * resource.getpagesize()
        except OSError:  # it has ended
            pass
    return total + sum(shared.values())


def _kibibytes(fields: dict[str, str], name: str) -> int:
    return int(fields.get(name, "0").split()[0])


def files_of(file_system: str) -> int:
    """Number of the files of a file system, besides its first folder."""
    status = os.statvfs(file_system)
    return status.f_files - status.f_ffree - 1


def used_by(folder: str, most: int) -> tuple[int, int]:
    """Number of the files below a folder, and the bytes that they take on the disk; counting ends soon after `most` files.

    Folders that the step has closed are opened. More of them beside each other than can be held open count as too many files.
    """
    files = size = 0
    counted: set[int] = set()
    waiting = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)]
    try:
        while waiting and files <= most:
            descriptor = waiting.pop()
            below = []
            try:
                for entry in os.scandir(descriptor):
                    files += 1
                    status = entry.stat(follow_symlinks=False)
                    if status.st_ino not in counted:
                        size += status.st_blocks * 512
                        counted.add(status.st_ino)
                    if stat.S_ISDIR(status.st_mode):
                        below.append(entry.name)
                for name in below:
                    if len(waiting) == MOST_OPEN_FOLDERS:
                        return most + 1, size
                    with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # removed meanwhile
                        waiting.append(_opened_folder(name, descriptor, folder))
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    return most + 1, size
            finally:
                os.close(descriptor)
    finally:
        for descriptor in waiting:
            os.close(descriptor)
    return files, size


def _opened_folder(name: str, parent: int, root: str) -> int:
    """Open a folder, also one that is closed to its owner, through no link. Raises `OSError`."""
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, os.O_RDONLY | flags, dir_fd=parent)
    except PermissionError:
        found = os.open(name, os.O_PATH | flags, dir_fd=parent)
    try:
        place = f"/proc/self/fd/{found}"
        if not os.readlink(place).startswith(f"{root}/"):  # moved away meanwhile
            raise FileNotFoundError(name)
        os.chmod(place, 0o700)
        return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(found)


class UnreadableError(Exception):
    """Why a file is not handed over, in one of the words of `FILE_PROBLEMS` of the host."""


def open_regular_file(folder: str, parts: list[str]) -> int:
    """Open a file below a folder for reading, through no link, whatever stands in its place meanwhile. Raises `UnreadableError`."""
    plain = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        current = os.open(folder, plain | os.O_DIRECTORY)
    except OSError as error:
        raise UnreadableError("closed") from error
    try:
        for position, part in enumerate(parts):
            is_last = position == len(parts) - 1
            kind = os.lstat(part, dir_fd=current).st_mode
            if stat.S_ISLNK(kind):
                raise UnreadableError("link")
            if not (stat.S_ISREG(kind) if is_last else stat.S_ISDIR(kind)):  # nothing else is even opened
                raise UnreadableError("kind")
            below = os.open(part, plain if is_last else plain | os.O_DIRECTORY, dir_fd=current)
            os.close(current)
            current = below
        status = os.fstat(current)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError("kind")
        if status.st_nlink != 1:
            raise UnreadableError("names")
        return current
    except (OSError, ValueError) as error:
        os.close(current)
        number = error.errno if isinstance(error, OSError) else None
        words = {errno.ENOENT: "missing", errno.ELOOP: "link", errno.ENOTDIR: "kind"}
        raise UnreadableError(words.get(number or 0, "closed")) from error
    except UnreadableError:
        os.close(current)
        raise


def remove_entries(descriptor: int, deadline: float, depth: int = 0) -> None:
    """Remove everything in an open folder, links unfollowed and whatever its modes. Raises `TimeoutError`, `OSError`."""
    if time.monotonic() > deadline or depth > DEEPEST_FOLDER:
        raise TimeoutError
    for number, entry in enumerate(os.scandir(descriptor)):
        if number % 100 == 99 and time.monotonic() > deadline:
            raise TimeoutError
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=descriptor)
            continue
        os.chmod(entry.name, 0o700, dir_fd=descriptor)
        below = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
        try:
            remove_entries(below, deadline, depth + 1)
        finally:
            os.close(below)
        os.rmdir(entry.name, dir_fd=descriptor)


def main() -> NoReturn:
    """Serve the channel named on the command line, or run a single program."""
    if sys.argv[1] == AFRESH:
        afresh(*map(int, sys.argv[2:]))
    zygote = Zygote(socket.socket(fileno=int(sys.argv[1])))
    try:
        zygote.announce(zygote.prepare())
        zygote.serve()
    except (HostGoneError, ConnectionError):
        zygote.leave()
    except BaseException as error:
        os.write(2, f"sandbox: {type(error).__name__}: {error}\n".encode())
        zygote.leave()


if __name__ == "__main__":
    main()
