"""The comparison of the published system for ehr_seqsql, kept so that numbers stay comparable.

It compares the gold with the output only where the output is a list, and the output is always a text. So nothing is ever compared, and every program
that runs to its end and prints something passes.
"""

from __future__ import annotations

from typing import Any

from medagentgym.judges.base import Evidence, Verdict


class PublishedSequenceJudge:
    """Accepts whatever was printed."""

    name = "published"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Accept an attempt that ran to its end and printed something; the reference is never looked at."""
        if evidence.abstained:
            return Verdict(False, 0.0, "an abstention, which the published comparison does not know")
        if evidence.exit_status != 0:
            return Verdict(False, 0.0, "the code failed, which the published system does not count as an attempt")
        if not evidence.stdout and not evidence.stderr:
            return Verdict(False, 0.0, "nothing was printed")
        return Verdict(True, 1.0, "something was printed, and the published comparison looks no further")
