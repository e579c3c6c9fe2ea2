from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from peers.project import run, runtime_of

from llm4s_notebook.graph import Command, GraphBuilder, StateKey, ThreadState

OUT = StateKey.appending("out", int)
TOTAL = StateKey.replace("total", int, initial=0)


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, int], Awaitable[int]]]:
    builder = GraphBuilder("fan-out", version="1")
    join = builder.declare("join")
    everything = builder.dynamic_join("everything", join)

    @builder.node("work", writes=OUT)
    async def work(i: int) -> Command:
        return Command().update(OUT, i * 2)

    @builder.node("plan", routes=[everything, work])
    async def plan(n: int) -> Command:
        return Command().fan_out(everything, work, range(n))

    @builder.implement(join, writes=TOTAL)
    async def join_node(state: ThreadState) -> Command:
        return Command().update(TOTAL, sum(state[OUT]))

    graph = builder.compile(plan, output=lambda state: state[TOTAL])

    async with runtime_of(store, path) as runtime:

        async def fan_out(thread: str, n: int) -> int:
            return (await run(runtime, graph, n, thread)).output

        yield fan_out
