"""Registration with Gymnasium: `import medagentgym.env; gymnasium.make("medagentgym/mimic_iii-v0", config="config/demo.yaml")`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register

from medagentgym.tasks.registry import task_names

if TYPE_CHECKING:
    from medagentgym.config import Config
    from medagentgym.env.environment import EpisodeEnvironment


def register_environments() -> None:
    """Register an environment `medagentgym/<task>-v0` for every installed task."""
    for task in task_names():
        register(f"medagentgym/{task}-v0", entry_point="medagentgym.env.registration:make_environment", kwargs={"task": task})


def make_environment(
    config: Config | Mapping[str, Any] | str | Path | None = None, *, task: str, render_mode: str | None = None, **overrides: Any
) -> EpisodeEnvironment:
    """The environment of `task` on its own, with a sandbox of its own, which `close` ends.

    `config` is a configuration file, its content, or a `Config`; `overrides` are keys that win over it, for example `mode="train"` or `num_steps=10`.
    Without a `config`, the data are made up. Data that are not built yet are built first. The caller is the agent: what the configuration says of one
    is not used. Raises `UserError` or `InfrastructureError`.
    """
    from medagentgym.config import AgentConfig, Config
    from medagentgym.configuration import experiments, load_config
    from medagentgym.env.environment import EpisodeEnvironment
    from medagentgym.environments import interpreter
    from medagentgym.plan import check_built_data, data_folder
    from medagentgym.policy import check_data_policy
    from medagentgym.sandbox import choose_backend
    from medagentgym.sandbox.pool import BoxPool
    from medagentgym.tasks.registry import get_task_class
    from medagentgym.worker import debugger_of, load_needed_credentials

    if config is None:
        config = {"data": {"synthetic": {}}}
    elif isinstance(config, Config):
        config = config.model_dump(exclude_unset=True)
    source = Path(config) if isinstance(config, str) else config
    experiment = experiments(load_config(source, {**overrides, "task": task}))[0].model_copy(update={"agent": AgentConfig(name="scripted")})
    check_built_data(experiment)
    folder = data_folder(experiment)
    task_class = get_task_class(task)
    if not (folder / "build.json").exists():
        folder.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        task_class.build(experiment, folder)
    load_needed_credentials(experiment)
    check_data_policy(experiment, credentialed=task_class.is_credentialed(experiment))
    interpreter(experiment, task_class)
    backend = choose_backend(experiment.sandbox.backend, network=experiment.sandbox.network)
    opened = task_class(folder, experiment)
    opened.box_has_own_paths = backend.own_file_system
    pool = BoxPool(backend, size=opened.boxes_an_episode)
    return EpisodeEnvironment(opened, experiment, pool, debugger=debugger_of(experiment), render_mode=render_mode, is_alone=True)
