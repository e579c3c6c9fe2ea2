"""Whatever order the tasks of a superstep finish in: the same state, ids, parked interrupts and next frontier (R3.2, R3.4, R3.7)."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm4s_notebook.graph import Command, CompiledGraph, Execution, GraphBuilder, Resumed, RunConfig, StateKey, Suspend, Suspended
from llm4s_notebook.graph._breakpoint import held_before
from llm4s_notebook.graph._execution import Task
from llm4s_notebook.graph._frontier import Advance, advance
from llm4s_notebook.graph._outcome import Ending, TaskResult
from llm4s_notebook.graph._snapshot import snapshot_of
from llm4s_notebook.graph._state import Write

from .graphs import LOG

LAST = StateKey.replace("last", str, initial="")
SUMS: StateKey[dict[str, int], str] = StateKey(
    "sums", dict[str, int], str, initial={}, reduce=lambda now, name: {**now, name: now.get(name, 0) + 1}
)

# what one worker does: how many updates, whether it asks, how many children it fans out, whether it goes on
worker_plans = st.tuples(st.integers(0, 3), st.booleans(), st.integers(-1, 3), st.booleans())
frontiers = st.lists(worker_plans, min_size=1, max_size=6)


def build(order: list[int] | None) -> CompiledGraph[Any, Any]:
    """start fans out one worker per plan; `order` is the order in which workers may end, None for at once."""
    builder = GraphBuilder("property", version="1")
    ask = builder.declare_resume("ask", question=str, answer=bool)
    after = builder.declare("after")
    done, inner_done = builder.declare("done"), builder.declare("inner-done")
    join, inner = builder.dynamic_join("outer", done), builder.dynamic_join("inner", inner_done)
    gates: dict[int, asyncio.Event] = {}

    @builder.node("child", writes=LOG)
    async def child(text: str) -> Command:
        return Command().update(LOG, text)

    @builder.node("worker", writes=[LOG, LAST, SUMS], input=tuple[int, tuple[int, bool, int, bool]])
    async def worker(given: tuple[int, tuple[int, bool, int, bool]]) -> Command | Suspend[str, bool]:
        index, (updates, asks, children, goes) = given
        if order is not None:
            await gates.setdefault(index, asyncio.Event()).wait()
            place = order.index(index)
            if place + 1 < len(order):
                gates.setdefault(order[place + 1], asyncio.Event()).set()
        command = Command()
        for n in range(updates):
            command = command.update(LOG, f"{index}.{n}").update(LAST, str(index)).update(SUMS, str(index))
        if asks:
            return Suspend(str(index), ask, command)
        if children >= 0:
            command = command.fan_out(inner, child, [f"{index}/{n}" for n in range(children)])
        return command.goto(after) if goes else command

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, bool]) -> Command:
        return Command().update(LOG, f"answer {given.question}")

    async def nothing() -> None: ...

    for ref in (after, done, inner_done):
        builder.implement(ref)(nothing)
    builder.static_join("both", [worker, after], done)
    builder.edge(worker, after)

    @builder.node("start", input=list[tuple[int, bool, int, bool]])
    async def start(plans: list[tuple[int, bool, int, bool]]) -> Command:
        if order is not None:
            gates.setdefault(order[0], asyncio.Event()).set()
        return Command().fan_out(join, worker, list(enumerate(plans)))

    return builder.compile(start, output=lambda state: state[LOG])


async def _after_the_workers(order: list[int] | None, plans: list[tuple[int, bool, int, bool]], config: RunConfig) -> dict[str, Any]:
    graph = build(order)
    at: Any = await graph.step(graph.start(plans))
    at = await graph.step(at, config)
    if isinstance(at, Suspended):
        at = at.execution
    assert isinstance(at, Execution)
    return graph.snapshot(at)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plans=frontiers, data=st.data())
def test_any_order_of_completion_gives_the_same_execution(plans: list[tuple[int, bool, int, bool]], data: st.DataObject) -> None:
    """R3.2, R3.4, R3.7: through real asyncio tasks ending in a drawn order, with and without breakpoints."""
    order = data.draw(st.permutations(range(len(plans))))
    after = data.draw(st.booleans())
    config = RunConfig(interrupt_after="worker" if after else ())

    async def both() -> tuple[dict[str, Any], dict[str, Any]]:
        return await _after_the_workers(None, plans, config), await _after_the_workers(order, plans, config)

    usual, shuffled = asyncio.run(both())
    assert shuffled == usual
    assert [task["id"] for task in usual["tasks"]] == [f"2.{n}" for n in range(len(usual["tasks"]))]


@settings(max_examples=120, deadline=None)
@given(plans=frontiers)
def test_advance_depends_on_frontier_order_alone_and_its_patch_leads_to_its_execution(plans: list[tuple[int, bool, int, bool]]) -> None:
    """D17: the pure part; the patch applied to the entries before gives the entries after."""
    from llm4s_notebook.checkpoint import apply_patch
    from llm4s_notebook.graph._snapshot import entries_of

    graph = build(None)

    async def stepped() -> Execution:
        at = await graph.step(graph.start(plans))
        assert isinstance(at, Execution)
        return at

    execution = asyncio.run(stepped())

    def result(task: Task, plan: tuple[int, bool, int, bool], index: int) -> TaskResult:
        updates, asks, _, _ = plan
        writes = tuple(Write("log", f'"{index}.{n}"'.encode(), f"{index}.{n}") for n in range(updates))
        if held_before(task, RunConfig()):
            return TaskResult(task, Ending.HELD)
        if asks:
            return TaskResult(task, Ending.SUSPENDED, writes, resume_at="ask", question=f'"{index}"'.encode())
        return TaskResult(task, Ending.COMPLETED, writes)

    results = [result(task, plan, index) for index, (task, plan) in enumerate(zip(execution.frontier, plans, strict=True))]
    first: Advance = advance(execution, results, RunConfig())
    again = advance(execution, results, RunConfig())
    assert snapshot_of(first.execution) == snapshot_of(again.execution)
    entries = entries_of(execution, "birth")
    apply_patch(entries, first.patch)
    wanted = entries_of(first.execution, "birth")
    assert {at: sorted(entry) if at[0] == "arrivals" else entry for at, entry in entries.items()} == {
        at: sorted(entry) if at[0] == "arrivals" else entry for at, entry in wanted.items()
    }
    assert [name for section, name in entries if section == "task"] == [name for section, name in wanted if section == "task"]
    assert [name for section, name in entries if section == "parked"] == [name for section, name in wanted if section == "parked"]
    expected = [w.value for r in results for w in r.writes]
    assert first.execution.state[LOG] == expected
