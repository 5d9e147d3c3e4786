"""SELECT statements taken apart, token by token: as much of SQL as questions about patient records need, in SQLite's dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Token = tuple[str, str]
"""Kind (`space`, `text`, `quoted`, `word`, `number`, `operator`) and the text as it stands."""

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])
    |(?P<word>[A-Za-z_][A-Za-z0-9_$]*)
    |(?P<number>\d+\.?\d*|\.\d+)
    |(?P<operator>\|\||<>|[<>!=]=|<<|>>|.)""",
    re.VERBOSE | re.DOTALL,
)
_CLAUSES = ("from", "where", "group", "having", "window", "order", "limit")
_COMPOUNDS = {"union", "intersect", "except"}
_DIRECTIONS = {"asc", "desc"}


def tokens_of(sql: str) -> list[Token]:
    """The tokens of a statement, white space and comments included: their texts joined are the statement."""
    return [(str(match.lastgroup), match[0]) for match in _TOKEN.finditer(sql)]


def text_of(tokens: Sequence[Token]) -> str:
    """The statement of which these are the tokens, without space around it."""
    return "".join(text for _, text in tokens).strip()


def significant(tokens: Sequence[Token]) -> list[str]:
    """The texts of the tokens that mean something, words in lower case."""
    return [text.lower() if kind == "word" else text for kind, text in tokens if kind != "space"]


@dataclass(frozen=True)
class Select:
    """One SELECT, no compound of several, taken apart into the texts of its clauses."""

    distinct: bool
    results: tuple[str, ...]
    """The expressions of its result."""
    names: tuple[str, ...]
    """The names of its columns, as SQLite gives them: the alias, the column's own name, or the expression."""
    source: str
    """What stands between the result and `ORDER BY`: `FROM ...` and what follows."""
    order: tuple[str, ...] = ()
    """The terms of `ORDER BY`, without their directions."""
    directions: tuple[str, ...] = ()
    """For each of them what follows it: empty, `asc`, `desc nulls last`, ..."""
    limit: int | None = None
    offset: int = 0
    aliases: dict[str, str] = field(default_factory=dict)
    """Alias in lower case -> expression."""

    @classmethod
    def parse(cls, tokens: Sequence[Token]) -> Select | None:
        """Take a statement apart; None for anything but one SELECT whose limits are numbers."""
        outer = list(_outer_words(tokens))
        if not outer or outer[0][1] != "select" or any(word in _COMPOUNDS for _, word in outer):
            return None
        starts = {word: position for position, word in reversed(outer) if word in _CLAUSES}
        ends = sorted([*starts.values(), len(tokens)])
        clause = {word: tokens[start : next(end for end in ends if end > start)] for word, start in starts.items()}
        distinct = len(outer) > 1 and outer[1][1] in ("distinct", "all")
        begin = outer[1 if distinct else 0][0] + 1
        results, aliases, names = [], {}, []
        for part in _parts(tokens[begin : ends[0]]):
            expression, alias = _without_alias(part)
            results.append(text_of(expression))
            names.append(alias or _own_name(expression))
            if alias:
                aliases[alias.lower()] = results[-1]
        limits = _limits(clause.get("limit"))
        if limits is None or not all(results):
            return None
        order = [_term(part) for part in _parts(clause["order"][_after_by(clause["order"]) :])] if "order" in clause else []
        source_end = min([starts[word] for word in ("order", "limit") if word in starts], default=len(tokens))
        return cls(
            distinct=distinct and outer[1][1] == "distinct",
            results=tuple(results),
            names=tuple(names),
            source=text_of(tokens[ends[0] : source_end]) if ends[0] < source_end else "",
            order=tuple(_resolved(term, results, aliases) for term, _ in order),
            directions=tuple(direction for _, direction in order),
            limit=limits[0],
            offset=limits[1],
            aliases=aliases,
        )

    @property
    def has_star(self) -> bool:
        """Whether the result holds all columns of a table, so that its width is not known from the statement."""
        return any(significant(tokens_of(result))[-1] == "*" for result in self.results)

    def with_keys(self) -> str:
        """The statement without DISTINCT and LIMIT, with the terms of `ORDER BY` as further columns behind its own."""
        results = [f"{expression} AS {_quoted(name)}" for expression, name in zip(self.results, self.names, strict=True)]
        keys = [f"{term} AS {_quoted(f'order key {position}')}" for position, term in enumerate(self.order)]
        ordered = ", ".join(f"{term} {direction}".strip() for term, direction in zip(self.order, self.directions, strict=True))
        return f"SELECT {', '.join([*results, *keys])} {self.source}{f' ORDER BY {ordered}' if ordered else ''}"

    def then_by_result(self, direction: str) -> str:
        """The statement with the columns of its result as further terms of `ORDER BY`, in `direction`: one way to break its ties."""
        terms = [f"{term} {given}".strip() for term, given in zip(self.order, self.directions, strict=True)]
        terms += [f"{expression} {direction}" for expression in self.results]
        results = ", ".join(f"{expression} AS {_quoted(name)}" for expression, name in zip(self.results, self.names, strict=True))
        limit = "" if self.limit is None else f" LIMIT {self.limit} OFFSET {self.offset}"
        return f"SELECT {'DISTINCT ' if self.distinct else ''}{results} {self.source} ORDER BY {', '.join(terms)}{limit}"


def sub_selects(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The positions of every SELECT in parentheses, from after the opening to the closing one; inner ones before those around them."""
    opened: list[int] = []
    for position, (_, text) in enumerate(tokens):
        if text == "(":
            opened.append(position)
        elif text == ")" and opened:
            start = opened.pop() + 1
            if significant(tokens[start:position])[:1] == ["select"]:
                yield start, position


def literal_select(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A SELECT that gives these rows (one at least)."""
    first = ", ".join(f"{_literal(value)} AS {_quoted(name)}" for value, name in zip(rows[0], names, strict=True))
    return " UNION ALL ".join([f"SELECT {first}", *(f"SELECT {', '.join(map(_literal, row))}" for row in rows[1:])])


def _outer_words(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Position and text of the words that stand in no parentheses."""
    depth = 0
    for position, (kind, text) in enumerate(tokens):
        depth += (text == "(") - (text == ")")
        if kind == "word" and depth == 0:
            yield position, text.lower()


def _parts(tokens: Sequence[Token]) -> list[list[Token]]:
    """The parts between commas that stand in no parentheses."""
    depth = 0
    parts: list[list[Token]] = [[]]
    for token in tokens:
        depth += (token[1] == "(") - (token[1] == ")")
        if token[1] == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _without_alias(tokens: Sequence[Token]) -> tuple[Sequence[Token], str | None]:
    """An expression of the result without `AS name`, and the name."""
    solid = [position for position, (kind, _) in enumerate(tokens) if kind != "space"]
    if len(solid) >= 3 and tokens[solid[-2]][1].lower() == "as":
        return tokens[: solid[-2]], _name(tokens[solid[-1]])
    return tokens, None


def _own_name(expression: Sequence[Token]) -> str:
    """The name of a column without an alias: a plain column's own name, else the expression."""
    solid = [token for token in expression if token[0] != "space"]
    if solid and all(kind in ("word", "quoted") or text == "." for kind, text in solid) and solid[-1][0] != "operator":
        return _name(solid[-1])
    return text_of(expression)


def _name(token: Token) -> str:
    return token[1][1:-1] if token[0] in ("quoted", "text") else token[1]


def _after_by(clause: Sequence[Token]) -> int:
    return next((position for position, (_, text) in enumerate(clause) if text.lower() == "by"), 0) + 1


def _term(tokens: Sequence[Token]) -> tuple[str, str]:
    """A term of `ORDER BY`: expression and direction."""
    end = next((position for position, word in _outer_words(tokens) if word in _DIRECTIONS or word == "nulls"), len(tokens))
    return text_of(tokens[:end]), text_of(tokens[end:])


def _resolved(term: str, results: Sequence[str], aliases: dict[str, str]) -> str:
    """A term of `ORDER BY` that is the number or the alias of a result, as that result's expression."""
    if term.isdigit() and 1 <= int(term) <= len(results):
        return results[int(term) - 1]
    return aliases.get(term.strip('"`[]').lower(), term)


def _limits(clause: Sequence[Token] | None) -> tuple[int | None, int] | None:
    """Limit and offset of `LIMIT n`, `LIMIT n OFFSET m`, `LIMIT m, n`; None where they are no numbers."""
    if clause is None:
        return None, 0
    words = significant(clause)[1:]
    numbers = [int(word) for word in words if word.isdigit()]
    match words:
        case [_] if len(numbers) == 1:
            return numbers[0], 0
        case [_, "offset", _] if len(numbers) == 2:
            return numbers[0], numbers[1]
        case [_, ",", _] if len(numbers) == 2:
            return numbers[1], numbers[0]
    return None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, (int, float)):
        return repr(value) if value == value and abs(value) != float("inf") else ("9e999" if value > 0 else "-9e999")
    return "'" + str(value).replace("'", "''") + "'"
