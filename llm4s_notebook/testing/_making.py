"""Short ways to make what is handed to a store, for tests of stores."""

from __future__ import annotations

from collections.abc import Iterable

from ..checkpoint import (
    CheckpointDraft,
    CheckpointHeader,
    CheckpointStatus,
    Claim,
    Clock,
    Commit,
    EventDraft,
    PatchOp,
    PendingWrite,
    RunEvent,
    Set,
)
from ..checkpoint._event import Custom

RUNNING, SUSPENDED, COMPLETED, FAILED = CheckpointStatus


def header(
    clock: Clock,
    number: int,
    parent: str | None,
    *,
    thread: str = "t",
    status: CheckpointStatus = RUNNING,
    run: str = "run",
    body: bytes = b"{}",
    journal: bytes = b"[]",
) -> CheckpointHeader:
    """Checkpoint `run/number` of the thread, made now."""
    return CheckpointHeader(
        id=f"{run}/{number}",
        parent_id=parent,
        thread_id=thread,
        run_id=run,
        status=status,
        created_at=clock.now(),
        graph_id="graph",
        graph_version="1",
        fingerprint="abc",
        superstep=number,
        body=body,
        journal=journal,
    )


def draft(
    clock: Clock,
    number: int,
    parent: str | None = "",
    *patch: PatchOp,
    thread: str = "t",
    status: CheckpointStatus = RUNNING,
    run: str = "run",
) -> CheckpointDraft:
    """The checkpoint on top of `run/number-1` - of nothing for number 1 - unless another parent is given."""
    above = (f"{run}/{number - 1}" if number > 1 else None) if parent == "" else parent
    return CheckpointDraft(header(clock, number, above, thread=thread, status=status, run=run), patch)


def write(checkpoint_id: str, task: str = "0.0", body: bytes = b"{}") -> PendingWrite:
    return PendingWrite(checkpoint_id, task, f"node-{task}", body)


def event(clock: Clock, kind: RunEvent | str = "note", *, checkpoint_id: str | None = None) -> EventDraft:
    """A durable event; a text makes a custom one of that name."""
    given = Custom(kind, 1, {"n": kind}) if isinstance(kind, str) else kind
    return EventDraft("run", given, clock.now(), checkpoint_id)


def chain(clock: Clock, claim: Claim, numbers: Iterable[int], *, thread: str = "t", status: CheckpointStatus = RUNNING) -> list[Commit]:
    """A commit for each number: the checkpoint `run/number`, which sets ("state", "n") to it."""
    return [
        Commit(
            token=claim.token,
            checkpoints=(draft(clock, number, "", Set("state", "n", str(number).encode()), thread=thread, status=status),),
        )
        for number in numbers
    ]
