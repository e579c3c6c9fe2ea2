from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict

from harness.texts import texts
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from peers.langgraph import invoke, saver_of

SAID = texts(1)[0]
# What is copied of each table. A checkpoint's id begins with its time, by which threads are listed: each copy gets one of its own.
COLUMNS = {
    "checkpoints": ("checkpoint_id", "parent_checkpoint_id", "checkpoint_ns", "type", "checkpoint", "metadata"),
    "writes": ("checkpoint_id", "checkpoint_ns", "task_id", "idx", "channel", "type", "value"),
}


class State(TypedDict):
    asks: bool
    said: str
    got: str


async def work(state: State) -> dict[str, Any]:
    return {"said": SAID}


async def ask(state: State) -> dict[str, Any]:
    return {"got": interrupt({"q": 1, "text": "approve?"}) if state["asks"] else "nothing to ask"}


class Inbox:
    repeats = 1

    def __init__(self, saver: Any, listing: SqliteSaver) -> None:
        self.saver = saver
        self.listing = listing

    async def fill(self, threads: int, waiting: int) -> None:
        builder = StateGraph(State)
        builder.add_node("work", work)
        builder.add_node("ask", ask)
        builder.add_edge(START, "work")
        builder.add_edge("work", "ask")
        builder.add_edge("ask", END)
        graph = builder.compile(checkpointer=self.saver)
        for thread, asks in (("finished", False), ("waiting", True)):
            await invoke(graph, {"asks": asks, "said": "", "got": ""}, thread)
        every = threads // waiting
        for table, columns in COLUMNS.items():
            copied = [f"printf('%06d', :number) || substr({one}, 7)" if one.endswith("checkpoint_id") else one for one in columns]
            copy = (
                f"INSERT INTO {table} (thread_id, {', '.join(columns)}) "
                f"SELECT 't' || :number, {', '.join(copied)} FROM {table} WHERE thread_id = :source"
            )
            numbered = [{"number": i, "source": "finished" if i % every else "waiting"} for i in range(threads)]
            await self.saver.conn.executemany(copy, numbered)
            await self.saver.conn.execute(f"DELETE FROM {table} WHERE thread_id IN ('finished', 'waiting')")
        await self.saver.conn.commit()

    async def waiting(self, limit: int) -> list[Any]:
        """Newest first, through every checkpoint of every thread until enough are found."""
        seen: set[str] = set()
        found: list[Any] = []
        for one in self.listing.list(None):
            thread = one.config["configurable"]["thread_id"]
            if thread in seen:
                continue
            seen.add(thread)
            asked = [value for _, channel, value in one.pending_writes or () if channel == "__interrupt__"]
            if asked:
                found.append((thread, asked))
            if len(found) == limit:
                break
        return found


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Inbox]:
    async with saver_of(store, path) as saver:
        with SqliteSaver.from_conn_string(str(path)) as listing:
            yield Inbox(saver, listing)
