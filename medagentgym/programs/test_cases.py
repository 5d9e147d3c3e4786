"""Assertions about the variables that a program leaves: which variables they read, and what of each they look at.

Test cases are a piece of Python: assertions, and what prepares them (imports, tables that are read again). A statement that asserts by a call
(`numpy.testing.assert_allclose(x, 5)`, `check(x)` of a function of their own) is an assertion like any other, and so is whatever comes after the last
one, since its failure would show nowhere else. Tests that are only defined, as for pytest and unittest, are called at the end. Names that the
test cases read and do not define are the *variables* that a program has to leave. Most of them are data, and cross to the assertions as such. Of one
that is no data (a fitted model, a figure) only values can cross, so what is looked at is found beforehand, by the syntax tree: `model.score_`,
`bars.patches[0].get_height()`. It is a tree of *steps*, each of them JSON: `["attribute", name]`, `["item", key]`, `["call", arguments, keywords]`,
`["length"]`, `["each"]` (the items one by one), `["as", "float"]` (a conversion).
"""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Step = list[Any]
Path = tuple[str, tuple[str, ...]]
"""A variable, and steps from it as JSON texts."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BUILTINS = frozenset(dir(builtins))
_USUAL_NAMES = {"np": "numpy", "pd": "pandas"}
_ITERATING = frozenset({"list", "tuple", "set", "sorted", "sum", "min", "max", "any", "all", "frozenset", "reversed", "iter", "dict", "Counter"})
_CONVERTING = frozenset({"float", "int", "str", "bool", "repr"})
_OF_TEXTS = ("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "rfind", "rindex", "index", "count")
_OF_SETS = ("issubset", "issuperset", "isdisjoint", "union", "intersection", "difference", "symmetric_difference")
_OF_TABLES = ("eq", "ne", "lt", "le", "gt", "ge", "equals", "identical", "compare", "isin", "between", "searchsorted")
_OF_DATA = frozenset((*_OF_TEXTS, *_OF_SETS, *_OF_TABLES))
"""Methods that compare data with their arguments. Data cross whole, so that nothing of such a call is asked of the program."""
_FILE = re.compile(r"(?!/)[\w./ -]+\.(?:png|svg|pdf|jpe?g|html|csv|tsv|txt|json|parquet|xlsx)")


class UnreadableTestsError(ValueError):
    """The test cases are no Python, or assert nothing. The message says what is the matter."""


@dataclass(frozen=True)
class TestCases:
    """Test cases, read."""

    __test__ = False

    units: tuple[str, ...]
    """The statements one by one, in their order."""
    assertions: tuple[bool, ...]
    """Whether a statement asserts something; the others prepare what follows, which fails with them."""
    imports: tuple[str, ...]
    """Import statements of modules that the test cases name and do not import."""
    variables: tuple[str, ...]
    """What the program has to leave, in the order of its first mention."""
    looked_at: Mapping[str, Any]
    """Variable -> tree of steps: `[[step, tree], ...]`."""
    files: tuple[str, ...]
    """Files of the working folder that the test cases name."""

    @classmethod
    def read(cls, text: str, programs: Iterable[str] = ()) -> TestCases:
        """Read test cases. `programs` (history, reference) tell which names are modules. Raises `UnreadableTestsError`."""
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise UnreadableTestsError(f"the test cases are no Python ({error})") from error
        if not any(_asserts(node) for node in ast.walk(module)):
            raise UnreadableTestsError("the test cases hold no assertion")
        module.body += [part for statement in module.body for part in _calls_of_tests(statement)]
        assertions = _told_apart(module.body)
        if not any(assertions):
            raise UnreadableTestsError("the test cases define assertions and run none of them")
        modules = _modules_named(programs)
        reading = _Reading(modules)
        for statement in module.body:
            reading.statement(statement)
        files = {node.value for node in ast.walk(module) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        return cls(
            units=tuple(ast.unparse(statement) for statement in module.body),
            assertions=tuple(assertions),
            imports=tuple(modules[name] for name in sorted(reading.modules_used)),
            variables=tuple(reading.variables),
            looked_at={name: _as_json(tree) for name, tree in reading.variables.items()},
            files=tuple(sorted(name for name in files if _FILE.fullmatch(name) and ".." not in name.split("/"))),
        )


def _asserts(node: ast.AST) -> bool:
    """Whether a node fails where something is not so, by itself or as a call of a library."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        return name.lower().startswith("assert")
    return isinstance(node, (ast.Assert, ast.Raise))


def _told_apart(statements: Sequence[ast.stmt]) -> list[bool]:
    """Which statements assert something when they run, be it by a function or class of the test cases; all after the last of them do."""
    asserting = {
        statement.name
        for statement in statements
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)) and any(_asserts(node) for node in ast.walk(statement))
    }
    asserting |= {
        target.id
        for statement in statements
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda) and any(_asserts(node) for node in ast.walk(statement))
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    while True:  # functions that call such functions
        further = {
            statement.name
            for statement in statements
            if isinstance(statement, (*_FUNCTIONS, ast.ClassDef))
            and any(isinstance(node, ast.Name) and node.id in asserting for node in ast.walk(statement))
        }
        if further <= asserting:
            break
        asserting |= further
    found = [
        any(
            _asserts(node) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in asserting) for node in _running(statement)
        )
        for statement in statements
    ]
    last = max((number for number, asserts in enumerate(found) if asserts), default=len(found))
    return [asserts or number > last for number, asserts in enumerate(found)]


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that are executed when a statement is: not the bodies of the functions that it defines."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            yield from _running(child)


def _calls_of_tests(statement: ast.stmt) -> list[ast.stmt]:
    """Statements that run the tests of a definition by which pytest or unittest would find them. They run at the end, also where the test cases
    themselves run them, which they may do without failing."""
    if not any(_asserts(node) for node in ast.walk(statement)):
        return []
    if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test"):
        arguments = statement.args
        needed = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults) + arguments.kw_defaults.count(None)
        return [] if needed else ast.parse(f"{statement.name}()").body
    if not isinstance(statement, ast.ClassDef):
        return []
    if any(ast.unparse(base).endswith("TestCase") for base in statement.bases):
        return ast.parse(f"__import__('unittest').defaultTestLoader.loadTestsFromTestCase({statement.name}).debug()").body
    if statement.name.startswith("Test") and not any(isinstance(part, ast.FunctionDef) and part.name == "__init__" for part in statement.body):
        tests = [part.name for part in statement.body if isinstance(part, ast.FunctionDef) and part.name.startswith("test")]
        return [call for name in tests for call in ast.parse(f"{statement.name}().{name}()").body]
    return []


def _modules_named(programs: Iterable[str]) -> dict[str, str]:
    """Name -> import statement, of the modules that programs import and that they do not use as a variable."""
    found = {name: f"import {module} as {name}" for name, module in _USUAL_NAMES.items()}
    assigned: set[str] = set()
    for program in programs:
        try:
            nodes = list(ast.walk(ast.parse(program)))
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    found[name] = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    if alias.name != "*":
                        found[alias.asname or alias.name] = f"from {node.module} import {alias.name} as {alias.asname or alias.name}"
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                assigned.add(node.id)
    return {name: statement for name, statement in found.items() if name not in assigned}


@dataclass
class _Reading:
    """One walk through the statements."""

    modules: Mapping[str, str]
    variables: dict[str, dict[str, Any]] = field(default_factory=dict)
    modules_used: set[str] = field(default_factory=set)
    scopes: list[dict[str, Path | None]] = field(default_factory=lambda: [{}])
    """Names that the test cases define themselves, with what they stand for, where that is part of a variable."""

    def statement(self, node: ast.stmt) -> None:
        """Take note of what a statement reads, then of what it defines."""
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                self._define(alias.asname or alias.name.partition(".")[0])
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            if node.value is not None:
                self.expression(node.value)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._assign(target, None if node.value is None else self._path(node.value))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._iterate(node.target, node.iter)
            self._block([*node.body, *node.orelse])
        elif isinstance(node, _FUNCTIONS):
            self._define(node.name)
            for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
                self.expression(part)
            names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            self.scopes.append({name.arg: None for name in names if name is not None})
            self._block(node.body)
            self.scopes.pop()
        elif isinstance(node, ast.ClassDef):
            self._define(node.name)
            for part in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
                self.expression(part)
            methods = [part for part in node.body if isinstance(part, _FUNCTIONS)]
            self.scopes.append({})
            self._block(part for part in node.body if part not in methods)
            self.scopes.pop()
            self.scopes.append({})  # the names of a class are none of its methods'
            self._block(methods)
            self.scopes.pop()
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self.expression(item.context_expr)
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, None)
            self._block(node.body)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.stmt):
                    self.statement(child)
                elif isinstance(child, ast.ExceptHandler):
                    if child.name:
                        self._define(child.name)
                    self._block(child.body)
                elif isinstance(child, ast.expr):
                    self.expression(child)

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def expression(self, node: ast.AST) -> None:
        """Take note of what an expression looks at."""
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            self.scopes.append({})
            for generator in node.generators:
                self._iterate(generator.target, generator.iter)
                for condition in generator.ifs:
                    self.expression(condition)
            for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
                self.expression(part)
            self.scopes.pop()
            return
        if isinstance(node, ast.Lambda):
            self.scopes.append({argument.arg: None for argument in [*node.args.args, *node.args.kwonlyargs]})
            self.expression(node.body)
            self.scopes.pop()
            return
        if isinstance(node, ast.NamedExpr):
            self.expression(node.value)
            self._assign(node.target, self._path(node.value))
            return
        if isinstance(node, ast.Compare):
            for operator, right in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, (ast.In, ast.NotIn)):
                    self._note(self._path(right), '["each"]')
        if isinstance(node, ast.Starred):
            self._note(self._path(node.value), '["each"]')
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ITERATING:
            for argument in node.args:
                self._note(self._path(argument), '["each"]')
        path = self._path(node)
        if path is not None:
            self._note(path)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self._read(node.id)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.expr, ast.keyword, ast.Slice)):
                self.expression(child)

    def _read(self, name: str) -> None:
        """A name that is neither defined here nor a variable is a module, a builtin, or unknown."""
        if not self._defined(name) and name in self.modules and name not in self.variables:
            self.modules_used.add(name)

    def _defined(self, name: str) -> bool:
        return any(name in scope for scope in self.scopes)

    def _define(self, name: str, path: Path | None = None) -> None:
        self.scopes[-1][name] = path

    def _assign(self, target: ast.expr, path: Path | None) -> None:
        if isinstance(target, ast.Name):
            self._define(target.id, path)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, part in enumerate(target.elts):
                below = None if path is None else (path[0], (*path[1], json.dumps(["item", position])))
                self._note(below)
                self._assign(part, below)
        else:
            self.expression(target)

    def _iterate(self, target: ast.expr, iterated: ast.expr) -> None:
        """Names of a loop stand for the items of what is iterated, also within `enumerate` and `zip`."""
        self.expression(iterated)
        if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and isinstance(target, ast.Tuple):
            if iterated.func.id == "enumerate" and len(target.elts) == 2:
                self._assign(target.elts[0], None)
                self._iterate(target.elts[1], iterated.args[0])
                return
            if iterated.func.id == "zip" and len(target.elts) == len(iterated.args):
                for part, argument in zip(target.elts, iterated.args, strict=True):
                    self._iterate(part, argument)
                return
        path = self._path(iterated)
        below = None if path is None else (path[0], (*path[1], '["each"]'))
        self._note(below)
        self._assign(target, below)

    def _path(self, node: ast.AST) -> Path | None:
        """The part of a variable that an expression is, as far as it can be told without running anything; else None."""
        if isinstance(node, ast.Name):
            for scope in reversed(self.scopes):
                if node.id in scope:
                    return scope[node.id]
            is_variable = node.id in self.variables or not (node.id in _BUILTINS or node.id in self.modules)
            return (node.id, ()) if is_variable else None
        if isinstance(node, ast.Attribute):
            return self._longer(node.value, ["attribute", node.attr])
        if isinstance(node, ast.Subscript):
            key = _literal(node.slice)
            return None if key is _NO_LITERAL else self._longer(node.value, ["item", key])
        if isinstance(node, ast.Call):
            return self._path_of_call(node)
        return None

    def _path_of_call(self, node: ast.Call) -> Path | None:
        if isinstance(node.func, ast.Name) and not self._defined(node.func.id) and node.func.id in _BUILTINS:
            name, count = node.func.id, len(node.args)
            if name == "len" and count == 1:
                return self._longer(node.args[0], ["length"])
            if name in _CONVERTING and count == 1:
                return self._longer(node.args[0], ["as", name])
            if name in ("getattr", "hasattr") and count >= 2 and isinstance(node.args[1], ast.Constant):
                path = self._longer(node.args[0], ["attribute", node.args[1].value])
                self._note(path)
            return None
        if isinstance(node.func, ast.Attribute) and node.func.attr in _OF_DATA:
            return None
        arguments = [_literal(argument) for argument in node.args]
        keywords = {keyword.arg: _literal(keyword.value) for keyword in node.keywords}
        if _NO_LITERAL in arguments or _NO_LITERAL in keywords.values() or None in keywords:
            return None
        return self._longer(node.func, ["call", arguments, keywords])

    def _longer(self, node: ast.expr, step: Step) -> Path | None:
        path = self._path(node)
        return None if path is None else (path[0], (*path[1], json.dumps(step)))

    def _note(self, path: Path | None, *further: str) -> None:
        if path is not None:
            tree = self.variables.setdefault(path[0], {})
            for step in (*path[1], *further):
                tree = tree.setdefault(step, {})


_NO_LITERAL = object()


def _literal(node: ast.expr) -> Any:
    """The value of a literal that JSON knows, or a slice of such; `_NO_LITERAL` for anything else."""
    if isinstance(node, ast.Slice):
        parts = [None if part is None else _literal(part) for part in (node.lower, node.upper, node.step)]
        return _NO_LITERAL if _NO_LITERAL in parts else {"slice": parts}
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NO_LITERAL
    return _as_plain(value)


def _as_plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, tuple):
        parts = [_as_plain(part) for part in value]
        return _NO_LITERAL if _NO_LITERAL in parts else {"tuple": parts}
    if isinstance(value, list):
        parts = [_as_plain(part) for part in value]
        return _NO_LITERAL if _NO_LITERAL in parts else parts
    return _NO_LITERAL


def _as_json(tree: Mapping[str, Any]) -> Sequence[Any]:
    return [[json.loads(step), _as_json(below)] for step, below in tree.items()]
