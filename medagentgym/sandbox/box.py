"""The host's side of a box: it hands a step to the zygote, reads what the step writes, and believes nothing of it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import socket
import stat
import struct
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import psutil

from medagentgym.errors import AgentError, InfrastructureError, one_line
from medagentgym.sandbox.answers import MalformedAnswerError, decode
from medagentgym.sandbox.base import BoxSpec, Limits, StepResult
from medagentgym.sandbox.control_groups import make_group
from medagentgym.sandbox.interpreter import write_bytecode
from medagentgym.sandbox.package_index import PORT, PackageIndexServer
from medagentgym.sandbox.zygote import NOTICE

START_SECONDS = 60.0
GRACE_SECONDS = 15.0
"""How much longer than a step's wall time the host waits for the zygote."""
LOOK_SECONDS = 0.05
"""How often, in a step, the control group is asked whether the kernel killed something."""
RESET_SECONDS = 10.0
END_SECONDS = 2.0
LONGEST_CODE = 16 * 1024 * 1024
"""Characters of code that a step may have."""
FLOOD = 100
"""A step that writes this many times the kept bytes is cut off: its next write fails."""
SHARE_OF_STDOUT = 0.75
"""Part of the kept bytes that is stdout's; the rest is stderr's, so that a flood on one does not hide the other."""

FILE_PROBLEMS = {
    "missing": "there is no such file",
    "link": "is or lies behind a symbolic link, which is not followed",
    "kind": "is not a regular file in regular folders",
    "names": "has more than one name (a hard link)",
    "closed": "cannot be opened",
}
"""Why a file is not taken out of a box: the zygote's word, and what it means."""

MEBIBYTE = 1024 * 1024
KERNEL_BYTES = 32 * MEBIBYTE
"""Memory of the kernel on behalf of a box (page tables, stacks, socket buffers) that is not held against its limit."""

_CREDENTIALS = struct.Struct("=3i")
"""Process, user and group of a sender, `man 7 unix`."""
_LONGEST_PATH = 4096
_LARGEST_FRAME = 65_536
_LIMIT_NAMES = frozenset(limit.name for limit in fields(Limits))


@dataclass(frozen=True)
class Launch:
    """How a backend starts the zygote of one box."""

    command: list[str]
    """Command line; the number of the control descriptor is appended."""
    settings: dict[str, Any]
    """What `zygote.Settings` reads, without what follows from the spec."""
    environment: dict[str, str] = field(default_factory=dict)
    """The whole environment of the command."""
    descriptors: tuple[int, ...] = ()
    """Descriptors that the command inherits; closed on the host after the start."""
    clean_up: Callable[[], None] = lambda: None
    """Called once when the box is closed."""
    files_in_memory: int = 0
    """Bytes that the files of the box may take in memory, besides its processes."""


def _fix_addresses() -> None:
    """What this thread starts is laid out in memory at the same addresses every time, where the kernel permits it: code prints addresses of objects
    (`<object at 0x7f...>`) more often than one would think, and the same episode must give the same record."""
    ask, no_randomisation = 0xFFFFFFFF, 0x0040000
    personality = ctypes.CDLL(None).personality
    personality.argtypes = [ctypes.c_ulong]
    personality(personality(ask) | no_randomisation)


class _Launcher:
    """The one thread that starts boxes.

    A box is told by the kernel when its parent dies; for the kernel, the parent is the *thread* that started it. So it has to be one that lives as
    long as the process.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-launcher", initializer=_fix_addresses)

    def start(self, command: list[str], environment: dict[str, str], descriptors: tuple[int, ...], errors: int) -> subprocess.Popen[bytes]:
        def popen() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command,
                env=environment,
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

        return self._executor.submit(popen).result()


_launcher = _Launcher()


def _renew_launcher() -> None:
    global _launcher
    _launcher = _Launcher()


os.register_at_fork(after_in_child=_renew_launcher)


class ZygoteBox:
    """A box of any backend: see `medagentgym.sandbox.base.Box`."""

    def __init__(self, spec: BoxSpec, launch: Launch, *, data_folder: str, work_folder: str) -> None:
        """Start the box. Raises `InfrastructureError` saying what the command wrote when it does not come up."""
        self.spec = spec
        self.data_folder = data_folder
        self.work_folder = work_folder
        self._clean_up = launch.clean_up
        self._errors = os.memfd_create("sandbox-errors", os.MFD_CLOEXEC)
        self._channel, far_end = socket.socketpair()
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # the greeting is to say who sent it
        notices, self._notices = os.pipe()
        self._steps = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._group = make_group()
        self._kills = 0
        self._services: list[PackageIndexServer] = []
        try:
            with far_end:
                self._process = _launcher.start(
                    [*launch.command, str(far_end.fileno())], launch.environment, (far_end.fileno(), *launch.descriptors), self._errors
                )
            self._channel.settimeout(START_SECONDS)
            self._put_into_group(self._greeted())
            ports = [] if spec.package_index is None else [PORT]
            self._send_frame(
                {
                    "limits": asdict(spec.limits),
                    "preload": list(spec.preload),
                    "text_bytes": self._stdout_bytes,
                    "ports": ports,
                    **launch.settings,
                },
                [notices],
            )
            self.start_report, listeners = self._receive_frame_with(len(ports))
            self._serve(listeners)
            self._limit_group(launch.files_in_memory)
        except BaseException as error:
            reason = self._last_words()
            self.close()
            if isinstance(error, Exception):
                raise InfrastructureError("sandbox", f"the box did not start: {reason or one_line(error)}") from error
            raise
        finally:
            for descriptor in (notices, *launch.descriptors):
                os.close(descriptor)
        if self.start_report.get("compiled"):
            write_bytecode(spec.python, spec.preload)

    def _greeted(self) -> int:
        """The process number of the zygote, whatever it calls itself: the kernel states it beside the greeting."""
        greeting, ancillary, _, _ = self._channel.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        if not greeting:
            raise ConnectionError("the box is gone")
        return int(_CREDENTIALS.unpack(ancillary[0][2])[0])

    def _put_into_group(self, zygote: int) -> None:
        """Have the kernel bound the box from its first import on, where that can be had."""
        if self._group is None:
            return
        try:
            self._group.add(zygote)
        except OSError:
            self._group.remove()
            self._group = None

    def _limit_group(self, files_in_memory: int) -> None:
        """Bound what the box may use beyond what it holds now."""
        if self._group is not None:
            limits = self.spec.limits
            self._group.limit_processes(limits.processes + 1)
            self._group.limit_memory(self._group.own_bytes() + limits.memory_mb * MEBIBYTE + files_in_memory + KERNEL_BYTES)

    def _killed_for_memory(self) -> bool:
        """Whether the kernel has killed something in the box since the last time because its memory was used up."""
        before, self._kills = self._kills, self._kills if self._group is None else self._group.kills()
        return self._kills > before

    @property
    def closed(self) -> bool:
        """Whether the box cannot be used any more."""
        return self._process is None

    @property
    def _stdout_bytes(self) -> int:
        return int(self.spec.limits.output_bytes * SHARE_OF_STDOUT)

    def _serve(self, listeners: list[int]) -> None:
        """Serve the package index on the socket that came out of the box."""
        for descriptor in listeners:
            assert self.spec.package_index is not None
            listener = socket.socket(fileno=descriptor)
            self._services.append(PackageIndexServer(listener, self.spec.package_index, self.spec.limits.file_mb * MEBIBYTE))

    # --- the episode's calls --------------------------------------------------------------------------------------------------------------------

    def run(self, code: str, *, seed: int = 0) -> StepResult:
        """Run `code` as a fresh Python program, see `Box.run`."""
        return self._too_long(code) or self._step(b"r", {"code": code, "seed": seed})

    def shell(self, command: str) -> StepResult:
        """Run a shell command in the work folder, see `Box.shell`."""
        if "\0" in command:
            return StepResult(stdout="", stderr="sh: a command cannot hold a null character\n", exit_status=2)
        return self._too_long(command) or self._step(b"s", {"command": command.encode("utf-8", "replace").decode()})

    def read_file(self, path: str, limit_bytes: int) -> bytes:
        """What a file of the work folder holds, see `Box.read_file`."""
        parts = path.split("/")
        if "\0" in path or len(path) > _LONGEST_PATH or any(part in ("", ".", "..") for part in parts):
            raise AgentError(f"{path[:200]!r}: give the path of a file within the work folder, for example 'results/predictions.csv'.")
        descriptor = self._opened(path.encode("utf-8", "replace").decode())
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise AgentError(f"{path}: {FILE_PROBLEMS['kind']}.")
            content = _read_at_most(descriptor, limit_bytes + 1) if status.st_size <= limit_bytes else None
        except OSError as error:
            raise InfrastructureError("sandbox", f"a file of the box cannot be read: {one_line(error)}") from error
        finally:
            os.close(descriptor)
        if content is None or len(content) > limit_bytes:
            raise AgentError(f"{path}: is larger than {limit_bytes} bytes.")
        return content

    def _opened(self, path: str) -> int:
        """A descriptor of a file of the work folder that the zygote opened. Raises `AgentError` or `InfrastructureError`."""
        if self._process is None:
            raise InfrastructureError("sandbox", "the box is closed")
        descriptors: list[int] = []
        try:
            self._channel.settimeout(GRACE_SECONDS)
            self._channel.sendall(b"f")
            self._send_frame({"path": path})
            answer, descriptors = self._receive_frame_with(1)
            problem = answer["problem"]
            if problem is None and descriptors:
                return descriptors.pop()
            problem = FILE_PROBLEMS[problem]
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = self._last_words()
            self.close()
            raise InfrastructureError("sandbox", f"the box failed to hand over a file: {reason or one_line(error)}") from error
        except BaseException:
            self.close()
            raise
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        raise AgentError(f"{path}: {problem}.")

    @staticmethod
    def _too_long(code: str) -> StepResult | None:
        if len(code) <= LONGEST_CODE:
            return None
        return StepResult(stdout="", stderr=f"{len(code)} characters are too much; {LONGEST_CODE} are allowed\n", exit_status=2)

    def reset(self) -> bool:
        """Empty the box for the next episode, see `Box.reset`."""
        if self._process is None:
            return False
        try:
            self._channel.settimeout(RESET_SECONDS)
            self._channel.sendall(b"x")
            clean = self._receive_frame().get("clean") is True
        except (OSError, ValueError, InfrastructureError):
            self.close()
            return False
        for service in self._services:
            service.begin_episode()
        return clean

    def close(self) -> None:
        """Kill everything in the box, see `Box.close`."""
        if self._process is None and self._errors < 0:
            return
        self._channel.close()
        for service in self._services:
            service.close()
        if self._process is not None:
            self._end(self._process)
            self._process = None
        if self._group is not None:
            self._group.remove()
        os.close(self._notices)
        os.close(self._errors)
        self._errors = -1
        self._clean_up()

    def kill(self) -> None:
        """Kill the box from another thread, see `Box.kill`."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        """Wait for the zygote, which exits at the end of its channel and takes the box with it; then use force."""
        try:
            process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            for child in psutil.Process(process.pid).children():  # the zygote, where the command of the backend watches over it
                child.kill()
            process.kill()
            process.wait()

    def __enter__(self) -> ZygoteBox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- one step -------------------------------------------------------------------------------------------------------------------------------

    def _step(self, kind: bytes, request: dict[str, Any]) -> StepResult:
        if self._process is None:
            raise InfrastructureError("sandbox", "the box is closed")
        outputs = [_Output(self._stdout_bytes), _Output(self.spec.limits.output_bytes - self._stdout_bytes)]
        out_of_memory = False
        try:
            deadline = time.monotonic() + self.spec.limits.wall_seconds + GRACE_SECONDS
            self._channel.settimeout(GRACE_SECONDS)
            self._channel.sendall(kind)
            self._steps += 1
            self._send_frame(request, [output.writer for output in outputs])
            for output in outputs:
                output.close_writer()
            out_of_memory = self._read_until_answered(outputs, deadline)
            self._channel.settimeout(GRACE_SECONDS)
            result = self._receive_frame()
            answer = self._receive(_count(result, "answer", self.spec.limits.answer_bytes))
            text = self._receive(_count(result, "text", self._stdout_bytes))
            for output in outputs:
                output.drain()
            if self._killed_for_memory() or out_of_memory:
                result = {**result, "limits": [*result["limits"], "memory_mb"], "exit": None, "answered": False}
            step = _step_result(result, outputs, answer, text)
        except (OSError, ValueError, KeyError, TypeError) as error:
            if out_of_memory or self._killed_for_memory():  # the kernel chose the zygote, where the step made itself look small
                self.close()
                printed, errors = (output.text() for output in outputs)
                return StepResult(printed, errors, exit_status=None, limits_hit=("memory_mb",), box_lost=True)
            reason = self._last_words()
            self.close()
            raise InfrastructureError("sandbox", f"the box failed in a step: {reason or one_line(error)}") from error
        except BaseException:  # interrupted: what the box answers later would be taken for the answer to something else
            self.close()
            raise
        finally:
            for output in outputs:
                output.close()
        for service in self._services:
            service.raise_failure()
        return step

    def _read_until_answered(self, outputs: list[_Output], deadline: float) -> bool:
        """Read what the step writes until its result is there. Whether the kernel had to kill something for the memory.

        What the kernel kills is one process; the others of the step would go on, or wait for it until their time is up, so that the box is told.
        """
        out_of_memory = False
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        readers = {output.reader: output for output in outputs}
        for reader in readers:
            poll.register(reader, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("it did not answer in time")
            for descriptor, _ in poll.poll(1000 * (left if self._group is None else min(left, LOOK_SECONDS)) + 1):
                if descriptor == self._channel.fileno():
                    return out_of_memory
                readers[descriptor].read()
                if readers[descriptor].reader < 0:
                    poll.unregister(descriptor)
            if not out_of_memory and self._killed_for_memory():
                out_of_memory = True
                os.write(self._notices, NOTICE.pack(self._steps))

    # --- the channel ----------------------------------------------------------------------------------------------------------------------------

    def _send_frame(self, data: dict[str, Any], descriptors: list[int] | None = None) -> None:
        encoded = json.dumps(data).encode()
        head = struct.pack("!I", len(encoded))
        if descriptors:
            socket.send_fds(self._channel, [head], descriptors)
        else:
            self._channel.sendall(head)
        self._channel.sendall(encoded)

    def _receive_frame(self) -> dict[str, Any]:
        return self._receive_body(self._receive(4))

    def _receive_frame_with(self, most: int) -> tuple[dict[str, Any], list[int]]:
        """A frame, and at most so many descriptors that came with it."""
        head, descriptors, _, _ = socket.recv_fds(self._channel, 4, most, socket.MSG_CMSG_CLOEXEC)
        try:
            return self._receive_body(head + self._receive(4 - len(head))), descriptors
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise

    def _receive_body(self, head: bytes) -> dict[str, Any]:
        (length,) = struct.unpack("!I", head)
        if length > _LARGEST_FRAME:
            raise ValueError("an answer of the box is too large")
        data = json.loads(self._receive(length))
        if not isinstance(data, dict):
            raise ValueError("an answer of the box is not an object")
        return data

    def _receive(self, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            chunk = self._channel.recv(min(count - len(received), 1 << 20))
            if not chunk:
                raise ConnectionError("the box is gone")
            received += chunk
        return bytes(received)

    def _last_words(self) -> str:
        """The end of what the command of the box wrote on stderr, on one line."""
        if self._process is not None:
            self._channel.close()
            try:
                self._process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                return ""
        size = os.fstat(self._errors).st_size
        return one_line(os.pread(self._errors, 2000, max(0, size - 2000)).decode("utf-8", "replace"))


class _Output:
    """One pipe from a step: its beginning is kept, the rest is counted."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.kept = bytearray()
        self.written = 0
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)

    def read(self) -> bool:
        """Read once. False: nothing is there, or nothing more is to come (then the reader is closed)."""
        try:
            chunk = os.read(self.reader, 1 << 16)
        except BlockingIOError:
            return False
        self.written += len(chunk)
        self.kept += chunk[: self.keep - len(self.kept)]
        if not chunk or self.written > FLOOD * self.keep:
            self.close_reader()
        return bool(chunk)

    def drain(self) -> None:
        """Read what is left in the pipe."""
        while self.reader >= 0 and self.read():
            pass

    def close_reader(self) -> None:
        if self.reader >= 0:
            os.close(self.reader)
            self.reader = -1

    def close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def close(self) -> None:
        self.close_reader()
        self.close_writer()

    @property
    def cut(self) -> bool:
        return self.written > self.keep

    def text(self) -> str:
        return _text(bytes(self.kept), cut=self.cut)


def remove_folder(folder: Path) -> None:
    """Remove a folder that code has written, however deep and whatever its modes; what resists stays."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # these two walk without recursion, through no link
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*command, "--", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def _read_at_most(descriptor: int, count: int) -> bytes:
    content = bytearray()
    while len(content) < count:
        chunk = os.pread(descriptor, min(count - len(content), 1 << 20), len(content))
        if not chunk:
            break
        content += chunk
    return bytes(content)


def _text(raw: bytes, *, cut: bool) -> str:
    """Bytes as text; a character that the cap cut in two is left out."""
    if cut:
        for back in range(1, min(4, len(raw)) + 1):
            if raw[-back] >= 0xC0:
                raw = raw[:-back]
                break
            if raw[-back] < 0x80:
                break
    return raw.decode("utf-8", "replace")


def _count(result: dict[str, Any], key: str, most: int) -> int:
    count = result[key]
    if not isinstance(count, int) or not 0 <= count <= most:
        raise ValueError(f"an answer of the box is malformed ({key})")
    return count


def _step_result(result: dict[str, Any], outputs: list[_Output], answer: bytes, text: bytes) -> StepResult:
    exit_status = result["exit"]
    if exit_status is not None and not isinstance(exit_status, int):
        raise ValueError("an answer of the box is malformed (exit)")
    limits = {str(name) for name in result["limits"]} & _LIMIT_NAMES
    if any(output.cut for output in outputs):
        limits.add("output_bytes")
    has_answer, value = False, None
    if result["answered"] is True:
        try:
            has_answer, value = True, decode(answer)
        except MalformedAnswerError:
            has_answer = False
    printed = has_answer and outputs[0].written == 0
    return StepResult(
        stdout=_text(text, cut=True) + "\n" if printed else outputs[0].text(),
        stderr=outputs[1].text(),
        exit_status=exit_status,
        has_answer=has_answer,
        answer=value,
        printed_answer=printed,
        limits_hit=tuple(sorted(limits)),
        wall_seconds=float(result["wall"]),
        cpu_seconds=float(result["cpu"]),
        output_bytes=sum(output.written for output in outputs),
    )
