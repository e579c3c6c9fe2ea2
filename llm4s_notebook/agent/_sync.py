"""The one place where a coroutine is waited for without await: the `*_sync` calls (F26)."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections import deque
from collections.abc import Coroutine, Generator
from concurrent.futures import CancelledError
from importlib import import_module
from typing import Any, TypeVar

from ..errors import ConfigError

T = TypeVar("T")
_PATIENCE_SECONDS = 30.0
_WAKE_SECONDS = 0.25
"""How often a waiting thread looks whether it was interrupted: a signal that comes just before it falls asleep does not wake it."""


class _Loop:
    """One event loop on a thread of its own, kept for all calls that come from outside any loop, so that clients can keep connections."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), name="llm4s-sync", daemon=True).start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop for as long as it is open. A `SystemExit` in a call comes out of the loop too, and is for whoever made the call."""
    while not loop.is_closed():
        with contextlib.suppress(BaseException):
            loop.run_forever()


_kept = _Loop()


def run_blocking(name: str, work: Coroutine[Any, Any, T]) -> T:
    """Wait for `work` from a script, another thread, or a cell of a kernel whose loop is running.

    An interrupt cancels the work and waits for it. In the cell the running loop goes on through nest_asyncio.

    Raises: ConfigError where a running loop cannot be waited in; it says to await `name` instead.
    """
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        return _from_outside(work)
    return _inside(name, work, running)


def _from_outside(work: Coroutine[Any, Any, T]) -> T:
    if sys.platform == "emscripten":
        work.close()
        raise ConfigError(field="loop", problems=["a browser's kernel cannot block; use await"])
    loop, over = _kept.get(), threading.Event()
    tasks: list[asyncio.Task[T]] = []

    def begin() -> None:
        task = loop.create_task(work)
        tasks.append(task)
        task.add_done_callback(lambda _: over.set())

    def give_up() -> None:  # called on the loop after `begin`, or without it where the interrupt came before `begin` was asked for
        if tasks:
            tasks[0].cancel()
        else:
            work.close()
            over.set()

    try:
        loop.call_soon_threadsafe(begin)
        while not over.wait(_WAKE_SECONDS):
            continue
    except BaseException:  # this thread was interrupted: the work must not go on unseen
        loop.call_soon_threadsafe(give_up)
        over.wait(_PATIENCE_SECONDS)
        raise
    if tasks[0].cancelled():
        raise CancelledError
    return tasks[0].result()


def _inside(name: str, work: Coroutine[Any, Any, T], running: asyncio.AbstractEventLoop) -> T:
    try:
        nest: Any = import_module("nest_asyncio")  # untyped, and wanted here only
        nest.apply(running)
    except Exception as error:  # uvloop and other loops it cannot patch
        work.close()
        instead = name.removesuffix("_sync")
        raise ConfigError(
            field="loop", problems=[f"{name} cannot wait inside a running {type(running).__name__}; use `await agent.{instead}(…)` here"]
        ) from error
    with _OtherCells.of(running).waiting():
        task = running.create_task(work, name=name)
        try:
            return running.run_until_complete(task)
        except BaseException:
            if not task.done():  # the cell was interrupted
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    running.run_until_complete(task)
            raise


class _OtherCells(deque[Any]):
    """A loop's ready callbacks. While a cell blocks, those whose context is being run further up its stack are kept for later.

    A kernel runs all its cells in one context. Under a blocking call inside a cell, the callback that begins the next one cannot
    be entered ("cannot enter context"), and the loop would lose it: a queued cell would never run.
    """

    @classmethod
    def of(cls, loop: Any) -> _OtherCells:
        """The loop's own, put in place at the first call and then left there, for other threads may hold the loop's queue."""
        if not isinstance(loop._ready, cls):
            loop._ready = cls(loop._ready)
        return loop._ready

    def __init__(self, before: deque[Any]) -> None:
        super().__init__()
        self._before = before
        self._kept: list[Any] = []
        self._depth = 0
        self._take_over()

    def _take_over(self) -> None:
        while self._before:  # another thread may just have added to the queue that was there before
            self.append(self._before.popleft())

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """Keep other cells waiting inside this block."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            kept, self._kept = self._kept, []
            self.extendleft(reversed(kept))

    def popleft(self) -> Any:
        self._take_over()
        handle = super().popleft()
        if self._depth == 0:
            return handle
        try:
            handle._context.run(_nothing)
        except RuntimeError:
            self._kept.append(handle)
            handle = asyncio.Handle(_nothing, (), handle._loop)
            handle.cancel()  # which the loop passes over
        return handle


def _nothing() -> None:
    """Enter a context and leave it again."""
