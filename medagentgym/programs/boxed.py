"""Code of this package that runs inside boxes, which hold nothing of it: its text travels with the step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

_LOADER = """
import json, sys, types
def load(name, text):
    module = types.ModuleType(name)
    sys.modules[name] = module
    parent, _, short = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], short, module)
    exec(compile(text, f"<{name}>", "exec", dont_inherit=True), module.__dict__)
"""


def boxed(module: str, request: Mapping[str, Any]) -> str:
    """A program that calls `main(request)` of a module of `medagentgym.programs` in a box. The request is JSON data."""
    names = ["by_value", module]
    loads = [f"load({f'medagentgym.programs.{name}'!r}, {_text(name)!r})" for name in names]
    packages = ["load('medagentgym', '')", "load('medagentgym.programs', '')"]
    call = f"sys.modules['medagentgym.programs.{module}'].main(json.loads({json.dumps(request)!r}))"
    return "\n".join([_LOADER, *packages, *loads, "del load", call, ""])


@cache
def _text(name: str) -> str:
    return resources.files("medagentgym").joinpath("programs", f"{name}.py").read_text(encoding="utf-8")
