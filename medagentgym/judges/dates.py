"""Dates and gestational ages as answers: a text of `medagentgym.judges.date_texts`, or numbers.

An answer is read as rows are (`medagentgym.judges.readings`): in dress, as a text that holds data, in a list or under a label, as one row of a table.
A date is also the row `2007, 1, 9` or `1, 9, 2007`, or a row of year, month and day by name; a gestational age the row `14, 1` or
`"14 weeks", "1 day"`, or a row of weeks and days by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from medagentgym.judges.date_texts import date_of_numbers, date_of_text, folded_date, in_american_order, weeks_and_days_of_numbers, weeks_of_text
from medagentgym.judges.readings import single_rows

_LONGEST_TEXT = 100
_UNQUOTED = str.maketrans("", "", "'\"()[]")


def read_date(answer: Any) -> date | None:
    """The date that an answer (JSON data of `medagentgym.sandbox.answers`) states; None where it states none."""
    if isinstance(answer, str) and len(answer) > _LONGEST_TEXT:
        return None
    for names, values in single_rows(answer, 3):
        stated = _date_of_row(names, values)
        if stated is not None:
            return stated
    return None


def _date_of_row(names: Sequence[str] | None, values: Sequence[Any]) -> date | None:
    if len(values) == 1:
        return date_of_text(folded_date(values[0])) if isinstance(values[0], str) and len(values[0]) <= _LONGEST_TEXT else None
    if len(values) != 3:
        return None
    if names is not None:
        named = _by_name(names, values)
        return date_of_numbers(*(_whole(named.get(name)) for name in ("year", "month", "day")))
    first, second, third = map(_whole, values)
    if first is not None and first >= 1000:
        return date_of_numbers(first, second, third)
    return in_american_order(first, second, third) if third is not None and third >= 1000 else None


def read_weeks_and_days(answer: Any) -> tuple[int, int] | None:
    """The weeks and days (0 to 6) that an answer states; None where it states none."""
    if isinstance(answer, str) and len(answer) > _LONGEST_TEXT:
        return None
    for names, values in single_rows(answer, 2):
        stated = _age_of_row(names, values)
        if stated is not None:
            return stated
    return None


def _age_of_row(names: Sequence[str] | None, values: Sequence[Any]) -> tuple[int, int] | None:
    if len(values) == 1:
        return _age_of_text(values[0]) if isinstance(values[0], str) else None
    if len(values) != 2:
        return None
    if names is not None:
        named = _by_name(names, values)
        return weeks_and_days_of_numbers(_whole(named.get("week")), _whole(named.get("day")))
    numbers = [_whole(value) for value in values]
    if None not in numbers:
        return weeks_and_days_of_numbers(*numbers)
    return _age_of_text(", ".join(values)) if all(isinstance(value, str) for value in values) else None


def _age_of_text(text: str) -> tuple[int, int] | None:
    return weeks_of_text(folded_date(text.translate(_UNQUOTED))) if len(text) <= _LONGEST_TEXT else None


def _by_name(names: Sequence[str], values: Sequence[Any]) -> Mapping[str, Any]:
    return {name.casefold().removesuffix("s"): value for name, value in zip(names, values, strict=True)}


def _whole(value: Any) -> int | None:
    """A whole number, also as float or text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(float(value)) if re.fullmatch(r" *\d{1,4}(?:\.0+)? *", value, re.ASCII) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e6 else None
    return value if isinstance(value, int) else None


def show_weeks_and_days(weeks_and_days: Sequence[int]) -> str:
    """For example `14 weeks 1 day`."""
    return " ".join(f"{number} {unit}{'' if number == 1 else 's'}" for number, unit in zip(weeks_and_days, ("week", "day"), strict=True))
