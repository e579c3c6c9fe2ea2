"""Following a thread's events: committed ones from the store, then as they come; live progress beside them (R7.7-R7.13)."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Protocol, cast

from ..checkpoint import Checkpointer, EventRecord
from ..errors import ConfigError, SubscriptionLagged
from .events import Custom, Gap, Progress

_POLL_SECONDS = 0.25
_PAGE = 1000
CAPACITY = 1024


class Follower(Protocol):
    """Who is told of a thread, by whoever commits or tells something there, from any thread; it must not wait, and changes no record."""

    @property
    def thread_id(self) -> str: ...

    def push(self, records: Iterable[EventRecord]) -> None:
        """Events in order; none when a run has ended."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


class Hub:
    """Hands committed events and live progress to the subscribers of a thread in this process. Publishing never waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._followers: dict[str, weakref.WeakSet[Follower]] = {}

    def publish(self, thread_id: str, records: Iterable[EventRecord]) -> None:
        """Events whose commit has succeeded, in order; or live ones."""
        if thread_id in self._followers:
            for follower in self._following(thread_id):
                follower.push(records)

    def wake(self, thread_id: str) -> None:
        """Something else changed: a run ended."""
        self.publish(thread_id, ())

    def heard(self, thread_id: str) -> bool:
        """True when somebody follows the thread here."""
        return thread_id in self._followers

    def join(self, follower: Follower) -> None:
        with self._lock:
            self._followers.setdefault(follower.thread_id, weakref.WeakSet()).add(follower)

    def leave(self, follower: Follower) -> None:
        with self._lock:
            others = self._followers.get(follower.thread_id)
            if others is not None:
                others.discard(follower)
                if not others:
                    del self._followers[follower.thread_id]

    def close(self) -> None:
        """End every subscription."""
        with self._lock:
            followers = [one for others in self._followers.values() for one in others]
        for follower in followers:
            follower.close()

    def _following(self, thread_id: str) -> list[Follower]:
        with self._lock:
            following = list(self._followers.get(thread_id, ()))
            if not following:  # all of them were forgotten without being closed
                self._followers.pop(thread_id, None)
            return following


class Subscription(AsyncIterator[EventRecord]):
    """The events of one thread numbered above `after`, each once and in order; live ones as they come (R7.7).

    Runs never wait for it: with more than `capacity` durable events queued it ends with `SubscriptionLagged` after what was
    queued before; live events that do not fit are counted in a `Gap` (R7.8). With `over` and `run_id` it gives that run's
    events only and ends after the last of them.

    Raises: ConfigError for a capacity below 2 or a negative `after`.
    """

    def __init__(
        self,
        hub: Hub,
        checkpointer: Checkpointer,
        thread_id: str,
        *,
        after: int = 0,
        capacity: int = CAPACITY,
        run_id: str | None = None,
        over: Callable[[], bool] | None = None,
    ) -> None:
        if type(capacity) is not int or capacity < 2:
            raise ConfigError(field="capacity", problems=[f"capacity is {capacity!r}, and must be 2 or more"])
        if type(after) is not int or after < 0:
            raise ConfigError(field="after", problems=[f"after is {after!r}; events are numbered from 1"])
        self.thread_id = thread_id
        self.last_sequence = after
        self._hub = hub
        self._checkpointer = checkpointer
        self._capacity = capacity
        self._run_id = run_id
        self._over = over
        self._lock = threading.Lock()
        self._queue: deque[EventRecord] = deque()
        self._page: deque[EventRecord] = deque()
        self._durable = 0
        self._live = 0
        self._dropped: EventRecord | None = None
        self._dropped_count = 0
        self._lagged = False
        self._closed = False
        self._replayed = False
        self._wake: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None = None
        hub.join(self)

    def push(self, records: Iterable[EventRecord]) -> None:
        """Called by whoever commits, from any thread."""
        with self._lock:
            if self._closed or self._lagged:
                return
            for record in records:
                if record.sequence is None:
                    if self._live >= self._capacity:
                        self._dropped, self._dropped_count = record, self._dropped_count + 1
                    else:
                        self._live += 1
                        self._queue.append(record)
                elif record.sequence > self.last_sequence:
                    if self._durable >= self._capacity:
                        self._lagged = True
                        break
                    self._durable += 1
                    self._queue.append(record)
        self._waken()

    def close(self) -> None:
        """Deliver nothing more (R7.9)."""
        with self._lock:
            self._closed = True
            self._queue.clear()
            self._page.clear()
        self._hub.leave(self)
        self._waken()

    async def aclose(self) -> None:
        """`close`, as async iterators have it."""
        self.close()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> EventRecord:
        """The next event. Raises: ReplayUnavailable; SubscriptionLagged; StopAsyncIteration at the end."""
        while True:
            if self._closed:
                raise StopAsyncIteration
            record = self._next()
            if record is None and not self._replayed:
                record = await self._read()
            if record is not None:
                if self._run_id is None or record.run_id == self._run_id:
                    return record
                continue
            if self._lagged:
                self.close()
                raise SubscriptionLagged(last_sequence=self.last_sequence)
            await self._more()

    async def _read(self) -> EventRecord | None:
        """Replay committed events; once a page is empty, follow."""
        page = await self._checkpointer.events_after(self.thread_id, self.last_sequence, _PAGE)
        self._page.extend(page)
        self._replayed = not page
        return self._next()

    async def _more(self) -> None:
        """Wait until something is queued, then look into the store too: other processes commit there (R7.12)."""
        over = self._over is not None and self._over()
        if not over:
            await self._sleep()
        page = await self._checkpointer.events_after(self.thread_id, self.last_sequence, _PAGE)
        self._page.extend(page)
        if over and not page and not self._queue:
            self.close()

    async def _sleep(self) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._queue or self._closed or self._lagged:
                return
            woken: asyncio.Future[None] = loop.create_future()
            self._wake = (loop, woken)
        try:
            # not with wait_for, which loses a cancellation that comes together with the wake-up
            await asyncio.wait({woken}, timeout=_POLL_SECONDS)
        finally:
            self._wake = None

    def _waken(self) -> None:
        waiting = self._wake
        if waiting is not None:
            loop, woken = waiting
            try:
                loop.call_soon_threadsafe(_release, woken)
            except RuntimeError:  # the subscriber's loop is closed
                self._hub.leave(self)

    def _next(self) -> EventRecord | None:
        """The next event in order that is at hand; None when the store has to be asked or nothing is there."""
        while self._page:
            record = self._page.popleft()
            if record.sequence is not None and record.sequence > self.last_sequence:
                self.last_sequence = record.sequence
                return record
        with self._lock:
            while self._queue:
                record = self._queue[0]
                if record.sequence is None:
                    self._live -= 1
                elif record.sequence > self.last_sequence + 1:  # somebody else committed in between
                    self._replayed = False
                    return None
                else:
                    self._durable -= 1
                self._queue.popleft()
                if record.sequence is None:
                    return own(record)
                if record.sequence > self.last_sequence:
                    self.last_sequence = record.sequence
                    return own(record)
            if self._dropped is not None:
                gap, self._dropped = self._dropped, None
                count, self._dropped_count = self._dropped_count, 0
                return EventRecord(gap.thread_id, None, gap.run_id, None, None, None, gap.timestamp, Gap(count))
        return None


def own(record: EventRecord) -> EventRecord:
    """A record that was pushed to several, as one of them may give it away: nothing in it is anybody else's to change (R7.13)."""
    event = record.event
    if isinstance(event, Custom | Progress):
        return record.replaced(event=event.replaced(payload=_copied(cast(object, event.payload))))
    return record


def _copied(value: object) -> object:
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in cast(dict[str, object], value).items()}
    if isinstance(value, list):
        return [_copied(item) for item in cast(list[object], value)]
    return value


def _release(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
