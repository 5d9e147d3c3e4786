"""Task ehr_seqsql: sequences of questions about hospital patients, of which the last is answered from 17 tables.

Records: MIMIC-III Clinical Database v1.4 (Johnson, Pollard, Mark; PhysioNet, https://doi.org/10.13026/C2XW26), or its openly available demo
(https://doi.org/10.13026/C2HM2Q), cut as for `mimic_iii`. Sequences: EHR-SeqSQL (Ryu et al., 2024, https://github.com/seonhee99/EHR-SeqSQL).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from medagentgym.built_data import Mode
from medagentgym.ehr.recipe import Recipe
from medagentgym.ehr.seqsql import RECIPE
from medagentgym.errors import UserError
from medagentgym.tasks.base import Instance
from medagentgym.tasks.ehr_questions import ANSWER_FORM, EhrQuestionTask
from medagentgym.tasks.probes import NOT_EXPRESSIBLE

if TYPE_CHECKING:
    from medagentgym.judges.base import Judge

SEQUENCE_FORM = (
    "The questions belong together: what comes later refers to what comes before. Answer the last one alone, in the light of those before it. "
)


class EhrSeqSql(EhrQuestionTask):
    """Sequences of questions on EHRSQL's cut of MIMIC-III."""

    name: ClassVar[str] = "ehr_seqsql"
    recipe: ClassVar[Recipe] = RECIPE
    answer_form: ClassVar[str] = SEQUENCE_FORM + ANSWER_FORM
    published_files: ClassVar[Mapping[Mode, tuple[str, ...]]] = {"train": ("train_tasks.jsonl",), "test": ("test_tasks.jsonl", "valid_tasks.jsonl")}
    code_modules: ClassVar[tuple[str, ...]] = (*EhrQuestionTask.code_modules, "medagentgym.ehr.seqsql")

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        """`strict` is that of all questions on tables, `published` accepts whatever is printed."""
        from medagentgym.judges.published_sequences import PublishedSequenceJudge

        return {**super().judges(), "published": PublishedSequenceJudge()}

    def reference_code(self, instance: Instance) -> str:
        """A program that runs the gold SQL; where there is only a stored answer, one that states it.

        Raises `UserError` where the SQL cannot be run or the stored answer not be read.
        """
        if instance.record["query"]:
            return super().reference_code(instance)
        gold = instance.record["gold"]
        if gold["status"] == "error":
            raise UserError(f"{self.name} {instance.idx}: the stored answer cannot be read ({gold['reason']})")
        rows = [row[0] for row in gold["rows"]] if gold["columns"] is None else gold["rows"]
        return f"answer = {rows!r}\n"

    def ungradable(self, instance: Instance) -> str | None:
        """Beside what holds of every question with gold SQL, stored answers of a shape that is not understood."""
        gold = instance.record["gold"]
        if not instance.record["query"] and gold["status"] == "error":
            return f"{NOT_EXPRESSIBLE}: {gold['reason']}"
        return super().ungradable(instance)
