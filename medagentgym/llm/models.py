"""Descriptors of language models: what to call and within which limits. `make_model()` gives the model itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from medagentgym.config import ModelConfig
    from medagentgym.llm.client import ChatModel

ModelType = Literal["OpenAI", "Azure", "vLLM"]


@dataclass(frozen=True, kw_only=True)
class BaseModelArgs:
    """What all models have in common. Token limits of None are not set; the meaning of each field is that of the configuration's `agent.llm`."""

    model_type: ClassVar[ModelType] = "OpenAI"

    model_name: str
    max_total_tokens: int | None = None
    """Size of the context window, tokens."""
    max_input_tokens: int | None = None
    """Longest prompt, tokens."""
    max_new_tokens: int | None = None
    """Longest reply, tokens, reasoning included."""
    temperature: float | None = 0.0
    """Sampling temperature; None: not sent."""
    vision_support: bool = False
    """Whether the model accepts images."""
    log_probs: bool = False
    """Ask for log probabilities."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the configuration block `agent.llm`, such as `base_url`, `price` or `token_param`."""

    def to_config(self) -> ModelConfig:
        """The configuration block of this model. Raises `pydantic.ValidationError` for values that it does not admit."""
        from medagentgym.config import ModelConfig

        own = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "settings"}
        return ModelConfig(model_type=self.model_type, **own, **self.settings)

    def make_model(self, *, n_retry: int = 3, retry_delay: float = 10.0) -> ChatModel:
        """The model. Nothing is called, and no credential is needed, before it is first used."""
        from medagentgym.llm.client import ChatModel

        return ChatModel(self.to_config(), n_retry=n_retry, retry_delay=retry_delay)


@dataclass(frozen=True, kw_only=True)
class OpenAIModelArgs(BaseModelArgs):
    """A model of OpenAI, or of any server with the same interface (`settings={"base_url": ...}`)."""

    model_type: ClassVar[ModelType] = "OpenAI"


@dataclass(frozen=True, kw_only=True)
class AzureModelArgs(BaseModelArgs):
    """A deployment on Azure OpenAI."""

    model_type: ClassVar[ModelType] = "Azure"

    deployment_name: str | None = None
    """Name of the deployment; None: `model_name`."""


@dataclass(frozen=True, kw_only=True)
class VLLMModelArgs(BaseModelArgs):
    """A model that vLLM, or another server with its interface, serves on this machine."""

    model_type: ClassVar[ModelType] = "vLLM"

    port: int | None = None
    """Port on this machine."""


_DESCRIPTORS: dict[ModelType, type[BaseModelArgs]] = {args.model_type: args for args in (OpenAIModelArgs, AzureModelArgs, VLLMModelArgs)}


def from_config(config: ModelConfig) -> BaseModelArgs:
    """The descriptor of a configured model. Nothing is lost: what the descriptor has no field for is in its `settings`."""
    descriptor = _DESCRIPTORS[config.model_type]
    own = {item.name for item in fields(descriptor)}
    given = {name: getattr(config, name) for name in config.model_fields_set if name != "model_type"}
    return descriptor(
        **{"model_name": config.model_name, **{name: value for name, value in given.items() if name in own}},
        settings={name: value for name, value in given.items() if name not in own},
    )
