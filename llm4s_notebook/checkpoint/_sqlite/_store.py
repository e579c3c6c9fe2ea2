"""The store in one SQLite file: each call is one piece of work, for the writing or the reading thread or for the caller's own."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
import weakref
from functools import partial
from typing import TypeVar

from .._clock import Clock, SystemClock, to_microseconds
from .._event import EventRecord, numbered
from .._rules import check_limit, check_policy, check_ttl, checked_sequence, checked_status
from .._types import Checkpoint, CheckpointStatus, Claim, Commit, Head, LatestCheckpoint, RetentionPolicy, ThreadSummary
from .._watch import Watchers, woken
from . import _change, _retain
from ._claimants import Claimants
from ._lane import Lane, Reader, Work
from ._lists import TooLong
from ._open import Synchronous, check_place, settings
from ._process import this_process
from ._read import Reading
from ._thread_row import ThreadRow
from ._trouble import forked, gone
from ._writer import Writer

T = TypeVar("T")
_FEW_CHANGES = 64  # of one commit
_FEW_ROWS = 512  # of one read
_FEW_LINES = 1000  # of one list
POLL = 0.25  # seconds between looks for what another process committed (R7.12)


class SqliteCheckpointer:
    """A `Checkpointer` in the SQLite file at `path`, which several processes of one host may use at once (D8).

    `synchronous="full"` syncs each commit to the disk; with `"normal"` a power cut - not a crash of the process - can lose the last
    commits. `busy_timeout` is how many seconds a call waits for another process's transaction. A store must not cross a fork.

    Usable from several event loops and OS threads at once (D23).
    """

    def __init__(
        self, path: str | os.PathLike[str], *, synchronous: Synchronous = "full", busy_timeout: float = 5.0, clock: Clock | None = None
    ) -> None:
        """Open the file, creating or upgrading it (R6.43).

        Raises: ConfigError for arguments that cannot be meant; StoreUnavailable for a file that cannot be used, which is left as it was.
        """
        self._settings = settings(path, synchronous, busy_timeout)
        check_place(self._settings.path)
        self._clock: Clock = clock or SystemClock()
        mark = this_process()
        self._process = mark.to_text() if mark else None
        self._pid = os.getpid()
        self._watchers = Watchers()
        self._claimants = Claimants(self._clock)
        self._last_token = 0  # granted through this store
        self._reading = Reading(self._settings.path)
        self._writer = Writer(self._settings, self._watchers.changed)
        try:
            self._reader = Reader(self._settings, "reader", prepare=False)
        except BaseException:
            self._writer.close()
            raise
        self._writer.outlives = self._reader
        # a store that is dropped without aclose still finishes what was queued; nobody waits for that
        self._finalizer = weakref.finalize(self, _end, self._writer, self._reader)
        self._finalizer.atexit = False  # the lanes see to that themselves

    @property
    def location(self) -> str | None:
        """The file's absolute path."""
        return self._settings.path

    def __repr__(self) -> str:
        return f"SqliteCheckpointer({self._settings.path!r})"

    async def __aenter__(self) -> SqliteCheckpointer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # -- claims ------------------------------------------------------------------------------------------------------

    async def claim(self, thread_id: str, holder: str, ttl: float) -> Claim:
        """Grant a lease (R6.6). Raises: ConfigError, ThreadBusy, StoreUnavailable."""
        check_ttl(ttl)
        granted, _ = await self._arrive(thread_id, self._claiming(thread_id, holder, ttl, None))
        return granted

    async def claim_and_commit(self, thread_id: str, holder: str, ttl: float, commit: Commit) -> tuple[Claim, tuple[EventRecord, ...]]:
        """Claim and commit as one change (R6.23). Raises: ConfigError, ThreadBusy, CheckpointConflict, InvalidCommit, StoreUnavailable."""
        check_ttl(ttl)
        granted, first = await self._arrive(thread_id, self._claiming(thread_id, holder, ttl, commit), commit)
        return granted, numbered(thread_id, first, commit.events)

    def _claiming(self, thread_id: str, holder: str, ttl: float, commit: Commit | None) -> Work[tuple[Claim, int]]:
        def work(connection: sqlite3.Connection) -> tuple[Claim, int]:
            if not os.access(self._settings.path, os.F_OK):  # the system would let us write on, to a file that nobody can open
                raise gone(self._settings.path)
            wanted = _change.Wanted(holder, self._clock.now(), ttl, self._process, self._last_token)
            granted, row, first = _change.claim(connection, self._writer.known(thread_id), thread_id, wanted, commit)
            self._last_token = granted.token
            self._note(connection, row, commit)
            return granted, first

        return work

    async def renew(self, thread_id: str, token: int, ttl: float) -> Claim:
        """Extend the lease (R6.7). Raises: ConfigError, StaleClaim, StoreUnavailable."""
        check_ttl(ttl)
        return await self._writer.call(self._renewal(thread_id, token, ttl))

    def renew_now(self, thread_id: str, token: int, ttl: float) -> Claim:
        """`renew` for a plain thread, which waits (D8). Raises: ConfigError, StaleClaim, StoreUnavailable."""
        check_ttl(ttl)
        return self._writer.call_now(self._renewal(thread_id, token, ttl))

    def _renewal(self, thread_id: str, token: int, ttl: float) -> Work[Claim]:
        def work(connection: sqlite3.Connection) -> Claim:
            renewed = _change.renew(connection, thread_id, token, self._clock.now(), ttl)
            self._claimants.held[thread_id] = to_microseconds(renewed.expires_at)
            return renewed

        return work

    async def release(self, thread_id: str, token: int) -> None:
        """Free the thread; a wrong token is silently nothing (R6.8). Raises: StoreUnavailable."""

        def work(connection: sqlite3.Connection) -> bool:
            if _change.release(connection, thread_id, token):
                self._claimants.held.pop(thread_id, None)
                self._writer.forget(thread_id)
            return True

        await self._write(thread_id, work)

    # -- committing --------------------------------------------------------------------------------------------------

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        """Apply all of it or nothing (R6.9, R6.18-R6.22). Raises: StaleClaim, CheckpointConflict, InvalidCommit, StoreUnavailable."""
        first = await self._write(thread_id, self._committing(thread_id, commit), commit)
        return numbered(thread_id, first, commit.events)

    def commit_now(self, thread_id: str, commit: Commit) -> int | None:
        """`commit` on the calling thread, which may be that of an event loop; returns the number of its first event - the next one's,
        if it has none. None, and nothing was done, if that would mean to wait for others: then `commit` is to be awaited.

        A KeyboardInterrupt that comes while it works passes: the commit is then either done or not begun, and given once more
        it succeeds or raises CheckpointConflict, whose `actual` is its own last checkpoint.

        Raises: StaleClaim, CheckpointConflict, InvalidCommit, StoreUnavailable.
        """
        if not _handy(commit):
            return None
        return self._writer.attempt(self._committing(thread_id, commit), partial(self._claimants.alone, thread_id))

    def _committing(self, thread_id: str, commit: Commit) -> Work[int]:
        def work(connection: sqlite3.Connection) -> int:
            row, first = _change.commit(connection, self._writer.known(thread_id), thread_id, commit)
            self._note(connection, row, commit)
            return first

        return work

    def _note(self, connection: sqlite3.Connection, row: ThreadRow, commit: Commit | None) -> None:
        if row.token is None or row.expires_at is None:
            self._claimants.held.pop(row.thread_id, None)
        else:
            self._claimants.held[row.thread_id] = row.expires_at
        self._writer.touch(row)
        if commit is not None and commit.retract:
            self._writer.scrub(connection)

    async def _write(self, thread_id: str, work: Work[T], commit: Commit | None = None) -> T:
        """On the calling thread if nobody has to be waited for, else through the writing one."""
        if commit is None or _handy(commit):
            done = self._writer.attempt(work, partial(self._claimants.alone, thread_id))
            if done is not None:
                return done
        return await self._writer.call(work)

    def expecting(self, thread_id: str) -> object:
        """Say that a claim of the thread is to come, as long as somebody keeps what is returned. Runs that begin together share their
        transactions (D18); a claim that was announced, and no other, need not wait to see whether more are coming."""
        return self._claimants.expect(thread_id)

    async def _arrive(self, thread_id: str, work: Work[T], commit: Commit | None = None) -> T:
        """Write a claim. Runs that begin together see each other after one turn of the loop at the latest."""
        claimants = self._claimants
        announced = claimants.coming.get(thread_id)
        coming = announced() if announced is not None else None
        alone = coming is not None and (len(claimants.coming) == 1 or not claimants.others_come(thread_id))
        if coming is None:
            coming = claimants.expect(thread_id)
        try:
            if not alone:
                await asyncio.sleep(0)
            return await self._write(thread_id, work, commit)
        finally:
            claimants.coming.pop(thread_id, None)

    # -- reading -----------------------------------------------------------------------------------------------------

    async def head(self, thread_id: str) -> Head:
        """The latest id, status and live claim; reads one row. Raises: StoreUnavailable."""

        def work(connection: sqlite3.Connection) -> Head:
            return self._reading.head(connection, thread_id, self._clock.now())

        found = self._glance(work)
        return await self._reader.call(work) if found is None else found

    async def latest(self, thread_id: str) -> LatestCheckpoint | None:
        """The latest checkpoint and its pending writes (R6.10). Raises: UnsupportedCheckpointFormat, StoreUnavailable."""

        def short(connection: sqlite3.Connection) -> tuple[LatestCheckpoint | None]:
            connection.execute("BEGIN")
            return (self._reading.latest(connection, thread_id, _FEW_ROWS),)

        found = self._glance(short)
        if found is not None:
            return found[0]
        return await self._reader.call(lambda c: self._reading.latest(c, thread_id))

    def _glance(self, work: Work[T]) -> T | None:
        """On the calling thread, if nobody has to be waited for and it is not long: on the writing connection, which still has at hand
        what was written through it, or else on the reading one, which looks into the file anew after each commit."""
        try:
            found = self._writer.attempt(work, reads=True)
            return self._reader.attempt(work, reads=True) if found is None else found
        except TooLong:
            return None

    async def history(self, thread_id: str, before: str | None = None, limit: int = 50) -> list[Checkpoint]:
        """Newest first, older than `before` (R6.11).

        Raises: ConfigError, CheckpointNotFound, UnsupportedCheckpointFormat, StoreUnavailable.
        """
        check_limit(limit)
        return await self._reader.call(lambda c: self._reading.history(c, thread_id, before, limit))

    async def checkpoint(self, thread_id: str, checkpoint_id: str) -> Checkpoint | None:
        """One checkpoint, or None (R6.12). Raises: UnsupportedCheckpointFormat, StoreUnavailable."""
        return await self._reader.call(lambda c: self._reading.checkpoint(c, thread_id, checkpoint_id))

    async def events_after(self, thread_id: str, sequence: int, limit: int = 1000) -> list[EventRecord]:
        """Events numbered above `sequence` (R6.13). Raises: ConfigError, ReplayUnavailable, StoreUnavailable."""
        check_limit(limit)
        sequence = checked_sequence(sequence)
        return await self._reader.call(lambda c: self._reading.events_after(c, thread_id, sequence, limit))

    async def wait_events_after(self, thread_id: str, sequence: int, limit: int = 1000, timeout: float = 0.25) -> list[EventRecord]:  # noqa: ASYNC109 - the contract's parameter: it ends in an empty page, not in an error
        """The same, waiting up to `timeout` seconds for a commit made through any store on the file (R6.14): one made here wakes at once,
        one made elsewhere is seen by polling."""
        check_limit(limit)
        sequence = checked_sequence(sequence)
        end = time.monotonic() + timeout
        with self._watchers.watching(thread_id) as changed:
            while True:
                version, events = await self._reader.call(
                    lambda c: (_version(c), self._reading.events_after(c, thread_id, sequence, limit))
                )
                while not events:
                    left = end - time.monotonic()
                    if left <= 0:
                        return []
                    if await woken(changed, min(left, POLL)) or await self._reader.call(_version) != version:
                        break
                if events:
                    return events

    async def threads(self, *, status: CheckpointStatus | None = None, limit: int = 100, after: str | None = None) -> list[ThreadSummary]:
        """Newest first, starting behind thread `after`. Raises: ConfigError, ThreadNotFound, StoreUnavailable."""
        check_limit(limit)
        status = checked_status(status)

        def short(connection: sqlite3.Connection) -> list[ThreadSummary]:
            connection.execute("BEGIN")
            return self._reading.threads(connection, status, limit, after, _FEW_LINES)

        found = self._glance(short)
        return await self._reader.call(lambda c: self._reading.threads(c, status, limit, after)) if found is None else found

    # -- keeping house -----------------------------------------------------------------------------------------------

    async def compact_events(self, thread_id: str, before: int) -> int:
        """Drop events numbered below `before`, their text from the file too; returns the floor (R6.15).

        Raises: ConfigError, StoreUnavailable.
        """
        before = checked_sequence(before, "before")

        def work(connection: sqlite3.Connection) -> int:
            row = ThreadRow.load(connection, thread_id)
            if row is None:
                return 1
            self._writer.scrub(connection)
            return _retain.compact(connection, row, before)

        return await self._writer.call(work)

    async def prune(self, thread_id: str, policy: RetentionPolicy) -> None:
        """Drop old checkpoints and events (R6.37); their text is gone from the file. Raises: ConfigError, StoreUnavailable."""
        check_policy(policy)

        def work(connection: sqlite3.Connection) -> None:
            row = ThreadRow.load(connection, thread_id)
            if row:
                _retain.prune(connection, row, policy, self._clock.now())
                self._writer.scrub(connection)

        await self._writer.call(work)

    async def delete_thread(self, thread_id: str) -> None:
        """Remove everything of the thread, its text from the file too; tokens keep growing (R6.17). Raises: StoreUnavailable."""

        def work(connection: sqlite3.Connection) -> None:
            row = ThreadRow.load(connection, thread_id)
            if row:
                _retain.delete(connection, row.key)
                self._writer.scrub(connection)
                self._writer.forget(thread_id)
                self._claimants.held.pop(thread_id, None)

        await self._writer.call(work)

    async def aclose(self) -> None:
        """Finish what is queued, end the threads and close the file; later calls raise StoreUnavailable. A second call is nothing.

        Raises: StoreUnavailable in a forked child.
        """
        if os.getpid() != self._pid:
            raise forked(self._settings.path)
        self._finalizer.detach()
        lanes: tuple[Lane, Lane] = (self._reader, self._writer)
        for lane in lanes:
            lane.close()
        self._watchers.all_changed()
        for lane in lanes:
            await asyncio.to_thread(lane.join)


def _handy(commit: Commit) -> bool:
    """True for what a superstep of a few tasks commits: small enough to hold up an event loop for."""
    if commit.retract or len(commit.writes) > _FEW_CHANGES:
        return False
    changes = 0
    for draft in commit.checkpoints:
        changes += len(draft.patch)
    return changes <= _FEW_CHANGES


def _version(connection: sqlite3.Connection) -> int:
    """A number that changes when another connection commits."""
    return connection.execute("PRAGMA data_version").fetchone()[0]


def _end(writer: Writer, reader: Reader) -> None:
    for lane in (reader, writer):
        lane.close()
