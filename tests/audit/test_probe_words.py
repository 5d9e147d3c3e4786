"""Every probe that exists is explained: in the code, in the printed summary and in `docs/tasks.md`, in the same words."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from medagentgym.audit.probe_words import PROBE_WORDS, words_of
from medagentgym.configuration import experiments, load_config
from medagentgym.tasks.base import Task
from medagentgym.tasks.registry import get_task_class, task_names

ROOT = Path(__file__).resolve().parents[2]
PROGRAM_TASKS = {"biocoder", "biodsbench"}
ACCEPTED = {"none": "never", "constant": "as often as the best constant", "guesses": "as often as that many of the best answers"}
OF_THE_AUDIT = {"reference": "always", "commonest_gold": ACCEPTED["constant"], "commonest_golds": ACCEPTED["guesses"]}
"""Probes that no task gives, but the audit itself."""


def of_project() -> list[str]:
    """The tasks of this project, whatever else is installed."""
    return [name for name in task_names() if get_task_class(name).__module__.startswith("medagentgym.")]


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Task -> probe -> how often it may be accepted, from made-up instances of every task."""
    found: dict[str, dict[str, str]] = {}
    for name in of_project():
        kind = get_task_class(name)
        made_up = {"patients": 30, "train": 0, "test": 2}
        changes = {"work_dir": str(tmp_path_factory.mktemp(name)), "data": {"synthetic": made_up}, "sandbox": {"python": sys.executable}}
        (config, *_) = experiments(load_config(ROOT / "config" / ("demo.yaml" if name == "mimic_iii" else f"demo_{name}.yaml"), changes))
        kind.build(config, config.work_dir / "data" / name)
        task = kind(config.work_dir / "data" / name, config)
        found[name] = {"reference": OF_THE_AUDIT["reference"]} | ({} if name in PROGRAM_TASKS else OF_THE_AUDIT)
        for idx in range(made_up["test"]):
            instance = task.instance(idx)
            found[name] |= dict.fromkeys(task.broken_references(instance), "never")
            found[name] |= {probe.name: ACCEPTED[probe.floor] for probe in task.cheats(instance)}
        if kind.impossible.__func__ is not Task.impossible.__func__:  # type: ignore[attr-defined]
            found[name]["abstain"] = ACCEPTED["constant"]
        task.close()
    return found


def documented() -> dict[str, tuple[str, set[str], str]]:
    """Probe -> what it does, the tasks, and how often it may be accepted, as `docs/tasks.md` has it."""
    page = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*`) \| (.*) \| (.*) \| (.*) \|$", page.partition("## What the audit plays")[2], re.MULTILINE)
    every = set(of_project())
    return {
        name: (words, every - named if tasks.startswith("all") else named, accepted)
        for names, words, tasks, accepted in rows
        for named in [set(re.findall(r"`(\w+)`", tasks))]
        for name in re.findall(r"`(\w+)`", names)
    }


def test_every_probe_of_every_task_stands_in_the_table_with_its_tasks_and_its_floor(probes: dict[str, dict[str, str]]) -> None:
    table = documented()
    names = {name for of_task in probes.values() for name in of_task}
    assert set(table) == names
    for name in sorted(names):
        assert table[name][1] == {task for task, of_task in probes.items() if name in of_task}, name
        assert {table[name][2]} == {of_task[name] for of_task in probes.values() if name in of_task}, name


def test_the_table_and_the_printed_summary_say_the_same_of_a_probe() -> None:
    words = {name: said for names, said in PROBE_WORDS.items() for name in names}
    assert {name: said for name, (said, _, _) in documented().items()} == words
    assert sum(map(len, PROBE_WORDS)) == len(words), "a probe is explained twice"


def test_probes_that_do_the_same_are_explained_together_and_unknown_ones_not() -> None:
    said = words_of(["constant_one", "half_the_weight", "two_guesses", "constant_zero"])
    assert list(said) == [("constant_one", "constant_zero"), ("two_guesses",)]
