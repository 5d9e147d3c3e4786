"""Task npowerai: sample sizes and power of study designs that are described in words.

Source: the published task files, whose rows have `task_type` (the kind of test), `estimate_target` (`size` or `power`), `question` and
`answer`. The build reads the design out of each question and computes the answer (`medagentgym.power_analysis`); a gold that agrees with no
reading of its question is listed as wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from medagentgym.built_data import Mode
from medagentgym.errors import UserError
from medagentgym.judges.sample_sizes import PublishedSampleSizeJudge, SampleSizeJudge, accepted_range
from medagentgym.row_files import SourceRow
from medagentgym.sandbox.base import BoxSpec
from medagentgym.tasks.base import Instance
from medagentgym.tasks.probes import NOT_EXPRESSIBLE, WRONG_GOLD, Probe, code_probe
from medagentgym.tasks.task_file import TaskFileTask

if TYPE_CHECKING:
    from medagentgym.config import Config, SyntheticConfig
    from medagentgym.judges.base import Judge
    from medagentgym.power_analysis.designs import Design
    from medagentgym.power_analysis.questions import PowerQuestion

_LONGEST_SHOWN = 60
EXACTLY = 1e-6
"""Share of a power by which it may differ from one that explains it."""

Finding = Literal["agrees", "wrong", "unchecked"]


class NPowerAI(TaskFileTask):
    """Questions for a sample size or a power."""

    name: ClassVar[str] = "npowerai"
    environment_family: ClassVar[str] = "statistics"
    preload: ClassVar[tuple[str, ...]] = (*BoxSpec.preload, "scipy.stats", "statsmodels.stats.power")
    answer_form: ClassVar[str] = (
        "Leave one number in a variable `answer`, and nothing beside it: a sample size as a whole number, rounded up and counted as the question "
        "asks (in each group, or in all); a power as a number between 0 and 1, with four decimals or more."
    )

    # --- the build ------------------------------------------------------------------------------------------------------------------------------

    @classmethod
    def built_row(cls, row: SourceRow, config: Config) -> dict[str, Any]:
        """The built row, with what came of computing the gold again."""
        target = row.text("estimate_target").strip().lower()
        if target not in ("size", "power"):
            raise UserError(f"{row.place}: estimate_target is {target[:_LONGEST_SHOWN]}; expects size or power; correct {row.key}")
        question = row.text("question").strip()
        gold = _gold_of(row, target)
        if "ungradable" not in gold:
            check = check_gold(question, gold)
            gold |= {"finding": check.finding, "words": check.words}
            if check.finding == "wrong":
                gold["ungradable"] = f"{WRONG_GOLD}: {check.words}"
        about = {"task_type": row.text("task_type", "not stated").strip(), "target": target}
        return {"question": question, "gold": gold, "about": about}

    @classmethod
    def made_up_rows(cls, synthetic: SyntheticConfig, mode: Mode) -> list[dict[str, Any]]:
        """Made-up designs (see `medagentgym.synthetic.studies`)."""
        from medagentgym.synthetic.studies import make_rows

        return make_rows(synthetic.seed, mode, getattr(synthetic, mode))

    @classmethod
    def counts_of_build(cls, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """How many golds of which kind agree with the answer computed again, are wrong, or could not be checked."""
        return {"golds": _counts_by_kind(rows)}

    @classmethod
    def remarks_of_build(cls, rows: Mapping[Mode, list[dict[str, Any]]], config: Config) -> list[str]:
        """Which golds are wrong."""
        return [remark for mode, of_mode in rows.items() for remark in _remarks(mode, _counts_by_kind(of_mode))]

    @classmethod
    def remarks(cls, config: Config) -> list[str]:
        """Those of the build, and by how much sample sizes may differ."""
        tolerance = config.scoring.size_tolerance
        stated = [f"Sample sizes within {100 * tolerance:g} % of the gold count as right (scoring.size_tolerance)."] if tolerance else []
        return [*super().remarks(config), *stated]

    # --- while running --------------------------------------------------------------------------------------------------------------------------

    def reference(self, instance: Instance) -> dict[str, Any]:
        """The gold with the tolerance for sample sizes that `scoring.size_tolerance` states."""
        return {**instance.record["gold"], "tolerance": self.config.scoring.size_tolerance}

    def reference_code(self, instance: Instance) -> str:
        """A program that leaves the gold. Raises `UserError` where that is no number."""
        return f"answer = {self._gold_value(instance)!r}\n"

    def broken_references(self, instance: Instance) -> dict[str, str]:
        """A gold just outside of what is forgiven, the gold in another unit, and what every task has."""
        low, high = accepted_range({**self.reference(instance), "value": self._gold_value(instance)})
        step = 1 if instance.record["gold"]["target"] == "size" else 1e-6
        programs = {"slightly_high": high + step, "slightly_low": low - step, "in_percent": 100 * self._gold_value(instance)}
        return {**super().broken_references(instance), **{name: f"answer = {value!r}\n" for name, value in programs.items()}}

    def cheats(self, instance: Instance) -> list[Probe]:
        """Those of every task, and answers that many golds would equal if a judge were lenient."""
        return [
            *super().cheats(instance),
            code_probe("constant_42", "cheat", "constant", "answer = 42\nprint(answer)\n"),
            code_probe("constant_power", "cheat", "constant", "answer = 0.8\nprint(answer)\n"),
            code_probe("every_power", "cheat", "none", "answer = [n / 1000 for n in range(1001)]\nprint(answer)\n"),
            code_probe("not_a_number", "cheat", "none", "answer = float('nan')\nprint(answer)\n"),
        ]

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        """`strict`: a size exactly or within the stated tolerance, a power within 1 %; `published` as the published system compares."""
        return {"strict": SampleSizeJudge(), "published": PublishedSampleSizeJudge()}

    def _gold_value(self, instance: Instance) -> float:
        gold = instance.record["gold"]
        if gold["value"] is None:
            raise UserError(f"{self.name} {instance.idx}: the gold is no number ({gold['published']!r})")
        return float(gold["value"]) if gold["target"] == "power" else int(gold["value"])


# --- computing golds again ------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GoldCheck:
    """What came of computing a gold again."""

    finding: Finding
    words: str
    """What agrees, what is wrong, or why it could not be checked."""


def check_gold(question: str, gold: Mapping[str, Any]) -> GoldCheck:
    """Compute the answer of a question and compare the gold with it, as exactly as the strict judge compares an answer with the gold.

    Where the question leaves open whether its test is one-sided, either agrees.
    """
    from medagentgym.power_analysis.questions import UnreadableError, read_question

    try:
        asked = read_question(question, gold["target"])
        answers = [asked.answer(design) for design in (asked.design, *asked.other_readings)]
    except UnreadableError as error:
        return GoldCheck("unchecked", f"the question cannot be read: {error}")
    except (ValueError, OverflowError) as error:
        return GoldCheck("unchecked", f"cannot be computed: {error}")
    if any(_agrees(gold, answer) for answer in answers):
        return GoldCheck("agrees", asked.words)
    shown = " or ".join(dict.fromkeys(f"{answer:.6g}" for answer in answers))
    words = f"{asked.words} {'needs' if asked.target == 'size' else 'has a power of'} {shown}, the gold says {gold['value']:.6g}"
    explanation = _explanation(asked, gold)
    return GoldCheck("wrong", f"{words}, {explanation}" if explanation else words)


def _agrees(gold: Mapping[str, Any], answer: float) -> bool:
    low, high = accepted_range({**gold, "value": answer, "tolerance": 0.0})
    return bool(low <= gold["value"] <= high)


def _explanation(asked: PowerQuestion, gold: Mapping[str, Any]) -> str | None:
    """The mistake that gives a wrong gold exactly, where it is one of the usual ones."""
    from medagentgym.power_analysis.designs import OneWayAnova

    mistaken = [(design, "") for design in (asked.design, *asked.other_readings)]
    if isinstance(asked.design, OneWayAnova):
        mistaken.append((asked.design.with_sample_deviation, ", f taken with the divisor k - 1 of a sample of means"))
    for design, remark in mistaken:
        if asked.target == "size" and _is_exactly(gold, asked.answer(design)):
            return f"which is right for {design.words}{remark}"
        size = _size_with_power(design, gold["value"]) if asked.target == "power" else None
        if size is not None and _is_exactly(gold, design.power(size)):
            return f"which is the power of {size} participants {design.counts} in {design.words}{remark}"
    return None


def _size_with_power(design: Design, power: float) -> int | None:
    try:
        return design.size(power * (1 - EXACTLY)) if design.alpha < power < 1 else None
    except ValueError:
        return None


def _is_exactly(gold: Mapping[str, Any], answer: float) -> bool:
    return bool(abs(gold["value"] - answer) <= EXACTLY * abs(answer))


def _gold_of(row: SourceRow, target: str) -> dict[str, Any]:
    published = row.get("answer")
    if published is None:
        raise UserError(f"{row.place}: has no answer; correct {row.key}")
    try:
        value = row.number("answer")
    except UserError:
        return {"target": target, "value": None, "published": published, "ungradable": f"{NOT_EXPRESSIBLE}: the answer is no number"}
    gold: dict[str, Any] = {"target": target, "value": value, "published": value}
    if target == "size" and not (isinstance(value, int) and value > 0):
        gold["ungradable"] = f"{WRONG_GOLD}: {value:g} is no sample size"
    elif target == "power" and not 0 < value <= 1:
        gold["ungradable"] = f"{WRONG_GOLD}: {value:g} is no power"
    return gold


def _counts_by_kind(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Findings by kind of question, sorted."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        kind = f"{row['about']['task_type']}, {row['about']['target']}"
        counts.setdefault(kind, Counter())[row["gold"].get("finding", "wrong")] += 1
    return {kind: {finding: counts[kind][finding] for finding in ("agrees", "wrong", "unchecked")} for kind in sorted(counts)}


def _remarks(mode: Mode, kinds: Mapping[str, Mapping[str, int]]) -> list[str]:
    agreeing, wrong, unchecked = (sum(counts[finding] for counts in kinds.values()) for finding in ("agrees", "wrong", "unchecked"))
    if not wrong and not unchecked:
        return []
    which = "; ".join(f"{kind}: {counts['wrong']} of {sum(counts.values())}" for kind, counts in kinds.items() if counts["wrong"])
    return [
        f"Of {agreeing + wrong + unchecked:,} {mode} golds {agreeing:,} agree with the answer computed from the question, {wrong:,} are wrong"
        f"{f' ({which})' if which else ''}, and {unchecked:,} could not be checked. "
        "The audit lists them, and data.exclude: audit leaves out the wrong ones."
    ]
