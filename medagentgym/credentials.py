"""Credentials: where they are, whether they suffice, and that they are written nowhere else.

They live in a TOML file of flat keys (`OPENAI_API_KEY = "..."`) and in environment variables of the same names. A value given in the file wins.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from pathlib import Path
from urllib.parse import quote

import toml

from medagentgym.config import Config, ModelConfig
from medagentgym.configuration import models_in_use
from medagentgym.endpoints import endpoint_host, is_loopback
from medagentgym.errors import UserError

DEFAULT_FILE = Path("./credentials.toml")
SHORTEST_SECRET = 8
"""Shorter values are not redacted: they would be found in any text."""

_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SETTING_NAME = re.compile(r"(ENDPOINT|VERSION|URL|BASE|HOST|REGION|DEPLOYMENT|MODEL|ORGANIZATION|PROJECT)$", re.IGNORECASE)
"""Entries of a credentials file that are not secret, such as `AZURE_OPENAI_ENDPOINT` and `API_VERSION`."""

_loaded: dict[str, str] = {}
"""What this process has read from credentials files, to be redacted."""
_warned: set[Path] = set()


def load_credentials(path: Path | str | None = None) -> dict[str, str]:
    """Read a TOML file of flat keys and set each as an environment variable of this process; without a path, `./credentials.toml`.

    Returns the mapping, numbers as text. An empty value is returned but not set. Raises `UserError` naming file and key where the file is missing or
    not such a file; values are never part of a message.
    """
    credentials = read_credentials(DEFAULT_FILE if path is None else Path(path))
    os.environ.update({name: value for name, value in credentials.items() if value})
    return credentials


def read_credentials(path: Path) -> dict[str, str]:
    """What a credentials file holds, without setting anything. Raises `UserError`, see `load_credentials`."""
    path = path.expanduser()
    try:
        data = toml.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f'{path}: no such file; write the credentials there (`OPENAI_API_KEY = "..."`) or name another in credentials_path') from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text; save the file as UTF-8") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except toml.TomlDecodeError as error:
        raise UserError(f'{path}: line {error.lineno}: not TOML; expects lines of the form NAME = "value"') from None
    except (ValueError, IndexError, KeyError, TypeError, AttributeError):
        # The parser stumbles in many ways, and its messages may quote values.
        raise UserError(f'{path}: not TOML; expects lines of the form NAME = "value"') from None
    credentials = {}
    for name, value in data.items():
        if isinstance(value, dict):
            raise UserError(f"{path}: {name}: a table; expects flat keys, none of them below a [heading]")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise UserError(f"{path}: {name}: expects text or a number")
        if not _NAME.match(name):
            raise UserError(f"{path}: {name}: expects a name of letters, digits and `_`, as environment variables have")
        if "\0" in str(value):
            raise UserError(f"{path}: {name}: holds a null character")
        credentials[name] = str(value)
    _loaded.update(credentials)
    _warn_if_open(path)
    return credentials


def credential(name: str, path: Path) -> str | None:
    """A credential of the file or, where the file or the entry is missing, of the environment; None where it is nowhere. Sets nothing."""
    in_file = read_credentials(path).get(name) if path.expanduser().exists() else None
    return in_file or os.environ.get(name) or None


def base_url(model: ModelConfig, path: Path) -> str | None:
    """The address at which a model is called, settings of the credentials file and the environment included; None: nowhere given."""
    if model.base_url is not None:
        return model.base_url
    if model.model_type == "vLLM":
        return f"http://127.0.0.1:{model.port}/v1" if model.port is not None else None
    if model.model_type == "Azure":
        return credential("AZURE_OPENAI_ENDPOINT", path)
    return credential("OPENAI_BASE_URL", path) or "https://api.openai.com/v1"


def required_credentials(config: Config) -> list[str]:
    """The names of the credentials that the models of a configuration need, each once, whether they are there or not.

    No key is needed for `vLLM` and for a service on the loopback, unless `api_key_name` names one. Addresses that are looked up
    (`AZURE_OPENAI_ENDPOINT`, `OPENAI_BASE_URL`) are among the names; agents without a model need nothing.
    """
    names: list[str] = []
    for _, model in models_in_use(config):
        names += [name for name in _required(model, config.credentials_path) if name not in names]
    return names


def check_credentials(config: Config) -> None:
    """Make sure, before anything is spent, that every credential that is needed is in the file or the environment. Sets nothing.

    Raises `UserError` naming the file and the credential.
    """
    path = config.credentials_path
    for key, model in models_in_use(config):
        for name in _required(model, path):
            if credential(name, path) is None:
                missing = "" if path.expanduser().exists() else " (no such file)"
                raise UserError(f'{path}{missing}: {name} is needed by {key} and neither there nor in the environment; write a line {name} = "..."')


def redact(text: str) -> str:
    """The text with every known secret replaced by `[redacted NAME]`.

    Known are what this process has read from credentials files, settings such as `API_VERSION` left aside, and environment variables whose names end
    in KEY, TOKEN, SECRET or PASSWORD; of at least 8 characters. They are found as they are, and as JSON and URLs write them.
    """
    for value, name in sorted(_secrets().items(), key=lambda item: -len(item[0])):
        if value in text:
            text = text.replace(value, f"[redacted {name}]")
    return text


def _secrets() -> dict[str, str]:
    named = {name: value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    named.update({name: value for name, value in _loaded.items() if not _SETTING_NAME.search(name)})
    secrets: dict[str, str] = {}
    for name, value in named.items():
        if len(value) >= SHORTEST_SECRET and value.strip():
            for form in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value, safe="")):
                secrets.setdefault(form, name)
    return secrets


def _required(model: ModelConfig, path: Path) -> list[str]:
    if model.model_type == "vLLM":
        return [model.api_key_name] if model.api_key_name else []
    address = base_url(model, path)
    local = address is not None and is_loopback(endpoint_host(address))
    default = "AZURE_OPENAI_API_KEY" if model.model_type == "Azure" else "OPENAI_API_KEY"
    names = [model.api_key_name or default] if model.api_key_name or not local else []
    if model.base_url is None and (model.model_type == "Azure" or credential("OPENAI_BASE_URL", path)):
        names.append("AZURE_OPENAI_ENDPOINT" if model.model_type == "Azure" else "OPENAI_BASE_URL")
    if model.model_type == "Azure" and model.api_version is None and credential("OPENAI_API_VERSION", path) is None:
        names.append("API_VERSION")
    return names


def _warn_if_open(path: Path) -> None:
    resolved = path.resolve()
    if resolved in _warned:
        return
    _warned.add(resolved)
    if resolved.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        print(f"medagentgym: {path}: can be read by other users of this machine; chmod 600 {path}", file=sys.stderr)
