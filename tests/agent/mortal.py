"""A process that dies at a commit, as far as its store can tell: the next one finds what was committed, and nothing more."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable
from typing import Any, TypeVar

from llm4s_notebook.checkpoint import Claim, Commit, EventRecord, InMemoryCheckpointer
from llm4s_notebook.testing import ManualClock

T = TypeVar("T")


class MortalStore(InMemoryCheckpointer):
    """An in-memory store whose process dies right after its `left`th commit from now; `heir` is what is on disk then."""

    def __init__(self, clock: ManualClock, left: int | None) -> None:
        super().__init__(clock=clock)
        self._left = left
        self._image: Any = None
        self.died = asyncio.Event()

    def _committed(self) -> None:
        if self._left is not None and not self.died.is_set():
            self._left -= 1
            if self._left == 0:
                self._image = copy.deepcopy((self._threads, self._last_token))
                self.died.set()

    async def claim_and_commit(self, thread_id: str, holder: str, ttl: float, commit: Commit) -> tuple[Claim, tuple[EventRecord, ...]]:
        done = await super().claim_and_commit(thread_id, holder, ttl, commit)
        self._committed()
        return done

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        records = await super().commit(thread_id, commit)
        self._committed()
        return records

    def heir(self, clock: ManualClock, left: int | None) -> MortalStore:
        """The next process's store; the dead one's lease has run out by then."""
        clock.advance(3600)
        store = MortalStore(clock, left)
        store._threads, store._last_token = self._image
        return store


class Died(Exception):
    """The process is gone; what it still does in its own memory nobody sees."""


async def unless_it_dies(store: MortalStore, work: Awaitable[T]) -> T:
    """Raises: Died."""
    task = asyncio.ensure_future(work)
    death = asyncio.ensure_future(store.died.wait())
    await asyncio.wait({task, death}, return_when=asyncio.FIRST_COMPLETED)
    if not store.died.is_set():
        death.cancel()
        return await task
    task.cancel()
    await asyncio.wait({task})
    raise Died
