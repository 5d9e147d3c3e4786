"""A small task with five questions, and records of episodes on it, for the tests of scores and summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from medagentgym.errors import UserError
from medagentgym.judges.base import Evidence, Judge
from medagentgym.judges.published import PublishedEhrJudge
from medagentgym.judges.row_sets import RowSetJudge
from medagentgym.record import RECORD_SCHEMA, write_json
from medagentgym.tasks.base import Instance

GOLDS: list[dict[str, Any]] = [
    {"gold": {"columns": ["n"], "rows": [[1]], "boolean": False, "status": "usable"}, "published": ["1"]},
    {"gold": {"columns": ["route"], "rows": [["iv"], ["po"]], "boolean": False, "status": "usable"}, "published": ["iv", "po"]},
    {"gold": {"columns": ["n"], "rows": [[1]], "boolean": True, "status": "usable"}, "published": ["1"]},
    {"gold": {"columns": ["drug"], "rows": [], "boolean": False, "status": "usable"}, "published": []},
    {"gold": {"columns": None, "rows": [], "boolean": False, "status": "error", "reason": "no such table"}, "published": []},
]


class SmallTask:
    """Five questions: a count, a list, a yes-or-no question, one without an answer, and one whose reference failed."""

    name: ClassVar[str] = "small"

    def instance(self, idx: int) -> Instance:
        if idx >= len(GOLDS):
            raise UserError(f"small: there is no instance {idx}")
        return Instance(idx, f"question-{idx}", f"Which of the {idx + 100}?", {})

    def reference(self, instance: Instance) -> Any:
        return GOLDS[instance.idx]

    def is_impossible(self, instance: Instance) -> bool | None:
        return None

    def judges(self) -> dict[str, Judge]:
        return {"strict": RowSetJudge(), "published": PublishedEhrJudge()}


class TaskWithImpossible(SmallTask):
    """The same five questions, and three that the data cannot answer."""

    def instance(self, idx: int) -> Instance:
        return Instance(idx, f"question-{idx}", "?", {}) if len(GOLDS) <= idx < len(GOLDS) + 3 else super().instance(idx)

    def reference(self, instance: Instance) -> Any:
        impossible = {"gold": {"columns": [], "rows": [], "boolean": False, "status": "empty", "impossible": True}, "published": []}
        return impossible if self.is_impossible(instance) else super().reference(instance)

    def is_impossible(self, instance: Instance) -> bool:
        return instance.idx >= len(GOLDS)


def abstention(position: int = 0) -> dict[str, Any]:
    """The attempt of an episode that ended in abstaining."""
    return {"step": position, "evidence": Evidence(False, None, "", "", None, abstained=True).to_json(), "verdicts": {}}


def attempt(answer: Any, printed: str | None = None, *, has_answer: bool = True, **changes: Any) -> dict[str, Any]:
    stdout = f"{answer}\n" if printed is None else printed
    evidence = Evidence(has_answer, answer if has_answer else None, stdout, "", 0).to_json()
    return {"step": 0, "evidence": evidence | changes, "verdicts": {}}


def write_episode(folder: Path, position: int, *attempts: dict[str, Any], rollout: int | None = None, **changes: Any) -> Path:
    """Write the record of an episode below `folder`, which stands for `<work_dir>/<task>/<tag>/<mode>`."""
    path = folder / (f"history_{position}.json" if rollout is None else f"history_{position}_{rollout}.json")
    record: dict[str, Any] = {
        "schema": RECORD_SCHEMA,
        "task": "small",
        "mode": folder.name,
        "idx": position,
        "instance_id": f"question-{position}",
        "rollout": rollout or 0,
        "seed": 0,
        "protocol": "submit",
        "stop_judge": "strict",
        "messages": [],
        "steps": [{"action": "validate_code", "wall_seconds": 0.25, "cpu_seconds": 0.125} for _ in attempts] + [{"action": "submit"}],
        "attempts": list(attempts),
        "result": "failure",
        "score": 0.0,
        "stop_reason": "submitted",
        "usage": {
            "calls": 2,
            "retries": 0,
            "prompt_tokens": 1000,
            "completion_tokens": 50,
            "reasoning_tokens": 0,
            "cached_tokens": 0,
            "cost": None,
        },
        "sandbox": {"backend": "bubblewrap", "level": "namespaces"},
    }
    write_json(path, record | changes)
    return path


def write_published_episode(folder: Path, idx: int, result: dict[str, Any]) -> Path:
    """Write a record of the published system: a list of chat messages and a result."""
    path = folder / f"history_{idx}.json"
    write_json(path, [{"role": "user", "content": "?"}, {"role": "assistant", "content": "{}"}, result])
    return path
