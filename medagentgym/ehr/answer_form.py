"""What question and gold SQL say of the form of an answer, beside its values: names of columns, units, shares, order.

- *Units* follow from the SQL: a difference of Julian days counts days (times 24, hours), a column of ages counts years, one of costs dollars.
- *Shares*: `... * 100 / count(*)` is a percentage, `percent_rank()` and `cume_dist()` give a fraction. A share may be given as a fraction in any
  case, and as a percentage where it is one in the SQL or the question says percent, percentage or percentile.
- *Whole shares*: SQLite divides whole numbers without a rest, so a survival rate of two in three is 66 in the SQL. The share with its decimals is
  right as well.
- *Order* counts where the SQL orders its rows, more than one of them, and the question asks for a ranking.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

from medagentgym.ehr.sql import Select, Token, significant, tokens_of

Share = Literal["fraction", "percentage"]

_PERCENT = re.compile(r"\bper ?cent(?:age|ile)?s?\b|(?<!\w)%", re.IGNORECASE)
_RANKING = re.compile(
    r"\b(?:rank(?:ed|ing)?|sort(?:ed)?|order(?:ed)? (?:by|of|from)|top \w+"
    r"|(?:ascending|descending|increasing|decreasing|chronological|alphabetical) order"
    r"|from (?:the )?(?:highest|lowest|most|least|earliest|latest|oldest|youngest|newest|largest|smallest|first|last))\b",
    re.IGNORECASE,
)
_RANK_FUNCTIONS = {"percent_rank", "cume_dist"}
_SUMMARIES = {"min", "max", "avg", "sum", "total"}
_UNITS_BY_COLUMN = {"age": "year", "days_stay": "day", "cost": "dollar"}
_UNITS_BY_DAYS = {1: "day", 24: "hour", 24 * 60: "minute", 24 * 3600: "second"}


def column_names(sql: str) -> tuple[str, ...] | None:
    """The names of the result's columns; None where the statement does not tell how many there are."""
    select = Select.parse(_first_of_compound(tokens_of(sql)))
    return None if select is None or select.has_star else select.names


def units(sql: str) -> tuple[str | None, ...] | None:
    """The unit of each column of the result that the SQL tells; None where it tells none."""
    select = Select.parse(tokens_of(sql))
    if select is None or select.has_star:
        return None
    found = tuple(_unit(significant(tokens_of(expression))) for expression in select.results)
    return found if any(found) else None


def share(sql: str, question: str) -> Share | None:
    """In which form the one number of the result states a share that may be given in either; None where it states none."""
    tokens = tokens_of(sql)
    select = Select.parse(tokens)
    if select is None or len(select.results) != 1:
        return None
    words = _outside_parentheses(tokens_of(select.results[0]))
    if "/" in words and ("100" in words or "100.0" in words):
        return "percentage"
    is_fraction = "/" in words or not _RANK_FUNCTIONS.isdisjoint(significant(tokens))
    return "fraction" if is_fraction and _PERCENT.search(question) else None


def with_decimals(sql: str) -> str | None:
    """The statement with the division of its one result made one of real numbers; None where there is none."""
    tokens = tokens_of(sql)
    select = Select.parse(tokens)
    if select is None or len(select.results) != 1 or select.limit is not None:
        return None
    depth, output = 0, []
    for kind, text in tokens_of(select.results[0]):
        depth += (text == "(") - (text == ")")
        output.append("* 1.0 /" if (kind, text, depth) == ("operator", "/", 0) else text)
    divided = "".join(output)
    return None if divided == select.results[0] else f"SELECT {'DISTINCT ' if select.distinct else ''}{divided} {select.source}"


def asks_for_order(question: str) -> bool:
    """Whether a question asks for a ranking."""
    return bool(_RANKING.search(question))


def _first_of_compound(tokens: Sequence[Token]) -> Sequence[Token]:
    """The first SELECT of a compound, which names its columns."""
    depth = 0
    for position, (kind, text) in enumerate(tokens):
        depth += (text == "(") - (text == ")")
        if depth == 0 and kind == "word" and text.lower() in ("union", "intersect", "except"):
            return tokens[:position]
    return tokens


def _outside_parentheses(tokens: Sequence[Token]) -> list[str]:
    depth = 0
    words = []
    for word in significant(tokens):
        depth += (word == "(") - (word == ")")
        if depth == 0:
            words.append(word)
    return words


def _unit(words: Sequence[str]) -> str | None:
    """The unit of an expression's numbers."""
    inner = list(words)
    if len(inner) > 3 and inner[0] in _SUMMARIES and inner[1] == "(" and inner[-1] == ")":
        inner = inner[2:-1]
    if all(word.strip('"').replace("_", "").isalnum() or word in (".", "distinct") for word in inner):
        return _UNITS_BY_COLUMN.get(inner[-1].strip('"').lower()) if inner else None
    days = [position for position, word in enumerate(inner) if word == "'%J'" or word == "julianday"]
    if len(days) == 2 and inner.count("-") == 1 and days[0] < inner.index("-") < days[1] and not {"select", "/", "count", "case"} & set(inner):
        factors = [float(word) for word in inner if word.replace(".", "", 1).isdigit()]
        return _UNITS_BY_DAYS.get(round(math.prod(factors)))
    return None
