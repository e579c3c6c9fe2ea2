"""Stores for the tests of this room: each test that takes one runs over both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer, SqliteCheckpointer


@pytest.fixture(params=["memory", "file"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Checkpointer]:
    """The two stores."""
    opened: Checkpointer = InMemoryCheckpointer() if request.param == "memory" else SqliteCheckpointer(tmp_path / "threads.db")
    yield opened
    await opened.aclose()
