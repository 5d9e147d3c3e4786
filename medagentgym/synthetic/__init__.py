"""Made-up patients in the shape of raw MIMIC-III, and questions about them in EHRSQL's format.

**What it is.** `generate` writes the sixteen raw MIMIC-III tables from which the task's tables are built (full column sets, names in capitals), and
a question file for training and one for testing. The same configuration gives the same bytes. Nobody described here exists: people, stays and values
come from a random number generator; no record of a patient is copied or resampled. ICD-9-CM codes, units, item identifiers and names of drugs,
tests and organisms are real terms.

**What it is good for.** Trying the whole workflow without credentials, and testing it: admissions repeat, some stays are still open at "now"
(2105-12-31 23:59:00), people die in hospital and elsewhere, values are missing, and some rows in a hundred are of the sort that the task's
tables leave out (no number, no unit, an unknown code, an item or a unit that is not kept).

**What it is not.** It is not clinically valid. Conditions push values, drugs and risks in a plausible direction by made-up amounts; incidences,
correlations, costs and outcomes mean nothing, and no model of care or of disease can be learned or judged from them. Scores on these questions are
not comparable with scores on MIMIC-III.

The same patients in the shape of raw eICU are `medagentgym.synthetic.eicu`.

From a shell: `python -m medagentgym.synthetic --patients 300 --seed 0 FOLDER`, with `--shape eicu` for the other shape.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medagentgym.errors import UserError
from medagentgym.synthetic.positions import Mode, impossible_indices

if TYPE_CHECKING:
    from medagentgym.config import SyntheticConfig
    from medagentgym.synthetic.facts import Facts

__all__ = ["generate", "impossible_indices"]

_MODES: tuple[Mode, ...] = ("train", "test")


MakeRows = Callable[["SyntheticConfig", "Facts", Mode], list[dict[str, Any]]]
"""Makes the rows of a mode's question file."""


def generate(config: SyntheticConfig, folder: Path, make_rows: MakeRows | None = None) -> None:
    """Write `folder/raw/<TABLE>.csv.gz` and `folder/questions/{train,test}.json`. None: single questions in EHRSQL's format.

    After a failure nothing of it is left in `folder`. Raises `UserError` where `folder` holds made-up data already, or where the patients give too
    few different questions.
    """
    from medagentgym.synthetic.cohort import make_cohort
    from medagentgym.synthetic.facts import Facts
    from medagentgym.synthetic.questions.making import make_questions
    from medagentgym.synthetic.questions.mimic_iii import MIMIC_III
    from medagentgym.synthetic.tables import raw_tables
    from medagentgym.synthetic.writing import write_questions, write_table

    targets = [folder / "raw", folder / "questions"]
    for target in targets:
        if target.exists():
            raise UserError(f"{target}: is there already; give an empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    workplace = Path(tempfile.mkdtemp(dir=folder, prefix=".partial-"))
    try:
        for target in targets:
            (workplace / target.name).mkdir()
        cohort = make_cohort(config.patients, config.seed)
        facts = Facts(cohort)
        for name, table in raw_tables(cohort, config.seed):
            facts.take(name, table)
            write_table(table, workplace / "raw" / f"{name}.csv.gz")
        for mode in _MODES:
            rows = make_questions(config, MIMIC_III, facts, mode) if make_rows is None else make_rows(config, facts, mode)
            write_questions(rows, workplace / "questions" / f"{mode}.json")
        for target in targets:
            (workplace / target.name).rename(target)
    except BaseException:
        for target in targets:
            shutil.rmtree(target, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
