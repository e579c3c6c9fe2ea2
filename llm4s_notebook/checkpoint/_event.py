"""The durable events of a thread (R7.1) and the record that numbers them (R7.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from ._value import Value


class RunEvent(Value, frozen=True):
    """One thing that happened; subclasses carry the fields of R7.1."""

    durable: ClassVar[bool] = True


class RunStarted(RunEvent, frozen=True):
    principal: str | None = None


class RunRecovered(RunEvent, frozen=True):
    from_checkpoint: str
    principal: str | None = None


class RunResumed(RunEvent, frozen=True):
    """`answered` lists the interrupt ids in parked order (R7.6)."""

    answered: tuple[str, ...]
    principal: str | None = None


class TaskCompleted(RunEvent, frozen=True):
    pass


class TaskFailed(RunEvent, frozen=True):
    message: str


class TaskSuspended(RunEvent, frozen=True):
    interrupt_id: str


class CheckpointCommitted(RunEvent, frozen=True):
    superstep: int


class RunSuspended(RunEvent, frozen=True):
    """`interrupts` lists everything still pending, older ones included (R7.6)."""

    interrupts: tuple[str, ...]


class RunCompleted(RunEvent, frozen=True):
    pass


class RunFailed(RunEvent, frozen=True):
    message: str


class RunCancelled(RunEvent, frozen=True):
    pass


class RunTimedOut(RunEvent, frozen=True):
    pass


class Custom(RunEvent, frozen=True):
    """What a node emitted; `payload` is plain JSON."""

    name: str
    version: int
    payload: Any


class ThreadSeeded(RunEvent, frozen=True):
    pass


class ThreadForked(RunEvent, frozen=True):
    source_thread_id: str
    source_checkpoint_id: str


class StateUpdated(RunEvent, frozen=True):
    as_node: str | None = None


class Progress(RunEvent, frozen=True):
    """Live only: never stored, never replayed (R7.10)."""

    durable: ClassVar[bool] = False
    name: str
    version: int
    payload: Any


class Gap(RunEvent, frozen=True):
    """Live only: so many live events did not fit a subscriber's queue (R7.8)."""

    durable: ClassVar[bool] = False
    count: int


class EventRecord(Value, frozen=True):
    """An event with its place: `sequence` counts from 1 along the thread, None for live events; `timestamp` is aware UTC."""

    thread_id: str
    sequence: int | None
    run_id: str
    checkpoint_id: str | None
    task_id: str | None
    node_id: str | None
    timestamp: datetime
    event: RunEvent


class EventDraft(Value, frozen=True):
    """An event on its way into a commit, which numbers it (R6.21)."""

    run_id: str
    event: RunEvent
    timestamp: datetime
    checkpoint_id: str | None = None
    task_id: str | None = None
    node_id: str | None = None

    def numbered(self, thread_id: str, sequence: int | None) -> EventRecord:
        return EventRecord(thread_id, sequence, self.run_id, self.checkpoint_id, self.task_id, self.node_id, self.timestamp, self.event)


def numbered(thread_id: str, first: int, drafts: Iterable[EventDraft]) -> tuple[EventRecord, ...]:
    """The events of one commit, one behind the other from `first` (R6.21)."""
    return tuple(
        [
            EventRecord(thread_id, sequence, one.run_id, one.checkpoint_id, one.task_id, one.node_id, one.timestamp, one.event)
            for sequence, one in enumerate(drafts, first)
        ]
    )


_BY_NAME: Mapping[str, type[RunEvent]] = {
    kind.__name__: kind
    for kind in (
        RunStarted, RunRecovered, RunResumed, TaskCompleted, TaskFailed, TaskSuspended, CheckpointCommitted, RunSuspended,
        RunCompleted, RunFailed, RunCancelled, RunTimedOut, Custom, ThreadSeeded, ThreadForked, StateUpdated,
    )
}  # fmt: skip
_TUPLES = ("answered", "interrupts")


def event_to_json(event: RunEvent) -> dict[str, Any]:
    """The event as a plain JSON object with its class name under `type`."""
    return {"type": type(event).__name__, **{name: getattr(event, name) for name in event.__struct_fields__}}


def event_from_json(data: Mapping[str, Any]) -> RunEvent:
    """The event again. Only the names above are looked up; nothing is imported (D7).

    Raises: ValueError for an unknown type or fields that do not fit it.
    """
    given = dict(data)
    kind = _BY_NAME.get(given.pop("type", ""))
    if kind is None:
        raise ValueError(f"unknown event type {data.get('type')!r}")
    for name in _TUPLES:
        if name in given:
            given[name] = tuple(given[name])
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(f"event {kind.__name__}: {error}") from error
