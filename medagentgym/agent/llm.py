"""The agent that is a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from medagentgym.agent.base import Message
from medagentgym.agent.conversation import ConversationAgent, Reply
from medagentgym.errors import EpisodeOver, InfrastructureError, UserError
from medagentgym.llm.client import shared_model

if TYPE_CHECKING:
    from medagentgym.config import AgentConfig


class LanguageModelAgent(ConversationAgent):
    """Agent `llm`: asks the model of `agent.llm`."""

    name = "llm"

    def __init__(self, config: AgentConfig, permitted_actions: Sequence[str]) -> None:
        super().__init__(config, permitted_actions)
        if config.max_cost is not None and config.llm.price is None:
            raise UserError("agent.max_cost: the cost is unknown without agent.llm.price; give the prices or leave max_cost out")
        self.model = shared_model(config.llm, n_retry=config.n_retry, retry_delay=config.retry_delay)

    def reply(self, messages: Sequence[Message]) -> Reply:
        """Ask the model. See `medagentgym.llm.client` for what becomes of failures."""
        try:
            completion = self.model.complete(messages, seed=self.start.seed)[0]
        except EpisodeOver as over:
            longest = self.config.llm.max_new_tokens
            if self._replies == 0 and longest is not None:
                # Whether the prompt alone would fit is not known, so this is not held against the agent.
                advice = (
                    f"the first prompt does not fit together with agent.llm.max_new_tokens ({longest}); lower it or take a model of larger context"
                )
                raise InfrastructureError("model", f"{self.config.llm.model_name}: {advice}") from over
            raise
        message = completion.message
        return Reply(
            text=str(message["content"] or ""),
            tool_calls=message.get("tool_calls") or (),
            usage=completion.usage,
            finish_reason=completion.finish_reason,
            message=message,
            context_tokens=completion.context_tokens,
        )
