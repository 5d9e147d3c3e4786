"""The recipe of the database `mimic_iii`: EHRSQL's cut of MIMIC-III."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

from medagentgym.built_data import MODES, Mode, QuestionFile
from medagentgym.config import DatasetConfig, SyntheticConfig
from medagentgym.ehr.cohort import Cohort, CohortRules
from medagentgym.ehr.database import DatabaseWriter
from medagentgym.ehr.gold import executable_sql
from medagentgym.ehr.questions import named_patients
from medagentgym.ehr.recipe import MadeUp, RawSource, Recipe
from medagentgym.ehr.schema import MIMIC_III


def write_from_raw(source: RawSource, writer: DatabaseWriter) -> dict[str, Any]:
    """Cut raw MIMIC-III down to the cohort that the questions and the configuration ask for; gives the cohort in numbers."""
    return write_cohort(source, writer, named_patients(question for rows in source.questions.values() for question in rows))


def write_cohort(source: RawSource, writer: DatabaseWriter, named: Collection[int]) -> dict[str, Any]:
    """The same for a cohort that holds the patients `named`."""
    from medagentgym.ehr.costs import cost_rows
    from medagentgym.ehr.cut import CHARGED, MimicIIICut

    rules = cohort_rules(source.data)
    source.progress("cohort")
    with closing(MimicIIICut(source.folder, named, rules, source.scratch)) as cut:
        for table in MIMIC_III.tables:
            rows = cost_rows(writer.connection, CHARGED, rules.seed) if table.name == "COST" else cut.rows(table.name)
            source.progress(f"{table.name}: {writer.write(table, rows):,} rows")
        return cohort_in_numbers(cut.cohort, len(named), rules)


def cohort_rules(data: DatasetConfig) -> CohortRules:
    """How the cohort is drawn. Made-up patients are all taken, as they are."""
    if data.synthetic is not None:
        return CohortRules.everything(seed=data.synthetic.seed)
    return CohortRules(sample_patients=data.sample_patients, current_share=data.current_share, seed=data.seed)


def cohort_in_numbers(cohort: Cohort, named: int, rules: CohortRules) -> dict[str, Any]:
    """What the manifest says of a cohort; `named` patients stand in the questions."""
    return {
        "patients": len(cohort.shift_days),
        "admissions": len(cohort.admissions),
        "current_patients": len(cohort.current),
        "named_in_questions": named,
        "named_and_present": len(cohort.named),
        "rules": rules.to_json(),
    }


def make_up(config: SyntheticConfig, folder: Path) -> MadeUp:
    """Made-up patients in the shape of raw MIMIC-III, and EHRSQL's kind of questions about them."""
    from medagentgym.synthetic import generate

    generate(config, folder)
    files = {mode: QuestionFile(folder / "questions" / f"{mode}.json", f"data.synthetic.{mode}") for mode in MODES if getattr(config, mode) > 0}
    return MadeUp(folder / "raw", files)


def made_up_impossible(config: SyntheticConfig, mode: Mode) -> Collection[int]:
    """The made-up questions of a mode that the database cannot answer."""
    from medagentgym.synthetic import impossible_indices

    return impossible_indices(config, mode)


RECIPE = Recipe(
    task="mimic_iii",
    database=MIMIC_III,
    raw_tables=tuple(table.name for table in MIMIC_III.tables if table.name != "COST"),
    write_from_raw=write_from_raw,
    make_up=make_up,
    executable_sql=executable_sql,
    made_up_impossible=made_up_impossible,
)
