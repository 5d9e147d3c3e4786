"""The environment variables that code steps see: fixed, so that two boxes behave the same, and with nothing of the host's in it."""

from __future__ import annotations


def step_environment(*, path: str, home: str, temporary: str) -> dict[str, str]:
    """All environment variables of a box.

    What `pip` installs goes to the episode's own folder, where later steps find it.
    Numerical libraries get one thread each: the episodes of a worker run side by side, and sums then do not depend on the number of cores.
    """
    return {
        "PATH": path,
        "HOME": home,
        "TMPDIR": temporary,
        "USER": "agent",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUTF8": "1",
        "PYTHONPATH": f"{home}/.packages",
        "PIP_TARGET": f"{home}/.packages",
        "PIP_RETRIES": "0",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": f"{temporary}/matplotlib",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }
