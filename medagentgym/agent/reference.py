"""The agent that knows the solution, for audits of a task."""

from __future__ import annotations

from collections.abc import Sequence

from medagentgym.agent.base import Message
from medagentgym.agent.conversation import ConversationAgent, Reply
from medagentgym.env.replies import as_reply
from medagentgym.errors import UserError


class ReferenceAgent(ConversationAgent):
    """Agent `reference`: runs the reference program of the instance, then submits. It never competes with agents that see less."""

    name = "reference"
    sees_reference = True

    def reply(self, messages: Sequence[Message]) -> Reply:
        """The reference program as a model would send it, then `submit`. Raises `UserError` where the instance has none."""
        if self._replies:
            return Reply(as_reply("submit"))
        if self.start.reference_code is None:
            raise UserError(f"agent reference: task {self.start.task} gives no reference program")
        return Reply(as_reply("validate_code", {"code": self.start.reference_code()}))
