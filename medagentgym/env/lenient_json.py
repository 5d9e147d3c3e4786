"""Reading the JSON objects that models write, as they really write them.

Beside JSON itself: Python literals (single quotes, `True`, `None`), triple-quoted strings, raw line breaks in strings, comments, trailing and missing
commas, bare words, typographic quotes, and closing brackets that are missing at the very end. What is inside a string is never guessed at: a string
that does not end is an error, so that half a program cannot pass for a whole one. Work is bounded, whatever the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_MAX_DEPTH = 60
_MAX_VALUES = 20_000
"""Values in an object, those inside it included; an action has a handful."""
_CANDIDATE = re.compile(r"\{(?=\s*(?:[\"'`\u201c-\u201e\u2018\u2019]|[A-Za-z_]\w*\s*:|//|/\*|\#|\}))")
_SPACE = re.compile(r"(?:[\s\ufeff\u200b]+|//[^\n]*|\#[^\n]*)*")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"[A-Za-z_][\w.\-]*")
_STRING_PREFIX = re.compile(r"[rRbBfFuU]{1,2}(?=[\"'])")
_BODY = {quote: re.compile(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*", re.DOTALL) for quote in "\"'`\u201d\u2019"}
_CLOSING = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u201d": "\u201d", "\u201e": "\u201d", "\u2018": "\u2019", "\u2019": "\u2019"}
_TRIPLE_END = {quote: re.compile(quote * 3 + r"(?=\s*(?:[,}\]]|\Z))") for quote in "\"'"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "`": "`"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None, "NaN": None, "undefined": None}
_STRICT = json.JSONDecoder(strict=False)


class UnreadableError(ValueError):
    """No object could be read. `position` is where in the text reading stopped."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


@dataclass(frozen=True)
class Found:
    """An object in a text, or what looked like one. `value` is None where it could not be read, and `reason` says why."""

    start: int
    end: int
    value: dict[str, Any] | None
    reason: str = ""


def find_objects(text: str, *, close: bool = True) -> Iterator[Found]:
    """All outermost objects of a text, in order, readable or not. After an unreadable one the search goes on inside it.

    `close`: take closing brackets as there that are missing at the end of the text. Reading stops when it has cost a few times the text's length.
    """
    budget = 3 * len(text) + 2_000_000
    position = 0
    while (match := _CANDIDATE.search(text, position)) is not None and budget > 0:
        start = match.start()
        try:
            value, end = _read(text, start, close)
        except UnreadableError as error:
            budget -= max(error.position - start, 0) + 1000
            position = start + 1
            yield Found(start, error.position, None, error.reason)
        else:
            budget -= end - start
            position = end
            yield Found(start, end, value)


def unescape(body: str) -> str:
    r"""Resolve the escapes of a JSON string. What is no escape of JSON stays as it is: `\d` of a pattern, a backslash at a line's end."""

    def resolve(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        return _ESCAPED.get(escape, match[0])

    return _ESCAPE.sub(resolve, body) if "\\" in body else body


def _read(text: str, start: int, close: bool) -> tuple[dict[str, Any], int]:
    try:
        value, end = _STRICT.raw_decode(text, start)
    except RecursionError as error:
        raise UnreadableError("the object is nested too deeply", len(text)) from error
    except ValueError:
        reader = _Reader(text, start, close)
        return reader.object(0), reader.position
    return value, end


class _Reader:
    """A recursive reader of one object."""

    def __init__(self, text: str, start: int, close: bool) -> None:
        self.text = text
        self.position = start
        self.close = close
        self.values = 0

    def object(self, depth: int) -> dict[str, Any]:
        opened = self.position
        self.position += 1
        members: dict[str, Any] = {}
        while not self._at_end("}", opened):
            key = self._key()
            self._skip()
            if self._peek() not in (":", "="):
                raise UnreadableError(f"a colon is missing after {key[:40]!r}", self.position)
            self.position += 2 if self.text.startswith("=>", self.position) else 1
            self._skip()
            members[key] = self._value(depth + 1)
        return members

    def array(self, depth: int) -> list[Any]:
        opened = self.position
        self.position += 1
        items: list[Any] = []
        while not self._at_end("]", opened):
            items.append(self._value(depth + 1))
        return items

    def _at_end(self, bracket: str, opened: int) -> bool:
        """Skip to the next member; True, past the bracket, where there is none."""
        self._skip()
        while self._peek() == ",":
            self.position += 1
            self._skip()
        if self._peek() == bracket:
            self.position += 1
            return True
        if self.position >= len(self.text) or self.text.startswith("```", self.position):
            if self.close and self.position > opened + 1:
                return True
            raise UnreadableError(f"the closing {bracket} is missing", self.position)
        return False

    def _key(self) -> str:
        if self._peek() in _CLOSING:
            return self._string()
        match = _WORD.match(self.text, self.position)
        if match is None:
            raise UnreadableError(f"a key was expected, not {self.text[self.position : self.position + 20]!r}", self.position)
        self.position = match.end()
        return match[0]

    def _value(self, depth: int) -> Any:
        self.values += 1
        if depth > _MAX_DEPTH or self.values > _MAX_VALUES:
            raise UnreadableError("the object is nested too deeply or too long", self.position)
        character = self._peek()
        if character == "{":
            return self.object(depth)
        if character == "[":
            return self.array(depth)
        prefix = _STRING_PREFIX.match(self.text, self.position)
        if prefix is not None:
            self.position = prefix.end()
            return self._strings()
        if character in _CLOSING:
            return self._strings()
        number = _NUMBER.match(self.text, self.position)
        if number is not None:
            self.position = number.end()
            digits = number[0].replace("_", "")
            return int(digits) if digits.lstrip("+-").isdigit() and len(digits) < 400 else float(digits)
        word = _WORD.match(self.text, self.position)
        if word is None:
            raise UnreadableError(f"a value was expected, not {self.text[self.position : self.position + 20]!r}", self.position)
        self.position = word.end()
        return _WORDS.get(word[0], word[0])

    def _strings(self) -> str:
        """One string, or several that are joined by `+` or by standing side by side."""
        parts = [self._string()]
        while True:
            before = self.position
            self._skip()
            if self._peek() == "+":
                self.position += 1
                self._skip()
                if self._peek() not in _CLOSING:
                    raise UnreadableError("text was expected after +", self.position)
                parts.append(self._string())
                continue
            if self._peek() in _CLOSING:
                part = self._string()
                self._skip()
                if self._peek() != ":":
                    parts.append(part)
                    continue
            self.position = before
            return "".join(parts)

    def _string(self) -> str:
        opening = self.text[self.position]
        if opening in _TRIPLE_END and self.text.startswith(opening * 3, self.position):
            end = _TRIPLE_END[opening].search(self.text, self.position + 3)
            if end is None:
                raise UnreadableError("a triple-quoted text does not end", len(self.text))
            body = self.text[self.position + 3 : end.start()]
            self.position = end.end()
            return body
        closing = _CLOSING[opening]
        match = _BODY[closing].match(self.text, self.position + 1)
        end_position = match.end() if match is not None else len(self.text)
        if end_position >= len(self.text) or self.text[end_position] != closing:
            raise UnreadableError("a text in quotes does not end", len(self.text))
        body = self.text[self.position + 1 : end_position]
        self.position = end_position + 1
        return unescape(body)

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _skip(self) -> None:
        """Skip white space and comments."""
        while True:
            match = _SPACE.match(self.text, self.position)
            self.position = match.end() if match is not None else self.position
            if not self.text.startswith("/*", self.position):
                return
            end = self.text.find("*/", self.position + 2)
            if end < 0:
                raise UnreadableError("a comment does not end", len(self.text))
            self.position = end + 2
