"""Kinds of questions about costs. The build makes the prices up, so the SQL finds them by joining and no question names one."""

from __future__ import annotations

import random

from medagentgym.synthetic.eicu.questions.kinds import register
from medagentgym.synthetic.eicu.questions.sources import DIAGNOSES, LABS, MEDICATIONS, TREATMENTS, EicuSource
from medagentgym.synthetic.eicu.records import EicuRecords
from medagentgym.synthetic.questions.kinds import Drawn, pick_row
from medagentgym.synthetic.questions.scopes import choose_window, visit_scope


def _price(source: EicuSource, wording: str, paraphrase: str) -> None:
    @register(wording, paraphrase, department=("insurance_review",), importance="low")
    def _draw(facts: EicuRecords, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        name = rows.title(at)
        query = f"select distinct cost.cost from cost where cost.eventtype = '{source.table}' and cost.eventid in "
        query += f"( select {source.table}.{source.table}id from {source.table} where {source.named(name)} )"
        return Drawn({source.slot: name}, query)


_price(DIAGNOSES, "what does a diagnosis of {diagnosis_name} cost?", "What is charged for diagnosing {diagnosis_name}?")
_price(TREATMENTS, "what does the procedure {procedure_name} cost?", "What is charged for a {procedure_name} procedure?")
_price(LABS, "what does a {lab_name} lab test cost?", "What is charged for the lab test {lab_name}?")
_price(MEDICATIONS, "what does a prescription of {drug_name} cost?", "What is charged for ordering {drug_name}?")


@register(
    "what costs were charged in total for patient {patient_id} [time_filter_global1]?",
    "Add up all costs charged for patient {patient_id} [time_filter_global1].",
    department=("insurance_review",),
    importance="high",
)
def _total(facts: EicuRecords, rng: random.Random) -> Drawn | None:
    rows, at = pick_row(rng, facts, MEDICATIONS.raw)
    patient_id = facts.patient_id(int(rows.subject_id[at]))
    scope = visit_scope(rng, facts, int(rows.hadm_id[at])) if rng.random() < 0.6 else None
    if scope is not None:
        query = f"select sum(cost.cost) from cost where cost.patienthealthsystemstayid in ( {scope.admissions} )"
        return Drawn({"patient_id": patient_id}, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})
    window = choose_window(rng, int(rows.time[at]), days=False)
    query = f"select sum(cost.cost) from cost where cost.uniquepid = '{patient_id}'{window.sql('cost.chargetime')}"
    return Drawn({"patient_id": patient_id}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


def _total_of(source: EicuSource, noun: str) -> None:
    @register(
        f"what is the total cost of the {noun} of patient {{patient_id}} [time_filter_global1]?",
        f"What do all {noun} of patient {{patient_id}} [time_filter_global1] cost together?",
        department=("insurance_review",),
    )
    def _draw(facts: EicuRecords, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = visit_scope(rng, facts, int(rows.hadm_id[at]))
        if scope is None:
            return None
        query = f"select sum(cost.cost) from cost where cost.eventtype = '{source.table}' and cost.patienthealthsystemstayid in "
        query += f"( {scope.admissions} )"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at]))}
        return Drawn(value, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


_total_of(LABS, "lab tests")
_total_of(MEDICATIONS, "prescriptions")


def _visit_cost(source: EicuSource, had: str) -> None:
    @register(
        f"what is the [agg_function] total cost of a hospital visit on which {had} [time_filter_global1]?",
        f"Take the total cost of each hospital visit on which {had} [time_filter_global1]: what is the [agg_function]?",
        department=("insurance_review", "health_records"),
    )
    def _draw(facts: EicuRecords, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        window = choose_window(rng, int(rows.time[at]), days=False)
        word, function = rng.choice([("average", "avg"), ("maximum", "max"), ("minimum", "min")])
        name = rows.title(at)
        visits = source.visits(source.named(name) + window.sql(source.when))
        totals = f"select sum(cost.cost) as c1 from cost where cost.patienthealthsystemstayid in ( {visits} ) group by cost.patienthealthsystemstayid"
        query = f"select {function}(t1.c1) from ( {totals} ) as t1"
        slots = {"agg_function": word, "time_filter_global1": window.phrase}
        return Drawn({source.slot: name}, query, slots, {0: window.tag}, {1: word})


_visit_cost(DIAGNOSES, "{diagnosis_name} was diagnosed")
_visit_cost(TREATMENTS, "{procedure_name} was performed")
