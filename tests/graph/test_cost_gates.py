"""Costs that are counted: how they grow with the number of tasks, of interrupts and of threads (docs/performance.md, D17, D18)."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from counting import calls_of
from llm4s_notebook.checkpoint import InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, RunBudgets, RunConfig, StateKey, Suspended

from .graphs import fan, ids, output

DONE = StateKey.appending("done", int)


def many() -> CompiledGraph[list[int], list[int]]:
    """One fan-out to bodies that end at once, joined."""
    builder = GraphBuilder("many", version="1")
    end = builder.declare("end")
    join = builder.dynamic_join("all", end)

    @builder.node("one", writes=DONE)
    async def one(n: int) -> Command:
        return Command().update(DONE, n)

    @builder.implement(end)
    async def ends() -> None: ...

    @builder.node("start", routes=[join, one])
    async def start(some: list[int]) -> Command:
        return Command().fan_out(join, one, some)

    return builder.compile(start, output=lambda state: state[DONE])


def test_a_task_costs_the_same_in_a_fan_out_of_300_and_of_3000() -> None:
    """performance.md W2: calls per task at n = 3,000 at most 1.1 times those at n = 300, in memory and durably."""
    graph = many()
    config = RunConfig(budgets=RunBudgets(max_concurrency=64))

    def in_memory(count: int) -> float:
        async def work() -> None:
            at: Any = graph.start(list(range(count)))
            while not hasattr(at, "output"):
                at = await graph.step(at, config)
            assert at.output == list(range(count))

        return calls_of(work) / count

    def durable(count: int) -> float:
        async def work() -> None:
            assert output(await GraphRuntime(InMemoryCheckpointer()).run("t", graph, list(range(count)), config)) == list(range(count))

        return calls_of(work) / count

    for measure in (in_memory, durable):
        assert measure(3000) <= 1.1 * measure(300)


def test_questions_of_a_superstep_cost_linearly() -> None:
    """performance.md W6: suspending, and answering all that wait at once: calls at 1,000 at most 11 times those at 100; each answered
    body runs once and nobody else's (D17)."""

    def measure(count: int) -> tuple[int, int]:
        made = fan()
        runtime = GraphRuntime(InMemoryCheckpointer())
        held: list[Any] = []

        async def suspend() -> None:
            held.append(await runtime.run("t", made.graph, [f"ask {n}" for n in range(count)]))

        async def answer() -> None:
            await (await runtime.resume("t", made.graph, dict.fromkeys(ids(held[0]), True)))

        first = calls_of(suspend)
        assert isinstance(held[0], Suspended)
        made.ran.clear()
        second = calls_of(answer)
        assert made.ran == {**{f"approve ask {n}": 1 for n in range(count)}, "summarize": 1}
        return first, second

    few, all_of_them = measure(100), measure(1000)
    assert all_of_them[0] <= 11 * few[0]
    assert all_of_them[1] <= 11 * few[1]


async def test_an_answer_runs_its_own_body_and_no_other() -> None:
    """performance.md W6: bodies run, counted: one of a thousand, answered from a cold start."""
    store = InMemoryCheckpointer()
    made = fan()
    held = await GraphRuntime(store).run("t", made.graph, [f"ask {n}" for n in range(1000)])
    made.ran.clear()
    await (await GraphRuntime(store).resume("t", made.graph, {ids(held)[517]: True}))
    assert made.ran == {"approve ask 517": 1}


async def test_turns_of_many_threads_share_transactions(tmp_path: Path) -> None:
    """performance.md W9, D18: group commit is visible: 200 turns of two supersteps in fewer transactions than turns."""
    graph = many()
    transactions: list[str] = []
    async with SqliteCheckpointer(tmp_path / "t.db", synchronous="normal") as store:
        runtime = GraphRuntime(store)
        store._writer.call_now(lambda c: c.set_trace_callback(transactions.append))
        await asyncio.gather(*(runtime.run(f"t{n}", graph, [n]) for n in range(200)))
        store._writer.call_now(lambda c: c.set_trace_callback(None))
        count = sum(one.startswith("COMMIT") for one in transactions)
        assert 0 < count < 200
        assert len(await store.threads(limit=1000)) == 200


async def test_runs_that_are_over_leave_nothing_to_the_garbage_collector(runtime: GraphRuntime) -> None:
    """performance.md W6: an outcome, with the thousand that wait, is gone with its last reader and not some collections later."""
    made = fan()
    held = await runtime.run("t", made.graph, [f"ask {n}" for n in range(50)])
    waiting = ids(held)
    gc.collect()
    gc.disable()
    left: list[int] = []
    try:
        for batch in (waiting[:13], waiting[13:26], waiting[26:39]):
            for id in batch:
                await (await runtime.resume("t", made.graph, {id: True}))
            left.append(gc.collect())
        assert min(left) <= 13  # of what a run is made of, more than twenty objects; what other tests left is found once
    finally:
        gc.enable()


def test_a_process_that_answers_loads_little() -> None:
    """performance.md W5, W7: no module of another framework, and at most 350 modules for the runtime with its store."""
    script = (
        "import json, sys\nbefore = len(sys.modules)\n"
        "import llm4s_notebook.graph, llm4s_notebook.checkpoint\n"
        "llm4s_notebook.checkpoint.SqliteCheckpointer\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded: list[str] = json.loads(done.stdout)
    tops = {name.partition(".")[0] for name in loaded}
    assert not tops & {"langchain", "langchain_core", "langgraph", "pydantic_ai", "numpy", "IPython", "ipywidgets", "anywidget", "httpx"}
    assert len(loaded) <= 350
