from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from peers.project import run, runtime_of

from llm4s_notebook.graph import Command, GraphBuilder, StateKey, ThreadState

N = StateKey.replace("n", int, initial=0)
LAST = StateKey.replace("last", str, initial="")


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, int], Awaitable[int]]]:
    end = 0
    builder = GraphBuilder("cycle", version="1")
    b = builder.declare("b")

    @builder.node("a", writes=[N, LAST])
    async def a(state: ThreadState) -> Command:
        return Command().update(N, state[N] + 1).update(LAST, "a")

    @builder.implement(b, writes=[N, LAST], routes=a)
    async def b_node(state: ThreadState) -> Command:
        command = Command().update(N, state[N] + 1).update(LAST, "b")
        return command if state[N] + 1 >= end else command.goto(a)

    builder.edge(a, b)
    graph = builder.compile(a, output=lambda state: state[N])

    async with runtime_of(store, path) as runtime:

        async def supersteps(thread: str, n: int) -> int:
            nonlocal end
            end = n
            return (await run(runtime, graph, None, thread)).output

        yield supersteps
