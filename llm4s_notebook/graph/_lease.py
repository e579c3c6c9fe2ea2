"""Keeping live runs' claims alive from a plain thread, so that a blocked event loop does not lose them (D8, R6.24, R6.25)."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..checkpoint import Checkpointer
from ..errors import StaleClaim
from ._config import ClaimPolicy

_IDLE_SECONDS = 30.0


@dataclass(eq=False, slots=True)
class Lease:
    """One live run's claim. `lost` is set once another holder took the thread over; a run that is not `alive` loses it by time."""

    thread_id: str
    token: int
    due: float
    alive: Callable[[], bool]
    lost: StaleClaim | None = None


class LeaseKeeper:
    """One thread per runtime renews all its claims; it starts with the first claim and ends when there was none for a while."""

    def __init__(self, checkpointer: Checkpointer, policy: ClaimPolicy) -> None:
        self._checkpointer = checkpointer
        self._policy = policy
        self._leases: set[Lease] = set()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._closed = False

    def keep(self, thread_id: str, token: int, alive: Callable[[], bool]) -> Lease:
        """Renew this claim every `renew_every` seconds until `drop`, and as long as its run is alive."""
        lease = Lease(thread_id, token, time.monotonic() + self._policy.renew_every, alive)
        with self._lock:
            self._leases.add(lease)
            if self._thread is None and not self._closed and sys.platform != "emscripten":
                self._thread = threading.Thread(target=self._renew, name="llm4s-claims", daemon=True)
                self._thread.start()
        return lease

    def drop(self, lease: Lease) -> None:
        """Renew it no more."""
        with self._lock:
            self._leases.discard(lease)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._leases.clear()
            self._changed.notify_all()

    def _renew(self) -> None:
        idle_since = time.monotonic()
        while True:
            with self._changed:
                now = time.monotonic()
                if self._leases:
                    idle_since = now
                if self._closed or now - idle_since >= _IDLE_SECONDS:
                    self._thread = None
                    return
                due = [lease for lease in self._leases if lease.due <= now]
                if not due:
                    soonest = min((lease.due - now for lease in self._leases), default=_IDLE_SECONDS)
                    self._changed.wait(min(soonest, self._policy.renew_every))
                    continue
            for lease in due:
                self._renew_one(lease)

    def _renew_one(self, lease: Lease) -> None:
        if not lease.alive():
            self.drop(lease)
            return
        try:
            self._checkpointer.renew_now(lease.thread_id, lease.token, self._policy.ttl)
        except StaleClaim as error:
            with self._changed:
                if lease in self._leases:  # not merely released meanwhile
                    lease.lost = error
                    self._leases.discard(lease)
            return
        except Exception:  # a renewal that merely fails is tried again at the next interval (R6.25)
            pass
        lease.due = time.monotonic() + self._policy.renew_every
