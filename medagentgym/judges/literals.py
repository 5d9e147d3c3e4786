"""Texts that hold data: `"[(12,)]"`, `"{'count': 12}"`, `'["a", "b"]'`, `"array([1, 2])"`, `"np.int64(12)"`, as Python or JSON writes them.

Own reading instead of `ast.literal_eval`, which knows neither `nan` nor what NumPy and pandas write, takes seconds and much memory for large texts,
and may bring the interpreter down with a deeply nested one. Nothing in the text is run.
"""

from __future__ import annotations

import ast
import json
import re
from datetime import datetime, timedelta
from typing import Any

MAX_DEPTH = 40
LONGEST_TEXT = 2_000_000

_SPACE = re.compile(r"\s*")
_TEXT = re.compile(r"""(?P<prefix>[rRuUbB]{0,2})(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_PLAIN = r"""[+-]?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?(?![\w.])|(?:None|True|False|nan)(?![\w.(])|'[^'\\]*'|"[^"\\]*\""""
_PLAIN_ELEMENTS = re.compile(rf"\s*(?:(?:{_PLAIN})\s*,\s*)*(?:(?:{_PLAIN})\s*(?=[\])}}]))?")
"""Numbers and texts of a list that are read all at once, since there may be a million of them."""
_PLAIN_ELEMENT = re.compile(_PLAIN)
_NAME = re.compile(r"<NA>|[A-Za-z_][A-Za-z0-9_.]*")
_CLOSING = {"[": "]", "(": ")", "{": "}"}

_CONSTANTS: dict[str, Any] = {
    **dict.fromkeys(("None", "null", "nan", "NaN", "NaT", "<NA>", "np.nan", "numpy.nan", "pd.NA", "pd.NaT"), None),
    **dict.fromkeys(("True", "true", "np.True_"), True),
    **dict.fromkeys(("False", "false", "np.False_"), False),
    **dict.fromkeys(("inf", "Infinity"), "Infinity"),
}
_TIMES = {"datetime", "date", "time"}
_CONTAINERS = {"array", "Index", "list", "tuple", "set", "frozenset", "dict", "deque", "Counter", "OrderedDict", "DatetimeIndex", "RangeIndex"} | {
    f"dict_{part}" for part in ("keys", "values", "items")
}
_SCALARS = {"Timestamp", "Timedelta", "datetime64", "Decimal", "Period", "str", "str_", "int", "float", "bool", "bool_"} | {
    f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)
}


class NotDataError(ValueError):
    """The text is no data."""


def data_in(text: str) -> Any:
    """What a text holds, in the scheme of `medagentgym.sandbox.answers`: a container, the text between quotation marks, the one value that a
    constructor (`Timestamp('2105-12-31')`) or a pair of parentheses holds, or a constant of a library (`np.True_`).

    Raises `NotDataError` for any other text, such as a bare number or word, which is its own value.
    """
    stripped = text.strip()
    if "." in stripped and stripped in _CONSTANTS:
        return _CONSTANTS[stripped]
    if len(stripped) > LONGEST_TEXT or stripped[-1:] not in ("]", ")", "}", "'", '"'):
        raise NotDataError
    try:
        data = json.loads(stripped, object_pairs_hook=_mapping, parse_constant=_constant, strict=False)
    except (ValueError, RecursionError):
        reader = _Reader(stripped)
        data = reader.value(0)
        reader.skip_space()
        if reader.position != len(stripped):
            raise NotDataError from None
        return data
    if _is_deeper(data, MAX_DEPTH):
        raise NotDataError
    return data


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {"kind": "mapping", "items": list(map(list, pairs))}


def _constant(name: str) -> Any:
    if name not in _CONSTANTS:
        raise ValueError(name)
    return _CONSTANTS[name]


def _is_deeper(data: Any, depth: int) -> bool:
    """Whether lists and mappings are nested more deeply than this."""
    level = [data] if isinstance(data, (list, dict)) else []
    for _ in range(depth + 1):
        lists = [container if isinstance(container, list) else [pair[1] for pair in container["items"]] for container in level]
        level = [element for elements in lists for element in elements if type(element) in (list, dict)]
        if not level:
            return False
    return True


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def skip_space(self) -> None:
        self.position = _end(_SPACE.match(self.text, self.position))

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise NotDataError
        self.skip_space()
        first = self.text[self.position : self.position + 1]
        if first in _CLOSING and first:
            return self._container(first, depth)
        for pattern, read in ((_TEXT, _read_text), (_NUMBER, _read_number)):
            match = pattern.match(self.text, self.position)
            if match:
                self.position = match.end()
                return read(match)
        return self._named(depth)

    def _container(self, opening: str, depth: int) -> Any:
        self.position += 1
        closing = _CLOSING[opening]
        elements: list[Any] = []
        pairs: list[list[Any]] = []
        commas = 0
        while True:
            plain = _PLAIN_ELEMENTS.match(self.text, self.position)
            if plain and plain[0]:
                self.position = plain.end()
                elements += map(_read_plain, _PLAIN_ELEMENT.findall(plain[0]))
                commas += plain[0].rstrip().endswith(",")
            if self._take(closing):
                break
            element = self.value(depth + 1)
            if opening == "{" and self._take(":"):
                pairs.append([element, self.value(depth + 1)])
            else:
                elements.append(element)
            commas += self._take(",")
        if opening == "{":
            if pairs and elements:
                raise NotDataError
            return elements if elements else {"kind": "mapping", "items": pairs}
        if opening == "(" and len(elements) == 1 and not commas:
            return elements[0]  # parentheses around one value, no tuple
        return elements

    def _named(self, depth: int) -> Any:
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise NotDataError
        self.position = match.end()
        name = match[0]
        if self._take("("):
            return self._call(name.rpartition(".")[2], depth)
        if name not in _CONSTANTS:
            raise NotDataError
        return _CONSTANTS[name]

    def _call(self, name: str, depth: int) -> Any:
        arguments: list[Any] = []
        named: dict[str, Any] = {}
        while not self._take(")"):
            keyword = _NAME.match(self.text, self.position)
            if keyword and self.text[keyword.end() : keyword.end() + 1] == "=":
                self.position = keyword.end() + 1
                named[keyword[0]] = self._keyword_value(depth)
            else:
                arguments.append(self.value(depth + 1))
            self._take(",")
            self.skip_space()
        if name in _TIMES and len(arguments) >= 2 and all(isinstance(number, int) for number in arguments):
            return _time(name, arguments)
        if name == "timedelta":
            return _duration(arguments, named)
        if name in _CONTAINERS and not arguments:
            return []
        if name in _CONTAINERS and isinstance(arguments[0], (list, dict)):
            return arguments[0]
        if name in _SCALARS and arguments and not isinstance(arguments[0], (list, dict)):
            return arguments[0]
        raise NotDataError

    def _keyword_value(self, depth: int) -> Any:
        """A keyword's value; None for a name (`dtype=object`), which says nothing of the data."""
        name = _NAME.match(self.text, self.position)
        if name:
            self.position = name.end()
            return None
        return self.value(depth + 1)

    def _take(self, mark: str) -> bool:
        self.skip_space()
        if self.position >= len(self.text):
            raise NotDataError
        taken = self.text[self.position] == mark
        self.position += taken
        return taken


def _read_plain(element: str) -> bool | int | float | str | None:
    if element[0] in "'\"":
        return element[1:-1]
    if element[0].isalpha():
        return {"True": True, "False": False}.get(element)
    return float(element) if "." in element else int(element)


def _read_text(match: re.Match[str]) -> str:
    quoted = match["quoted"]
    if "\\" not in quoted and "b" not in match["prefix"].lower():
        return quoted[1:-1]
    try:
        if quoted[0] == '"' and not match["prefix"]:
            return str(json.loads(quoted, strict=False))
    except ValueError:
        pass
    try:
        value = ast.literal_eval(match[0])
    except (ValueError, SyntaxError, MemoryError) as error:
        raise NotDataError from error
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _read_number(match: re.Match[str]) -> int | float | str:
    text = match[0]
    if not text.lstrip("+-").isdigit():
        return float(text)
    if len(text) > 4000 or (text.lstrip("+-")[0] == "0" and len(text.lstrip("+-")) > 1):
        return text
    return int(text)


def _time(name: str, numbers: list[int]) -> str:
    try:
        if name == "time":
            hour, minute, second = (*numbers, 0)[:3]
            return f"{hour:02}:{minute:02}:{second:02}"
        year, month, day, *rest = numbers
        hour, minute, second, microsecond = (*rest, 0, 0, 0, 0)[:4]
        at = datetime(year, month, day, hour, minute, second, microsecond)
    except (ValueError, TypeError, OverflowError) as error:
        raise NotDataError from error
    return at.date().isoformat() if name == "date" else at.isoformat(sep=" ")


def _duration(arguments: list[Any], named: dict[str, Any]) -> str:
    """As `medagentgym.sandbox.answers` writes a `timedelta`."""
    try:
        duration = timedelta(*arguments, **named)
    except (ValueError, TypeError, OverflowError) as error:
        raise NotDataError from error
    size = abs(duration)
    seconds = size.seconds % 60 + size.microseconds / 1_000_000
    return f"{'-' if duration < timedelta() else ''}P{size.days}DT{size.seconds // 3600}H{size.seconds // 60 % 60}M{seconds:f}S"


def _end(match: re.Match[str] | None) -> int:
    assert match is not None  # the pattern matches the empty text
    return match.end()
