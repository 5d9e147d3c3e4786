"""Agents that talk: what they are sent, what is read out of their replies, and when their budget is spent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from model_server import Behaviour, ModelServer, Script

from medagentgym.agent import Agent, EpisodeStart, get_agent_class, make_agent
from medagentgym.agent.conversation import ConversationAgent
from medagentgym.agent.scripted import read_replies
from medagentgym.config import AgentConfig, ModelConfig, ModelPrice
from medagentgym.errors import EpisodeOver, InfrastructureError, UserError

PERMITTED = ("request_info", "validate_code", "debug", "submit")
PROMPT = [{"role": "system", "content": "rules"}, {"role": "user", "content": "How many patients?"}]
RUN = '{"action": "validate_code", "params": {"code": "answer = 1"}}'
SUBMIT = '{"action": "submit", "params": {}}'


def start(idx: int = 0, **more: Any) -> EpisodeStart:
    return EpisodeStart(task="mimic_iii", idx=idx, rollout=0, seed=11, permitted_actions=PERMITTED, prompt=PROMPT, **more)


def language_model(server: ModelServer, *, agent: dict[str, Any] | None = None, **llm: Any) -> Agent:
    config = AgentConfig(
        llm=ModelConfig(model_name="scripted", base_url=server.base_url, **llm), **{"n_retry": 1, "retry_delay": 0.0, **(agent or {})}
    )
    made = make_agent(config, PERMITTED)
    made.reset(start())
    return made


def used(prompt: int, completion: int, reasoning: int = 0) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "completion_tokens_details": {"reasoning_tokens": reasoning}}


def test_the_conversation_is_kept_as_sent_and_received() -> None:
    with ModelServer([f"Let me see.\n```json\n{RUN}\n```", SUBMIT]) as server:
        agent = language_model(server)
        assert agent.act(None) == ("validate_code", {"code": "answer = 1"})
        assert agent.act("It ran.") == ("submit", {})
        agent.observe("Done.")
        sent = [request["body"]["messages"] for request in server.requests]
        assert [request["body"]["seed"] for request in server.requests] == [11, 11]
    assert sent[0] == PROMPT
    assert agent.messages == [
        *PROMPT,
        {"role": "assistant", "content": f"Let me see.\n```json\n{RUN}\n```"},
        {"role": "user", "content": "It ran."},
        {"role": "assistant", "content": SUBMIT},
        {"role": "user", "content": "Done."},
    ]
    assert sent[1] == agent.messages[:4]
    assert (agent.usage.calls, agent.usage.retries, agent.cost) == (2, 0, None)


def test_a_reset_forgets_the_last_episode() -> None:
    with ModelServer([f"{RUN} {SUBMIT}"]) as server:
        agent = language_model(server)
        agent.act(None)
        assert agent.remarks
        agent.reset(start(1))
    assert (agent.messages, agent.usage.calls, agent.remarks, PROMPT[0]["role"]) == (PROMPT, 0, (), "system")


@pytest.mark.parametrize(("text", "kind"), [("It is 3.", "prose"), ('{"action": "validate_code"', "broken"), ("", "broken")])
def test_a_reply_without_a_readable_action_is_an_error_that_says_why(text: str, kind: str) -> None:
    with ModelServer([text]) as server:
        action, params = language_model(server).act(None)
    assert action == "error"
    assert params["kind"] == kind
    assert params["message"]


@pytest.mark.parametrize("text", ["", "<think>It goes on and on", '{"action": "validate_code", "params": {"code": "x = ', "I would say that"])
def test_a_reply_that_was_cut_is_told_so_and_is_never_final_prose(text: str) -> None:
    with ModelServer([Behaviour(text=text, finish_reason="length", usage=used(10, 64, 64))]) as server:
        action, params = language_model(server, max_new_tokens=64).act(None)
    assert (action, params["kind"]) == ("error", "broken")
    assert "cut off at the longest reply of 64 tokens" in params["message"]


def test_remarks_are_kept_beside_the_parameters() -> None:
    with ModelServer([f"{RUN}\n{SUBMIT}", SUBMIT]) as server:
        agent = language_model(server)
        assert agent.act(None) == ("validate_code", {"code": "answer = 1"})
        assert "2 actions" in agent.remarks[0]
        agent.act("ok")
        assert not agent.remarks


def test_an_observation_after_tool_calls_is_the_result_of_the_tool() -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "validate_code", "arguments": '{"code": "answer = 1"}'}},
        {"id": "c2", "type": "function", "function": {"name": "submit", "arguments": "{}"}},
    ]
    with ModelServer([Behaviour(tool_calls=calls), SUBMIT]) as server:
        agent = language_model(server)
        assert agent.act(None) == ("validate_code", {"code": "answer = 1"})
        agent.act("It ran.")
        sent = server.requests[1]["body"]["messages"][2:]
    assert sent[0] == {"role": "assistant", "content": None, "tool_calls": calls}
    assert sent[1] == {"role": "tool", "tool_call_id": "c1", "content": "It ran."}
    assert (sent[2]["role"], sent[2]["tool_call_id"]) == ("tool", "c2")


OVER_BUDGET: dict[str, tuple[Script, dict[str, Any], int]] = {
    "prompt over max_input_tokens": ([Behaviour(text=RUN, usage=used(101, 5))], {"max_input_tokens": 100}, 1),
    "conversation over max_total_tokens": ([Behaviour(text=RUN, usage=used(90, 20))], {"max_total_tokens": 100}, 1),
    "next prompt is known to be too long": ([Behaviour(text=RUN, usage=used(80, 30))], {"max_input_tokens": 100}, 2),
    "the service says that it is too long": (
        [RUN, Behaviour(status=400, body={"error": {"message": "too long", "code": "context_length_exceeded"}})],
        {"max_new_tokens": 10},
        2,
    ),
    "the first prompt is too long": ([Behaviour(status=400, body={"error": {"message": "prompt is too long"}})], {}, 1),
    "cost": ([Behaviour(text=RUN, usage=used(6, 0))], {"agent": {"max_cost": 10.0}, "price": ModelPrice(prompt=1e6)}, 2),
}


@pytest.mark.parametrize("name", OVER_BUDGET)
def test_an_episode_whose_budget_is_spent_is_over(name: str) -> None:
    script, settings, acts = OVER_BUDGET[name]
    with ModelServer(script) as server:
        agent = language_model(server, **settings)
        for _ in range(acts - 1):
            agent.act(None)
        with pytest.raises(EpisodeOver) as caught:
            agent.act("go on")
    assert caught.value.stop_reason == "out_of_budget"


def test_reasoning_is_not_counted_into_the_next_prompt() -> None:
    with ModelServer([Behaviour(text=RUN, usage=used(80, 30, 25))]) as server:
        agent = language_model(server, max_input_tokens=100)
        agent.act(None)
        agent.act("go on")
        assert len(server.requests) == 2


def test_a_call_that_is_known_not_to_fit_is_not_made() -> None:
    with ModelServer([Behaviour(text=RUN, usage=used(80, 30))]) as server:
        agent = language_model(server, max_input_tokens=100)
        agent.act(None)
        with pytest.raises(EpisodeOver):
            agent.act("go on")
        assert len(server.requests) == 1


def test_a_first_prompt_that_does_not_fit_beside_the_longest_reply_is_not_held_against_the_agent() -> None:
    too_long = Behaviour(status=400, body={"error": {"message": "too long", "code": "context_length_exceeded"}})
    with ModelServer([too_long]) as server, pytest.raises(InfrastructureError, match=r"agent\.llm\.max_new_tokens \(500\)"):
        language_model(server, max_new_tokens=500).act(None)


def test_a_failed_service_ends_the_episode_without_a_verdict_and_retries_are_counted() -> None:
    with ModelServer([Behaviour(status=500), RUN, Behaviour(status=500)]) as server:
        agent = language_model(server)
        agent.act(None)
        assert (agent.usage.calls, agent.usage.retries) == (2, 1)
        with pytest.raises(InfrastructureError):
            agent.act("go on")


def test_a_limit_on_the_cost_needs_prices() -> None:
    with pytest.raises(UserError, match=r"agent\.max_cost: .* agent\.llm\.price"):
        make_agent(AgentConfig(max_cost=1.0), PERMITTED)


# --- scripted and reference -----------------------------------------------------------------------------------------------------------------------


def scripted(tmp_path: Path, replies: Any) -> Agent:
    file = tmp_path / "replies.json"
    file.write_text(json.dumps(replies), encoding="utf-8")
    return make_agent(AgentConfig(name="scripted", replies=file), PERMITTED)


def actions(agent: Agent, episode: EpisodeStart, count: int) -> list[str]:
    agent.reset(episode)
    return [agent.act(None if number == 0 else "ok")[0] for number in range(count)]


def test_a_scripted_agent_replays_its_replies_in_every_episode_and_then_submits(tmp_path: Path) -> None:
    agent = scripted(tmp_path, [RUN, "nonsense", {"action": "request_info", "params": {"info_type": "term"}}])
    for idx in range(2):
        assert actions(agent, start(idx), 5) == ["validate_code", "error", "request_info", "submit", "submit"]
    assert agent.usage.calls == 0


def test_a_scripted_agent_may_have_replies_by_instance(tmp_path: Path) -> None:
    agent = scripted(tmp_path, {"3": [RUN], "4": []})
    assert actions(agent, start(3), 2) == ["validate_code", "submit"]
    assert actions(agent, start(4), 1) == ["submit"]
    with pytest.raises(UserError, match=r"replies\.json: no replies for instance 5"):
        agent.reset(start(5))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read as JSON"),
        ('"text"', "expected a list of replies"),
        ("[1]", "reply 0: expected a text or an object"),
        ('{"a": []}', "'a': expected the idx"),
        ('{"1": "text"}', "'1': expected the idx"),
        ('{"1": ["text", null]}', "'1': reply 1"),
    ],
)
def test_a_file_of_replies_that_is_none_is_named(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "replies.json"
    file.write_text(content)
    with pytest.raises(UserError) as caught:
        read_replies(file)
    assert str(file) in str(caught.value)
    assert message in str(caught.value)


def test_a_scripted_agent_without_replies_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"agent\.replies"):
        make_agent(AgentConfig(name="scripted"), PERMITTED)


def test_the_reference_agent_runs_the_reference_program_to_the_letter_and_submits() -> None:
    program = 'import re\nanswer = re.sub(r"\\d+", \'"\', "a\\n1")\n"""doc {x}"""\n'
    agent = make_agent(AgentConfig(name="reference"), PERMITTED)
    assert agent.sees_reference
    agent.reset(start(reference_actions=lambda: [("validate_code", {"code": program})]))
    assert agent.act(None) == ("validate_code", {"code": program})
    assert agent.act("ok") == ("submit", {})
    assert [message["role"] for message in agent.messages] == ["system", "user", "assistant", "user", "assistant"]


def test_the_reference_agent_says_when_a_task_has_no_reference() -> None:
    agent = make_agent(AgentConfig(name="reference"), PERMITTED)
    agent.reset(start())
    with pytest.raises(UserError, match="gives no reference actions"):
        agent.act(None)


def test_only_the_reference_agent_sees_the_reference() -> None:
    assert [name for name in ("llm", "scripted", "reference") if get_agent_class(name).sees_reference] == ["reference"]


def test_a_new_talking_agent_is_one_method() -> None:
    from medagentgym.agent.conversation import Reply

    class Parrot(ConversationAgent):
        name = "parrot"

        def reply(self, messages: Sequence[dict[str, Any]]) -> Reply:
            return Reply(json.dumps({"action": "validate_code", "params": {"code": f"# {messages[-1]['content']}\nanswer = 1"}}))

    agent = Parrot(AgentConfig(), PERMITTED)
    agent.reset(start())
    assert agent.act(None) == ("validate_code", {"code": "# How many patients?\nanswer = 1"})
