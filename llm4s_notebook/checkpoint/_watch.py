"""Who waits for a thread's next events, on whichever event loop, and waking them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Generator
from typing import TypeAlias

_Watcher: TypeAlias = tuple[asyncio.AbstractEventLoop, asyncio.Event]


class Watchers:
    """Waiting readers by thread id. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, set[_Watcher]] = {}

    @contextlib.contextmanager
    def watching(self, thread_id: str) -> Generator[asyncio.Event]:
        """An event of the running loop that is set on each `changed(thread_id)`. Enter before reading, so that no commit slips between."""
        watcher = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiting.setdefault(thread_id, set()).add(watcher)
        try:
            yield watcher[1]
        finally:
            with self._lock:
                waiting = self._waiting[thread_id]
                waiting.discard(watcher)
                if not waiting:
                    del self._waiting[thread_id]

    def changed(self, thread_id: str) -> None:
        """Wake everybody who waits for the thread."""
        if not self._waiting:  # a commit nobody waits for takes no lock; a watcher reads after it registered
            return
        with self._lock:
            waiting = list(self._waiting.get(thread_id, ()))
        for loop, event in waiting:
            with contextlib.suppress(RuntimeError):  # that loop was closed in the meantime
                loop.call_soon_threadsafe(event.set)

    def all_changed(self) -> None:
        """Wake everybody: the store closes."""
        with self._lock:
            ids = list(self._waiting)
        for thread_id in ids:
            self.changed(thread_id)


async def woken(event: asyncio.Event, seconds: float) -> bool:
    """Wait for the event, at most so many seconds; clears it. True when it was set."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True
