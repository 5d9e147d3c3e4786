"""All kinds of questions about `eicu`. The modules register them as they are imported, in this order, on which the draws depend."""

from __future__ import annotations

from medagentgym.synthetic.eicu.questions import costs, events, people, populations, treatment  # noqa: F401
from medagentgym.synthetic.eicu.questions.kinds import EICU
from medagentgym.synthetic.eicu.questions.sources import DIAGNOSES, LABS, MEDICATIONS, TREATMENTS
from medagentgym.synthetic.questions.unanswerable import unanswerable

__all__ = ["EICU"]

EICU.unanswerable.extend(unanswerable(DIAGNOSES, TREATMENTS, MEDICATIONS, LABS))
