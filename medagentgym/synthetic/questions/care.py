"""Kinds of questions about drugs, diagnoses and cultures that can be asked of every database: how drugs are given, what goes with a diagnosis."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from medagentgym.synthetic.questions.kinds import Drawn, F, QuestionSet, pick, pick_row
from medagentgym.synthetic.questions.measurements import in_scope, nth, place_tag
from medagentgym.synthetic.questions.ranks import RANKS, clear_ranks
from medagentgym.synthetic.questions.scopes import choose_scope, choose_window, visit_scope
from medagentgym.synthetic.questions.sql import Source, literal


def ask_drugs_by_route(asked: QuestionSet[F], drugs: Source, route: str) -> None:
    """Register the question which drugs were given by a route; `route` is its column, with its table."""

    @asked.register(
        "list the drugs that patient {patient_id} was prescribed via {drug_route} route [time_filter_global1].",
        "Which drugs were ordered for patient {patient_id} by the route {drug_route} [time_filter_global1]?",
        department=("nursing", "physician"),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, drugs.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
        query = f"select distinct {drugs.group} from {drugs.table} where {drugs.where(scope)} and {route} = '{facts.route(at)}'"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), "drug_route": facts.route(at)}
        return Drawn(value, f"{query} order by {drugs.group}", {"time_filter_global1": scope.phrase}, {0: scope.tag})


def ask_dose(asked: QuestionSet[F], drugs: Source, dose: str, column: str) -> None:
    """Register the question for a dose, or whatever `dose` calls it; `column` has its table."""

    @asked.register(
        f"what was the {dose} of {{drug_name}} that patient {{patient_id}} was [time_filter_exact1] prescribed [time_filter_global1]?",
        f"In which {dose} was {{drug_name}} [time_filter_exact1] ordered for patient {{patient_id}} [time_filter_global1]?",
        department=("physician", "nursing"),
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, drugs.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
        times = [int(rows.time[other]) for other in in_scope(rows, at, scope)]
        place = rng.choice(["first", "last"])
        if times.count(times[0 if place == "first" else -1]) > 1:
            return None
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at])), "drug_name": rows.title(at)}
        slots = {"time_filter_exact1": place, "time_filter_global1": scope.phrase}
        return Drawn(value, nth(drugs, scope, rows.title(at), place, column), slots, {0: scope.tag, 3: place_tag(place)})


def ask_number_of_drugs(asked: QuestionSet[F], drugs: Source) -> None:
    """Register the question how many different drugs a patient got."""

    @asked.register(
        "how many different drugs was patient {patient_id} prescribed [time_filter_global1]?",
        "Count the distinct drugs ordered for patient {patient_id} [time_filter_global1].",
        department=("nursing", "physician"),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, drugs.raw)
        scope = choose_scope(rng, facts, int(rows.hadm_id[at]), int(rows.time[at]))
        query = f"select count( distinct {drugs.group} ) from {drugs.table} where {drugs.where(scope)}"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at]))}
        return Drawn(value, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


def ask_what_was_done_n_times(asked: QuestionSet[F], source: Source, wording: str, paraphrase: str) -> None:
    """Register the question what was done to a patient two or three times on one visit."""

    @asked.register(wording, paraphrase)
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = visit_scope(rng, facts, int(rows.hadm_id[at]))
        if scope is None:
            return None
        own = rows.of_patient(int(rows.subject_id[at]))
        counts = Counter(rows.title(other) for other in own if rows.hadm_id[other] == rows.hadm_id[at])
        number, word = rng.choice([(2, "two times"), (3, "three times")])
        if number not in counts.values():
            return None
        query = f"select {source.group} from {source.table} where {source.where(scope)} group by {source.group} having count(*) = {number}"
        slots = {"n_times": word, "time_filter_global1": scope.phrase}
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at]))}
        return Drawn(value, f"{query} order by {source.group}", slots, {0: scope.tag}, {5: word})


def _most_frequent_beside(asked: QuestionSet[F], diagnoses: Source, source: Source, noun: str) -> None:
    @asked.register(
        f"what are the [n_rank] most frequent {noun} over all hospital visits on which {{diagnosis_name}} was diagnosed [time_filter_global1]?",
        f"For hospital visits with a diagnosis of {{diagnosis_name}} [time_filter_global1], name the [n_rank] most frequent {noun}.",
        department=("physician", "health_records"),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        diagnosed, at = pick_row(rng, facts, diagnoses.raw)
        rows = facts.rows(source.raw)
        window = choose_window(rng, int(diagnosed.time[at]), days=False)
        word, number = rng.choice(RANKS)
        name = diagnosed.title(at)
        meant = (diagnosed.name == diagnosed.name[at]) & (diagnosed.time >= window.first) & (diagnosed.time <= window.last)
        if not clear_ranks(rows.name[np.isin(rows.hadm_id, diagnosed.hadm_id[meant])], number):
            return None
        visits = diagnoses.visits(diagnoses.named(name) + window.sql(diagnoses.when))
        query = source.most_frequent(number, f" and {source.on_visits(visits)}")
        slots = {"n_rank": word, "time_filter_global1": window.phrase}
        return Drawn({"diagnosis_name": name}, query, slots, {0: window.tag, 2: "within-hosp"}, {3: word})


def ask_what_goes_with_a_diagnosis(asked: QuestionSet[F], diagnoses: Source, *, drugs: Source, procedures: Source, labs: Source) -> None:
    """Register the kinds of questions about what is given, done and tested on the hospital visits with a diagnosis."""
    _most_frequent_beside(asked, diagnoses, drugs, "drugs")
    _most_frequent_beside(asked, diagnoses, procedures, "procedures")
    _most_frequent_beside(asked, diagnoses, labs, "lab tests")

    @asked.register(
        "how many patients were prescribed {drug_name} during a hospital visit on which {diagnosis_name} was diagnosed [time_filter_global1]?",
        "Count the patients who had both a diagnosis of {diagnosis_name} and an order of {drug_name} within one hospital visit "
        "[time_filter_global1].",
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        diagnosed, at = pick_row(rng, facts, diagnoses.raw)
        rows = facts.rows(drugs.raw)
        window = choose_window(rng, int(diagnosed.time[at]), days=False)
        same = [other for other in rows.of_patient(int(diagnosed.subject_id[at])) if rows.hadm_id[other] == diagnosed.hadm_id[at]]
        name, drug = diagnosed.title(at), rows.title(pick(rng, same))
        query = drugs.patients(drugs.named(drug), diagnoses.visits(diagnoses.named(name) + window.sql(diagnoses.when)))
        slots = {"time_filter_global1": window.phrase}
        return Drawn({"diagnosis_name": name, "drug_name": drug}, query, slots, {0: window.tag, 2: "within-hosp"})


def ask_patients_with_organism(asked: QuestionSet[F], cultures: Source, organism: str) -> None:
    """Register the question in how many patients an organism was found; `organism` is its column, with its table."""

    @asked.register(
        "in how many patients was {organism_name} found [time_filter_global1]?",
        "Count the patients with {organism_name} in a culture [time_filter_global1].",
        department=("infection_control",),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, cultures.raw)
        name = facts.organism(at)
        if name is None:
            return None
        window = choose_window(rng, int(rows.time[at]), days=False)
        query = cultures.patients(f"{organism} = {literal(name)}{window.sql(cultures.when)}")
        return Drawn({"organism_name": name}, query, {"time_filter_global1": window.phrase}, {0: window.tag})
