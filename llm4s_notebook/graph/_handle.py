"""A run that was admitted: awaited from any loop or thread, cancelled from any thread (R8.1-R8.3, D23)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from enum import StrEnum
from types import TracebackType
from typing import Any

from ..checkpoint import EventRecord
from ._control import RunControl, StopCause
from ._outcome import Completed, Suspended

Outcome = Completed[Any] | Suspended

# An interrupted notebook cell notices it only when its loop wakes, so whoever waits for a run wakes this often (seconds).
_WAKE_EVERY = 0.25


class RunStatus(StrEnum):
    """Where a run stands (R8.1)."""

    RUNNING = "Running"
    COMPLETED = "Completed"
    SUSPENDED = "Suspended"
    FAILED = "Failed"


class RunHandle(Awaitable[Outcome]):
    """Awaiting it gives the run's outcome or raises what ended it, the same each time.

    Cancelling the waiter leaves the run alone (R8.2).
    """

    def __init__(
        self, thread_id: str, run_id: str, control: RunControl, events: Callable[[RunHandle, int], AsyncIterator[EventRecord]], opening: int
    ) -> None:
        self.thread_id = thread_id
        self.run_id = run_id
        self._control = control
        self._events = events
        self._opening = opening
        self._lock = threading.Lock()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self._raised_at: TracebackType | None = None
        self._ended = False

    @property
    def status(self) -> RunStatus:
        """RUNNING until the outcome is durable; FAILED also when the run was cancelled."""
        if not self._ended:
            return RunStatus.RUNNING
        if isinstance(self._outcome, Completed):
            return RunStatus.COMPLETED
        return RunStatus.SUSPENDED if self._outcome is not None else RunStatus.FAILED

    @property
    def done(self) -> bool:
        """True once the outcome is visible; the thread is free then."""
        return self._ended

    @property
    def running_nodes(self) -> tuple[str, ...]:
        """Ids of the nodes whose calls are under way, each once, in the order in which they began; from any thread."""
        return tuple(dict.fromkeys(self._control.active.copy().values()))

    def cancel(self) -> None:
        """Ask the run to stop; returns at once and may be repeated (R8.3). Does nothing once the outcome is being committed (R8.4)."""
        if not self._ended:
            self._control.stop(StopCause.CANCELLED)

    def events(self) -> AsyncIterator[EventRecord]:
        """This run's events from just before its opening one, whenever called (R7.11); ends with the run."""
        return self._events(self, self._opening - 1)

    def __await__(self) -> Generator[Any, None, Outcome]:
        return self._result().__await__()

    async def ended(self) -> None:
        """Wait until the run is over, however it ended."""
        with self._lock:
            if self._ended:
                return
            loop = asyncio.get_running_loop()
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiters.append((loop, waiter))
        waking = _Waking(loop)
        try:
            await waiter
        finally:
            waking.end()

    async def _result(self) -> Outcome:
        if not self._ended:
            await self.ended()
        if self._error is not None:
            raise self._error.with_traceback(self._raised_at)  # the same each time, however often it is awaited
        if self._outcome is None:  # settle gives one of the two
            raise RuntimeError("the run ended without an outcome")
        return self._outcome

    def settle(self, outcome: Outcome | None, error: BaseException | None) -> None:
        """Make the end visible. Called once, by the run."""
        with self._lock:
            self._raised_at = error.__traceback__ if error is not None else None
            self._outcome, self._error, self._ended = outcome, error, True  # the last of it says that the rest is there
            waiters, self._waiters = self._waiters, []
        if not waiters:
            return
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        for loop, waiter in waiters:
            if loop is here:
                _release(waiter)
            else:
                try:
                    loop.call_soon_threadsafe(_release, waiter)
                except RuntimeError:  # the waiter's loop is closed
                    continue


class _Waking:
    """Wakes a loop every now and then until it is ended, which leaves nothing to collect."""

    __slots__ = ("_loop", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer = loop.call_later(_WAKE_EVERY, self._again)

    def _again(self) -> None:
        self._timer = self._loop.call_later(_WAKE_EVERY, self._again)

    def end(self) -> None:
        self._timer.cancel()


def _release(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
