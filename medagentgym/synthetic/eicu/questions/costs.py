"""Kinds of questions about the costs of `eicu`: those that are asked everywhere."""

from __future__ import annotations

from medagentgym.synthetic.eicu.questions.kinds import EICU
from medagentgym.synthetic.eicu.questions.sources import DIAGNOSES, LABS, MEDICATIONS, TREATMENTS
from medagentgym.synthetic.questions.charges import CostColumns, ask_what_was_charged

_COSTS = CostColumns(event_type="cost.eventtype", event_id="cost.eventid", patient="cost.uniquepid", visit="cost.patienthealthsystemstayid")

ask_what_was_charged(EICU, _COSTS, diagnoses=DIAGNOSES, procedures=TREATMENTS, labs=LABS, drugs=MEDICATIONS)
