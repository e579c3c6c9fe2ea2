"""Cancellation inside a chain of wrappers: what was cancelled is never started again (3.4, 4.2.5)."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from ..graph import RunContext


class CancelWatch:
    """Remembers that a step was cancelled, whatever wrappers make of the exception.

    Entered around everything of the step that is a user's: cancel requests that this leaves on the task while nobody cancelled
    the run are dropped. Before Python 3.13 a TaskGroup whose child failed leaves one behind, and the run would be taken for
    cancelled.
    """

    __slots__ = ("_asked", "_context", "_noted", "_task")

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._noted = False
        self._task: asyncio.Task[object] | None = None
        self._asked = 0

    def __enter__(self) -> Self:
        self._task = task = asyncio.current_task()
        self._asked = task.cancelling() if task is not None else 0
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        task = self._task
        if task is not None and not isinstance(error, asyncio.CancelledError):
            while task.cancelling() > self._asked and not self._context.cancelled:
                task.uncancel()

    def note(self) -> None:
        """Call where a CancelledError arrives.

        A wrapper's own timeout also cancels what is inside it, and may try again; it shows as a cancel request on the current
        task while the run goes on.
        """
        if not _requested() or self._context.cancelled:
            self._noted = True

    @property
    def over(self) -> bool:
        """True when the step ends as cancelled."""
        return self._noted or self._context.cancelled

    def final(self) -> bool:
        """Call at the step's outermost frame, where no wrapper's timeout is left: is this cancellation the task's own?"""
        return self.over or _requested()

    def check(self) -> None:
        """Call before anything is started. Raises: CancelledError once the step is cancelled."""
        if self.over:
            raise asyncio.CancelledError

    def check_seen(self) -> None:
        """Call where something has come out. What finished although a cancellation is on its way is kept: its effects are real.

        Raises: CancelledError when the step met its cancellation, whatever came out in its place.
        """
        if self._noted:
            raise asyncio.CancelledError


def superstep_forgets(context: RunContext) -> bool:
    """True in a run of a runtime: what a call leaves on the task its superstep drops, and a step without wrappers needs no watch.

    A step that is made by hand is in its caller's task, where a superstep may forget nothing.
    """
    return context.checkpoint_id != ""


def _requested() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
