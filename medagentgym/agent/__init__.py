"""Agents: made from a configuration and the permitted actions, they answer observations with actions."""

from medagentgym.agent.base import Action, Agent, EpisodeStart, Message, Usage
from medagentgym.agent.registry import agent_names, get_agent_class, make_agent

__all__ = ["Action", "Agent", "EpisodeStart", "Message", "Usage", "agent_names", "get_agent_class", "make_agent"]
