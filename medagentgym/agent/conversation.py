"""An agent that talks: it is shown observations as messages, and its replies are read as actions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from medagentgym.agent.base import Action, Agent, EpisodeStart, Message, Usage
from medagentgym.env.replies import ParsedReply, parse_reply
from medagentgym.errors import EpisodeOver


@dataclass(frozen=True)
class Reply:
    """One reply of whoever is talked to."""

    text: str
    tool_calls: Sequence[dict[str, Any]] = ()
    """Native tool calls, in the form of the chat completions interface."""
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = "stop"
    """`length` where the reply was cut at its longest."""
    message: Message | None = None
    """The message as received; None: made of `text` and `tool_calls`."""
    context_tokens: tuple[int, int] = (0, 0)
    """Tokens of the conversation before this reply, and of the reply; 0 where they are not counted."""

    def as_message(self) -> Message:
        """The reply as a message of the conversation."""
        if self.message is not None:
            return self.message
        return {"role": "assistant", "content": self.text, **({"tool_calls": list(self.tool_calls)} if self.tool_calls else {})}


class ConversationAgent(Agent):
    """What all agents that talk have in common; they differ in who `reply`s."""

    def reset(self, start: EpisodeStart) -> None:
        """Begin an episode: forget the last one."""
        super().reset(start)
        self._replies = 0
        self._next_prompt_tokens = 0

    @abstractmethod
    def reply(self, messages: Sequence[Message]) -> Reply:
        """Answer the conversation so far. Raises `EpisodeOver` and `InfrastructureError`."""

    def act(self, observation: str | None) -> Action:
        """Answer an observation; a reply without a readable action is the action `error`, its parameters `message` and `kind` (`prose` or `broken`).

        Raises `EpisodeOver("out_of_budget")` where the conversation has outgrown `max_total_tokens` or `max_input_tokens` as the service counts
        tokens, or has cost more than `max_cost`; and what `reply` raises.
        """
        if observation is not None:
            self.observe(observation)
        self._check_prompt()
        reply = self.reply(self.messages)
        self._replies += 1
        self.usage.add(reply.usage)
        self.messages.append(reply.as_message())
        self._check_budget(reply)
        cut = reply.finish_reason == "length"
        parsed = parse_reply(reply.text, self.permitted_actions, reply.tool_calls, cut=cut)
        self.remarks = parsed.remarks
        return (parsed.action, self._cut_off(parsed) if cut and parsed.kind != "action" else parsed.params)

    def observe(self, observation: str) -> None:
        """Add an observation to the conversation: as the result of a tool where the last reply called one, else as a user message."""
        last = self.messages[-1] if self.messages else {}
        calls = [call.get("id") for call in last.get("tool_calls") or () if isinstance(call, dict)]
        if not calls or not all(calls):
            super().observe(observation)
            return
        self.messages.append({"role": "tool", "tool_call_id": calls[0], "content": observation})
        self.messages.extend({"role": "tool", "tool_call_id": call, "content": "Not carried out: only the first call counts."} for call in calls[1:])

    def _cut_off(self, parsed: ParsedReply) -> dict[str, Any]:
        limit = self.config.llm.max_new_tokens
        where = f"the longest reply of {limit} tokens" if limit is not None else "the longest reply"
        message = f"Your reply was cut off at {where} before it held a whole action. Think and write more briefly. {parsed.error}"
        return {"message": message, "kind": "broken"}

    def _check_prompt(self) -> None:
        """End the episode before a call that is known not to fit."""
        llm = self.config.llm
        for name, limit in (("max_input_tokens", llm.max_input_tokens), ("max_total_tokens", llm.max_total_tokens)):
            if limit is not None and self._next_prompt_tokens > limit:
                raise EpisodeOver("out_of_budget", f"the conversation is longer than {name} ({limit})")

    def _check_budget(self, reply: Reply) -> None:
        llm = self.config.llm
        prompt, completion = reply.context_tokens
        # Reasoning is not part of the next prompt.
        self._next_prompt_tokens = prompt + max(completion - reply.usage.reasoning_tokens, 0)
        if llm.max_input_tokens is not None and prompt > llm.max_input_tokens:
            raise EpisodeOver("out_of_budget", f"the conversation is longer than max_input_tokens ({llm.max_input_tokens})")
        if llm.max_total_tokens is not None and prompt + completion > llm.max_total_tokens:
            raise EpisodeOver("out_of_budget", f"the conversation is longer than max_total_tokens ({llm.max_total_tokens})")
        if self.config.max_cost is not None and (self.usage.cost or 0.0) > self.config.max_cost:
            raise EpisodeOver("out_of_budget", f"the episode has cost more than max_cost ({self.config.max_cost:g})")
