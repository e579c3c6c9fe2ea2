"""A thread with a connection of its own and a queue before it: the way to the file.

Going through another thread costs more than most commits. So a caller who would not have to wait for anybody may use the
connection itself (`attempt`): one gate lets one of them at it, the thread or a caller.

Calls come from any event loop or OS thread (D23) and go in as jobs; results go back to where each came from. The thread
is a daemon: it never keeps a process alive, and what it has not committed when the process dies was never announced.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import queue
import sqlite3
import struct
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future as ThreadFuture
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from ...errors import InvalidCommit, Llm4sError
from ._open import Settings, connect
from ._trouble import Damage, closed, damaged, forked, is_busy, unavailable

T = TypeVar("T")
_MISFITS = (TypeError, ValueError, AttributeError, LookupError, AssertionError, struct.error)
_PATIENCE_AT_EXIT = 10.0  # seconds
_MOST = 512  # jobs of one group: a bound for how long a transaction may become

Work: TypeAlias = Callable[[sqlite3.Connection], T]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A piece of work and who waits for it: a future of `loop`, or of a plain thread where `loop` is None."""

    work: Work[Any]
    loop: asyncio.AbstractEventLoop | None
    future: asyncio.Future[Any] | ThreadFuture[Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job; exactly one of the two counts."""

    job: Job
    value: Any = None
    error: BaseException | None = None


_running: set[Lane] = set()


def _finish_all() -> None:
    """At the interpreter's end: what was queued is still done, within reason."""
    lanes = list(_running)
    for lane in lanes:
        lane.close()
    for lane in lanes:
        lane.join(_PATIENCE_AT_EXIT)


atexit.register(_finish_all)


class Lane:
    """Runs jobs in the order given, a group at a time. What a group is, a subclass says in `_run`."""

    def __init__(self, given: Settings, name: str, *, prepare: bool) -> None:
        """Starts the thread and waits until the file is open. Raises: StoreUnavailable."""
        self._given = given
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._closed = False
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._queued = 0  # jobs put and not yet done
        self._gate = threading.RLock()  # one that knows its holder: see `_let_go`
        self._connection: sqlite3.Connection | None = None
        self._waits: float | None = None  # seconds the connection waits for another process's lock
        opened: ThreadFuture[None] = ThreadFuture()
        self._thread = threading.Thread(target=self._live, args=(opened, prepare), name=f"llm4s-{name}", daemon=True)
        self._thread.start()
        opened.result()
        _running.add(self)

    # -- from outside ------------------------------------------------------------------------------------------------

    async def call(self, work: Work[T]) -> T:
        """Run `work` in the thread. Raises: StoreUnavailable, and what `work` raises."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._put(Job(work, loop, future))
        return await future

    def call_now(self, work: Work[T]) -> T:
        """The same for a plain thread, which waits."""
        future: ThreadFuture[T] = ThreadFuture()
        self._put(Job(work, None, future))
        return future.result()

    def attempt(self, work: Work[T], may: Callable[[], bool] | None = None, *, reads: bool = False) -> T | None:
        """Run `work` on the calling thread, now; None - and nothing was done - if that would mean to wait for anybody, or if `may`,
        asked when nobody else is at the connection, says no. `work` must not return None.

        `reads`: it only reads; it begins a transaction itself, if it needs more than one statement, and the end of it is seen to.

        An exception that comes from outside - KeyboardInterrupt, between any two steps - passes; before it does, what was not
        committed is undone and the gate is free.

        Raises: StoreUnavailable, and what `work` raises.
        """
        if self._queued or self._closed or os.getpid() != self._pid:
            return None
        gate, mine, left = self._gate, False, False
        here = self._read_here if reads else self._work_here  # not chosen below: a step there that is no call would be unguarded
        try:
            try:
                if not gate.acquire(blocking=False):
                    left = True
                    return None
                connection = self._connection
                if connection is None or self._queued or self._closed or connection.in_transaction:
                    return None
                mine = True
                if may is not None and not may():
                    return None
                return here(connection, work)
            finally:
                if not left:
                    if mine:
                        self._undo()
                    _let_go(gate)
                    left = True
        except BaseException as error:
            # the first attempt to leave was interrupted, if at all; what is behind a gate that is ours or nobody's may be undone
            if not left and gate.acquire(blocking=False):
                self._undo()
                _let_go(gate)
                _let_go(gate)
            said = self._said(error)
            if said is error:
                raise
            raise said from error

    def _work_here(self, connection: sqlite3.Connection, work: Work[T]) -> T | None:
        raise NotImplementedError

    def _read_here(self, connection: sqlite3.Connection, work: Work[T]) -> T | None:
        self._wait_for(connection, 0.0)
        try:
            return work(connection)
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            return None

    def _undo(self) -> None:
        """Take back what is not committed; called by whoever holds the gate."""
        connection = self._connection
        if connection is not None and connection.in_transaction:
            connection.execute("ROLLBACK")

    def _wait_for(self, connection: sqlite3.Connection, seconds: float) -> None:
        """How long the connection waits for another process's lock from now on."""
        if self._waits != seconds:
            self._waits = None
            connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
            self._waits = seconds

    def close(self) -> None:
        """Refuse further calls; the thread ends when what is queued is done. May be repeated."""
        with self._lock:
            if not self._closed:
                self._closed = True
                if os.getpid() == self._pid:
                    self._jobs.put(None)

    def join(self, seconds: float | None = None) -> None:
        """Wait for the thread's end."""
        if os.getpid() == self._pid:
            self._thread.join(seconds)

    def _put(self, job: Job) -> None:
        if os.getpid() != self._pid:
            raise forked(self._given.path)
        with self._lock:  # a job is either before the end mark or refused
            if self._closed:
                raise closed(self._given.path)
            self._queued += 1
            self._jobs.put(job)

    # -- in the thread -----------------------------------------------------------------------------------------------

    def _live(self, opened: ThreadFuture[None], prepare: bool) -> None:
        try:
            connection = connect(self._given, prepare=prepare)
            self._begun(connection)
            self._connection = connection
        except BaseException as error:
            opened.set_exception(error if isinstance(error, Llm4sError) else self._said(error))
            return
        opened.set_result(None)
        try:
            self._work(connection)
        finally:
            _running.discard(self)
            with self._gate:
                self._connection = None
                connection.close()

    def _work(self, connection: sqlite3.Connection) -> None:
        ends = False
        while not ends:
            group, ends = self._collected(connection)
            if group:
                self._run_safely(connection, group)
            del group  # a job holds its store, which nobody else may hold any more while this thread waits for the next
        with self._gate:
            self._ending(connection)

    def _collected(self, connection: sqlite3.Connection) -> tuple[list[Job], bool]:
        """What is queued, once there is something; True when that is all there will be."""
        while True:
            try:
                job = self._jobs.get(timeout=self._patience())
                break
            except queue.Empty:
                with self._gate:
                    self._idle(connection)
        group: list[Job] = []
        while job is not None:
            group.append(job)
            if len(group) == _MOST:
                return group, False
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _run_safely(self, connection: sqlite3.Connection, group: Sequence[Job]) -> None:
        """Whatever goes wrong, everybody of the group is answered and the thread lives on."""
        try:
            with self._gate:
                self._undo()  # what a caller left who was interrupted more than once
                self._wait_for(connection, self._given.busy_timeout)
                outcomes = self._run(connection, group)
        except BaseException as error:
            said = self._said(error)
            outcomes = [Outcome(job, None, said) for job in group]
        with self._lock:  # before anybody hears of it: whoever does may go on without the thread
            self._queued -= len(group)
        self._deliver(outcomes)

    def _run(self, connection: sqlite3.Connection, group: Sequence[Job]) -> Sequence[Outcome]:
        raise NotImplementedError

    def _begun(self, connection: sqlite3.Connection) -> None:
        """The first thing after the connection opened."""

    def _patience(self) -> float | None:
        """Seconds to wait for a job before `_idle` is called; None: for ever."""
        return None

    def _idle(self, connection: sqlite3.Connection) -> None:
        """Nothing was asked for a while."""

    def _ending(self, connection: sqlite3.Connection) -> None:
        """The last thing before the connection closes."""

    def _said(self, error: BaseException) -> BaseException:
        """The error as callers see it."""
        if isinstance(error, Llm4sError):
            return error
        said: BaseException = error
        if isinstance(error, sqlite3.Error):
            said = unavailable(error, self._given.path, self._given.busy_timeout)
        elif isinstance(error, (Damage, UnicodeDecodeError)):
            said = damaged(self._given.path, str(error))
        elif isinstance(error, UnicodeEncodeError):
            said = InvalidCommit(reason=f"text that is not Unicode cannot be stored: {error}")
        elif isinstance(error, OverflowError):
            said = InvalidCommit(reason=f"a number is too large to be stored: {error}")
        elif isinstance(error, _MISFITS):
            said = damaged(self._given.path, f"its rows do not fit each other, or what was given to be stored is of a wrong kind: {error}")
        if said is not error:
            said.__cause__ = error
        return said

    @staticmethod
    def _deliver(outcomes: Sequence[Outcome]) -> None:
        """Hand the results over, with one call for each event loop."""
        by_loop: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
        for outcome in outcomes:
            loop = outcome.job.loop
            if loop is None:
                _settle(outcome)
            else:
                by_loop.setdefault(loop, []).append(outcome)
        for loop, own in by_loop.items():
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(_settle_all, own)


def _let_go(gate: threading.RLock) -> None:
    """Release the gate if the calling thread holds it: an interrupted caller cannot tell whether it came to do so."""
    try:
        gate.release()
    except RuntimeError:
        return


def _settle_all(outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        _settle(outcome)


def _settle(outcome: Outcome) -> None:
    future = outcome.job.future
    if future.done():  # the caller was cancelled meanwhile
        return
    if outcome.error is not None:
        future.set_exception(outcome.error)
    else:
        future.set_result(outcome.value)


class Reader(Lane):
    """Each job sees one state of the file: a read transaction of its own."""

    def _work_here(self, connection: sqlite3.Connection, work: Work[T]) -> T | None:
        return self._read_here(connection, work)

    def _run(self, connection: sqlite3.Connection, group: Sequence[Job]) -> Sequence[Outcome]:
        outcomes: list[Outcome] = []
        for job in group:
            try:
                connection.execute("BEGIN")
                try:
                    outcomes.append(Outcome(job, job.work(connection)))
                finally:
                    if connection.in_transaction:
                        connection.execute("COMMIT")
            except BaseException as error:
                outcomes.append(Outcome(job, None, self._said(error)))
        return outcomes
