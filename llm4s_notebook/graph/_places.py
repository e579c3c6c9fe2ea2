"""Which threads this runtime is at work on: one call at a time each, whatever loop or OS thread it came from (R4.18, D23)."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass

from ..errors import ConfigError, ThreadBusy
from ._given import text_problem
from ._handle import RunHandle
from ._lease import Lease


@dataclass(slots=True, eq=False)
class Place:
    """One thread taken. `loop` is where its call lives, `task` a run's own; `handle` and `lease` are set once a run was admitted."""

    loop: asyncio.AbstractEventLoop
    task: asyncio.Task[None] | None = None
    handle: RunHandle | None = None
    lease: Lease | None = None
    coming: object = None
    """What announces the claim to the store until it is there."""


class Places:
    """The threads taken. A call whose loop was closed under it is dead: it can neither go on nor end, and gives its place up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[str, Place] = {}

    def take(self, thread_id: str) -> tuple[Place, Lease | None]:
        """Take the thread; with it the lease that a dead run left, if one did. Raises: ThreadBusy; ConfigError for what is no id."""
        problem = text_problem("the thread's id", thread_id)
        if problem is not None:
            raise ConfigError(field="thread_id", problems=[problem])
        place = Place(asyncio.get_running_loop())
        with self._lock:
            there = self._taken.get(thread_id)
            if there is not None and not there.loop.is_closed():
                raise ThreadBusy(thread_id=thread_id, holder=there.handle.run_id if there.handle is not None else None)
            self._taken[thread_id] = place
        return place, there.lease if there is not None else None

    def free(self, thread_id: str, place: Place) -> None:
        """Give the thread back."""
        with self._lock:
            if self._taken.get(thread_id) is place:
                del self._taken[thread_id]

    def handle(self, thread_id: str) -> RunHandle | None:
        """The live run on the thread."""
        place = self._taken.get(thread_id)
        return place.handle if place is not None and not place.loop.is_closed() else None

    def handles(self) -> list[RunHandle]:
        """All live runs."""
        with self._lock:
            return [place.handle for place in self._taken.values() if place.handle is not None and not place.loop.is_closed()]
