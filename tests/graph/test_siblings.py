"""Several tasks side by side: how each of them comes to be out (R3.18, R8.5)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.errors import RunCancelled
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, RunBudgets, RunConfig

from .graphs import LOG, output


def abreast(work: Any) -> CompiledGraph[Any, list[str]]:
    """`start` fans out to `worker`, which is `work`; what it returns is logged."""
    builder = GraphBuilder("g", version="1")

    @builder.node("end")
    async def end() -> None: ...

    join = builder.dynamic_join("all", end)

    @builder.node("worker", writes=LOG)
    async def worker(name: str) -> Command:
        return Command().update(LOG, await work(name))

    @builder.node("start", routes=[join, worker])
    async def start(names: list[str]) -> Command:
        return Command().fan_out(join, worker, names)

    return builder.compile(start, output=lambda state: state[LOG])


def siblings() -> list[asyncio.Task[Any]]:
    """The asyncio tasks of the worker's calls that are not over, in the order of their ids."""
    return sorted((task for task in asyncio.all_tasks() if "of node worker" in task.get_name()), key=lambda task: task.get_name())


@pytest.mark.parametrize("limit", [2, 16])
async def test_a_task_cancelled_before_its_first_step_ends_the_run_and_is_run_by_recover(runtime: GraphRuntime, limit: int) -> None:
    """R3.20, R3.19: no line of it ran, so it could not say that it is out; whoever cancelled it is not asked. What is done stays done."""
    ran: list[str] = []

    async def work(name: str) -> str:
        ran.append(name)
        if name == "a" and ran.count("a") == 1:
            siblings()[-1].cancel()
        return name

    graph = abreast(work)
    config = RunConfig(budgets=RunBudgets(max_concurrency=limit))
    with pytest.raises(RunCancelled):
        await asyncio.wait_for(runtime.run("t", graph, ["a", "b"], config), 10)
    assert ran == ["a"]
    assert output(await (await runtime.recover("t", graph, config))) == ["a", "b"]
    assert ran == ["a", "b"]


async def test_all_cancelled_before_their_first_step_are_out_at_once(runtime: GraphRuntime) -> None:
    """R8.3, R8.5: the run is stopped in the turn of the loop in which they were begun."""
    ran: list[str] = []

    async def work(name: str) -> str:
        ran.append(name)
        return name

    graph = abreast(work)
    handle = await runtime.start("t", graph, ["a", "b", "c"])
    loop, cancelled = asyncio.get_running_loop(), 0

    def watch() -> None:
        nonlocal cancelled
        cancelled = len(siblings())
        if cancelled:
            handle.cancel()
        else:
            loop.call_soon(watch)

    watch()
    await asyncio.wait_for(handle.ended(), 10)
    with pytest.raises(RunCancelled):
        await handle
    assert cancelled == 3
    assert ran == []
    assert sorted(output(await (await runtime.recover("t", graph)))) == ["a", "b", "c"]


@pytest.mark.parametrize("limit", [1, 3])
async def test_no_more_than_allowed_are_begun_and_an_end_makes_room(runtime: GraphRuntime, limit: int) -> None:
    """R1.31."""
    inside = most = 0

    async def work(name: str) -> str:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        for _ in range(len(name)):
            await asyncio.sleep(0)
        inside -= 1
        return name

    names = ["x" * (at % 4) for at in range(20)]
    done = await runtime.run("t", abreast(work), names, RunConfig(budgets=RunBudgets(max_concurrency=limit)))
    assert output(done) == names
    assert most == limit


async def test_a_thousand_that_end_as_soon_as_they_are_begun_are_not_begun_inside_each_other(runtime: GraphRuntime) -> None:
    """R1.31: where the loop runs a new task at once, each end makes room for the next before its beginner has gone on."""
    loop = asyncio.get_running_loop()

    async def over() -> None: ...

    def at_once(loop: asyncio.AbstractEventLoop, coroutine: Any, **given: Any) -> asyncio.Task[Any]:
        if coroutine.__name__ != "_one":
            return asyncio.Task(coroutine, loop=loop, **given)
        with pytest.raises(StopIteration):
            coroutine.send(None)
        return asyncio.Task(over(), loop=loop, **given)

    async def work(name: str) -> str:
        return name

    names = [str(at) for at in range(1500)]
    loop.set_task_factory(at_once)
    try:
        done = await runtime.run("t", abreast(work), names, RunConfig(budgets=RunBudgets(max_concurrency=2)))
    finally:
        loop.set_task_factory(None)
    assert output(done) == names


@pytest.mark.parametrize("limit", [2, 16])
def test_a_loop_that_is_closed_in_the_middle_leaves_no_noise(limit: int) -> None:
    """R8.5: whoever is collected with their loop has nobody to tell that they are out, and begins nobody. In a process of its own, where
    nothing else is collected."""
    command = [sys.executable, "-m", "tests.graph.closed_loop", str(limit)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("collected True\n", "", 0)
