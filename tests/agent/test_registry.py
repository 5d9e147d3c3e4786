"""Agents by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from medagentgym.agent import agent_names, get_agent_class
from medagentgym.agent.llm import LanguageModelAgent
from medagentgym.errors import UserError


def test_the_agents_of_the_package_are_entry_points() -> None:
    assert {"llm", "scripted", "reference"} <= set(agent_names())
    assert get_agent_class("llm") is LanguageModelAgent


def test_an_unknown_agent_is_named_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"agent\.name: there is no agent 'scriptd', did you mean 'scripted'\? \(installed: .*reference"):
        get_agent_class("scriptd")


PACKAGE = """
from medagentgym.agent import Agent

class Silent(Agent):
    name = "silent"

    def act(self, observation):
        return "submit", {}

nothing = 3
"""


def get_in_a_process(folder: Path, name: str) -> str:
    program = (
        "import sys; from medagentgym.agent import get_agent_class; from medagentgym.errors import UserError\n"
        f"try: print(get_agent_class({name!r}).__qualname__)\n"
        "except UserError as error: print('UserError', error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(folder)})
    return done.stdout.strip()


def test_another_package_adds_an_agent_by_an_entry_point_and_mistakes_in_it_are_named(tmp_path: Path) -> None:
    (tmp_path / "silent_agent.py").write_text(PACKAGE)
    metadata = tmp_path / "silent_agent-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: silent-agent\nVersion: 1.0\n")
    lines = [
        "silent = silent_agent:Silent",
        "wrong = silent_agent:nothing",
        "gone = silent_agent:Gone",
        "absent = no_such_module:X",
        "llm = silent_agent:Silent",
    ]
    (metadata / "entry_points.txt").write_text("[medagentgym.agents]\n" + "\n".join(lines) + "\n")
    assert get_in_a_process(tmp_path, "silent") == "Silent"
    assert "is not a subclass of medagentgym.agent.Agent" in get_in_a_process(tmp_path, "wrong")
    assert "cannot be loaded" in get_in_a_process(tmp_path, "gone")
    assert "cannot be loaded" in get_in_a_process(tmp_path, "absent")
    assert "the name of several agents" in get_in_a_process(tmp_path, "llm")
