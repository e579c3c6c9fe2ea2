"""A client's connections, loop by loop, from the first request on a loop to that loop's end (M1.6)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class Connections:
    """The library's model of each loop that asked: its connections belong to the loop that opened them (D23).

    They are closed by `aclose`, or when the loop ends in order. What nobody holds any longer is closed when the next model is made on its
    loop: the end of a client is no place to wait for anything.
    """

    def __init__(self, make: Callable[[], Model[Any]]) -> None:
        self._make = make
        self._opened: dict[asyncio.AbstractEventLoop, _Opened] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _leave, self._opened).atexit = False

    async def model(self) -> Model[Any]:
        """The model for the running loop, made where it has none that is open."""
        loop = asyncio.get_running_loop()
        if (known := self._opened.get(loop)) is not None and not known.over:
            return known.model
        await _close_what_was_left(loop)
        with self._lock:
            for other in [other for other in self._opened if other.is_closed()]:
                del self._opened[other]
            if (known := self._opened.get(loop)) is not None and not known.over:  # another task was quicker
                return known.model
            made = self._opened[loop] = _Opened(loop, self._make())
        await made.hold()
        return made.model

    async def aclose(self) -> None:
        """Close what was opened on the running loop. The next request makes a new model."""
        with self._lock:
            opened = self._opened.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await opened.aclose()


@dataclass(eq=False)
class _Opened:
    """One model, held open by an async generator: a loop closes those that were begun on it before it ends, as asyncio.run has it do."""

    loop: asyncio.AbstractEventLoop
    model: Model[Any]
    over: bool = False

    def __post_init__(self) -> None:
        self._held = self._until_closed()

    async def hold(self) -> None:
        """From here on the loop knows of it; nothing is waited for."""
        await anext(self._held)

    async def aclose(self) -> None:
        await self._held.aclose()

    async def _until_closed(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.over = True
            async with self.model:
                pass  # the library closes what it opened when it is left


_left: deque[_Opened] = deque()
"""Of clients that nobody holds: filled from wherever the collector runs, so without a lock."""


def _leave(opened: dict[asyncio.AbstractEventLoop, _Opened]) -> None:
    _left.extend(opened.values())


async def _close_what_was_left(loop: asyncio.AbstractEventLoop) -> None:
    for _ in range(len(_left)):
        try:
            one = _left.popleft()
        except IndexError:  # another thread took it
            return
        if one.loop is loop:
            with contextlib.suppress(Exception):
                await one.aclose()
        elif not one.loop.is_closed():
            _left.append(one)
