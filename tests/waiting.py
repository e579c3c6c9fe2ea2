"""Waiting for what tells nobody that it has come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until it holds; fail where it never does. `seconds` end a test that hangs, and are nothing that it measures."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition is anything, not an event
            await asyncio.sleep(0.001)
