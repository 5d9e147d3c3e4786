"""A task small enough to be audited in a test: sums, whose rows say themselves what is wrong with them.

`install` makes it known to an interpreter whose path has the folder: a package's entry points, the code being this module.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from medagentgym.errors import UserError
from medagentgym.judges.base import Evidence, Judge, Verdict
from medagentgym.judges.references import ReferenceSummary
from medagentgym.record import write_json
from medagentgym.tasks.base import Instance, Task
from medagentgym.tasks.execution import Boxes, Execution
from medagentgym.tasks.probes import Probe, code_probe
from medagentgym.tasks.selection import select

TESTS = Path(__file__).resolve().parent


def install(folder: Path) -> None:
    """Write the entry points of a package with the tasks `sums`, `foolable_sums`, `own_sums` and `stuck_sums` into `folder`."""
    information = folder / "sums_task-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: sums-task\nVersion: 1\n")
    names = {"sums": "Sums", "foolable_sums": "FoolableSums", "own_sums": "OwnSums", "stuck_sums": "StuckSums"}
    lines = [f"{name} = sums_task:{kind}" for name, kind in names.items()]
    (information / "entry_points.txt").write_text("\n".join(["[medagentgym.tasks]", *lines]) + "\n")


def sum_of(first: int, second: int, **changes: Any) -> dict[str, Any]:
    """A row of the source file: a sum, and what differs from a sound one (`gold`, `program`, `broken`, `ungradable`, `impossible`)."""
    return {"question": f"{first} + {second}", "gold": first + second, "program": f"answer = {first} + {second}", **changes}


def write_rows(folder: Path, rows: Sequence[dict[str, Any]], mode: str = "test") -> Path:
    """Write a source folder; gives it back."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{mode}_tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


class SumJudge:
    """Accepts the gold itself, nothing else."""

    name = "strict"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Compare the answer; an impossible sum is to be abstained from."""
        if reference["impossible"] or evidence.abstained:
            return _verdict(reference["impossible"] and evidence.abstained)
        return _verdict(evidence.has_answer and json.dumps(evidence.answer) == json.dumps(reference["gold"]))

    def summarise(self, reference: Any) -> ReferenceSummary:
        """A gold of null is empty."""
        return ReferenceSummary("empty" if reference["gold"] is None else "usable", json.dumps(reference["gold"]))


class EqualityJudge(SumJudge):
    """As a judge would be that takes the agent's word for equality: `==` on the object itself."""

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Accept what calls itself equal to anything."""
        says_equal = isinstance(evidence.answer, dict) and evidence.answer.get("text") == "equal to anything"
        return _verdict(True) if says_equal else super().judge(reference, evidence)


class StuckJudge(SumJudge):
    """Gets stuck at the gold 0 where the variable `STUCK_IN` says so, after it has made a file `stuck` in the current folder."""

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """Match an expression without end, which keeps the interpreter, or ask SQLite without end, which looks for no signal."""
        if reference["gold"] == 0 and "STUCK_IN" in os.environ:
            Path("stuck").touch()
            if os.environ["STUCK_IN"] == "expression":
                re.match("(a+)+$", "a" * 60 + "b")
            sqlite3.connect(":memory:").execute("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n").fetchone()
        return super().judge(reference, evidence)


class OutputJudge:
    """Looks for the gold in what was printed."""

    name = "published"

    def judge(self, reference: Any, evidence: Evidence) -> Verdict:
        """A part of a number will do."""
        return _verdict(str(reference["gold"]) in evidence.stdout)


def _verdict(correct: bool) -> Verdict:
    return Verdict(correct, float(correct), "the sum" if correct else "another answer")


class Sums(Task):
    """Sums, read from `data_path`."""

    name: ClassVar[str] = "sums"
    permitted_actions: ClassVar[tuple[str, ...]] = ("validate_code", "submit")

    @classmethod
    def rows(cls, config: Any) -> list[dict[str, Any]]:
        lines = (config.data.data_path / f"{config.mode}_tasks.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    @classmethod
    def count(cls, config: Any) -> int:
        return len(cls.rows(config))

    @classmethod
    def impossible(cls, config: Any) -> set[int]:
        return {idx for idx, row in enumerate(cls.rows(config)) if row.get("impossible")}

    @classmethod
    def indices(cls, config: Any) -> list[int]:
        return select(config, cls.count(config), (), cls.impossible(config))

    @classmethod
    def sources(cls, config: Any) -> list[Path]:
        return sorted(config.data.data_path.glob("*_tasks.jsonl"))

    @classmethod
    def build(cls, config: Any, folder: Path) -> None:
        modes = {file.stem.removesuffix("_tasks"): file.read_text() for file in cls.sources(config)}
        (folder / "tables").mkdir(parents=True, exist_ok=True)
        (folder / "tables" / "numbers.csv").write_text("number\n" + "".join(f"{number}\n" for number in range(30)))
        write_json(folder / "tasks.json", {mode: [json.loads(line) for line in text.splitlines()] for mode, text in modes.items()})
        write_json(folder / "build.json", {"digest": hashlib.sha256(json.dumps(modes).encode()).hexdigest()})

    def instance(self, idx: int) -> Instance:
        row = json.loads((self.folder / "tasks.json").read_text())[self.config.mode][idx]
        return Instance(idx, f"sum-{idx}", row["question"], row)

    def prompt_fields(self, instance: Instance) -> dict[str, str]:
        return {"question": instance.question, "now": "", "tables": "numbers.csv", "answer_form": "Leave the sum in `answer`."}

    def mounts(self, instance: Instance) -> dict[str, Path]:
        return {"/data": self.folder / "tables"}

    def is_impossible(self, instance: Instance) -> bool:
        return bool(instance.record.get("impossible", False))

    def reference(self, instance: Instance) -> Any:
        return {"gold": instance.record["gold"], "impossible": self.is_impossible(instance)}

    def reference_code(self, instance: Instance) -> str:
        return str(instance.record["program"])

    def broken_references(self, instance: Instance) -> dict[str, str]:
        broken = instance.record.get("broken")
        return super().broken_references(instance) if broken is None else {"another_value": broken}

    def ungradable(self, instance: Instance) -> str | None:
        return instance.record.get("ungradable")

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        return {"strict": SumJudge(), "published": OutputJudge()}

    def instance_digest(self, idx: int) -> str:
        return hashlib.sha256(json.dumps(self.instance(idx).record, sort_keys=True).encode()).hexdigest()

    def data_digest(self) -> str:
        return str(json.loads((self.folder / "build.json").read_text())["digest"])


class FoolableSums(Sums):
    """Sums under a judge that can be fooled."""

    name: ClassVar[str] = "foolable_sums"

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        return {"strict": EqualityJudge(), "published": OutputJudge()}


class OwnSums(Sums):
    """Sums that gather their evidence themselves, so that no instance's evidence says anything of another."""

    name: ClassVar[str] = "own_sums"

    def execute(self, instance: Instance, code: str, boxes: Boxes, seed: int) -> Execution:
        return Execution.of(boxes.own().run(code, seed=seed))

    def reference_code(self, instance: Instance) -> str:
        if instance.record["program"] is None:
            raise UserError(f"own_sums {instance.idx}: has no program")
        return super().reference_code(instance)

    def cheats(self, instance: Instance) -> list[Probe]:
        """Those of every task, and the program after an early exit, which needs the program."""
        return [*super().cheats(instance), code_probe("exit_first", "cheat", "none", f"raise SystemExit(0)\n{self.reference_code(instance)}")]


class StuckSums(Sums):
    """Sums under a judge that gets stuck."""

    name: ClassVar[str] = "stuck_sums"

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        return {"strict": StuckJudge(), "published": OutputJudge()}
