"""Comparing what an episode produced with the reference."""

from medagentgym.judges.base import Evidence, Judge, Verdict

__all__ = ["Evidence", "Judge", "Verdict"]
