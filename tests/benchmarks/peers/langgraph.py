"""langgraph as a notebook uses it: the async API, its own savers, `durability="sync"`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any


@asynccontextmanager
async def saver_of(store: str, path: Path) -> AsyncIterator[Any]:
    """The checkpointer of a mode's store; None where nothing is kept. Its tables exist when this is entered."""
    if store == "none":
        yield None
    elif store == "memory":
        from langgraph.checkpoint.memory import InMemorySaver

        yield InMemorySaver()
    else:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
            await saver.setup()
            await saver.conn.execute(f"PRAGMA synchronous = {store}")
            yield saver


async def invoke(graph: Any, given: Any, thread: str = "t") -> Any:
    """One run to its end or to its next interrupts."""
    durable = {} if graph.checkpointer is None else {"durability": "sync"}
    return await graph.ainvoke(given, config_of(thread), **durable)


def config_of(thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread}, "recursion_limit": 100_000}
