"""Finding a task by its name."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from medagentgym.config import Config
from medagentgym.errors import UserError
from medagentgym.tasks import registry
from medagentgym.tasks.mimic_iii import MimicIII
from medagentgym.tasks.registry import get_task_class, task_names


def test_a_task_is_found_by_its_name() -> None:
    assert get_task_class("mimic_iii") is MimicIII
    assert "mimic_iii" in task_names()


def test_an_unknown_task_is_answered_with_the_nearest_and_all_known() -> None:
    with pytest.raises(UserError, match=r"there is no task mimic_ii; did you mean mimic_iii\? known: .*mimic_iii"):
        get_task_class("mimic_ii")


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("no.such.module:Task", "cannot be loaded"),
        ("medagentgym.errors:NoSuchTask", "cannot be loaded"),
        ("medagentgym.errors:UserError", "is no task"),
        ("medagentgym.tasks.task_file:TaskFileTask", "is no whole task: it lacks judges, reference_code, name"),
    ],
)
def test_a_task_of_another_package_that_is_broken_is_named(monkeypatch: pytest.MonkeyPatch, value: str, complaint: str) -> None:
    entry_point = EntryPoint(name="theirs", value=value, group=registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: EntryPoints([entry_point]).select(**wanted))
    with pytest.raises(UserError, match=complaint):
        get_task_class("theirs")


def test_what_a_package_raises_when_its_task_is_loaded_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = "from medagentgym.tasks.task_file import TaskFileTask\n\n\nclass Doses(TaskFileTask):\n    name = 'doses'\n"
    (tmp_path / "unfinished_doses.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    entry_point = EntryPoint(name="doses", value="unfinished_doses:Doses", group=registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: EntryPoints([entry_point]).select(**wanted))
    with pytest.raises(UserError, match=r"cannot be loaded \(TypeError: unfinished_doses\.Doses: .* needs a class method built_row\(row, config\)"):
        get_task_class("doses")


def test_records_are_credentialed_unless_made_up_or_said_not_to_be(tmp_path: Path) -> None:
    def credentialed(**data: object) -> bool:
        return MimicIII.is_credentialed(Config.model_validate({"data": data}))

    assert credentialed(raw_path=tmp_path)
    assert not credentialed(raw_path=tmp_path, credentialed=False)
    assert not credentialed(synthetic={})
