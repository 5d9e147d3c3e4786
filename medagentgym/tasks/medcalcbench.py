"""Task medcalcbench: calculate a clinical value from a patient note.

Source: MedCalc-Bench (Khandekar et al., 2024, https://arxiv.org/abs/2406.12036, https://github.com/ncbi-nlp/MedCalc-Bench), of any version: its CSV,
or the published layout with the same columns in JSON Lines. A row has `Patient Note`, `Question`, `Calculator Name`, `Ground Truth Answer`, and maybe
`Lower Limit`, `Upper Limit`, `Row Number`, `Category`, `Output Type`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from medagentgym.built_data import MODES, Mode, QuestionFile, file_digest
from medagentgym.errors import UserError
from medagentgym.judges.calculations import UNREADABLE, CalculationJudge, PublishedCalculationJudge, read_gold
from medagentgym.judges.date_texts import DAYS_A_WEEK
from medagentgym.row_files import SourceRow, read_rows
from medagentgym.tasks.base import Instance
from medagentgym.tasks.probes import NOT_EXPRESSIBLE, WRONG_GOLD, Probe, code_probe
from medagentgym.tasks.task_file import TaskFileTask

if TYPE_CHECKING:
    from medagentgym.config import Config, SyntheticConfig
    from medagentgym.judges.base import Judge

METHOD_FILE = "calculation_method.jsonl"
"""File beside the task files with `Calculator` and `Short Summary`: how each value is calculated."""

POSSIBLE_SCORES = {
    "APACHE II Score": (0, 71),
    "CHA2DS2-VASc Score for Atrial Fibrillation Stroke Risk": (0, 9),
    "CURB-65 Score for Pneumonia Severity": (0, 5),
    "Centor Score (Modified/McIsaac) for Strep Pharyngitis": (-1, 5),
    "Child-Pugh Score for Cirrhosis Mortality": (5, 15),
    "FeverPAIN Score for Strep Pharyngitis": (0, 5),
    "Glasgow Coma Score (GCS)": (3, 15),
    "Glasgow-Blatchford Bleeding Score (GBS)": (0, 23),
    "HAS-BLED Score for Major Bleeding Risk": (0, 9),
    "HEART Score for Major Cardiac Events": (0, 10),
    "PERC Rule for Pulmonary Embolism": (0, 8),
    "Revised Cardiac Risk Index for Pre-Operative Risk": (0, 6),
    "SIRS Criteria": (0, 4),
    "Sequential Organ Failure Assessment (SOFA) Score": (0, 24),
    "Wells' Criteria for DVT": (-2, 9),
    "Wells' Criteria for Pulmonary Embolism": (0, 12.5),
}
"""The smallest and the largest sum of points that a score can have; a gold beyond it is wrong whatever the note says."""

MONTHS = 12
_SLIGHTLY = 0.06
"""Share by which the slightly wrong reference programs miss the gold: just more than the limits of 5 % forgive."""


class MedCalcBench(TaskFileTask):
    """MedCalc-Bench's questions. The note is part of the question as the agent reads it."""

    name: ClassVar[str] = "medcalcbench"
    published_files: ClassVar[Mapping[Mode, tuple[str, ...]]] = {
        "train": ("train_tasks_all.jsonl", "train_tasks.jsonl"),
        "test": ("test_tasks.jsonl",),
    }
    answer_form: ClassVar[str] = (
        "Leave the value in a variable `answer`, and nothing beside it: a number without its unit, in the unit that the question asks for; a date as "
        "text, month/day/year; a gestational age as a tuple of weeks and days, for example (14, 1)."
    )

    # --- the build ------------------------------------------------------------------------------------------------------------------------------

    @classmethod
    def further_sources(cls, config: Config) -> list[Path]:
        """The texts of the methods where there are any, and the corrected labels."""
        return [path for path in (_method_file(config, cls.question_files(config).values()), config.data.gold_overrides) if path is not None]

    @classmethod
    def built_rows(cls, rows: list[SourceRow], mode: Mode, config: Config) -> list[dict[str, Any]]:
        """The built rows of a mode, with the methods of their calculators and the corrected labels laid over the golds."""
        methods = _methods(config, cls.question_files(config).values())
        corrections = _corrections(config.data.gold_overrides, rows, mode)
        with_open_limits = {row.text("Calculator Name") for row in rows if _has_open_limits(_gold_of(row))}
        return [_built_row(row, methods, corrections.get(row.idx), has_open_limits=row.text("Calculator Name") in with_open_limits) for row in rows]

    @classmethod
    def made_up_rows(cls, synthetic: SyntheticConfig, mode: Mode) -> list[dict[str, Any]]:
        """Made-up notes and questions (see `medagentgym.synthetic.calculations`)."""
        from medagentgym.synthetic.calculations import make_rows

        return make_rows(synthetic.seed, mode, getattr(synthetic, mode))

    @classmethod
    def counts_of_build(cls, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Calculators, those without a method's text, and golds that were corrected."""
        return {
            "calculators": len({row["about"]["calculator"] for row in rows}),
            "without_method": sorted({row["about"]["calculator"] for row in rows if row["about"]["method"] is None}),
            "corrected_golds": sum("replaced" in row["gold"] for row in rows),
        }

    @classmethod
    def remarks_of_build(cls, rows: Mapping[Mode, list[dict[str, Any]]], config: Config) -> list[str]:
        """That corrected labels stand in place of golds."""
        path = config.data.gold_overrides
        if path is None:
            return []
        counts = {mode: (sum("replaced" in row["gold"] for row in of_mode), len(of_mode)) for mode, of_mode in rows.items()}
        replaced = " and ".join(f"{part:,} of {whole:,} {mode} instances" for mode, (part, whole) in counts.items())
        return [
            f"The golds of {replaced} are those of the corrected labels {path.name} (SHA-256 {file_digest(path)[:12]}), not those of the task file; "
            "the published judge keeps to the task file."
        ]

    # --- while running --------------------------------------------------------------------------------------------------------------------------

    def __init__(self, folder: Path, config: Config) -> None:
        super().__init__(folder, config)
        without_method = self.manifest["questions"][config.mode]["without_method"]
        if config.data.show_method and without_method:
            raise UserError(
                f"data.show_method: there is no method for {without_method[0]} ({len(without_method)} calculators have none); put {METHOD_FILE} with "
                f"all of them beside the task files and delete {folder} to have the data built again, or set it to false"
            )

    def question(self, record: Mapping[str, Any]) -> str:
        """The patient note, the question and, where `data.show_method` says so, how the value is calculated."""
        about = record["about"]
        parts = [f"Patient note:\n\n{about['note']}", f"Question: {about['ask']}"]
        if self.config.data.show_method:
            parts.append(f"How it is calculated:\n\n{about['method']}")
        return "\n\n".join(parts)

    def reference_code(self, instance: Instance) -> str:
        """A program that leaves the gold. Raises `UserError` where the gold cannot be read."""
        return f"answer = {self._gold_value(instance)!r}\n"

    def broken_references(self, instance: Instance) -> dict[str, str]:
        """The gold 6 % too high and too low (dates and ages by a day); sign, month and day, or weeks and days swapped; and those of every task."""
        gold = instance.record["gold"]
        value = self._gold_value(instance)
        match gold["shape"]:
            case "number":
                step = _SLIGHTLY * abs(value) or _SLIGHTLY
                high, low, swapped = value + step, value - step, -value if value else 1
            case "date":
                day = date.fromisoformat(gold["value"])
                high, low = (f"{other:%m/%d/%Y}" for other in (day + timedelta(days=1), day - timedelta(days=1)))
                is_swappable = day.day <= MONTHS and day.day != day.month
                swapped = f"{day:%d/%m/%Y}" if is_swappable else f"{day:%m/%d}/{day.year + 4}"
            case _:
                weeks, days = gold["value"]
                high, low = (divmod(weeks * DAYS_A_WEEK + days + step, DAYS_A_WEEK) for step in (1, -1))
                swapped = (days, weeks) if days != weeks else (days, weeks + 1)
        programs = {"slightly_high": high, "slightly_low": low, "swapped": swapped}
        return {**super().broken_references(instance), **{name: f"answer = {value!r}\n" for name, value in programs.items()}}

    def cheats(self, instance: Instance) -> list[Probe]:
        """Those of every task, and answers that are every number at once."""
        return [
            *super().cheats(instance),
            code_probe("a_range_as_text", "cheat", "none", "answer = '0 to 1000'\nprint(answer)\n"),
            code_probe("infinite", "cheat", "none", "answer = float('inf')\nprint(answer)\n"),
            code_probe("every_date", "cheat", "none", "import pandas\n\nanswer = pandas.date_range('2000-01-01', '2030-12-31')\nprint(answer)\n"),
            code_probe("every_age", "cheat", "none", "answer = [(weeks, days) for weeks in range(43) for days in range(7)]\nprint(answer)\n"),
        ]

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        """`strict` by the shape of the gold; `published` as the published system compares."""
        return {"strict": CalculationJudge(), "published": PublishedCalculationJudge()}

    def _gold_value(self, instance: Instance) -> Any:
        gold = instance.record["gold"]
        match gold["shape"]:
            case "number":
                return gold["value"]
            case "date":
                return f"{date.fromisoformat(gold['value']):%m/%d/%Y}"
            case "weeks_and_days":
                return tuple(gold["value"])
            case _:
                raise UserError(f"{self.name} {instance.idx}: the gold cannot be read ({gold['published']!r})")


def _method_file(config: Config, files: Iterable[QuestionFile]) -> Path | None:
    """The texts of the methods beside the task files; None where there are none."""
    folders = dict.fromkeys(file.path.parent for file in files)
    return next((folder / METHOD_FILE for folder in folders if (folder / METHOD_FILE).is_file()), None)


def _methods(config: Config, files: Iterable[QuestionFile]) -> dict[str, str]:
    """How each value is calculated, by calculator."""
    if config.data.synthetic is not None:
        from medagentgym.synthetic.calculations import METHODS

        return dict(METHODS)
    path = _method_file(config, files)
    rows = [] if path is None else read_rows(path, "data.show_method")
    return {row.text("Calculator").strip(): row.text("Short Summary").strip() for row in rows}


def _text(row: SourceRow, column: str) -> str | None:
    """A column of a gold as text, None where it is empty. A list is the tuple that the CSV has."""
    value = row.get(column)
    if value is None:
        return None
    return str(tuple(value)) if isinstance(value, list) else row.text(column)


def _gold_of(row: SourceRow) -> dict[str, Any]:
    answer = _text(row, "Ground Truth Answer")
    if answer is None:
        raise UserError(f"{row.place}: has no Ground Truth Answer; correct {row.key}")
    lower, upper = (_text(row, f"{which} Limit") for which in ("Lower", "Upper"))
    try:
        return read_gold(answer, lower, upper)
    except ValueError as error:
        return {"shape": UNREADABLE, "published": answer, "ungradable": f"{NOT_EXPRESSIBLE}: {error}"}


def _has_open_limits(gold: Mapping[str, Any]) -> bool:
    return gold["shape"] == "number" and bool(gold["low"] != gold["high"])


def _built_row(row: SourceRow, methods: Mapping[str, str], correction: SourceRow | None, *, has_open_limits: bool) -> dict[str, Any]:
    calculator = row.text("Calculator Name").strip()
    stored = _gold_of(row)
    gold = stored if correction is None else _corrected(stored, correction, has_open_limits=has_open_limits)
    fault = _fault(calculator, gold)
    if fault is not None:
        gold["ungradable"] = f"{WRONG_GOLD}: {fault}"
    return {
        "gold": gold,
        "about": {
            "note": row.text("Patient Note").strip(),
            "ask": row.text("Question").strip(),
            "calculator": calculator,
            "category": row.text("Category", ""),
            "output_type": row.text("Output Type", ""),
            "method": methods.get(calculator),
        },
    }


def _corrected(stored: dict[str, Any], correction: SourceRow, *, has_open_limits: bool) -> dict[str, Any]:
    """The gold of a corrected label, with its own limits where it has them, else with such as its calculator has: open ones, or none but the gold."""
    gold = _gold_of(correction)
    if gold["shape"] == "number" and not has_open_limits and _text(correction, "Lower Limit") is None:
        gold |= {"low": gold["value"], "high": gold["value"]}
    if any(gold.get(key) != stored.get(key) for key in ("shape", "value", "low", "high")):
        gold["replaced"] = stored["published"]
    return {**gold, "published": stored["published"]}


def _fault(calculator: str, gold: Mapping[str, Any]) -> str | None:
    """What is wrong with a gold that can be told without the note."""
    if gold["shape"] != "number":
        return None
    value, low, high = gold["value"], gold["low"], gold["high"]
    if not low <= value <= high:
        return f"{value:g} lies outside of its own limits {low:g} to {high:g}"
    least, most = POSSIBLE_SCORES.get(calculator, (value, value))
    return None if least <= value <= most else f"{value:g} is no {calculator}, which is {least:g} to {most:g}"


def _corrections(path: Path | None, rows: list[SourceRow], mode: Mode) -> dict[int, SourceRow]:
    """The corrected labels of a mode, by `idx` of the row that they belong to.

    A label names its row by `idx` or by `Row Number`; without a column `mode` it belongs to the test file. Raises `UserError` for a label that names
    its row in neither way, is about another calculator than its row, or is not the only one of its row, and where no label belongs to any row.
    """
    if path is None:
        return {}
    numbers: dict[str, list[SourceRow]] = {}
    for numbered in rows:
        numbers.setdefault(numbered.text("Row Number", ""), []).append(numbered)
    labels = [label for label in read_rows(path, "data.gold_overrides") if _mode_of(label) == mode]
    found: dict[int, SourceRow] = {}
    for label in labels:
        if label.get("idx") is not None:
            idx = label.number("idx")
            row = rows[int(idx)] if isinstance(idx, int) and 0 <= idx < len(rows) else None
        else:
            of_number = numbers.get(label.text("Row Number"), [])
            if len(of_number) > 1:
                raise UserError(
                    f"{of_number[1].place}: has the Row Number {label.text('Row Number')} of row {of_number[0].idx}, so the label of {label.place} "
                    f"belongs to no row of its own; correct {of_number[1].key}, or name rows by idx in data.gold_overrides"
                )
            row = of_number[0] if of_number else None
        if row is None:
            continue
        calculator = label.text("Calculator Name", row.text("Calculator Name"))
        if calculator.strip() != row.text("Calculator Name").strip():
            raise UserError(
                f"{label.place}: is about {calculator}, while its row of the {mode} task file is about {row.text('Calculator Name')}; correct "
                "data.gold_overrides"
            )
        if row.idx in found:
            raise UserError(f"{label.place}: is a second label of row {row.idx} of the {mode} task file; correct data.gold_overrides")
        found[row.idx] = label
    if labels and not found:
        raise UserError(f"{path}: none of its labels belongs to a row of the {mode} task file; correct data.gold_overrides")
    return found


def _mode_of(label: SourceRow) -> str:
    mode = label.text("mode", "test")
    if mode not in MODES:
        raise UserError(f"{label.place}: mode is {mode}; expects train or test")
    return mode
