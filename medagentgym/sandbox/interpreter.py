"""What has to be mounted so that a Python interpreter works inside a box, found by asking the interpreter."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from medagentgym.errors import UserError, one_line

_QUESTION = """
import json, os, sys, sysconfig
scheme = sysconfig.get_preferred_scheme("prefix") if sys.version_info >= (3, 10) else "posix_prefix"
below = [os.path.relpath(sysconfig.get_path(kind, scheme, {"base": "/", "platbase": "/"}), "/") for kind in ("purelib", "platlib")]
print(json.dumps({
    "executable": os.path.realpath(sys.executable), "prefix": sys.prefix, "base_prefix": sys.base_prefix,
    "version": list(sys.version_info[:2]), "packages": sysconfig.get_path("purelib"), "below_prefix": list(dict.fromkeys(below)),
}))
"""
_IMPORT_ALL = """
import contextlib, importlib, sys
for name in sys.argv[1:]:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
"""
_SECONDS = 60.0
OLDEST = (3, 10)


@dataclass(frozen=True)
class Interpreter:
    """An interpreter, as it describes itself."""

    executable: Path
    """The program itself, links resolved."""
    prefix: Path
    """The environment, which has the packages."""
    base_prefix: Path
    """The installation, which has the standard library. The same as `prefix` where there is no virtual environment."""
    packages: Path
    """`site-packages` of the environment."""
    below_prefix: tuple[str, ...]
    """Where `pip install --prefix` puts packages, relative to the prefix."""

    @property
    def is_virtual(self) -> bool:
        """Whether this is a virtual environment."""
        return self.prefix != self.base_prefix


def describe(python: Path) -> Interpreter:
    """Ask an interpreter for its folders. Raises `UserError` where it does not run or is too old."""
    try:
        changed = python.stat().st_mtime_ns
    except OSError as error:
        raise UserError(f"sandbox.python: {python} cannot be used ({error.strerror}); give the path of a Python interpreter") from error
    return _describe(python, changed)


@lru_cache(maxsize=16)
def _describe(python: Path, changed: int) -> Interpreter:
    try:
        done = subprocess.run([python, "-I", "-c", _QUESTION], env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=True)
        answer = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        words = getattr(error, "stderr", None) or b""
        reason = one_line(words.decode("utf-8", "replace"))[-300:] or one_line(error)
        raise UserError(f"sandbox.python: {python} does not run ({reason}); give the path of a Python interpreter") from error
    if tuple(answer["version"]) < OLDEST:
        raise UserError(f"sandbox.python: {python} is Python {'.'.join(map(str, answer['version']))}; 3.10 is the oldest that works")
    executable, prefix, base_prefix, packages = (Path(answer[key]) for key in ("executable", "prefix", "base_prefix", "packages"))
    return Interpreter(executable, prefix, base_prefix, packages, tuple(answer["below_prefix"]))


@lru_cache(maxsize=16)
def write_bytecode(python: Path, modules: tuple[str, ...]) -> None:
    """Import modules outside any box, once for the life of this process, so that their bytecode is written if the environment can be written to.

    Inside a box packages are read-only: without bytecode that fits, every start would compile them again.
    """
    subprocess.run(
        [python, "-s", "-c", _IMPORT_ALL, *modules], env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=10 * _SECONDS, check=False
    )
