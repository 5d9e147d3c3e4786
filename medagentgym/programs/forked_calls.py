"""Runs a program in which one function is an agent's, so that the agent's code can do no more than to give a result.

The text of this module is sent into a box. The process that runs the program (the *harness*) never runs a line of the solution: where the function
is asked for, there is a stand-in, and each call of it forks. The child has all that the caller has, the arguments among it, defines the solution,
calls it, and sends back *as data* (`by_value`) what it returned or raised and what it changed of its arguments, of the program's variables and of the
random generators. The harness takes that over and goes on. So what is printed, compared and counted is produced by an interpreter that the solution
never touched: what it patches, overwrites or ends is its own process, which holds no end of the harness's output, cannot open the harness's
descriptors or memory (the harness is not dumpable), and is killed with everything it started when the call is over.

What the function itself prints is taken apart from what the program prints. The last line of the output is `<nonce> {...}`, see `Session.report`.
"""

from __future__ import annotations
import __future__

import ast
import collections
import contextlib
import copy
import ctypes
import linecache
import os
import select
import signal
import sys
import traceback
import types
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from medagentgym.programs import by_value

PR_SET_DUMPABLE = 4
PROGRAM_NAME = "<program>"
SOLUTION_NAME = "<solution>"
STEP_NAME = "<code>"
"""The name that the box gives to the code of a step."""
STAND_IN = "__solution__"
"""Name under which the program finds the stand-in of the function."""

_POLL_MILLISECONDS = 50


class _GivenUpError(BaseException):
    """The run is over, with this reason. No `except Exception` of the program catches it."""


class Session:
    """One run of a program."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.program: str = request["program"]
        self.definitions: str = request["definitions"]
        self.function: str = request["function"]
        self.name: str = request["name"]
        self.owner: str | None = request["owner"]
        self.decorators: list[str] = request["decorators"]
        self.documentation: str | None = request["documentation"]
        self.nonce: str = request["nonce"]
        self.result_bytes: int = request["result_bytes"]
        self.printed_bytes: int = request["printed_bytes"]
        self.calls = 0
        self.printed = b""
        self.in_child = False
        self.main = types.ModuleType("__main__")
        self.solution: Callable[..., Any] | None = None

    # --- the harness ----------------------------------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Run the program to its end and report. Gives the exit status."""
        self._keep_own_files_out()
        _prctl(PR_SET_DUMPABLE, 0)
        for name, text in ((PROGRAM_NAME, self.program), (SOLUTION_NAME, self.function)):
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        with open("program.py", "w", encoding="utf-8") as stream:
            stream.write(self.program)
        self.main.__dict__.update({"__file__": os.path.abspath("program.py"), STAND_IN: self._stand_in()})
        sys.modules["__main__"] = self.main
        sys.argv[:] = ["program.py"]
        try:
            exec(compile(self.program, PROGRAM_NAME, "exec", dont_inherit=True), self.main.__dict__)
        except _GivenUpError as error:
            return self.report(str(error))
        except SystemExit as error:
            if error.code not in (None, 0):
                return self.report(f"the program ended with exit status {error.code}")
        except BaseException as error:
            _print_traceback(error)
            return self.report(f"the program failed: {type(error).__name__}: {error}")
        return self.report(None)

    def report(self, problem: str | None) -> int:
        """The last line of the output: whether the program ran to its end, how often it called the function, and what that printed."""
        import json

        _flush()
        told = {"problem": problem, "calls": self.calls, "printed": self.printed.decode("utf-8", "replace")}
        _write(1, f"\n{self.nonce} {json.dumps(told)}\n".encode())
        return 0 if problem is None else 1

    @staticmethod
    def _keep_own_files_out() -> None:
        """Import nothing from where the solution can write."""
        own = [os.getcwd(), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        sys.path[:] = [path for path in sys.path if path and not any(os.path.abspath(path).startswith(folder) for folder in own if folder)]

    def _stand_in(self) -> Any:
        def stand_in(*arguments: Any, **options: Any) -> Any:
            return self._call(arguments, options)

        stand_in.__name__ = stand_in.__qualname__ = self.name
        stand_in.__doc__ = self.documentation
        stand_in.__module__ = "__main__"
        wrapped: Any = stand_in
        for decorator in reversed(self.decorators):
            wrapped = {"staticmethod": staticmethod, "classmethod": classmethod, "property": property}[decorator](wrapped)
        return wrapped

    def _call(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if self.in_child:
            assert self.solution is not None
            return self.solution(*arguments, **options)
        self.calls += 1
        _flush()
        objects = self._objects([*arguments, *options.values()])
        random = _random_states()  # the interpreter seeds its generator anew in a forked child
        result_end, result_writer = os.pipe()
        printed_end, printed_writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(result_end)
            os.close(printed_end)
            _set_random_states(random)
            self._serve(arguments, options, objects, result_writer, printed_writer)
        os.close(result_writer)
        os.close(printed_writer)
        try:
            message, printed = self._received(child, result_end, printed_end)
        finally:
            os.close(result_end)
            os.close(printed_end)
        self.printed += printed
        return self._taken_over(message, objects)

    def _objects(self, arguments: list[Any]) -> list[Any]:
        """What a call may change in place: its arguments, and what the program's variables hold. Of one object there is one entry."""
        names = self._own_classes()
        held = [value for name, value in self.main.__dict__.items() if is_state(name, value) and (_is_changeable(value) or type(value) in names)]
        return list({id(value): value for value in [*arguments, *held]}.values())

    def _received(self, child: int, result_end: int, printed_end: int) -> tuple[bytes, bytes]:
        """What the child sent, and what it printed. What it started is killed with it."""
        kept = {result_end: bytearray(), printed_end: bytearray()}
        most = {result_end: self.result_bytes, printed_end: self.printed_bytes - len(self.printed)}
        poll = select.poll()
        for descriptor in kept:
            os.set_blocking(descriptor, False)
            poll.register(descriptor, select.POLLIN)
        open_ends, ended = set(kept), False
        try:
            while open_ends:
                ready = [descriptor for descriptor, _ in poll.poll(0 if ended else _POLL_MILLISECONDS)]
                if ended and not ready:
                    break
                for descriptor in ready:
                    with contextlib.suppress(BlockingIOError):
                        chunk = os.read(descriptor, 1 << 16)
                        kept[descriptor] += chunk
                        if not chunk:
                            open_ends.discard(descriptor)
                            poll.unregister(descriptor)
                    if len(kept[descriptor]) > most[descriptor]:
                        what = "returned" if descriptor == result_end else "printed"
                        raise _GivenUpError(f"the function {what} more than {most[descriptor]:,} bytes")
                ended = ended or os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        finally:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        return bytes(kept[result_end]), bytes(kept[printed_end])

    def _taken_over(self, message: bytes, objects: list[Any]) -> Any:
        """Do to the program what the call did, and give its result or raise its error."""
        if not message:
            raise _GivenUpError("the function ended the process instead of returning")
        named = [value for value in self.main.__dict__.values() if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")]
        classes = {name: kind for kind, name in self._own_classes().items()} | {f"{kind.__module__}.{kind.__qualname__}": kind for kind in named}

        def read(packed: Any) -> Any:
            return by_value.unpack(packed, classes)

        try:
            told = read(message)
            if told["refused"] is not None:
                raise _GivenUpError(str(told["refused"]))
            for number, packed in told["contents"]:
                _assign(objects[number], read(packed))
            for number, packed in told["attributes"]:
                held = vars(objects[number])
                held.update({name: _of_kind_of(held.get(name), value) for name, value in read(packed).items()})
            for name, value in read(told["variables"]).items():
                if name in self.main.__dict__ and is_state(name, self.main.__dict__[name]):
                    self.main.__dict__[name] = _of_kind_of(self.main.__dict__[name], value)
            _set_random_states(read(told["random"]))
            if told["raised"] is not None:
                name, text, where = told["raised"]
                error = by_value.exception_of(name, text, classes)
                error.add_note(str(where))
            elif told["object"] is not None:
                return objects[told["object"]]
            else:
                return read(told["result"])
        except (by_value.MalformedError, KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
            raise _GivenUpError(f"the function's result cannot be read: {problem}") from problem
        raise error

    def _own_classes(self) -> dict[type, str]:
        """The classes that the program defines or names, whose plain objects cross by value, with their attributes."""
        found: dict[type, str] = {}
        waiting = [value for name, value in self.main.__dict__.items() if name != STAND_IN]
        while waiting:
            value = waiting.pop()
            if isinstance(value, type) and value not in found and vars(object)["__new__"] is value.__new__ and value.__dictoffset__:
                found[value] = f"{value.__module__}.{value.__qualname__}"
                if value.__module__ == "__main__":
                    waiting += vars(value).values()
        return found

    # --- the child ------------------------------------------------------------------------------------------------------------------------------

    def _serve(self, arguments: tuple[Any, ...], options: dict[str, Any], objects: list[Any], result: int, printed: int) -> NoReturn:
        """Call the solution and send what came of it. Everything from here on is at the solution's mercy."""
        try:
            os.setsid()
            _prctl(PR_SET_DUMPABLE, 1)
            self.in_child = True
            names = self._own_classes()
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            with contextlib.redirect_stderr(None):
                before = _Snapshot(self, objects, names)
            told: dict[str, Any] = {"refused": None, "raised": None, "object": None, "result": b""}
            try:
                self.solution = self._defined()
                _flush()
                os.dup2(printed, 1)
                returned = self.solution(*arguments, **options)
                told |= self._result(returned, objects, names)
            except Exception as error:
                told["raised"] = [type(error).__name__, str(error), _where(error)]
            _flush()
            told |= before.changes()
            _write(result, by_value.pack(told, self.result_bytes))
        except BaseException as error:
            with contextlib.suppress(BaseException):
                _flush()
                if not isinstance(error, SystemExit):
                    _print_traceback(error)
        finally:
            os._exit(0)

    def _result(self, returned: Any, objects: list[Any], names: Mapping[type, str]) -> dict[str, Any]:
        for number, value in enumerate(objects):
            if returned is value and type(value) not in _WITHOUT_IDENTITY:
                return {"object": number}
        try:
            return {"result": by_value.pack(returned, self.result_bytes, names, as_bases="containers")}
        except by_value.NotDataError as error:
            return {"refused": f"the function returned {error}"}
        except by_value.TooLargeError as error:
            return {"refused": f"the function returned {error}"}

    def _defined(self) -> Callable[..., Any]:
        """Define the solution in the child's copy of the program; gives the function, or what its plain decorators hold."""
        variables = self.main.__dict__
        exec(compile(self.definitions, SOLUTION_NAME, "exec", dont_inherit=True), variables)
        flags = _future_flags(self.definitions)
        if self.owner is None:
            exec(compile(self.function, SOLUTION_NAME, "exec", flags, dont_inherit=True), variables)
            defined = variables[self.name]
        else:
            defined = self._defined_in_class(self.owner, flags)
        if isinstance(defined, property):
            assert defined.fget is not None
            return defined.fget
        return defined.__func__ if isinstance(defined, (staticmethod, classmethod)) else defined

    def _defined_in_class(self, owner: str, flags: int) -> Any:
        """Define a method as if it stood in the body of its class: with the names of that body, its private names, and `super()`."""
        kind: Any = self.main
        for name in owner.split("."):
            kind = getattr(kind, name)
        short = owner.rpartition(".")[2]
        inside = {name: value for name, value in vars(kind).items() if not (name.startswith("__") and name.endswith("__"))}

        class Body(type):
            @classmethod
            def __prepare__(cls, name: str, bases: tuple[type, ...], /, **keywords: Any) -> dict[str, Any]:
                return dict(inside)

        tree = ast.parse(f"class {short}(metaclass=__body__):\n def __cell__(self): return __class__")
        tree.body[0].body += ast.parse(self.function).body  # type: ignore[attr-defined]
        variables: dict[str, Any] = {"__body__": Body}
        exec(compile(tree, SOLUTION_NAME, "exec", flags, dont_inherit=True), self.main.__dict__, variables)
        body = variables[short]
        body.__dict__["__cell__"].__closure__[0].cell_contents = kind
        mangled = f"_{short.lstrip('_')}{self.name}" if self.name.startswith("__") and not self.name.endswith("__") else self.name
        defined = body.__dict__[mangled]
        setattr(kind, mangled, defined)
        return defined


class _Snapshot:
    """What a call can change besides its result, as it was before the call."""

    def __init__(self, session: Session, objects: list[Any], names: Mapping[type, str]) -> None:
        self.session = session
        self.objects = objects
        self.names = names
        self.contents = [self._packed(value) if _is_changeable(value) else None for value in objects]
        self.attributes = [self._packed_items(vars(value)) if type(value) in names else {} for value in objects]
        self.variables = {name: value for name, value in session.main.__dict__.items() if is_state(name, value)}
        self.random = self._packed(_random_states())

    def changes(self) -> dict[str, Any]:
        """What is different now, packed: objects that have changed, and variables that stand for something else."""
        contents, attributes = [], []
        for number, value in enumerate(self.objects):
            if type(value) in self.names:
                changed = self._changed(vars(value), self.attributes[number])
                if changed:
                    attributes.append([number, self._packed_or_fail(changed)])
            elif _is_changeable(value):
                packed = self._packed(value)
                if packed is not None and packed != self.contents[number]:
                    contents.append([number, packed])
        now = self.session.main.__dict__
        anew = {name: now[name] for name, value in self.variables.items() if name in now and now[name] is not value}
        random = self._packed(_random_states())
        return {
            "contents": contents,
            "attributes": attributes,
            "variables": self._packed_or_fail({name: value for name, value in anew.items() if self._packed(value) is not None}),
            "random": self._packed_or_fail(None) if random is None or random == self.random else random,
        }

    def _changed(self, now: Mapping[str, Any], before: Mapping[str, bytes | None]) -> dict[str, Any]:
        packed = self._packed_items(now)
        return {name: now[name] for name, value in packed.items() if value is not None and value != before.get(name)}

    def _packed_items(self, items: Mapping[str, Any]) -> dict[str, bytes | None]:
        return {name: self._packed(value) for name, value in items.items()}

    def _packed(self, value: Any) -> bytes | None:
        """A value as it can cross; None where it cannot. What runs when it is looked at (an iterator) is left alone."""
        try:
            return by_value.pack(value, self.session.result_bytes, self.names, iterators=False, as_bases="containers")
        except Exception:
            return None

    def _packed_or_fail(self, value: Any) -> bytes:
        return by_value.pack(value, self.session.result_bytes, self.names, iterators=False, as_bases="containers")


_CHANGEABLE = (list, dict, set, bytearray, collections.defaultdict, collections.OrderedDict, collections.Counter, collections.deque)
_WITHOUT_IDENTITY = (type(None), bool, int, float, complex, str, bytes)


def is_state(name: str, value: Any) -> bool:
    """Whether a variable of a program is one that a call may change: neither code nor the interpreter's own."""
    return not (name.startswith("__") and name.endswith("__")) and not isinstance(value, (types.ModuleType, types.FunctionType, type))


def _is_changeable(value: Any) -> bool:
    kind = type(value)
    return kind in _CHANGEABLE or (kind.__module__.partition(".")[0] in ("numpy", "pandas") and kind.__name__ in ("ndarray", "DataFrame", "Series"))


def _assign(target: Any, value: Any) -> None:
    """Give an object the content of another one of its kind."""
    if isinstance(target, (list, bytearray)):
        target[:] = value
    elif isinstance(target, (dict, set, collections.deque)):
        target.clear()
        (target.extend if isinstance(target, collections.deque) else target.update)(value)
    elif hasattr(target, "_update_inplace"):  # of pandas
        target._update_inplace(value)
    elif hasattr(target, "flat") and target.shape == value.shape and target.dtype == value.dtype:
        target[...] = value
    else:
        raise ValueError(f"a changed {type(target).__name__}")


def _of_kind_of(before: Any, value: Any) -> Any:
    """A value that takes the place of another one. What does not cross, a class of the program's own or a factory, is that of the other one."""
    bases: tuple[Any, ...] = (dict, list, set)
    for base in bases:
        if isinstance(before, base) and type(before) is not base and type(value) is base:
            kept = copy.copy(before)
            base.clear(kept)
            (base.extend if base is list else base.update)(kept, value)
            return kept
    return value


def _future_flags(definitions: str) -> int:
    """What `from __future__ import ...` asks of the compiler, which sees the function apart."""
    imports = [part for part in ast.parse(definitions).body if isinstance(part, ast.ImportFrom) and part.module == "__future__"]
    names = [alias.name for part in imports for alias in part.names]
    return sum({getattr(__future__, name).compiler_flag for name in names})


def _random_states() -> Any:
    import random

    numpy_random = sys.modules.get("numpy.random")
    return random.getstate(), None if numpy_random is None else numpy_random.get_state()


def _set_random_states(states: Any) -> None:
    import random

    if states is not None:
        random.setstate(states[0])
        if states[1] is not None:
            sys.modules["numpy.random"].set_state(states[1])


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(BaseException):
            stream.flush()  # type: ignore[union-attr]


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _where(error: BaseException) -> str:
    """The traceback of an error, without the frames of this module."""
    told = traceback.TracebackException.from_exception(error)
    told.stack[:] = [frame for frame in told.stack if not frame.filename.startswith("<medagentgym.") and frame.filename != STEP_NAME]
    return "".join(told.format())


def _print_traceback(error: BaseException) -> None:
    with contextlib.suppress(OSError):
        _flush()
        _write(2, _where(error).encode("utf-8", "backslashreplace"))


def main(request: Mapping[str, Any]) -> NoReturn:
    """Run a program, and end the process."""
    sys.exit(Session(request).run())
