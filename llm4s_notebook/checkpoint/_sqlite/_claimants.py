"""Which threads are claimed through a store, and which are about to be: runs that are several share their transactions (D18)."""

from __future__ import annotations

import weakref

from .._clock import Clock, to_microseconds


class Coming:
    """A claim that is to come, as long as somebody keeps it."""

    __slots__ = ("__weakref__",)


class Claimants:
    """The threads `held` through one store, each until when in microseconds, and the claims `coming`.

    Told and looked at from several threads, without a lock: it decides only how a commit is written, inline or with others.
    """

    __slots__ = ("_clock", "coming", "held")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.held: dict[str, int] = {}
        self.coming: dict[str, weakref.ref[Coming]] = {}  # weak: an interrupt at any step leaves none that lives

    def expect(self, thread_id: str) -> Coming:
        """Announce a claim of the thread."""
        coming = Coming()
        self.coming[thread_id] = weakref.ref(coming)
        return coming

    def others_come(self, thread_id: str) -> bool:
        """True if a claim of another thread is to come. Looks no further than to the first that still is."""
        gone: list[str] = []
        try:
            for other, coming in self.coming.items():
                if coming() is None:
                    gone.append(other)
                elif other != thread_id:
                    return True
        except RuntimeError:  # one has just come, in another thread
            return True
        for other in gone:
            self.coming.pop(other, None)
        return False

    def alone(self, thread_id: str) -> bool:
        """True if no other thread is claimed through this store or just coming; where several are, queued commits share a transaction."""
        held = self.held
        coming = self.coming
        if coming and (len(coming) > 1 or thread_id not in coming) and self.others_come(thread_id):
            return False
        if len(held) > 1 or (held and thread_id not in held):
            now = to_microseconds(self._clock.now())
            for other in [one for one, until in held.items() if until <= now and one != thread_id]:
                del held[other]
        return not held or (len(held) == 1 and thread_id in held)
