from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt
from peers.langgraph import config_of, invoke, saver_of


class State(TypedDict):
    n: int
    out: Annotated[list[int], operator.add]
    total: int


class Item(TypedDict):
    i: int


class Thread:
    def __init__(self, saver: Any, name: str, n: int) -> None:
        self.name = name
        self.n = n
        self.bodies = 0
        self.total = 0
        builder = StateGraph(State)
        builder.add_node("plan", self.plan)
        builder.add_node("work", self.work)
        builder.add_node("join", self.join)
        builder.add_edge(START, "plan")
        builder.add_conditional_edges("plan", lambda state: [Send("work", {"i": i}) for i in range(state["n"])], ["work"])
        builder.add_edge("work", "join")
        builder.add_edge("join", END)
        self.graph = builder.compile(checkpointer=saver)

    async def plan(self, state: State) -> dict[str, Any]:
        return {"out": []}

    async def work(self, item: Item) -> dict[str, Any]:
        self.bodies += 1
        interrupt({"q": item["i"]})
        return {"out": [item["i"] * 2]}

    async def join(self, state: State) -> dict[str, Any]:
        return {"total": sum(state["out"])}

    async def suspend(self) -> int:
        done = await invoke(self.graph, {"n": self.n, "out": []}, self.name)
        return len(done["__interrupt__"])

    async def waiting(self) -> list[str]:
        state = await self.graph.aget_state(config_of(self.name))
        return [one.id for one in state.interrupts]

    async def answer(self, ids: list[str]) -> None:
        done = await invoke(self.graph, Command(resume=dict.fromkeys(ids, "ok")), self.name)
        self.total = done.get("total", 0)


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, int], Thread]]:
    async with saver_of(store, path) as saver:
        yield partial(Thread, saver)
