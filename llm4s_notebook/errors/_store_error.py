"""Store errors: a store refused, and nothing was applied."""

from __future__ import annotations

from ._base import Llm4sError


class StoreError(Llm4sError):
    """A store refused; nothing was applied."""


class InvalidCommit(StoreError):
    """A malformed commit (R6.19)."""

    def __init__(self, *, reason: str, thread_id: str | None = None) -> None:
        self.reason = reason
        self.thread_id = thread_id
        super().__init__(
            f"invalid commit: {reason}",
            where=f"thread '{thread_id}'" if thread_id else "",
            next_step="nothing of it was stored; mend it and commit again",
        )


class StaleClaim(StoreError):
    """The token is not the thread's current claim (R6.19, R6.25)."""

    def __init__(self, *, token: int, current: int | None, thread_id: str | None = None) -> None:
        self.token = token
        self.current = current
        self.thread_id = thread_id
        super().__init__(
            f"claim {token} is not the current one ({current if current is not None else 'none'})",
            where=f"thread '{thread_id}'" if thread_id else "",
            next_step="another process took the thread over; read it again",
        )


class StoreUnavailable(StoreError):
    """The store cannot be opened or written: not a database, newer, read-only, locked, full or closed."""

    def __init__(self, *, path: str | None, reason: str, next_step: str = "mend that, or open another file") -> None:
        self.path = path
        self.reason = reason
        super().__init__(reason, where=f"store '{path}'" if path else "the store", next_step=next_step)
