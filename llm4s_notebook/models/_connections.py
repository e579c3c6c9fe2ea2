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

    They are closed in one of three ways: by `aclose`; when the loop ends in order; and, of a client that was dropped without `aclose`,
    when the next client makes a model on the same loop. Closing has to be awaited, and where a client is dropped nobody can await.
    """

    def __init__(self, make: Callable[[], Model[Any]]) -> None:
        self._make = make
        self._opened: dict[asyncio.AbstractEventLoop, _Opened] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _leave, self._opened).atexit = False  # at the end of the process nothing would take them up

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
    """A model and what will close it: an async generator that has opened nothing and only waits to be closed.

    A loop has no other hook for its end. It knows each async generator that was begun on it, and `asyncio.run` has it close them all
    (`shutdown_asyncgens`) while there is still a loop to await that on. `over` says that the model was closed, by whichever way.
    """

    loop: asyncio.AbstractEventLoop
    model: Model[Any]
    over: bool = False

    def __post_init__(self) -> None:
        self._held = self._until_closed()

    async def hold(self) -> None:
        """Begin the generator, so that the loop knows of it. It comes to its `yield` at once."""
        await anext(self._held)

    async def aclose(self) -> None:
        await self._held.aclose()

    async def _until_closed(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.over = True
            async with self.model:
                pass  # the library closes a model's connections at the end of a block like this


_left: deque[_Opened] = deque()
"""What dropped clients had open, on any loop. The collector fills it, in any thread and between any two steps: a lock might be held
by that very thread, and a deque needs none."""


def _leave(opened: dict[asyncio.AbstractEventLoop, _Opened]) -> None:
    _left.extend(opened.values())


async def _close_what_was_left(loop: asyncio.AbstractEventLoop) -> None:
    """Look at each once: close what belongs to this loop, put back what another loop is to close, forget what no loop can."""
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
