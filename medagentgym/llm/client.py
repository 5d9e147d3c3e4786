"""Calling a language model over the chat completions interface: OpenAI, Azure OpenAI, vLLM and every server that speaks it.

What becomes of a failed call:

- Timeouts, broken connections, answers that are no chat completion, and the statuses 408, 409, 429 and 5xx are tried again: `n_retry` times, after
  `retry_delay` seconds, doubled each time up to a minute, or as long as the service asks (`Retry-After`), up to two minutes. Then
  `InfrastructureError("model", ...)`.
- A conversation that is longer than the model's context is the end of the episode: `EpisodeOver("out_of_budget")`.
- Everything that would fail for the next episode, too (a refused key, an unknown model, a refused parameter, a spent quota), is an
  `InfrastructureError` with `fatal`, whose message names the configuration key to change.

A reply that was cut at its longest is no failure: it is given as it is, with its `finish_reason`.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from medagentgym.agent.base import Usage
from medagentgym.endpoints import endpoint_host, is_loopback
from medagentgym.errors import EpisodeOver, InfrastructureError, UserError, one_line
from medagentgym.llm.messages import Message, as_sent

if TYPE_CHECKING:
    import openai
    from tenacity import RetryCallState

    from medagentgym.config import ModelConfig

LONGEST_DELAY = 60.0
"""Seconds up to which the delay between two tries doubles."""
LONGEST_RETRY_AFTER = 120.0
"""Seconds up to which a service's own wish is honoured."""
CONNECT_SECONDS = 10.0
"""Time to reach the service, seconds; `timeout_seconds` is for its answer."""

_TRIED_AGAIN = {408, 409, 425, 429}
_CONTEXT_CODES = ("context_length_exceeded", "exceed_context_size_error")
_CONTEXT_TEXT = re.compile(
    r"maximum context length|context (?:length|window|size)|max_model_len|prompt is too long|input (?:is )?too long|too many (?:input )?tokens",
    re.IGNORECASE,
)
_CONTEXT_LIMIT = re.compile(r"(?:maximum context length (?:is|of)|context (?:length|window|size)(?: is| of| \()?)\s*\(?(\d+)", re.IGNORECASE)
_QUOTED_NAME = re.compile(r"['\"`](\w+)['\"`]")
_CONFIGURATION_KEYS = {
    "temperature": "temperature: null",
    "top_p": "top_p: null",
    "seed": "send_seed: false",
    "logprobs": "log_probs: false",
    "top_logprobs": "log_probs: false",
    "model": "model_name",
}


@dataclass(frozen=True)
class Completion:
    """One reply of a model."""

    message: Message
    """As received: `role`, `content`, and where there are such, `tool_calls`, `reasoning_content`, `logprobs`."""
    finish_reason: str | None
    """`stop`, `length` (cut at the longest reply), `tool_calls`, `content_filter`, or what the service calls it."""
    usage: Usage
    """Of the call, failed tries included. Of several samples the first carries it all."""
    context_tokens: tuple[int, int] = (0, 0)
    """Prompt and reply tokens of the answered call alone, as the service counts them; 0 where it does not."""


class _FailedTry(Exception):
    """A call that may succeed when it is tried again. `retry_after` is the service's own wish, in seconds."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class ChatModel:
    """A model that answers conversations. One object serves many threads at once, over one pool of connections."""

    def __init__(self, config: ModelConfig, *, n_retry: int = 3, retry_delay: float = 10.0, key: str = "agent.llm") -> None:
        """`key` is where in the configuration the model is described, for messages."""
        self.config = config
        self.n_retry = n_retry
        self.retry_delay = retry_delay
        self.key = key
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None
        self._stats = Usage()

    def __call__(
        self, messages: Sequence[Message], n_samples: int = 1, temperature: float | None = None
    ) -> tuple[Message | list[Message], float | None]:
        """Answer a conversation: the reply, or with several samples the list of them, and what it cost (None without a price).

        `temperature` goes before the configured one. Raises as `complete` does.
        """
        completions = self.complete(messages, n_samples=n_samples, temperature=temperature)
        cost = completions[0].usage.cost
        return (completions[0].message if n_samples == 1 else [completion.message for completion in completions]), cost

    def complete(
        self, messages: Sequence[Message], *, seed: int | None = None, n_samples: int = 1, temperature: float | None = None
    ) -> list[Completion]:
        """Answer a conversation with `n_samples` replies.

        `seed` is sent where `send_seed` is set. Raises `EpisodeOver("out_of_budget")` where the conversation is longer than the model's context,
        `InfrastructureError` where the service failed (see the module), and `UserError` for a missing credential.
        """
        import tenacity

        request = self._request(messages, seed, n_samples, temperature)
        spent = Usage()
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.n_retry + 1),
            wait=self._delay,
            retry=tenacity.retry_if_exception_type(_FailedTry),
            reraise=True,
        )
        try:
            for attempt in retrying:
                with attempt:
                    spent.add(Usage(calls=1, retries=int(attempt.retry_state.attempt_number > 1)))
                    return self._answered(self._body(request), spent)
        except _FailedTry as failed:
            tries = f"; {self.n_retry + 1} tries" if self.n_retry else ""
            raise InfrastructureError("model", f"{self.config.model_name}: {failed}{tries}") from failed
        finally:
            with self._lock:
                self._stats.add(spent)
        raise AssertionError("tenacity ends with a reply or an exception")

    def get_stats(self) -> dict[str, Any]:
        """What this object has used so far, failed calls included: `calls`, `retries`, tokens by kind, and `cost` (None without a price)."""
        with self._lock:
            return self._stats.to_json()

    # --- the request ----------------------------------------------------------------------------------------------------------------------------

    def _request(self, messages: Sequence[Message], seed: int | None, n_samples: int, temperature: float | None) -> dict[str, Any]:
        config = self.config
        temperature = config.temperature if temperature is None else temperature
        deployment = config.deployment_name if config.model_type == "Azure" else None
        optional = {
            config.token_param: config.max_new_tokens,
            "temperature": temperature,
            "top_p": config.top_p,
            "seed": seed if config.send_seed else None,
            "logprobs": True if config.log_probs else None,
            "n": n_samples if n_samples > 1 else None,
        }
        return {
            "model": deployment or config.model_name,
            "messages": [as_sent(message) for message in messages],
            **{name: value for name, value in optional.items() if value is not None},
            **config.extra_body,
        }

    def _connection(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                self._client = _connect(self.config, self.key)
            return self._client

    def _body(self, request: Mapping[str, Any]) -> Any:
        """The answer's body as JSON data. Raises `_FailedTry` where trying again may help."""
        client = self._connection()
        import openai

        try:
            # The SDK's typed method walks over all messages at every call, which costs more than all the rest of the call.
            body: object = client.post("/chat/completions", cast_to=object, body=dict(request))
            return json.loads(body) if isinstance(body, str) else body
        except openai.APITimeoutError as error:
            raise _FailedTry(f"no answer within {self.config.timeout_seconds:g} s (timeout_seconds)") from error
        except openai.APIConnectionError as error:
            raise _FailedTry(self._redacted(f"no connection to {client.base_url}: {error.__cause__ or error}")) from error
        except openai.APIStatusError as error:
            raise self._status_error(error) from error
        except (ValueError, RecursionError) as error:
            raise _FailedTry("the answer is not JSON") from error

    # --- the answer -----------------------------------------------------------------------------------------------------------------------------

    def _answered(self, body: Any, spent: Usage) -> list[Completion]:
        """The replies in an answer; what they used is added to `spent`."""
        if not isinstance(body, dict):
            raise _FailedTry("the answer is no chat completion")
        used = _usage_of(body.get("usage"))
        used.cost = self._cost(used) if isinstance(body.get("usage"), dict) else None
        spent.add(used)
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices:
            raise _FailedTry(self._redacted(f"the answer holds no reply{_error_text(body)}"))
        completions: list[Completion] = []
        for choice in choices:
            message = choice.get("message") if isinstance(choice, dict) else None
            if not isinstance(message, dict):
                raise _FailedTry("the answer holds no reply")
            reply = _reply_of(message, choice.get("logprobs") if self.config.log_probs else None)
            finish_reason = choice.get("finish_reason")
            completions.append(
                Completion(
                    reply,
                    finish_reason if isinstance(finish_reason, str) else None,
                    Usage() if completions else Usage(**spent.to_json()),
                    (used.prompt_tokens, used.completion_tokens),
                )
            )
        return completions

    def _cost(self, used: Usage) -> float | None:
        price = self.config.price
        if price is None:
            return None
        cached_price = price.prompt if price.cached is None else price.cached
        uncached = max(used.prompt_tokens - used.cached_tokens, 0)
        return (uncached * price.prompt + used.cached_tokens * cached_price + used.completion_tokens * price.completion) / 1e6

    # --- failures -------------------------------------------------------------------------------------------------------------------------------

    def _delay(self, state: RetryCallState) -> float:
        delay = min(self.retry_delay * 2.0 ** min(state.attempt_number - 1, 30), LONGEST_DELAY)
        failed = state.outcome.exception() if state.outcome is not None else None
        wish = failed.retry_after if isinstance(failed, _FailedTry) else None
        return delay if wish is None else min(max(delay, wish), LONGEST_RETRY_AFTER)

    def _status_error(self, error: openai.APIStatusError) -> Exception:
        status, code = error.status_code, str(getattr(error, "code", None) or "")
        said = self._redacted(_error_text(error.body) or f": {one_line(error.message)[:300]}")
        reason = f"{self.config.model_name}: status {status}{said}"
        if code == "insufficient_quota":
            return InfrastructureError("model", f"{reason}; the quota of the account is spent", fatal=True)
        if status in _TRIED_AGAIN or status >= 500:
            return _FailedTry(f"status {status}{said}", _retry_after(error.response.headers))
        if status == 401:
            # Services quote parts of the key that they refuse, so their words are left out.
            name = self.config.api_key_name or _default_key_name(self.config) or "api_key_name"
            return InfrastructureError("model", f"{self.config.model_name}: status 401, the key is refused; check the credential {name}", fatal=True)
        if status == 403:
            return InfrastructureError("model", f"{reason}; this key may not use the model", fatal=True)
        if status == 404:
            return InfrastructureError("model", f"{reason}; check {self.key}.model_name and {self.key}.base_url", fatal=True)
        if 300 <= status < 400:
            return InfrastructureError("model", f"{reason}; the service has moved, and is not followed: change {self.key}.base_url", fatal=True)
        return self._refused_request(error, code, said, reason)

    def _refused_request(self, error: openai.APIStatusError, code: str, said: str, reason: str) -> Exception:
        """What a request means that the service refuses as it is (400, 413, 422)."""
        asked_length = self.config.max_new_tokens
        if code in _CONTEXT_CODES or error.status_code == 413 or _CONTEXT_TEXT.search(said):
            limit = _CONTEXT_LIMIT.search(said)
            if limit is not None and asked_length is not None and asked_length >= int(limit[1]):
                advice = f"{self.key}.max_new_tokens ({asked_length}) leaves no room for a prompt in a context of {limit[1]} tokens; lower it"
                return InfrastructureError("model", f"{self.config.model_name}: {advice}", fatal=True)
            return EpisodeOver("out_of_budget", f"the conversation is longer than the context of {self.config.model_name}")
        if code == "content_filter" or "content management policy" in said:
            return InfrastructureError("model", f"{reason}; the service's content filter refused the conversation")
        parameter = str(getattr(error, "param", None) or "")
        names = [parameter, *_QUOTED_NAME.findall(said)]
        return InfrastructureError("model", f"{reason}{self._what_to_change(names, said)}", fatal=True)

    def _what_to_change(self, names: Sequence[str], said: str) -> str:
        for name in names:
            if name in ("max_tokens", "max_completion_tokens"):
                if name == self.config.token_param and "too large" not in said and "at most" not in said:
                    other = "max_completion_tokens" if name == "max_tokens" else "max_tokens"
                    return f"; try {self.key}.token_param: {other}"
                return f"; lower {self.key}.max_new_tokens"
            if name in _CONFIGURATION_KEYS:
                return f"; try {self.key}.{_CONFIGURATION_KEYS[name]}"
            if name in self.config.extra_body:
                return f"; change {self.key}.extra_body.{name}"
        return f"; change {self.key}"

    def _redacted(self, text: str) -> str:
        from medagentgym.credentials import redact

        return redact(one_line(text))[:500]


_shared: dict[tuple[str, ...], ChatModel] = {}
_shared_lock = threading.Lock()


def shared_model(config: ModelConfig, *, n_retry: int, retry_delay: float, key: str = "agent.llm") -> ChatModel:
    """The model of a configuration, one object in this process, so that all episodes share its connections."""
    identity = (config.model_dump_json(), str(n_retry), str(retry_delay), key)
    with _shared_lock:
        if identity not in _shared:
            _shared[identity] = ChatModel(config, n_retry=n_retry, retry_delay=retry_delay, key=key)
        return _shared[identity]


def _connect(config: ModelConfig, key: str) -> openai.OpenAI:
    """The SDK's client. Its own retries are off, redirects are not followed, and the loopback is never reached through a proxy."""
    import openai

    address = _address(config, key)
    local = address is not None and is_loopback(endpoint_host(address, f"{key}.base_url"))
    # The SDK's default pool holds 1,000 connections, more than episodes are ever in flight.
    connections = openai.DefaultHttpxClient(follow_redirects=False, trust_env=not local)
    timeout = openai.Timeout(config.timeout_seconds, connect=min(CONNECT_SECONDS, config.timeout_seconds))
    api_key = _api_key(config, key, local)
    if config.model_type == "Azure":
        version = config.api_version or os.environ.get("API_VERSION") or os.environ.get("OPENAI_API_VERSION")
        if not version:
            raise UserError(f"{key}: Azure needs the version of its interface; set {key}.api_version or the credential API_VERSION")
        return openai.AzureOpenAI(
            azure_endpoint=str(address),
            azure_deployment=config.deployment_name or config.model_name,
            api_version=version,
            api_key=api_key,
            timeout=timeout,
            max_retries=0,
            http_client=connections,
        )
    return openai.OpenAI(base_url=address, api_key=api_key, timeout=timeout, max_retries=0, http_client=connections)


def _address(config: ModelConfig, key: str) -> str | None:
    if config.base_url is not None:
        return config.base_url
    if config.model_type == "vLLM":
        if config.port is None:
            raise UserError(f"{key}: vLLM needs the address of its server; set {key}.port or {key}.base_url")
        return f"http://127.0.0.1:{config.port}/v1"
    if config.model_type == "Azure":
        endpoint = os.environ.get("AZURE_OPENAI_ENDPOINT")
        if not endpoint:
            raise UserError(f"{key}: Azure needs the address of the resource; set {key}.base_url or the credential AZURE_OPENAI_ENDPOINT")
        return endpoint
    return os.environ.get("OPENAI_BASE_URL") or None


def _api_key(config: ModelConfig, key: str, local: bool) -> str:
    name = config.api_key_name or _default_key_name(config)
    value = os.environ.get(name) if name else None
    if value:
        return value
    if config.api_key_name is None and (local or config.model_type == "vLLM"):
        return "none"
    raise UserError(f"{key}: the credential {name} is missing; write it into the credentials file or the environment")


def _default_key_name(config: ModelConfig) -> str | None:
    return {"OpenAI": "OPENAI_API_KEY", "Azure": "AZURE_OPENAI_API_KEY"}.get(config.model_type)


def _reply_of(message: Mapping[str, Any], logprobs: Any) -> Message:
    tool_calls = message.get("tool_calls") or None
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    reply: Message = {"role": "assistant", "content": content if isinstance(content, str) else None if tool_calls else ""}
    if isinstance(tool_calls, list):
        reply["tool_calls"] = tool_calls
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(reasoning, str):
        reply["reasoning_content"] = reasoning
    if message.get("refusal") and not reply["content"]:
        reply["content"] = str(message["refusal"])
    if logprobs is not None:
        reply["logprobs"] = logprobs
    return _encodable(reply)


def _encodable(reply: Message) -> Message:
    """The reply with halves of surrogate pairs joined, or replaced where they stand alone: it goes back to the service in every later request."""
    text = json.dumps(reply, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return dict(json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))
    return reply


def _usage_of(usage: Any) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens"),
        cached_tokens=_count(usage.get("prompt_tokens_details"), "cached_tokens"),
    )


def _count(counts: Any, name: str) -> int:
    value = counts.get(name) if isinstance(counts, dict) else None
    return max(int(value), 0) if isinstance(value, (int, float)) and math.isfinite(value) else 0


def _error_text(body: Any) -> str:
    """`: ` and what the service says is wrong, or nothing."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
        if message:
            return f": {one_line(message)[:300]}"
    return ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the service wishes: `Retry-After-Ms`, or `Retry-After` in seconds or as a date (RFC 9110, 10.2.3)."""
    try:
        milliseconds = headers.get("retry-after-ms")
        if milliseconds is not None:
            return _seconds(float(milliseconds) / 1000)
        wish = headers.get("retry-after")
        if wish is None:
            return None
        try:
            return _seconds(float(wish))
        except ValueError:
            return _seconds(parsedate_to_datetime(wish).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(value: float) -> float | None:
    return value if math.isfinite(value) and value >= 0 else None
