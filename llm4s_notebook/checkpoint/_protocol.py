"""The contract between the runtime and a store (graph-runtime.md 6). `testing.CheckpointerContract` checks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ._event import EventRecord
from ._types import Checkpoint, CheckpointStatus, Claim, Commit, Head, LatestCheckpoint, RetentionPolicy, ThreadSummary


@runtime_checkable
class Checkpointer(Protocol):
    """Where threads are kept. Every call is atomic; a call that raises has changed nothing.

    Usable from several event loops and OS threads at once (D23). A store that shares transactions between runs that begin together may
    have a method `expecting(thread_id)` besides: a runtime calls it before a claim, and keeps what it returns until the claim is there.
    """

    @property
    def location(self) -> str | None:
        """Where the threads live, for a person: a file's path, or None for memory."""
        ...

    async def claim(self, thread_id: str, holder: str, ttl: float) -> Claim:
        """Grant a lease for `ttl` seconds with a new token (R6.6). Raises: ThreadBusy while one is live."""
        ...

    async def claim_and_commit(self, thread_id: str, holder: str, ttl: float, commit: Commit) -> tuple[Claim, tuple[EventRecord, ...]]:
        """Claim and apply `commit` under the granted token (its own is ignored) in one transaction (R6.23, D18).

        Raises: ThreadBusy, CheckpointConflict, InvalidCommit - and then nothing is claimed either.
        """
        ...

    async def renew(self, thread_id: str, token: int, ttl: float) -> Claim:
        """Extend the lease (R6.7). Raises: StaleClaim when the token is not the current claim."""
        ...

    def renew_now(self, thread_id: str, token: int, ttl: float) -> Claim:
        """`renew` for a plain thread, which keeps a live run's claim while its event loop is blocked (D8)."""
        ...

    async def release(self, thread_id: str, token: int) -> None:
        """Free the thread; a wrong token is silently nothing (R6.8)."""
        ...

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        """Apply all of it or nothing (R6.9, R6.18-R6.22). Raises: StaleClaim, CheckpointConflict, InvalidCommit, in this order."""
        ...

    async def head(self, thread_id: str) -> Head:
        """The latest id, status and live claim without reading entries."""
        ...

    async def latest(self, thread_id: str) -> LatestCheckpoint | None:
        """The latest checkpoint with its pending writes (R6.10)."""
        ...

    async def history(self, thread_id: str, before: str | None = None, limit: int = 50) -> list[Checkpoint]:
        """Checkpoints, newest first, older than `before` (R6.11). Raises: ConfigError for a limit below 1; CheckpointNotFound."""
        ...

    async def checkpoint(self, thread_id: str, checkpoint_id: str) -> Checkpoint | None:
        """One checkpoint of the history (R6.12)."""
        ...

    async def events_after(self, thread_id: str, sequence: int, limit: int = 1000) -> list[EventRecord]:
        """Events numbered above `sequence`, ascending (R6.13). Raises: ReplayUnavailable when some were compacted away."""
        ...

    async def wait_events_after(self, thread_id: str, sequence: int, limit: int = 1000, timeout: float = 0.25) -> list[EventRecord]:  # noqa: ASYNC109 - its end is an empty page, not an error
        """The same, waiting up to `timeout` seconds for a commit made through any store on the same data (R6.14)."""
        ...

    async def compact_events(self, thread_id: str, before: int) -> int:
        """Drop events numbered below `before`; returns the new floor (R6.15)."""
        ...

    async def threads(
        self, *, status: CheckpointStatus | None = None, limit: int = 100, after: str | None = None
    ) -> Sequence[ThreadSummary]:
        """Threads, newest first, starting behind thread `after`; reads no entry but those that wait."""
        ...

    async def prune(self, thread_id: str, policy: RetentionPolicy) -> None:
        """Drop old checkpoints and events (R6.37)."""
        ...

    async def delete_thread(self, thread_id: str) -> None:
        """Remove everything of the thread; tokens keep growing (R6.17)."""
        ...

    async def aclose(self) -> None:
        """Close; every later call raises StoreUnavailable."""
        ...
