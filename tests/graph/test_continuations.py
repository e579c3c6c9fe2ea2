"""What an accepted answer sets in motion (R4.11 - R4.16, R3.13)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import NodeFailed
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, Resumed, StateKey, Suspend, Suspended

from .graphs import ITEMS, LOG, fan, ids, nothing, output


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
        assert parked.origin == ("1.0", "child")
        assert parked.slot == ("j", "0.0")
        seen.append(parked.id)
        held = await (await runtime.resume("t", graph, {parked.id: "x"}))
    assert seen == ["1.0", "2.0", "3.0"]
    assert output(held) == ["1x", "2x", "3x"]


async def test_answers_are_durable_before_anything_runs(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.15, R4.16, R2.4.8: a resumed run that fails is recovered, and nobody is asked again."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "ask b"])
    builder_fails = [True]
    original = made.graph.plan.nodes["approve"].call

    async def failing(given: Any, state: Any, context: Any) -> Any:
        if builder_fails:
            builder_fails.pop()
            raise ValueError("once")
        return await original(given, state, context)

    object.__setattr__(made.graph.plan.nodes["approve"], "call", failing)
    with pytest.raises(NodeFailed):
        await (await runtime.resume("t", made.graph, {"1.0": True}))
    assert (await store.head("t")).status is CheckpointStatus.RUNNING
    held = await (await runtime.recover("t", made.graph))
    assert ids(held) == ["1.1"]
    assert held.state[ITEMS] == ["planned", "ask a:True"]
    assert output(await (await runtime.resume("t", made.graph, {"1.1": False}))) == ["planned", "ask a:True", "ask b:False", "summ"]
