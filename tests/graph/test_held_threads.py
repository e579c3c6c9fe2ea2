"""Held threads that are recovered, cancelled, stored and told of (5.7, BRK)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import NodeFailed, RestoreRejected, RunCancelled
from llm4s_notebook.graph import Command, Durability, GraphBuilder, GraphRuntime, RunConfig, Suspended, events

from .graphs import LOG, Another, chain, drive, fan, ids, log, names, output, until
from .holds import after, before, proceed

HOLD_MIDDLE = RunConfig(interrupt_before="middle")


async def test_recover_applies_its_breakpoints_to_tasks_not_yet_let_through(runtime: GraphRuntime) -> None:
    """BRK-23, R5.36, R5.44: cancelled while a slow node ran; the old handle's cancel does nothing."""
    gate = asyncio.Event()
    made = chain(before_middle=gate.wait)
    config = before("end")
    handle = await runtime.start("t", made.graph, 1, config)
    await until(lambda: made.ran["middle"])
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    gate.set()
    held = await (await runtime.recover("t", made.graph, config))
    assert ids(held) == ["2.0"]
    assert made.ran["end"] == 0
    handle.cancel()
    assert output(await proceed(runtime, made.graph, "2.0", config=config)) == ["start", "middle", "end"]


async def test_a_task_let_through_before_a_cancel_just_runs(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-24, R5.36: the mark is in the checkpoint's pending task."""
    gate = asyncio.Event()
    made = chain(before_middle=gate.wait)
    config = before("middle")
    await runtime.run("t", made.graph, 1, config)
    handle = await runtime.resume("t", made.graph, {"1.0": None}, config)
    await until(lambda: made.ran["middle"])
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.status is CheckpointStatus.RUNNING
    assert [(task.id, task.passed) for task in made.graph.restore(latest.checkpoint).frontier] == [("2.0", True)]
    gate.set()
    assert output(await (await runtime.recover("t", made.graph, config))) == ["start", "middle", "end"]
    assert made.ran["middle"] == 2


async def test_a_task_let_through_that_failed_is_not_held_again(runtime: GraphRuntime) -> None:
    """BRK-25, R5.37."""
    fails = [True]

    async def once() -> None:
        if fails:
            fails.pop()
            raise ValueError("once")

    made = chain(before_middle=once)
    config = before("middle")
    await runtime.run("t", made.graph, 1, config)
    with pytest.raises(NodeFailed):
        await proceed(runtime, made.graph, "1.0", config=config)
    assert output(await (await runtime.recover("t", made.graph, config))) == ["start", "middle", "end"]
    assert made.ran["middle"] == 2


async def test_a_replay_that_crashed_is_replayed_once_more(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-40, R5.16: without running the node."""
    builder = GraphBuilder("g", version="1")
    gate = asyncio.Event()
    ran: list[str] = []
    slow, after_q = builder.declare("slow"), builder.declare("after-q")

    @builder.node("p")
    async def p() -> Command:
        return Command().goto(slow)

    @builder.node("start")
    async def start() -> Command:
        return Command().goto(p).send(q, 7)

    @builder.implement(slow)
    async def slow_node() -> None:
        ran.append("slow")
        await gate.wait()

    @builder.node("q", writes=LOG)
    async def q(n: int) -> Command:
        ran.append("q")
        return Command().update(LOG, "q").goto(after_q)

    @builder.implement(after_q, writes=LOG)
    async def after_q_node() -> Command:
        return Command().update(LOG, "after q")

    graph = builder.compile(start, output=lambda state: state[LOG])
    await runtime.run("t", graph, None, after("q"))
    handle = await runtime.resume("t", graph, {"1.1": None}, after("q"))
    await until(lambda: "slow" in ran)
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    gate.set()
    assert output(await (await runtime.recover("t", graph, after("q")))) == ["q", "after q"]
    assert ran == ["q", "slow", "slow"]


async def test_a_held_run_is_over_and_cannot_be_cancelled(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R8.8, R5.36, R5.44: a breakpoint changes nothing of cancelling: the run that was held has ended, and its hold stays."""
    made = chain()
    handle = await runtime.start("t", made.graph, 1, HOLD_MIDDLE)
    held = await handle
    handle.cancel()
    assert ids(await runtime.pending("t", made.graph)) == ids(held)
    assert "RunCancelled" not in await names(store)


async def test_events_name_held_and_answered_interrupts(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-28, R5.38, R5.39: and a held-before task records no task event."""
    made = chain()
    await runtime.run("t", made.graph, 1, before("end"))
    await proceed(runtime, made.graph, "2.0")
    told = await log(store)
    assert events.RunSuspended(("2.0",)) in told
    assert events.RunResumed(("2.0",)) in told
    assert "TaskSuspended" not in await names(store)


async def test_a_task_held_after_is_told_twice_under_two_ids(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-44, R5.38."""
    made = chain()
    await runtime.run("t", made.graph, 1, after("middle"))
    await proceed(runtime, made.graph, "1.0")
    told = [
        (record.task_id, record.node_id) for record in await store.events_after("t", 0) if isinstance(record.event, events.TaskCompleted)
    ]
    assert told == [("0.0", "start"), ("1.0", "middle"), ("2.0", "middle"), ("3.0", "end")]
    assert "TaskSuspended" not in await names(store)


async def test_holds_survive_json_and_three_instances_of_the_graph(store: Checkpointer, another: Another) -> None:
    """BRK-21, R5.40: at each stop the snapshot equals itself through JSON; a ran once, in the last instance."""
    config = RunConfig(interrupt_before="worker", interrupt_after="plan")
    made = [fan(), fan(), fan()]

    async def check(which: int) -> None:
        latest = await store.latest("t")
        assert latest is not None
        graph = made[which].graph
        snapshot = graph.snapshot(graph.restore(latest.checkpoint))
        assert json.loads(json.dumps(snapshot)) == snapshot
        assert graph.snapshot(graph.restore(json.loads(json.dumps(snapshot)))) == snapshot

    assert ids(await another().run("t", made[0].graph, ["a"], config)) == ["0.0"]
    await check(0)
    assert ids(await proceed(another(), made[1].graph, "0.0", config=config)) == ["2.0"]
    await check(1)
    assert output(await proceed(another(), made[2].graph, "2.0", config=config)) == ["planned", "A", "summ"]
    await check(2)
    assert [one.ran["a"] for one in made] == [0, 0, 1]


async def test_a_damaged_hold_is_named() -> None:
    """BRK-22, R5.41: held route, node, input, origin; the replay route of a pending task."""
    made = fan()
    graph = made.graph
    held = await drive(graph, graph.start(["a"]), RunConfig(interrupt_after="plan"))
    assert isinstance(held, Suspended)
    snapshot = graph.snapshot(held.execution)
    (parked,) = snapshot["parked"]
    route = parked["routes"][0]

    def damaged(**changes: Any) -> dict[str, Any]:
        return {**snapshot, "parked": [{**parked, **changes}]}

    def rejected(damage: dict[str, Any]) -> tuple[str, ...]:
        with pytest.raises(RestoreRejected) as caught:
            graph.restore(damage)
        return caught.value.problems

    assert rejected(damaged(routes=[{**route, "node": "gone"}])) == ("parked interrupt 0.0: it routes to unknown node 'gone'",)
    assert rejected(damaged(routes=[{**route, "join": "gone"}])) == ("parked interrupt 0.0: it fans out to unknown join 'gone'",)
    assert "does not decode" in rejected(damaged(routes=[{**route, "payloads": [7]}]))[0]
    assert rejected(damaged(routes=None)) == ("parked interrupt 0.0: the routes are not a list",)
    assert rejected(damaged(node="gone")) == ("parked interrupt 0.0: node 'gone' is unknown",)
    assert rejected(damaged(origin_node="gone")) == ("parked interrupt 0.0: origin node 'gone' is unknown",)
    assert rejected(damaged(phase="Sideways"))[0].startswith("parked interrupt 0.0: phase 'Sideways' is unknown")
    assert rejected({**snapshot, "parked": [{**parked, "phase": "Before", "question": 7}]})[0].startswith(
        "parked interrupt 0.0: its input does not decode"
    )
    execution = graph.resume(held.execution, {"0.0": None})
    snapshot = graph.snapshot(execution)
    (task,) = snapshot["tasks"]
    snapshot["tasks"] = [{**task, "replay": [{**route, "node": "gone"}]}]
    assert rejected(snapshot) == ("pending task 1.0: it routes to unknown node 'gone'",)


@pytest.mark.parametrize("durability", Durability)
async def test_a_held_thread_is_durable_in_every_mode(
    runtime: GraphRuntime, another: Another, store: Checkpointer, durability: Durability
) -> None:
    """BRK-27, R5.43."""
    made = chain()
    config = RunConfig(interrupt_after="start", durability=durability)
    assert ids(await runtime.run("t", made.graph, 1, config)) == ["0.0"]
    head = await store.head("t")
    assert (head.status, head.claim) == (CheckpointStatus.SUSPENDED, None)
    done = await proceed(another(), made.graph, "0.0", config=RunConfig(durability=durability))
    assert output(done) == ["start", "middle", "end"]
    assert (await store.head("t")).status is CheckpointStatus.COMPLETED
