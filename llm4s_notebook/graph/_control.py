"""Why a run stops: one cause, the first (R8.4). May be asked to from any thread (D23)."""

from __future__ import annotations

import asyncio
import threading
from enum import Enum, auto
from typing import Any, Final


class StopCause(Enum):
    """CANCELLED and EXPIRED end the run where it is; FINISHING is recorded just before the outcome is committed."""

    CANCELLED = auto()
    EXPIRED = auto()
    FINISHING = auto()


_CANCELLED: Final = StopCause.CANCELLED
_EXPIRED: Final = StopCause.EXPIRED


class RunControl:
    """The stop switch of one run. `running` are the asyncio tasks inside node calls, which a stop interrupts; nothing else is.

    `active` names those calls: task id -> node id, in the order in which they began.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.cause: StopCause | None = None
        self.running: set[asyncio.Task[Any]] = set()
        self.active: dict[str, str] = {}
        self._loop = loop
        self._lock = threading.Lock()

    def stopping(self) -> bool:
        """True once the run is being cancelled or has timed out."""
        cause = self.cause
        return cause is not None and (cause is _CANCELLED or cause is _EXPIRED)

    def stop(self, cause: StopCause) -> bool:
        """Record the cause and interrupt what runs; False when another cause stands already."""
        if not self._record(cause):
            return False
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            self._interrupt()
        else:
            try:
                self._loop.call_soon_threadsafe(self._interrupt)
            except RuntimeError:  # the run's loop is closed, and nothing runs any more
                return False
        return True

    def finish(self) -> bool:
        """Record that the outcome is about to be committed; False when the run was stopped first."""
        return self._record(StopCause.FINISHING) or self.cause is StopCause.FINISHING

    def _record(self, cause: StopCause) -> bool:
        with self._lock:
            if self.cause is not None:
                return False
            self.cause = cause
            return True

    def _interrupt(self) -> None:
        for task in list(self.running):
            task.cancel()
