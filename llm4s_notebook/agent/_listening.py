"""What a run tells, heard from its very beginning: attached before the run is admitted, so that it misses nothing (8.9, R7.11)."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable

from ..errors import SubscriptionLagged
from ..graph import GraphRuntime, RunHandle
from ..graph._runtime import hub_of
from ..graph._subscribe import own
from ..graph.events import EventRecord, Gap, RunCancelled, RunCompleted, RunFailed, RunSuspended, RunTimedOut

CAPACITY = 1024  # events of each kind that wait to be read (R7.8)
_LAST = (RunCompleted, RunSuspended, RunFailed, RunCancelled, RunTimedOut)
_WAKE_EVERY = 0.25  # seconds; an interrupted cell notices it only when its loop wakes


class Listening:
    """Follows a thread in this process and keeps, in order, what is told there; given to the first who asks before `over`.

    Nobody else can tell anything of a run: its claim is this process's alone. Runs never wait for it.
    """

    def __init__(self, runtime: GraphRuntime, thread_id: str) -> None:
        self.thread_id = thread_id
        self._lock = threading.Lock()
        self._queue: deque[EventRecord] = deque()
        self._live = self._durable = self._dropped = 0
        self._missed: EventRecord | None = None  # the latest live event that did not fit
        self._lagged = self._taken = self._closed = False
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None = None
        self._hub = hub_of(runtime)
        self._hub.join(self)

    def push(self, records: Iterable[EventRecord]) -> None:
        """Called by whoever commits or tells something, from any thread; with nothing when a run has ended."""
        with self._lock:
            for record in () if self._closed or self._lagged else records:
                self._take(record)
            waiting = self._waiting
        if waiting is not None:
            try:
                waiting[0].call_soon_threadsafe(_release, waiting[1])
            except RuntimeError:  # the reader's loop is closed
                self.close()

    def _take(self, record: EventRecord) -> None:
        if record.sequence is None:
            if self._live >= CAPACITY:
                self._dropped, self._missed = self._dropped + 1, record
                return
            self._live += 1
        elif self._durable >= CAPACITY:
            self._lagged = True
            return
        else:
            self._durable += 1
        self._queue.append(record)

    def close(self) -> None:
        """Hear nothing more."""
        with self._lock:
            self._closed = True
        self._hub.leave(self)

    def over(self) -> None:
        """The run's result is there, and what was told live is not told again (R7.10); whoever reads already reads on."""
        with self._lock:
            unread, self._taken = not self._taken, True
        if unread:
            self.close()
            self._queue.clear()

    def events(self, handle: RunHandle) -> AsyncIterator[EventRecord]:
        """The run's events to its last: with all that was told live for the first who asks, else as the handle gives them."""
        with self._lock:
            late = self._taken or self._lagged
            self._taken = True
        if late:
            self.close()
            return handle.events()
        return self._read(handle)

    async def _read(self, handle: RunHandle) -> AsyncIterator[EventRecord]:
        """Raises: SubscriptionLagged when more durable events wait than there is room for."""
        sequence = 0
        try:
            while True:
                over = handle.done
                record = self._next()
                if record is None:
                    if self._lagged:
                        raise SubscriptionLagged(last_sequence=sequence)
                    if over:
                        return
                    await self._more(handle)
                elif record.run_id == handle.run_id:
                    last = isinstance(record.event, _LAST)
                    if last and (gap := self._gap()) is not None:
                        yield gap
                    sequence = record.sequence or sequence
                    yield record
                    if last:
                        return
        finally:
            self.close()

    def _next(self) -> EventRecord | None:
        with self._lock:
            if self._queue:
                record = self._queue.popleft()
                if record.sequence is None:
                    self._live -= 1
                else:
                    self._durable -= 1
                return own(record)
        return self._gap()

    def _gap(self) -> EventRecord | None:
        """How many live events did not fit since the last time this was told."""
        with self._lock:
            at, count, self._dropped = self._missed, self._dropped, 0
        if at is None or not count:
            return None
        return EventRecord(at.thread_id, None, at.run_id, None, None, None, at.timestamp, Gap(count))

    async def _more(self, handle: RunHandle) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._queue or handle.done:
                return
            woken: asyncio.Future[None] = loop.create_future()
            self._waiting = (loop, woken)
        try:
            await asyncio.wait({woken}, timeout=_WAKE_EVERY)
        finally:
            self._waiting = None


def _release(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
