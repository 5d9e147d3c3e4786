"""Kinds of questions that can be asked of every sort of event: did it happen, when, how often, to how many, which were the most frequent."""

from __future__ import annotations

import random
from dataclasses import dataclass

from medagentgym.synthetic.facts import Facts, Rows
from medagentgym.synthetic.questions.kinds import Drawn, pick, pick_row, register
from medagentgym.synthetic.questions.ranks import RANKS, clear_ranks
from medagentgym.synthetic.questions.scopes import choose_scope, choose_window, visit_scope
from medagentgym.synthetic.questions.sql import CULTURES, DIAGNOSES, INPUTS, LABS, OUTPUTS, PRESCRIPTIONS, PROCEDURES, Source, days_between


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


_ALL = (
    Words(DIAGNOSES, "was diagnosed with {diagnosis_name}", "receive a diagnosis of {diagnosis_name}", "were diagnosed with {diagnosis_name}",
          "diagnoses", ("physician",)),
    Words(PROCEDURES, "underwent {procedure_name}", "undergo a {procedure_name} procedure", "underwent a {procedure_name} procedure", "procedures",
          ("physician", "insurance_review")),
    Words(PRESCRIPTIONS, "was prescribed {drug_name}", "receive a prescription of {drug_name}", "were prescribed {drug_name}", "drugs",
          ("physician", "nursing")),
    Words(LABS, "had a {lab_name} lab test", "have a {lab_name} lab test", "had a {lab_name} lab test", "lab tests", ("physician", "nursing")),
    Words(CULTURES, "had a {culture_name} microbiology test", "have a {culture_name} microbiology test", "had a {culture_name} microbiology test",
          "microbiology specimens", ("physician", "infection_control")),
    Words(INPUTS, "had a {intake_name} intake", "have a {intake_name} intake", "had a {intake_name} intake", "intakes", ("nursing",)),
    Words(OUTPUTS, "had a {output_name} output", "have a {output_name} output", "had a {output_name} output", "outputs", ("nursing",)),
)  # fmt: skip


def _stay(rows: Rows, source: Source, at: int) -> int:
    return int(rows.icustay_id[at]) if source.intensive else 0


def _did_it_happen(words: Words) -> None:
    source = words.source

    @register(
        f"did patient {{patient_id}} {words.have} [time_filter_global1]?",
        f"Is it on record that patient {{patient_id}} {words.had} [time_filter_global1]?",
        department=words.department,
    )
    def _draw(facts: Facts, rng: random.Random) -> Drawn | None:
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
        return Drawn({"patient_id": subject_id, source.slot: name}, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


def _when_did_it_happen(words: Words) -> None:
    source = words.source

    @register(
        f"when was the [time_filter_exact1] time that patient {{patient_id}} {words.had} [time_filter_global1]?",
        f"What is the time at which patient {{patient_id}} [time_filter_exact1] {words.had} [time_filter_global1]?",
        department=words.department,
    )
    def _draw(facts: Facts, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), _stay(rows, source, at))
        word, order = rng.choice([("first", "asc"), ("last", "desc")])
        query = f"select {source.when} from {source.table} where {source.where(scope, rows.title(at))} order by {source.when} {order} limit 1"
        value = {"patient_id": int(rows.subject_id[at]), source.slot: rows.title(at)}
        return Drawn(value, query, {"time_filter_exact1": word, "time_filter_global1": scope.phrase}, {0: scope.tag, 3: f"exact-{word}"})


def _how_often_did_it_happen(words: Words) -> None:
    source = words.source
    counted = "count(*)" if source is not CULTURES else f"count( distinct {source.when} )"

    @register(
        f"how many times has it been recorded that patient {{patient_id}} {words.had} [time_filter_global1]?",
        f"Count how often patient {{patient_id}} {words.had} [time_filter_global1].",
        department=words.department,
    )
    def _draw(facts: Facts, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), _stay(rows, source, at))
        query = f"select {counted} from {source.table} where {source.where(scope, rows.title(at))}"
        value = {"patient_id": int(rows.subject_id[at]), source.slot: rows.title(at)}
        return Drawn(value, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


def _how_long_ago_did_it_happen(words: Words) -> None:
    source = words.source
    unit, per_day = ("hours", 24) if source.value and source is not PRESCRIPTIONS else ("days (with fractions)", 1)

    @register(
        f"how many {unit} have passed since patient {{patient_id}} [time_filter_exact1] {words.had} on the current hospital visit?",
        f"On the current hospital visit, how many {unit} ago was the [time_filter_exact1] time that patient {{patient_id}} {words.had}?",
        department=words.department,
        importance="high",
    )
    def _draw(facts: Facts, rng: random.Random) -> Drawn | None:
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
        value = {"patient_id": patient.subject_id, source.slot: name}
        return Drawn(value, query, {"time_filter_exact1": word}, {0: scope.tag, 3: f"exact-{word}"}, {8: unit.split()[0]})


def _what_happened(words: Words) -> None:
    source = words.source

    @register(
        f"list the names of all {words.noun} recorded for patient {{patient_id}} [time_filter_global1].",
        f"Which {words.noun} are on record for patient {{patient_id}} [time_filter_global1]?",
        department=words.department,
    )
    def _draw(facts: Facts, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]), _stay(rows, source, at))
        query = source.labels(f"select {source.group} from {source.table} where {source.where(scope)}")
        return Drawn({"patient_id": int(rows.subject_id[at])}, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


def _to_how_many_did_it_happen(words: Words) -> None:
    source = words.source

    @register(
        f"how many patients {words.plural} [time_filter_global1]?",
        f"Count the patients who {words.plural} [time_filter_global1].",
        department=words.department,
    )
    def _draw(facts: Facts, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        window = choose_window(rng, int(rows.time[at]), days=False)
        query = f"select count( distinct {source.table}.subject_id ) from {source.table} where {source.named(rows.title(at))}"
        query += window.sql(source.when)
        return Drawn({source.slot: rows.title(at)}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


def _what_happens_most(words: Words) -> None:
    source = words.source

    @register(
        f"what are the [n_rank] most frequent {words.noun} [time_filter_global1]?",
        f"Name the [n_rank] {words.noun} recorded most often [time_filter_global1].",
        department=("health_records", *words.department),
        importance="low",
    )
    def _draw(facts: Facts, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        window = choose_window(rng, int(rows.time[at]), days=False)
        word, number = rng.choice(RANKS)
        if not clear_ranks(rows.name[(rows.time >= window.first) & (rows.time <= window.last)], number):
            return None
        query = source.most_frequent(number, window.sql(source.when).replace(" and ", " where ", 1))
        return Drawn({}, query, {"n_rank": word, "time_filter_global1": window.phrase}, {0: window.tag}, {3: word})


for _words in _ALL:
    _did_it_happen(_words)
    _when_did_it_happen(_words)
    _how_often_did_it_happen(_words)
    _what_happened(_words)
    _to_how_many_did_it_happen(_words)
    _what_happens_most(_words)
for _words in _ALL[2:]:
    _how_long_ago_did_it_happen(_words)
