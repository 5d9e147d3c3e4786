"""What the tests of several EHR tasks do alike: build, run reference code, judge, write the published layout, plan in a process of its own."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeVar

from medagentgym.config import Config
from medagentgym.judges.base import Evidence
from medagentgym.plan import data_folder
from medagentgym.tasks.ehr_questions import EhrQuestionTask

T = TypeVar("T", bound=EhrQuestionTask)


def built_task(task: type[T], config: Config) -> T:
    """The task on data that are built here and now."""
    task.build(config, data_folder(config))
    return task(data_folder(config), config)


def reference_answer(task: EhrQuestionTask, idx: int) -> Any:
    """What the reference code of an instance leaves, run here, with the box's data folder replaced by the host's."""
    names: dict[str, Any] = {}
    code = task.reference_code(task.instance(idx))
    exec(code.replace("file:/data/", f"file:{task.folder / 'database'}/"), names)
    return names["answer"]


def accepted(task: EhrQuestionTask, idx: int, answer: Any) -> bool:
    """Whether the strict judge accepts an answer."""
    evidence = Evidence(has_answer=True, answer=answer, stdout=f"{answer}\n", stderr="", exit_status=0)
    return task.judges()["strict"].judge(task.reference(task.instance(idx)), evidence).correct


def write_published_tables(folder: Path, task: EhrQuestionTask) -> Path:
    """Write the task's tables as the published layout has them: with the number of the row in front."""
    folder.mkdir()
    for table in (task.folder / "database").glob("*.csv"):
        with table.open(newline="") as source, (folder / table.name).open("w", newline="") as target:
            writer = csv.writer(target)
            for number, row in enumerate(csv.reader(source)):
                writer.writerow(["" if number == 0 else number - 1, *row])
    return folder


def planned_alone(config: Config) -> dict[str, Any]:
    """What a process of its own plans: how many rows, which instances, whether sources; and which heavy libraries it has imported then."""
    program = (
        "import json, sys\n"
        "from medagentgym.config import Config\n"
        "from medagentgym.tasks.registry import get_task_class\n"
        f"config = Config.model_validate_json({config.model_dump_json()!r})\n"
        "task = get_task_class(config.task)\n"
        "planned = {'count': task.count(config), 'indices': task.indices(config), 'sources': bool(task.sources(config))}\n"
        "heavy = {'pandas', 'numpy', 'duckdb', 'pyarrow', 'rapidfuzz', 'openai', 'scipy'} & set(sys.modules)\n"
        "print(json.dumps({**planned, 'heavy': sorted(heavy)}))\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    planned = json.loads(finished.stdout)
    assert isinstance(planned, dict)
    return planned
