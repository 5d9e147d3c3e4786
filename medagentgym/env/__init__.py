"""The environment of an episode: actions and observations."""
