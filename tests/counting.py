"""Function calls counted, whatever other tests have left behind."""

from __future__ import annotations

import asyncio
import cProfile
import gc
import pstats
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager


class Calls:
    """How many there were, once the block is over."""

    total = 0


@contextmanager
def counted_calls() -> Iterator[Calls]:
    """Count the calls of this thread in the block. Nothing is collected meanwhile: the finalizers of other tests' garbage would count."""
    calls, profile = Calls(), cProfile.Profile()
    gc.disable()
    profile.enable()
    try:
        yield calls
    finally:
        profile.disable()
        gc.enable()
        calls.total = int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]  # set by its constructor


def calls_of(work: Callable[[], Awaitable[object]]) -> int:
    """Function calls of a coroutine in a loop of its own, the loop's included."""

    async def measured() -> int:
        with counted_calls() as made:
            await work()
        return made.total

    return asyncio.run(measured())
