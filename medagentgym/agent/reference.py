"""The agent that knows the solution, for audits of a task."""

from __future__ import annotations

from collections.abc import Sequence

from medagentgym.agent.base import EpisodeStart, Message
from medagentgym.agent.conversation import ConversationAgent, Reply
from medagentgym.env.replies import as_reply
from medagentgym.errors import UserError


class ReferenceAgent(ConversationAgent):
    """Agent `reference`: carries out the reference actions of the instance, then submits. It never competes with agents that see less."""

    name = "reference"
    sees_reference = True

    def reset(self, start: EpisodeStart) -> None:
        """Begin an episode: forget the last one."""
        super().reset(start)
        self._left: list[str] | None = None

    def reply(self, messages: Sequence[Message]) -> Reply:
        """The next reference action as a model would send it, then `submit`. Raises `UserError` where the instance has none."""
        if self._left is None:
            if self.start.reference_actions is None:
                raise UserError(f"agent reference: task {self.start.task} gives no reference actions")
            self._left = [as_reply(action, params) for action, params in self.start.reference_actions()]
        return Reply(self._left.pop(0) if self._left else as_reply("submit"))
