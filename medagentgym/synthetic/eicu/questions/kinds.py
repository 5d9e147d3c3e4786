"""The set of all kinds of questions about `eicu`. It is complete once `medagentgym.synthetic.eicu.questions.eicu` has been imported."""

from __future__ import annotations

from medagentgym.synthetic.eicu.records import EicuRecords
from medagentgym.synthetic.questions.kinds import QuestionSet

EICU: QuestionSet[EicuRecords] = QuestionSet("eicu")
register = EICU.register
