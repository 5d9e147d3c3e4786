"""Questions about numbers: of patients, of visits, of things, of times."""

from __future__ import annotations

import re

from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import PATIENTS, any_rows, condition_rows, main_rows
from medagentgym.agent.baseline_rules.query_parts import Reading, Rows, closeness_conditions, quoted

RULES = RuleBook()

_MANY_PATIENTS = r"(?:how many|number of) patients\b"
_DURING_VISIT = "patient.DOD BETWEEN visit.ADMITTIME AND visit.DISCHTIME"


@RULES.rule(r"(?:how many|number of)\b.*\bcurrent patients")
def current_patients(reading: Reading) -> str:
    """Patients who have not been discharged."""
    return reading.rows(reading.kind("admission")).where("visit.DISCHTIME IS NULL").select(PATIENTS)


@RULES.rule(r"not (?:come back|return)")
def never_came_back(reading: Reading) -> str | None:
    """Patients with an event less those of them who were admitted soon after it."""
    rows = condition_rows(reading)
    if rows is None:
        return None
    later = Rows(reading.kind("admission"), ("other_visit.SUBJECT_ID = visit.SUBJECT_ID", f"other.ADMITTIME > {rows.time}"), alias="other")
    soon = later.where(*closeness_conditions(reading.question.closeness, rows.time, later.time))
    return f"SELECT ({rows.select(PATIENTS)}) - ({rows.where(soon.exist()).select(PATIENTS)})"


@RULES.rule(r"how many icu (?:stays|visits) that began in .*\banother\b")
def stays_that_moved(reading: Reading) -> str | None:
    """Stays in intensive care that ended in another care unit."""
    units = ", ".join(quoted(name.value) for name in reading.names)
    if not units:
        return None
    rows = reading.rows(reading.kind("icu stay"))
    return rows.where(f"event.FIRST_CAREUNIT IN ({units})", "event.LAST_CAREUNIT <> event.FIRST_CAREUNIT").select("COUNT(*)")


@RULES.rule(r"(?:how many|number of) patients.*died in the hospital")
def patients_who_died_in_hospital(reading: Reading) -> str:
    """Patients whose death lies in one of their visits. The time is that of the death."""
    limits = [condition for window in reading.question.windows for condition in window.conditions("patient.DOD")]
    return reading.rows(reading.kind("admission"), windows=False).where(_DURING_VISIT, *limits).select(PATIENTS)


@RULES.rule(r"(?:how many|number of) patients.*(?:\bdied\b|\bdead\b|\bdeceased\b|end(?:ed)? with death)")
def patients_who_died(reading: Reading) -> str | None:
    """Patients with an event who died, or died soon after it, or on that visit."""
    rows = condition_rows(reading)
    if rows is None:
        return None
    if re.search(r"visit .*end(?:ed)? with death", reading.question.skeleton):
        return rows.where("visit.DISCHARGE_LOCATION = 'dead/expired'").select(PATIENTS)
    closeness = reading.question.closeness
    on_the_visit = closeness is not None and closeness.kind == "visit"
    near = [_DURING_VISIT] if on_the_visit else closeness_conditions(closeness, rows.time, "patient.DOD")
    return rows.where("patient.DOD IS NOT NULL", *near).select(PATIENTS)


@RULES.rule(_MANY_PATIENTS)
def patients_so_many_times(reading: Reading) -> str | None:
    """Patients to whom something happened so many times."""
    rows, repeats = any_rows(reading), reading.question.repeats
    if rows is None or repeats is None:
        return None
    counted = rows.select("visit.SUBJECT_ID", end=f"GROUP BY visit.SUBJECT_ID HAVING COUNT(*) {repeats[0]} {repeats[1]}")
    return f"SELECT COUNT(*) FROM (\n{counted}\n)"


@RULES.rule(_MANY_PATIENTS)
def patients(reading: Reading) -> str | None:
    """Patients to whom something happened."""
    rows = any_rows(reading)
    return None if rows is None else rows.select(PATIENTS)


@RULES.rule(r"(?:how many|number of) (?:different )?(?:drugs|medications|diagnoses|procedures|lab tests)")
def different_things(reading: Reading) -> str | None:
    """How many different things of one kind there were."""
    kind = reading.kind_in(reading.question.main.text)
    return None if kind is None else reading.rows(kind).select(f"COUNT(DISTINCT event.{kind.item})")


@RULES.rule(r"(?:how many|number of) (?:icu |hospital )?(?:visits|stays|admissions)\b")
def visits(reading: Reading) -> str | None:
    """How many visits there were."""
    rows = main_rows(reading)
    if rows is None:
        return None
    return rows.select("COUNT(DISTINCT event.ICUSTAY_ID)" if rows.kind.name == "icu stay" else "COUNT(DISTINCT event.HADM_ID)")


@RULES.rule(r"(?:how many|number of) (?:times|<\d+>)|how often|\bcases\b")
def times(reading: Reading) -> str | None:
    """How often something happened. A microbiology test has a row for each organism, all with its time."""
    rows = main_rows(reading)
    if rows is None:
        return None
    return rows.select(f"COUNT(DISTINCT {rows.time})" if rows.kind.name == "specimen" else "COUNT(*)")
