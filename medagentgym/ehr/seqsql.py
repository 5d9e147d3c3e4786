"""The recipe of task `ehr_seqsql`: sequences of questions on the database `mimic_iii`.

Source of the published sequences: Ryu, Cho, Lee, Choi, EHR-SeqSQL: A Sequential Text-to-SQL Dataset For Interactively Exploring Electronic Health
Records, Findings of ACL 2024, https://github.com/seonhee99/EHR-SeqSQL. The published task files hold answers and no SQL.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medagentgym.built_data import MODES, QuestionFile
from medagentgym.config import SyntheticConfig
from medagentgym.ehr.database import DatabaseWriter
from medagentgym.ehr.gold import Gold, executable_sql
from medagentgym.ehr.mimic_iii import RECIPE as MIMIC_III_RECIPE
from medagentgym.ehr.mimic_iii import write_cohort
from medagentgym.ehr.questions import Question, QuestionFormat, named_patients
from medagentgym.ehr.recipe import MadeUp, RawSource, Recipe
from medagentgym.ehr.schema import MIMIC_III
from medagentgym.ehr.stored_answers import gold_of_stored, spoken_patients

QUESTION_FORMAT = QuestionFormat(
    before=("seed_question",), question=("question",), template=(), answer=("ans", "answer"), has_impossible=False, needs_query=False
)
"""The published task files (`seed_question`, `question`, `ans`); and ours, which have the SQL of the last question (`query`) in place of `ans`."""


def write_from_raw(source: RawSource, writer: DatabaseWriter) -> dict[str, Any]:
    """Cut raw MIMIC-III as for `mimic_iii`; the cohort holds the patients whom SQL or words name. Gives the cohort in numbers."""
    questions = [question for rows in source.questions.values() for question in rows]
    return write_cohort(source, writer, named_patients(questions) | spoken_patients([question.question for question in questions]))


def stored_gold(question: Question, sql: str) -> Gold:
    """The gold of a stored answer, by its shape."""
    return gold_of_stored(question.released_answer, question.question)


def make_up(config: SyntheticConfig, folder: Path) -> MadeUp:
    """Made-up patients in the shape of raw MIMIC-III, and sequences of questions about them."""
    from medagentgym.synthetic import generate
    from medagentgym.synthetic.sequences import make_sequences

    generate(config, folder, make_sequences)
    files = {mode: QuestionFile(folder / "questions" / f"{mode}.json", f"data.synthetic.{mode}") for mode in MODES if getattr(config, mode) > 0}
    return MadeUp(folder / "raw", files)


RECIPE = Recipe(
    task="ehr_seqsql",
    database=MIMIC_III,
    raw_tables=MIMIC_III_RECIPE.raw_tables,
    write_from_raw=write_from_raw,
    make_up=make_up,
    executable_sql=executable_sql,
    question_format=QUESTION_FORMAT,
    stored_gold=stored_gold,
)
