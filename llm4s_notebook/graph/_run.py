"""One admitted run, from its claim to its outcome: superstep after superstep, each committed before the next has effects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from ..checkpoint import CheckpointStatus, EventDraft
from ..errors import (
    CheckpointWriteFailed,
    DeadlineExceeded,
    RunCancelled,
    RunCrashed,
    RunError,
    StaleClaim,
    StateUpdateFailed,
    SuperstepLimitExceeded,
    UnsatisfiedJoin,
)
from . import events
from ._admitted import Admitted
from ._breakpoint import held_before
from ._commit import Ledger
from ._context import RunVoice
from ._control import RunControl, StopCause
from ._drafts import named
from ._frontier import Advance, advance, check_joins
from ._handle import Outcome
from ._history import retracting_patch
from ._journal import journal_of
from ._lease import Lease
from ._outcome import CANCELLED, COMPLETED, FAILED, SUSPENDED, Completed, Suspended, TaskResult
from ._own_task import absorb, was_interrupted
from ._superstep import Superstep

_BREATH_SECONDS = 0.005
_RUNNING: Final = CheckpointStatus.RUNNING
_SUSPENDED: Final = CheckpointStatus.SUSPENDED


class _Stopped(Exception):
    """Cancelled or out of time; the control says which."""


class _Ended(Exception):
    """The run failed with `error`; `events` belong before its closing event."""

    def __init__(self, error: BaseException, events: list[EventDraft] | None = None) -> None:
        self.error = error
        self.events = events or []


class _Closed(Exception):
    """The turn was closed by a block, whose own error goes to the caller."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Run:
    """Drives one admitted run. `execution` is the last one committed."""

    def __init__(self, admitted: Admitted, ledger: Ledger, control: RunControl, voice: RunVoice, lease: Lease) -> None:
        self.execution = admitted.execution
        self._graph = admitted.graph
        self._config = admitted.config
        self._settled = admitted.settled
        self._began = admitted.began
        self._recorded: Mapping[str, TaskResult] = admitted.recorded
        self._ledger = ledger
        self._drafts = admitted.drafts
        self._control = control
        self._voice = voice
        self._lease = lease
        self._noted: set[str] = set()  # tasks of this superstep whose result was handed to the ledger
        self._ended_at: dict[str, datetime] = {}  # of tasks that had siblings
        self._breath = time.monotonic()
        self._deadline: float | None = None
        self._own: asyncio.Task[Any] | None = None

    async def outcome(self) -> Outcome:
        """Run to the end and commit it (R6.28). Raises: whatever ended the run, after that is recorded."""
        self._own = asyncio.current_task()
        timer: asyncio.TimerHandle | None = None
        timeout = self._config.budgets.timeout
        if timeout is not None:
            self._deadline = time.monotonic() + timeout
            timer = asyncio.get_running_loop().call_later(timeout, self._control.stop, StopCause.EXPIRED)
        try:
            return await self._supersteps()
        except _Stopped:
            error = await self._stopped()
        except _Ended as ended:
            error = await self._failed(ended)
        except asyncio.CancelledError:  # by whoever ends the loop: this task is in nobody else's hands
            absorb()
            self._control.stop(StopCause.CANCELLED)
            error = await self._stopped()
        except _Closed as closed:
            error = closed.error
        except CheckpointWriteFailed as failed:
            await self._ledger.give_up()
            error = failed
        except (KeyboardInterrupt, SystemExit):
            self._control.stop(StopCause.CANCELLED)
            await self._stopped()
            raise
        except BaseException as crash:  # R8.14: nothing of it is recorded, the thread is freed
            await self._ledger.give_up()
            error = RunCrashed(cause=crash)
        finally:
            if timer is not None:
                timer.cancel()
        if isinstance(error, RunError):
            error.of_run(self._drafts.thread_id, self._drafts.run_id)
        raise error

    # -- the loop ----------------------------------------------------------------------------------------------------

    async def _supersteps(self) -> Outcome:
        plan = self._graph.plan
        limit = self._began + self._config.budgets.max_supersteps
        before = self._config.interrupt_before
        while True:
            if time.monotonic() - self._breath > _BREATH_SECONDS:  # room for the loop's other work
                await asyncio.sleep(0)
                self._breath = time.monotonic()
            self._check()
            execution = self.execution
            frontier = execution.frontier
            if execution.paused or not frontier:
                return await self._conclude()
            if execution.superstep >= limit:
                raise _Ended(SuperstepLimitExceeded(limit=self._config.budgets.max_supersteps))
            bookkeeping = plan.nodes[frontier[0].node].bookkeeping
            if bookkeeping and len(frontier) > 1:
                bookkeeping = all([plan.nodes[task.node].bookkeeping for task in frontier])
            if not bookkeeping or (before and any(held_before(task, self._config) for task in frontier)):
                await self._ledger.flush()
                self._check()
            if self._ended_at:
                self._noted.clear()
                self._ended_at.clear()
            several = len(frontier) > 1 and not bookkeeping
            superstep = Superstep(
                execution,
                self._voice,
                self._ledger.latest,
                self._own,
                owned=True,
                recorded=self._recorded,
                finished=self._finished if several else None,
                running=self._control.running,
            )
            try:
                results = await superstep.run()
            except asyncio.CancelledError:
                self._control.stop(StopCause.CANCELLED)
                await self._keep(superstep.ordered())
                raise
            outcome = await self._superstep_over(results)
            if outcome is not None:
                return outcome

    def _check(self) -> None:
        """Between two supersteps: a lost claim, a failed commit, a stop. Raises: CheckpointWriteFailed; _Stopped."""
        if self._ledger.failure is not None:
            raise self._ledger.failure
        if self._lease.lost is not None:
            raise CheckpointWriteFailed(cause=self._lease.lost)
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._control.stop(StopCause.EXPIRED)
        if self._control.cause is not None and self._control.stopping():
            raise _Stopped

    def _finished(self, result: TaskResult) -> None:
        """One of several tasks ended while siblings may still run."""
        ending = result.ending
        if ending is COMPLETED or ending is SUSPENDED:
            self._ended_at[result.task.id] = self._drafts.clock.now()
            self._ledger.finished(result, self._note)

    def _note(self, results: list[TaskResult]) -> None:
        """Hand finished tasks' results to the ledger, as pending writes and events of their own."""
        drafts, at = self._drafts, self._ledger.latest
        self._noted.update([result.task.id for result in results])
        writes = [drafts.write(at, result) for result in results]
        self._ledger.note(writes, drafts.events_of(at, results, drafts.clock.now(), self._ended_at))

    async def _superstep_over(self, results: list[TaskResult]) -> Outcome | None:
        """Commit what the tasks did; an outcome when the run ends with it."""
        interrupted = self._own is not None and self._own.cancelling() > 0 and await was_interrupted()
        failed: TaskResult | None = None
        for result in results:
            ending = result.ending
            if ending is CANCELLED:
                interrupted = True
            elif ending is FAILED and failed is None:
                failed = result
        if self._ledger.unsettled:
            try:
                await self._ledger.settle()
            except CheckpointWriteFailed as failure:
                raise CheckpointWriteFailed(cause=failure.cause, run_error=failed.error if failed is not None else None) from failure
        if interrupted or (self._control.cause is not None and self._control.stopping()):
            self._control.stop(StopCause.CANCELLED)
            await self._keep(results)
            raise _Stopped
        if failed is not None and failed.error is not None:
            await self._keep(results)
            at = self._ledger.latest
            outcomes = [event for one in results if one.ending is FAILED for event in self._drafts.task_events(at, one)]
            raise _Ended(failed.error, outcomes)
        try:
            following = advance(self.execution, results, self._config)
        except StateUpdateFailed as error:
            await self._keep(results)
            raise _Ended(error) from error
        if following.blocked is not None:
            return await self._block(following, results, following.blocked)
        paused = following.execution.paused
        if paused and not self._control.finish():
            await self._keep(results)
            raise _Stopped
        self._commit(following, results, _SUSPENDED if paused else _RUNNING)
        self._recorded = {}
        if not paused:
            return None
        await self._close()
        return Suspended(self.execution)

    def _commit(self, following: Advance, results: list[TaskResult], status: CheckpointStatus) -> None:
        """Hand the superstep's checkpoint to the ledger, with the events of tasks that were not told yet."""
        drafts, before = self._drafts, self._ledger.latest
        now = drafts.clock.now()
        told = self._untold(results, now)
        journal = journal_of(self._graph.plan, results, following, inline=self._ledger.on_exit)
        execution = following.execution
        draft = drafts.checkpoint(status, execution, following.patch, parent=before, settled=self._settled, journal=journal, now=now)
        if status is _SUSPENDED:
            told.append(drafts.event(events.RunSuspended(tuple(execution.parked)), draft.header.id, now))
        else:
            told.append(drafts.event(events.CheckpointCommitted(execution.superstep), draft.header.id, now))
        self._ledger.add(draft, told)
        self.execution = execution

    def _untold(self, results: list[TaskResult], now: datetime) -> list[EventDraft]:
        """The events of the tasks that the ledger was not handed yet, in frontier order."""
        noted = self._noted
        untold = [one for one in results if one.task.id not in noted] if noted else results
        return self._drafts.events_of(self._ledger.latest, untold, now, self._ended_at)

    async def _keep(self, results: list[TaskResult]) -> None:
        """The superstep does not commit: finished tasks leave a pending write each, so that recover does not run them again (R3.19)."""
        await self._ledger.settle()
        left = [
            one
            for one in results
            if one.ending in (COMPLETED, SUSPENDED) and not one.recorded and one.task.replay is None and one.task.id not in self._noted
        ]
        if left:
            self._note(left)

    # -- endings -----------------------------------------------------------------------------------------------------

    async def _conclude(self) -> Outcome:
        """Nothing is left to run: completed, or waiting for what is parked (R3.14)."""
        execution = self.execution
        try:
            check_joins(execution)
        except UnsatisfiedJoin as error:
            raise _Ended(error) from error
        outcome: Outcome
        if execution.parked:
            outcome, status = Suspended(execution), CheckpointStatus.SUSPENDED
            closing: events.RunEvent = events.RunSuspended(tuple(execution.parked))
        else:
            try:
                output = self._graph.project(execution.state)
            except Exception as error:  # R3.16: the run fails with that error
                raise _Ended(error) from error
            outcome, status = Completed(output, execution.state, execution.superstep), CheckpointStatus.COMPLETED
            closing = events.RunCompleted()
        if not self._control.finish():
            raise _Stopped
        now = self._drafts.clock.now()
        draft = self._drafts.checkpoint(status, execution, (), parent=self._ledger.latest, settled=self._settled, now=now)
        self._ledger.add(draft, [self._drafts.event(closing, draft.header.id, now)])
        await self._close()
        return outcome

    async def _block(self, following: Advance, results: list[TaskResult], error: BaseException) -> Outcome:
        """Close the turn as Failed and take it out of the history (R6.36). Raises: the block's own error."""
        if not self._control.finish():
            await self._keep(results)
            raise _Stopped
        before = self._ledger.latest
        told = self._untold(results, self._drafts.clock.now())
        try:
            parent, patch = await retracting_patch(
                self._ledger.checkpointer, self._drafts.thread_id, self._settled, following.execution, self._voice.birth_id
            )
        except Exception as cause:
            raise CheckpointWriteFailed(cause=cause, run_error=error) from cause
        journal = journal_of(self._graph.plan, results, following, inline=False)
        draft = self._drafts.checkpoint(
            CheckpointStatus.FAILED, following.execution, patch, parent=parent, settled=None, journal=journal, after=before
        )
        told.append(self._drafts.event(events.RunFailed(named(error)), draft.header.id))
        self._ledger.replace(draft, told)
        self.execution = following.execution
        try:
            await self._close(retract=True)
        except CheckpointWriteFailed as failed:
            raise CheckpointWriteFailed(cause=failed.cause, run_error=error) from failed
        raise _Closed(error)

    async def _stopped(self) -> BaseException:
        """Record the cancellation or the timeout against the last checkpoint; the thread is there to be recovered (R8.3, R8.9)."""
        expired = self._control.cause is StopCause.EXPIRED
        at = self._ledger.latest
        error: RunError = (
            DeadlineExceeded(checkpoint_id=at, timeout=self._config.budgets.timeout) if expired else RunCancelled(checkpoint_id=at)
        )
        self._ledger.say([self._drafts.event(events.RunTimedOut() if expired else events.RunCancelled(), at)])
        return await self._closed(error)

    async def _failed(self, ended: _Ended) -> BaseException:
        """Record the failure; a stop that came first outranks it (R3.20)."""
        if not self._control.finish():
            return await self._stopped()
        self._ledger.say([*ended.events, self._drafts.event(events.RunFailed(named(ended.error)), self._ledger.latest)])
        return await self._closed(ended.error)

    async def _closed(self, error: BaseException) -> BaseException:
        """Commit a bad ending: the error to raise."""
        try:
            await self._close()
        except CheckpointWriteFailed as failed:
            await self._ledger.give_up()
            return CheckpointWriteFailed(cause=failed.cause, run_error=error)
        return error

    async def _close(self, *, retract: bool = False) -> None:
        """The closing commit. A cancellation that breaks it is forgotten and it is tried afresh (R8.6). Raises: CheckpointWriteFailed."""
        broken = False
        while True:
            try:
                await self._ledger.close(retract=retract)
            except asyncio.CancelledError:
                absorb()
                broken = True
            except CheckpointWriteFailed as failed:
                if broken and isinstance(failed.cause, StaleClaim):  # the broken commit was applied, and freed the thread
                    return
                raise
            else:
                return
