"""Kinds of questions about values: laboratory tests, vital signs, doses and volumes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from medagentgym.synthetic.facts import Records, Rows
from medagentgym.synthetic.questions.kinds import Drawn, F, QuestionSet, pick_row
from medagentgym.synthetic.questions.scopes import Scope, choose_scope, choose_window, intensive_scope, visit_scope
from medagentgym.synthetic.questions.sql import Source

_AGGREGATES = (("minimum", "min"), ("maximum", "max"), ("average", "avg"))
_PERIODS = (("daily", "%y-%m-%d"), ("monthly", "%y-%m"), ("yearly", "%y"))
_PLACES = {"first": ("asc", 0), "second": ("asc", 1), "last": ("desc", 0), "second to last": ("desc", 1)}


@dataclass(frozen=True)
class Measured:
    """How one sort of value is spoken of."""

    source: Source
    value: str
    """`{lab_name} value`."""


def in_scope(rows: Rows, at: int, scope: Scope) -> list[int]:
    """The rows of the same patient and name that belong to the scope, in order of time."""
    return [
        other
        for other in rows.of_patient(int(rows.subject_id[at]), int(rows.name[at]))
        if scope.holds(int(rows.hadm_id[other]), int(rows.icustay_id[other]), int(rows.time[other]))
    ]


def _single_visit(rng: random.Random, facts: Records, source: Source, rows: Rows, at: int) -> Scope | None:
    if source.intensive and rng.random() < 0.5:
        return intensive_scope(rng, facts, int(rows.hadm_id[at]), int(rows.icustay_id[at]))
    return visit_scope(rng, facts, int(rows.hadm_id[at]))


def nth(source: Source, scope: Scope, name: str, place: str, what: str | None = None) -> str:
    """SQL for a column of the first, second, second to last or last row."""
    order, offset = _PLACES[place]
    column = what or source.number(name)
    query = f"select {column} from {source.table} where {source.where(scope, name)} order by {source.when} {order} limit 1"
    return query + (f" offset {offset}" if offset else "")


def place_tag(place: str) -> str:
    """EHRSQL's tag of a place in the order of time."""
    return f"exact-{place.replace(' ', '_')}"


def _value_at(asked: QuestionSet[F], measured: Measured) -> None:
    source = measured.source

    @asked.register(
        f"what was the [time_filter_exact1] measured {measured.value} of patient {{patient_id}} [time_filter_global1]?",
        f"Which {measured.value} was measured [time_filter_exact1] in patient {{patient_id}} [time_filter_global1]?",
        department=("physician", "nursing"),
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        stay = int(rows.icustay_id[at]) if source.intensive else 0
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), stay)
        place = rng.choice(list(_PLACES))
        if len(in_scope(rows, at, scope)) <= _PLACES[place][1]:
            return None
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at)}
        slots = {"time_filter_exact1": place, "time_filter_global1": scope.phrase}
        return Drawn(value, nth(source, scope, rows.title(at), place), slots, {0: scope.tag, 3: place_tag(place)})


def _two_values(source: Source, facts: Records, rng: random.Random) -> tuple[Rows, int, Scope, str, str, float] | None:
    """A name, a visit, and two measurements in it: the later one's place, the earlier one's, and the difference of the values."""
    rows, at = pick_row(rng, facts, source.raw)
    scope = _single_visit(rng, facts, source, rows, at)
    if scope is None:
        return None
    found = in_scope(rows, at, scope)
    later, earlier = rng.choice([("last", "first"), ("second", "first"), ("last", "second to last")])
    if len(found) < 2:
        return None
    ordered = {"first": found[0], "second": found[1], "last": found[-1], "second to last": found[-2]}
    return rows, at, scope, later, earlier, float(rows.value[ordered[later]] - rows.value[ordered[earlier]])


def _change(asked: QuestionSet[F], measured: Measured) -> None:
    source = measured.source

    @asked.register(
        f"by how much did the {measured.value} of patient {{patient_id}} change from the [time_filter_exact1] to the "
        "[time_filter_exact2] measurement [time_filter_global1]?",
        f"Take the [time_filter_exact1] {measured.value} of patient {{patient_id}} [time_filter_global1] from the [time_filter_exact2] one: "
        "what is the difference?",
        department=("physician", "nursing"),
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        found = _two_values(source, facts, rng)
        if found is None or abs(found[5]) < 1e-6:
            return None
        rows, at, scope, later, earlier, _ = found
        query = f"select ( {nth(source, scope, rows.title(at), later)} ) - ( {nth(source, scope, rows.title(at), earlier)} )"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at)}
        slots = {"time_filter_exact1": earlier, "time_filter_exact2": later, "time_filter_global1": scope.phrase}
        return Drawn(value, query, slots, {0: scope.tag, 3: place_tag(earlier), 4: place_tag(later)})


def _trend(asked: QuestionSet[F], measured: Measured) -> None:
    source = measured.source

    @asked.register(
        f"was the [time_filter_exact2] {measured.value} of patient {{patient_id}} [n_comparison] than the [time_filter_exact1] one "
        "[time_filter_global1]?",
        f"Is the [time_filter_exact2] {measured.value} measured in patient {{patient_id}} [time_filter_global1] [n_comparison] "
        "than the [time_filter_exact1]?",
        department=("physician", "nursing"),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        found = _two_values(source, facts, rng)
        if found is None or abs(found[5]) < 1e-6:
            return None
        rows, at, scope, later, earlier, difference = found
        truth = rng.random() < 0.65
        word, sign = ("greater", ">") if (difference > 0) == truth else ("less", "<")
        query = f"select ( {nth(source, scope, rows.title(at), later)} ) {sign} ( {nth(source, scope, rows.title(at), earlier)} )"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at)}
        slots = {"time_filter_exact1": earlier, "time_filter_exact2": later, "n_comparison": word, "time_filter_global1": scope.phrase}
        return Drawn(value, query, slots, {0: scope.tag, 3: place_tag(earlier), 4: place_tag(later)}, {2: word})


def _aggregate(asked: QuestionSet[F], measured: Measured) -> None:
    source = measured.source

    @asked.register(
        f"what was the [agg_function] {measured.value} of patient {{patient_id}} [time_filter_global1]?",
        f"Give the [agg_function] of all {measured.value}s of patient {{patient_id}} [time_filter_global1].",
        department=("physician", "nursing"),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        stay = int(rows.icustay_id[at]) if source.intensive else 0
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), stay)
        word, function = rng.choice(_AGGREGATES)
        query = f"select {function}({source.number(rows.title(at))}) from {source.table} where {source.where(scope, rows.title(at))}"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at)}
        return Drawn(value, query, {"agg_function": word, "time_filter_global1": scope.phrase}, {0: scope.tag}, {1: word})


def _aggregate_by_period(asked: QuestionSet[F], measured: Measured) -> None:
    source = measured.source

    @asked.register(
        f"list the [unit_average] [agg_function] {measured.value} of patient {{patient_id}} [time_filter_global1], earliest first.",
        f"What are the [unit_average] [agg_function] {measured.value}s of patient {{patient_id}} [time_filter_global1], in order of time?",
        department=("nursing", "physician"),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = _single_visit(rng, facts, source, rows, at)
        period, form = rng.choice(_PERIODS)
        if scope is None or period != "daily":
            scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), always=0.6, days=False)
        if len(in_scope(rows, at, scope)) < 2:
            return None
        word, function = rng.choice(_AGGREGATES)
        query = f"select {function}({source.number(rows.title(at))}) from {source.table} where {source.where(scope, rows.title(at))}"
        query += f" group by strftime('{form}',{source.when}) order by strftime('{form}',{source.when}) asc"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at)}
        slots = {"unit_average": period, "agg_function": word, "time_filter_global1": scope.phrase}
        return Drawn(value, query, slots, {0: scope.tag}, {1: word, 7: period})


def _interval(asked: QuestionSet[F], measured: Measured) -> None:
    source = measured.source

    @asked.register(
        f"how many hours lay between the first and the [time_filter_exact1] measurement of the {measured.value} of patient {{patient_id}} "
        "[time_filter_global1]?",
        f"In patient {{patient_id}}, how many hours after the first {measured.value} was the [time_filter_exact1] one taken [time_filter_global1]?",
        department=("nursing",),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = _single_visit(rng, facts, source, rows, at)
        if scope is None or len(in_scope(rows, at, scope)) < 2:
            return None
        place, name = rng.choice(["second", "last"]), rows.title(at)
        later, earlier = (nth(source, scope, name, which, f"strftime('%j',{source.when})") for which in (place, "first"))
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: name}
        slots = {"time_filter_exact1": place, "time_filter_global1": scope.phrase}
        return Drawn(value, f"select 24 * ( ( {later} ) - ( {earlier} ) )", slots, {0: scope.tag, 3: place_tag(place)}, {8: "hours"})


def _beyond(asked: QuestionSet[F], measured: Measured) -> None:
    source = measured.source

    @asked.register(
        f"when was the [time_filter_exact1] time that the {measured.value} of patient {{patient_id}} was [n_comparison] than {{threshold}} "
        "[time_filter_global1]?",
        f"When did patient {{patient_id}} [time_filter_exact1] have a {measured.value} [n_comparison] than {{threshold}} [time_filter_global1]?",
        department=("physician", "nursing"),
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        stay = int(rows.icustay_id[at]) if source.intensive else 0
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), stay)
        values = sorted({float(rows.value[other]) for other in in_scope(rows, at, scope)})
        if len(values) < 3:
            return None
        threshold = values[rng.randrange(1, len(values) - 1)]
        comparison, sign = rng.choice([("greater", ">"), ("less", "<")])
        word, order = rng.choice([("first", "asc"), ("last", "desc")])
        query = f"select {source.when} from {source.table} where {source.where(scope, rows.title(at))}"
        query += f" and {source.number(rows.title(at))} {sign} {threshold} order by {source.when} {order} limit 1"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at), "threshold": threshold}
        slots = {"time_filter_exact1": word, "n_comparison": comparison, "time_filter_global1": scope.phrase}
        return Drawn(value, query, slots, {0: scope.tag, 3: f"exact-{word}"}, {2: comparison})


def _extreme(asked: QuestionSet[F], measured: Measured) -> None:
    source = measured.source

    @asked.register(
        f"when was the {measured.value} of patient {{patient_id}} [sort] [time_filter_global1]?",
        f"At what time was the [sort] {measured.value} of patient {{patient_id}} measured [time_filter_global1]?",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        stay = int(rows.icustay_id[at]) if source.intensive else 0
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), stay)
        values = [float(rows.value[other]) for other in in_scope(rows, at, scope)]
        word, tag, order, most = rng.choice([("highest", "max", "desc", max(values)), ("lowest", "min", "asc", min(values))])
        if len(values) < 2 or values.count(most) > 1:
            return None
        query = f"select {source.when} from {source.table} where {source.where(scope, rows.title(at))}"
        query += f" order by {source.number(rows.title(at))} {order} limit 1"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at)}
        return Drawn(value, query, {"sort": word, "time_filter_global1": scope.phrase}, {0: scope.tag}, {6: tag})


def _patients_beyond(asked: QuestionSet[F], measured: Measured) -> None:
    source = measured.source

    @asked.register(
        f"how many patients had a {measured.value} [n_comparison] than {{threshold}} [time_filter_global1]?",
        f"Count the patients in whom a {measured.value} [n_comparison] than {{threshold}} was measured [time_filter_global1].",
        department=("health_records", "physician"),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        window = choose_window(rng, int(rows.time[at]), days=False)
        threshold = float(rows.value[at])
        comparison, sign = rng.choice([("greater", ">"), ("less", "<")])
        others = (rows.name == rows.name[at]) & (rows.time >= window.first) & (rows.time <= window.last)
        beyond = rows.value[others] > threshold if sign == ">" else rows.value[others] < threshold
        if not beyond.any():
            return None
        beyond_threshold = f"{source.number(rows.title(at))} {sign} {threshold}"
        query = source.patients(f"{source.named(rows.title(at))} and {beyond_threshold}{window.sql(source.when)}")
        value = {source.slot: rows.title(at), "threshold": threshold}
        return Drawn(value, query, {"n_comparison": comparison, "time_filter_global1": window.phrase}, {0: window.tag}, {2: comparison})


def ask_what_was_measured(asked: QuestionSet[F], every: Sequence[Measured]) -> None:
    """Register the kinds of questions about measured values of all sorts."""
    for measured in every:
        _value_at(asked, measured)
        _change(asked, measured)
        _trend(asked, measured)
        _aggregate(asked, measured)
        _aggregate_by_period(asked, measured)
        _interval(asked, measured)
        _beyond(asked, measured)
        _extreme(asked, measured)
        _patients_beyond(asked, measured)


def _total_volume(asked: QuestionSet[F], source: Source, noun: str) -> None:
    @asked.register(
        f"what was the total volume of {{{source.slot}}} {noun} of patient {{patient_id}} [time_filter_global1]?",
        f"Add up the {{{source.slot}}} {noun} volumes of patient {{patient_id}} [time_filter_global1].",
        department=("nursing",),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), int(rows.icustay_id[at]))
        query = f"select sum({source.table}.{source.value}) from {source.table} where {source.where(scope, rows.title(at))}"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at)}
        return Drawn(value, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})

    @asked.register(
        f"list the daily total volume of all {noun}s of patient {{patient_id}} [time_filter_global1], earliest first.",
        f"What were the volumes of all {noun}s of patient {{patient_id}} [time_filter_global1], added up by day and in order of time?",
        department=("nursing",),
    )
    def _draw_daily(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = _single_visit(rng, facts, source, rows, at)
        if scope is None:
            return None
        query = f"select sum({source.table}.{source.value}) from {source.table} where {source.where(scope)}"
        query += f" group by strftime('%y-%m-%d',{source.when}) order by strftime('%y-%m-%d',{source.when}) asc"
        slots = {"time_filter_global1": scope.phrase}
        return Drawn({"patient_id": facts.patient_id(int(rows.subject_id[at]))}, query, slots, {0: scope.tag}, {7: "daily"})


def _balance(asked: QuestionSet[F], inputs: Source, outputs: Source) -> None:
    @asked.register(
        "what is the difference between the total volume of all intakes and of all outputs of patient {patient_id} [time_filter_global1]?",
        "Take the volume of all outputs of patient {patient_id} [time_filter_global1] from that of all intakes: what is the balance?",
        department=("nursing",),
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, inputs.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), int(rows.icustay_id[at]))
        subject_id = int(rows.subject_id[at])

        def total(table: Rows) -> float:
            own = table.of_patient(subject_id)
            return sum(float(table.value[i]) for i in own if scope.holds(int(table.hadm_id[i]), int(table.icustay_id[i]), int(table.time[i])))

        given_out = total(facts.rows(outputs.raw))
        if given_out == 0 or given_out == total(rows):
            return None
        taken, given = (f"select sum({source.table}.{source.value}) from {source.table} where {source.where(scope)}" for source in (inputs, outputs))
        value = {"patient_id": facts.patient_id(subject_id)}
        return Drawn(value, f"select ( {taken} ) - ( {given} )", {"time_filter_global1": scope.phrase}, {0: scope.tag})


def ask_what_went_in_and_out(asked: QuestionSet[F], inputs: Source, outputs: Source) -> None:
    """Register the kinds of questions about volumes."""
    _total_volume(asked, inputs, "intake")
    _total_volume(asked, outputs, "output")
    _balance(asked, inputs, outputs)
