"""Which backend works on this machine: each is tried by running a real box, because finding a program says little."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from medagentgym.errors import InfrastructureError, MedAgentGymError, UserError, one_line
from medagentgym.sandbox.base import Backend, BoxSpec, refuse_package_index
from medagentgym.sandbox.bubblewrap import BubblewrapBackend
from medagentgym.sandbox.control_groups import memory_guard
from medagentgym.sandbox.landlock import LandlockBackend
from medagentgym.sandbox.none import NoBackend

_BACKENDS: dict[str, Callable[[], Backend]] = {"bubblewrap": BubblewrapBackend, "landlock": LandlockBackend, "none": NoBackend}
"""In the order in which `auto` tries them; `none` is only taken by name."""

_ADVICE = {
    "bubblewrap": "install bubblewrap (system package, or medagentgym[bubblewrap]) and permit unprivileged user namespaces, or run as root",
    "landlock": "use Linux 6.12 or newer with Landlock switched on (`lsm=` of the kernel command line), with libseccomp2",
    "none": "give a Python interpreter that runs",
}


@dataclass(frozen=True)
class Probe:
    """What became of one backend's trial."""

    name: str
    works: bool
    level: str
    """The level of isolation, see `docs/sandbox.md`."""
    reason: str
    """Why it does not work, and what to do; empty where it does."""
    memory: str = ""
    """What bounds the memory of a whole box: a control group and its version, or the watch."""


@lru_cache(maxsize=len(_BACKENDS))
def probe(name: str) -> Probe:
    """Try a backend by running a box. The outcome is kept for the life of the process."""
    backend = _BACKENDS[name]()
    try:
        box = backend.start(BoxSpec(python=Path(sys.executable), preload=()))
        try:
            result = box.run("answer = 6 * 7")
            works = result.answer == 42 and box.shell("exit 3").exit_status == 3 and box.reset()
            reason = "" if works else f"a code step gave a wrong result: {one_line(result)[:500]}"
        finally:
            box.close()
    except MedAgentGymError as error:
        return Probe(name, works=False, level=backend.level, reason=f"{one_line(error).removeprefix('sandbox: ')}; {_ADVICE[name]}")
    return Probe(name, works=works, level=backend.level, reason=reason, memory=memory_guard())


def probe_backends() -> list[Probe]:
    """Try every backend, the strongest first."""
    return [probe(name) for name in _BACKENDS]


def choose_backend(name: str, *, network: str = "none") -> Backend:
    """The backend `name`, or with `auto` the strongest that works here; never `none` unless by name. `network` is what its boxes are to have.

    Raises a fatal `InfrastructureError` that says why nothing works and what to install, and `UserError` where what works has not that network.
    """
    candidates = [candidate for candidate in _BACKENDS if candidate != "none"] if name == "auto" else [name]
    failures = []
    for candidate in candidates:
        if candidate not in _BACKENDS:
            raise InfrastructureError("sandbox", f"there is no backend {candidate!r}; there are {', '.join(_BACKENDS)}", fatal=True)
        backend = _BACKENDS[candidate]()
        if network != "none" and not backend.own_network:
            if name == candidate:
                raise refuse_package_index(backend)
            continue
        outcome = probe(candidate)
        if outcome.works:
            return backend
        failures.append(f"{candidate}: {outcome.reason}")
    if network != "none":
        raise UserError(f"sandbox.network: {network} needs boxes with a network of their own, which do not work here. {' | '.join(failures)}")
    raise InfrastructureError("sandbox", f"code cannot be run safely here. {' | '.join(failures)}", fatal=True)
