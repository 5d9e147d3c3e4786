"""Where the answer that a question file holds is another one than its SQL gives on the database at hand.

Published answers may have been computed at another "now", on another database, or with a tie broken the other way; the judge decides what is the
same answer.
"""

from __future__ import annotations

from medagentgym.ehr.gold import Gold
from medagentgym.judges.base import Evidence
from medagentgym.judges.row_sets import RowSetJudge


def stored_difference(stored: Gold, executed: Gold) -> str | None:
    """In which way the stored answer is wrong where the executed gold is right, in words; None where it is the same answer."""
    if stored.status == "error":
        return f"the stored answer cannot be read ({stored.reason})"
    rows = [row[0] for row in stored.rows] if stored.columns is None else [list(row) for row in stored.rows]
    evidence = Evidence(has_answer=True, answer=rows, stdout="", stderr="", exit_status=0)
    verdict = RowSetJudge().judge({"gold": executed.to_json()}, evidence)
    return None if verdict.correct else verdict.reason
