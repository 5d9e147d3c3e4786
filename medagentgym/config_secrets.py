"""Secrets do not belong into a configuration, which is copied into results: what looks like one is refused."""

from __future__ import annotations

import re
from typing import Any

from medagentgym.config_keys import KeyPath, dotted
from medagentgym.errors import UserError

_SECRET_KEY = re.compile(r"(^|[_-])((api|access|secret|private)[_-]?key|secret|token|password|passwd|pwd|authorization|credentials?)$", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"^(sk-[\w-]{8,}|gh[pousr]_\w{16,}|hf_\w{16,}|AKIA[0-9A-Z]{16}|xox[a-z]-\S{8,}|AIza[\w-]{30,}|Bearer\s+\S{8,}|eyJ[\w-]{8,}\.[\w-]{8,}\.\S*|[0-9a-f]{32,})$"
    r"|^[a-z][a-z0-9+.-]*://[^/\s]*@"
    r"|[?&](api[_-]?key|key|token|sig)=\S{8,}",
    re.IGNORECASE,
)


def refuse_secrets(data: Any, where: str, path: KeyPath = ()) -> None:
    """Raise `UserError`, naming the key and not the value, where a key or a value looks like a secret. `where` is the file."""
    if isinstance(data, dict):
        for key, value in data.items():
            if _SECRET_KEY.search(key) and _may_be_secret(value):
                _refuse_secret(where, (*path, key))
            refuse_secrets(value, where, (*path, key))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            refuse_secrets(value, where, (*path, number))
    elif isinstance(data, str) and _SECRET_VALUE.search(data):
        _refuse_secret(where, path)


def _may_be_secret(value: Any) -> bool:
    # Short text and small numbers below such keys are sampling parameters (`stop_token: "</s>"`).
    return isinstance(value, str | int | float) and len(str(value).strip()) >= 6 and not isinstance(value, bool)


def _refuse_secret(where: str, path: KeyPath) -> None:
    raise UserError(f"{where}: {dotted(path)}: looks like a secret; put it into the file of credentials_path, where it is not copied into results")
