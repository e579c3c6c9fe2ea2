"""What a person has begun on the cards and not yet sent (W1.4)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..wire import Json, JsonObject

MAX_DRAFT_BYTES = 1_000_000


class Drafts:
    """Drafts by interrupt id: opaque JSON, kept in the kernel's memory only, never stored and never in a saved notebook."""

    def __init__(self) -> None:
        self._drafts: JsonObject = {}

    def save(self, interrupt_id: str, draft: Json) -> None:
        """Keep `draft`; None forgets it. Raises: ValueError for one above MAX_DRAFT_BYTES."""
        if draft is None:
            self._drafts.pop(interrupt_id, None)
            return
        if len(json.dumps(draft)) > MAX_DRAFT_BYTES:
            raise ValueError(f"the draft is longer than {MAX_DRAFT_BYTES} bytes")
        self._drafts[interrupt_id] = draft

    def forget(self, interrupt_ids: Iterable[str]) -> bool:
        """Drop the drafts of answered interrupts. True when there were any."""
        gone = [self._drafts.pop(interrupt_id, None) for interrupt_id in interrupt_ids]
        return any(draft is not None for draft in gone)

    def all(self) -> JsonObject:
        """A copy of all drafts, for a view that has just rendered."""
        return dict(self._drafts)
