from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from peers.langgraph import invoke, saver_of


class State(TypedDict):
    n: int
    last: str


async def a(state: State) -> dict[str, Any]:
    return {"n": state["n"] + 1, "last": "a"}


async def b(state: State) -> dict[str, Any]:
    return {"n": state["n"] + 1, "last": "b"}


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, int], Awaitable[int]]]:
    end = 0
    builder = StateGraph(State)
    builder.add_node("a", a)
    builder.add_node("b", b)
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_conditional_edges("b", lambda state: END if state["n"] >= end else "a", ["a", END])
    async with saver_of(store, path) as saver:
        graph = builder.compile(checkpointer=saver)

        async def supersteps(thread: str, n: int) -> int:
            nonlocal end
            end = n
            return (await invoke(graph, {"n": 0, "last": ""}, thread))["n"]

        yield supersteps
