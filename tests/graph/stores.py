"""Stores that misbehave: fakes around real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from llm4s_notebook.checkpoint import Claim, Commit, EventRecord, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import StoreUnavailable


def broken() -> StoreUnavailable:
    return StoreUnavailable(path=None, reason="the disk is gone")


class Failing:
    """Counts commits; while `dead`, every write raises `error`. `commits` holds what was applied, in order.

    `slow` holds commits back until it is set, and `held` counts them;
    `before_claim` is awaited once, between a call's reading of the thread and its claim;
    `on_renewal` is called by each renewal, with how many there were; with `keeps_claims` a dead store takes no claim back either.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.dead = False
        self.error: BaseException = broken()
        self.commits: list[Commit] = []
        self.slow: asyncio.Event | None = None
        self.held = 0
        self.before_claim: Callable[[], Awaitable[object]] | None = None
        self.renewals = 0
        self.on_renewal: Callable[[int], object] | None = None
        self.keeps_claims = False

    def _check(self) -> None:
        if self.dead:
            raise self.error

    async def _overtaken(self) -> None:
        if self.before_claim is not None:
            before, self.before_claim = self.before_claim, None
            await before()

    async def claim(self, thread_id: str, holder: str, ttl: float) -> Claim:
        self._check()
        await self._overtaken()
        return await super().claim(thread_id, holder, ttl)  # type: ignore[misc]  # a real store stands behind

    async def claim_and_commit(self, thread_id: str, holder: str, ttl: float, commit: Commit) -> tuple[Claim, tuple[EventRecord, ...]]:
        self._check()
        await self._overtaken()
        done = await super().claim_and_commit(thread_id, holder, ttl, commit)  # type: ignore[misc]
        self.commits.append(commit)
        return done

    def renew_now(self, thread_id: str, token: int, ttl: float) -> Claim:
        self.renewals += 1
        if self.on_renewal is not None:
            self.on_renewal(self.renewals)
        return super().renew_now(thread_id, token, ttl)  # type: ignore[misc]

    async def release(self, thread_id: str, token: int) -> None:
        if self.keeps_claims:
            self._check()
        await super().release(thread_id, token)  # type: ignore[misc]

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        self._check()
        if self.slow is not None:
            self.held += 1
            await self.slow.wait()
            self._check()
        done = await super().commit(thread_id, commit)  # type: ignore[misc]
        self.commits.append(commit)
        return done


class FailingStore(Failing, InMemoryCheckpointer):
    """In memory; what a test that takes either kind is told it has."""


class FailingFile(Failing, SqliteCheckpointer):
    """On disk."""
