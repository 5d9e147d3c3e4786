"""Task eicu: questions about patients of intensive care units in many hospitals, answered from 10 tables.

Records: eICU Collaborative Research Database v2.0 (Pollard et al.; PhysioNet, https://doi.org/10.13026/C2WM1R), or its openly available demo
(https://doi.org/10.13026/4mxk-na84). Questions and gold SQL: EHRSQL (Lee et al., 2022, https://github.com/glee4810/EHRSQL).
"""

from __future__ import annotations

from typing import ClassVar

from medagentgym.ehr.eicu import RECIPE
from medagentgym.ehr.recipe import Recipe
from medagentgym.tasks.ehr_questions import EhrQuestionTask


class Eicu(EhrQuestionTask):
    """EHRSQL's questions on its cut of eICU."""

    name: ClassVar[str] = "eicu"
    recipe: ClassVar[Recipe] = RECIPE
