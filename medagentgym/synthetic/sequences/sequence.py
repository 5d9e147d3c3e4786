"""What a sequence of questions is."""

from __future__ import annotations

from dataclasses import dataclass

FEWEST, MOST = 2, 4
"""Questions of a sequence."""


@dataclass(frozen=True)
class Turn:
    """One question of a sequence: the first stands for itself, the others refer to those before them."""

    text: str
    query: str
    """The SQL of the question in the light of those before it."""


@dataclass(frozen=True)
class Sequence:
    """Two to four questions."""

    turns: tuple[Turn, ...]

    @property
    def seed(self) -> str:
        """The first question."""
        return self.turns[0].text

    @property
    def rest(self) -> str:
        """The questions that follow, one after the other; the last is the one to answer."""
        return " ".join(turn.text for turn in self.turns[1:])

    @property
    def query(self) -> str:
        """The SQL of the last question."""
        return self.turns[-1].query
