"""Kinds of questions about the costs of `mimic_iii`: those that are asked everywhere."""

from __future__ import annotations

from medagentgym.synthetic.questions.charges import CostColumns, ask_what_was_charged
from medagentgym.synthetic.questions.kinds import MIMIC_III
from medagentgym.synthetic.questions.sql import DIAGNOSES, LABS, PRESCRIPTIONS, PROCEDURES

_COSTS = CostColumns(event_type="cost.event_type", event_id="cost.event_id", patient="cost.subject_id", visit="cost.hadm_id")

ask_what_was_charged(MIMIC_III, _COSTS, diagnoses=DIAGNOSES, procedures=PROCEDURES, labs=LABS, drugs=PRESCRIPTIONS)
