"""How a thread stands before it is claimed: what is there, what it waits for, and whose it is. *Who answered that?* Look here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..checkpoint import Checkpoint, Checkpointer, CheckpointStatus, EventRecord, Head, PatchOp, Value
from ..errors import (
    IncompleteRun,
    NothingToRecover,
    PendingInterrupts,
    Refusal,
    ReplayUnavailable,
    ResumeProblem,
    ThreadBusy,
)
from . import events
from ._compiled import CompiledGraph
from ._execution import Execution
from ._interrupt import Given, nothing_waits, unknown_ids
from ._reuse import reused_results
from ._snapshot import birth_of, settled_of

AnyGraph = CompiledGraph[Any, Any]
_PAGE = 1000


class Held(Value, frozen=True, gc=True, eq=False):
    """A thread as this runtime left it: used again while the store's latest checkpoint is that very one (D17)."""

    graph: AnyGraph
    checkpoint_id: str
    status: CheckpointStatus
    execution: Execution
    birth_id: str
    settled: str | None
    token: int | None
    rewrite: tuple[PatchOp, ...] = ()


class Standing:
    """Reads threads of one store. `held` finds what this runtime knows of a thread."""

    def __init__(self, checkpointer: Checkpointer, held: Callable[[str], Held | None]) -> None:
        self.held = held
        self._checkpointer = checkpointer

    async def load(self, thread_id: str, graph: AnyGraph, head: Head | None = None) -> Held | None:
        """The thread as stored, restored into this graph; `head` where it was looked at already. Raises: RestoreRejected."""
        if head is None:
            head = await self._checkpointer.head(thread_id)
        if head.checkpoint_id is None:
            return None
        held = self.held(thread_id)
        if held is not None and (held.checkpoint_id, held.token) == (head.checkpoint_id, head.token) and held.graph is graph:
            return held
        latest = await self._checkpointer.latest(thread_id)
        if latest is None:
            return None
        return _held(graph, latest.checkpoint)

    async def check_restorable(self, thread_id: str, graph: AnyGraph) -> None:
        """Refuse a thread that does not fit the graph before its claim is touched. Raises: RestoreRejected; NothingToRecover."""
        latest = await self._checkpointer.latest(thread_id)
        if latest is None:
            raise NothingToRecover(thread_id=thread_id)
        reused_results(graph.plan, graph.restored(latest.checkpoint).execution, latest.writes)

    async def settled(self, thread_id: str, graph: AnyGraph) -> Held | None:
        """The thread as stored, for a turn on top of its last one; None for a new thread.

        Raises: PendingInterrupts, ThreadBusy or IncompleteRun when its last turn is not over; RestoreRejected.
        """
        latest = await self._checkpointer.latest(thread_id)
        if latest is None:
            return None
        checkpoint = latest.checkpoint
        if checkpoint.status is CheckpointStatus.SUSPENDED:
            raise PendingInterrupts(thread_id=thread_id, interrupt_ids=checkpoint.interrupts)
        if checkpoint.status is CheckpointStatus.RUNNING:
            head = await self._checkpointer.head(thread_id)
            self.check_free(thread_id, head)
            if head.checkpoint_id != checkpoint.id:  # a run has committed since the checkpoint was read
                raise ThreadBusy(thread_id=thread_id, checkpoint_id=head.checkpoint_id)
            raise IncompleteRun(thread_id=thread_id, checkpoint_id=checkpoint.id)
        return _held(graph, checkpoint)

    def check_free(self, thread_id: str, head: Head) -> None:
        """A live run of another runtime or process shows as a live claim (R8.12). Raises: ThreadBusy."""
        if head.claim is not None:
            raise ThreadBusy(thread_id=thread_id, checkpoint_id=head.checkpoint_id, holder=head.claim.holder)

    async def pending(self, thread_id: str) -> Refusal:
        """What a waiting thread refuses with: its interrupts in parked order (R4.17)."""
        latest = await self._checkpointer.latest(thread_id)
        if latest is None or latest.checkpoint.status is not CheckpointStatus.SUSPENDED:
            return ThreadBusy(thread_id=thread_id, checkpoint_id=latest.checkpoint.id if latest else None)
        return PendingInterrupts(thread_id=thread_id, interrupt_ids=latest.checkpoint.interrupts)

    async def unknown(self, thread_id: str, execution: Execution, given: Given) -> list[ResumeProblem]:
        """A problem for each id that nothing waits under, saying who answered it and when if somebody did (F41)."""
        unknown = unknown_ids(execution, given)
        if not unknown:
            return []
        taken = await self._answered(thread_id, set(unknown))
        problems: list[ResumeProblem] = []
        for id in unknown:
            record = taken.get(id)
            if record is None or not isinstance(record.event, events.RunResumed):
                problems.append(nothing_waits(id))
            else:
                by = f" by {record.event.principal}" if record.event.principal else ""
                problems.append(
                    ResumeProblem(
                        interrupt_id=id,
                        code="answered",
                        message=f"it was answered{by} at {record.timestamp:%Y-%m-%d %H:%M:%S} UTC",
                        answered_at=record.timestamp,
                        answered_by=record.event.principal,
                    )
                )
        return problems

    async def _answered(self, thread_id: str, wanted: set[str]) -> Mapping[str, EventRecord]:
        """The resume that took each of these ids, from the event log; only a refusal reads it. Ids never repeat on a thread (R1.10)."""
        found: dict[str, EventRecord] = {}
        after = 0
        while True:
            try:
                page = await self._checkpointer.events_after(thread_id, after, _PAGE)
            except ReplayUnavailable as compacted:  # what was compacted away is not known any more
                after = compacted.earliest - 1
                continue
            for record in page:
                if isinstance(record.event, events.RunResumed):
                    found.update({id: record for id in record.event.answered if id in wanted})
            if len(page) < _PAGE:
                return found
            after = page[-1].sequence or after


def _held(graph: AnyGraph, checkpoint: Checkpoint) -> Held:
    """A stored checkpoint, restored into this graph. Raises: RestoreRejected."""
    restored = graph.restored(checkpoint)
    settled = settled_of(checkpoint.header)
    birth = birth_of(checkpoint)
    return Held(graph, checkpoint.id, checkpoint.status, restored.execution, birth, settled, checkpoint.token, restored.rewrite)
