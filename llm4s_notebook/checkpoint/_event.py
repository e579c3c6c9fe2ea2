"""The durable events of a thread (R7.1) and the record that numbers them (R7.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, NamedTuple


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One thing that happened; subclasses carry the fields of R7.1."""

    durable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class RunStarted(RunEvent):
    principal: str | None = None


@dataclass(frozen=True, slots=True)
class RunRecovered(RunEvent):
    from_checkpoint: str
    principal: str | None = None


@dataclass(frozen=True, slots=True)
class RunResumed(RunEvent):
    """`answered` lists the interrupt ids in parked order (R7.6)."""

    answered: tuple[str, ...]
    principal: str | None = None


@dataclass(frozen=True, slots=True)
class TaskCompleted(RunEvent):
    pass


@dataclass(frozen=True, slots=True)
class TaskFailed(RunEvent):
    message: str


@dataclass(frozen=True, slots=True)
class TaskSuspended(RunEvent):
    interrupt_id: str


@dataclass(frozen=True, slots=True)
class CheckpointCommitted(RunEvent):
    superstep: int


@dataclass(frozen=True, slots=True)
class RunSuspended(RunEvent):
    """`interrupts` lists everything still pending, older ones included (R7.6)."""

    interrupts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunCompleted(RunEvent):
    pass


@dataclass(frozen=True, slots=True)
class RunFailed(RunEvent):
    message: str


@dataclass(frozen=True, slots=True)
class RunCancelled(RunEvent):
    pass


@dataclass(frozen=True, slots=True)
class RunTimedOut(RunEvent):
    pass


@dataclass(frozen=True, slots=True)
class Custom(RunEvent):
    """What a node emitted; `payload` is plain JSON."""

    name: str
    version: int
    payload: Any


@dataclass(frozen=True, slots=True)
class ThreadSeeded(RunEvent):
    pass


@dataclass(frozen=True, slots=True)
class ThreadForked(RunEvent):
    source_thread_id: str
    source_checkpoint_id: str


@dataclass(frozen=True, slots=True)
class StateUpdated(RunEvent):
    as_node: str | None = None


@dataclass(frozen=True, slots=True)
class Progress(RunEvent):
    """Live only: never stored, never replayed (R7.10)."""

    durable: ClassVar[bool] = False
    name: str
    version: int
    payload: Any


@dataclass(frozen=True, slots=True)
class Gap(RunEvent):
    """Live only: so many live events did not fit a subscriber's queue (R7.8)."""

    durable: ClassVar[bool] = False
    count: int


class EventRecord(NamedTuple):
    """An event with its place: `sequence` counts from 1 along the thread, None for live events; `timestamp` is aware UTC."""

    thread_id: str
    sequence: int | None
    run_id: str
    checkpoint_id: str | None
    task_id: str | None
    node_id: str | None
    timestamp: datetime
    event: RunEvent


class EventDraft(NamedTuple):
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
            EventRecord(thread_id, sequence, run_id, checkpoint_id, task_id, node_id, timestamp, event)
            for sequence, (run_id, event, timestamp, checkpoint_id, task_id, node_id) in enumerate(drafts, first)
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
    return {"type": type(event).__name__, **{f.name: getattr(event, f.name) for f in fields(event)}}


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
