"""Where credentialed records may go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from medagentgym.config import AgentConfig, Config, ModelConfig
from medagentgym.endpoints import endpoint_host, is_loopback
from medagentgym.errors import UserError
from medagentgym.policy import check_data_policy

BASIS = "agreement of the hospital, 2024"


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty current folder and no address of a service in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("OPENAI", "AZURE"))]:
        monkeypatch.delenv(name)


def config(llm: dict[str, Any] | None = None, **settings: Any) -> Config:
    return Config.model_validate({"agent": {"llm": llm or {}}, "config_path": "run.yaml", **settings})


@pytest.mark.parametrize(
    ("llm", "host"),
    [
        ({"base_url": "http://127.0.0.1:8000/v1"}, "127.0.0.1"),
        ({"base_url": "http://127.9.9.9/v1"}, "127.9.9.9"),
        ({"base_url": "http://[::1]:8000/v1"}, "::1"),
        ({"base_url": "http://[::ffff:127.0.0.1]/v1"}, "::ffff:127.0.0.1"),
        ({"base_url": "http://LOCALHOST:8000"}, "localhost"),
        ({"base_url": "localhost:8000"}, "localhost"),
        ({"model_type": "vLLM", "port": 8000}, "127.0.0.1"),
    ],
    ids=str,
)
def test_this_machine_may_have_the_records(llm: dict[str, Any], host: str) -> None:
    assert check_data_policy(config(llm), credentialed=True) == [{"model": "agent.llm", "endpoint": host, "permitted_by": "loopback", "basis": None}]


@pytest.mark.parametrize(
    ("llm", "host"),
    [
        ({}, "api.openai.com"),
        ({"base_url": "https://models.example.org/v1"}, "models.example.org"),
        ({"base_url": "http://127.0.0.1@models.example.org/v1"}, "models.example.org"),
        ({"base_url": "http://127.0.0.1.example.org/v1"}, "127.0.0.1.example.org"),
        ({"base_url": "http://localhost.example.org/v1"}, "localhost.example.org"),
        ({"base_url": "http://0.0.0.0:8000/v1"}, "0.0.0.0"),
        ({"base_url": "http://10.0.0.1:8000/v1"}, "10.0.0.1"),
        ({"base_url": "http://0x7f.1/v1"}, "0x7f.1"),
        ({"model_type": "vLLM", "base_url": "http://gpu-7:8000/v1"}, "gpu-7"),
        ({"model_type": "Azure", "base_url": "https://x.openai.azure.com"}, "x.openai.azure.com"),
    ],
    ids=str,
)
def test_another_machine_is_refused_with_what_to_write(llm: dict[str, Any], host: str) -> None:
    with pytest.raises(UserError) as caught:
        check_data_policy(config(llm), credentialed=True)
    message = str(caught.value)
    assert message.startswith(f"run.yaml: agent.llm: would send credentialed records of mimic_iii to {host};") and "\n" not in message
    assert f'data_policy: {{acknowledged: [{{endpoint: "{host}", basis: "<agreement or terms that permit it>"}}]}}' in message


@pytest.mark.parametrize("base_url", ["http://127.0.0.1\\@example.org/v1", "http://", "http://a b/", "http://[::1/v1"])
def test_an_address_that_can_be_read_in_two_ways_is_refused(base_url: str) -> None:
    with pytest.raises(UserError, match="base_url"):
        check_data_policy(config({"base_url": base_url}), credentialed=True)


def test_what_the_refusal_says_to_write_is_accepted_and_recorded() -> None:
    acknowledged = {"acknowledged": [{"endpoint": "api.openai.com", "basis": BASIS}]}
    record = check_data_policy(config(data_policy=acknowledged), credentialed=True)
    assert record == [{"model": "agent.llm", "endpoint": "api.openai.com", "permitted_by": "acknowledged", "basis": BASIS}]
    acknowledged = {"acknowledged": [{"endpoint": "https://API.openai.com/v1", "basis": BASIS}]}
    assert check_data_policy(config(data_policy=acknowledged), credentialed=True) == record, "an address does as well as a host"
    with pytest.raises(UserError, match=r"to other.example.org;"):
        check_data_policy(config({"base_url": "https://other.example.org"}, data_policy=acknowledged), credentialed=True)


@pytest.mark.parametrize("listed", ["10.1.2.3", "10.0.0.0/8", "http://10.1.2.3:9000"])
def test_a_listed_host_of_ones_own_may_have_the_records(listed: str) -> None:
    found = check_data_policy(config({"base_url": "http://10.1.2.3:8000/v1"}, data_policy={"private_hosts": [listed]}), credentialed=True)
    assert [entry["permitted_by"] for entry in found] == ["private host"]
    with pytest.raises(UserError, match=r"to 11.1.2.3"):
        check_data_policy(config({"base_url": "http://11.1.2.3:8000/v1"}, data_policy={"private_hosts": [listed]}), credentialed=True)


def test_a_network_that_is_none_is_named() -> None:
    with pytest.raises(UserError, match=r"data_policy.private_hosts: 10.0.0.0/99"):
        check_data_policy(config({"base_url": "http://10.1.2.3"}, data_policy={"private_hosts": ["10.0.0.0/99"]}), credentialed=True)


def test_the_debug_model_is_held_to_the_same() -> None:
    local = {"base_url": "http://127.0.0.1:8000/v1"}
    with pytest.raises(UserError, match=r"^run.yaml: debugger: would send credentialed records of mimic_iii to api.openai.com"):
        check_data_policy(config(local, debugger={}), credentialed=True)
    with pytest.raises(UserError, match=r"^run.yaml: debugger: "):
        check_data_policy(config(agent={"name": "scripted"}, debugger={}), credentialed=True)
    assert [entry["model"] for entry in check_data_policy(config(local, debugger=local), credentialed=True)] == ["agent.llm", "debugger"]


def test_records_that_are_not_credentialed_may_go_anywhere_and_that_is_recorded() -> None:
    assert check_data_policy(config({"model_type": "Azure"}, debugger={}), credentialed=False) == [
        {"model": "agent.llm", "endpoint": None, "permitted_by": "not credentialed", "basis": None},
        {"model": "debugger", "endpoint": "api.openai.com", "permitted_by": "not credentialed", "basis": None},
    ]


def test_an_agent_without_a_model_sends_nothing() -> None:
    assert check_data_policy(Config(agent=AgentConfig(name="reference"), debugger=ModelConfig()), credentialed=True) == []
    assert check_data_policy(Config(agent=AgentConfig(name="baseline")), credentialed=True) == []


def test_an_address_among_the_credentials_or_in_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("credentials.toml").write_text('AZURE_OPENAI_ENDPOINT = "https://mine.openai.azure.com/"\n')
    Path("credentials.toml").chmod(0o600)
    with pytest.raises(UserError, match=r"to mine.openai.azure.com"):
        check_data_policy(config({"model_type": "Azure"}), credentialed=True)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://elsewhere.example.org")
    with pytest.raises(UserError, match=r"to elsewhere.example.org"):
        check_data_policy(config(), credentialed=True)


def test_a_model_that_is_nowhere_is_named() -> None:
    with pytest.raises(UserError, match=r"agent.llm: says not where the model is; give base_url, or AZURE_OPENAI_ENDPOINT in the credentials"):
        check_data_policy(config({"model_type": "Azure"}), credentialed=True)
    with pytest.raises(UserError, match=r"agent.llm: says not where the model is; give port or base_url"):
        check_data_policy(config({"model_type": "vLLM"}), credentialed=True)


def test_the_host_of_an_address() -> None:
    assert [endpoint_host(address) for address in ("https://A.b.:1/v1", "a:80", "[::1]:80")] == ["a.b", "a", "::1"]
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "128.0.0.1", "a.localhost")] == [True, True, True, False, False]


def indexed(address: str, **settings: Any) -> Config:
    return config({"base_url": "http://127.0.0.1"}, sandbox={"network": "package-index", "package_index": address}, **settings)


def test_a_package_index_is_an_endpoint_like_a_model() -> None:
    with pytest.raises(
        UserError, match=r"run\.yaml: sandbox\.package_index: would send credentialed records of mimic_iii to pypi\.org; .*acknowledged"
    ):
        check_data_policy(indexed("https://pypi.org/simple"), credentialed=True)
    statement = {"acknowledged": [{"endpoint": "pypi.org", "basis": BASIS}]}
    entry = check_data_policy(indexed("https://pypi.org/simple", data_policy=statement), credentialed=True)[-1]
    assert entry == {"model": "sandbox.package_index", "endpoint": "pypi.org", "permitted_by": "acknowledged", "basis": BASIS}


@pytest.mark.parametrize(("address", "why"), [("http://127.0.0.1:3141/simple", "loopback"), ("http://mirror.lan/simple", "private host")])
def test_a_package_index_of_ones_own_may_be_asked(address: str, why: str) -> None:
    policy = {"private_hosts": ["mirror.lan"]}
    assert check_data_policy(indexed(address, data_policy=policy), credentialed=True)[-1]["permitted_by"] == why


def test_a_package_index_that_no_box_is_shown_is_no_endpoint() -> None:
    assert [entry["model"] for entry in check_data_policy(config({"base_url": "http://127.0.0.1"}), credentialed=True)] == ["agent.llm"]
    assert check_data_policy(indexed("https://pypi.org/simple"), credentialed=False)[-1]["permitted_by"] == "not credentialed"
