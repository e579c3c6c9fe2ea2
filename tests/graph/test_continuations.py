"""What an accepted answer sets in motion (R4.11 - R4.16, R3.13)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import NodeFailed, NotSuspended, RunCancelled
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, Resumed, StateKey, Suspend, Suspended, events
from llm4s_notebook.graph._execution import JoinSlot, Origin

from .graphs import LOG, Another, fan, ids, log, nothing, output


async def test_two_branches_that_pause_together_are_answered_together(runtime: GraphRuntime) -> None:
    """F02, R4.11: parked order, not the order of the answers."""
    made = fan()
    assert ids(await runtime.run("t", made.graph, ["ask a", "ask b"])) == ["1.0", "1.1"]
    done = await runtime.resume("t", made.graph, {"1.1": False, "1.0": True})
    assert output(await done) == ["planned", "ask a:True", "ask b:False", "summ"]


async def test_answers_given_one_by_one_leave_the_rest_pending(runtime: GraphRuntime) -> None:
    """R4.8, R4.13: incremental approval; the join stays closed until the last."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "b", "ask c"])
    left = await (await runtime.resume("t", made.graph, {"1.2": True}))
    assert ids(left) == ["1.0"]
    assert left.state[StateKey.appending("items", str)] == ["planned", "B", "ask c:True"]
    assert output(await (await runtime.resume("t", made.graph, {"1.0": False}))) == ["planned", "B", "ask c:True", "ask a:False", "summ"]
    assert made.ran["b"] == made.ran["ask a"] == made.ran["ask c"] == 1


async def test_an_arrival_is_made_by_the_continuation_of_the_asking_node(runtime: GraphRuntime) -> None:
    """SUS-06, R3.13: the join lists the asking node, and merge runs last."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)

    @builder.node("left")
    async def left() -> Suspend[str, str]:
        return Suspend("?", ask)

    def logs(name: str) -> Any:
        async def node() -> Command:
            return Command().update(LOG, name)

        return node

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        return Command().update(LOG, f"left {given.answer}")

    right = builder.node("right", writes=LOG)(logs("right"))
    merge = builder.node("merge", writes=LOG)(logs("merge"))
    start = builder.node("start")(nothing)
    builder.edge(start, left)
    builder.edge(start, right)
    builder.static_join("both", [left, right], merge)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert ids(await runtime.run("t", graph, None)) == ["1.0"]
    assert output(await (await runtime.resume("t", graph, {"1.0": "yes"}))) == ["right", "left yes", "merge"]


async def test_a_continuation_may_ask_again_under_an_id_of_its_own(runtime: GraphRuntime) -> None:
    """R4.14: the origin stays the very first task, so the join still waits for it."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=int, answer=str)
    done = builder.node("done")(nothing)
    join = builder.dynamic_join("j", done)

    @builder.node("child")
    async def child(n: int) -> Suspend[int, str]:
        return Suspend(1, ask)

    @builder.implement(ask, writes=LOG)
    async def again(given: Resumed[int, str]) -> Command | Suspend[int, str]:
        update = Command().update(LOG, f"{given.question}{given.answer}")
        return Suspend(given.question + 1, ask, update) if given.question < 3 else update

    @builder.node("start")
    async def start() -> Command:
        return Command().fan_out(join, child, [0])

    graph = builder.compile(start, output=lambda state: state[LOG])
    held: Any = await runtime.run("t", graph, None)
    seen = []
    while isinstance(held, Suspended):
        (parked,) = held.execution.parked.values()
        assert parked.origin == Origin("1.0", "child")
        assert parked.slot == JoinSlot("j", "0.0")
        seen.append(parked.id)
        held = await (await runtime.resume("t", graph, {parked.id: "x"}))
    assert seen == ["1.0", "2.0", "3.0"]
    assert output(held) == ["1x", "2x", "3x"]


@pytest.mark.parametrize("how", ["fails", "is cancelled"])
async def test_answers_are_durable_before_anything_runs(runtime: GraphRuntime, another: Another, store: Checkpointer, how: str) -> None:
    """R4.15, R4.16, agent.md 2.4.8: a resumed run that fails or is cancelled is recovered, nobody is asked again, and what else was
    parked still is."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    began = asyncio.Event()
    trouble = [True]

    @builder.node("asks")
    async def asks(name: str) -> Suspend[str, str]:
        return Suspend(name, ask)

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        if trouble:
            trouble.pop()
            if how == "fails":
                raise ValueError("once")
            began.set()
            await asyncio.Event().wait()
        return Command().update(LOG, f"{given.question} {given.answer}")

    @builder.node("start")
    async def start() -> Command:
        return Command().send(asks, "a").send(asks, "b")

    graph = builder.compile(start, output=lambda state: state[LOG])
    assert ids(await runtime.run("t", graph, None)) == ["1.0", "1.1"]
    handle = await runtime.resume("t", graph, {"1.0": "yes"})
    if how == "is cancelled":
        await began.wait()
        handle.cancel()
    with pytest.raises(NodeFailed if how == "fails" else RunCancelled):
        await handle
    head = await store.head("t")
    assert head.status is CheckpointStatus.RUNNING
    with pytest.raises(NotSuspended):
        await runtime.resume("t", graph, {"1.0": "again"})
    held = await (await another().recover("t", graph))
    assert ids(held) == ["1.1"]
    assert held.state[LOG] == ["a yes"]
    assert output(await (await runtime.resume("t", graph, {"1.1": "no"}))) == ["a yes", "b no"]
    resumed = [event for event in await log(store) if isinstance(event, events.RunResumed)]
    assert resumed == [events.RunResumed(("1.0",)), events.RunResumed(("1.1",))]


async def test_an_answer_carries_on_where_the_task_stood_and_runs_it_no_second_time(runtime: GraphRuntime) -> None:
    """R4.12, R3.13: the continuation has the slot and the origin of the task that asked; that task's node is not called again."""
    made = fan()
    held = await runtime.run("t", made.graph, ["ask a", "ask b"])
    assert ids(held) == ["1.0", "1.1"]
    graph = made.graph
    execution = graph.resume(held.execution, {"1.1": True})  # type: ignore[union-attr]
    (task,) = execution.frontier
    assert (task.id, task.node, task.slot, task.origin) == ("2.0", "approve", JoinSlot("work", "0.0"), Origin("1.1", "worker"))
    assert output(await (await runtime.resume("t", graph, {"1.0": True, "1.1": True})))[-1] == "summ"
    assert (made.ran["ask a"], made.ran["ask b"]) == (1, 1)
