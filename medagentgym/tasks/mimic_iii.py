"""Task mimic_iii: questions about hospital patients, answered from 17 tables.

Records: MIMIC-III Clinical Database v1.4 (Johnson, Pollard, Mark; PhysioNet, https://doi.org/10.13026/C2XW26), or its openly available demo
(https://doi.org/10.13026/C2HM2Q). Questions and gold SQL: EHRSQL (Lee et al., 2022, https://github.com/glee4810/EHRSQL).
"""

from __future__ import annotations

from typing import ClassVar

from medagentgym.ehr.mimic_iii import RECIPE
from medagentgym.ehr.recipe import Recipe
from medagentgym.tasks.ehr_questions import EhrQuestionTask


class MimicIII(EhrQuestionTask):
    """EHRSQL's questions on its cut of MIMIC-III."""

    name: ClassVar[str] = "mimic_iii"
    recipe: ClassVar[Recipe] = RECIPE
