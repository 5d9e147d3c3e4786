"""The agent that replays given replies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from medagentgym.agent.base import EpisodeStart, Message
from medagentgym.agent.conversation import ConversationAgent, Reply
from medagentgym.env.replies import as_reply
from medagentgym.errors import UserError, one_line
from medagentgym.record import read_json

if TYPE_CHECKING:
    from pathlib import Path

    from medagentgym.config import AgentConfig


class ScriptedAgent(ConversationAgent):
    """Agent `scripted`: gives the replies of `agent.replies` one after another, and `submit` when they have run out.

    The file is JSON: a list of replies for every episode, or an object from `idx` to such a list. A reply is the text that a model would have
    written, or an object, which stands for its JSON.
    """

    name = "scripted"

    def __init__(self, config: AgentConfig, permitted_actions: Sequence[str]) -> None:
        super().__init__(config, permitted_actions)
        if config.replies is None:
            raise UserError("agent.replies: agent scripted needs a JSON file of replies; name it there")
        self._file = config.replies
        self._script = read_replies(config.replies)

    def reset(self, start: EpisodeStart) -> None:
        """Begin an episode. Raises `UserError` where the file has replies for single instances, and none for this one."""
        super().reset(start)
        if isinstance(self._script, dict):
            if start.idx not in self._script:
                raise UserError(f'{self._file}: no replies for instance {start.idx}; add the key "{start.idx}"')
            replies = self._script[start.idx]
        else:
            replies = self._script
        self._rest = iter(replies)

    def reply(self, messages: Sequence[Message]) -> Reply:
        """The next reply of the script."""
        return Reply(next(self._rest, as_reply("submit")))


def read_replies(path: Path) -> list[str] | dict[int, list[str]]:
    """The replies in a file, for every episode or by `idx`. Raises `UserError` naming the file and the place."""
    try:
        data = read_json(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as JSON ({one_line(error)}); agent.replies names it") from error
    if isinstance(data, list):
        return _texts(data, f"{path}")
    if not isinstance(data, dict):
        raise UserError(f"{path}: expected a list of replies, or an object from idx to such a list")
    script = {}
    for key, replies in data.items():
        if not key.isdecimal() or not isinstance(replies, list):
            raise UserError(f"{path}: {key!r}: expected the idx of an instance, with a list of replies")
        script[int(key)] = _texts(replies, f"{path}: {key!r}")
    return script


def _texts(replies: list[Any], where: str) -> list[str]:
    for number, reply in enumerate(replies):
        if not isinstance(reply, (str, dict)):
            raise UserError(f"{where}: reply {number}: expected a text or an object")
    return [reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False) for reply in replies]
