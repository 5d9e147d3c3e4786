"""The second model, which explains an error to the agent (action `debug`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medagentgym.agent.base import Usage
from medagentgym.env.replies import without_thinking
from medagentgym.errors import AgentError, EpisodeOver
from medagentgym.llm.client import shared_model
from medagentgym.llm.messages import make_user_message
from medagentgym.prompting import render_debug_prompt

if TYPE_CHECKING:
    from medagentgym.config import ModelConfig


class Debugger:
    """Explains errors of programs. Its model is made when it is first asked."""

    def __init__(self, model_config: ModelConfig, n_retry: int, retry_delay: float) -> None:
        self.model_config = model_config
        self.n_retry = n_retry
        self.retry_delay = retry_delay

    def explain(self, code: str, error_message: str) -> tuple[str, Usage]:
        """Why `code` raised `error_message` and what to change, in prose, and what saying so has used.

        Raises `AgentError` where both are too long for the model, and `InfrastructureError` where the service failed.
        """
        model = shared_model(self.model_config, n_retry=self.n_retry, retry_delay=self.retry_delay, key="debugger")
        try:
            completion = model.complete([make_user_message(render_debug_prompt(code, error_message))])[0]
        except EpisodeOver as over:
            raise AgentError("debug: the program and its error are too long for the debugging model; send the part that fails.") from over
        text = without_thinking(str(completion.message["content"] or ""))
        return text or "The debugging model gave no explanation.", completion.usage
