"""The records a run makes: checkpoint headers, pending writes, events of tasks. One place for what each of them holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..checkpoint import CheckpointDraft, CheckpointHeader, CheckpointStatus, Clock, EventDraft, PatchOp, PendingWrite, RunEvent
from . import _ids
from ._execution import Execution
from ._outcome import Ending, TaskResult
from ._plan import Plan
from ._record import write_record
from ._snapshot import body_of
from .events import Custom, TaskCompleted, TaskFailed, TaskSuspended


@dataclass(frozen=True, slots=True)
class Drafts:
    """Makes the records of one run. An error is recorded by its class and place, never by its text (D22)."""

    plan: Plan
    thread_id: str
    run_id: str
    clock: Clock

    def checkpoint(
        self,
        status: CheckpointStatus,
        execution: Execution,
        patch: Iterable[PatchOp],
        *,
        parent: str | None,
        settled: str | None,
        journal: bytes = b"[]",
        after: str | None = None,
    ) -> CheckpointDraft:
        """The checkpoint that follows `parent`; its number follows `after` where that is another one (a retracting commit)."""
        id = _ids.checkpoint_id(self.run_id, after or parent)
        header = CheckpointHeader(
            id=id,
            parent_id=parent,
            thread_id=self.thread_id,
            run_id=self.run_id,
            status=status,
            created_at=self.clock.now(),
            graph_id=self.plan.id,
            graph_version=self.plan.version,
            fingerprint=self.plan.fingerprint,
            superstep=execution.superstep,
            body=body_of(execution, None if status.settled else settled),
            journal=journal,
        )
        return CheckpointDraft(header, tuple(patch))

    def write(self, checkpoint_id: str, result: TaskResult) -> PendingWrite:
        """The pending write of a finished task (R6.4)."""
        return PendingWrite(checkpoint_id, result.task.id, result.task.node, write_record(self.plan, result))

    def event(self, event: RunEvent, checkpoint_id: str | None = None) -> EventDraft:
        """An event of the run as a whole."""
        return EventDraft(self.run_id, event, self.clock.now(), checkpoint_id)

    def task_events(self, checkpoint_id: str, result: TaskResult) -> list[EventDraft]:
        """A task's outcome event, then its custom events (R7.3); none for one held before it ran, cancelled, or recorded earlier."""
        match result.ending:
            case Ending.COMPLETED:
                event: RunEvent = TaskCompleted()
            case Ending.SUSPENDED:
                event = TaskSuspended(result.task.id)
            case Ending.FAILED | Ending.BLOCKED:
                event = TaskFailed(named(result.error))
            case _:
                return []
        if result.recorded:
            return []
        now = self.clock.now()
        task = result.task
        events = [EventDraft(self.run_id, event, now, checkpoint_id, task.id, task.node)]
        if result.emitted and result.ending is not Ending.FAILED:
            events.extend(
                EventDraft(self.run_id, Custom(name, version, payload), now, checkpoint_id, task.id, task.node)
                for name, version, payload in result.emitted
            )
        return events


def named(error: BaseException | None) -> str:
    """An error as events name it: its class, and its cause's (D22)."""
    cause = getattr(error, "cause", None)
    return type(error).__name__ + (f" ({type(cause).__name__})" if isinstance(cause, BaseException) else "")
