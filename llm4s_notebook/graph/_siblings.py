"""Several tasks of a superstep side by side, each in an asyncio task of its own, so many at once and no more.

Each says itself when it begins (`unseen`) and when it is out (`ended`): asking asyncio to call back would cost a turn of the loop
and a tenth of a short task's time. Only one that was cancelled before its first step can say nothing, and is looked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from ._execution import Task


class Siblings:
    """`call` makes a task's coroutine, which takes its id out of `unseen` first and calls `ended` last; `unbegun` hears of each task
    that was cancelled before it came to do so. `running` gets the asyncio tasks, for a stop to cancel."""

    __slots__ = (
        "_beginning",
        "_begun",
        "_call",
        "_due",
        "_limit",
        "_looking",
        "_loop",
        "_out",
        "_over",
        "_running",
        "_unbegun",
        "interrupted",
        "tasks",
        "unseen",
    )

    def __init__(
        self,
        due: Sequence[Task],
        limit: int,
        running: set[asyncio.Task[Any]],
        call: Callable[[Task], Coroutine[Any, Any, None]],
        unbegun: Callable[[Task], None],
    ) -> None:
        self.tasks: dict[str, asyncio.Task[None]] = {}
        """The asyncio task of each that was begun."""
        self.unseen: dict[str, Task] = {}
        """Those that have not come to their first line yet."""
        self.interrupted = False
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._due: Iterator[Task] | None = iter(due)
        self._limit = limit
        self._running = running
        self._call = call
        self._unbegun = unbegun
        self._begun = self._out = 0
        self._beginning = self._looking = False

    async def run(self) -> None:
        """All are out when this ends. Raises: CancelledError when it was cancelled meanwhile, which cancels them all."""
        try:
            self._begin()
            while self._out < self._begun:
                try:
                    await self._over
                except asyncio.CancelledError:
                    self.interrupted = True
                    self._over = self._loop.create_future()
                    self._due = None  # nothing more is started
                    for task in list(self.tasks.values()):
                        task.cancel()
        finally:
            self._running.difference_update(self.tasks.values())
        if self.interrupted:
            raise asyncio.CancelledError

    def ended(self) -> None:
        """One is out: another may begin, or all are."""
        self._out += 1
        if self._beginning:  # where the loop runs a new task at once, and that has ended: whoever began it goes on
            return
        # Where its loop was closed in the middle of it, it is collected: nobody waits, and nothing can begin.
        if self._due is not None and not self._loop.is_closed():
            self._begin()
        if self._out == self._begun and not self._over.done() and not self._loop.is_closed():
            self._over.set_result(None)

    def _begin(self) -> None:
        """As many as there is room for."""
        due = self._due
        create, call, tasks, unseen, running, limit = (
            self._loop.create_task, self._call, self.tasks, self.unseen, self._running, self._limit,
        )  # fmt: skip
        self._beginning = True
        while due is not None and self._begun - self._out < limit:
            task = next(due, None)
            if task is None:
                due = self._due = None
                break
            self._begun += 1
            id = task.id
            unseen[id] = task
            tasks[id] = begun = create(call(task), name=f"task {id} of node {task.node}")
            running.add(begun)
        self._beginning = False
        self._look_soon()

    def _look_soon(self) -> None:
        if self.unseen and not self._looking:
            self._looking = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        """After the first steps of those just begun: which of them never had one?"""
        self._looking = False
        for id, task in list(self.unseen.items()):
            if self.tasks[id].done():
                del self.unseen[id]
                self._unbegun(task)
                self.ended()
        self._look_soon()
