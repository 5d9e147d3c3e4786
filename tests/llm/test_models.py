"""Descriptors of models."""

from __future__ import annotations

import pytest
from model_server import ModelServer

from medagentgym.config import ModelConfig
from medagentgym.llm import (
    AzureModelArgs,
    BaseModelArgs,
    OpenAIModelArgs,
    VLLMModelArgs,
    from_config,
    make_assistant_message,
    make_system_message,
    make_user_message,
)


def test_messages_have_role_and_content() -> None:
    assert [make_system_message("a"), make_user_message("b"), make_assistant_message("c")] == [
        {"role": "system", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "c"},
    ]


@pytest.mark.parametrize(
    ("config", "descriptor"),
    [
        (ModelConfig(model_name="gpt-x", max_total_tokens=10, max_input_tokens=8, max_new_tokens=2), OpenAIModelArgs),
        (ModelConfig(model_type="Azure", deployment_name="d", api_version="v", log_probs=True), AzureModelArgs),
        (ModelConfig(model_type="vLLM", port=8000, temperature=None, vision_support=True, extra_body={"a": 1}), VLLMModelArgs),
    ],
)
def test_a_descriptor_holds_all_of_a_configured_model(config: ModelConfig, descriptor: type[BaseModelArgs]) -> None:
    args = from_config(config)
    assert type(args) is descriptor
    assert args.to_config() == config
    assert args.model_name == config.model_name
    assert args.temperature == config.temperature


def test_a_descriptor_makes_a_model_that_answers() -> None:
    with ModelServer(["Hi."]) as server:
        message, cost = VLLMModelArgs(model_name="local", port=server.port, max_new_tokens=5).make_model(n_retry=0)([make_user_message("Hello?")])
        assert server.requests[0]["body"]["max_tokens"] == 5
    assert message == make_assistant_message("Hi.")
    assert cost is None


def test_the_fields_of_a_deployment_and_a_port_are_their_own() -> None:
    assert AzureModelArgs(model_name="m", deployment_name="d").to_config().deployment_name == "d"
    assert VLLMModelArgs(model_name="m", port=1234).to_config().port == 1234
    with pytest.raises(TypeError):
        OpenAIModelArgs(model_name="m", port=1234)  # type: ignore[call-arg]
