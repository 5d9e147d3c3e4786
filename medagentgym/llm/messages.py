"""Chat messages in the form of the chat completions interface."""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]
"""`role` and `content`, and in replies what a service gives beside them: `tool_calls`, `reasoning_content`, `logprobs`."""

SENT_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id")
"""Keys of a message that are sent; a service may refuse to be given its reasoning or log probabilities back."""


def make_system_message(content: str) -> Message:
    """A message that sets the rules of a conversation."""
    return {"role": "system", "content": content}


def make_user_message(content: str) -> Message:
    """A message to the model."""
    return {"role": "user", "content": content}


def make_assistant_message(content: str) -> Message:
    """A reply of the model."""
    return {"role": "assistant", "content": content}


def as_sent(message: Message) -> Message:
    """A message of a conversation without what is only kept for the record."""
    return {key: message[key] for key in SENT_KEYS if key in message}
