"""The environment of an episode: actions and observations. Importing it registers the environments of all installed tasks with Gymnasium."""

from medagentgym.env.registration import register_environments

register_environments()
