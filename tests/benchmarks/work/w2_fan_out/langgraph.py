from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from peers.langgraph import invoke, saver_of


class State(TypedDict):
    n: int
    out: Annotated[list[int], operator.add]
    total: int


class Item(TypedDict):
    i: int


async def plan(state: State) -> dict[str, Any]:
    return {"out": []}


async def work(item: Item) -> dict[str, Any]:
    return {"out": [item["i"] * 2]}


async def join(state: State) -> dict[str, Any]:
    return {"total": sum(state["out"])}


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, int], Awaitable[int]]]:
    builder = StateGraph(State)
    builder.add_node("plan", plan)
    builder.add_node("work", work)
    builder.add_node("join", join)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda state: [Send("work", {"i": i}) for i in range(state["n"])], ["work"])
    builder.add_edge("work", "join")
    builder.add_edge("join", END)
    async with saver_of(store, path) as saver:
        graph = builder.compile(checkpointer=saver)

        async def fan_out(thread: str, n: int) -> int:
            return (await invoke(graph, {"n": n, "out": []}, thread))["total"]

        yield fan_out
