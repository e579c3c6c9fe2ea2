from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from peers.project import LARGE, runtime_of

from llm4s_notebook.graph import (
    Command,
    CompiledGraph,
    Completed,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    StateKey,
    Suspend,
    Suspended,
    ThreadState,
)

OUT = StateKey.appending("out", int)
TOTAL = StateKey.replace("total", int, initial=0)
Question = dict[str, int]


class Thread:
    def __init__(self, runtime: GraphRuntime, name: str, n: int) -> None:
        self.runtime = runtime
        self.name = name
        self.n = n
        self.bodies = 0
        self.total = 0
        self.graph = self._graph()

    def _graph(self) -> CompiledGraph[Any, Any]:
        builder = GraphBuilder("questions", version="1")
        join = builder.declare("join")
        everything = builder.dynamic_join("everything", join)
        answered = builder.declare_resume("answered", question=Question, answer=str)

        @builder.node("work", routes=answered)
        async def work(i: int) -> Suspend[Question, str]:
            self.bodies += 1
            return Suspend({"q": i}, answered)

        @builder.implement(answered, writes=OUT)
        async def answered_node(given: Resumed[Question, str]) -> Command:
            self.bodies += 1
            return Command().update(OUT, given.question["q"] * 2)

        @builder.node("plan", routes=[everything, work])
        async def plan(n: int) -> Command:
            return Command().fan_out(everything, work, range(n))

        @builder.implement(join, writes=TOTAL)
        async def join_node(state: ThreadState) -> Command:
            return Command().update(TOTAL, sum(state[OUT]))

        return builder.compile(plan, output=lambda state: state[TOTAL])

    async def suspend(self) -> int:
        done = await self.runtime.run(self.name, self.graph, self.n, LARGE)
        assert isinstance(done, Suspended)
        return len(done.interrupts)

    async def waiting(self) -> list[str]:
        suspended = await self.runtime.pending(self.name, self.graph)
        assert suspended is not None
        return [one.id for one in suspended.interrupts]

    async def answer(self, ids: list[str]) -> None:
        handle = await self.runtime.resume(self.name, self.graph, dict.fromkeys(ids, "ok"), LARGE)
        done = await handle
        if isinstance(done, Completed):
            self.total = done.output


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, int], Thread]]:
    async with runtime_of(store, path) as runtime:
        assert runtime is not None
        yield partial(Thread, runtime)
