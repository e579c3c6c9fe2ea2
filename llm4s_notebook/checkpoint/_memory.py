"""The store that lives as long as the process: for tests, and for turns that need not survive a restart."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta

from ..errors import CheckpointNotFound, StaleClaim, StoreUnavailable, ThreadBusy, ThreadNotFound
from ._clock import Clock, SystemClock
from ._event import EventRecord, numbered
from ._memory_thread import MemoryThread
from ._rules import check_claimed, check_limit, check_policy, check_ttl, checked_sequence, checked_status
from ._types import Checkpoint, CheckpointStatus, Claim, Commit, Head, LatestCheckpoint, RetentionPolicy, ThreadSummary
from ._watch import Watchers, woken


class InMemoryCheckpointer:
    """A `Checkpointer` in this process's memory. Gone when the process ends.

    Usable from several event loops and OS threads at once (D23); a call holds one lock for as long as it works and never waits.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._threads: dict[str, MemoryThread] = {}
        self._last_token = 0
        self._closed = False
        self._watchers = Watchers()

    @property
    def location(self) -> str | None:
        """None: nothing of it is on disk."""
        return None

    async def __aenter__(self) -> InMemoryCheckpointer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # -- claims ------------------------------------------------------------------------------------------------------

    async def claim(self, thread_id: str, holder: str, ttl: float) -> Claim:
        """Grant a lease (R6.6). Raises: ThreadBusy."""
        check_ttl(ttl)
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id) or MemoryThread(thread_id)
            claim = self._grant(thread, holder, ttl)
            self._take(thread, claim)
            return claim

    async def claim_and_commit(self, thread_id: str, holder: str, ttl: float, commit: Commit) -> tuple[Claim, tuple[EventRecord, ...]]:
        """Claim and commit as one change (R6.23). Raises: ThreadBusy, CheckpointConflict, InvalidCommit."""
        check_ttl(ttl)
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id) or MemoryThread(thread_id)
            claim = self._grant(thread, holder, ttl)
            first = thread.commit(commit, claim.token)
            self._take(thread, claim)
            if commit.release:
                thread.claim = None
        self._watchers.changed(thread_id)
        return claim, numbered(thread_id, first, commit.events)

    async def renew(self, thread_id: str, token: int, ttl: float) -> Claim:
        """Extend the lease (R6.7). Raises: StaleClaim."""
        return self.renew_now(thread_id, token, ttl)

    def renew_now(self, thread_id: str, token: int, ttl: float) -> Claim:
        """`renew` from a plain thread (D8). Raises: StaleClaim."""
        check_ttl(ttl)
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id)
            claim = thread.claim if thread else None
            check_claimed(thread_id, token, claim.token if claim else None)
            if thread is None or claim is None:  # check_claimed has raised
                raise StaleClaim(token=token, current=None, thread_id=thread_id)
            thread.claim = replace(claim, expires_at=self._clock.now() + timedelta(seconds=ttl))
            return thread.claim

    async def release(self, thread_id: str, token: int) -> None:
        """Free the thread; a wrong token is silently nothing (R6.8)."""
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id)
            if thread and thread.claim and thread.claim.token == token:
                thread.claim = None
                if thread.empty:
                    del self._threads[thread_id]

    def _grant(self, thread: MemoryThread, holder: str, ttl: float) -> Claim:
        """The claim `thread` would get. Raises: ThreadBusy while another is live (R6.6)."""
        now = self._clock.now()
        if thread.claim and thread.claim.expires_at > now:
            raise ThreadBusy(thread_id=thread.thread_id, checkpoint_id=thread.latest_id, holder=thread.claim.holder)
        return Claim(self._last_token + 1, holder, now + timedelta(seconds=ttl))

    def _take(self, thread: MemoryThread, claim: Claim) -> None:
        self._last_token = claim.token
        thread.claim = claim
        self._threads[thread.thread_id] = thread

    # -- committing --------------------------------------------------------------------------------------------------

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        """Apply all of it or nothing (R6.9, R6.18-R6.22). Raises: StaleClaim, CheckpointConflict, InvalidCommit."""
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id)
            claim = thread.claim if thread is not None else None
            if thread is None or claim is None or claim.token != commit.token:
                raise StaleClaim(token=commit.token, current=claim.token if claim else None, thread_id=thread_id)
            first = thread.commit(commit, commit.token)
            if commit.release:
                thread.claim = None
        self._watchers.changed(thread_id)
        return numbered(thread_id, first, commit.events)

    # -- reading -----------------------------------------------------------------------------------------------------

    async def head(self, thread_id: str) -> Head:
        """The latest id, status and live claim."""
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id)
            if thread is None:
                return Head(None, None, None)
            claim = thread.claim if thread.claim and thread.claim.expires_at > self._clock.now() else None
            header = thread.latest_header
            return Head(thread.latest_id, header.status if header else None, claim, thread.write_count, thread.latest_token)

    async def latest(self, thread_id: str) -> LatestCheckpoint | None:
        """The latest checkpoint and its pending writes (R6.10)."""
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id)
            return thread.latest() if thread else None

    async def history(self, thread_id: str, before: str | None = None, limit: int = 50) -> list[Checkpoint]:
        """Newest first, older than `before` (R6.11). Raises: ConfigError, CheckpointNotFound."""
        check_limit(limit)
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id)
            if thread:
                return thread.history(before, limit)
            if before is not None:
                raise CheckpointNotFound(thread_id=thread_id, checkpoint_id=before)
            return []

    async def checkpoint(self, thread_id: str, checkpoint_id: str) -> Checkpoint | None:
        """One checkpoint, or None (R6.12)."""
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id)
            return thread.checkpoint(checkpoint_id) if thread else None

    async def events_after(self, thread_id: str, sequence: int, limit: int = 1000) -> list[EventRecord]:
        """Events numbered above `sequence` (R6.13). Raises: ConfigError, ReplayUnavailable."""
        check_limit(limit)
        sequence = checked_sequence(sequence)
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id)
            return thread.events_after(sequence, limit) if thread else []

    async def wait_events_after(self, thread_id: str, sequence: int, limit: int = 1000, timeout: float = 0.25) -> list[EventRecord]:  # noqa: ASYNC109 - the contract's parameter: it ends in an empty page, not in an error
        """The same, waiting up to `timeout` seconds for a commit (R6.14)."""
        end = time.monotonic() + timeout
        with self._watchers.watching(thread_id) as changed:
            while True:
                events = await self.events_after(thread_id, sequence, limit)
                left = end - time.monotonic()
                if events or left <= 0:
                    return events
                await woken(changed, left)

    async def threads(self, *, status: CheckpointStatus | None = None, limit: int = 100, after: str | None = None) -> list[ThreadSummary]:
        """Newest first, starting behind thread `after`. Raises: ConfigError, ThreadNotFound."""
        check_limit(limit)
        status = checked_status(status)
        with self._lock:
            self._check_open()
            placed = [
                (thread.latest_header.created_at, place, thread)
                for place, thread in enumerate(self._threads.values())
                if thread.latest_header
            ]
            placed.sort(key=lambda one: one[:2], reverse=True)
            if after is not None:
                at = next((index for index, one in enumerate(placed) if one[2].thread_id == after), None)
                if at is None:
                    raise ThreadNotFound(thread_id=after)
                placed = placed[at + 1 :]
            found: list[ThreadSummary] = []
            for _, _, thread in placed:
                if len(found) == limit:
                    break
                header = thread.latest_header
                if header and (status is None or header.status is status) and (summary := thread.summary()):
                    found.append(summary)
            return found

    # -- keeping house -----------------------------------------------------------------------------------------------

    async def compact_events(self, thread_id: str, before: int) -> int:
        """Drop events numbered below `before`; returns the floor (R6.15). Raises: ConfigError."""
        before = checked_sequence(before, "before")
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id)
            return thread.compact(before) if thread else 1

    async def prune(self, thread_id: str, policy: RetentionPolicy) -> None:
        """Drop old checkpoints and events (R6.37). Raises: ConfigError."""
        check_policy(policy)
        with self._lock:
            self._check_open()
            thread = self._threads.get(thread_id)
            if thread:
                thread.prune(policy, self._clock.now())

    async def delete_thread(self, thread_id: str) -> None:
        """Remove everything of the thread; tokens keep growing (R6.17)."""
        with self._lock:
            self._check_open()
            self._threads.pop(thread_id, None)

    async def aclose(self) -> None:
        """Drop everything; later calls raise StoreUnavailable. A second call is nothing."""
        with self._lock:
            self._closed = True
            self._threads.clear()
        self._watchers.all_changed()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(path=None, reason="the store is closed", next_step="make a new one; an in-memory store keeps nothing")
