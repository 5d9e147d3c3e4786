"""Task biodsbench: analyse the tables of a cancer study.

Source: BioDSBench (Wang et al., 2024, https://arxiv.org/abs/2410.21591, https://github.com/RyanWangZf/BioDSBench) in its own JSON Lines, or in the
published layout with `dataframes` in place of `tables`. A row has `queries`, `cot_instructions`, `code_histories`, `reference_answer`, `test_cases`,
`study_ids` and `question_ids`. The tables are those of cBioPortal (`medagentgym.studies`), in a folder or an archive a study, which is named as the
row's `study_ids` or as cBioPortal names it (`dataset_url`).

An attempt is a program that leaves the variables which the test cases read. The code history runs before it, as its beginning. The assertions run
afterwards, in another box, on what the program left (`medagentgym.programs.left_variables`, `assertions`).
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from medagentgym.built_data import Mode
from medagentgym.env.observation import describe_step
from medagentgym.errors import UserError
from medagentgym.judges.assertions import AssertionsJudge, PublishedAssertionsJudge
from medagentgym.judges.base import Evidence
from medagentgym.programs.test_cases import TestCases, UnreadableTestsError
from medagentgym.programs.variable_cheats import changed_variables, variable_cheats
from medagentgym.programs.variable_runs import LARGEST_LEFT, Outcome, ProgramRun, check, run_program
from medagentgym.sandbox import configured_limits
from medagentgym.sandbox.base import BoxSpec
from medagentgym.studies import Study, find_studies, lay_out, table_names
from medagentgym.tasks.base import Instance
from medagentgym.tasks.execution import Boxes, Execution
from medagentgym.tasks.probes import CANNOT_RUN, NOT_EXPRESSIBLE, Probe
from medagentgym.tasks.task_file import VISIBLE_FOLDER, TaskFileTask

if TYPE_CHECKING:
    from medagentgym.config import Config, SyntheticConfig
    from medagentgym.judges.base import Judge
    from medagentgym.row_files import SourceRow

DATA_FOLDER = "/workdir"
"""Where the tables are in the box, and where published programs look for them."""
STUDIES_FOLDER = "data"
"""Folder of the studies in the published layout."""

_PATH = re.compile(r"(?<=[\"'])\.?/workdir(?=[/\"'])")
_TABLE = re.compile(r"/workdir/([\w.-]+\.csv)")
_LONGEST_CELL = 40
_MOST_COLUMNS = 30
_KEPT_OUTPUT = 20_000


class BioDSBench(TaskFileTask):
    """BioDSBench's questions about studies."""

    name: ClassVar[str] = "biodsbench"
    environment_family: ClassVar[str] = "bioinformatics"
    code_modules: ClassVar[tuple[str, ...]] = ("medagentgym.tasks.task_file", "medagentgym.programs")
    source_keys: ClassVar[tuple[str, ...]] = ("data_path", "raw_path", "questions", "synthetic")
    boxes_an_episode: ClassVar[int] = 2
    preload: ClassVar[tuple[str, ...]] = (*BoxSpec.preload, "scipy.stats", "matplotlib.pyplot", "lifelines", "pyarrow.parquet")
    attempt_form: ClassVar[str] = "no program has run to its end and left the variables that are asked for"

    # --- the build ------------------------------------------------------------------------------------------------------------------------------

    @classmethod
    def built_rows(cls, rows: list[SourceRow], mode: Mode, config: Config) -> list[dict[str, Any]]:
        """The built rows of a mode, with the study of each."""
        studies = cls.studies(config)
        if config.data.raw_path is not None and not studies:
            raise UserError(f"{config.data.raw_path}: holds no study, which is a folder or an archive of tables; correct data.raw_path")
        made_up = config.data.synthetic is not None
        tables = {name: set(table_names(study)) for name, study in studies.items()} if not made_up else {}
        built = [_built_row(row, tables, made_up=made_up) for row in rows]
        for name, count in sorted(cls.counts_of_build(built)["missing_studies"].items()):
            print(f"{cls.name}: {mode}: the tables of study {name} are missing ({count} instances)", file=sys.stderr, flush=True)
        return built

    @classmethod
    def studies(cls, config: Config) -> dict[str, Study]:
        """The studies that are at hand, by name; none for made-up ones."""
        data = config.data
        if data.raw_path is not None:
            return find_studies(data.raw_path, "data.raw_path")
        folder = data.data_path / STUDIES_FOLDER if data.data_path is not None else None
        return find_studies(folder, "data.data_path") if folder is not None and folder.is_dir() else {}

    @classmethod
    def further_sources(cls, config: Config) -> list[Path]:
        """Archives and tables of the studies."""
        return [path for study in cls.studies(config).values() for path in study.files]

    @classmethod
    def build_visible(cls, folder: Path, rows: Mapping[Mode, list[dict[str, Any]]], config: Config) -> None:
        """The tables of every study that a row needs, in a folder a study."""
        needed = sorted({row["about"]["study"] for of_mode in rows.values() for row in of_mode if row["about"]["study"] is not None})
        if config.data.synthetic is not None:
            from medagentgym.synthetic.cancer_study import STUDY, write_study

            with TemporaryDirectory() as made:
                write_study(config.data.synthetic.seed, Path(made) / STUDY)
                lay_out(Study(STUDY, Path(made) / STUDY), folder / STUDY)
            return
        studies = cls.studies(config)
        for name in needed:
            lay_out(studies[name], folder / name)

    @classmethod
    def made_up_rows(cls, synthetic: SyntheticConfig, mode: Mode) -> list[dict[str, Any]]:
        """Made-up questions about a made-up study (see `medagentgym.synthetic.cancer_study`)."""
        from medagentgym.synthetic.cancer_study import make_rows

        return make_rows(synthetic.seed, mode, getattr(synthetic, mode))

    @classmethod
    def counts_of_build(cls, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """How many instances each study has, and which studies are missing."""
        counts: dict[str, int] = {}
        missing: dict[str, int] = {}
        for row in rows:
            about = row["about"]
            found = counts if about["study"] is not None else missing
            name = about["study"] or " or ".join(about["study_names"])
            found[name] = found.get(name, 0) + 1
        return {"studies": counts, "missing_studies": missing}

    @classmethod
    def remarks_of_build(cls, rows: Mapping[Mode, list[dict[str, Any]]], config: Config) -> list[str]:
        """Which studies are missing."""
        remarks = []
        for mode, of_mode in rows.items():
            missing = cls.counts_of_build(of_mode)["missing_studies"]
            if missing:
                named = "; ".join(f"{name}: {count} instances" for name, count in sorted(missing.items()))
                remarks.append(f"{cls.name}, {mode}: the tables of {len(missing)} studies are missing ({named}); these instances cannot be judged")
        return remarks

    # --- while running --------------------------------------------------------------------------------------------------------------------------

    def mounts(self, instance: Instance) -> dict[str, Path]:
        """The tables of the instance's study, at `/workdir`."""
        study = instance.record["about"]["study"]
        return {} if study is None else {DATA_FOLDER: self.folder / VISIBLE_FOLDER / study}

    def prompt_fields(self, instance: Instance) -> dict[str, str]:
        """The question with the code that runs before, the tables with a few rows each, and what is to be left."""
        about = instance.record["about"]
        tests = self._tests(instance)
        named = " and ".join(", ".join(f"`{name}`" for name in tests.variables).rsplit(", ", 1)) if tests is not None else "what is asked for"
        folder = self.folder / VISIBLE_FOLDER / about["study"] if about["study"] is not None else None
        return {
            "question": self._with_paths(_question(instance.question, about["history"]), instance),
            "now": "",
            "tables": _preview(folder, self.config.env.preview_rows) if folder is not None else _told_tables(about),
            "data_folder": self.seen_at(DATA_FOLDER, instance) if folder is not None else DATA_FOLDER,
            "answer_form": f"At the end of your program leave {named}: variables of these names, as the question describes them.",
            "purpose": "You answer a question about the tables of a cancer study.",
            "attempt_rule": "Your program must leave the variables that are asked for; printing them is not enough. Plain values, lists, "
            "dictionaries, NumPy arrays and pandas tables are taken as they are; of fitted models and figures, what they say of themselves.",
            "what_counts": "what the last program that ran to its end and left these variables left",
            "every_attempt": "Every program that runs to its end and leaves these variables is an attempt.",
        }

    def execute(self, instance: Instance, code: str, boxes: Boxes, seed: int) -> Execution:
        """Run history and code in the episode's box, and the assertions on what is left in a fresh one. Raises `InfrastructureError`."""
        limits, characters = configured_limits(self.config.sandbox), self.config.env.observation_characters
        tests = self._tests(instance)
        if tests is None:
            return Execution.of(boxes.own().run(code, seed=seed))
        history = self._with_paths(instance.record["about"]["history"], instance)
        run = run_program(boxes.own(), history, code, tests, seed)
        shown = describe_step(run.result, limits, characters, expects_answer=False)
        missing = [name for name in tests.variables if run.left.get(name, ("missing", ""))[0] not in ("data", "object")]
        if not run.ran_to_its_end or missing:
            return Execution(run.result, None, _remark(run, missing), shown)
        with boxes.fresh() as box:
            outcomes = check(box, self._located(tests, instance), run)
        return Execution(run.result, _evidence(run, outcomes), _remark(run, missing), shown)

    def reference(self, instance: Instance) -> dict[str, Any]:
        """The gold of the built row, and the study."""
        return {**instance.record["gold"], "study": instance.record["about"]["study"]}

    def reference_code(self, instance: Instance) -> str:
        """The published solution. It is run after the code history, as every attempt is."""
        return self._with_paths(str(instance.record["gold"]["solution"]), instance)

    def broken_references(self, instance: Instance) -> dict[str, str]:
        """The published solution with every variable changed, with one missing, and with nothing in them."""
        tests = self._tests(instance)
        return {} if tests is None else changed_variables(self.reference_code(instance), tests.variables)

    def cheats(self, instance: Instance) -> list[Probe]:
        """Programs that leave something under the names that are asked for (see `medagentgym.programs.variable_cheats`)."""
        tests = self._tests(instance)
        return [] if tests is None else variable_cheats(tests.variables)

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        """`strict`: all assertions hold; `published`: whatever does not fail."""
        return {"strict": AssertionsJudge(), "published": PublishedAssertionsJudge()}

    def _tests(self, instance: Instance) -> TestCases | None:
        gold = instance.record["gold"]
        return _read_tests(gold["test_cases"], instance.record["about"]["history"], gold["solution"])

    def _located(self, tests: TestCases, instance: Instance) -> TestCases:
        return replace(tests, units=tuple(self._with_paths(unit, instance) for unit in tests.units))

    def _with_paths(self, text: str, instance: Instance) -> str:
        """A program with the paths of the tables as the box shows them."""
        folder = self.seen_at(DATA_FOLDER, instance) if self.mounts(instance) else DATA_FOLDER
        return _PATH.sub(lambda _: folder, text)


@lru_cache(maxsize=512)
def _read_tests(test_cases: str, history: str, solution: str) -> TestCases | None:
    try:
        return TestCases.read(test_cases, (history, solution))
    except UnreadableTestsError:
        return None


def _built_row(row: SourceRow, tables: Mapping[str, set[str]], *, made_up: bool) -> dict[str, Any]:
    history, solution = _program(row, "code_histories"), _program(row, "reference_answer")
    test_cases = row.text("test_cases")
    names = _study_names(row)
    needed = _needed_tables(row, (history, solution, test_cases))
    study = names[0] if made_up else next((name for name in names if name in tables), None)
    gold: dict[str, Any] = {"solution": solution, "test_cases": test_cases, "assertions": 0}
    try:
        tests = TestCases.read(test_cases, (history, solution))
        gold["assertions"] = sum(tests.assertions)
        if not tests.variables:
            gold["ungradable"] = f"{NOT_EXPRESSIBLE}: the test cases look at no variable of the program"
    except UnreadableTestsError as error:
        gold["ungradable"] = f"{NOT_EXPRESSIBLE}: {error}"
    if study is None:
        gold["ungradable"] = f"{CANNOT_RUN}: the tables of study {' or '.join(names) or 'without a name'} are missing ({', '.join(needed)})"
    elif not made_up and not set(needed) <= tables[study]:
        lacking = ", ".join(sorted(set(needed) - tables[study]))
        gold["ungradable"] = f"{CANNOT_RUN}: study {study} has no {lacking}"
    identity = row.text("unique_question_ids", f"{row.text('study_ids', 'study')}_{row.text('question_ids', str(row.idx))}")
    about = {"study": study, "study_names": names, "tables": needed, "history": history, "told": row.text("dataframes", "")}
    steps = row.text("cot_instructions", "").strip()
    question = row.text("queries").strip() + (f"\n\nSteps:\n\n{steps}" if steps else "")
    return {"id": identity, "question": question, "gold": gold, "about": about}


def _program(row: SourceRow, name: str) -> str:
    """A column that is a program, or a list of programs that follow each other, or nothing."""
    value = row.get(name)
    if isinstance(value, list):
        if not all(isinstance(part, str) for part in value):
            raise UserError(f"{row.place}: {name} is no list of programs; correct {row.key}")
        return "\n\n".join(value)
    text = row.text(name, "")
    return "" if text.strip() in ("", "[]", "None", "null") else text


def _study_names(row: SourceRow) -> list[str]:
    """What the study may be called: the row's own name, and cBioPortal's."""
    url = row.text("dataset_url", "")
    of_url = parse_qs(urlsplit(url).query).get("id", [])
    return list(dict.fromkeys(name for name in (row.text("study_ids", ""), *of_url) if name))


def _needed_tables(row: SourceRow, programs: Iterable[str]) -> list[str]:
    """The tables that a row names, or else that its programs read."""
    listed = row.get("tables")
    if isinstance(listed, str):
        try:
            listed = json.loads(listed)
        except ValueError:
            listed = _TABLE.findall(listed)
    if isinstance(listed, list) and listed:
        return sorted({Path(str(name)).name for name in listed})
    return sorted(set(_TABLE.findall("\n".join([row.text("dataframes", ""), *programs]))))


def _question(question: str, history: str) -> str:
    if not history.strip():
        return question
    return f"{question}\n\nThis code has run already; your program continues where it ends, in the same process:\n\n```python\n{history.strip()}\n```"


@lru_cache(maxsize=64)
def _preview(folder: Path, rows: int) -> str:
    """Every table's file, number of rows, columns and first rows."""
    parts = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="", errors="replace") as stream:
            reader = csv.reader(stream)
            first = [_line(cells) for cells in islice(reader, 1 + rows)]
            count = max(0, len(first) - 1) + sum(1 for _ in reader)
        parts.append("\n".join([f"{path.name} ({count:,} rows)", *first]))
    return "\n\n".join(parts)


def _line(cells: list[str]) -> str:
    shown = [cell if len(cell) <= _LONGEST_CELL else cell[:_LONGEST_CELL] + "..." for cell in cells[:_MOST_COLUMNS]]
    more = [f"... ({len(cells) - _MOST_COLUMNS} more columns)"] if len(cells) > _MOST_COLUMNS else []
    return ",".join([*(f'"{cell}"' if "," in cell else cell for cell in shown), *more])


def _told_tables(about: Mapping[str, Any]) -> str:
    return about["told"] or "\n".join(about["tables"])


def _evidence(run: ProgramRun, outcomes: list[Outcome]) -> Evidence:
    result = run.result
    return Evidence(
        has_answer=True,
        answer=None,
        stdout=result.stdout[:_KEPT_OUTPUT],
        stderr=result.stderr[:_KEPT_OUTPUT],
        exit_status=0,
        gathered={
            "assertions": [outcome.to_json() for outcome in outcomes],
            "left": {name: f"{kind}: {what}" for name, (kind, what) in run.left.items()},
        },
    )


def _remark(run: ProgramRun, missing: list[str]) -> str:
    parts = []
    taken = [f"{name} ({what}{'' if kind == 'data' else ', which is no data'})" for name, (kind, what) in run.left.items() if name not in missing]
    if taken:
        parts.append(f"Left: {', '.join(taken)}.")
    for name in missing:
        kind, what = run.left.get(name, ("missing", ""))
        words = {
            "missing": f"`{name}` is missing.",
            "too large": f"`{name}` is too large to be taken ({what}; {LARGEST_LEFT // 2**20} MiB is the most for all variables together).",
        }
        if run.ran_to_its_end:
            parts.append(words.get(kind, f"`{name}` cannot be taken ({what})."))
    if run.threads:
        parts.append(f"Threads that still ran at the end of the program were stopped ({run.threads}).")
    if run.open_files:
        parts.append(f"Files were left open ({run.open_files}); what was not written out by then may be lost.")
    if run.result.exit_status == 0 and not run.ran_to_its_end:
        parts.append("The program ended itself before its end, so nothing was taken of it.")
    if missing or not run.ran_to_its_end:
        parts.append("This was no attempt.")
    return "\n".join(parts)
