"""Which query a blocked turn had: the thread keeps neither text nor query of it (6.1.4), so the kernel remembers."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ..checkpoint import Checkpointer


class BlockedTurns:
    """The query of each thread's last turn, if that was blocked, by store; gone with the kernel.

    Without it a cell run twice would run a blocked turn's effects twice (W5.4).
    """

    def __init__(self) -> None:
        self._queries: WeakKeyDictionary[Checkpointer, dict[str, tuple[str | None, Any]]] = WeakKeyDictionary()

    def note(self, store: Checkpointer, thread_id: str, checkpoint_id: str | None, query: Any) -> None:
        """A turn of this query was blocked, and the thread stands at this checkpoint."""
        self._queries.setdefault(store, {})[thread_id] = (checkpoint_id, query)

    def was(self, store: Checkpointer, thread_id: str, checkpoint_id: str | None, query: Any) -> bool:
        """Whether the thread still stands where a turn of this query was blocked."""
        return self._queries.get(store, {}).get(thread_id) == (checkpoint_id, query)


blocked_turns = BlockedTurns()
