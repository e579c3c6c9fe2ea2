"""Stores with one planted fault each: what the contract of every store and its state machine have to catch."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import ClassVar

from llm4s_notebook.checkpoint import Checkpointer, Commit, EventRecord, InMemoryCheckpointer, LatestCheckpoint
from llm4s_notebook.testing import CheckpointerContract, ManualClock


class DropsAWrite(InMemoryCheckpointer):
    """Loses the last pending write of a commit that has several things to say."""

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        return await super().commit(thread_id, commit.replaced(writes=commit.writes[:-1]))


class IgnoresTheToken(InMemoryCheckpointer):
    """Commits under whatever claim there is."""

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        claim = (await self.head(thread_id)).claim
        return await super().commit(thread_id, commit.replaced(token=claim.token) if claim else commit)


class GivesAStaleLatest(InMemoryCheckpointer):
    """Says what was the latest checkpoint before the last commit."""

    def __init__(self, **options: ManualClock) -> None:
        super().__init__(**options)
        self._before: dict[str, LatestCheckpoint | None] = {}

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        before = await super().latest(thread_id)
        records = await super().commit(thread_id, commit)
        self._before[thread_id] = before
        return records

    async def latest(self, thread_id: str) -> LatestCheckpoint | None:
        return self._before.get(thread_id) or await super().latest(thread_id)


PLANTED = (DropsAWrite, IgnoresTheToken, GivesAStaleLatest)


class _Contract(CheckpointerContract):
    durable = False
    kind: ClassVar[type[InMemoryCheckpointer]]

    def make(self, place: Path, clock: ManualClock) -> Checkpointer:
        return self.kind(clock=clock)

    async def stored(self, store: Checkpointer, place: Path) -> bytes:
        assert isinstance(store, InMemoryCheckpointer)
        return pickle.dumps(store._threads)

    async def set_format(self, store: Checkpointer, place: Path, checkpoint_id: str, number: int | None) -> None:
        assert isinstance(store, InMemoryCheckpointer)
        stored = store._threads["t"]._checkpoints[checkpoint_id]
        changed = stored.replaced(header=stored.header.replaced(format=number))  # type: ignore[arg-type]  # none is the fault
        store._threads["t"]._checkpoints[checkpoint_id] = changed
        if store._threads["t"]._latest is stored:
            store._threads["t"]._latest = changed


class TestDropsAWrite(_Contract):
    kind = DropsAWrite


class TestIgnoresTheToken(_Contract):
    kind = IgnoresTheToken


class TestGivesAStaleLatest(_Contract):
    kind = GivesAStaleLatest


class TestNoFault(_Contract):
    kind = InMemoryCheckpointer
