"""What can be asked, and the SQL for it: one small rule each.

A rule has a pattern that the skeleton of a question must hold, and a function that writes the query, or gives None where the question lacks what the
rule needs. The rules are tried in order, the more particular before the more general; those that also fit are readings to fall back on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.phrases import FIRST, LAST, Order
from medagentgym.agent.baseline_rules.query_parts import Reading, Rows, chosen_visit, names_condition, quoted
from medagentgym.agent.baseline_rules.schema import ATTRIBUTES, EVENT_KINDS, EventKind, kind_in
from medagentgym.agent.baseline_rules.time_expressions import VisitReference

Shape = Literal["value", "truth", "list"]
"""What the answer is: one value, yes or no, or as many rows as there are."""


@dataclass(frozen=True)
class Query:
    """A query, the shape of its answer, and the name of the rule that wrote it."""

    sql: str
    shape: Shape
    rule: str


Writer = Callable[[Reading], str | None]


@dataclass(frozen=True)
class _Rule:
    name: str
    cue: re.Pattern[str]
    shape: Shape
    write: Writer


_RULES: list[_Rule] = []


def _rule(cue: str, shape: Shape = "value") -> Callable[[Writer], Writer]:
    """Register a rule under the name of its function. Rules are tried in the order in which they are written."""

    def register(write: Writer) -> Writer:
        _RULES.append(_Rule(write.__name__.lstrip("_").replace("_", " "), re.compile(cue), shape, write))
        return write

    return register


def queries(reading: Reading) -> Iterator[Query]:
    """The queries that answer a question, likeliest first."""
    for rule in _RULES:
        if rule.cue.search(reading.question.skeleton):
            sql = rule.write(reading)
            if sql is not None:
                yield Query(sql, rule.shape, rule.name)


# --- what the rules share -----------------------------------------------------------------------------------------------------------------------

_DIED = r"\bdied\b|\bdead\b|\bdeceased\b|end(?:ed)? with death"
_UNIT = re.compile(r"\b(hours?|days?|minutes?)\b")
_IN_A_DAY = {"hour": "24 * ", "minute": "1440 * ", "day": ""}


def _main_kind(reading: Reading) -> EventKind | None:
    """The kind of event that the main clause is about: that of its first name, else that of its words."""
    names = reading.named_in(reading.question.main)
    return names[0].kind if names else kind_in(reading.question.main.text)


def _main_rows(reading: Reading) -> Rows | None:
    kind = _main_kind(reading)
    return None if kind is None else reading.rows(kind, reading.named_in(reading.question.main))


def _any_rows(reading: Reading) -> Rows | None:
    """The main event's rows; where the main clause names none, those of the other clause."""
    rows = _main_rows(reading)
    if rows is not None:
        return rows
    names = reading.named_in(reading.question.condition)
    return reading.rows(names[0].kind, names, related=False).where(*_other_windows(reading, names[0].kind)) if names else None


def _other_windows(reading: Reading, kind: EventKind) -> list[str]:
    condition = reading.question.condition
    if condition is None or reading.question.relation == "after":
        return []
    return [limit for window in condition.windows for limit in window.conditions(f"event.{kind.time}")]


def _values(reading: Reading, function: str | None = None) -> tuple[Rows, str] | None:
    """Rows of a measured value, and its column, or a function of it."""
    rows = _main_rows(reading)
    if rows is None or rows.kind.value is None:
        return None
    column = f"event.{rows.kind.value}"
    return rows.where(f"{column} IS NOT NULL"), f"{function}({column})" if function else column


def _order(reading: Reading, default: Order | None = None) -> Order | None:
    """The order that the main clause names first."""
    return next(iter(phrases.orders(reading.question.main.text)), default)


def _days(reading: Reading, begin: str, end: str) -> str:
    """The time from one moment to another in the unit of the question."""
    unit = _UNIT.search(reading.question.text)
    return f"{_IN_A_DAY[unit[1].rstrip('s')] if unit else ''}(julianday({end}) - julianday({begin}))"


def _now(reading: Reading) -> str:
    return quoted(reading.question.now)


# --- names ----------------------------------------------------------------------------------------------------------------------------------------


@_rule(r"long (?:title|name)|stands? for|short for")
def _long_title(reading: Reading) -> str | None:
    coded = [name for name in reading.names if name.kind.names is not None and name.kind.names.long_name is not None]
    if not coded:
        return None
    parts = [
        f"SELECT {kind.names.long_name} FROM {kind.names.table} WHERE {kind.names.name} = {quoted(name.value)}"
        for name in coded
        for kind in (EVENT_KINDS["diagnosis"], EVENT_KINDS["procedure"])
        if kind.names is not None and (name.kind == kind or "stand" in reading.question.skeleton)
    ]
    return "\nUNION\n".join(parts)


@_rule(r"\bis <0> (?:given|taken|administered)|(?:intake|administration) (?:method|route)|method of", "list")
def _route(reading: Reading) -> str | None:
    rows = _main_rows(reading)
    return None if rows is None or rows.kind.name != "drug" else rows.select("DISTINCT event.ROUTE")


# --- costs ----------------------------------------------------------------------------------------------------------------------------------------

_CHARGED = {"diagnosis": "diagnoses_icd", "procedure": "procedures_icd", "lab": "labevents", "drug": "prescriptions"}


@_rule(r"\b(?:average|mean|maximum|minimum|highest|lowest)\b.* cost")
def _cost_of_visits(reading: Reading) -> str | None:
    """The costs of each visit on which something happened, and a function of them."""
    function = phrases.aggregate(reading.question.skeleton)
    question = reading.question
    names = list(reading.names)
    if function is None or not names:
        return None
    kind = names[0].kind
    on_visits = f"cost.HADM_ID IN (SELECT event.HADM_ID FROM {kind.table} AS event WHERE {names_condition(kind, 'event', names)[0]})"
    limits = [condition for window in question.windows for condition in window.conditions("cost.CHARGETIME")]
    where = "\n  AND ".join([on_visits, *limits])
    return f"SELECT {function}(total) FROM (\nSELECT SUM(cost.COST) AS total\nFROM COST AS cost\nWHERE {where}\nGROUP BY cost.HADM_ID\n)"


@_rule(r"\bcosts?\b|\bcharged?\b")
def _cost_of_patient(reading: Reading) -> str | None:
    question = reading.question
    if question.patient is None:
        return None
    conditions = [f"cost.SUBJECT_ID = {question.patient}"]
    if question.visit is not None:
        column, query = chosen_visit(question.visit, question.patient)
        conditions.append(f"cost.{column} IN ({query})")
    kind = kind_in(question.main.text)
    if kind is not None and kind.name in _CHARGED:
        conditions.append(f"cost.EVENT_TYPE = {quoted(_CHARGED[kind.name])}")
    conditions += [condition for window in question.windows for condition in window.conditions("cost.CHARGETIME")]
    where = "\n  AND ".join(conditions)
    return f"SELECT SUM(cost.COST)\nFROM COST AS cost\nWHERE {where}"


@_rule(r"\bcosts?\b|\bprice\b", "list")
def _cost_of_event(reading: Reading) -> str | None:
    rows = _main_rows(reading)
    if rows is None or rows.kind.name not in _CHARGED:
        return None
    return (
        f"SELECT DISTINCT cost.COST\nFROM COST AS cost\nWHERE cost.EVENT_TYPE = {quoted(_CHARGED[rows.kind.name])}\n"
        f"  AND cost.EVENT_ID IN (\n{rows.select('event.ROW_ID')}\n)"
    )


# --- survival -------------------------------------------------------------------------------------------------------------------------------------


@_rule(r"percentage|survival rate|mortality rate|share of")
def _survival(reading: Reading) -> str | None:
    """Of the patients whose first such diagnosis is long enough ago, the percentage that lived longer than the span."""
    span = phrases.SPAN.search(reading.question.text)
    names = reading.named_in(reading.question.condition) or list(reading.names)
    if span is None or not names:
        return None
    days = phrases.number(span["count"]) * {"year": 365, "month": 30, "day": 1}[span["unit"]]
    kind = names[0].kind
    first = Rows(kind, tuple(names_condition(kind, "event", names))).select(
        f"visit.SUBJECT_ID, patient.DOD, MIN(event.{kind.time}) AS moment", end="GROUP BY visit.SUBJECT_ID"
    )
    conditions = [f"julianday({_now(reading)}) - julianday(start.moment) > {days}"]
    source = f"(\n{first}\n) AS start"
    treated = reading.named_in(reading.question.main) if reading.question.condition is not None else []
    if treated:
        treatment = treated[0].kind
        rows = Rows(treatment, tuple(names_condition(treatment, "event", treated))).where("start.moment < " + f"event.{treatment.time}")
        source += f"\nJOIN (\n{Rows(treatment, tuple(names_condition(treatment, 'event', treated))).select(f'visit.SUBJECT_ID, event.{treatment.time} AS moment')}\n) AS later"
        source += " ON later.SUBJECT_ID = start.SUBJECT_ID AND start.moment < later.moment"
        del rows
    lived = f"start.DOD IS NULL OR julianday(start.DOD) - julianday(start.moment) > {days}"
    where = " AND ".join(conditions)
    return f"SELECT SUM(CASE WHEN {lived} THEN 1 ELSE 0 END) * 100 / COUNT(*)\nFROM {source}\nWHERE {where}"


# --- ranking --------------------------------------------------------------------------------------------------------------------------------------

_RANK = re.compile(r"\b(?:top )?(\d+|one|two|three|four|five|six|seven|eight|nine|ten)\b(?: most)?")


@_rule(r"most (?:frequent|common)|\btop\b|most often", "list")
def _most_frequent(reading: Reading) -> str | None:
    rank = _RANK.search(reading.question.main.text)
    kind = kind_in(reading.question.main.text)
    if rank is None or kind is None:
        return None
    named, name = reading.rows(kind).named()
    counted = named.select(f"{name} AS name, DENSE_RANK() OVER (ORDER BY COUNT(*) DESC) AS place", end=f"GROUP BY event.{kind.item}")
    return f"SELECT name FROM (\n{counted}\n) WHERE place <= {phrases.number(rank[1])}"


@_rule(r"percentile")
def _percentile(reading: Reading) -> str | None:
    """The place of a value among those of patients of the same age."""
    question = reading.question
    rows = _main_rows(reading)
    if rows is None or rows.kind.value is None or question.measured is None or question.patient is None:
        return None
    visit = question.visit or VisitReference("hospital", "last")
    _, query = chosen_visit(visit, question.patient)
    kind = rows.kind
    peers = Rows(kind, (*names_condition(kind, "event", reading.names), f"visit.AGE IN (SELECT AGE FROM ADMISSIONS WHERE HADM_ID IN ({query}))"))
    ranked = peers.select(f"event.{kind.value} AS value, PERCENT_RANK() OVER (ORDER BY event.{kind.value}) AS place")
    return f"SELECT DISTINCT place FROM (\n{ranked}\n) WHERE value = {question.measured}"


# --- two values of one thing ----------------------------------------------------------------------------------------------------------------------


def _two_values(reading: Reading, column: Callable[[Rows], str]) -> tuple[str, str] | None:
    """Queries for two measurements in the order in which the question names them."""
    found = _values(reading)
    named = phrases.orders(reading.question.skeleton)
    if found is None or len(named) < 2:
        return None
    rows, _ = found
    one, other = (rows.select(column(rows), end=order.clause(rows.time)) for order in (named[0], named[1]))
    return one, other


def _measured(rows: Rows) -> str:
    return f"event.{rows.kind.value}"


@_rule(r"\bchanged?\b|difference in the")
def _change(reading: Reading) -> str | None:
    """From the one to the other is the other minus the one; "from the one compared to the other" the reverse."""
    found = _two_values(reading, _measured)
    if found is None:
        return None
    one, other = found if "compared" in reading.question.skeleton else found[::-1]
    return f"SELECT ({one}) - ({other})"


@_rule(rf"^(?:is|was|were|are|did|has)\b.*{phrases.RELATIVE_COMPARISON.pattern}", "truth")
def _compared_values(reading: Reading) -> str | None:
    found = _two_values(reading, _measured)
    word = phrases.RELATIVE_COMPARISON.search(reading.question.skeleton)
    return None if found is None or word is None else f"SELECT ({found[0]}) {phrases.sign(word['word'])} ({found[1]})"


@_rule(r"\bbetween the \w+ .*measure")
def _time_between_measurements(reading: Reading) -> str | None:
    found = _two_values(reading, lambda rows: rows.time)
    return None if found is None else f"SELECT {_days(reading, f'({found[0]})', f'({found[1]})')}"


@_rule(r"difference between .*intakes?.* outputs?")
def _balance(reading: Reading) -> str | None:
    taken, given = (reading.rows(EVENT_KINDS[name]) for name in ("intake", "output"))
    return f"SELECT ({taken.select(f'SUM(event.{taken.kind.value})')}) - ({given.select(f'SUM(event.{given.kind.value})')})"


@_rule(r"new prescriptions?.* compared to", "list")
def _new_drugs(reading: Reading) -> str | None:
    """The drugs of the one time that are none of the other."""
    windows = reading.question.windows
    if len(windows) != 2:
        return None
    rows = reading.rows(EVENT_KINDS["drug"], windows=False)
    now, before = (rows.where(*window.conditions(rows.time)).select("event.DRUG") for window in windows)
    return f"{now}\nEXCEPT\n{before}"


# --- lengths of time ------------------------------------------------------------------------------------------------------------------------------


@_rule(r"have passed since|has passed since|how long ago")
def _time_since(reading: Reading) -> str | None:
    rows = _main_rows(reading)
    if rows is None:
        return None
    if re.search(r"admitted .*currently", reading.question.skeleton):
        rows = rows.where("event.OUTTIME IS NULL" if rows.kind.name == "icu stay" else "event.DISCHTIME IS NULL")
    return rows.select(_days(reading, rows.time, _now(reading)), end=(_order(reading) or LAST).clause(rows.time))


@_rule(r"\bdischarge of patient .*next admission")
def _time_between_visits(reading: Reading) -> str | None:
    question = reading.question
    if question.visit is None:
        return None
    _, query = chosen_visit(question.visit, question.patient)
    following = "SELECT MIN(later.ADMITTIME) FROM ADMISSIONS AS later WHERE later.SUBJECT_ID = visit.SUBJECT_ID AND later.ADMITTIME > visit.ADMITTIME"
    return f"SELECT {_days(reading, 'visit.DISCHTIME', f'({following})')}\nFROM ADMISSIONS AS visit\nWHERE visit.HADM_ID IN ({query})"


def _stays(reading: Reading) -> tuple[Rows, str]:
    """The completed stays that a question is about, and their length."""
    kind = EVENT_KINDS["icu stay" if re.search(r"\bicu\b", reading.question.skeleton) else "admission"]
    end = "event.OUTTIME" if kind.name == "icu stay" else "event.DISCHTIME"
    rows = reading.rows(kind).where(f"{end} IS NOT NULL")
    return rows, _days(reading, rows.time, end)


@_rule(r"average length|length .*average|average stay")
def _average_stay(reading: Reading) -> str:
    rows, length = _stays(reading)
    return rows.select(f"AVG({length})")


@_rule(r"spent in the (?:hospital|icu)|all .*stays")
def _all_stays(reading: Reading) -> str:
    rows, length = _stays(reading)
    return rows.select(f"SUM({length})")


@_rule(r"length of .*stay|\bstay .*last$|how long .*stay")
def _length_of_stay(reading: Reading) -> str:
    rows, length = _stays(reading)
    return rows.select(length, end=(_order(reading) or LAST).clause(rows.time))


@_rule(r"how many days was the .*prescription")
def _length_of_prescription(reading: Reading) -> str | None:
    rows = _main_rows(reading)
    if rows is None or rows.kind.name != "drug":
        return None
    return rows.select(_days(reading, "event.STARTDATE", "event.ENDDATE"), end=(_order(reading) or LAST).clause(rows.time))


@_rule(r"average age")
def _average_age(reading: Reading) -> str:
    return reading.rows(EVENT_KINDS["admission"]).select("AVG(visit.AGE)")


# --- lists by period ------------------------------------------------------------------------------------------------------------------------------


@_rule(r"\b(?:average|minimum|maximum)\b.* (?:daily|monthly|yearly) number")
def _number_by_period(reading: Reading) -> str | None:
    rows, form, function = _any_rows(reading), phrases.period(reading.question.skeleton), phrases.aggregate(reading.question.skeleton)
    if rows is None or form is None or function is None:
        return None
    counted = rows.select("COUNT(DISTINCT event.HADM_ID) AS number", end=f"GROUP BY strftime('{form}', {rows.time})")
    return f"SELECT {function}(number) FROM (\n{counted}\n)"


@_rule(r"\b(?:daily|monthly|yearly|(?:per|each|every) (?:day|month|year))\b", "list")
def _values_by_period(reading: Reading) -> str | None:
    form = phrases.period(reading.question.skeleton)
    found = _values(reading, phrases.aggregate(reading.question.skeleton) or "AVG")
    if found is None or form is None:
        return None
    rows, value = found
    period = f"strftime('{form}', {rows.time})"
    return rows.select(value, end=f"GROUP BY {period} ORDER BY {period}")


# --- counts ---------------------------------------------------------------------------------------------------------------------------------------

_HOW_MANY = r"(?:how many|number of|count) (?:the )?"


@_rule(r"(?:how many|number of)\b.*\bcurrent patients")
def _current_patients(reading: Reading) -> str:
    return reading.rows(EVENT_KINDS["admission"]).where("visit.DISCHTIME IS NULL").select("COUNT(DISTINCT visit.SUBJECT_ID)")


@_rule(r"not (?:come back|return)")
def _never_came_back(reading: Reading) -> str | None:
    names = list(reading.names)
    if not names:
        return None
    kind = names[0].kind
    rows = reading.rows(kind, names, related=False)
    came = Rows(
        EVENT_KINDS["admission"], (f"other.SUBJECT_ID = visit.SUBJECT_ID", f"other.ADMITTIME > {rows.time}"), alias="other", visit="other_visit"
    )
    from medagentgym.agent.baseline_rules.query_parts import closeness_conditions

    again = came.where(*closeness_conditions(reading.question.closeness, rows.time, "other.ADMITTIME"))
    back = rows.where(f"EXISTS (\n{again.select('1')}\n)")
    count = "COUNT(DISTINCT visit.SUBJECT_ID)"
    return f"SELECT ({rows.select(count)}) - ({back.select(count)})"


@_rule(rf"how many (?:icu|hospital) (?:stays|visits) that began in .*another")
def _moved_stays(reading: Reading) -> str | None:
    rows = reading.rows(EVENT_KINDS["icu stay"])
    units = ", ".join(quoted(name.value) for name in reading.names)
    return None if not units else rows.where(f"event.FIRST_CAREUNIT IN ({units})", "event.LAST_CAREUNIT <> event.FIRST_CAREUNIT").select("COUNT(*)")


@_rule(rf"(?:how many|number of) patients.*died in the hospital")
def _died_in_hospital(reading: Reading) -> str:
    limits = [condition for window in reading.question.windows for condition in window.conditions("patient.DOD")]
    rows = reading.rows(EVENT_KINDS["admission"], windows=False)
    return rows.where("patient.DOD BETWEEN visit.ADMITTIME AND visit.DISCHTIME", *limits).select("COUNT(DISTINCT visit.SUBJECT_ID)")


@_rule(rf"(?:how many|number of) patients.*(?:{_DIED})")
def _patients_who_died(reading: Reading) -> str | None:
    names = list(reading.names)
    if not names:
        return None
    rows = reading.rows(names[0].kind, names, related=False)
    rows = rows.where(*_other_windows(reading, rows.kind))
    if re.search(r"visit .*end(?:ed)? with death", reading.question.skeleton):
        return rows.where("visit.DISCHARGE_LOCATION = 'dead/expired'").select("COUNT(DISTINCT visit.SUBJECT_ID)")
    from medagentgym.agent.baseline_rules.query_parts import closeness_conditions

    near = closeness_conditions(reading.question.closeness, rows.time, "patient.DOD")
    if reading.question.closeness is not None and reading.question.closeness.kind == "visit":
        near = ["patient.DOD BETWEEN visit.ADMITTIME AND visit.DISCHTIME"]
    return rows.where("patient.DOD IS NOT NULL", *near).select("COUNT(DISTINCT visit.SUBJECT_ID)")


@_rule(r"(?:how many|number of) patients\b")
def _patients_many_times(reading: Reading) -> str | None:
    rows, repeats = _any_rows(reading), reading.question.repeats
    if rows is None or repeats is None:
        return None
    counted = rows.select("visit.SUBJECT_ID", end=f"GROUP BY visit.SUBJECT_ID HAVING COUNT(*) {repeats[0]} {repeats[1]}")
    return f"SELECT COUNT(*) FROM (\n{counted}\n)"


@_rule(r"(?:how many|number of) patients\b")
def _patients(reading: Reading) -> str | None:
    rows = _any_rows(reading)
    return None if rows is None else rows.select("COUNT(DISTINCT visit.SUBJECT_ID)")


@_rule(r"(?:how many|number of) (?:different )?(?:drugs|medications|diagnoses|procedures|lab tests)")
def _different_things(reading: Reading) -> str | None:
    kind = kind_in(reading.question.main.text)
    return None if kind is None else reading.rows(kind).select(f"COUNT(DISTINCT event.{kind.item})")


@_rule(r"(?:how many|number of) (?:icu|hospital)? ?(?:visits|stays|admissions)\b")
def _visits(reading: Reading) -> str | None:
    rows = _main_rows(reading)
    if rows is None:
        return None
    return rows.select("COUNT(DISTINCT event.ICUSTAY_ID)" if rows.kind.name == "icu stay" else "COUNT(DISTINCT event.HADM_ID)")


@_rule(r"(?:how many|number of) (?:times|<\d+>)|how often|\bcases\b")
def _times(reading: Reading) -> str | None:
    rows = _main_rows(reading)
    return None if rows is None else rows.select("COUNT(*)")


# --- yes or no ------------------------------------------------------------------------------------------------------------------------------------


@_rule(r"^(?:has|have|had|is|was|were|did|does|do|are)\b", "truth")
def _happened(reading: Reading) -> str | None:
    question = reading.question
    if "organism" in question.skeleton:
        rows = reading.rows(EVENT_KINDS["specimen"], reading.names).where("event.ORG_NAME IS NOT NULL")
    else:
        found = _main_rows(reading)
        if found is None:
            return None
        rows = found
    return rows.select("COUNT(*) > 0")


# --- when -----------------------------------------------------------------------------------------------------------------------------------------


@_rule(r"^(?:when|at what time|on which date|what time)\b.*\b(?:highest|lowest|maximum|minimum|largest|smallest)\b")
def _time_of_extreme(reading: Reading) -> str | None:
    found = _values(reading)
    function = phrases.aggregate(reading.question.skeleton)
    if found is None or function is None:
        return None
    rows, value = found
    direction = "DESC" if function == "MAX" else "ASC"
    order = _order(reading, FIRST)
    return rows.select(rows.time, end=f"ORDER BY {value} {direction}, {rows.time} {'DESC' if order == LAST else 'ASC'} LIMIT 1")


@_rule(r"^(?:when|at what time|what time)\b.*<0> and <1>")
def _time_of_both(reading: Reading) -> str | None:
    names = reading.named_in(reading.question.main)
    if len(names) < 2:
        return None
    kind = names[0].kind
    rows = reading.rows(kind, names[:1])
    together = Rows(
        kind,
        (*names_condition(kind, "other", names[1:2]), "other_visit.SUBJECT_ID = visit.SUBJECT_ID", f"other.{kind.time} = {rows.time}"),
        alias="other",
        visit="other_visit",
    )
    return rows.where(f"EXISTS (\n{together.select('1')}\n)").select(rows.time, end=(_order(reading) or LAST).clause(rows.time))


@_rule(r"^(?:list|name|show) the .*(?:admission|discharge) times?", "list")
def _all_times(reading: Reading) -> str | None:
    rows = _main_rows(reading)
    return None if rows is None else rows.select(rows.time)


@_rule(r"^(?:when|at what time|what time|on which (?:date|day))\b(?!.* \bdie\b)")
def _time(reading: Reading) -> str | None:
    rows = _main_rows(reading)
    return None if rows is None else rows.select(rows.time, end=(_order(reading) or FIRST).clause(rows.time))


# --- lists of names -------------------------------------------------------------------------------------------------------------------------------


@_rule(r"\bids? of (?:the )?patients", "list")
def _patient_numbers(reading: Reading) -> str | None:
    rows = _any_rows(reading)
    return None if rows is None else rows.select("DISTINCT visit.SUBJECT_ID")


@_rule(r"\b(?:which|names?|list|what) .*\b(?:drugs?|procedures?|diagnos[ei]s|lab tests?|intakes?|outputs?|specimens?)\b", "list")
def _names_many_times(reading: Reading) -> str | None:
    kind, repeats = kind_in(reading.question.main.text), reading.question.repeats
    if kind is None or repeats is None:
        return None
    named, name = reading.rows(kind).named()
    return named.select(name, end=f"GROUP BY event.{kind.item} HAVING COUNT(*) {repeats[0]} {repeats[1]}")


@_rule(
    r"\b(?:names? of|which|list the names)\b.*\b(?:drugs?|procedure|diagnosis|lab test|intake|output|specimen)\b.*\b(?:first|last|second)\b", "list"
)
def _name_in_order(reading: Reading) -> str | None:
    kind, order = kind_in(reading.question.main.text), _order(reading)
    if kind is None or order is None or reading.question.main.terms:
        return None
    named, name = reading.rows(kind).named()
    return named.select(name, end=order.clause(named.time))


@_rule(r"\b(?:which|names?|list)\b.*\b(?:drugs?|procedures?|diagnos[ei]s|lab tests?|intakes?|outputs?|specimens?)\b", "list")
def _names(reading: Reading) -> str | None:
    kind = kind_in(reading.question.main.text)
    if kind is None or reading.question.main.terms:
        return None
    named, name = reading.rows(kind).named()
    return named.select(f"DISTINCT {name}")


# --- single facts and values ----------------------------------------------------------------------------------------------------------------------


@_rule(r"\b(?:total|sum|altogether)\b.*\b(?:dose|volume|amount|intake|output)")
def _total(reading: Reading) -> str | None:
    found = _values(reading, "SUM")
    return None if found is None else found[0].select(found[1])


@_rule(r"\b(?:average|mean|minimum|maximum|highest|lowest)\b")
def _function_of_values(reading: Reading) -> str | None:
    found = _values(reading, phrases.aggregate(reading.question.skeleton))
    return None if found is None else found[0].select(found[1])


@_rule(r"")
def _attribute(reading: Reading) -> str | None:
    """A column that describes the patient, the visit or the event."""
    question = reading.question
    text = question.main.text
    attribute = next((attribute for attribute in ATTRIBUTES if re.search(attribute.words, text)), None)
    if attribute is None or question.patient is None:
        return None
    if attribute.kind is None:
        column = attribute.column.partition(".")[2]
        return f"SELECT {column}\nFROM PATIENTS\nWHERE SUBJECT_ID = {question.patient}"
    kind = EVENT_KINDS[attribute.kind]
    rows = reading.rows(kind, reading.names).where(f"{attribute.column} IS NOT NULL")
    if kind.name == "organism":
        rows = rows.where(*names_condition(EVENT_KINDS["specimen"], "event", reading.names))
    return rows.select(attribute.column, end=(_order(reading) or LAST).clause(rows.time))


@_rule(r"")
def _value(reading: Reading) -> str | None:
    """A measured value: the one that the order names, else the last."""
    found = _values(reading)
    if found is None or reading.question.patient is None:
        return None
    return found[0].select(found[1], end=(_order(reading) or LAST).clause(found[0].time))
