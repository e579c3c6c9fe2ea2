"""Keeping live runs' claims alive from a plain thread, so that a blocked event loop does not lose them (D8, R6.24, R6.25)."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..checkpoint import Checkpointer
from ..errors import StaleClaim
from ._config import ClaimPolicy

_IDLE_SECONDS = 30.0


@dataclass(eq=False, slots=True)
class Lease:
    """One live run's claim. `lost` is set once another holder took the thread over; a run that is not `alive` loses it by time."""

    checkpointer: Checkpointer
    policy: ClaimPolicy
    thread_id: str
    token: int
    due: float
    alive: Callable[[], bool]
    lost: StaleClaim | None = None


class LeaseKeeper:
    """The claims of one runtime's runs, renewed until they are dropped."""

    def __init__(self, checkpointer: Checkpointer, policy: ClaimPolicy) -> None:
        self._checkpointer = checkpointer
        self._policy = policy
        self._renewer = _renewer_of(checkpointer)
        self._own: set[Lease] = set()
        self._closed = False

    def keep(self, thread_id: str, token: int, alive: Callable[[], bool]) -> Lease:
        """Renew this claim every `renew_every` seconds until `drop`, and as long as its run is alive."""
        due = time.monotonic() + self._policy.renew_every
        lease = Lease(self._checkpointer, self._policy, thread_id, token, due, alive)
        if not self._closed:
            self._own.add(lease)
            self._renewer.add(lease)
        return lease

    def drop(self, lease: Lease) -> None:
        """Renew it no more."""
        self._own.discard(lease)
        self._renewer.drop((lease,))

    def close(self) -> None:
        """Renew none of them any more."""
        self._closed = True
        self._renewer.drop(list(self._own))
        self._own.clear()


class _Renewer:
    """Renews all claims on one store, of whichever runtimes: a fresh runtime over an open store finds the thread at work.

    The thread starts with the first claim and ends when there was none for a while. Without one it holds no store.
    """

    def __init__(self) -> None:
        self._leases: set[Lease] = set()
        self._lock = threading.Lock()  # the lock of _changed; by itself it is taken in C, through the condition in Python
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._nap = _IDLE_SECONDS  # the longest that the thread sleeps: no new claim has to wake it

    def add(self, lease: Lease) -> None:
        with self._lock:
            self._leases.add(lease)
            if lease.policy.renew_every < self._nap:
                self._nap = lease.policy.renew_every
                self._changed.notify_all()
            gone = self._thread is None or not self._thread.is_alive()  # a forked child has the store, and not the thread
            if gone and sys.platform != "emscripten":
                self._thread = threading.Thread(target=self._renew, name="llm4s-claims", daemon=True)
                self._thread.start()

    def drop(self, leases: Iterable[Lease]) -> None:
        with self._lock:
            self._leases.difference_update(leases)

    def _renew(self) -> None:
        idle_since = time.monotonic()
        while True:
            with self._changed:
                now = time.monotonic()
                if self._leases:
                    idle_since = now
                elif now - idle_since >= _IDLE_SECONDS:
                    self._thread, self._nap = None, _IDLE_SECONDS
                    return
                due = [lease for lease in self._leases if lease.due <= now]
                if not due:
                    soonest = min((lease.due - now for lease in self._leases), default=_IDLE_SECONDS)
                    self._changed.wait(min(soonest, self._nap))
            while due:
                self._renew_one(due.pop())

    def _renew_one(self, lease: Lease) -> None:
        if not lease.alive():
            self.drop((lease,))
            return
        try:
            lease.checkpointer.renew_now(lease.thread_id, lease.token, lease.policy.ttl)
        except StaleClaim as error:
            with self._lock:
                if lease in self._leases:  # not merely released meanwhile
                    lease.lost = error
                    self._leases.discard(lease)
            return
        except Exception:  # a renewal that merely fails is tried again at the next interval (R6.25)
            pass
        lease.due = time.monotonic() + lease.policy.renew_every


_lock = threading.Lock()
_renewers: weakref.WeakKeyDictionary[Checkpointer, _Renewer] = weakref.WeakKeyDictionary()


def _renewer_of(checkpointer: Checkpointer) -> _Renewer:
    """The store's own; a store that cannot be looked up by itself gets one for each runtime."""
    with _lock:
        try:
            return _renewers.setdefault(checkpointer, _Renewer())
        except TypeError:
            return _Renewer()
