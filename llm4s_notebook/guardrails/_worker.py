"""Plain functions run in a worker thread, so that the event loop stays free (D24)."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MAX_THREADS = 512
_THREADS_EXIST = sys.platform != "emscripten"


@functools.cache
def _workers() -> ThreadPoolExecutor:
    """Threads of their own: the loop's few could all be taken by functions that wait."""
    return ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="llm4s-hook")


async def in_worker(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the function in a worker thread with the caller's context variables; where there are no threads, right here.

    A thread cannot be stopped: when cancelled, this waits until the function is out, drops its result and then lets the
    cancellation pass (D24).
    """
    if not _THREADS_EXIST:
        return function(*args, **kwargs)
    context = contextvars.copy_context()
    future = asyncio.get_running_loop().run_in_executor(_workers(), lambda: context.run(_called, function, *args, **kwargs))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                continue
        if not future.cancelled():
            future.exception()  # seen, so that asyncio does not report it as lost
        raise


def _called(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return function(*args, **kwargs)
    except (StopIteration, SystemExit, KeyboardInterrupt) as error:  # none of them may cross into an event loop
        raise RuntimeError(f"the function raised {type(error).__name__} in a worker thread") from error
