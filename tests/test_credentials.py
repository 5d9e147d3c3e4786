"""Credentials: read, checked before anything is spent, and found nowhere else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from medagentgym import credentials
from medagentgym.config import AgentConfig, Config, ModelConfig
from medagentgym.credentials import check_credentials, load_credentials, redact, required_credentials
from medagentgym.errors import UserError

KEY = 'planted-"key"-\\with/all+of it'


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty current folder, and an environment without credentials that is restored."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.endswith(("KEY", "TOKEN", "SECRET", "PASSWORD")) or name.startswith(("OPENAI", "AZURE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(credentials, "_loaded", {})
    monkeypatch.setattr(credentials, "_warned", set())


def write(content: str, name: str = "credentials.toml", mode: int = 0o600) -> Path:
    path = Path(name)
    path.write_text(content, encoding="utf-8")
    path.chmod(mode)
    return path


def test_without_an_argument_the_file_of_the_current_folder_is_read_and_set_in_the_environment() -> None:
    write('OPENAI_API_KEY = "abc"\nAPI_VERSION = "2024-10-21"\nPORT = 8000\nEMPTY = ""\n')
    assert load_credentials() == {"OPENAI_API_KEY": "abc", "API_VERSION": "2024-10-21", "PORT": "8000", "EMPTY": ""}
    assert (os.environ["OPENAI_API_KEY"], os.environ["PORT"]) == ("abc", "8000")
    assert "EMPTY" not in os.environ


def test_a_value_of_the_file_wins_over_the_environment_unless_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "old")
    monkeypatch.setitem(os.environ, "OTHER_KEY", "old")
    load_credentials(write('OPENAI_API_KEY = "new"\nOTHER_KEY = ""\n'))
    assert (os.environ["OPENAI_API_KEY"], os.environ["OTHER_KEY"]) == ("new", "old")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("OPENAI_API_KEY = planted-value\n", "not TOML"),
        ('A = "1"\nOPENAI_API_KEY = "planted-value\n', "line 2: not TOML"),
        ('OPENAI_API_KEY "planted-value"\n', "not TOML"),
        ('A = "planted-value"\nA = "planted-value"\n', "not TOML"),
        ('[openai]\nkey = "planted-value"\n', "openai: a table; expects flat keys"),
        ('KEYS = ["planted-value"]\n', "KEYS: expects text or a number"),
        ("KEY = true\n", "KEY: expects text or a number"),
        ("KEY = 2024-10-21\n", "KEY: expects text or a number"),
        ('"MY KEY" = "planted-value"\n', "MY KEY: expects a name of letters"),
        ('KEY = "planted-value\\u0000"\n', "KEY: holds a null character"),
    ],
    ids=["bare word", "open quote", "no sign", "twice", "table", "list", "boolean", "date", "name", "null"],
)
def test_a_file_that_is_not_flat_toml_is_one_line_without_any_value(content: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        load_credentials(write(content))
    message = str(caught.value)
    assert message.startswith("credentials.toml: ") and says in message and "\n" not in message
    assert "planted-value" not in message and caught.value.__cause__ is None
    assert "planted-value" not in os.environ.values()


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UserError, match=r"^absent.toml: no such file"):
        load_credentials("absent.toml")
    with pytest.raises(UserError, match=r"^credentials.toml: no such file"):
        load_credentials()
    Path("folder").mkdir()
    with pytest.raises(UserError, match=r"^folder: cannot be read"):
        load_credentials("folder")
    Path("latin.toml").write_bytes(b'A = "\xe9"')
    with pytest.raises(UserError, match=r"^latin.toml: not UTF-8"):
        load_credentials("latin.toml")


def test_a_file_that_others_can_read_is_warned_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    load_credentials(write('A_KEY = "abc"', mode=0o600))
    assert capsys.readouterr().err == ""
    path = write('A_KEY = "abc"', "open.toml", mode=0o644)
    load_credentials(path)
    load_credentials(path)
    assert capsys.readouterr().err == "medagentgym: open.toml: can be read by other users of this machine; chmod 600 open.toml\n"


# --- what is needed ---------------------------------------------------------------------------------------------------------------------------------


def model(**settings: object) -> Config:
    return Config(agent=AgentConfig(llm=ModelConfig.model_validate(settings)))


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (model(), ["OPENAI_API_KEY"]),
        (model(api_key_name="MY_KEY"), ["MY_KEY"]),
        (model(base_url="https://models.example.org/v1"), ["OPENAI_API_KEY"]),
        (model(base_url="http://127.0.0.1:8000/v1"), []),
        (model(base_url="http://127.0.0.1:8000/v1", api_key_name="MY_KEY"), ["MY_KEY"]),
        (model(model_type="vLLM", port=8000), []),
        (model(model_type="vLLM", port=8000, api_key_name="MY_KEY"), ["MY_KEY"]),
        (model(model_type="Azure"), ["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "API_VERSION"]),
        (model(model_type="Azure", base_url="https://x.openai.azure.com", api_version="1"), ["AZURE_OPENAI_API_KEY"]),
        (Config(agent=AgentConfig(name="reference")), []),
        (Config(agent=AgentConfig(name="baseline")), []),
        (Config(agent=AgentConfig(name="scripted")), []),
        (Config(agent=AgentConfig(name="someone_elses")), []),
        (Config(agent=AgentConfig(name="someone_elses", llm=ModelConfig())), ["OPENAI_API_KEY"]),
        (Config(debugger=ModelConfig(model_type="Azure")), ["OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "API_VERSION"]),
        (Config(debugger=ModelConfig()), ["OPENAI_API_KEY"]),
        (Config(agent=AgentConfig(name="reference"), debugger=ModelConfig()), []),
    ],
)
def test_the_credentials_that_a_configuration_needs(config: Config, names: list[str]) -> None:
    assert required_credentials(config) == names


def test_an_address_among_the_credentials_decides_whether_a_key_is_needed() -> None:
    write('OPENAI_BASE_URL = "http://localhost:8000/v1"\n')
    assert required_credentials(Config()) == ["OPENAI_BASE_URL"]
    write('OPENAI_BASE_URL = "http://models.example.org/v1"\n')
    assert required_credentials(Config()) == ["OPENAI_API_KEY", "OPENAI_BASE_URL"]


def test_a_missing_credential_is_one_line_with_file_and_name_and_nothing_is_set() -> None:
    with pytest.raises(UserError) as caught:
        check_credentials(Config())
    assert str(caught.value).startswith(
        "credentials.toml (no such file): OPENAI_API_KEY is needed by agent.llm and neither there nor in the environment"
    )
    write('AZURE_OPENAI_API_KEY = "abc"\nOPENAI_API_KEY = ""\n')
    with pytest.raises(UserError, match=r"^credentials.toml: OPENAI_API_KEY is needed by agent.llm"):
        check_credentials(Config())
    with pytest.raises(UserError, match=r"^credentials.toml: AZURE_OPENAI_ENDPOINT is needed by agent.llm"):
        check_credentials(model(model_type="Azure"))
    assert "AZURE_OPENAI_API_KEY" not in os.environ


def test_a_credential_in_the_file_or_in_the_environment_suffices(monkeypatch: pytest.MonkeyPatch) -> None:
    write('OPENAI_API_KEY = "abc"\n')
    check_credentials(Config())
    assert "OPENAI_API_KEY" not in os.environ
    monkeypatch.setitem(os.environ, "MY_KEY", "abc")
    check_credentials(model(api_key_name="MY_KEY"))


# --- redaction --------------------------------------------------------------------------------------------------------------------------------------


def test_secrets_of_the_file_and_the_environment_are_redacted_in_text_json_and_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("credentials.toml").write_text(f"OPENAI_API_KEY = {json.dumps(KEY)}\n")
    load_credentials()
    monkeypatch.setitem(os.environ, "SOME_TOKEN", "token-of-the-environment")
    for text in (KEY, json.dumps({"a": KEY}), f"https://host/?key={quote(KEY, safe='')}"):
        redacted = redact(text)
        assert "planted" not in redacted and "[redacted OPENAI_API_KEY]" in redacted
    assert redact("x token-of-the-environment y") == "x [redacted SOME_TOKEN] y"


def test_settings_and_short_values_are_not_redacted() -> None:
    load_credentials(write('API_VERSION = "2024-10-21"\nAZURE_OPENAI_ENDPOINT = "https://x.openai.azure.com"\nA_KEY = "short"\n'))
    text = "admitted 2024-10-21, short, https://x.openai.azure.com"
    assert redact(text) == text


def test_a_secret_within_another_is_redacted_with_the_longer_one() -> None:
    load_credentials(write('A_KEY = "abcdefgh"\nB_KEY = "abcdefgh-ijkl"\n'))
    assert redact("abcdefgh-ijkl abcdefgh") == "[redacted B_KEY] [redacted A_KEY]"
