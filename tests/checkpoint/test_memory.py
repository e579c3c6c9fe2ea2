"""The in-memory store keeps the contract of every store, and is cheap where it has to be."""

from __future__ import annotations

import pickle
from pathlib import Path

from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.testing import CheckpointerContract, ManualClock


class TestInMemoryCheckpointer(CheckpointerContract):
    durable = False

    def make(self, place: Path, clock: ManualClock) -> Checkpointer:
        return InMemoryCheckpointer(clock=clock)

    async def stored(self, store: Checkpointer, place: Path) -> bytes:
        assert isinstance(store, InMemoryCheckpointer)
        return pickle.dumps(store._threads)

    async def set_format(self, store: Checkpointer, place: Path, checkpoint_id: str, number: int | None) -> None:
        assert isinstance(store, InMemoryCheckpointer)
        thread = store._threads["t"]
        stored = thread._checkpoints[checkpoint_id]
        changed = stored.replaced(header=stored.header.replaced(format=number))
        thread._checkpoints[checkpoint_id] = changed
        if thread._latest is stored:
            thread._latest = changed
