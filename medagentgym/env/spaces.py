"""The spaces of observations and actions: any text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gymnasium import Space


class TextSpace(Space[str]):
    """Every Unicode text up to `max_length` characters.

    Gymnasium's own `Text` knows a fixed alphabet only. `samples` are the texts that `sample` draws from. Vectorised, a batch is a tuple of texts;
    asynchronous vector environments need `shared_memory=False`.
    """

    def __init__(self, max_length: int, samples: Sequence[str] = ("",), seed: int | None = None) -> None:
        self.max_length = max_length
        self.samples = tuple(samples)
        super().__init__(shape=None, dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """A text is no array of fixed size."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """One of `samples`. Masks make no sense here and are refused."""
        if mask is not None or probability is not None:
            raise ValueError("a text space takes neither a mask nor probabilities")
        return self.samples[int(self.np_random.integers(len(self.samples)))]

    def contains(self, x: Any) -> bool:
        """Whether `x` is a text that is short enough."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpace) and (self.max_length, self.samples) == (other.max_length, other.samples)

    def __repr__(self) -> str:
        return f"TextSpace(max_length={self.max_length})"


def sample_replies(actions: Sequence[str]) -> list[str]:
    """A few well-formed replies of each permitted action, for a random policy."""
    examples: dict[str, list[dict[str, Any]]] = {
        "request_info": [{"data_path": "PATIENTS.csv", "info_type": "column_names"}, {"data_path": "", "info_type": "term", "keyterm": "heart"}],
        "validate_code": [{"code": "answer = 1"}, {"code": "answer = 0"}, {"code": "import os\nprint(sorted(os.listdir('/data'))[:3])"}],
        "debug": [{"code": "answer = 1 / 0", "error_msg": "ZeroDivisionError: division by zero"}],
        "terminal": [{"cmd": "ls /data"}],
        "submit": [{}],
    }
    return [json.dumps({"action": action, "params": params}) for action in actions for params in examples.get(action, [{}])]
