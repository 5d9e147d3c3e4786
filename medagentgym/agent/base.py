"""What an agent is: it sees an observation and answers with an action.

A new agent is a class with these methods and one entry point in the group `medagentgym.agents`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from medagentgym.config import AgentConfig

Message = dict[str, Any]
"""One chat message: `role` and `content`, and for tool calls what the chat completions interface has beside them."""

Action = tuple[str, dict[str, Any]]
"""The name of an action and its parameters. The name `error` stands for a reply in which no action was found; `params["message"]` says why."""


@dataclass
class Usage:
    """What an episode has used so far. `cost` is None while no price is configured."""

    calls: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None

    def add(self, other: Usage) -> None:
        """Add `other` to this, in place. An unknown cost beside a known one counts as what is known."""
        for name in ("calls", "retries", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class EpisodeStart:
    """What an agent is told when an episode begins."""

    task: str
    idx: int
    rollout: int
    seed: int
    permitted_actions: tuple[str, ...]
    prompt: Sequence[Message]
    """System and user message, few-shot examples included: what a model is sent before the first observation of a step."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """The prompt fields of the task, for agents that do not read prose."""
    reference_actions: Callable[[], Sequence[Action]] | None = None
    """Only for agents that declare `sees_reference`; such agents audit a task and never compete."""


class Agent(ABC):
    """One agent, serving one episode at a time."""

    name: ClassVar[str]
    sees_reference: ClassVar[bool] = False
    code_modules: ClassVar[tuple[str, ...]] = ()
    """Modules and packages besides the agent's own module whose code decides what it does; they are part of the episodes' fingerprint."""

    def __init__(self, config: AgentConfig, permitted_actions: Sequence[str]) -> None:
        self.config = config
        self.permitted_actions = tuple(permitted_actions)
        self.messages: list[Message] = []
        """The conversation as sent and received."""
        self.usage = Usage()
        self.remarks: Sequence[str] = ()
        """What there is to say of how the last reply was read, for example that only its first action counts."""

    def reset(self, start: EpisodeStart) -> None:
        """Begin an episode: forget the last one."""
        self.start = start
        self.permitted_actions = start.permitted_actions
        self.messages = [dict(message) for message in start.prompt]
        self.usage = Usage()
        self.remarks = ()

    @abstractmethod
    def act(self, observation: str | None) -> Action:
        """Answer an observation (None at the first step: the prompt is the observation) with an action.

        Raises `EpisodeOver` (budget, context), `InfrastructureError` (the model service failed).
        """

    def observe(self, observation: str) -> None:
        """Take the last observation of an episode, which is not answered."""
        self.messages.append({"role": "user", "content": observation})

    @property
    def cost(self) -> float | None:
        """What the episode has cost so far, None where no price is configured."""
        return self.usage.cost
