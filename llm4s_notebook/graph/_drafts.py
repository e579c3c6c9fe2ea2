"""The records a run makes: checkpoint headers, pending writes, events of tasks. One place for what each of them holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from ..checkpoint import CheckpointDraft, CheckpointHeader, CheckpointStatus, Clock, EventDraft, PatchOp, PendingWrite, RunEvent
from . import _ids
from ._execution import Execution
from ._outcome import BLOCKED, COMPLETED, FAILED, SUSPENDED, TaskResult
from ._plan import Plan
from ._record import write_record
from ._snapshot import body_of
from .events import Custom, TaskCompleted, TaskFailed, TaskSuspended

_TASK_COMPLETED = TaskCompleted()
_AT_ONCE: Mapping[str, datetime] = {}
_OPEN = (CheckpointStatus.RUNNING, CheckpointStatus.SUSPENDED)


class Drafts(Struct, eq=False):
    """Makes the records of one run. An error is recorded by its class and place, never by its text (D22).

    `latest` is the id of the last checkpoint made, `number` its place on the thread.
    """

    plan: Plan
    thread_id: str
    run_id: str
    clock: Clock
    latest: str | None = None
    number: int = 0

    def checkpoint(
        self,
        status: CheckpointStatus,
        execution: Execution,
        patch: tuple[PatchOp, ...],
        *,
        parent: str | None,
        settled: str | None,
        journal: bytes = b"[]",
        after: str | None = None,
        now: datetime | None = None,
    ) -> CheckpointDraft:
        """The checkpoint that follows `parent`; its number follows `after` where that is another one (a retracting commit)."""
        plan = self.plan
        before = after or parent
        self.number = self.number + 1 if before == self.latest else _ids.number_after(before)
        self.latest = id = _ids.checkpoint_id(self.run_id, self.number)
        header = CheckpointHeader(
            id,
            parent,
            self.thread_id,
            self.run_id,
            status,
            self.clock.now() if now is None else now,
            plan.id,
            plan.version,
            plan.fingerprint,
            execution.superstep,
            body_of(execution, settled if status in _OPEN else None),
            journal,
        )
        return CheckpointDraft(header, patch)

    def write(self, checkpoint_id: str, result: TaskResult) -> PendingWrite:
        """The pending write of a finished task (R6.4)."""
        task = result.task
        return PendingWrite(checkpoint_id, task.id, task.node, write_record(self.plan, result))

    def event(self, event: RunEvent, checkpoint_id: str | None = None, now: datetime | None = None) -> EventDraft:
        """An event of the run as a whole."""
        return EventDraft(self.run_id, event, self.clock.now() if now is None else now, checkpoint_id)

    def task_events(self, checkpoint_id: str, result: TaskResult, now: datetime | None = None) -> list[EventDraft]:
        """`events_of` one task."""
        return self.events_of(checkpoint_id, (result,), self.clock.now() if now is None else now)

    def events_of(
        self, checkpoint_id: str, results: Iterable[TaskResult], now: datetime, ended_at: Mapping[str, datetime] = _AT_ONCE
    ) -> list[EventDraft]:
        """Each task's outcome event, then its custom events (R7.3); none for one held before it ran, cancelled, or recorded earlier.

        `ended_at` tells when a task ended, by its id, where that is not `now`.
        """
        run_id = self.run_id
        events: list[EventDraft] = []
        for result in results:
            ending, task = result.ending, result.task
            if result.recorded:
                continue
            id = task.id
            if ending is COMPLETED:
                event: RunEvent = _TASK_COMPLETED
            elif ending is SUSPENDED:
                event = TaskSuspended(id)
            elif ending is FAILED or ending is BLOCKED:
                event = TaskFailed(named(result.error))
            else:
                continue
            at = ended_at[id] if id in ended_at else now  # noqa: SIM401 - a call less for each of many tasks
            events.append(EventDraft(run_id, event, at, checkpoint_id, id, task.node))
            if result.emitted and ending is not FAILED:
                for name, version, payload in result.emitted:
                    events.append(EventDraft(run_id, Custom(name, version, payload), at, checkpoint_id, id, task.node))
        return events


def named(error: BaseException | None) -> str:
    """An error as events name it: its class, and its cause's (D22)."""
    cause = getattr(error, "cause", None)
    return type(error).__name__ + (f" ({type(cause).__name__})" if isinstance(cause, BaseException) else "")
