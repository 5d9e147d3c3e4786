"""The environment of an episode: actions and observations. Importing it registers the environments of all installed tasks with Gymnasium.

`EpisodeEnvironment` is the environment, `make_environment` makes one from a configuration (as `gymnasium.make` does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from medagentgym.env.registration import make_environment, register_environments

if TYPE_CHECKING:
    from medagentgym.env.environment import EpisodeEnvironment

__all__ = ["EpisodeEnvironment", "make_environment", "register_environments"]

register_environments()


def __getattr__(name: str) -> Any:
    # What the environment needs is not needed to read replies or to register.
    if name == "EpisodeEnvironment":
        from medagentgym.env.environment import EpisodeEnvironment

        return EpisodeEnvironment
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
