"""Agents by name: entry points of the group `medagentgym.agents`, ours and those of other packages."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from medagentgym.agent.base import Agent
from medagentgym.errors import UserError, one_line

if TYPE_CHECKING:
    from medagentgym.config import AgentConfig

GROUP = "medagentgym.agents"


def agent_names() -> list[str]:
    """The names of all installed agents, sorted. Loads none of them."""
    return sorted({point.name for point in entry_points(group=GROUP)})


@cache
def get_agent_class(name: str) -> type[Agent]:
    """The class of an agent. Raises `UserError` where there is none of that name (naming the nearest), or where it cannot be loaded."""
    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not points:
        near = difflib.get_close_matches(name, agent_names(), n=1)
        suggestion = f", did you mean {near[0]!r}?" if near else ""
        raise UserError(f"agent.name: there is no agent {name!r}{suggestion} (installed: {', '.join(agent_names())})")
    if len(points) > 1:
        raise UserError(f"agent.name: {name!r} is the name of several agents ({', '.join(sorted(points))}); uninstall all packages but one of them")
    return _load(next(iter(points.values())))


def make_agent(config: AgentConfig, permitted_actions: Sequence[str]) -> Agent:
    """The agent that a configuration names, ready for its first episode. Raises `UserError`."""
    return get_agent_class(config.name)(config, permitted_actions)


def _load(point: EntryPoint) -> type[Agent]:
    try:
        loaded = point.load()
    except (ImportError, AttributeError) as error:
        raise UserError(f"agent.name: agent {point.name!r} ({point.value}) cannot be loaded: {one_line(error)}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, Agent)):
        raise UserError(f"agent.name: agent {point.name!r} ({point.value}) is not a subclass of medagentgym.agent.Agent")
    return loaded
