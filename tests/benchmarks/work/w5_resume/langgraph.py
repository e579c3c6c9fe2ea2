from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from peers.langgraph import invoke, saver_of


class State(TypedDict):
    n: int
    got: str


async def ask(state: State) -> dict[str, Any]:
    return {"got": interrupt({"q": state["n"]})}


async def act(state: State) -> dict[str, Any]:
    return {"n": state["n"] + 1}


class Thread:
    def __init__(self, graph: Any) -> None:
        self.graph = graph

    async def start(self) -> None:
        await invoke(self.graph, {"n": 0, "got": ""})

    async def resume(self, answer: str) -> dict[str, int]:
        done = await invoke(self.graph, Command(resume=answer))
        return done["__interrupt__"][0].value


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Thread]:
    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_node("act", act)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "act")
    builder.add_edge("act", "ask")
    async with saver_of(store, path) as saver:
        yield Thread(builder.compile(checkpointer=saver))
