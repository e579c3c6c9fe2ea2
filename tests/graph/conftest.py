"""Stores and runtimes for the graph's tests: whatever touches a store is run on both (support matrix)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.graph import GraphRuntime
from llm4s_notebook.testing import ManualClock

from .stores import FailingFile, FailingStore


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Checkpointer]:
    """A store on a clock that stands still."""
    made: Checkpointer = (
        InMemoryCheckpointer(clock=clock) if request.param == "memory" else SqliteCheckpointer(tmp_path / "t.db", clock=clock)
    )
    yield made
    await made.aclose()


@pytest.fixture
async def runtime(store: Checkpointer, clock: ManualClock) -> AsyncIterator[GraphRuntime]:
    made = GraphRuntime(store, clock=clock)
    yield made
    await made.aclose()


@pytest.fixture
async def another(store: Checkpointer, clock: ManualClock) -> AsyncIterator[Callable[[], GraphRuntime]]:
    """More runtimes on the same store, which know nothing of each other: what a second process would be."""
    made: list[GraphRuntime] = []

    def make() -> GraphRuntime:
        made.append(GraphRuntime(store, clock=clock))
        return made[-1]

    yield make
    for one in made:
        await one.aclose()


@pytest.fixture(params=["memory", "sqlite"])
async def failing(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncIterator[FailingStore | FailingFile]:
    """A store that misbehaves when it is told to, on a clock that stands still."""
    made = FailingStore(clock=clock) if request.param == "memory" else FailingFile(tmp_path / "failing.db", clock=clock)
    yield made
    await made.aclose()
