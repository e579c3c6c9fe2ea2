"""Run errors: an admitted run ended badly."""

from __future__ import annotations

from collections.abc import Iterable

from ._base import Llm4sError, said_by, text_of
from ._provider_failed import ProviderFailed


class RunError(Llm4sError):
    """An admitted run ended badly. `thread_id` and `run_id` are None where no run was admitted."""

    def __init__(self, what: str, *, where: str = "", next_step: str = "continue with recover(thread_id)") -> None:
        self.thread_id: str | None = None
        self.run_id: str | None = None
        super().__init__(what, where=where, next_step=next_step)

    def of_run(self, thread_id: str, run_id: str) -> RunError:
        """Note which run this error ended; the first note stands."""
        if self.thread_id is None:
            self.thread_id, self.run_id = thread_id, run_id
        return self


class NodeFailed(RunError):
    """A node raised or returned Fail (R3.6); `cause` is what it raised."""

    def __init__(self, *, node_id: str, task_id: str, cause: BaseException, what: str | None = None, next_step: str | None = None) -> None:
        self.node_id = node_id
        self.task_id = task_id
        self.cause = cause
        # what a model, tool or middleware says of itself is clearer than the node it ran in
        super().__init__(
            what or said_by(cause),
            where=f"node '{node_id}', task {task_id}",
            next_step=next_step or "mend the cause and continue with recover(thread_id); finished siblings are not run again",
        )
        self.__cause__ = cause
        self.recoverable = bool(getattr(cause, "recoverable", False))


class ToolFailed(NodeFailed):
    """A tool, or a wrapper around it, failed the run (3.4)."""

    def __init__(self, *, tool: str, call_id: str, cause: BaseException, node_id: str = "", task_id: str = "") -> None:
        self.tool = tool
        self.call_id = call_id
        super().__init__(node_id=node_id, task_id=task_id, cause=cause, what=f"tool '{tool}', call {call_id}: {said_by(cause)}")


class MiddlewareFailed(NodeFailed):
    """A middleware's hook raised (4.2.4, D21). `closed` says that this closed the turn: there is nothing to recover."""

    def __init__(self, *, middleware: str, cause: BaseException, node_id: str = "", task_id: str = "", closed: bool = False) -> None:
        self.middleware = middleware
        self.closed = closed
        super().__init__(
            node_id=node_id,
            task_id=task_id,
            cause=cause,
            what=f"middleware '{middleware}': {said_by(cause)}",
            next_step="the turn is closed and nothing of it is kept; mend the cause and run it anew" if closed else None,
        )
        self.recoverable = not closed


class ModelFailed(NodeFailed):
    """The chat client raised, or its message cannot be stored (1.3.5). A ProviderFailed says the next step (M4.1)."""

    def __init__(self, *, cause: BaseException, node_id: str = "", task_id: str = "") -> None:
        told = cause if isinstance(cause, ProviderFailed) else None
        super().__init__(
            node_id=node_id,
            task_id=task_id,
            cause=cause,
            what=f"model call: {said_by(cause)}",
            next_step=None if told is None else told.next_step,
        )
        self.recoverable = True if told is None else told.recoverable


class UndeclaredWrite(RunError):
    """A task wrote a key outside its node's write set (R3.3)."""

    def __init__(self, *, node_id: str, task_id: str, key: str) -> None:
        self.node_id = node_id
        self.task_id = task_id
        self.key = key
        super().__init__(
            f"wrote state key '{key}', which the node does not declare",
            where=f"node '{node_id}', task {task_id}",
            next_step="add the key to the node's writes, then recover",
        )


class InvalidRoute(RunError):
    """A task routed to a handle of another graph, or fanned out twice to one join (R3.3)."""

    def __init__(self, *, node_id: str, task_id: str, reason: str) -> None:
        self.node_id = node_id
        self.task_id = task_id
        self.reason = reason
        super().__init__(reason, where=f"node '{node_id}', task {task_id}", next_step="correct the routes the node returns, then recover")


class StateUpdateFailed(RunError):
    """A key's reduce function rejected an update (R1.19); recover replays the update and fails again (R3.21)."""

    def __init__(self, *, key: str, cause: BaseException | None = None) -> None:
        self.key = key
        self.cause = cause
        said = f": {said_by(cause)}" if cause is not None else ""
        super().__init__(
            f"the update of state key '{key}' was rejected{said}",
            where=f"state key '{key}'",
            next_step="mend the reduce function, then recover",
        )
        self.__cause__ = cause


class UnsatisfiedJoin(RunError):
    """Nothing is left to run and an open join waits for arrivals that cannot come (R3.14)."""

    def __init__(self, *, join_id: str, missing: Iterable[str]) -> None:
        self.join_id = join_id
        self.missing = tuple(missing)
        super().__init__(
            f"waits for {', '.join(self.missing)}, which can no longer arrive",
            where=f"join '{join_id}'",
            next_step="route to every source of the join, or take the source out of it",
        )


class SuperstepLimitExceeded(RunError):
    """The run used up `max_supersteps` (R3.23); recover gets a fresh allowance."""

    def __init__(self, *, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"the run used up its {limit} supersteps",
            where="RunBudgets.max_supersteps",
            next_step="recover with a larger budget; its state is kept",
        )


class DeadlineExceeded(RunError):
    """The run's timeout ran out (R8.9); recover with a new budget continues."""

    recoverable = True

    def __init__(self, *, checkpoint_id: str | None, timeout: float | None = None) -> None:
        self.checkpoint_id = checkpoint_id
        after = f" of {timeout} s" if timeout is not None else ""
        super().__init__(
            f"the run's timeout{after} ran out",
            where=f"checkpoint '{checkpoint_id}'" if checkpoint_id else "",
            next_step="recover with a longer RunBudgets.timeout",
        )


class RunCancelled(RunError):
    """The run was cancelled (R8.3); `checkpoint_id` is the one recover continues from."""

    def __init__(self, *, checkpoint_id: str | None = None) -> None:
        self.checkpoint_id = checkpoint_id
        super().__init__(
            "the run was cancelled",
            where=f"checkpoint '{checkpoint_id}'" if checkpoint_id else "",
            next_step="continue with recover(thread_id)",
        )


class RunCrashed(RunError):
    """An unexpected exception escaped the run's machinery (R8.14); the store is as it was."""

    def __init__(self, *, cause: BaseException) -> None:
        self.cause = cause
        super().__init__(
            f"{type(cause).__name__}: {text_of(cause)}",
            where="the run's own machinery",
            next_step="recover(thread_id); if it crashes again, report it with %tb",
        )
        self.__cause__ = cause


class CheckpointWriteFailed(RunError):
    """The store refused or failed (R6.29); `run_error` is the run's own failure if it was failing already."""

    def __init__(self, *, cause: BaseException, run_error: BaseException | None = None) -> None:
        self.cause = cause
        self.run_error = run_error
        also = f" (the run was already failing: {said_by(run_error)})" if run_error is not None else ""
        super().__init__(
            f"the checkpoint could not be written: {said_by(cause)}{also}",
            where="the checkpoint store",
            next_step="mend the store, then recover(thread_id): it continues from the last durable checkpoint",
        )
        self.__cause__ = cause
