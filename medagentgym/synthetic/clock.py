"""Times of the made-up world: whole seconds since 1970-01-01 00:00:00, without a time zone."""

from __future__ import annotations

from datetime import datetime, timedelta

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EPOCH = datetime(1970, 1, 1)


def seconds(moment: datetime) -> int:
    """Seconds from the epoch to `moment`."""
    return round((moment - _EPOCH) / timedelta(seconds=1))


def moment(time: int) -> datetime:
    """The inverse of `seconds`."""
    return _EPOCH + timedelta(seconds=int(time))


def midnight(time: int) -> int:
    """The start of the day in which `time` lies."""
    return time - time % DAY


FIRST_YEAR, LAST_YEAR = 2100, 2105
START = seconds(datetime(FIRST_YEAR, 1, 2))
"""No admission is earlier."""
NOW = seconds(datetime(LAST_YEAR, 12, 31, 23, 59))
"""The present of the data: nothing is later, and what has not ended by then is open."""
