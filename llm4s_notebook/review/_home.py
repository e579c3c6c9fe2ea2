"""The event loop a session lives on, and the hop to it from any other loop or thread (D23)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from ..errors import ConfigError

T = TypeVar("T")

# A kernel's interrupt is noticed only when the loop wakes, so every wait of unknown length wakes this often (seconds).
TICK = 0.25


async def ticking(future: asyncio.Future[Any]) -> None:
    """Wait until `future` is done, waking every TICK so that an interrupt is seen. Its result is left in it."""
    while not future.done():
        await asyncio.wait({future}, timeout=TICK)


class Home:
    """The loop that a session's work runs on: the first running loop it was used from.

    A loop that has ended is replaced by the next one the session is used from, so that two `asyncio.run` calls may share
    a session. `changed` is called on the new loop when that happens, and whatever was bound to the old one must be let go.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = changed
        self._lock = threading.Lock()

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The home loop while it runs; None before there is one and after it ended."""
        loop = self._loop
        return loop if loop is not None and not loop.is_closed() and loop.is_running() else None

    def adopt(self) -> bool:
        """Make the loop running here the home where there is none. True when this thread now runs the home loop."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            return False
        with self._lock:
            if self.loop is None:
                self._loop = here
                moved = True
            else:
                moved = False
        if moved:
            self._changed()
        return self._loop is here

    def post(self, callback: Callable[[], object]) -> bool:
        """Call `callback` on the home loop, soon and from any thread. False (and not called) where no loop runs."""
        self.adopt()
        loop = self.loop
        if loop is None:
            return False
        try:
            loop.call_soon_threadsafe(callback)
        except RuntimeError:  # it closed between the two lines
            return False
        return True

    async def call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run `work()` on the home loop and return what it returns.

        Cancelling the caller cancels the work, waits for it and then raises, whichever loop it runs on (D2).
        """
        if self.adopt():
            return await work()
        loop = self.loop
        if loop is None:
            raise ConfigError(field="session", problems=["its event loop ended while it was called"])
        visit = _Visit(work, loop, asyncio.get_running_loop())
        try:
            await ticking(visit.ended)
        except asyncio.CancelledError:
            visit.cancel()
            await in_spite_of_cancels(visit.ended)
            raise
        return visit.result()


async def in_spite_of_cancels(future: asyncio.Future[Any]) -> None:
    """Wait until `future` is done, for it is already coming to its end. A cancel that arrives meanwhile is raised afterwards."""
    cancelled = False
    while not future.done():
        try:
            await asyncio.wait({future}, timeout=TICK)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


class _Visit(Generic[T]):
    """A coroutine run on another loop. `ended` is a future of the visitor's own loop."""

    def __init__(
        self, work: Callable[[], Coroutine[Any, Any, T]], there: asyncio.AbstractEventLoop, here: asyncio.AbstractEventLoop
    ) -> None:
        self.ended: asyncio.Future[None] = here.create_future()
        self._here = here
        self._there = there
        self._task: asyncio.Task[T] | None = None
        there.call_soon_threadsafe(self._begin, work)

    def _begin(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._task = self._there.create_task(work(), name="llm4s session call")
        self._task.add_done_callback(self._settle)

    def _settle(self, _task: asyncio.Task[T]) -> None:
        with contextlib.suppress(RuntimeError):  # the visitor's loop is gone: nobody is left to tell
            self._here.call_soon_threadsafe(lambda: self.ended.done() or self.ended.set_result(None))

    def cancel(self) -> None:
        self._there.call_soon_threadsafe(lambda: self._task is not None and self._task.cancel())

    def result(self) -> T:
        assert self._task is not None
        return self._task.result()
