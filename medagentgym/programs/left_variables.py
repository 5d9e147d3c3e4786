"""Runs a program, and takes from what it left the variables that assertions read, as data.

The text of this module is sent into a box and runs in the interpreter of the program, which may therefore fool it as it likes. That yields nothing
but other data: what is taken is written into a file as data (`by_value`), and the assertions see nothing else of this interpreter.

Of a variable that is no data, the values are taken that the assertions look at (`test_cases`): what the object says of itself.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import linecache
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from medagentgym.programs import by_value

HISTORY_NAME = "<history>"
CODE_NAME = "<code>"
MOST_ITEMS = 10_000
"""Items that are looked at one by one."""
_LONGEST_WORDS = 200


class Session:
    """One run of a program."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.programs: dict[str, str] = {HISTORY_NAME: request["history"], CODE_NAME: request["code"]}
        self.variables: dict[str, Any] = request["variables"]
        """Variable -> tree of steps."""
        self.file: str = request["file"]
        self.bytes: int = request["bytes"]
        self.left = self.bytes
        self.blobs: list[bytes] = []

    def run(self) -> int:
        """Run the programs and write what they left. Gives the exit status."""
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        sys.argv[:] = ["-c"]
        opened = _open_files()
        for name, text in self.programs.items():
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            try:
                exec(compile(text, name, "exec", dont_inherit=True), main.__dict__)
            except SystemExit as error:
                _flush()
                os.write(2, f"The program ended itself with exit status {error.code!r} before its end; nothing is taken.\n".encode())
                return 1 if error.code in (None, 0) else 2
            except (MemoryError, OSError):
                raise  # the box tells a limit by it
            except BaseException as error:
                _print_error(error)
                return 1
        threads = sum(thread is not threading.current_thread() and thread.is_alive() for thread in threading.enumerate())
        files = len(_open_files() - opened)
        _flush()
        taken = {name: self._node(main.__dict__[name], tree) for name, tree in self.variables.items() if name in main.__dict__}
        words = {name: self._words(main.__dict__[name], node) for name, node in taken.items()}
        self._write(taken)
        told = {"left": words, "threads": threads, "files": files}
        with open(f"{self.file}.json", "w", encoding="utf-8") as stream:
            json.dump(told, stream)
        return 0

    def _write(self, taken: Mapping[str, Any]) -> None:
        head = json.dumps({"variables": taken, "blobs": [len(blob) for blob in self.blobs]}).encode()
        with open(self.file, "wb") as stream:
            stream.write(len(head).to_bytes(8, "big"))
            stream.write(head)
            for blob in self.blobs:
                stream.write(blob)

    def _words(self, value: Any, node: Mapping[str, Any]) -> list[str]:
        """How a variable was taken (`data`, `object`, `too large`, `error`), and what it is."""
        try:
            what = by_value.described(value)
        except Exception as error:
            what = f"something that fails with {type(error).__name__}"
        kind = next(iter(node))
        return [kind, (f"{what}: {node[kind]}" if kind in ("too large", "error") else what)[:_LONGEST_WORDS]]

    def _node(self, value: Any, tree: list[Any]) -> dict[str, Any]:
        """A value as data, or what the steps of the tree see of it."""
        try:
            packed = by_value.pack(value, self.left, iterators=False, as_bases="all")
        except by_value.NotDataError:
            return {"object": _classes(value), "below": [[step, self._seen(value, step, below)] for step, below in tree]}
        except by_value.TooLargeError as error:
            return {"too large": str(error)}
        except Exception as error:
            return {"error": _error_words(error)}
        self.left -= len(packed)
        self.blobs.append(packed)
        return {"data": len(self.blobs) - 1}

    def _seen(self, value: Any, step: list[Any], tree: list[Any]) -> dict[str, Any]:
        kind, *rest = step
        try:
            if kind == "each":
                items = []
                for item in value:
                    items.append(self._node(item, tree))
                    if len(items) > MOST_ITEMS:
                        raise ValueError(f"more than {MOST_ITEMS:,} items")
                return {"items": items}
            return self._node(_stepped(value, kind, rest), tree)
        except Exception as error:
            return {"raised": [type(error).__name__, _error_words(error)]}


def _stepped(value: Any, kind: str, rest: list[Any]) -> Any:
    if kind == "attribute":
        return getattr(value, rest[0])
    if kind == "item":
        return value[_literal(rest[0])]
    if kind == "call":
        return value(*map(_literal, rest[0]), **{name: _literal(argument) for name, argument in rest[1].items()})
    if kind == "length":
        return len(value)
    conversions: dict[str, Callable[[Any], Any]] = {"float": float, "int": int, "str": str, "bool": bool, "repr": repr}
    return conversions[rest[0]](value)


def _literal(value: Any) -> Any:
    if isinstance(value, dict):
        ((kind, parts),) = value.items()
        return slice(*parts) if kind == "slice" else tuple(map(_literal, parts))
    return [_literal(part) for part in value] if isinstance(value, list) else value


def _classes(value: Any) -> list[list[str]]:
    """Module and name of the classes of an object."""
    return [[str(kind.__module__), str(kind.__qualname__)] for kind in type(value).__mro__ if kind is not object]


def _error_words(error: BaseException) -> str:
    try:
        return f"{error}"[:_LONGEST_WORDS]
    except Exception:
        return type(error).__name__


def _open_files() -> set[int]:
    """The files that are open by Python's means, the standard streams aside."""
    found = set()
    for value in gc.get_objects():
        with contextlib.suppress(Exception):
            if type(value) in (io.TextIOWrapper, io.BufferedWriter, io.BufferedReader, io.BufferedRandom, io.FileIO) and not value.closed:
                found.add(value.fileno())
    return {descriptor for descriptor in found if descriptor > 2}


def _print_error(error: BaseException) -> None:
    """Print an uncaught exception from the program's first line on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename not in (HISTORY_NAME, CODE_NAME):
        trace = trace.tb_next
    with contextlib.suppress(BaseException):
        _flush()
        text = "".join(traceback.format_exception(error.with_traceback(trace)))
        os.write(2, text.encode("utf-8", "backslashreplace"))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(BaseException):
            stream.flush()  # type: ignore[union-attr]


def main(request: Mapping[str, Any]) -> NoReturn:
    """Run the program and end the process at once: threads that still run are no reason to wait."""
    status = Session(request).run()
    _flush()
    os._exit(status)
