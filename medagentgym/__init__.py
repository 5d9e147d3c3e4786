"""Evaluate and train LLM agents that answer biomedical questions by writing and running code."""

__version__ = "0.1.0"
