"""Both stores, as one fixture."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer, SqliteCheckpointer


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Checkpointer]:
    """An empty store of each kind."""
    made: Checkpointer = InMemoryCheckpointer() if request.param == "memory" else SqliteCheckpointer(tmp_path / "threads.db")
    yield made
    await made.aclose()
