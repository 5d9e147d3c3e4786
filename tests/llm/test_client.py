"""The model client against a real HTTP service on the loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import pytest
from model_server import Behaviour, ModelServer, Script

from medagentgym.config import ModelConfig, ModelPrice
from medagentgym.errors import EpisodeOver, InfrastructureError, UserError
from medagentgym.llm import make_system_message, make_user_message
from medagentgym.llm.client import ChatModel, _retry_after, shared_model

CONVERSATION = [make_system_message("Be brief."), make_user_message("Hello?")]
SECRET = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "API_VERSION", "OPENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def model(server: ModelServer, *, n_retry: int = 2, **settings: Any) -> ChatModel:
    return ChatModel(ModelConfig(**{"model_name": "scripted", "base_url": server.base_url, **settings}), n_retry=n_retry, retry_delay=0.0)


def failure(script: Script, **settings: Any) -> tuple[InfrastructureError, ModelServer]:
    with ModelServer(script) as server, pytest.raises(InfrastructureError) as caught:
        model(server, **settings).complete(CONVERSATION)
    assert caught.value.component == "model"
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value, server


def refusal(message: str, *, status: int = 400, code: str | None = None, param: str | None = None) -> Behaviour:
    return Behaviour(status=status, body={"error": {"message": message, "type": "invalid_request_error", "code": code, "param": param}})


def test_a_reply_comes_with_what_it_used_and_cost() -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 200,
        "completion_tokens_details": {"reasoning_tokens": 150},
        "prompt_tokens_details": {"cached_tokens": 400},
    }
    with ModelServer([Behaviour(text="Hi.", usage=usage)]) as server:
        chat = model(server, price=ModelPrice(prompt=2.0, completion=8.0, cached=0.5))
        completion = chat.complete(CONVERSATION)[0]
    assert completion.message == {"role": "assistant", "content": "Hi."}
    assert completion.finish_reason == "stop"
    assert completion.context_tokens == (1000, 200)
    used = completion.usage
    assert (used.calls, used.retries, used.prompt_tokens, used.completion_tokens, used.reasoning_tokens, used.cached_tokens) == (
        1,
        0,
        1000,
        200,
        150,
        400,
    )
    assert used.cost == pytest.approx((600 * 2.0 + 400 * 0.5 + 200 * 8.0) / 1e6)
    assert chat.get_stats() == used.to_json()


def test_calling_a_model_gives_message_and_cost() -> None:
    with ModelServer(["Hi."]) as server:
        assert model(server)(CONVERSATION) == ({"role": "assistant", "content": "Hi."}, None)
        _, cost = model(server, price=ModelPrice(prompt=1.0))(CONVERSATION)
        assert cost is not None and cost > 0


def test_several_samples_come_from_one_call() -> None:
    with ModelServer([Behaviour(samples=["a", "b"])]) as server:
        messages, _ = model(server)(CONVERSATION, n_samples=2, temperature=0.7)
        body = server.requests[0]["body"]
    assert isinstance(messages, list)
    assert [message["content"] for message in messages] == ["a", "b"]
    assert (body["n"], body["temperature"]) == (2, 0.7)


def test_only_the_configured_parameters_are_sent() -> None:
    with ModelServer(["Hi."]) as server:
        model(server).complete(CONVERSATION, seed=7)
        model(server, temperature=None, send_seed=False).complete(CONVERSATION, seed=7)
        model(
            server,
            temperature=0.3,
            top_p=0.9,
            max_new_tokens=50,
            token_param="max_completion_tokens",
            log_probs=True,
            extra_body={"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}},
        ).complete(CONVERSATION, seed=7)
        bodies = [request["body"] for request in server.requests]
    same = {"model": "scripted", "messages": CONVERSATION}
    assert bodies[0] == {**same, "temperature": 0.0, "seed": 7}
    assert bodies[1] == same
    assert bodies[2] == {
        **same,
        "temperature": 0.3,
        "top_p": 0.9,
        "max_completion_tokens": 50,
        "logprobs": True,
        "seed": 7,
        "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": False},
    }


def test_reasoning_and_log_probabilities_are_kept_but_not_sent_back() -> None:
    body = {
        "choices": [
            {"message": {"role": "assistant", "content": "Hi.", "reasoning_content": "hm"}, "finish_reason": "stop", "logprobs": {"content": []}}
        ]
    }
    with ModelServer([Behaviour(body=body), "Yes."]) as server:
        chat = model(server, log_probs=True)
        reply = chat.complete(CONVERSATION)[0].message
        assert reply == {"role": "assistant", "content": "Hi.", "reasoning_content": "hm", "logprobs": {"content": []}}
        chat.complete([*CONVERSATION, reply, make_user_message("Sure?")])
        assert server.requests[1]["body"]["messages"][2] == {"role": "assistant", "content": "Hi."}


def test_tool_calls_are_given_as_received() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "submit", "arguments": "{}"}}]
    with ModelServer([Behaviour(tool_calls=calls)]) as server:
        completion = model(server).complete(CONVERSATION)[0]
    assert completion.message == {"role": "assistant", "content": None, "tool_calls": calls}
    assert completion.finish_reason == "tool_calls"


def test_json_that_is_sent_as_text_is_read_all_the_same() -> None:
    body = json.dumps({"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}}]})
    with ModelServer([Behaviour(body=body, headers={"Content-Type": "text/plain"})]) as server:
        completion = model(server, price=ModelPrice(prompt=1.0)).complete(CONVERSATION)[0]
    assert (completion.message["content"], completion.finish_reason) == ("Hi.", None)
    assert (completion.usage.prompt_tokens, completion.usage.cost) == (0, None)


def test_a_reply_that_was_cut_is_no_failure() -> None:
    with ModelServer([Behaviour(text=None, finish_reason="length")]) as server:
        completion = model(server).complete(CONVERSATION)[0]
    assert (completion.message["content"], completion.finish_reason) == ("", "length")


TRANSIENT: dict[str, Behaviour] = {
    "408": Behaviour(status=408),
    "409": Behaviour(status=409),
    "429": Behaviour(status=429, headers={"Retry-After": "0"}),
    "500": Behaviour(status=500),
    "503 that is a page": Behaviour(status=503, body="<html>busy</html>", headers={"Content-Type": "text/html"}),
    "timeout": Behaviour(text="late", delay=5.0),
    "dropped connection": Behaviour(drop=True),
    "half a JSON": Behaviour(body='{"choices": [{"mess'),
    "page instead of JSON": Behaviour(body="<html>hello</html>", headers={"Content-Type": "text/html"}),
    "empty body": Behaviour(body=""),
    "less than promised": Behaviour(body="{}", headers={"Content-Length": "400"}, drop=False),
    "a JSON list": Behaviour(body="[]"),
    "no choices": Behaviour(body={"choices": []}),
    "choices null": Behaviour(body={"choices": None, "error": {"message": "overloaded"}}),
    "a choice without a message": Behaviour(body={"choices": [{}]}),
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_what_may_pass_is_tried_again(name: str) -> None:
    with ModelServer([TRANSIENT[name], TRANSIENT[name], "at last"]) as server:
        chat = model(server, timeout_seconds=0.3)
        completion = chat.complete(CONVERSATION)[0]
        assert len(server.requests) == 3
        assert all(request["body"] == server.requests[0]["body"] for request in server.requests)
    assert completion.message["content"] == "at last"
    assert (completion.usage.calls, completion.usage.retries) == (3, 2)


@pytest.mark.parametrize("name", TRANSIENT)
def test_when_the_tries_are_spent_it_is_an_infrastructure_failure_that_others_may_survive(name: str) -> None:
    error, server = failure([TRANSIENT[name]], timeout_seconds=0.3, n_retry=1)
    assert not error.fatal
    assert len(server.requests) == 2
    assert "2 tries" in error.reason


def test_a_service_that_is_not_there_is_an_infrastructure_failure() -> None:
    with ModelServer(["x"]) as server:
        gone = model(server, n_retry=1)
    with pytest.raises(InfrastructureError, match=r"scripted: no connection to http://127\.0\.0\.1:\d+/v1/: .*; 2 tries") as caught:
        gone.complete(CONVERSATION)
    assert not caught.value.fatal
    assert gone.get_stats()["calls"] == 2


def test_tokens_of_useless_answers_are_counted_too() -> None:
    wasted = Behaviour(body={"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 3}})
    with ModelServer([wasted, Behaviour(text="ok", usage={"prompt_tokens": 10, "completion_tokens": 2})]) as server:
        completion = model(server, price=ModelPrice(completion=1e6)).complete(CONVERSATION)[0]
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens, completion.usage.cost) == (20, 5, 5.0)
    assert completion.context_tokens == (10, 2)


FATAL: dict[str, tuple[Behaviour, dict[str, Any], str]] = {
    "refused key": (
        refusal(f"Incorrect API key provided: {SECRET[:8]}****", status=401),
        {},
        "the key is refused; check the credential OPENAI_API_KEY",
    ),
    "forbidden": (refusal("no access", status=403), {}, "may not use the model"),
    "unknown model": (refusal("The model does not exist", status=404), {}, "check agent.llm.model_name and agent.llm.base_url"),
    "spent quota": (refusal("You exceeded your current quota", status=429, code="insufficient_quota"), {}, "quota of the account is spent"),
    "temperature": (refusal("Unsupported value: 'temperature' does not support 0", param="temperature"), {}, "try agent.llm.temperature: null"),
    "temperature without param": (refusal("Unsupported value: 'temperature' does not support 0"), {}, "try agent.llm.temperature: null"),
    "token_param": (
        refusal("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", param="max_tokens"),
        {"max_new_tokens": 10},
        "try agent.llm.token_param: max_completion_tokens",
    ),
    "too long a reply": (
        refusal("max_tokens is too large: 999999. This model supports at most 16384 completion tokens", param="max_tokens"),
        {"max_new_tokens": 999999},
        "lower agent.llm.max_new_tokens",
    ),
    "no room for a prompt": (
        refusal(
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (10 in the messages, 4990 in the completion)."
        ),
        {"max_new_tokens": 4990},
        "agent.llm.max_new_tokens (4990) leaves no room for a prompt in a context of 4096 tokens",
    ),
    "seed": (refusal("Unknown parameter: 'seed'.", param="seed"), {}, "try agent.llm.send_seed: false"),
    "log probabilities": (refusal("'logprobs' is not supported", param="logprobs"), {"log_probs": True}, "try agent.llm.log_probs: false"),
    "key of extra_body": (refusal("Unknown parameter: 'effort'"), {"extra_body": {"effort": "x"}}, "change agent.llm.extra_body.effort"),
    "validation of another server": (Behaviour(status=422, body={"detail": "bad request"}), {}, "status 422: bad request; change agent.llm"),
    "moved": (Behaviour(status=307, body="", headers={"Location": "http://127.0.0.1:9/v1/chat/completions"}), {}, "change agent.llm.base_url"),
}


@pytest.mark.parametrize("name", FATAL)
def test_what_would_fail_for_every_episode_is_fatal_and_names_the_key_to_change(name: str) -> None:
    behaviour, settings, message = FATAL[name]
    error, server = failure([behaviour], **settings)
    assert error.fatal
    assert message in error.reason
    assert len(server.requests) == 1
    assert SECRET[:8] not in str(error)


def test_a_content_filter_is_no_reason_to_stop_other_episodes() -> None:
    error, _ = failure([refusal("The response was filtered due to the prompt", code="content_filter")])
    assert not error.fatal
    assert "content filter" in error.reason


@pytest.mark.parametrize(
    "behaviour",
    [
        refusal(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", code="context_length_exceeded"
        ),
        refusal(
            "This model's maximum context length is 4096 tokens. However, you requested 4200 tokens (4100 in the messages, 100 in the completion)."
        ),
        refusal("the request exceeds the available context size, try increasing it", code="exceed_context_size_error"),
        refusal("The prompt is too long: 5000, model maximum context length: 4096"),
    ],
)
def test_a_conversation_that_outgrows_the_context_is_the_end_of_the_episode(behaviour: Behaviour) -> None:
    with ModelServer([behaviour]) as server, pytest.raises(EpisodeOver) as caught:
        model(server, max_new_tokens=100).complete(CONVERSATION)
    assert caught.value.stop_reason == "out_of_budget"
    assert len(server.requests) == 1


def test_secrets_are_taken_out_of_what_a_service_says() -> None:
    error, _ = failure([refusal(f"bad request with header Bearer {SECRET}")])
    assert "redacted" in error.reason


def test_delays_double_up_to_a_minute_and_a_wish_of_the_service_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    import tenacity.nap

    slept: list[float] = []
    monkeypatch.setattr(tenacity.nap.time, "sleep", slept.append)
    busy = Behaviour(status=429)
    script = [
        busy,
        busy,
        busy,
        busy,
        Behaviour(status=429, headers={"Retry-After": "90"}),
        Behaviour(status=503, headers={"Retry-After": "9999"}),
        "ok",
    ]
    with ModelServer(script) as server:
        chat = ChatModel(ModelConfig(base_url=server.base_url), n_retry=6, retry_delay=10.0)
        assert chat.complete(CONVERSATION)[0].message["content"] == "ok"
    assert slept == [10.0, 20.0, 40.0, 60.0, 90.0, 120.0]


def test_the_wish_of_a_service_may_be_seconds_milliseconds_or_a_date() -> None:
    assert _retry_after({"retry-after": "3"}) == 3.0
    assert _retry_after({"retry-after-ms": "250", "retry-after": "3"}) == 0.25
    date = _retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert date is not None and 20 < date < 31
    assert [_retry_after({"retry-after": wish}) for wish in ("", "soon", "-5", "nan", "inf")] == [None] * 5
    assert _retry_after({}) is None


def test_the_loopback_is_not_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ModelServer(["direct"]) as server:
        for address in (server.base_url, server.base_url.replace("127.0.0.1", "localhost")):
            assert model(server, base_url=address, n_retry=0).complete(CONVERSATION)[0].message["content"] == "direct"


def test_the_key_is_the_configured_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "other-key-value")
    with ModelServer(["x"]) as server:
        model(server).complete(CONVERSATION)
        model(server, api_key_name="OTHER_KEY").complete(CONVERSATION)
        model(server, model_type="vLLM", base_url=None, port=server.port).complete(CONVERSATION)
        monkeypatch.delenv("OPENAI_API_KEY")
        model(server).complete(CONVERSATION)
        sent = [request["headers"]["authorization"] for request in server.requests]
    assert sent == [f"Bearer {SECRET}", "Bearer other-key-value", "Bearer none", "Bearer none"]


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(["x"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert ChatModel(ModelConfig(), n_retry=0).complete(CONVERSATION)[0].message["content"] == "x"


def test_azure_is_called_at_its_deployment_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(["x"]) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", f"http://127.0.0.1:{server.port}")
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key-value")
        monkeypatch.setenv("API_VERSION", "2024-12-01-preview")
        config = ModelConfig(model_type="Azure", model_name="gpt-4.1", deployment_name="my-deployment")
        assert ChatModel(config, n_retry=0).complete(CONVERSATION)[0].message["content"] == "x"
        request = server.requests[0]
    assert request["path"] == "/openai/deployments/my-deployment/chat/completions?api-version=2024-12-01-preview"
    assert request["headers"]["api-key"] == "azure-key-value"
    assert SECRET not in json.dumps(request["headers"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "agent.llm: the credential OPENAI_API_KEY is missing"),
        ({"base_url": "https://models.example.org/v1", "api_key_name": "MY_KEY"}, "the credential MY_KEY is missing"),
        ({"model_type": "vLLM"}, "set agent.llm.port or agent.llm.base_url"),
        ({"model_type": "Azure"}, "credential AZURE_OPENAI_ENDPOINT"),
        ({"model_type": "Azure", "base_url": "https://x.openai.azure.com"}, "AZURE_OPENAI_API_KEY is missing"),
    ],
)
def test_a_missing_setting_is_the_users_to_give(settings: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UserError, match=message.replace(".", r"\.")):
        ChatModel(ModelConfig(**settings), n_retry=0).complete(CONVERSATION)


def test_many_threads_share_one_model_and_its_count() -> None:
    def answer(body: dict[str, Any]) -> Behaviour:
        return Behaviour(text=body["messages"][-1]["content"], usage={"prompt_tokens": 2, "completion_tokens": 1})

    with ModelServer(answer, latency=0.05) as server:
        config = ModelConfig(base_url=server.base_url)
        assert shared_model(config, n_retry=0, retry_delay=0) is shared_model(config, n_retry=0, retry_delay=0)

        def ask(number: int) -> str:
            chat = shared_model(config, n_retry=0, retry_delay=0)
            return str(chat.complete([make_user_message(str(number))])[0].message["content"])

        with ThreadPoolExecutor(16) as threads:
            assert list(threads.map(ask, range(64))) == [str(number) for number in range(64)]
        assert server.most_in_flight > 4
    stats = shared_model(config, n_retry=0, retry_delay=0).get_stats()
    assert (stats["calls"], stats["prompt_tokens"], stats["completion_tokens"]) == (64, 128, 64)


def test_importing_models_does_not_load_the_sdk() -> None:
    heavy = ("openai", "jinja2", "pandas", "tenacity")
    program = f"import sys, medagentgym.llm, medagentgym.agent, medagentgym.llm.client; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_half_a_surrogate_pair_in_a_reply_does_not_break_the_next_request() -> None:
    broken = Behaviour(body={"choices": [{"message": {"role": "assistant", "content": "a\ud800b \ud83d\ude00"}}]})
    with ModelServer([broken, "fine"]) as server:
        chat = model(server)
        reply = chat.complete(CONVERSATION)[0].message
        assert reply["content"] == "a\ufffdb \U0001f600"
        assert chat.complete([*CONVERSATION, reply])[0].message["content"] == "fine"
