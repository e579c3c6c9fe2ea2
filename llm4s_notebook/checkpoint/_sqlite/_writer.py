"""Group commit: everything that is queued goes into one immediate transaction (D18, R6.42). A caller that is alone commits itself.

Each caller's part is its own savepoint, so a refused part fails no neighbour; nobody is told of success before the
transaction is durable.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeVar

from ._lane import Job, Lane, Outcome, Work
from ._open import Settings
from ._retain import reclaim
from ._thread_row import ThreadRow
from ._trouble import Damage, is_busy

T = TypeVar("T")

_log = logging.getLogger("llm4s_notebook.checkpoint")
_WAIT_FOR_READERS = 1.0  # seconds a retracting commit waits for other readers of the log
_KNOWN = 1024  # threads of which something is known
_WIDE = 8  # of these, with many entries in rows: a person answers a thousand questions of one thread, not of a thousand threads
_TRY_AGAIN = 0.25  # seconds between later attempts


class Writer(Lane):
    """The one writing connection of a store."""

    def __init__(self, given: Settings, changed: Callable[[str], None]) -> None:
        """`changed` is called with each thread id that was committed to, once it is durable."""
        self._changed = changed
        self._known: dict[str, ThreadRow] = {}  # threads as the last commit or claim left them: the next one starts from there
        self._wide: dict[str, None] = {}  # those of them with many entries in rows, the last one written to last
        self._fresh: dict[str, ThreadRow] = {}  # the same, of a transaction that is not durable yet
        self._scrub = False  # text was removed in this group
        self._scrub_due = False  # an earlier scrub has still to succeed
        self._cursor: sqlite3.Cursor | None = None  # one for all beginnings and ends: the connection would make a new one each time
        self.outlives: Lane | None = None
        """Whose connection is closed before this one: of two that close at once neither is the last, and the log stays behind."""
        super().__init__(given, "writer", prepare=True)

    def known(self, thread_id: str) -> ThreadRow | None:
        """Called by a job that is about to commit or claim: what is known of the thread, which is forgotten until that is durable."""
        return self._known.pop(thread_id, None)

    def touch(self, row: ThreadRow) -> None:
        """Called by a job that has committed: readers of the thread are woken when that is durable."""
        self._fresh[row.thread_id] = row

    def forget(self, thread_id: str) -> None:
        """Called by a job after which nothing is known of the thread."""
        self._known.pop(thread_id, None)
        self._fresh.pop(thread_id, None)

    def scrub(self, connection: sqlite3.Connection) -> None:
        """Called by a job that removed text: it must be gone from the log too, not only from the tables (R6.36, D17). The file
        remembers it until it is so, should this process die before."""
        connection.execute("UPDATE llm4s_meta SET scrub_due = 1")
        self._scrub = True

    def _work_here(self, connection: sqlite3.Connection, work: Work[T]) -> T | None:
        if self._scrub_due:
            return None
        self._fresh.clear()
        self._wait_for(connection, 0.0)
        cursor = self._cursor or connection.cursor()
        try:
            cursor.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if is_busy(error):
                return None
            raise
        value = work(connection)
        cursor.execute("COMMIT")
        self._durable()
        return value

    def _durable(self) -> None:
        """The transaction is committed."""
        known = self._known
        for thread_id, row in self._fresh.items():
            known[thread_id] = row
            if row.heads.many:
                self._narrow(row)
            self._changed(thread_id)
        while len(known) > _KNOWN:
            del known[next(iter(known))]

    def _narrow(self, row: ThreadRow) -> None:
        """Remember many entries of this thread, and no longer of the one whose turn it is to be forgotten."""
        wide = self._wide
        wide.pop(row.thread_id, None)
        if row.heads.too_many:
            row.heads.few()
            return
        wide[row.thread_id] = None
        while len(wide) > _WIDE:
            other = next(iter(wide))
            del wide[other]
            if other in self._known:
                self._known[other].heads.few()

    def _run(self, connection: sqlite3.Connection, group: Sequence[Job]) -> Sequence[Outcome]:
        self._fresh.clear()
        self._scrub = False
        try:
            connection.execute("BEGIN IMMEDIATE")
            outcomes = [self._part(connection, job, alone=len(group) == 1) for job in group]
            if any(outcome.error is None for outcome in outcomes):
                connection.execute("COMMIT")
            elif connection.in_transaction:
                connection.execute("ROLLBACK")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._fresh.clear()
            self._scrub = False
            said = self._said(error)
            outcomes = [Outcome(job, None, said) for job in group]
        if self._scrub:
            self._reclaim(connection)
        if self._scrub or self._scrub_due:
            self._empty_log(connection, _WAIT_FOR_READERS if self._scrub else 0.0)
        self._durable()
        return outcomes

    def _part(self, connection: sqlite3.Connection, job: Job, *, alone: bool) -> Outcome:
        """One caller's part. Raises only where SQLite has given up the whole transaction (a full disk)."""
        if not alone:
            connection.execute("SAVEPOINT part")
        try:
            value = job.work(connection)
        except Exception as refusal:
            if not connection.in_transaction:
                raise
            if not alone:
                connection.execute("ROLLBACK TO part")
                connection.execute("RELEASE part")
            return Outcome(job, None, self._said(refusal))
        if not alone:
            connection.execute("RELEASE part")
        return Outcome(job, value)

    # -- removed text ------------------------------------------------------------------------------------------------

    def _begun(self, connection: sqlite3.Connection) -> None:
        self._cursor = connection.cursor()
        due = connection.execute("SELECT scrub_due FROM llm4s_meta").fetchone()
        if due is None:
            raise Damage("the row with its last fencing token is missing")
        self._scrub_due = bool(due[0])
        if self._scrub_due:
            self._empty_log(connection, 0.0)

    def _empty_log(self, connection: sqlite3.Connection, wait: float) -> None:
        """Move the log into the file and cut it to nothing. Another process that reads just now can prevent that: then it is
        tried again with every commit, while idle, at closing, and by whoever opens the file next."""
        try:
            self._wait_for(connection, wait)
            blocked = bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
            if not blocked:
                connection.execute("UPDATE llm4s_meta SET scrub_due = 0")
        except sqlite3.Error:
            blocked = True
        finally:
            self._wait_for(connection, self._given.busy_timeout)
        if blocked and not self._scrub_due:
            _log.warning("%s: removed text stays in the write-ahead log until another reader of the file ends", self._given.path)
        self._scrub_due = blocked

    def _reclaim(self, connection: sqlite3.Connection) -> None:
        """Give space back. What prevents it now is no reason to fail a commit that is durable; the next removal tries again."""
        try:
            reclaim(connection)
        except sqlite3.Error as error:
            _log.warning("%s: the space of removed data could not be reclaimed: %s", self._given.path, error)

    def _patience(self) -> float | None:
        return _TRY_AGAIN if self._scrub_due else None

    def _idle(self, connection: sqlite3.Connection) -> None:
        self._empty_log(connection, 0.0)

    def _ending(self, connection: sqlite3.Connection) -> None:
        if self._scrub_due:
            self._empty_log(connection, _WAIT_FOR_READERS)
        if self.outlives is not None:
            self.outlives.join(_WAIT_FOR_READERS)
