"""The recipe of the database `eicu`: EHRSQL's cut of the eICU Collaborative Research Database."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from medagentgym.built_data import MODES, Mode, QuestionFile
from medagentgym.config import DatasetConfig, SyntheticConfig
from medagentgym.ehr.cohort import CohortRules
from medagentgym.ehr.database import DatabaseWriter
from medagentgym.ehr.eicu_schema import EICU
from medagentgym.ehr.gold import executable_sql
from medagentgym.ehr.questions import named_constants
from medagentgym.ehr.recipe import MadeUp, RawSource, Recipe

RAW_TABLES = ("PATIENT", "DIAGNOSIS", "TREATMENT", "LAB", "MEDICATION", "ALLERGY", "INTAKEOUTPUT", "MICROLAB", "VITALPERIODIC")


def write_from_raw(source: RawSource, writer: DatabaseWriter) -> dict[str, Any]:
    """Cut raw eICU down to the cohort that the questions and the configuration ask for; gives the cohort in numbers."""
    from medagentgym.ehr.costs import cost_rows
    from medagentgym.ehr.eicu_cut import CHARGED, EicuCut

    named = named_constants((question for rows in source.questions.values() for question in rows), "uniquepid")
    rules = cohort_rules(source.data)
    source.progress("cohort")
    with closing(EicuCut(source.folder, named, rules, source.scratch)) as cut:
        if cut.missing:
            source.progress(f"{source.folder}: has no {', '.join(cut.missing)}; the database's tables of that name are empty")
        for table in EICU.tables:
            rows = cost_rows(writer.connection, CHARGED, rules.seed) if table.name == "cost" else cut.rows(table.name)
            source.progress(f"{table.name}: {writer.write(table, rows):,} rows")
        return {
            "patients": len(cut.cohort.patients),
            "admissions": len({stay.stay.hospital_stay for stay in cut.cohort.stays}),
            "unit_stays": len(cut.cohort.stays),
            "current_patients": len(cut.cohort.current),
            "named_in_questions": len(named),
            "named_and_present": len(cut.cohort.named),
            "rules": rules.to_json(),
            "missing_raw_tables": list(cut.missing),
        }


def cohort_rules(data: DatasetConfig) -> CohortRules:
    """How the cohort is drawn: the old are kept, as an age of 90."""
    if data.synthetic is not None:
        return made_up_rules(data.synthetic.seed)
    return CohortRules(under_age=None, sample_patients=data.sample_patients, current_share=data.current_share, seed=data.seed)


def made_up_rules(seed: int) -> CohortRules:
    """How made-up patients are cut: all are taken, and get their dates as real ones do."""
    return replace(CohortRules.everything(seed), shift_times=True)


def make_up(config: SyntheticConfig, folder: Path) -> MadeUp:
    """Made-up patients in the shape of raw eICU, and EHRSQL's kind of questions about them."""
    from medagentgym.synthetic.eicu import generate

    generate(config, folder)
    files = {mode: QuestionFile(folder / "questions" / f"{mode}.json", f"data.synthetic.{mode}") for mode in MODES if getattr(config, mode) > 0}
    return MadeUp(folder / "raw", files)


def made_up_impossible(config: SyntheticConfig, mode: Mode) -> Collection[int]:
    """The made-up questions of a mode that the database cannot answer."""
    from medagentgym.synthetic import impossible_indices

    return impossible_indices(config, mode)


RECIPE = Recipe(
    task="eicu",
    database=EICU,
    raw_tables=RAW_TABLES,
    write_from_raw=write_from_raw,
    make_up=make_up,
    executable_sql=executable_sql,
    made_up_impossible=made_up_impossible,
)
