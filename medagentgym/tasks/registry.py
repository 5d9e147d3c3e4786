"""The tasks that are installed, by name: the entry points of the group `medagentgym.tasks`."""

from __future__ import annotations

import difflib
from importlib.metadata import entry_points

from medagentgym.errors import UserError, one_line
from medagentgym.tasks.base import Task

ENTRY_POINT_GROUP = "medagentgym.tasks"


def task_names() -> list[str]:
    """The names of all installed tasks."""
    return sorted({entry_point.name for entry_point in entry_points(group=ENTRY_POINT_GROUP)})


def get_task_class(name: str) -> type[Task]:
    """The class of a task. Raises `UserError` naming the known tasks, the nearest first, where there is none of that name, it cannot be
    loaded, or it lacks what every task has.
    """
    found = next(iter(entry_points(group=ENTRY_POINT_GROUP, name=name)), None)
    if found is None:
        known = task_names()
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        advice = f"did you mean {nearest[0]}? " if nearest else ""
        raise UserError(f"task: there is no task {name}; {advice}known: {', '.join(known) or 'none, the package is not installed'}")
    try:
        loaded = found.load()
    except (ImportError, AttributeError) as error:
        raise UserError(f"task: {name} ({found.value}) cannot be loaded ({one_line(error)}); install its package again") from error
    except Exception as error:
        told = f"{type(error).__name__}: {one_line(error)}"
        raise UserError(f"task: {name} ({found.value}) cannot be loaded ({told}); correct the code of its package") from error
    if not (isinstance(loaded, type) and issubclass(loaded, Task)):
        raise UserError(f"task: {name} ({found.value}) is no task: not a subclass of medagentgym.tasks.base.Task")
    missing = sorted(loaded.__abstractmethods__) + ([] if isinstance(getattr(loaded, "name", None), str) else ["name"])
    if missing:
        raise UserError(f"task: {name} ({found.value}) is no whole task: it lacks {', '.join(missing)} (docs/extending.md)")
    return loaded
