"""Stores for the tests of this room - each test that takes one runs over both - and a place in front of a notebook."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.review import register

from .seat import Seat


@pytest.fixture(params=["memory", "file"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Checkpointer]:
    """The two stores."""
    opened: Checkpointer = InMemoryCheckpointer() if request.param == "memory" else SqliteCheckpointer(tmp_path / "threads.db")
    yield opened
    await opened.aclose()


@pytest.fixture
def seat() -> Iterator[Seat]:
    seat = Seat()
    register(seat)
    yield seat
    register(None)
