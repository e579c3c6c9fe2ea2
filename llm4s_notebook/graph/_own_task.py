"""Cancellations asked of a run's own task: by a stop, by a node, or by whoever ends the loop (R8.6)."""

from __future__ import annotations

import asyncio
import contextlib


def absorb() -> bool:
    """Forget cancellations asked of the run's own task; True when there were any."""
    own = asyncio.current_task()
    asked = False
    while own is not None and own.cancelling():
        own.uncancel()
        asked = True
    return asked


async def was_interrupted() -> bool:
    """True when the run's own task was cancelled inside a node call, by a stop or by the node itself; that is over then."""
    own = asyncio.current_task()
    if own is None or not own.cancelling():
        return False
    with contextlib.suppress(asyncio.CancelledError):  # a node that cancelled itself and returned has left a cancellation behind
        await asyncio.sleep(0)
    return absorb()
