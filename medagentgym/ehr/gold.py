"""Gold answers: what the gold SQL of a question gives on the database at hand, at the database's own "now".

EHRSQL's SQL as released (https://github.com/glee4810/EHRSQL) cannot run as it stands: it is lower-cased throughout, so that year and Julian day
read `%y` and `%j`; the present is the name `current_time`; normal ranges are names such as `heart_rate_lower`; operators may be torn (`> =`).
`executable_sql` repairs exactly that, token by token, and leaves string constants alone.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from medagentgym.ehr.answer_form import Share, asks_for_order, column_names, share, units, with_decimals
from medagentgym.ehr.schema import NOW
from medagentgym.ehr.sql import Select, tokens_of
from medagentgym.ehr.ties import UndeterminedError, limited_steps, possible_answers, ranks_of
from medagentgym.errors import one_line

GoldStatus = Literal["usable", "empty", "zero", "error"]

NORMAL_RANGES = {
    "temperature": (35.5, 38.1),
    "sao2": (95.0, 100.0),
    "heart_rate": (60.0, 100.0),
    "respiration": (12.0, 18.0),
    "systolic_bp": (90.0, 120.0),
    "diastolic_bp": (60.0, 90.0),
    "mean_bp": (60.0, 110.0),
}
"""EHRSQL's normal ranges of vital signs (degrees Celsius, percent, a minute, mmHg): `<name>_lower` and `<name>_upper` in its SQL."""

STEP_LIMIT = 500_000_000
"""Steps of SQLite's virtual machine after which a query counts as runaway: some seconds, and the same everywhere."""
ROW_LIMIT = 100_000
"""Rows after which a query counts as runaway."""

_DATE_FUNCTIONS = {"date", "time", "datetime", "julianday", "unixepoch"}
_END_OF_RESULT = {"from", "where", "group", "having", "order", "limit", "union", "intersect", "except", "window"}
_COMPARISONS = {"=", "==", "<", ">", "<=", ">=", "<>", "!=", "between", "in", "is", "like", "glob", "exists", "not", "and", "or"}


@dataclass(frozen=True)
class Gold:
    """The gold answer of one question."""

    columns: tuple[str, ...] | None
    """Names of the result's columns; None where only a flat list of values is known."""
    rows: tuple[tuple[Any, ...], ...]
    """Values: None, int, float or str."""
    boolean: bool
    """Whether the SQL asks for a yes or no: its result is a comparison."""
    status: GoldStatus
    """`empty`: no rows, or nothing but nulls; `zero`: nothing but zeros and nulls; `error`: the SQL could not be run; else `usable`."""
    reason: str = ""
    """Why there is no answer, for `error`."""
    units: tuple[str | None, ...] | None = None
    """The unit of each column's numbers, where the SQL tells any."""
    percent: Share | None = None
    """The numbers are shares, written so, that may be given as a fraction and as a percentage."""
    ordered: tuple[int, ...] | None = None
    """The rank of each row, where the order of the rows counts."""
    alternatives: tuple[Mapping[str, Any], ...] = ()
    """Other right answers as JSON data, with `rows`, and where a tie is left `pick` rows of those in `among`."""
    tie: str = ""
    """Why the answer is not determined, where ties leave it open in a way that cannot be followed."""

    def to_json(self) -> dict[str, Any]:
        """The gold as it stands in a built row: what judges read (`medagentgym.judges.row_sets`). What does not apply is left out."""
        further = {
            "units": self.units and list(self.units),
            "percent": self.percent,
            "ordered": self.ordered and list(self.ordered),
            "alternatives": list(self.alternatives),
            "tie": self.tie,
        }
        return {
            "columns": None if self.columns is None else list(self.columns),
            "rows": [list(row) for row in self.rows],
            "boolean": self.boolean,
            "status": self.status,
            "reason": self.reason,
            **{name: value for name, value in further.items() if value},
        }

    def published_answer(self) -> list[str]:
        """The published form: all values in one list of strings, `None` for null."""
        return [str(value) for row in self.rows for value in row]


def execute(connection: sqlite3.Connection, sql: str, *, step_limit: int = STEP_LIMIT) -> Gold:
    """Run executable SQL. Whatever goes wrong is the gold's `error` with the reason; nothing is raised for a bad query."""
    boolean = is_boolean(sql)
    with limited_steps(connection, step_limit) as used:
        try:
            cursor = connection.execute(sql)
            rows = cursor.fetchmany(ROW_LIMIT + 1)
            columns = tuple(column[0] for column in cursor.description or ())
        except (sqlite3.Error, sqlite3.Warning) as error:
            reason = f"stopped after {step_limit:,} steps" if used.up else one_line(error)
            return Gold(columns=(), rows=(), boolean=boolean, status="error", reason=reason)
    if not columns:
        return Gold(columns=(), rows=(), boolean=boolean, status="error", reason="the SQL is not a query")
    if len(rows) > ROW_LIMIT:
        return Gold(columns=columns, rows=(), boolean=boolean, status="error", reason=f"more than {ROW_LIMIT:,} rows")
    values = tuple(tuple(_plain(value) for value in row) for row in rows)
    return Gold(columns=columns, rows=values, boolean=boolean, status=status_of(values))


def gold_of_question(connection: sqlite3.Connection, sql: str, question: str, *, step_limit: int = STEP_LIMIT) -> Gold:
    """`execute`, and beside it what the answer's form is, and which other answers are right.

    Other answers are right where the SQL orders and cuts rows of equal rank (`medagentgym.ehr.ties`), and where it divides whole numbers without a
    rest (`medagentgym.ehr.answer_form`). Nothing is raised for a bad query.
    """
    gold = execute(connection, sql, step_limit=step_limit)
    if gold.status == "error":
        return gold
    gold = _with_form(gold, sql, question)
    try:
        with limited_steps(connection, step_limit):
            gold = _with_ranks(connection, gold, sql, question)
            gold = _with_alternatives(connection, gold, sql)
            return _with_decimals(connection, gold, sql)
    except UndeterminedError as error:
        return replace(gold, tie=str(error))
    except (sqlite3.Error, sqlite3.Warning) as error:
        return replace(gold, tie=f"rows of equal rank cannot be ruled out ({one_line(error)})")


def _with_form(gold: Gold, sql: str, question: str) -> Gold:
    return replace(gold, units=units(sql), percent=share(sql, question))


def _with_ranks(connection: sqlite3.Connection, gold: Gold, sql: str, question: str) -> Gold:
    """The gold with the ranks of its rows, where their order counts: more than one, ordered by the SQL, and a question that asks for a ranking."""
    select = Select.parse(tokens_of(sql))
    if select is None or select.has_star or not select.order or select.limit == 1 or len(gold.rows) < 2 or not asks_for_order(question):
        return gold
    ranks = ranks_of(connection, select)
    return replace(gold, ordered=ranks if len(ranks) == len(gold.rows) else tuple(range(len(gold.rows))))


def _with_alternatives(connection: sqlite3.Connection, gold: Gold, sql: str) -> Gold:
    answers = possible_answers(connection, sql, gold.rows)
    if gold.boolean and answers:
        raise UndeterminedError("yes and no are both possible")
    if sum(len(answer.rows) + len(answer.among) for answer in answers) > ROW_LIMIT:
        raise UndeterminedError(f"possible answers of more than {ROW_LIMIT:,} rows")
    alternatives = []
    for answer in answers:
        form = answer.to_json(_plain)
        if gold.ordered and len(answer.rows) <= len(gold.ordered):
            form["ordered"] = list(gold.ordered[: len(answer.rows)])
        alternatives.append(form)
    statuses = [gold.status, *(status_of([row]) for answer in answers for row in answer.among if answer.pick == 1 and not answer.rows)]
    statuses += [status_of(answer.rows) for answer in answers if not answer.pick]
    return replace(gold, alternatives=tuple(alternatives), status=next(status for status in ("empty", "zero", "usable") if status in statuses))


def _with_decimals(connection: sqlite3.Connection, gold: Gold, sql: str) -> Gold:
    """The gold with the result of a division of whole numbers, not cut off, as another right answer."""
    divided = with_decimals(sql)
    if divided is None or gold.boolean or gold.status != "usable":
        return gold
    rows = connection.execute(divided).fetchmany(ROW_LIMIT)
    if len(rows) != len(gold.rows) or [tuple(row) for row in rows] == list(gold.rows):
        return gold
    return replace(gold, alternatives=(*gold.alternatives, {"rows": [[_plain(value) for value in row] for row in rows]}))


def stored_gold(answer: Sequence[Any], sql: str, question: str = "") -> Gold:
    """The gold of an answer that the task file stores as a flat list: rows as wide as the SQL's result.

    Where the SQL does not tell how wide that is, or the values do not fill whole rows, only the set of values is known (`columns` is None).
    """
    values = [typed_value(value) for value in answer]
    names = column_names(sql) if sql else None
    if names is None or len(values) % len(names):
        return Gold(columns=None, rows=tuple((value,) for value in values), boolean=is_boolean(sql), status=status_of([values]))
    rows = tuple(tuple(values[start : start + len(names)]) for start in range(0, len(values), len(names)))
    return _with_form(Gold(columns=names, rows=rows, boolean=is_boolean(sql), status=status_of(rows)), sql, question)


def typed_value(value: Any) -> Any:
    """The value that a stored string stands for: null, a number where its text is that number's own, else the string (`0389` stays a code)."""
    if not isinstance(value, str):
        return _plain(value)
    if value == "None":
        return None
    for kind in (int, float):
        try:
            number = kind(value)
        except ValueError:
            continue
        if str(number) == value and math.isfinite(number):
            return number
    return value


def status_of(rows: Sequence[Sequence[Any]]) -> GoldStatus:
    """Whether there is an answer in the rows."""
    values = [value for row in rows for value in row if value is not None]
    if not values:
        return "empty"
    if all(isinstance(value, (int, float)) and value == 0 for value in values):
        return "zero"
    return "usable"


# --- SQL ------------------------------------------------------------------------------------------------------------------------------------------


def executable_sql(query: str, now: str = NOW) -> str:
    """Gold SQL as SQLite runs it at `now`.

    - `current_time`, `current_timestamp` and `current_date` become constants, and so does `'now'` as the argument of a date function;
    - in the format of `strftime`, `%y` is the year `%Y` and `%h` the hour `%H` (SQLite knows neither `%y` nor `%h`), and minutes and seconds that
      follow an hour are `%M` and `%S`; `%j` is the Julian day `%J` where the SQL is lower-cased throughout, as EHRSQL's is;
    - the names of normal ranges become their numbers;
    - torn operators are joined.
    """
    tokens = tokens_of(query)
    lower_cased = not any(character.isupper() for kind, text in tokens if kind != "text" for character in text)
    output: list[str] = []
    before: list[str] = []
    """Significant tokens so far, lower-cased."""
    for kind, text in tokens:
        word = text.lower()
        if kind == "space":
            output.append(text)
            continue
        if kind == "word":
            output.append(_constant(word, now) or text)
        elif kind == "text" and before[-2:] == ["strftime", "("]:
            output.append(_format(text, lower_cased=lower_cased))
        elif kind == "text" and word == "'now'" and _is_date_argument(before):
            output.append(f"'{now}'")
        elif kind == "operator" and before and before[-1] in ("<", ">", "!") and text in ("=", ">") and before[-1] + text in ("<=", ">=", "!=", "<>"):
            while output[-1].isspace():
                output.pop()
            output.append(text)
        else:
            output.append(text)
        before.append(word)
    return "".join(output).strip().rstrip(";").rstrip()


def is_boolean(sql: str) -> bool:
    """Whether a query's one result is a comparison, such as `count(*) > 0`."""
    tokens = [(kind, text.lower()) for kind, text in tokens_of(sql) if kind != "space"]
    words = [text for _, text in tokens]
    if words[:1] != ["select"]:
        return False
    depth = 0
    result: list[str] = []
    outer: set[str] = set()
    for kind, word in tokens[1:]:
        if depth == 0 and kind == "word" and word in _END_OF_RESULT:
            break
        if word == ")":
            depth -= 1
        if depth == 0:
            if word == ",":
                return False
            if kind in ("word", "operator"):
                outer.add(word)
        result.append(word)
        if word == "(":
            depth += 1
    if "case" in outer:
        return False
    if outer & _COMPARISONS:
        return True
    if outer == {"(", ")"} and result[0] == "(" and result[-1] == ")" and result[1] != "select":
        return is_boolean(f"select {' '.join(result[1:-1])}")
    return False


def _constant(word: str, now: str) -> str | None:
    if word in ("current_time", "current_timestamp"):
        return f"'{now}'"
    if word == "current_date":
        return f"'{now[:10]}'"
    name, _, side = word.rpartition("_")
    if name in NORMAL_RANGES and side in ("lower", "upper"):
        return str(NORMAL_RANGES[name][side == "upper"])
    return None


def _is_date_argument(before: list[str]) -> bool:
    if before[-1:] == ["("]:
        return before[-2:-1] != [] and before[-2] in _DATE_FUNCTIONS
    return before[-1:] == [","] and before[-4:-2] == ["strftime", "("]


def _format(text: str, *, lower_cased: bool) -> str:
    text = text.replace("%y", "%Y")
    if lower_cased:
        text = text.replace("%j", "%J")
    if "%h" in text:
        day, hour, minutes = text.partition("%h")
        text = day + hour.upper() + minutes.replace("%m", "%M").replace("%s", "%S")
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
