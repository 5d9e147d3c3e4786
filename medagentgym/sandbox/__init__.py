"""Where model-written code runs: boxes that hold the task's libraries ready and let nothing out but a step's result."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from medagentgym.sandbox.base import DATA_FOLDER, WORK_FOLDER, Backend, Box, BoxSpec, Limits, PackageIndex, StepResult
from medagentgym.sandbox.pool import BoxPool
from medagentgym.sandbox.selection import Probe, choose_backend, probe_backends

if TYPE_CHECKING:
    from medagentgym.config import SandboxConfig

__all__ = [
    "DATA_FOLDER",
    "PACKAGE_INDEX_CREDENTIALS",
    "WORK_FOLDER",
    "Backend",
    "Box",
    "BoxPool",
    "BoxSpec",
    "Limits",
    "PackageIndex",
    "Probe",
    "StepResult",
    "box_spec",
    "choose_backend",
    "configured_limits",
    "configured_package_index",
    "probe_backends",
]


PACKAGE_INDEX_CREDENTIALS = ("PACKAGE_INDEX_USER", "PACKAGE_INDEX_PASSWORD")
"""Credentials that an index may ask for, by name."""


def box_spec(sandbox_config: SandboxConfig, python: Path, read_only: Mapping[str, Path]) -> BoxSpec:
    """The spec of a box with the configured limits and network, the given interpreter and mounts (path in the box -> file or folder of the host)."""
    limits = configured_limits(sandbox_config)
    return BoxSpec(python=python, read_only=dict(read_only), limits=limits, package_index=configured_package_index(sandbox_config))


def configured_package_index(sandbox_config: SandboxConfig) -> PackageIndex | None:
    """The package index that boxes are shown, None where they have no network. Its credentials are those in the environment of this process."""
    if sandbox_config.network == "none":
        return None
    user, password = (os.environ.get(name, "") for name in PACKAGE_INDEX_CREDENTIALS)
    hosts = tuple(sandbox_config.package_index_hosts)
    return PackageIndex(sandbox_config.package_index, user, password, hosts, sandbox_config.package_index_mb)


def configured_limits(sandbox_config: SandboxConfig) -> Limits:
    """The limits of a step as configured."""
    return Limits(**{name: getattr(sandbox_config, name) for name in Limits.__dataclass_fields__})
