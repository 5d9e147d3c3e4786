"""The four ways in which something goes wrong, and the one place that tells them apart.

1. A *user's mistake* (`UserError`): one line that says what is wrong, where, and what to do. Entry points print it and exit with status 2.
2. An *agent's error* (`AgentError`): the agent asked for something that cannot be done. It becomes an observation and the episode goes on.
3. A *verdict* (`EpisodeOver`): the episode ended for a reason that is the agent's own (out of budget, unparsable, ...). It becomes a record.
4. An *infrastructure failure* (`InfrastructureError`): the model service, the network, the sandbox, the disk or the machine failed. No record is
   written, the job fails with the reason, and the next run tries again.

Everything that crosses the edge of an episode passes `infrastructure_boundary`, which turns whatever is not one of the first three into the fourth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class MedAgentGymError(Exception):
    """Base of all errors that this package raises on purpose."""


class UserError(MedAgentGymError):
    """A mistake in what the user gave us. The message is one line: what is wrong, where (file and key), what to do."""


class AgentError(MedAgentGymError):
    """The agent's action cannot be carried out. The message is shown to the agent as its observation."""


class EpisodeOver(MedAgentGymError):
    """The episode ends with a verdict before the agent submitted, for example because its token budget is spent.

    `stop_reason` is one of `medagentgym.record.STOP_REASONS`.
    """

    def __init__(self, stop_reason: str, detail: str = "") -> None:
        super().__init__(detail or stop_reason)
        self.stop_reason = stop_reason
        self.detail = detail


class InfrastructureError(MedAgentGymError):
    """Something that is not the agent's fault failed. `component` is `model`, `sandbox`, `data`, `disk` or `machine`.

    `fatal` says that trying the next episode is pointless (a refused key, a sandbox that does not work at all).
    """

    def __init__(self, component: str, reason: str, *, fatal: bool = False) -> None:
        super().__init__(f"{component}: {reason}")
        self.component = component
        self.reason = reason
        self.fatal = fatal


@contextmanager
def infrastructure_boundary(component: str) -> Iterator[None]:
    """Turn every unforeseen exception of the enclosed code into an `InfrastructureError` of `component`.

    Errors of this package pass unchanged; so do `KeyboardInterrupt` and `SystemExit`.
    """
    try:
        yield
    except MedAgentGymError:
        raise
    except Exception as error:
        where = "disk" if isinstance(error, OSError) and error.filename is not None else component
        raise InfrastructureError(where, f"{type(error).__name__}: {one_line(error)}") from error


def one_line(value: object) -> str:
    """`str(value)` on one line, its whitespace folded."""
    return " ".join(str(value).split())


def exit_with(error: UserError | InfrastructureError) -> NoReturn:
    """Print the error as the one line that a user sees, and exit with status 2 (a user's mistake) or 1 (infrastructure)."""
    print(f"medagentgym: {one_line(error)}", file=sys.stderr)
    raise SystemExit(2 if isinstance(error, UserError) else 1)
