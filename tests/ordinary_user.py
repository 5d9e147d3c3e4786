"""Running something as an ordinary user, for tests that run as root."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

USER = 61_001
"""A user that nobody is."""


def accessible_python(user: int) -> list[str]:
    """A command prefix after which the interpreter of these tests can be reached by an ordinary user, whose home it may lie in."""
    base = Path(sys.base_prefix)
    command = [shutil.which("bwrap") or "bwrap", "--dev-bind", "/", "/"]
    closed = next((parent for parent in reversed(base.parents) if parent.stat().st_mode & 0o001 == 0), None)
    if closed is not None:
        command += ["--perms", "0755", "--tmpfs", str(closed)]
        for parent in reversed(base.parents):
            if parent.is_relative_to(closed) and parent != closed:
                command += ["--perms", "0755", "--dir", str(parent)]
        command += ["--ro-bind", str(base), str(base)]
    drop = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--"]
    return [*command, "--", *drop]
