"""What the cut of the made-up raw tables holds of every admission: what questions may be about."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from medagentgym.ehr.treqs import TREQS
from medagentgym.ehr.treqs_cut import TreqsCut

Record = dict[str, Any]
"""Column -> value."""


@dataclass
class Admission:
    """The rows of one hospital admission."""

    demographic: Record
    events: dict[str, list[Record]] = field(default_factory=lambda: defaultdict(list))
    """Rows of the other tables, by table."""


def read_admissions(cut: TreqsCut) -> list[Admission]:
    """Every admission of the cut, in its order."""
    admissions: dict[str, Admission] = {}
    for table in TREQS.tables:
        for row in cut.rows(table.name):
            record = dict(zip(table.column_names, row, strict=True))
            if table.name == "DEMOGRAPHIC":
                admissions[record["HADM_ID"]] = Admission(record)
            else:
                admissions[record["HADM_ID"]].events[table.name].append(record)
    return list(admissions.values())
