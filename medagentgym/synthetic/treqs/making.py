"""Making the rows of a question file in TREQS's format."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from typing import Any

from medagentgym.config import SyntheticConfig
from medagentgym.errors import UserError
from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.positions import Mode
from medagentgym.synthetic.treqs.admissions import Admission
from medagentgym.synthetic.treqs.columns import ASKED
from medagentgym.synthetic.treqs.conditions import CONDITIONS, Condition, ConditionKind

_DRAWS = 400
"""How often a question is drawn before the patients are said to give no more."""

_COUNTS = (
    "how many {} are there",
    "what is the number of {}",
    "count the {}",
    "give me the number of {}",
    "tell me how many {} there are",
    "find out how many {} there are",
)
_SPAN_OF = {
    "AGE": {
        "MAX": ("maximum age", "highest age"),
        "MIN": ("minimum age", "lowest age"),
        "AVG": ("average age at admission", "mean age at admission"),
    },
    "DAYS_STAY": {
        "MAX": ("maximum days of hospital stay", "longest hospital stay in days"),
        "MIN": ("minimum days of hospital stay", "shortest hospital stay in days"),
        "AVG": ("average days of hospital stay", "mean length of stay in days"),
    },
}
_ASKING = ("what is the", "give me the", "tell me the", "find the")
_TABLES = ("DEMOGRAPHIC", "DIAGNOSES", "PROCEDURES", "PRESCRIPTIONS", "LAB")
"""The order in which TREQS joins tables."""


def make_questions(config: SyntheticConfig, admissions: Sequence[Admission], mode: Mode) -> list[dict[str, Any]]:
    """The rows of a mode's question file, as many as the configuration says: `key`, `question_refine`, `sql`.

    The SQL decides by its hash whether it is a training or a test question; no SQL is asked twice. Raises `UserError` where the patients give too few
    different questions.
    """
    count = config.train if mode == "train" else config.test
    rng = python_random(config.seed, f"treqs questions {mode}")
    asked: set[str] = set()
    rows: list[dict[str, Any]] = []
    while len(rows) < count:
        for _ in range(_DRAWS):
            question, sql = _draw(rng, rng.choice(admissions))
            digest = hashlib.sha256(sql.encode()).digest()
            if sql not in asked and (digest[0] % 2 == 0) == (mode == "train"):
                break
        else:
            raise UserError(
                f"synthetic.{mode}: {config.patients} patients give no more than {len(rows)} different questions;"
                " ask for fewer or raise synthetic.patients"
            )
        asked.add(sql)
        rows.append({"key": hashlib.sha256(f"{config.seed} {sql}".encode()).hexdigest()[:32], "question_refine": question, "sql": sql})
    return rows


def _draw(rng: random.Random, admission: Admission) -> tuple[str, str]:
    """A question about what holds of an admission, and its SQL."""
    sort = rng.choices(("count", "span", "columns"), (70, 14, 16))[0]
    if sort == "columns":
        return _columns(rng, admission)
    number = rng.choices((1, 2, 3), (25, 60, 15))[0]
    if sort == "count":
        opening = rng.choice(_COUNTS)
        selected = 'COUNT ( DISTINCT DEMOGRAPHIC."SUBJECT_ID" )'
        kinds = CONDITIONS
    else:
        column = rng.choice(sorted(_SPAN_OF))
        function = rng.choice(sorted(_SPAN_OF[column]))
        opening = f"{rng.choice(_ASKING)} {rng.choice(_SPAN_OF[column][function])} of {{}}"
        selected = f'{function} ( DEMOGRAPHIC."{column}" )'
        # An admission would count in a mean as often as it has rows in a joined table, which no question says.
        kinds = tuple(kind for kind in CONDITIONS if kind.column != column and (function != "AVG" or kind.table == "DEMOGRAPHIC"))
    conditions = _conditions(rng, admission, kinds, number)
    before = [condition.words for condition in conditions if condition.place == "before"]
    after = [condition.words for condition in conditions if condition.place == "after"]
    text = " ".join([opening.format(" ".join([*before, "patients"])), " and ".join(after)]).strip()
    return text + _mark(opening), _sql(selected, {"DEMOGRAPHIC"}, conditions)


def _mark(opening: str) -> str:
    return "?" if opening.startswith(("how", "what")) else "."


def _conditions(rng: random.Random, admission: Admission, kinds: Sequence[ConditionKind], number: int) -> list[Condition]:
    """Conditions on different columns that the admission meets, at most two tables besides DEMOGRAPHIC; those on one table meet in one row of it."""
    rows: dict[str, dict[str, Any]] = {"DEMOGRAPHIC": admission.demographic}
    found: list[Condition] = []
    for kind in rng.sample(kinds, len(kinds)):
        if len(found) == number:
            break
        events = admission.events.get(kind.table)
        if kind.table not in rows:
            if not events or len(rows) > 2:
                continue
            rows[kind.table] = rng.choice(events)
        drawn = kind.draw(admission, rows[kind.table], rng)
        if drawn is not None and all((other.table, other.column) != (drawn.table, drawn.column) for other in found):
            found.append(drawn)
    return found


def _columns(rng: random.Random, admission: Admission) -> tuple[str, str]:
    """A question for one or two columns of a patient, who is named or numbered."""
    rows = {"DEMOGRAPHIC": admission.demographic}
    rows |= {table: rng.choice(events) for table, events in admission.events.items()}
    available = [place for place in ASKED if rows.get(place[0], {}).get(place[1]) is not None]
    chosen = rng.sample(available, min(rng.choice((1, 2)), len(available)))
    events = {table for table, _ in chosen if table != "DEMOGRAPHIC"}
    if len(events) > 1:
        chosen, events = chosen[:1], {chosen[0][0]}
    by_name = rng.random() < 0.5
    extra = _drug_or_test(rng, rows, events) if len(events) == 1 else None
    words = " and ".join(rng.choice(ASKED[place]) for place in chosen)
    who = f"patient {admission.demographic['NAME']}" if by_name else f"subject id {admission.demographic['SUBJECT_ID']}"
    opening = rng.choice(_ASKING)
    tables = {table for table, _ in chosen} | ({"DEMOGRAPHIC"} if by_name else set())
    subject = next(table for table in _TABLES if table in tables)
    column, value = ("NAME", admission.demographic["NAME"]) if by_name else ("SUBJECT_ID", admission.demographic["SUBJECT_ID"])
    conditions = [Condition(subject, column, "=", value, "after", "")]
    if extra is not None and extra.column not in {column for _, column in chosen}:
        conditions.append(extra)
        who = f"{who} {extra.words}"
    selected = ",".join(f'{table}."{column}"' for table, column in chosen)
    return f"{opening} {words} of {who}{_mark(opening)}", _sql(selected, tables, conditions)


def _drug_or_test(rng: random.Random, rows: dict[str, dict[str, Any]], events: Iterable[str]) -> Condition | None:
    """Now and then a second condition that names the drug or the lab test."""
    (table,) = events
    column, words = {"PRESCRIPTIONS": ("DRUG", "for the drug {}"), "LAB": ("LABEL", "in the lab test {}")}.get(table, ("", ""))
    if not column or rng.random() < 0.3:
        return None
    value = rows[table][column]
    return Condition(table, column, "=", value, "after", words.format(value.lower()))


def _sql(selected: str, tables: set[str], conditions: Sequence[Condition]) -> str:
    """The SQL as TREQS writes it: tables joined on the admission, constants in double quotes."""
    used = [table for table in _TABLES if table in tables | {condition.table for condition in conditions}]
    joins = "".join(f" INNER JOIN {table} on {used[0]}.HADM_ID = {table}.HADM_ID" for table in used[1:])
    return f"SELECT {selected} FROM {used[0]}{joins} WHERE {' AND '.join(condition.sql for condition in conditions)}"
