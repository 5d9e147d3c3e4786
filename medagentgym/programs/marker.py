"""Programs with a place for a function: where the marker sits, what of an agent's code goes there, and what a program looks like with it.

A *context* is a program in which the line `<<insert solution here>>` stands for the function that is asked for. The solution is spliced at the marker
with the marker's indentation, whatever that is. A context may hold a definition of that very function besides: it would hide every solution that
stands before it, and it tells what is asked for, so it is taken out.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from medagentgym.errors import one_line

MARKER = "<<insert solution here>>"
_STAND_IN = "__solution_stands_here__"
_OWN_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PLAIN_DECORATORS = ("staticmethod", "classmethod", "property")


class UngradableError(ValueError):
    """No function can be put into a context and be told from what is around it. The message says why."""


@dataclass(frozen=True)
class Context:
    """A program with a marker, on a line of its own."""

    before: str
    """The text before the marker's line."""
    indentation: str
    after: str
    """The text after the marker's line."""
    owner: str | None
    """Qualified name of the class in which the marker sits; None: in the module."""
    function: str
    """Name of the function that is asked for."""
    definitions_taken_out: int
    """How many definitions of that function the context held."""

    @classmethod
    def read(cls, text: str, solution: str) -> Context:
        """Read a context; the reference solution says which function is asked for. Raises `UngradableError`."""
        text = _with_plain_line_ends(text)
        function = asked_function(solution)
        count = text.count(MARKER)
        if count != 1:
            raise UngradableError(f"the context has {count} places for the solution" if count else "the context has no place for the solution")
        head, _, tail = text.partition(MARKER)
        before, newline, indentation = head.rpartition("\n")
        before += newline
        line_end, newline, after = tail.partition("\n")
        if indentation.strip() or line_end.strip():
            raise UngradableError(f"the marker sits inside an expression: {one_line(indentation + MARKER + line_end)[:100]}")
        owner = _owner(f"{before}{indentation}{_STAND_IN}\n{after}")
        before, after, taken_out = _without_definitions(before, indentation, after, owner, function)
        return cls(before, indentation, after, owner, function, taken_out)

    def with_lines(self, lines: str) -> str:
        """The program with some lines in place of the marker, indented as it is."""
        return f"{self.before}{textwrap.indent(textwrap.dedent(lines).strip(chr(10)), self.indentation)}\n{self.after}"

    @property
    def shown(self) -> str:
        """The context as an agent reads it."""
        return f"{self.before}{self.indentation}{MARKER}\n{self.after}"


@dataclass(frozen=True)
class Candidate:
    """What an agent's code defines of a solution."""

    definitions: str
    """Program text: imports, helper functions, classes and assignments, in their order, without the function itself."""
    function: str
    """Program text that defines the function, not indented: its definition with decorators, an assignment (`f = g`, or `f = cached(f)` after a
    definition), or a block of definitions that holds it."""
    decorators: tuple[str, ...]
    """Those of `staticmethod`, `classmethod` and `property` among its decorators."""
    documentation: str | None

    @classmethod
    def read(cls, code: str, function: str, owner: str | None) -> Candidate | str:
        """The candidate in an agent's code, or why there is none: code that does more than to define things is a program of its own.

        Where the function is a method, it may stand in a class of the owner's name. Raises `SyntaxError`.
        """
        text = textwrap.dedent(_with_plain_line_ends(code))
        module = ast.parse(text)
        kept: list[ast.stmt] = []
        found: list[ast.stmt] = []
        for statement in module.body:
            if _is_main_block(statement) or _is_text(statement):
                continue
            if _gives(statement, function):
                found = [*found, statement] if isinstance(statement, ast.Assign) else [statement]
            elif isinstance(statement, ast.ClassDef) and owner is not None and statement.name == owner.rpartition(".")[2]:
                found = [part for part in statement.body if _gives(part, function)] or found
            elif _is_defining(statement):
                kept.append(statement)
            elif found or any(_gives(part, function) for part in ast.walk(module)):
                return f"line {statement.lineno} does something beside defining things, so the code ran as a program of its own"
            else:
                return f"it does not define {function}"
        if not found:
            return f"it does not define {function}"
        lines = text.split("\n")
        decorators = _decorators(found[-1], function)
        return cls(
            "".join(_lines_of(statement, lines) for statement in kept),
            "".join(ast.unparse(part) + "\n" if part.col_offset else _lines_of(part, lines) for part in found),
            tuple(decorator.id for decorator in decorators if isinstance(decorator, ast.Name) and decorator.id in _PLAIN_DECORATORS),
            next((ast.get_docstring(part) for part in found if isinstance(part, _FUNCTIONS)), None),
        )


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINING = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Global,
    ast.Pass,
)


def _is_defining(statement: ast.stmt) -> bool:
    """Whether a statement does nothing but define things, such as an import that is tried (`try: import numba`, `except ImportError:`)."""
    if isinstance(statement, ast.If):
        return all(map(_is_defining, [*statement.body, *statement.orelse]))
    if isinstance(statement, ast.Try):
        handled = [part for handler in statement.handlers for part in handler.body]
        return all(map(_is_defining, [*statement.body, *handled, *statement.orelse, *statement.finalbody]))
    return isinstance(statement, _DEFINING)


def _gives(node: ast.AST, function: str) -> bool:
    """Whether a statement defines the function: by `def`, as a name for something that can be called, or in a block of definitions."""
    if isinstance(node, _FUNCTIONS):
        return node.name == function
    if isinstance(node, ast.Assign):
        named = any(isinstance(target, ast.Name) and target.id == function for target in node.targets)
        return named and isinstance(node.value, (ast.Lambda, ast.Name, ast.Attribute, ast.Call))
    if isinstance(node, (ast.If, ast.Try)) and _is_defining(node):
        return any(_gives(part, function) for part in ast.iter_child_nodes(node)) or any(
            _gives(part, function) for handler in getattr(node, "handlers", []) for part in handler.body
        )
    return False


def _decorators(found: ast.stmt, function: str) -> list[ast.expr]:
    """The decorators of the function, or what takes their place: `f = staticmethod(g)`."""
    if isinstance(found, ast.Assign):
        return [found.value.func] if isinstance(found.value, ast.Call) else []
    definitions = (node for node in ast.walk(found) if isinstance(node, _FUNCTIONS) and node.name == function)
    definition = next(definitions, None)
    return [] if definition is None else definition.decorator_list


def _with_plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def asked_function(solution: str) -> str:
    """The name of the function that a reference solution defines. Raises `UngradableError`."""
    try:
        module = ast.parse(textwrap.dedent(solution))
    except SyntaxError as error:
        raise UngradableError(f"the reference solution is no Python ({error.msg}, line {error.lineno})") from error
    functions = [statement for statement in module.body if isinstance(statement, ast.FunctionDef)]
    if not functions:
        kinds = sorted({type(statement).__name__ for statement in module.body})
        raise UngradableError(f"the reference solution defines no function ({', '.join(kinds) or 'it is empty'})")
    return functions[-1].name


def _owner(program: str) -> str | None:
    """The class whose body holds the stand-in of the marker, None for the module. Raises `UngradableError` where it is elsewhere."""
    try:
        module = ast.parse(program)
    except SyntaxError as error:
        raise UngradableError(f"the context around the marker is no Python ({error.msg}, line {error.lineno})") from error
    path = _path_to_stand_in(module)
    if not path or not isinstance(path[-1], ast.Expr):
        raise UngradableError("the marker sits inside an expression or a text")
    for node in path:
        if isinstance(node, _OWN_SCOPES):
            raise UngradableError(f"the marker sits inside the function {getattr(node, 'name', 'without a name')}")
    classes = [node.name for node in path if isinstance(node, ast.ClassDef)]
    return ".".join(classes) or None


def _path_to_stand_in(node: ast.AST) -> list[ast.AST]:
    """The nodes from below `node` to the statement that is the stand-in; empty where there is none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Name) and child.value.id == _STAND_IN:
            return [child]
        below = _path_to_stand_in(child)
        if below:
            return [child, *below]
    return []


def _without_definitions(before: str, indentation: str, after: str, owner: str | None, function: str) -> tuple[str, str, int]:
    """The two parts without definitions of the function in the marker's own scope, and how many there were."""
    program = f"{before}{indentation}{_STAND_IN}\n{after}"
    scope: ast.Module | ast.ClassDef = ast.parse(program)
    for name in owner.split(".") if owner else []:
        scope = next(part for part in ast.walk(scope) if isinstance(part, ast.ClassDef) and part.name == name)
    found = [part for part in scope.body if isinstance(part, _FUNCTIONS) and part.name == function]
    lines = program.split("\n")
    marker_line = before.count("\n")
    for part in reversed(found):
        first, last = _span(part)
        del lines[first:last]
        marker_line -= last - first if last <= marker_line else 0
    kept_before = "".join(line + "\n" for line in lines[:marker_line])
    return kept_before, "\n".join(lines[marker_line + 1 :]), len(found)


def _span(statement: ast.stmt) -> tuple[int, int]:
    """The lines of a statement, decorators included: first, counted from 0, and the one after the last."""
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", [])
    assert statement.end_lineno is not None
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)]) - 1, statement.end_lineno


def _lines_of(statement: ast.stmt, lines: Sequence[str]) -> str:
    first, last = _span(statement)
    if first and statement.col_offset and isinstance(statement, _DEFINING) and lines[first][: statement.col_offset].strip():
        return ast.unparse(statement) + "\n"  # it shares its line with another statement
    return "".join(line + "\n" for line in lines[first:last])


def _is_main_block(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test).replace('"', "'") == "__name__ == '__main__'"


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
