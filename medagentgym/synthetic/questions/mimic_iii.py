"""All kinds of questions about `mimic_iii`. The modules register them as they are imported, in this order, on which the draws depend."""

from __future__ import annotations

from medagentgym.synthetic.questions import costs, events, people, populations, treatment, units  # noqa: F401
from medagentgym.synthetic.questions.kinds import MIMIC_III
from medagentgym.synthetic.questions.sql import DIAGNOSES, LABS, PRESCRIPTIONS, PROCEDURES
from medagentgym.synthetic.questions.unanswerable import unanswerable

__all__ = ["KINDS", "MIMIC_III", "UNANSWERABLE"]

MIMIC_III.unanswerable.extend(unanswerable(DIAGNOSES, PROCEDURES, PRESCRIPTIONS, LABS))
KINDS = MIMIC_III.kinds
UNANSWERABLE = MIMIC_III.unanswerable
