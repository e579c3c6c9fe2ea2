"""What is written when, in each durability mode (6.5, D18). *What survives a crash?* What this file has committed.

Everything a run has to say goes into one batch. `flush` makes it durable before the next superstep with effects starts; a
bookkeeping superstep's checkpoint and the closing one ride in their predecessor's batch. `SYNC` commits a batch at once, `ASYNC`
hands it to one background writer, `ON_EXIT` keeps it until the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable

from msgspec import Struct

from ..checkpoint import (
    Append,
    CheckpointDraft,
    Checkpointer,
    CheckpointHeader,
    Commit,
    EventDraft,
    EventRecord,
    PatchOp,
    PendingWrite,
    Replace,
    Set,
    Truncate,
    Unset,
)
from ..errors import CheckpointWriteFailed
from ._config import Durability
from ._outcome import TaskResult
from ._subscribe import Hub

_BURST_RESULTS = 512
_BURST_SECONDS = 1.0
"""Results of a burst that goes on and on are written after so many, or so long."""
_QUIET_TURNS = 6
"""Turns of the event loop without another result after which a burst is over: a superstep whose last task ended needs
fewer of them to end itself, and then its results ride with its checkpoint."""


class _Batch(Struct, eq=False):
    """What goes into one commit."""

    checkpoints: list[CheckpointDraft] = []
    writes: list[PendingWrite] = []
    events: list[EventDraft] = []

    def __bool__(self) -> bool:
        return bool(self.events or self.checkpoints or self.writes)


class Ledger:
    """One run's commits, in order. `latest` is the newest checkpoint handed in, `durable` the newest one committed."""

    def __init__(self, checkpointer: Checkpointer, hub: Hub, thread_id: str, token: int, latest: str, durability: Durability) -> None:
        self.latest = latest
        self.durable = latest
        self.freed = True
        self.on_exit = durability is Durability.ON_EXIT
        """Nothing is written before the end."""
        self.checkpointer = checkpointer
        self._hub = hub
        self._thread_id = thread_id
        self._token = token
        self._mode = durability
        self._batch = _Batch()
        self._queue: deque[tuple[_Batch, bool]] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._saver: asyncio.Task[None] | None = None
        self._finished: list[TaskResult] = []
        self._results = 0
        self._settling = False
        self.failure: CheckpointWriteFailed | None = None
        """A commit that failed, perhaps in the background."""

    @property
    def unsettled(self) -> bool:
        """True while results may be on their way, or a commit has failed: `settle` is to be awaited."""
        return self._saver is not None or self.failure is not None

    # -- what a run has to say ---------------------------------------------------------------------------------------

    def add(self, checkpoint: CheckpointDraft, events: Iterable[EventDraft]) -> None:
        """A committed superstep or a closing checkpoint; it replaces the pending writes of its predecessor (R6.20)."""
        batch = self._batch
        batch.checkpoints.append(checkpoint)
        batch.writes = []
        batch.events += events
        self.latest = checkpoint.header.id

    def replace(self, checkpoint: CheckpointDraft, events: Iterable[EventDraft]) -> None:
        """The closing checkpoint of a turn that is retracted: checkpoints not written yet never are, their events stay."""
        self._batch.checkpoints.clear()
        self.add(checkpoint, events)

    def say(self, events: Iterable[EventDraft]) -> None:
        """Events that belong to no new checkpoint."""
        self._batch.events += events

    def note(self, writes: Iterable[PendingWrite], events: Iterable[EventDraft]) -> None:
        """Finished tasks' results, to be kept if their superstep does not commit (R3.19)."""
        self._batch.writes += writes
        self._batch.events += events

    def finished(self, result: TaskResult, record: Callable[[list[TaskResult]], None]) -> None:
        """A task of several ended: make its result durable while its siblings run. `record` notes it, once it is to be written.

        Results that come in a burst are one transaction; those whose superstep ends with them go with its checkpoint (D18).
        """
        self._finished.append(result)
        self._results += 1
        if self._saver is None and not self.on_exit:
            self._settling = False
            self._saver = asyncio.get_running_loop().create_task(self._save(record), name=f"results of thread {self._thread_id}")

    async def settle(self) -> None:
        """All tasks are out: wait for a commit of results under way; what is not written yet rides. Raises: CheckpointWriteFailed."""
        if self._saver is not None:
            self._settling = True
            saver, self._saver = self._saver, None
            await saver
        self._finished.clear()
        if self.failure is not None:
            raise self.failure

    async def _save(self, record: Callable[[list[TaskResult]], None]) -> None:
        try:
            while not self._settling:
                seen, quiet, began, end = self._results, 0, self._results, time.monotonic() + _BURST_SECONDS
                while quiet < _QUIET_TURNS and seen - began < _BURST_RESULTS and time.monotonic() < end:
                    await asyncio.sleep(0)
                    if self._settling:
                        return
                    seen, quiet = self._results, quiet + 1 if seen == self._results else 0
                finished, self._finished = self._finished, []
                record(finished)
                if self._batch:
                    await self._commit(self._taken())
                if not self._finished:
                    self._saver = None
                    return
        except CheckpointWriteFailed:  # kept in `failure`, raised by settle
            return

    # -- making it durable -------------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Everything so far is durable (SYNC) or on its way (ASYNC) when this returns. Raises: CheckpointWriteFailed."""
        if self.failure is not None:
            raise self.failure
        if not self.on_exit:
            batch = self._batch
            if batch.events or batch.checkpoints or batch.writes:
                self._batch = _Batch()
                await (self._write(batch) if self._mode is Durability.SYNC else self._commit(batch))

    async def close(self, *, retract: bool = False) -> None:
        """Commit everything that is left and free the thread; nothing is visible before that (R6.28). Raises: CheckpointWriteFailed."""
        await self.settle()
        batch = self._taken()
        if self.on_exit and not retract:
            batch = self._squashed(batch)
        if self._mode is Durability.ASYNC:
            await self._drained()
        try:
            await self._write(batch, release=True, retract=retract)
        except asyncio.CancelledError:
            self._batch = batch  # to be said again: whether this commit was applied is not known
            raise

    async def give_up(self) -> None:
        """Write nothing more and free the thread as well as one can; `freed` says whether that worked."""
        self._batch = _Batch()
        self._queue.clear()
        for task in (self._saver, self._writer):
            if task is not None:
                await asyncio.wait([task])
        self.freed = False
        with contextlib.suppress(Exception):  # a store that fails now keeps the claim
            await self.checkpointer.release(self._thread_id, self._token)
            self.freed = True

    def _taken(self) -> _Batch:
        batch, self._batch = self._batch, _Batch()
        return batch

    async def _commit(self, batch: _Batch) -> None:
        if self._mode is Durability.ASYNC:
            self._queue.append((batch, False))
            if self._writer is None or self._writer.done():
                self._writer = asyncio.get_running_loop().create_task(self._write_queued(), name=f"commits of thread {self._thread_id}")
        else:
            await self._write(batch)

    async def _write_queued(self) -> None:
        """The one background writer: the same commits in the same order, none after one that failed."""
        while self._queue and self.failure is None:
            batch, _ = self._queue.popleft()
            try:
                await self._write(batch)
            except CheckpointWriteFailed:
                self._queue.clear()

    async def _drained(self) -> None:
        if self._writer is not None:
            await asyncio.wait([self._writer])
            await self._write_queued()  # what a loop that is ending left of its queue
        if self.failure is not None:
            raise self.failure

    async def _write(self, batch: _Batch, *, release: bool = False, retract: bool = False) -> None:
        if not (batch.events or batch.checkpoints or batch.writes or release):
            return
        commit = Commit(self._token, tuple(batch.checkpoints), tuple(batch.writes), tuple(batch.events), retract, release)
        try:
            records: tuple[EventRecord, ...] = await self.checkpointer.commit(self._thread_id, commit)
        except Exception as error:
            self.failure = CheckpointWriteFailed(cause=error)
            raise self.failure from error
        if batch.checkpoints:
            self.durable = batch.checkpoints[-1].header.id
        if records:
            self._hub.publish(self._thread_id, records)

    def _squashed(self, batch: _Batch) -> _Batch:
        """The last checkpoint alone, its parent the claim's, with everything that changed since (ON_EXIT)."""
        if len(batch.checkpoints) > 1:
            last = batch.checkpoints[-1]
            header: CheckpointHeader = last.header.replaced(parent_id=batch.checkpoints[0].header.parent_id)
            patch = squash(op for draft in batch.checkpoints for op in draft.patch)
            batch.checkpoints = [CheckpointDraft(header, patch)]
        return batch


def squash(patch: Iterable[PatchOp]) -> tuple[PatchOp, ...]:
    """A patch with the same effect without what it undoes itself: an entry set twice is set once."""
    kept: dict[tuple[str, str], list[PatchOp]] = {}
    for op in patch:
        at = (op.section, op.name)
        match op:
            case Set() | Unset():
                kept.pop(at, None)
                kept[at] = [op]
            case Append() | Replace() | Truncate():
                kept.setdefault(at, []).append(op)
    return tuple(op for ops in kept.values() for op in ops)
