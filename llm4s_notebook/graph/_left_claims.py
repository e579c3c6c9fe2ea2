"""Claims that nobody needs any more and that are still in the store."""

from __future__ import annotations

from ..checkpoint import Checkpointer
from ._lease import Lease, LeaseKeeper


class LeftClaims:
    """They are freed before the next call on their thread (R4.19).

    `tokens` are, by thread, those that the store did not take back when they were to be freed. Reading, setting and removing one of them
    is one step of the dict's, so that several threads need no lock.
    """

    def __init__(self, checkpointer: Checkpointer, leases: LeaseKeeper) -> None:
        self.tokens: dict[str, int] = {}
        self._checkpointer = checkpointer
        self._leases = leases

    async def give_back(self, thread_id: str, token: int) -> None:
        """Free a claim that came to nothing; one that the store does not take back is kept for the next call on the thread."""
        try:
            await self._checkpointer.release(thread_id, token)
        except Exception:  # the store failed already, and says so
            self.tokens[thread_id] = token

    async def clear(self, thread_id: str, left: Lease | None) -> None:
        """Free what is left on the thread: `left`, the claim of a run that died with its loop, and the one that was kept here."""
        if left is not None:
            self._leases.drop(left)
            await self._checkpointer.release(left.thread_id, left.token)
        token = self.tokens.get(thread_id)
        if token is not None:
            await self._checkpointer.release(thread_id, token)  # long since replaced, it is nothing
            self.tokens.pop(thread_id, None)
