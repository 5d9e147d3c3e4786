"""Made-up patients in the shape of raw eICU, and questions about them in EHRSQL's format.

`generate` writes the nine raw tables from which the task's tables are built (full column sets, as in eICU-CRD v2.0), and a question file for
training and one for testing. The same configuration gives the same bytes. The patients are those of `medagentgym.synthetic`, written down as eICU
would: stays in the units of several hospitals, offsets in minutes instead of dates, paths instead of codes. What is said there of their worth holds
here too: nobody described here exists, nothing is clinically valid, and scores are not comparable with scores on eICU.

Questions take their parameters from the rows that the task's own cut (`medagentgym.ehr.eicu_cut`) makes of the raw tables, so that their answers
exist.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from medagentgym.errors import UserError

if TYPE_CHECKING:
    from medagentgym.config import SyntheticConfig
    from medagentgym.synthetic.positions import Mode

__all__ = ["generate"]

_MODES: tuple[Mode, ...] = ("train", "test")


def generate(config: SyntheticConfig, folder: Path) -> None:
    """Write `folder/raw/<table>.csv.gz` and `folder/questions/{train,test}.json`.

    After a failure nothing of it is left. Raises `UserError` where `folder` holds something, or where the patients give too few different questions.
    """
    from medagentgym.ehr.eicu import made_up_rules
    from medagentgym.ehr.eicu_cut import EicuCut
    from medagentgym.staging import staged_folder
    from medagentgym.synthetic.eicu.questions.eicu import EICU
    from medagentgym.synthetic.eicu.records import read_records
    from medagentgym.synthetic.eicu.tables import raw_tables
    from medagentgym.synthetic.eicu.visits import make_people
    from medagentgym.synthetic.questions.making import make_questions
    from medagentgym.synthetic.writing import write_questions, write_table

    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: not empty; give an empty or a new folder")
    with staged_folder(folder) as workplace:
        raw, questions, scratch = workplace / "raw", workplace / "questions", workplace / "scratch"
        raw.mkdir()
        questions.mkdir()
        people = make_people(config.patients, config.seed)
        for name, table in raw_tables(people, config.seed):
            write_table(table, raw / f"{name}.csv.gz")
        with closing(EicuCut(raw, (), made_up_rules(config.seed), scratch)) as cut:
            records = read_records(cut, people)
        for mode in _MODES:
            write_questions(make_questions(config, EICU, records, mode), questions / f"{mode}.json")
