"""Questions in TREQS's format about the made-up patients of `medagentgym.synthetic`.

The made-up raw tables are cut as real ones are (`medagentgym.ehr.treqs_cut`), and every question takes its parameters from rows of one admission, so
that its SQL finds something. The questions count patients, take extremes and means of ages and stays, or ask for columns of one patient, as TREQS's
do. Wordings are our own.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from medagentgym.errors import UserError

if TYPE_CHECKING:
    from medagentgym.config import SyntheticConfig
    from medagentgym.synthetic.positions import Mode

_MODES: tuple[Mode, ...] = ("train", "test")


def generate(config: SyntheticConfig, folder: Path) -> None:
    """Write `folder/raw/<TABLE>.csv.gz`, the raw tables that TREQS's database is made of, and `folder/questions/{train,test}.json` (JSON Lines).

    After a failure nothing of it is left. Raises `UserError` where `folder` exists, or where the patients give too few different questions.
    """
    from medagentgym.ehr.treqs import TREQS
    from medagentgym.ehr.treqs_cut import RAW_COLUMNS, TreqsCut
    from medagentgym.synthetic.cohort import make_cohort
    from medagentgym.synthetic.tables import raw_tables
    from medagentgym.synthetic.treqs.admissions import read_admissions
    from medagentgym.synthetic.treqs.making import make_questions
    from medagentgym.synthetic.writing import write_lines, write_table

    if folder.exists():
        raise UserError(f"{folder}: is there already; give a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    workplace = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".partial-"))
    try:
        raw, questions = workplace / "raw", workplace / "questions"
        raw.mkdir()
        questions.mkdir()
        for name, table in raw_tables(make_cohort(config.patients, config.seed), config.seed):
            if name in RAW_COLUMNS:
                write_table(table, raw / f"{name}.csv.gz")
        with closing(TreqsCut(raw, workplace / "scratch", TREQS)) as cut:
            admissions = read_admissions(cut)
        shutil.rmtree(workplace / "scratch", ignore_errors=True)
        for mode in _MODES:
            write_lines(make_questions(config, admissions, mode), questions / f"{mode}.json")
        workplace.rename(folder)
    except BaseException:
        shutil.rmtree(workplace, ignore_errors=True)
        raise
