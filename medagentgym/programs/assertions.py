"""Runs assertions about what a program left, in an interpreter that the program never saw.

The text of this module is sent into a box of its own. What the program left arrives as a file of data (`left_variables`). A variable that was no data
is stood in for by a `Remote`, which knows the values that were looked at and nothing else: it equals nothing but itself, and what the assertions do
with its values happens here.

NumPy compares an empty array with any other one of a fitting shape, and then all of its (no) elements are equal. In the text of the assertions a
comparison or calculation of an empty array with one that is not empty fails, and for `isclose` and `allclose` a single value is not empty either.
"""

from __future__ import annotations

import ast
import base64
import functools
import json
import math
import operator
import os
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from medagentgym.programs import by_value

_LONGEST_WORDS = 300


class Remote:
    """An object of another interpreter, as far as it was looked at there."""

    def __init__(self, name: str, node: Mapping[str, Any], blobs: list[bytes]) -> None:
        fields = {"name": name, "node": node, "blobs": blobs, "below": {_key(step): below for step, below in node["below"]}}
        object.__setattr__(self, "_remote", fields)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The first of its classes that the test cases have imported, so that `isinstance` tells."""
        for module, name in _remote(self)["node"]["object"]:
            found = _known_class(module, name)
            if found is not None:
                return found
        return Remote

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _look(self, ["attribute", name])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{_remote(self)['name']} cannot be changed by assertions")

    def __getitem__(self, key: Any) -> Any:
        return _look(self, ["item", _as_step(key)])

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:  # noqa: D102 (a call of the object)
        return _look(self, ["call", [_as_step(argument) for argument in arguments], {name: _as_step(value) for name, value in keywords.items()}])

    def __len__(self) -> int:
        if _key(["length"]) not in _remote(self)["below"]:
            raise TypeError(f"the length of {_remote(self)['name']} was not taken from the program")
        return int(_look(self, ["length"]))

    def __iter__(self) -> Iterator[Any]:
        return iter(_look(self, ["each"]))

    def __contains__(self, wanted: Any) -> bool:
        return any(item is wanted or item == wanted for item in self)

    def __float__(self) -> float:
        return float(_look(self, ["as", "float"]))

    def __int__(self) -> int:
        return int(_look(self, ["as", "int"]))

    def __str__(self) -> str:
        return str(_look(self, ["as", "str"]))

    def __bool__(self) -> bool:
        return bool(_look(self, ["as", "bool"])) if _key(["as", "bool"]) in _remote(self)["below"] else True

    def __repr__(self) -> str:
        module, name = (_remote(self)["node"]["object"] or [["", "object"]])[0]
        return f"<{_remote(self)['name']}: {module}.{name}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _remote(remote: Remote) -> dict[str, Any]:
    fields: dict[str, Any] = object.__getattribute__(remote, "_remote")
    return fields


def _look(remote: Remote, step: list[Any]) -> Any:
    fields = _remote(remote)
    shown = f"{fields['name']}{_shown(step)}"
    node = fields["below"].get(_key(step))
    if node is None:
        raise AttributeError(f"{shown} was not taken from the program")
    return _value(shown, node, fields["blobs"])


def _shown(step: list[Any]) -> str:
    kind, *rest = step
    if kind == "attribute":
        return f".{rest[0]}"
    if kind == "item":
        return f"[{rest[0]!r}]"
    return "(...)" if kind == "call" else f" ({' '.join(map(str, step))})"


def _value(name: str, node: Mapping[str, Any], blobs: list[bytes]) -> Any:
    """What a node stands for; raises what looking at it raised."""
    if "data" in node:
        return by_value.unpack(blobs[node["data"]])
    if "items" in node:
        return [_value(f"{name}[{number}]", item, blobs) for number, item in enumerate(node["items"])]
    if "object" in node:
        return Remote(name, node, blobs)
    if "raised" in node:
        kind, text = node["raised"]
        raise by_value.exception_of(kind, text, {})
    raise ValueError(f"{name} could not be taken: {node.get('too large', node.get('error', 'unreadable'))}")


def _as_step(value: Any) -> Any:
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, tuple):
        return {"tuple": [_as_step(part) for part in value]}
    return [_as_step(part) for part in value] if isinstance(value, list) else value


def _key(step: Any) -> str:
    return json.dumps(step, default=repr)


def _known_class(module: Any, name: Any) -> type | None:
    """A class of a module that the test cases have imported. The name comes from the program, so nothing is imported for it."""
    found: Any = None if module in ("__main__", "builtins") else sys.modules.get(str(module))
    for part in str(name).split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


def _read(path: str) -> tuple[Mapping[str, Any], list[bytes]]:
    with open(path, "rb") as stream:
        head = json.loads(stream.read(int.from_bytes(stream.read(8), "big")))
        return head["variables"], [stream.read(size) for size in head["blobs"]]


def run(request: Mapping[str, Any]) -> dict[str, Any]:
    """Run the units one by one. Gives what became of each assertion, and why the preparation failed where it did: all after it fail with it."""
    main = types.ModuleType("__main__")  # `unittest.main()` looks for tests there
    sys.modules["__main__"], sys.argv[:] = main, ["<test cases>"]
    variables = main.__dict__
    unreadable: dict[str, str] = {}
    outcome: dict[str, Any] = {"prepared": None, "assertions": []}
    variables[_COMPARED] = _compared
    _refuse_empty_arrays()
    try:
        taken, blobs = _read(request["file"])
        for name in request["variables"]:
            if name in taken:
                try:
                    variables[name] = _value(name, taken[name], blobs)
                except Exception as error:
                    unreadable[name] = _words(error)
    except Exception as error:
        outcome["prepared"] = f"what the program left cannot be read ({_words(error)})"
    for unit, is_assertion in [*((unit, False) for unit in request["imports"]), *zip(request["units"], request["assertions"], strict=True)]:
        problem = outcome["prepared"]
        if problem is None:
            try:
                exec(_compiled(unit), variables)
            except AssertionError as error:
                problem = f"not so: {_words(error)}" if str(error) else "not so"
            except BaseException as error:
                if not (isinstance(error, SystemExit) and not error.code):  # `unittest.main()` ends so where all is well
                    problem = unreadable.get(getattr(error, "name", None) or "") or f"{type(error).__name__}: {_words(error)}"
            if problem is not None and not is_assertion:
                outcome["prepared"] = problem
        if is_assertion:
            outcome["assertions"].append({"holds": problem is None, "problem": problem})
    return outcome


class _Emptiness(ast.NodeTransformer):
    """Has comparisons and calculations of two values made by `_compared`."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.ops[0])) if len(node.ops) == 1 else None
        return node if name is None else ast.copy_location(_call(name, node.left, node.comparators[0]), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.op))
        return node if name is None else ast.copy_location(_call(name, node.left, node.right), node)


_COMPARED = "__compared__"
_OPERATORS: dict[type, str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
}


def _call(name: str, left: ast.expr, right: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(_COMPARED, ast.Load()), [ast.Constant(name), left, right], [])


def _compiled(unit: str) -> Any:
    tree = ast.fix_missing_locations(_Emptiness().visit(ast.parse(unit)))
    return compile(tree, "<test cases>", "exec", dont_inherit=True)


def _compared(name: str, left: Any, right: Any) -> Any:
    if name != "ne":
        _refuse(left, right)
    return getattr(operator, name)(left, right)


def _refuse(left: Any, right: Any) -> None:
    """Fail where an empty array meets a list, array or table that is not empty. Raises `AssertionError`."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not (isinstance(left, numpy.ndarray) or isinstance(right, numpy.ndarray)):
        return
    sizes = [value.size if isinstance(getattr(value, "shape", None), tuple) and value.shape else _length(value) for value in (left, right)]
    if None not in sizes and (sizes[0] == 0) != (sizes[1] == 0):
        raise AssertionError(f"an array of {sizes[0] or sizes[1]} elements and an empty one")


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, (list, tuple, set, frozenset, dict)) else None


_CLOSE = ("isclose", "allclose")
_TESTING = ("assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_almost_equal", "assert_array_less")


def _refuse_empty_arrays() -> None:
    """Have NumPy's functions find nothing close or equal where one side is empty."""
    try:
        import numpy
        import numpy.testing
    except ImportError:
        return

    def one_is_empty(values: list[Any]) -> bool:
        try:
            return len(values) == 2 and (numpy.size(values[0]) == 0) != (numpy.size(values[1]) == 0)
        except Exception:
            return False

    def of(function: Any) -> Any:
        @functools.wraps(function)
        def compared(*arguments: Any, **options: Any) -> Any:
            values = [*arguments[:2], *(options[name] for name in ("a", "b", "actual", "desired", "x", "y") if name in options)]
            if not one_is_empty(values):
                return function(*arguments, **options)
            if function.__name__ in _TESTING:
                raise AssertionError("one side is empty")
            return False if function.__name__ == "allclose" else numpy.zeros(max(map(numpy.shape, values), key=math.prod), dtype=bool)

        return compared

    for module, names in ((numpy, _CLOSE), (numpy.testing, _TESTING)):
        for name in names:
            setattr(module, name, of(getattr(module, name)))


def _words(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:_LONGEST_WORDS]
    except Exception:
        return type(error).__name__


def main(request: Mapping[str, Any]) -> NoReturn:
    """Run the assertions; the last line of the output is `<nonce> {...}`."""
    for path, content in request["files"].items():
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "ab") as stream:
            stream.write(base64.b64decode(content))
    told = run(request) if request["units"] else {}
    sys.stdout.flush()
    os.write(1, f"\n{request['nonce']} {json.dumps(told)}\n".encode())
    sys.stderr.flush()
    os._exit(0)
