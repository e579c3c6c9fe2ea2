"""Who is told when a session's document changes, and how often."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Observers(Generic[T]):
    """A list of callbacks. One that raises is logged and stays; the others are told all the same."""

    def __init__(self) -> None:
        self._callbacks: dict[int, Callable[[T], None]] = {}
        self._next = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._callbacks)

    def add(self, callback: Callable[[T], None]) -> Callable[[], None]:
        """Add it; the function returned takes it away again, and may be called twice."""
        with self._lock:
            number = self._next
            self._next += 1
            self._callbacks[number] = callback

        def remove() -> None:
            with self._lock:
                self._callbacks.pop(number, None)

        return remove

    def tell(self, news: T) -> None:
        with self._lock:
            callbacks = list(self._callbacks.values())
        for callback in callbacks:
            try:
                callback(news)
            except Exception:
                _log.exception("an observer of a session failed")


class Pacer:
    """Calls `push` on the loop it is used from: at once, or once for everything that happens within `every` seconds."""

    def __init__(self, push: Callable[[], None], every: float = 0.05) -> None:
        self._push = push
        self._every = every
        self._timer: asyncio.TimerHandle | None = None

    @property
    def due(self) -> bool:
        """Whether a push is to come."""
        return self._timer is not None

    def soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._every, self.now)

    def now(self) -> None:
        self.drop()
        self._push()

    def drop(self) -> None:
        """Forget a push that is due; the loop it was meant for may be gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
