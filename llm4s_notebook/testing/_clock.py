"""A clock for tests that moves when it is told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class ManualClock:
    """Stands still until `advance`; may be read from any thread."""

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move on by so many seconds; returns the new time."""
        self._now += timedelta(seconds=seconds)
        return self._now
