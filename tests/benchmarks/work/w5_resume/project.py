from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from peers.project import runtime_of

from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, Resumed, StateKey, Suspend, Suspended, ThreadState

N = StateKey.replace("n", int, initial=0)
GOT = StateKey.replace("got", str, initial="")
Question = dict[str, int]


def graph() -> CompiledGraph[Any, Any]:
    builder = GraphBuilder("ask", version="1")
    act = builder.declare_resume("act", question=Question, answer=str)

    @builder.node("ask", routes=act)
    async def ask(state: ThreadState) -> Suspend[Question, str]:
        return Suspend({"q": state[N]}, act)

    @builder.implement(act, writes=[N, GOT])
    async def act_node(given: Resumed[Question, str]) -> Command:
        return Command().update(N, given.question["q"] + 1).update(GOT, given.answer)

    builder.edge(act, ask)
    return builder.compile(ask, output=lambda state: state[N])


class Thread:
    def __init__(self, runtime: GraphRuntime) -> None:
        self.runtime = runtime
        self.graph = graph()
        self.waiting = ""

    async def start(self) -> None:
        self._asked(await self.runtime.run("t", self.graph, None))

    async def resume(self, answer: str) -> Question:
        handle = await self.runtime.resume("t", self.graph, {self.waiting: answer})
        return self._asked(await handle)

    def _asked(self, suspended: object) -> Question:
        assert isinstance(suspended, Suspended)
        [pending] = suspended.interrupts
        self.waiting = pending.id
        return pending.question


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Thread]:
    async with runtime_of(store, path) as runtime:
        assert runtime is not None
        yield Thread(runtime)
