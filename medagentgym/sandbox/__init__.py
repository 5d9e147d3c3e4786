"""Where model-written code runs: boxes that hold the task's libraries ready and let nothing out but a step's result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from medagentgym.sandbox.base import DATA_FOLDER, WORK_FOLDER, Backend, Box, BoxSpec, Limits, StepResult
from medagentgym.sandbox.pool import BoxPool
from medagentgym.sandbox.selection import Probe, choose_backend, probe_backends

if TYPE_CHECKING:
    from medagentgym.config import SandboxConfig

__all__ = [
    "DATA_FOLDER",
    "WORK_FOLDER",
    "Backend",
    "Box",
    "BoxPool",
    "BoxSpec",
    "Limits",
    "Probe",
    "StepResult",
    "box_spec",
    "choose_backend",
    "configured_limits",
    "probe_backends",
]


def box_spec(sandbox_config: SandboxConfig, python: Path, read_only: Mapping[str, Path]) -> BoxSpec:
    """The spec of a box with the configured limits, and the given interpreter and mounts (path in the box -> file or folder of the host)."""
    return BoxSpec(python=python, read_only=dict(read_only), limits=configured_limits(sandbox_config))


def configured_limits(sandbox_config: SandboxConfig) -> Limits:
    """The limits of a step as configured."""
    return Limits(**{name: getattr(sandbox_config, name) for name in Limits.__dataclass_fields__})
