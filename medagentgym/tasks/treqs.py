"""Task treqs: questions about hospital admissions, answered from five tables.

Records: MIMIC-III Clinical Database v1.4 (Johnson, Pollard, Mark; PhysioNet, https://doi.org/10.13026/C2XW26), or its openly available demo
(https://doi.org/10.13026/C2HM2Q). Questions and gold SQL: TREQS (Wang, Shi, Reddy, 2020, https://github.com/wangpinggl/TREQS).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from medagentgym.built_data import Mode
from medagentgym.ehr.recipe import Recipe
from medagentgym.ehr.treqs import RECIPE
from medagentgym.tasks.base import Instance
from medagentgym.tasks.ehr_questions import ANSWER_FORM, EhrQuestionTask
from medagentgym.tasks.treqs_faults import fault

CONVENTIONS = (
    "Each row of DEMOGRAPHIC is one hospital admission; the other tables belong to it by HADM_ID. Where a question names several conditions, they "
    "hold of one and the same admission. Where patients are counted, each counts once; a mean is one over admissions. "
)
"""What the questions take for granted."""


class Treqs(EhrQuestionTask):
    """TREQS's questions on its cut of MIMIC-III."""

    name: ClassVar[str] = "treqs"
    recipe: ClassVar[Recipe] = RECIPE
    answer_form: ClassVar[str] = CONVENTIONS + ANSWER_FORM
    published_files: ClassVar[Mapping[Mode, tuple[str, ...]]] = {"train": ("train_tasks.jsonl",), "test": ("test_tasks.jsonl", "valid_tasks.jsonl")}
    code_modules: ClassVar[tuple[str, ...]] = (*EhrQuestionTask.code_modules, "medagentgym.ehr.treqs")

    def ungradable(self, instance: Instance) -> str | None:
        """Beside what holds of every question with gold SQL, the faults of TREQS's own (`medagentgym.tasks.treqs_faults`)."""
        return super().ungradable(instance) or fault(instance.question, instance.record["sql"], instance.record["gold"])
