"""No isolation: code steps run as the user who runs medagentgym, in a temporary folder. Only taken by name.

The zygote, the limits of one process, the fixed environment and the sweep after each step are those of every backend. But the code sees the host: its
files, its network, its processes. The task's data are where they are, see `Box.data_folder`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from medagentgym.sandbox.base import DATA_FOLDER, BoxSpec, refuse_package_index
from medagentgym.sandbox.box import Launch, ZygoteBox, remove_folder
from medagentgym.sandbox.environment import step_environment
from medagentgym.sandbox.identity import processes_of_this_user
from medagentgym.sandbox.interpreter import describe


class NoBackend:
    """Starts boxes that protect nothing, see `Backend`."""

    name = "none"
    own_file_system = False
    own_network = False
    level = "none"

    def start(self, spec: BoxSpec) -> ZygoteBox:
        """Start a box. Raises `InfrastructureError` where the interpreter does not come up, `UserError` where it is none."""
        if spec.package_index is not None:
            raise refuse_package_index(self)
        interpreter = describe(spec.python)
        folder = Path(tempfile.mkdtemp(prefix="medagentgym-box-"))
        work, temporary = folder / "work", folder / "tmp"
        work.mkdir()
        temporary.mkdir()
        launch = Launch(
            command=[str(spec.python.absolute()), "-s", str(Path(__file__).parent / "zygote.py")],
            environment=step_environment(path=f"{interpreter.prefix}/bin:/usr/local/bin:/usr/bin:/bin", home=str(work), temporary=str(temporary)),
            settings={
                "work": str(work),
                "scratch": [str(work), str(temporary)],
                "capped": [],
                "watched": [str(work), str(temporary)],
                "own_folder": str(folder),
                "process_limit": processes_of_this_user() + spec.limits.processes,
            },
            clean_up=lambda: remove_folder(folder),
        )
        data = spec.read_only.get(DATA_FOLDER)
        return ZygoteBox(spec, launch, data_folder=str(data.resolve()) if data else DATA_FOLDER, work_folder=str(work))
