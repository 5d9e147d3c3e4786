"""What an attempt answered: the one rule of every task on patient records.

1. The value that the program left in `answer`.
2. Where it left none and ran to its end: the last line that it printed which is not blank.
3. Else there is no answer. What was printed before or beside it never counts.

An answer that is a text may hold data, as Python or JSON writes them (`"[(12,)]"`): `held_data` gives them. A printed line always is such a text.
"""

from __future__ import annotations

from typing import Any

from medagentgym.judges.base import Evidence
from medagentgym.judges.literals import NotDataError, data_in

NO_ANSWER = object()
"""There is no answer (`None` is one)."""


def final_answer(evidence: Evidence) -> Any:
    """The answer as JSON data of `medagentgym.sandbox.answers`, or `NO_ANSWER`."""
    if evidence.has_answer:
        return evidence.answer
    if evidence.exit_status == 0 and not evidence.abstained:
        printed = evidence.stdout.rstrip()
        if printed:
            return printed[printed.rfind("\n") + 1 :].strip()
    return NO_ANSWER


def held_data(answer: Any) -> Any:
    """The data that an answer holds: those in a text, where it holds any, else the answer itself."""
    if isinstance(answer, str):
        try:
            return data_in(answer)
        except NotDataError:
            return answer
    return answer
