"""Comparing two single values: a cell of the gold with a cell of an answer.

The gold side decides how a pair is compared:

- *Missing*: SQL null, `None`, NaN and the words that stand for them (`none`, `nan`, `null`, `nat`, the empty text) are all the same value, and equal
  nothing else.
- *Booleans*: where the reference is boolean, a gold of 0 or 1 equals `False`/`True`, the numbers 0 and 1, and the words no/yes and false/true.
  Anywhere else a boolean equals booleans only, never a number: `True` is no count.
- *Numbers*, also where written as text (`"4019"`, `"1,234"`, `".5"`, `"5."`, but not `"0389"`: a leading zero makes a code). A whole gold equals the
  same number only, so that counts and identifiers never blur into each other; `1` equals `1.0`. A gold that is not whole equals what lies within
  `RELATIVE_TOLERANCE` of it or `ABSOLUTE_TOLERANCE`; and the gold rounded to the decimals that the answer shows, one at least, as long as rounding
  cost no more than `ROUNDING_TOLERANCE` of the gold (0.0 is not the rounded form of every small number). An answer in another unit is rounded in
  its own (83.2 hours for 3.46597 days). A gold that is a text of the database (`"518.82"`, a code) is not rounded: 518.820 is that code, 518.8 is
  another one.
- *Dates and times* by value, to the gold's precision: a gold that is a date equals every time of that day, a gold in minutes every second of that
  minute; a gold with seconds equals a date only where it is that day's midnight. A date in any form of `medagentgym.judges.date_texts` with its year
  in full; times with or without seconds, of twenty-four hours or of twelve with `am` or `pm`. UTC is the time as it stands; another time zone is
  another text.
- *Text*: equal after case-folding, Unicode compatibility folding, folding of white space, dashes and quotation marks, and without the space between a
  number and its unit (`5 mg` is `5mg`). A part of a text never equals it.

A duration equals a number only where the column says in which unit of time the gold counts: see `medagentgym.judges.columns`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

from medagentgym.judges.date_texts import date_of_text

RELATIVE_TOLERANCE = 1e-6
ABSOLUTE_TOLERANCE = 1e-9
WHOLE_TOLERANCE = 1e-6
"""How far from a whole gold an answer may lie that is not whole: the noise of day counts made by subtracting Julian days, at most 1e-6."""
ROUNDING_TOLERANCE = 0.05
FEWEST_DECIMALS = 1

MISSING_WORDS = frozenset({"", "none", "nan", "null", "nat", "<na>"})
BOOLEAN_WORDS = {"true": True, "yes": True, "1": True, "y": True, "false": False, "no": False, "n": False, "0": False}

_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,4})?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS = r"(?P<seconds>:[0-5]\d(?:\.\d{1,9})?)?"
_CLOCK = rf"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d){_SECONDS}"
_HALF_DAY = rf"(?P<hour>0?[1-9]|1[0-2])(?::(?P<minute>[0-5]\d){_SECONDS})? ?(?P<half>[ap])\.?m\.?"
_OF_DAY = (re.compile(r"(?=\d\d:)" + _CLOCK, re.ASCII), re.compile(_HALF_DAY, re.ASCII))
_UTC = r"(?:z|\+00:?00| utc)?"
_ISO_MOMENT = re.compile(rf"(?P<day>\d{{4}}-\d{{2}}-\d{{2}})(?:[ t](?=\d\d:){_CLOCK}{_UTC})?", re.ASCII)
_DAY = r"(?P<day>.{8,30}?)"
_MOMENTS = (
    re.compile(rf"{_DAY}(?:(?:,? at |, | |(?<=\d)t){_CLOCK}{_UTC})?", re.ASCII),
    re.compile(rf"{_DAY}(?:,? at |, | ){_HALF_DAY}", re.ASCII),
)
_HAS_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)", re.ASCII)
_ISO_DURATION = re.compile(r"(?P<sign>-?)p(?P<days>\d+)dt(?P<hours>\d+)h(?P<minutes>\d+)m(?P<seconds>\d+(?:\.\d+)?)s", re.ASCII)
_WRITTEN_DURATION = re.compile(r"(?P<sign>-?)(?P<days>\d+) days?,? \+?(?P<hours>\d{1,2}):(?P<minutes>\d{2}):(?P<seconds>\d{2}(?:\.\d+)?)", re.ASCII)
_SPACE_BEFORE_UNIT = re.compile(r"(?<=\d) (?=[a-z\u03bc%])")
_SPACE_IN_NUMBER = re.compile(r"(?<=\d)[\u2009\u202f](?=\d{3}(?!\d))")
"""Thin spaces, which group digits as commas do."""
_MARKS = dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-") | dict.fromkeys((0x2018, 0x2019), "'") | dict.fromkeys((0x201C, 0x201D), '"')
_INVISIBLE = dict.fromkeys((0x200B, 0xFEFF), "")
_LONGEST_NUMBER = 60
_LONGEST_TIME = 50
_ENDS_OF_TIMES = frozenset("0123456789szcm.")
_LONGEST_WHOLE_BITS = 1000
"""A whole number beyond this cannot be subtracted from a float; no database holds one."""

Kind = Literal["missing", "boolean", "number", "moment", "clock", "duration", "text"]
Precision = Literal["day", "minute", "second"]


@dataclass(frozen=True, slots=True)
class Value:
    """One value, read: its kind and the form in which it is compared."""

    kind: Kind
    content: Any
    """None, a bool, an int or a finite float, a `datetime`, seconds (of the day, or of a duration), or folded text."""
    decimals: int = 0
    """Numbers that are not whole, and numbers written with a decimal point: how many decimals are shown. 0: written as a whole number."""
    precision: Precision = "second"
    """Dates and times: the smallest unit that is shown."""
    verbatim: bool = False
    """Numbers: stands as a text in the database, so that a rounded form of it is another value."""
    shown_in: float = 1.0
    """Numbers that were converted: the size of the unit in which their `decimals` are shown, in the unit of `content`."""

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
        return number_value(raw) if math.isfinite(raw) else Value("text", str(raw))
    return _read_text(str(raw))


def number_value(number: float, decimals: int = FEWEST_DECIMALS) -> Value:
    """A finite float that shows at least `decimals` decimals."""
    shown = repr(number)
    own = -int(Decimal(shown).as_tuple().exponent) if "e" in shown else len(shown) - shown.index(".") - 1
    return Value("number", int(number) if number.is_integer() else number, max(decimals, own))


def converted_value(number: Value, factor: float) -> Value:
    """A number in another unit, `factor` of which are one of its own. It stays as precise as it was shown."""
    content = number.content * factor
    return replace(number, content=int(content) if content.is_integer() else content, shown_in=number.shown_in * factor)


def equal_values(gold: Value, answer: Value) -> bool:
    """Whether `answer` is the value `gold`."""
    if gold.kind != answer.kind:
        return False
    if gold.kind == "number":
        return _equal_numbers(gold, answer)
    if gold.kind in ("moment", "clock"):
        return truncated(gold, gold.precision) == truncated(answer, gold.precision)
    return bool(gold.content == answer.content)


def truth_of(value: Value) -> bool | None:
    """The truth value that a boolean, a 0 or 1, or a word for it states; None for anything else."""
    if value.kind == "boolean":
        return bool(value.content)
    if value.kind == "number" and value.content in (0, 1):
        return bool(value.content)
    if value.kind == "text":
        return BOOLEAN_WORDS.get(value.content.rstrip(".!"))
    return None


def as_truth(value: Value) -> Value:
    """The boolean that `value` states, or `value` itself where it states none: how both sides of a yes-or-no question are read."""
    truth = truth_of(value)
    return value if truth is None else Value("boolean", truth)


def fold_text(text: str) -> str:
    """Text as it is compared: compatibility characters, case, white space, dashes and quotation marks folded."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _SPACE_IN_NUMBER.sub("", text)).translate(_MARKS | _INVISIBLE)
    return " ".join(text.casefold().split())


def read_number(folded: str) -> Value | None:
    """The number that a folded text is, or None."""
    if len(folded) > _LONGEST_NUMBER or not _NUMBER.fullmatch(folded):
        return None
    plain = folded.replace(",", "").removesuffix(".")
    if plain.lstrip("+-").isdigit():
        return Value("number", int(plain))
    number = float(plain)
    return number_value(number, max(0, -int(Decimal(plain).as_tuple().exponent))) if math.isfinite(number) else None


def _read_text(text: str) -> Value:
    folded = fold_text(text)
    if folded in MISSING_WORDS:
        return MISSING
    if folded[0] in "+-.0123456789" and (text.isascii() or not _has_small_digits(text)):
        number = read_number(folded)
        if number is not None:
            return number
    if len(folded) <= _LONGEST_TIME and folded[-1] in _ENDS_OF_TIMES:
        time = _read_time(folded)
        if time is not None:
            return time
    return Value("text", _SPACE_BEFORE_UNIT.sub("", folded) if " " in folded else folded)


def _has_small_digits(text: str) -> bool:
    """Whether a text has superscripts, fractions or the like, which compatibility folding would turn into digits of a number."""
    return any(unicodedata.category(character) == "No" for character in text)


def _read_time(folded: str) -> Value | None:
    iso = _ISO_MOMENT.fullmatch(folded)
    if iso:
        return _moment(iso)
    if folded[0].isdigit() and (":" in folded or folded[-1] in "m."):
        for pattern in _OF_DAY:
            if clock := pattern.fullmatch(folded):
                hour, minute, seconds = _time_of_day(clock)
                return Value("clock", hour * 3600 + minute * 60 + seconds, precision="second" if clock["seconds"] else "minute")
    duration = _ISO_DURATION.fullmatch(folded) or _WRITTEN_DURATION.fullmatch(folded)
    if duration:
        return Value("duration", _seconds(duration))
    if _HAS_YEAR.search(folded):
        for pattern in _MOMENTS:
            written = pattern.fullmatch(folded)
            moment = _moment(written) if written else None
            if moment:
                return moment
    return None


def _moment(written: re.Match[str]) -> Value | None:
    """A date with or without a time; None where the day is none, such as a month 13."""
    day = date_of_text(written["day"])
    if day is None:
        return None
    if written["hour"] is None:
        return Value("moment", datetime(day.year, day.month, day.day), precision="day")
    hour, minute, seconds = _time_of_day(written)
    at = datetime(day.year, day.month, day.day, hour, minute, int(seconds), int(seconds % 1 * 1e6))
    return Value("moment", at, precision="second" if written["seconds"] else "minute")


def _time_of_day(written: re.Match[str]) -> tuple[int, int, float]:
    """Hour, minute and seconds; those that are not written are 0."""
    half = written.groupdict().get("half")
    hour = int(written["hour"]) % 12 + (12 if half == "p" else 0) if half else int(written["hour"])
    return hour, int(written["minute"] or 0), float((written["seconds"] or ":0")[1:])


def _seconds(duration: re.Match[str]) -> float:
    hours = int(duration["days"]) * 24 + int(duration["hours"])
    sign = -1 if duration["sign"] else 1
    if duration.re is _WRITTEN_DURATION and sign < 0:  # as Python writes it: the days are negative, the time of the day is added
        return -int(duration["days"]) * 86400 + int(duration["hours"]) * 3600 + int(duration["minutes"]) * 60 + float(duration["seconds"])
    return sign * (hours * 3600 + int(duration["minutes"]) * 60 + float(duration["seconds"]))


def truncated(value: Value, precision: Precision) -> date | datetime | int:
    """A moment or the time of a day without what is smaller than `precision`; the same for those that are equal to a gold of that precision."""
    if isinstance(value.content, datetime):
        at: datetime = value.content
        if precision == "day":
            return at.date()
        return at.replace(second=0, microsecond=0) if precision == "minute" else at.replace(microsecond=0)
    seconds = float(value.content)
    return math.floor(seconds / 60) if precision == "minute" else math.floor(seconds)


def _equal_numbers(gold: Value, answer: Value) -> bool:
    expected, given = gold.content, answer.content
    if expected == given:
        return True
    if isinstance(expected, int):
        return isinstance(given, float) and abs(expected - given) <= min(WHOLE_TOLERANCE, max(ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE * abs(expected)))
    difference = abs(expected - given)
    if gold.verbatim:
        return bool(difference <= ABSOLUTE_TOLERANCE)
    if difference <= max(RELATIVE_TOLERANCE * abs(expected), ABSOLUTE_TOLERANCE):
        return True
    half_a_unit = 0.5 * 10.0**-answer.decimals * answer.shown_in * (1 + 1e-9)
    return answer.decimals >= FEWEST_DECIMALS and difference <= half_a_unit and difference <= ROUNDING_TOLERANCE * abs(expected)
