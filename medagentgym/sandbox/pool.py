"""Boxes that are used again: an episode borrows one, and the next gets it only when it is as clean as a new one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from medagentgym.errors import InfrastructureError
from medagentgym.sandbox.base import Backend, Box, BoxSpec


class BoxPool:
    """At most `size` boxes, for any number of threads. Boxes of different specs may be mixed."""

    def __init__(self, backend: Backend, size: int) -> None:
        self.backend = backend
        self.size = size
        self._free = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._idle: list[tuple[BoxSpec, Box]] = []
        """Clean boxes, the longest idle first."""
        self._used: list[Box] = []
        self._closed = False

    @contextmanager
    def box(self, spec: BoxSpec) -> Iterator[Box]:
        """A clean box of `spec` for one episode; waits while all are in use. Afterwards it is reset, or thrown away where that is not clean.

        Raises `InfrastructureError` where no box can be started or the pool is closed.
        """
        with self._free:
            box = self._taken(spec)
            try:
                yield box
            finally:
                self._give_back(spec, box)

    def close(self) -> None:
        """Kill all boxes, also those in use, whose steps then fail with `InfrastructureError`."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for box in self._used:
                box.kill()
        for _, box in idle:
            box.close()

    def __enter__(self) -> BoxPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _taken(self, spec: BoxSpec) -> Box:
        unwanted: Box | None = None
        with self._lock:
            if self._closed:
                raise InfrastructureError("sandbox", "the pool of boxes is closed")
            for position in reversed(range(len(self._idle))):
                if self._idle[position][0] == spec:
                    box = self._idle.pop(position)[1]
                    self._used.append(box)
                    return box
            if len(self._idle) + len(self._used) >= self.size:
                unwanted = self._idle.pop(0)[1]
        if unwanted is not None:
            unwanted.close()
        box = self.backend.start(spec)
        with self._lock:
            self._used.append(box)
            if self._closed:
                box.kill()
        return box

    def _give_back(self, spec: BoxSpec, box: Box) -> None:
        clean = not box.closed and box.reset()
        with self._lock:
            self._used.remove(box)
            if clean and not self._closed:
                self._idle.append((spec, box))
                return
        box.close()
