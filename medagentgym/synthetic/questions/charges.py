"""Kinds of questions about costs. The build makes the prices up, so the SQL finds them by joining and no question names one."""

from __future__ import annotations

import random
from dataclasses import dataclass

from medagentgym.synthetic.questions.kinds import Drawn, F, QuestionSet, pick_row
from medagentgym.synthetic.questions.scopes import choose_window, visit_scope
from medagentgym.synthetic.questions.sql import Source
from medagentgym.synthetic.visit_tables import constant


@dataclass(frozen=True)
class CostColumns:
    """Columns of table `cost`, each with its table."""

    event_type: str
    """The table of the event that was charged for."""
    event_id: str
    """Its row there."""
    patient: str
    visit: str

    def of_table(self, source: Source) -> str:
        """SQL for the condition that a cost is of an event of a table."""
        return f"{self.event_type} = '{source.table}'"


def _price(asked: QuestionSet[F], costs: CostColumns, source: Source, wording: str, paraphrase: str) -> None:
    @asked.register(wording, paraphrase, department=("insurance_review",), importance="low")
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        name = rows.title(at)
        query = f"select distinct cost.cost from cost where {costs.of_table(source)} and {costs.event_id} in "
        query += f"( select {source.table}.{source.key} from {source.table} where {source.named(name)} )"
        return Drawn({source.slot: name}, query)


def _total(asked: QuestionSet[F], costs: CostColumns, drugs: Source) -> None:
    @asked.register(
        "what costs were charged in total for patient {patient_id} [time_filter_global1]?",
        "Add up all costs charged for patient {patient_id} [time_filter_global1].",
        department=("insurance_review",),
        importance="high",
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, drugs.raw)
        patient_id = facts.patient_id(int(rows.subject_id[at]))
        scope = visit_scope(rng, facts, int(rows.hadm_id[at])) if rng.random() < 0.6 else None
        if scope is not None:
            query = f"select sum(cost.cost) from cost where {costs.visit} in ( {scope.admissions} )"
            return Drawn({"patient_id": patient_id}, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})
        window = choose_window(rng, int(rows.time[at]), days=False)
        query = f"select sum(cost.cost) from cost where {costs.patient} = {constant(patient_id)}{window.sql('cost.chargetime')}"
        return Drawn({"patient_id": patient_id}, query, {"time_filter_global1": window.phrase}, {0: window.tag})


def _total_of(asked: QuestionSet[F], costs: CostColumns, source: Source, noun: str) -> None:
    @asked.register(
        f"what is the total cost of the {noun} of patient {{patient_id}} [time_filter_global1]?",
        f"What do all {noun} of patient {{patient_id}} [time_filter_global1] cost together?",
        department=("insurance_review",),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        scope = visit_scope(rng, facts, int(rows.hadm_id[at]))
        if scope is None:
            return None
        query = f"select sum(cost.cost) from cost where {costs.of_table(source)} and {costs.visit} in ( {scope.admissions} )"
        value = {"patient_id": facts.patient_id(int(rows.subject_id[at]))}
        return Drawn(value, query, {"time_filter_global1": scope.phrase}, {0: scope.tag})


def _visit_cost(asked: QuestionSet[F], costs: CostColumns, source: Source, had: str) -> None:
    @asked.register(
        f"what is the [agg_function] total cost of a hospital visit on which {had} [time_filter_global1]?",
        f"Take the total cost of each hospital visit on which {had} [time_filter_global1]: what is the [agg_function]?",
        department=("insurance_review", "health_records"),
    )
    def _draw(facts: F, rng: random.Random) -> Drawn | None:
        rows, at = pick_row(rng, facts, source.raw)
        window = choose_window(rng, int(rows.time[at]), days=False)
        word, function = rng.choice([("average", "avg"), ("maximum", "max"), ("minimum", "min")])
        name = rows.title(at)
        visits = source.visits(source.named(name) + window.sql(source.when))
        totals = f"select sum(cost.cost) as c1 from cost where {costs.visit} in ( {visits} ) group by {costs.visit}"
        query = f"select {function}(t1.c1) from ( {totals} ) as t1"
        slots = {"agg_function": word, "time_filter_global1": window.phrase}
        return Drawn({source.slot: name}, query, slots, {0: window.tag}, {1: word})


def ask_what_was_charged(asked: QuestionSet[F], costs: CostColumns, *, diagnoses: Source, procedures: Source, labs: Source, drugs: Source) -> None:
    """Register the kinds of questions about costs."""
    _price(asked, costs, diagnoses, "what does a diagnosis of {diagnosis_name} cost?", "What is charged for diagnosing {diagnosis_name}?")
    _price(asked, costs, procedures, "what does the procedure {procedure_name} cost?", "What is charged for a {procedure_name} procedure?")
    _price(asked, costs, labs, "what does a {lab_name} lab test cost?", "What is charged for the lab test {lab_name}?")
    _price(asked, costs, drugs, "what does a prescription of {drug_name} cost?", "What is charged for ordering {drug_name}?")
    _total(asked, costs, drugs)
    _total_of(asked, costs, labs, "lab tests")
    _total_of(asked, costs, drugs, "prescriptions")
    _visit_cost(asked, costs, diagnoses, "{diagnosis_name} was diagnosed")
    _visit_cost(asked, costs, procedures, "{procedure_name} was performed")
