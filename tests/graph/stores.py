"""Stores that misbehave: fakes around a real one."""

from __future__ import annotations

import asyncio
from typing import Any

from llm4s_notebook.checkpoint import Claim, Commit, EventRecord, InMemoryCheckpointer
from llm4s_notebook.errors import StoreUnavailable


def broken() -> StoreUnavailable:
    return StoreUnavailable(path=None, reason="the disk is gone")


class FailingStore(InMemoryCheckpointer):
    """Counts commits; while `dead`, every write raises. `commits` holds what was applied, in order."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.dead = False
        self.error: BaseException = broken()
        self.commits: list[Commit] = []
        self.slow: asyncio.Event | None = None

    def _check(self) -> None:
        if self.dead:
            raise self.error

    async def claim(self, thread_id: str, holder: str, ttl: float) -> Claim:
        self._check()
        return await super().claim(thread_id, holder, ttl)

    async def claim_and_commit(self, thread_id: str, holder: str, ttl: float, commit: Commit) -> tuple[Claim, tuple[EventRecord, ...]]:
        self._check()
        done = await super().claim_and_commit(thread_id, holder, ttl, commit)
        self.commits.append(commit)
        return done

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        self._check()
        if self.slow is not None:
            await self.slow.wait()
            self._check()
        done = await super().commit(thread_id, commit)
        self.commits.append(commit)
        return done
