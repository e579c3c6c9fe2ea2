"""What a second process runs: long-lived racers, and children that are killed."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

from llm4s_notebook.checkpoint import SqliteCheckpointer
from llm4s_notebook.errors import InvalidResume, Llm4sError
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, Resumed, RunConfig, StateKey, Suspend

LOG = StateKey.appending("log", str)


def graph_of(lines: Path) -> CompiledGraph[str, list[str]]:
    """start asks; the answered node appends a line to `lines`, waits where the answer is "wait", and logs."""
    builder = GraphBuilder("two", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    after = builder.declare("after", input=str)

    def ran(name: str) -> None:
        with lines.open("a") as file:
            file.write(name + "\n")

    @builder.node("start", writes=LOG)
    async def start(name: str) -> Suspend[str, str]:
        ran(f"start {name}")
        return Suspend(name, ask, Command().update(LOG, f"asked {name}"))

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        ran(f"answered {given.question}")
        return Command().update(LOG, f"{given.question}={given.answer}").send(after, given.answer)

    @builder.implement(after, writes=LOG)
    async def after_node(answer: str) -> Command:
        ran("after")
        if answer == "wait" and not (lines.parent / "go").exists():
            print("WAITING", flush=True)
            await asyncio.Event().wait()
        return Command().update(LOG, "after")

    return builder.compile(start, output=lambda state: state[LOG])


def race(path: str, lines: str, barrier: Any, rounds: int, results: Any, name: str) -> None:
    """Answer interrupt 0.0 of every thread at the same moment as the other racer; say how each round went."""

    async def rounds_of() -> list[str]:
        store = SqliteCheckpointer(path, synchronous="normal")
        runtime = GraphRuntime(store)
        graph = graph_of(Path(lines))
        told: list[str] = []
        for number in range(rounds):
            await asyncio.to_thread(barrier.wait)
            try:
                handle = await runtime.resume(f"t{number}", graph, {"0.0": name}, RunConfig(principal=name))
                await handle
                told.append("won")
            except InvalidResume as error:
                told.append("InvalidResume " + ",".join(problem.code for problem in error.problems))
            except Llm4sError as error:
                told.append(type(error).__name__)
        await runtime.aclose()
        await store.aclose()
        return told

    results.put((name, asyncio.run(rounds_of())))


async def _child(what: str, path: str, lines: str) -> None:
    store = SqliteCheckpointer(path)
    runtime = GraphRuntime(store)
    graph = graph_of(Path(lines))
    if what == "pause":
        await runtime.run("t", graph, "child")
        print("PAUSED", flush=True)
        time.sleep(60)  # noqa: ASYNC251 - nothing more is done: this process is killed here
    await runtime.run("t", graph, "child")
    await (await runtime.resume("t", graph, {"0.0": "wait"}))


if __name__ == "__main__":
    asyncio.run(_child(*sys.argv[1:4]))
    os._exit(1)
