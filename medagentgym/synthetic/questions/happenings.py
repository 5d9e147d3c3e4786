"""Kinds of questions that can be asked of every sort of event: did it happen, when, how often, to how many, which were the most frequent."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from medagentgym.synthetic.facts import Rows
from medagentgym.synthetic.questions.kinds import Drawn, F, QuestionSet, pick, pick_row
from medagentgym.synthetic.questions.ranks import RANKS, clear_ranks
from medagentgym.synthetic.questions.scopes import choose_scope, choose_window, visit_scope
from medagentgym.synthetic.questions.sql import Source, days_between


@dataclass(frozen=True)
class Words:
    """How one sort of event is spoken of. Each phrase follows "patient {patient_id}" or "patients"."""

    source: Source
    had: str
    """Past tense: `was prescribed {drug_name}`."""
    have: str
    """Infinitive: `get {drug_name} prescribed`."""
    plural: str
    """Past tense after "patients who": `were prescribed {drug_name}`."""
    noun: str
    """What the names are names of: `drugs`."""
    department: tuple[str, ...]
    by_the_hour: bool = False
    """Whether the time that has passed since is asked for in hours."""


def _stay(rows: Rows, source: Source, at: int) -> int:
    return int(rows.icustay_id[at]) if source.intensive else 0


def _did_it_happen(asked: QuestionSet[F], words: Words) -> None:
    source = words.source

    @asked.register(
        f"did patient {{patient_id}} {words.have} [time_filter_global1]?",
        f"Is it on record that patient {{patient_id}} {words.had} [time_filter_global1]?",
        department=words.department,
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        subject_id = int(rows.subject_id[at])
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), _stay(rows, source, at))
        name = rows.title(at)
        if rng.random() < 0.35:
            own = rows.of_patient(subject_id)
            there = {rows.title(other) for other in own if scope.holds(int(rows.hadm_id[other]), int(rows.icustay_id[other]), int(rows.time[other]))}
            absent = sorted({rows.title(rng.randrange(len(rows))) for _ in range(20)} - there)
            if not absent:
                return None
            name = rng.choice(absent)
        query = f"select count(*) > 0 from {source.table} where {source.where(scope, name)}"
        return Drawn({"patient_id": facts.patient_id(subject_id), source.slot: name}, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


def _when_did_it_happen(asked: QuestionSet[F], words: Words) -> None:
    source = words.source

    @asked.register(
        f"when was the [time_filter_exact1] time that patient {{patient_id}} {words.had} [time_filter_global1]?",
        f"What is the time at which patient {{patient_id}} [time_filter_exact1] {words.had} [time_filter_global1]?",
        department=words.department,
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), _stay(rows, source, at))
        word, order = rng.choice([("first", "asc"), ("last", "desc")])
        query = f"select {source.when} from {source.table} where {source.where(scope, rows.title(at))} order by {source.when} {order} limit 1"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at)}
        return Drawn(value, query, {"time_filter_exact1": word, "time_filter_global1": scope.phrase}, {0: scope.tag, 3: f"exact-{word}"})


def _how_often_did_it_happen(asked: QuestionSet[F], words: Words) -> None:
    source = words.source

    @asked.register(
        f"how many times has it been recorded that patient {{patient_id}} {words.had} [time_filter_global1]?",
        f"Count how often patient {{patient_id}} {words.had} [time_filter_global1].",
        department=words.department,
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), _stay(rows, source, at))
        query = f"select {source.counted} from {source.table} where {source.where(scope, rows.title(at))}"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), source.slot: rows.title(at)}
        return Drawn(value, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


def _how_long_ago_did_it_happen(asked: QuestionSet[F], words: Words) -> None:
    source = words.source
    unit, per_day = ("hours", 24) if words.by_the_hour else ("days (with fractions)", 1)

    @asked.register(
        f"how many {unit} have passed since patient {{patient_id}} [time_filter_exact1] {words.had} on the current hospital visit?",
        f"On the current hospital visit, how many {unit} ago was the [time_filter_exact1] time that patient {{patient_id}} {words.had}?",
        department=words.department,
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows = facts.rows(source.raw)
        patient = pick(rng, [patient for patient in facts.patients if facts.current(patient) is not None])
        admission = patient.admissions[-1]
        own = [at for at in rows.of_patient(patient.subject_id) if rows.hadm_id[at] == admission.hadm_id]
        scope = visit_scope(rng, facts, admission.hadm_id)
        if not own or scope is None:
            return None
        name = rows.title(rng.choice(own))
        word, order = rng.choice([("first", "asc"), ("last", "desc")])
        passed = days_between("current_time", source.when, per_day)
        query = f"select {passed} from {source.table} where {source.where(scope, name)} order by {source.when} {order} limit 1"
        value = {"patient_id": facts.patient_id(patient.subject_id), source.slot: name}
        return Drawn(value, query, {"time_filter_exact1": word}, {0: scope.tag, 3: f"exact-{word}"}, {8: unit.split()[0]})


def _what_happened(asked: QuestionSet[F], words: Words) -> None:
    source = words.source

    @asked.register(
        f"list the names of all {words.noun} recorded for patient {{patient_id}} [time_filter_global1].",
        f"Which {words.noun} are on record for patient {{patient_id}} [time_filter_global1]?",
        department=words.department,
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), _stay(rows, source, at))
        query = source.labels(f"select {source.group} from {source.table} where {source.where(scope)}")
        return Drawn({"patient_id": facts.patient_id(int(rows.subject_id[at]))}, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


def _to_how_many_did_it_happen(asked: QuestionSet[F], words: Words) -> None:
    source = words.source

    @asked.register(
        f"how many patients {words.plural} [time_filter_global1]?",
        f"Count the patients who {words.plural} [time_filter_global1].",
        department=words.department,
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        window = choose_window(rng, int(rows.time[at]), days=False)
        query = source.patients(source.named(rows.title(at)) + window.sql(source.when))
        return Drawn({source.slot: rows.title(at)}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


def _what_happens_most(asked: QuestionSet[F], words: Words) -> None:
    source = words.source

    @asked.register(
        f"what are the [n_rank] most frequent {words.noun} [time_filter_global1]?",
        f"Name the [n_rank] {words.noun} recorded most often [time_filter_global1].",
        department=("health_records", *words.department),
        importance="low",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        window = choose_window(rng, int(rows.time[at]), days=False)
        word, number = rng.choice(RANKS)
        if not clear_ranks(rows.name[(rows.time >= window.first) & (rows.time <= window.last)], number):
            return None
        query = source.most_frequent(number, window.sql(source.when))
        return Drawn({}, query, {"n_rank": word, "time_filter_global1": window.phrase}, {0: window.tag}, {3: word})


def ask_what_happened(asked: QuestionSet[F], every: Sequence[Words], since: Sequence[Words]) -> None:
    """Register the kinds of questions about events of all sorts; of those in `since` it can be asked how long ago they were."""
    for words in every:
        _did_it_happen(asked, words)
        _when_did_it_happen(asked, words)
        _how_often_did_it_happen(asked, words)
        _what_happened(asked, words)
        _to_how_many_did_it_happen(asked, words)
        _what_happens_most(asked, words)
    for words in since:
        _how_long_ago_did_it_happen(asked, words)
