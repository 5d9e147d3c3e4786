"""Ending a process that is told to end, whatever it is busy with.

Python runs the handler of a signal in the main thread, between two instructions. It comes to that neither while another thread is inside a call that
keeps the interpreter to itself (matching a regular expression, arithmetic on huge numbers), nor while the main thread is inside one that looks for no
signal (a query of SQLite); and an answer can keep a judge in such a call for hours. So a second process stands by. The interpreter tells it of
a signal through a pipe, at once and outside of Python's instructions; where the first process does not end by itself soon after, the second ends it.

This file is also the program of that second process, so at its head it imports nothing but the standard library.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that tell a process to end."""
GRACE_SECONDS = 2.0
"""How long a process that was told to end may take before it is killed."""
STATUS = 130
"""Exit status of a process that ended because it was told to."""

_WORKFLOW_IS_GONE = "the workflow that started this process is gone"


@contextmanager
def ending_when_told(log: IO[str], kept: str) -> Iterator[None]:
    """While the block runs, end this process at a signal of `SIGNALS`, and when the workflow that started it is gone. For the main thread.

    The last line on the error output and in the file `log` is then `stopped: <reason>; <kept>`. Nothing is cleaned up: files must be written
    whole or not at all. The exit status is `STATUS`; a process that had to be killed has that of SIGKILL.
    """

    def end(reason: str) -> None:
        try:
            for stream in (log, sys.stderr):
                print(_last_line(reason, kept), file=stream, flush=True)
        finally:
            os._exit(STATUS)

    def on_signal(number: int, frame: FrameType | None) -> None:
        end(_name(number))

    drivers = _drivers()
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    handlers = {number: signal.signal(number, on_signal) for number in SIGNALS}
    wakeup = signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
    stand_by = _start_stand_by(told, Path(log.name).absolute(), kept, [driver.pid for driver in drivers])
    os.close(told)
    _watch(drivers, lambda: end(_WORKFLOW_IS_GONE))
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(telling)
        stand_by.wait()


def _drivers() -> list[psutil.Process]:
    """The processes above this one that run the workflow: Snakemake's, and that of `python -m medagentgym`."""
    import psutil

    def runs_the_workflow(process: psutil.Process) -> bool:
        try:
            return any(os.path.basename(part) in ("snakemake", "medagentgym") for part in process.cmdline()[:3])
        except psutil.Error:
            return False

    return [process for process in psutil.Process().parents() if runs_the_workflow(process)]


def _watch(drivers: Sequence[psutil.Process], gone: Callable[[], None]) -> None:
    """Call `gone`, from a thread, when one of the processes ends."""
    if not drivers:
        return

    def watch() -> None:
        import psutil

        while all(driver.is_running() and driver.status() != psutil.STATUS_ZOMBIE for driver in drivers):
            time.sleep(0.5)
        gone()

    threading.Thread(target=watch, name="watch-driver", daemon=True).start()


def _start_stand_by(told: int, log: Path, kept: str, drivers: Sequence[int]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(log), kept, *map(str, drivers)]
    # What tells this process to end often tells all of its group, and the second one must outlive the first: it inherits that signals are blocked.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        return subprocess.Popen(command, stdin=told, stdout=subprocess.DEVNULL, env={})
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _last_line(reason: str, kept: str) -> str:
    return f"stopped: {reason}; {kept}"


def _name(number: int) -> str:
    return f"signal {signal.Signals(number).name}"


# --- the second process -----------------------------------------------------------------------------------------------------------------------------


def _stand_by(process: int, log: str, kept: str, drivers: Sequence[int]) -> None:
    """Wait for what the parent `process` is told on the standard input; kill it where it is told to end and does not. Ends with it."""
    reason = _told(drivers)
    if reason is None or _ends_by_itself() or os.getppid() != process:
        return
    with suppress(OSError), open(log, "a", encoding="utf-8") as stream:
        print(_last_line(reason, kept), file=stream)
    with suppress(OSError):
        print(_last_line(reason, kept), file=sys.stderr, flush=True)
    os.kill(process, signal.SIGKILL)


def _told(drivers: Sequence[int]) -> str | None:
    """Why the parent is to end, None where it has ended or left the block."""
    waiting = select.poll()
    waiting.register(sys.stdin.fileno(), select.POLLIN)
    for driver in drivers:
        try:
            waiting.register(os.pidfd_open(driver), select.POLLIN)
        except ProcessLookupError:
            return _WORKFLOW_IS_GONE
        except (OSError, AttributeError):  # a system that has no such descriptors: the parent watches its drivers alone
            break
    while True:
        ready = {descriptor for descriptor, _ in waiting.poll()}
        if sys.stdin.fileno() not in ready:
            return _WORKFLOW_IS_GONE
        number = os.read(sys.stdin.fileno(), 1)
        if not number:
            return None
        if number[0] in SIGNALS:
            return _name(number[0])


def _ends_by_itself() -> bool:
    """Whether the parent closes its end of the pipe in time."""
    waiting = select.poll()
    waiting.register(sys.stdin.fileno(), select.POLLIN)
    end = time.monotonic() + GRACE_SECONDS
    while (left := end - time.monotonic()) > 0:
        if waiting.poll(1000 * left) and not os.read(sys.stdin.fileno(), 64):
            return True
    return False


if __name__ == "__main__":
    _stand_by(int(sys.argv[1]), sys.argv[2], sys.argv[3], [int(driver) for driver in sys.argv[4:]])
