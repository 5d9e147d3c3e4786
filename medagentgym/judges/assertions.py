"""Judges of programs that are told by assertions about what they leave: task biodsbench.

The assertions have run when an attempt comes here (`medagentgym.programs.variable_runs`); the evidence holds in `gathered["assertions"]` what became
of each, in their order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from medagentgym.errors import one_line
from medagentgym.judges.base import Evidence, Verdict
from medagentgym.judges.references import ReferenceSummary


class AssertionsJudge:
    """`strict`: every assertion holds. `reference["assertions"]` says how many there are."""

    name = "strict"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Judge one attempt by what became of the assertions."""
        if "ungradable" in reference:
            return Verdict(False, 0.0, f"the instance cannot be judged: {one_line(reference['ungradable'])}")
        outcomes = evidence.gathered.get("assertions") if isinstance(evidence.gathered, Mapping) else None
        if evidence.exit_status != 0 or not outcomes:
            return Verdict(False, 0.0, "no program that left the variables ran to its end")
        if len(outcomes) != reference["assertions"]:
            return Verdict(False, 0.0, f"{len(outcomes)} of {reference['assertions']} assertions ran")
        failed = [(number, outcome) for number, outcome in enumerate(outcomes, start=1) if outcome["holds"] is not True]
        if failed:
            number, outcome = failed[0]
            return Verdict(False, 0.0, f"{len(failed)} of {len(outcomes)} assertions do not hold; assertion {number}: {one_line(outcome['problem'])}")
        return Verdict(True, 1.0, f"all {len(outcomes)} assertions hold")

    def summarise(self, reference: Any) -> ReferenceSummary:
        """References with the same assertions about the same study share a key."""
        if "ungradable" in reference:
            return ReferenceSummary("error", "error")
        text = json.dumps([reference["study"], reference["test_cases"]])
        return ReferenceSummary("usable", hashlib.sha256(text.encode()).hexdigest()[:16])


class PublishedAssertionsJudge:
    """The comparison of the published system, which never runs the assertions: whatever does not fail passes."""

    name = "published"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Accept every program that ran to its end."""
        passes = evidence.exit_status == 0
        return Verdict(passes, float(passes), "the program ran to its end" if passes else "the program failed")
