"""What an audit says: the table of the instances, the summary of the probes with their floors, and the same for people.

The *floor* of a cheat is how many of the instances that can be judged it may solve: `none` of them, `constant` the number of instances that the
best constant answer solves (for a cheat that abstains: the number of impossible ones), `guesses` the number that as many of the best answers solve
together. A strict judge that accepts more can be fooled. The published judge is known to be; what it lets through stands beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from tabulate import tabulate

from medagentgym.audit.files import COLUMNS
from medagentgym.audit.instances import IMPOSSIBLE, Instances, ProbeForm, counts_by_reason
from medagentgym.audit.probe_words import words_of
from medagentgym.judges.references import ReferenceSummary, most_satisfied
from medagentgym.tasks.probes import BROKEN_PASSES

STRICT = "strict"
SUMMARY_COLUMNS = ["task", "mode", "what", "name", "instances", "floor_kind", "floor", "within_floor"]
"""Columns of `<task>_summary.csv` beside one a judge. `what` is `gradable`, `ungradable` (`name`: the reason) or the kind of the probe `name`.
`instances` is how many there are, for a probe: how many of the gradable ones it was played on; in a judge's column stands how many it accepted."""


@dataclass(frozen=True)
class ProbeSummary:
    """One probe on all gradable instances."""

    form: ProbeForm
    instances: int
    accepted: dict[str, int]
    """Judge -> on how many of them it accepted the probe."""
    floor: int | None
    """How many of them the strict judge may accept; None for the reference."""

    @property
    def within_floor(self) -> bool | None:
        """Whether the strict judge accepts no more than its floor; None for the reference."""
        return None if self.floor is None else self.accepted[STRICT] <= self.floor


def probe_summaries(instances: Instances) -> list[ProbeSummary]:
    """Every probe of a mode, over the instances that can be judged; broken references also over those that cannot because they pass."""
    solved_by_answers = [one.satisfied_by for one in instances.gradable if one.kind != IMPOSSIBLE]
    solved_by_abstaining = [one.satisfied_by for one in instances.gradable if one.kind == IMPOSSIBLE]
    summaries = []
    for form in instances.probes:
        judged = [one for one in instances.audited if one.gradable or (form.kind == "broken" and one.reason == BROKEN_PASSES)]
        played = [one.accepted[form.name] for one in judged if form.name in one.accepted]
        accepted = {judge: sum(verdicts[judge] for verdicts in played) for judge in instances.judges}
        summaries.append(ProbeSummary(form, len(played), accepted, _floor(form, solved_by_abstaining if form.abstains else solved_by_answers)))
    return summaries


def _floor(form: ProbeForm, references: Sequence[ReferenceSummary]) -> int | None:
    if form.kind == "reference":
        return None
    return 0 if form.floor == "none" else most_satisfied(references, form.guesses)


def failures(task: str, modes: Sequence[Instances]) -> list[str]:
    """Why the audit fails, a line each: cheats that the strict judge accepts above their floor, and modes of which no instance can be judged."""
    lines = []
    for instances in modes:
        name = f"{task}/{instances.audited[0].mode}"
        if not instances.gradable:
            reasons = ", ".join(f"{reason} {count}" for reason, count in counts_by_reason(instances.audited).items())
            lines.append(f"{name}: none of {len(instances.audited)} instances can be judged ({reasons})")
        lines += [
            f"{name}: judge {STRICT} accepts probe {summary.form.name} on {summary.accepted[STRICT]} of {summary.instances} instances, "
            f"and its floor is {summary.floor}"
            for summary in probe_summaries(instances)
            if summary.form.kind == "cheat" and not summary.within_floor
        ]
    return lines


def warnings(task: str, modes: Sequence[Instances]) -> list[str]:
    """What is listed as impossible to judge and may be the judge's fault, a line each: broken references that pass."""
    return [
        f"{task}/{instances.audited[0].mode}: judge {STRICT} accepts the broken reference {summary.form.name} on {summary.accepted[STRICT]} of "
        f"{summary.instances} instances, which cannot be judged therefore"
        for instances in modes
        for summary in probe_summaries(instances)
        if summary.form.kind == "broken" and not summary.within_floor
    ]


def instance_table(task: str, modes: Sequence[Instances]) -> pd.DataFrame:
    """One row an instance (`COLUMNS`, then a column a probe and judge)."""
    rows = []
    for instances in modes:
        for one in instances.audited:
            row: dict[str, Any] = {"task": task, "mode": one.mode, "idx": one.instance.idx, "instance_id": one.instance.instance_id}
            row |= {"gradable": one.gradable, "reason": one.reason, "detail": one.reasons[one.reason] if one.reason is not None else None}
            row |= {"kind": one.kind, "gold_status": one.gold.status if one.gold is not None else None, "gold_key": one.key}
            row |= {f"{name}_{judge}": accepted for name, verdicts in one.accepted.items() for judge, accepted in verdicts.items()}
            rows.append(row)
    probes = [f"{form.name}_{judge}" for instances in modes for form in instances.probes for judge in instances.judges]
    return pd.DataFrame(rows, columns=[*COLUMNS, *dict.fromkeys(probes)], dtype=object)


def summary_table(task: str, modes: Sequence[Instances]) -> pd.DataFrame:
    """The content of `<task>_summary.csv`."""
    rows: list[dict[str, Any]] = []
    for instances in modes:
        common = {"task": task, "mode": instances.audited[0].mode}
        rows.append({**common, "what": "gradable", "instances": len(instances.gradable)})
        for reason, count in counts_by_reason(instances.audited).items():
            rows.append({**common, "what": "ungradable", "name": reason, "instances": count})
        for summary in probe_summaries(instances):
            row = {**common, "what": summary.form.kind, "name": summary.form.name, "instances": summary.instances, **summary.accepted}
            if summary.floor is not None:
                row |= {"floor_kind": summary.form.floor, "floor": summary.floor, "within_floor": summary.within_floor}
            rows.append(row)
    judges = dict.fromkeys(judge for instances in modes for judge in instances.judges)
    return pd.DataFrame(rows, columns=[*SUMMARY_COLUMNS[:5], *judges, *SUMMARY_COLUMNS[5:]], dtype=object)


def page(task: str, modes: Sequence[Instances]) -> str:
    """The summary for people, in Markdown."""
    parts = [f"# Audit of {task}"]
    for instances in modes:
        gradable, all_of_them = len(instances.gradable), len(instances.audited)
        parts.append(f"## {instances.audited[0].mode}: {gradable} of {all_of_them} instances can be judged")
        reasons = [[reason, str(count)] for reason, count in counts_by_reason(instances.audited).items()]
        if reasons:
            parts.append(_markdown(["why the others cannot", "instances"], reasons))
        headers = ["probe", "kind", *(f"{judge} accepts" for judge in instances.judges), "floor", STRICT]
        summaries = probe_summaries(instances)
        parts.append(_markdown(headers, [_cells(summary, instances.judges) for summary in summaries]))
        parts.append(_conclusion(summaries))
    explained = words_of(dict.fromkeys(form.name for instances in modes for form in instances.probes))
    if explained:
        lines = [f"- {', '.join(f'`{name}`' for name in names)}: {words}" for names, words in explained.items()]
        parts += ["## What the probes do", _READING, "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _conclusion(summaries: Sequence[ProbeSummary]) -> str:
    """What the table of a mode comes to, in one line. An instance whose reference is not accepted is none that can be judged."""
    if not any(summary.instances for summary in summaries if summary.form.kind == "reference"):
        return f"Judge {STRICT}: nothing to say, because no instance can be judged."
    above = {kind: [one.form.name for one in summaries if one.form.kind == kind and one.within_floor is False] for kind in ("cheat", "broken")}
    found = [
        f"{words}: {', '.join(above[kind])}"
        for kind, words in (("cheat", "cheats above their floor"), ("broken", "broken references that pass"))
        if above[kind]
    ]
    verdict = "; ".join(found) or "no cheat and no broken reference is above its floor"
    return f"Judge {STRICT}: accepts every reference that can be judged; {verdict}."


_READING = (
    "The floor is how often the strict judge may accept a probe: never, or as often as the best constant answer (or as many of the best answers as "
    "it guesses) is right. The reference must always be accepted, a broken one never; a cheat does not solve the question. The published judge is "
    "known to be fooled."
)
_FLOOR_WORDS = {"none": "never", "constant": "best constant"}


def _cells(summary: ProbeSummary, judges: Sequence[str]) -> list[str]:
    form, count = summary.form, summary.instances
    cells = [form.name, form.kind, *(_share(summary.accepted[judge], count) for judge in judges)]
    if summary.floor is None:
        return [*cells, "-", "must accept all"]
    words = _FLOOR_WORDS.get(form.floor, f"{form.guesses} guesses")
    above = "PASSES, so these cannot be judged" if form.kind == "broken" else "ABOVE ITS FLOOR"
    return [*cells, f"{_share(summary.floor, count)} ({words})", "at or under its floor" if summary.within_floor else above]


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} = {100 * part / whole:.1f} %" if whole else "0/0"


def _markdown(headers: list[str], rows: list[list[str]]) -> str:
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)
