"""Boxes that are used again: an episode borrows one, and the next gets it only when it is as clean as a new one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from medagentgym.errors import InfrastructureError
from medagentgym.sandbox.base import Backend, Box, BoxSpec


class BoxPool:
    """At most `size` boxes, for any number of threads. Boxes of different specs may be mixed.

    Boxes are started one after the other, and only while no clean one is there: where episodes are shorter than the start of a box, a few boxes serve
    many threads.
    """

    def __init__(self, backend: Backend, size: int) -> None:
        self.backend = backend
        self.size = size
        self._changed = threading.Condition()
        self._starting = False
        self._idle: list[tuple[BoxSpec, Box]] = []
        """Clean boxes, the longest idle first."""
        self._used: list[Box] = []
        self._closed = False

    @contextmanager
    def box(self, spec: BoxSpec) -> Iterator[Box]:
        """A clean box of `spec` for one episode; waits while all are in use. Afterwards it is reset, or thrown away where that is not clean.

        Raises `InfrastructureError` where no box can be started or the pool is closed.
        """
        box = self._taken(spec)
        try:
            yield box
        finally:
            self._give_back(spec, box)

    def close(self) -> None:
        """Kill all boxes, also those in use, whose steps then fail with `InfrastructureError`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
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
        with self._changed:
            while True:
                if self._closed:
                    raise InfrastructureError("sandbox", "the pool of boxes is closed")
                box = self._idle_of(spec)
                if box is not None:
                    self._used.append(box)
                    return box
                if not self._starting and len(self._used) < self.size:
                    break
                self._changed.wait()
            self._starting = True
            unwanted = self._idle.pop(0)[1] if len(self._idle) + len(self._used) >= self.size else None
        try:
            if unwanted is not None:
                unwanted.close()
            box = self.backend.start(spec)
        except BaseException:
            with self._changed:
                self._starting = False
                self._changed.notify_all()
            raise
        with self._changed:
            self._starting = False
            self._used.append(box)
            if self._closed:
                box.kill()
            self._changed.notify_all()
        return box

    def _idle_of(self, spec: BoxSpec) -> Box | None:
        """Take the box of this spec that was used last, if there is one."""
        for position in reversed(range(len(self._idle))):
            if self._idle[position][0] == spec:
                return self._idle.pop(position)[1]
        return None

    def _give_back(self, spec: BoxSpec, box: Box) -> None:
        clean = not box.closed and box.reset()
        with self._changed:
            self._used.remove(box)
            kept = clean and not self._closed
            if kept:
                self._idle.append((spec, box))
            self._changed.notify_all()
        if not kept:
            box.close()
