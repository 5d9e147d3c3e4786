"""An example of a package that adds a task and an agent: how much of a drug does a patient of a given weight get?

The task's source is `data_path`, a folder with `test_tasks.jsonl`: one object a line, with `drug`, `weight_kg` and `dose_mg`. The agent's code finds
a table of doses at `/data/doses.csv`.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from medagentgym.agent.conversation import ConversationAgent, Reply
from medagentgym.env.replies import as_reply
from medagentgym.errors import UserError
from medagentgym.judges import Evidence, Judge, Verdict
from medagentgym.record import write_json
from medagentgym.tasks.base import Instance, Task
from medagentgym.tasks.selection import select


class DoseJudge:
    """Accepts a number within 1 % of the reference."""

    def __init__(self, name: str) -> None:
        self.name = name

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        answer = evidence.answer
        correct = isinstance(answer, int | float) and abs(answer - reference) <= 0.01 * abs(reference)
        return Verdict(correct, float(correct), f"{answer} against {reference}")


class Doses(Task):
    """Doses by body weight."""

    name = "doses"
    permitted_actions = ("validate_code", "submit")

    # --- while planning: from the configuration and the source files alone ---

    @classmethod
    def source(cls, config: Any) -> Path:
        if config.data.data_path is None:
            raise UserError("data.data_path: is missing; name the folder that holds test_tasks.jsonl")
        return config.data.data_path / f"{config.mode}_tasks.jsonl"

    @classmethod
    def rows(cls, path: Path) -> list[dict[str, Any]]:
        try:
            return [json.loads(line) for line in path.read_text().splitlines()]
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: cannot be read ({error})") from error

    @classmethod
    def count(cls, config: Any) -> int:
        return len(cls.rows(cls.source(config)))

    @classmethod
    def indices(cls, config: Any) -> list[int]:
        return select(config, cls.count(config), left_out=())

    @classmethod
    def sources(cls, config: Any) -> list[Path]:
        return [cls.source(config)]

    # --- the build: what the agent's code may read goes into a folder of its own; build.json comes last ---

    @classmethod
    def build(cls, config: Any, folder: Path) -> None:
        rows = cls.rows(cls.source(config))
        write_json(folder / "tasks.json", rows)
        per_kg = {row["drug"]: row["dose_mg"] / row["weight_kg"] for row in rows}
        (folder / "tables").mkdir(exist_ok=True)
        (folder / "tables" / "doses.csv").write_text("drug,mg_per_kg\n" + "".join(f"{drug},{dose}\n" for drug, dose in per_kg.items()))
        write_json(folder / "build.json", {"digest": hashlib.sha256(json.dumps(rows).encode()).hexdigest()})

    # --- while running ---

    def instance(self, idx: int) -> Instance:
        row = json.loads((self.folder / "tasks.json").read_text())[idx]
        return Instance(idx, f"dose-{idx}", f"How many mg of {row['drug']} does a patient of {row['weight_kg']} kg get?", row)

    def prompt_fields(self, instance: Instance) -> dict[str, str]:
        tables = f"{self.seen_at('/data', instance)}/doses.csv: drug, mg_per_kg"
        return {"question": instance.question, "now": "", "tables": tables, "answer_form": "Leave the number of mg in `answer`."}

    def mounts(self, instance: Instance) -> dict[str, Path]:
        return {"/data": self.folder / "tables"}

    def reference(self, instance: Instance) -> float:
        return float(instance.record["dose_mg"])

    def reference_code(self, instance: Instance) -> str:
        return f"answer = {instance.record['dose_mg']}"

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        return {name: DoseJudge(name) for name in ("strict", "published")}

    def instance_digest(self, idx: int) -> str:
        return hashlib.sha256(json.dumps(self.instance(idx).record, sort_keys=True).encode()).hexdigest()

    def data_digest(self) -> str:
        return str(json.loads((self.folder / "build.json").read_text())["digest"])


class Multiplier(ConversationAgent):
    """Reads drug and weight out of the question and multiplies."""

    name = "multiplier"

    def reply(self, messages: Any) -> Reply:
        if messages[-1]["role"] == "user" and "# Question" in messages[-1]["content"]:
            found = re.search(r"mg of (\w+) does a patient of ([\d.]+) kg", messages[-1]["content"])
            if found:
                read = "import pandas as pd\ndoses = pd.read_csv('/data/doses.csv', index_col='drug')\n"
                code = f"{read}answer = doses.mg_per_kg['{found[1]}'] * {found[2]}"
                return Reply(as_reply("validate_code", {"code": code}))
        return Reply(as_reply("submit", {}))
