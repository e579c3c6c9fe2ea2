"""Which events a run leaves, and in which order (R7.1 - R7.6, RUN)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus, EventRecord
from llm4s_notebook.errors import NodeFailed, RunCancelled
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, RunConfig, RunContext, events

from .graphs import LOG, log, nothing, output


def emitting() -> CompiledGraph[None, list[str]]:
    """start -> a, b, each emitting a custom event and telling progress."""
    builder = GraphBuilder("g", version="1")

    def node(name: str) -> Any:
        @builder.node(name, writes=LOG)
        async def emits(context: RunContext) -> Command:
            payload = {"from": name}
            context.emit("did", payload, version=2)
            context.progress("doing", payload)
            payload["from"] = "changed afterwards"
            return Command().update(LOG, name)

        return emits

    a, b = node("a"), node("b")
    start = builder.node("start")(nothing)
    builder.edge(start, a)
    builder.edge(start, b)
    return builder.compile(start, output=lambda state: state[LOG])


async def test_a_run_leaves_its_events_in_order(runtime: GraphRuntime, store: Checkpointer) -> None:
    """RUN-01, R7.3, R1.29: opening event; each task's outcome, then its custom events; a checkpoint per superstep; the closing one."""
    graph = emitting()
    live = runtime.subscribe("t")
    handle = await runtime.start("t", graph, None, RunConfig(principal="ana"))
    assert output(await handle) == ["a", "b"]
    assert (await store.head("t")).status is CheckpointStatus.COMPLETED
    assert await log(store) == [
        events.RunStarted("ana"),
        events.TaskCompleted(),
        events.CheckpointCommitted(1),
        events.TaskCompleted(),
        events.Custom("did", 2, {"from": "a"}),
        events.TaskCompleted(),
        events.Custom("did", 2, {"from": "b"}),
        events.CheckpointCommitted(2),
        events.RunCompleted(),
    ]
    records = await store.events_after("t", 0)
    assert [(record.task_id, record.node_id) for record in records[3:7]] == [("1.0", "a"), ("1.0", "a"), ("1.1", "b"), ("1.1", "b")]
    assert {record.run_id for record in records} == {handle.run_id}
    ids_ = [f"{handle.run_id}/{n}" for n in (1, 1, 2, 2, 2, 2, 2, 3, 4)]
    assert [record.checkpoint_id for record in records] == ids_
    seen = []
    async for record in live:
        seen.append(record)
        if isinstance(record.event, events.RunCompleted):
            break
    assert [record.event for record in seen if record.sequence is None] == [
        events.Progress("doing", 1, {"from": "a"}),
        events.Progress("doing", 1, {"from": "b"}),
    ]
    assert [record.sequence for record in seen if record.sequence is not None] == list(range(1, 10))


async def test_a_failing_task_leaves_no_custom_event(runtime: GraphRuntime, store: Checkpointer) -> None:
    """RUN-06, R7.4, D22: TaskFailed and RunFailed, by class name."""
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start(context: RunContext) -> None:
        context.emit("did", 1)
        raise ValueError("the secret text of the error")

    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(NodeFailed):
        await runtime.run("t", graph, None)
    told = await log(store)
    assert told == [events.RunStarted(), events.TaskFailed("NodeFailed (ValueError)"), events.RunFailed("NodeFailed (ValueError)")]


async def test_durable_events_cannot_be_changed_through_what_was_read(runtime: GraphRuntime, store: Checkpointer) -> None:
    """RUN-10, R6.2: neither by a listener that follows the run, nor by its handle's, nor by whoever reads the log."""

    async def spoil(records: AsyncIterator[EventRecord]) -> None:
        async for record in records:
            if isinstance(record.event, (events.Custom, events.Progress)):
                record.event.payload["from"] = "spoilt"
                record.event.payload["more"] = ["spoilt"]
            if isinstance(record.event, events.RunCompleted):
                return

    listening = asyncio.create_task(spoil(runtime.subscribe("t")))
    await asyncio.sleep(0)
    handle = await runtime.start("t", emitting(), None)
    await spoil(handle.events())
    await listening
    before = [event for event in await log(store) if isinstance(event, events.Custom)]
    assert [event.payload for event in before] == [{"from": "a"}, {"from": "b"}]
    for event in before:
        event.payload["from"] = "spoilt"
    assert [event.payload for event in await log(store) if isinstance(event, events.Custom)] == [{"from": "a"}, {"from": "b"}]


async def test_a_cancelled_task_leaves_neither_an_event_nor_a_write(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R7.5, CAN-05: nor what it emitted before; a sibling that had ended keeps its own."""
    builder = GraphBuilder("g", version="1")
    waits = asyncio.Event()

    @builder.node("slow", writes=LOG)
    async def slow(context: RunContext) -> None:
        context.emit("slow", 1)
        waits.set()
        await asyncio.Event().wait()

    @builder.node("quick", writes=LOG)
    async def quick(context: RunContext) -> Command:
        context.emit("quick", 1)
        return Command().update(LOG, "quick")

    start = builder.node("start")(nothing)
    builder.edge(start, slow)
    builder.edge(start, quick)
    graph = builder.compile(start, output=lambda state: state[LOG])
    handle = await runtime.start("t", graph, None)
    await waits.wait()
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    records = await store.events_after("t", 0)
    assert [(one.task_id, type(one.event).__name__) for one in records if one.task_id] == [
        ("0.0", "TaskCompleted"),
        ("1.1", "TaskCompleted"),
        ("1.1", "Custom"),
    ]
    latest = await store.latest("t")
    assert latest is not None
    assert [write.task_id for write in latest.writes] == ["1.1"]
