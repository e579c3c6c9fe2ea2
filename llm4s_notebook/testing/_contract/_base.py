"""How a store is made for a test, and what is round every test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import pytest
import pytest_asyncio

from ...checkpoint import (
    Checkpointer,
    Commit,
)
from .._clock import ManualClock

TTL = 30.0


async def commit_all(store: Checkpointer, thread_id: str, commits: list[Commit]) -> None:
    for one in commits:
        await store.commit(thread_id, one)


class StoreTests:
    """A subclass says how to make a store, and gives two back doors that go round it. It overrides no test."""

    durable: ClassVar[bool]
    """True when a closed store's data can be opened again."""

    def make(self, place: Path, clock: ManualClock) -> Checkpointer:
        """An empty store; `place` is an empty folder. Called again with the same folder it opens the same data, if `durable`."""
        raise NotImplementedError

    async def stored(self, store: Checkpointer, place: Path) -> bytes:
        """Back door: all that the store keeps right now, wherever, as bytes in which a text can be searched."""
        raise NotImplementedError

    async def set_format(self, store: Checkpointer, place: Path, checkpoint_id: str, number: int | None) -> None:
        """Back door: write another format number, or none, into a stored checkpoint."""
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        folder = tmp_path / "store"
        folder.mkdir()
        return folder

    @pytest_asyncio.fixture
    async def store(self, place: Path, clock: ManualClock) -> AsyncIterator[Checkpointer]:
        made = self.make(place, clock)
        yield made
        await made.aclose()
