"""Comparing two single values: a cell of the gold with a cell of an answer.

The gold side decides how a pair is compared:

- *Missing*: SQL null, `None`, NaN and the words that stand for them (`none`, `nan`, `null`, `nat`, the empty text) are all the same value, and equal
  nothing else.
- *Booleans*: where the reference is boolean, a gold of 0 or 1 equals `False`/`True`, the numbers 0 and 1, and the words no/yes and false/true.
  Anywhere else a boolean equals booleans only, never a number.
- *Numbers*, also where written as text (`"4019"`, but not `"0389"`: a leading zero makes a code). Whole numbers are equal when they are the same
  number, so that identifiers never blur into each other. Otherwise two numbers are equal within `RELATIVE_TOLERANCE` of the gold or
  `ABSOLUTE_TOLERANCE`; and an answer that is the gold rounded to the decimals that it shows, two at least, is equal too, as long as rounding cost no
  more than `ROUNDING_TOLERANCE` of the gold (a constant 0.0 is not the rounded form of every small number).
- *Dates and times* in ISO form: a date is its midnight, so `2105-01-01` equals `2105-01-01 00:00:00`, and no other time of that day.
- *Text*: equal after case-folding, Unicode compatibility folding and folding of white space. A part of a text never equals it.

A duration has no place in an SQL answer: the gold is a number whose unit the question names. A duration therefore equals the same duration only.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

RELATIVE_TOLERANCE = 1e-6
ABSOLUTE_TOLERANCE = 1e-9
WHOLE_TOLERANCE = 1e-6
"""How far from a whole gold an answer may lie that is not whole: the noise of day counts made by subtracting Julian days, at most 1e-6."""
ROUNDING_TOLERANCE = 0.05
FEWEST_DECIMALS = 2

MISSING_WORDS = frozenset({"", "none", "nan", "null", "nat", "<na>"})
BOOLEAN_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]\d+)?", re.IGNORECASE | re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?", re.ASCII)
_LONGEST_NUMBER = 60
_LONGEST_WHOLE_BITS = 1000
"""A whole number beyond this cannot be subtracted from a float; no database holds one."""

Kind = Literal["missing", "boolean", "number", "moment", "text"]


@dataclass(frozen=True)
class Value:
    """One value, read: its kind and the form in which it is compared."""

    kind: Kind
    content: Any
    """None, a bool, an int or a finite float, a `datetime`, or folded text."""
    decimals: int = 0
    """Numbers that are not whole, and numbers written with a decimal point: how many decimals are shown. 0: written as a whole number."""

    @property
    def key(self) -> tuple[str, Any]:
        """The same for values that are exactly equal, for sets and look-up."""
        return self.kind, self.content


MISSING = Value("missing", None)


def read_value(raw: Any) -> Value:
    """Read a scalar of JSON data (null, boolean, number, text). Infinite numbers are text: they equal nothing finite."""
    if raw is None:
        return MISSING
    if isinstance(raw, bool):
        return Value("boolean", raw)
    if isinstance(raw, int):
        return Value("number", raw) if raw.bit_length() <= _LONGEST_WHOLE_BITS else Value("text", hex(raw))
    if isinstance(raw, float):
        if math.isnan(raw):
            return MISSING
        return _read_float(raw) if math.isfinite(raw) else Value("text", str(raw))
    return _read_text(str(raw))


def equal_values(gold: Value, answer: Value, *, boolean: bool = False) -> bool:
    """Whether `answer` is the value `gold`. `boolean` says that the reference answers a yes-or-no question."""
    if boolean or gold.kind == "boolean":
        truth = truth_of(gold)
        if truth is not None:
            return truth_of(answer) is truth
    if gold.kind == "number" and answer.kind == "number":
        return _equal_numbers(gold, answer)
    return gold.kind == answer.kind and bool(gold.content == answer.content)


def reach(number: float) -> float:
    """No number farther away from `number` equals it, on whichever side the gold is."""
    return 1.1 * (0.5 * 10.0**-FEWEST_DECIMALS + RELATIVE_TOLERANCE * abs(number))


def truth_of(value: Value) -> bool | None:
    """The truth value that a boolean, a 0 or 1, or a word for it states; None for anything else."""
    if value.kind == "boolean":
        return bool(value.content)
    if value.kind == "number" and value.content in (0, 1):
        return bool(value.content)
    if value.kind == "text":
        return BOOLEAN_WORDS.get(value.content)
    return None


def as_truth(value: Value) -> Value:
    """The boolean that `value` states, or `value` itself where it states none: how both sides of a yes-or-no question are read."""
    truth = truth_of(value)
    return value if truth is None else Value("boolean", truth)


def fold_text(text: str) -> str:
    """Text as it is compared: compatibility characters, case and white space folded."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _read_text(text: str) -> Value:
    folded = fold_text(text)
    if folded in MISSING_WORDS:
        return MISSING
    if len(folded) <= _LONGEST_NUMBER and _NUMBER.fullmatch(folded):
        if folded.lstrip("+-").isdigit():
            return Value("number", int(folded))
        number = _read_float(float(folded)) if math.isfinite(float(folded)) else Value("text", folded)
        shown = -int(Decimal(folded).as_tuple().exponent)
        return Value(number.kind, number.content, max(number.decimals, shown))
    if _MOMENT.fullmatch(folded.upper()):
        try:
            return Value("moment", datetime.fromisoformat(folded.upper()))
        except ValueError:  # digits in the form of a date that is none, such as a month 13
            return Value("text", folded)
    return Value("text", folded)


def _read_float(number: float) -> Value:
    exponent = Decimal(repr(number)).as_tuple().exponent
    decimals = max(FEWEST_DECIMALS, -int(exponent))  # a float does not show its trailing zeros: 27.4 may be 27.40
    return Value("number", int(number) if number.is_integer() else number, decimals)


def _equal_numbers(gold: Value, answer: Value) -> bool:
    expected, given = gold.content, answer.content
    if expected == given:
        return True
    if isinstance(expected, int):
        return isinstance(given, float) and abs(expected - given) <= min(WHOLE_TOLERANCE, max(ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE * abs(expected)))
    difference = abs(expected - given)
    if difference <= max(RELATIVE_TOLERANCE * abs(expected), ABSOLUTE_TOLERANCE):
        return True
    half_a_unit = 0.5 * 10.0**-answer.decimals * (1 + 1e-9)
    return answer.decimals >= FEWEST_DECIMALS and difference <= half_a_unit and difference <= ROUNDING_TOLERANCE * abs(expected)
