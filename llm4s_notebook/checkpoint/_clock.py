"""The clock a store and a runtime are handed; leases, ages and timestamps are read from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

import msgspec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NEAR = 4 * 10**15  # microseconds, up to the year 2096: as seconds in a float they are off by less than half of one


class Clock(Protocol):
    """Tells the time, aware UTC."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's wall clock: leases are compared between processes, so a monotonic clock would not do."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def to_microseconds(moment: datetime) -> int:
    """Microseconds since 1970 of an aware time; exact, unlike a float timestamp."""
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(count: int) -> datetime:
    """The aware UTC time again, exactly. Raises: TypeError, OverflowError for what is no such number."""
    if 0 <= count < _NEAR:
        return datetime.fromtimestamp(count / 1e6, UTC)
    return _EPOCH + timedelta(0, 0, count)


def all_from_microseconds(counts: Sequence[int]) -> list[datetime]:
    """`from_microseconds` of each, in a sixth of the time where they are many. Raises: TypeError, OverflowError."""
    if counts and min(counts) >= 0 and max(counts) < _NEAR:
        return msgspec.convert([count / 1e6 for count in counts], list[datetime], strict=False)
    return [from_microseconds(count) for count in counts]
