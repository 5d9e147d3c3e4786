"""The environment variables that code steps see: fixed, so that two boxes behave the same, and with nothing of the host's in it."""

from __future__ import annotations

from collections.abc import Sequence

OWN_PACKAGES = ".packages"
"""Folder of the episode's own packages, in its work folder."""


def step_environment(*, path: str, home: str, temporary: str, below_prefix: Sequence[str] = (), package_index: str = "") -> dict[str, str]:
    """All environment variables of a box.

    What `pip` installs goes to the episode's own folder, where later steps find it. `below_prefix` says where it goes there if the packages of the
    environment are to count as installed (they cannot be changed in such a box, and nothing is installed twice); without it, everything that a
    package needs is installed with it. `package_index` is the address, in the box, of the index from which packages come.

    Numerical libraries get one thread each: the episodes of a worker run side by side, and sums then do not depend on the number of cores.
    """
    own = f"{home}/{OWN_PACKAGES}"
    return {
        "PATH": f"{own}/bin:{path}",
        "HOME": home,
        "TMPDIR": temporary,
        "USER": "agent",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUTF8": "1",
        "PYTHONPATH": ":".join(f"{own}/{folder}" for folder in below_prefix) or own,
        "PIP_PREFIX" if below_prefix else "PIP_TARGET": own,
        **({"PIP_INDEX_URL": package_index, "PIP_DEFAULT_TIMEOUT": "100"} if package_index else {}),
        "PIP_RETRIES": "0",
        "PIP_NO_INPUT": "1",
        "PIP_PROGRESS_BAR": "off",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": f"{temporary}/matplotlib",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }
