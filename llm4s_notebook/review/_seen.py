"""Since when each waiting interrupt has been in front of a person's eyes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime


class Seen:
    """When each interrupt was first drawn in a document that was sent to an observer; nothing of one that never was."""

    def __init__(self) -> None:
        self._first: dict[str, datetime] = {}

    def drawn(self, interrupt_ids: Iterable[str], now: datetime) -> None:
        for interrupt_id in interrupt_ids:
            self._first.setdefault(interrupt_id, now)

    def seconds(self, interrupt_id: str, decided: datetime) -> float | None:
        """From then to the decision; None for one that nobody was shown."""
        first = self._first.get(interrupt_id)
        return None if first is None else max(0.0, (decided - first).total_seconds())
