"""Questions about lengths of time, and about averages over visits."""

from __future__ import annotations

import re

from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import length_of_time, main_rows, now, order_in
from medagentgym.agent.baseline_rules.phrases import LAST
from medagentgym.agent.baseline_rules.query_parts import Reading, Rows

RULES = RuleBook()


def _ends(rows: Rows) -> str:
    """The column of the end of a stay."""
    return "event.OUTTIME" if rows.kind.name == "icu stay" else "event.DISCHTIME"


@RULES.rule(r"ha(?:ve|s) passed since|how long ago")
def time_since(reading: Reading) -> str | None:
    """The time since an event. A current stay is one that has not ended."""
    rows = main_rows(reading)
    if rows is None:
        return None
    if re.search(r"admitted .*currently", reading.question.skeleton):
        rows = rows.where(f"{_ends(rows)} IS NULL")
    return rows.select(length_of_time(reading, rows.time, now(reading)), end=order_in(reading, LAST).clause(rows.time))


@RULES.rule(r"\bdischarge\b.*\bnext admission")
def time_between_visits(reading: Reading) -> str | None:
    """The time from the end of a visit to the beginning of the next."""
    if reading.question.visit is None:
        return None
    _, query = reading.chosen_visit(reading.question.visit)
    following = "SELECT MIN(later.ADMITTIME) FROM ADMISSIONS AS later WHERE later.SUBJECT_ID = visit.SUBJECT_ID AND later.ADMITTIME > visit.ADMITTIME"
    length = length_of_time(reading, "visit.DISCHTIME", f"({following})")
    return f"SELECT {length}\nFROM ADMISSIONS AS visit\nWHERE visit.HADM_ID IN ({query})"


def _stays(reading: Reading) -> tuple[Rows, str]:
    """The completed stays that a question is about, and the expression for their length."""
    rows = reading.rows(reading.kind("icu stay" if re.search(r"\bicu\b", reading.question.skeleton) else "admission"))
    return rows.where(f"{_ends(rows)} IS NOT NULL"), length_of_time(reading, rows.time, _ends(rows))


@RULES.rule(r"average length|length .*average|average stay")
def average_stay(reading: Reading) -> str:
    """The average length of the completed stays."""
    rows, length = _stays(reading)
    return rows.select(f"AVG({length})")


@RULES.rule(r"spent in the (?:hospital|icu)|all .*stays")
def all_stays(reading: Reading) -> str:
    """The length of all completed stays together."""
    rows, length = _stays(reading)
    return rows.select(f"SUM({length})")


@RULES.rule(r"length of .*stay|\bstay .*last$|how long .*stay")
def length_of_a_stay(reading: Reading) -> str:
    """The length of one completed stay."""
    rows, length = _stays(reading)
    return rows.select(length, end=order_in(reading, LAST).clause(rows.time))


@RULES.rule(r"how many days was the .*prescription|prescription .*\brun\b")
def length_of_a_prescription(reading: Reading) -> str | None:
    """The time from the start of a prescription to its end."""
    rows = main_rows(reading)
    if rows is None or rows.kind.name != "drug":
        return None
    return rows.select(length_of_time(reading, "event.STARTDATE", "event.ENDDATE"), end=order_in(reading, LAST).clause(rows.time))


@RULES.rule(r"average age")
def average_age(reading: Reading) -> str:
    """The average age over visits."""
    return reading.rows(reading.kind("admission")).select("AVG(visit.AGE)")
