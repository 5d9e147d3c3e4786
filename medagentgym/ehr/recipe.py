"""How the data of one EHR task are built: what differs between the tasks that share `medagentgym.ehr.build`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medagentgym.built_data import Mode, QuestionFile
from medagentgym.config import DatasetConfig, SyntheticConfig
from medagentgym.ehr.database import DatabaseWriter
from medagentgym.ehr.gold import Gold, stored_gold
from medagentgym.ehr.questions import EHRSQL_FORMAT, Question, QuestionFormat, shown_question
from medagentgym.ehr.schema import Database


@dataclass(frozen=True)
class RawSource:
    """Raw tables that are to be cut into a task's database."""

    folder: Path
    """The folder of raw tables."""
    questions: Mapping[Mode, list[Question]]
    """The questions that will be asked: the cohort holds whom they name."""
    data: DatasetConfig
    scratch: Path
    """A folder for what is needed on the way; it exists not yet, and is removed afterwards."""
    progress: Callable[[str], None]


@dataclass(frozen=True)
class MadeUp:
    """Made-up raw tables with questions about them."""

    raw: Path
    questions: dict[Mode, QuestionFile]


def flat_gold(question: Question, sql: str) -> Gold:
    """The gold of a stored answer as the published task files have it: a flat list."""
    return stored_gold(question.stored_answer or (), sql, shown_question(question.template, question.question, impossible=False))


@dataclass(frozen=True)
class Recipe:
    """How one task's data are built. Functions import what they need when they run, because planning reads recipes as well."""

    task: str
    database: Database
    raw_tables: tuple[str, ...]
    """Upper-case names of the raw tables that are read (`data.raw_path`)."""
    write_from_raw: Callable[[RawSource, DatabaseWriter], dict[str, Any] | None]
    """Writes every table of the database from raw tables; gives what there is to say of the cohort. Raises `UserError`."""
    make_up: Callable[[SyntheticConfig, Path], MadeUp]
    """Makes raw tables and questions up, in a folder that does not exist yet."""
    executable_sql: Callable[[str], str]
    """The gold SQL of a question file, made to run on the database at its own "now"."""
    question_format: QuestionFormat = EHRSQL_FORMAT
    made_up_impossible: Callable[[SyntheticConfig, Mode], Collection[int]] = lambda config, mode: ()
    """The made-up questions of a mode that the database cannot answer, by `idx`."""
    stored_gold: Callable[[Question, str], Gold] = flat_gold
    """The gold of the answer that the question file holds; with the executable SQL, which is empty where there is none."""
