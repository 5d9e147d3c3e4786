"""The model that explains errors."""

from __future__ import annotations

import pytest
from model_server import Behaviour, ModelServer

from medagentgym.config import ModelConfig, ModelPrice
from medagentgym.errors import AgentError, InfrastructureError
from medagentgym.llm.debugger import Debugger


def debugger(server: ModelServer) -> Debugger:
    return Debugger(ModelConfig(base_url=server.base_url, price=ModelPrice(prompt=1.0)), n_retry=1, retry_delay=0.0)


def test_an_explanation_comes_without_thinking_and_with_its_usage() -> None:
    with ModelServer(["<think>hm</think>\nThe column is called AGE."]) as server:
        text, usage = debugger(server).explain("df['age']", "KeyError: 'age'")
        asked = server.requests[0]["body"]["messages"][-1]["content"]
    assert text == "The column is called AGE."
    assert usage.calls == 1 and usage.cost is not None and usage.cost > 0
    assert "df['age']" in asked and "KeyError: 'age'" in asked


def test_an_empty_explanation_is_said_to_be_none() -> None:
    with ModelServer([""]) as server:
        assert debugger(server).explain("x", "y")[0] == "The debugging model gave no explanation."


def test_too_long_a_program_is_the_agents_error() -> None:
    refused = Behaviour(status=400, body={"error": {"message": "too long", "code": "context_length_exceeded"}})
    with ModelServer([refused]) as server, pytest.raises(AgentError, match="too long"):
        debugger(server).explain("x", "y")


def test_nothing_is_called_before_it_is_asked_and_a_dead_service_is_infrastructure() -> None:
    with ModelServer(["x"]) as server:
        made = debugger(server)
        assert server.requests == []
    with pytest.raises(InfrastructureError):
        made.explain("x", "y")
