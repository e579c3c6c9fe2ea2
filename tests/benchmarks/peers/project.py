"""This project through its public names, with its settings as they are; budgets are raised where the work is larger than they allow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.graph import CompiledGraph, Completed, Execution, GraphRuntime, RunBudgets, RunConfig, Suspended

LARGE = RunConfig(budgets=RunBudgets(max_supersteps=10_000_000, max_concurrency=10_000))
"""All tasks of a superstep at once, as the other peers have it, and no limit to the length of a run."""


@asynccontextmanager
async def checkpointer_of(store: str, path: Path) -> AsyncIterator[Checkpointer]:
    """The store of a mode."""
    if store == "memory":
        yield InMemoryCheckpointer()
    else:
        from llm4s_notebook.checkpoint import SqliteCheckpointer

        async with SqliteCheckpointer(path, synchronous="full" if store == "full" else "normal") as made:
            yield made


@asynccontextmanager
async def runtime_of(store: str, path: Path) -> AsyncIterator[GraphRuntime | None]:
    """A runtime over the store of a mode; None where nothing is kept."""
    if store == "none":
        yield None
        return
    async with checkpointer_of(store, path) as checkpointer:
        runtime = GraphRuntime(checkpointer)
        yield runtime
        await runtime.aclose()


async def run(runtime: GraphRuntime | None, graph: CompiledGraph[Any, Any], given: Any, thread: str = "t") -> Completed[Any] | Suspended:
    """One run to its end or to its next questions; without a runtime superstep by superstep in memory."""
    if runtime is not None:
        return await runtime.run(thread, graph, given, LARGE)
    at: Execution | Completed[Any] | Suspended = graph.start(given)
    while isinstance(at, Execution):
        at = await graph.step(at, LARGE)
    return at
