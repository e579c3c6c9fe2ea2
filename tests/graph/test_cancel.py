"""Cancelling a run or a step (R8.3, R8.5, R8.7, CAN)."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import threading
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import IncompleteRun, NodeFailed, RunCancelled, ThreadBusy
from llm4s_notebook.graph import Command, Durability, GraphBuilder, GraphRuntime, RunConfig, RunContext, RunStatus, events

from .graphs import LOG, drive, fan, log, names, nothing, output, until


async def test_cancelling_a_step_waits_for_every_task_and_keeps_nothing() -> None:
    """CAN-01, R8.7, D2: both blocked tasks saw it and were waited for, the finished one did not; the step raises the cancellation
    itself, and the execution can be stepped again."""
    saw: list[str] = []
    leaving = asyncio.Event()
    blocks = [True]
    builder = GraphBuilder("g", version="1")

    @builder.node("worker", writes=LOG)
    async def worker(name: str) -> Command:
        try:
            if blocks and name != "a":
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            saw.append(f"{name} saw it")
            await leaving.wait()  # cleaning up takes its time
            saw.append(f"{name} is out")
            raise
        saw.append(name)
        return Command().update(LOG, name)

    @builder.node("start")
    async def start() -> Command:
        return Command().send(worker, "a").send(worker, "b").send(worker, "c")

    graph = builder.compile(start, output=lambda state: state[LOG])
    execution: Any = await graph.step(graph.start(None))
    step = asyncio.create_task(graph.step(execution))
    await until(lambda: saw == ["a"])
    step.cancel()
    await until(lambda: sorted(saw) == ["a", "b saw it", "c saw it"])
    await asyncio.sleep(0.01)
    assert not step.done()
    leaving.set()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert sorted(saw[3:]) == ["b is out", "c is out"]
    assert execution.state[LOG] == []
    blocks.clear()
    assert output(await drive(graph, execution)) == ["a", "b", "c"]


async def test_a_cancelled_run_waits_until_each_of_its_tasks_is_out(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R8.3: `cancel` returns at once; until the last task has cleaned up the run is not over and the thread is busy."""
    builder = GraphBuilder("g", version="1")
    leaving = asyncio.Event()
    began: list[str] = []
    saw: list[str] = []

    @builder.node("worker")
    async def worker(name: str) -> None:
        began.append(name)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            saw.append(name)
            await leaving.wait()
            raise

    @builder.node("start")
    async def start() -> Command:
        return Command().send(worker, "a").send(worker, "b")

    graph = builder.compile(start, output=lambda _: None)
    handle = await runtime.start("t", graph, None)
    await until(lambda: began == ["a", "b"])
    handle.cancel()
    await until(lambda: sorted(saw) == ["a", "b"])
    handle.cancel()
    await asyncio.sleep(0.01)
    assert (handle.done, handle.status) == (False, RunStatus.RUNNING)
    assert (await names(store))[-1] == "CheckpointCommitted"
    with pytest.raises(ThreadBusy):
        await runtime.recover("t", graph)
    leaving.set()
    with pytest.raises(RunCancelled):
        await handle
    assert (await names(store))[-1] == "RunCancelled"
    assert (await store.head("t")).write_count == 0


async def test_cancelling_a_step_of_one_task() -> None:
    """CAN-02."""
    saw: list[str] = []
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start() -> None:
        saw.append("started")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            saw.append("cancelled")
            raise

    graph = builder.compile(start, output=lambda _: None)
    step = asyncio.create_task(graph.step(graph.start(None)))
    await until(lambda: saw)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert saw == ["started", "cancelled"]


@pytest.mark.parametrize("siblings", [False, True])
@pytest.mark.parametrize("how", ["raises", "cancels itself and returns", "cancels itself and waits"])
async def test_a_node_that_cancels_itself_cancels_the_run(runtime: GraphRuntime, store: Checkpointer, how: str, siblings: bool) -> None:
    """CAN-03, R3.20: no state change."""
    builder = GraphBuilder("g", version="1")

    @builder.node("bad", writes=LOG)
    async def bad() -> Command:
        if how == "raises":
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if how == "cancels itself and waits":
            await asyncio.sleep(0)
        return Command().update(LOG, "bad")

    start = builder.node("start")(nothing)
    builder.edge(start, bad)
    if siblings:
        builder.edge(start, builder.node("sibling")(nothing))
    graph = builder.compile(start, output=lambda state: state[LOG])
    with pytest.raises(RunCancelled):
        await runtime.run("t", graph, None)
    latest = await store.latest("t")
    assert latest is not None
    assert graph.restore(latest.checkpoint).state[LOG] == []
    assert all(write.node_id != "bad" for write in latest.writes)
    current = asyncio.current_task()
    assert current is not None
    assert not current.cancelling()


@pytest.mark.parametrize("durability", Durability)
async def test_a_cancelled_run_names_its_checkpoint_and_recover_runs_only_the_rest(
    runtime: GraphRuntime, store: Checkpointer, durability: Durability
) -> None:
    """CAN-04, CAN-05, R8.3, R8.10, R7.5."""
    made = fan(delays=["b"])
    config = RunConfig(durability=durability)
    handle = await runtime.start("t", made.graph, ["a", "b"], config)
    await until(lambda: made.ran["b"])
    await asyncio.sleep(0.01)
    handle.cancel()
    handle.cancel()
    with pytest.raises(RunCancelled) as caught:
        await handle
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.status is CheckpointStatus.RUNNING
    assert caught.value.checkpoint_id == latest.checkpoint.id
    assert (caught.value.thread_id, caught.value.run_id) == ("t", handle.run_id)
    assert [write.task_id for write in latest.writes] == ["1.0"]
    last = (await store.events_after("t", 0))[-1]
    assert (last.event, last.checkpoint_id) == (events.RunCancelled(), latest.checkpoint.id)
    assert "TaskFailed" not in await names(store)
    assert handle.status is RunStatus.FAILED
    made.delays["b"].set()
    assert output(await (await runtime.recover("t", made.graph, config))) == ["planned", "A", "B", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (1, 2)
    told = await log(store)
    assert any(isinstance(event, events.RunRecovered) and event.from_checkpoint == latest.checkpoint.id for event in told)


async def test_a_run_cancelled_right_after_its_start_is_cancelled(runtime: GraphRuntime) -> None:
    """CAN-11: always; then the thread is incomplete."""
    made = fan(delays=["a"])
    for attempt in range(20):
        handle = await runtime.start(f"t{attempt}", made.graph, ["a"])
        handle.cancel()
        with pytest.raises(RunCancelled):
            await handle
        with pytest.raises(IncompleteRun):
            await runtime.start(f"t{attempt}", made.graph, ["a"])


async def test_a_node_that_swallows_its_cancellation_does_not_save_the_run(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R8.5: still cancelled; the task that returned with the cancellation still showing is dropped."""
    for siblings in (False, True):
        thread_id = f"t{siblings}"
        builder = GraphBuilder("g", version="1")
        started = asyncio.Event()

        async def swallows(started: asyncio.Event) -> Command:
            started.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return Command().update(LOG, "swallowed")

        bad = builder.node("bad", writes=LOG)(functools.partial(swallows, started=started))
        start = builder.node("start")(nothing)
        builder.edge(start, bad)
        if siblings:
            builder.edge(start, builder.node("sibling")(nothing))
        graph = builder.compile(start, output=lambda state: state[LOG])
        handle = await runtime.start(thread_id, graph, None)
        await started.wait()
        handle.cancel()
        with pytest.raises(RunCancelled):
            await handle
        latest = await store.latest(thread_id)
        assert latest is not None
        assert "bad" not in [write.node_id for write in latest.writes]


async def test_a_swallowed_cancellation_beside_a_held_task_is_dropped_too(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R8.5: also when its siblings did not run, so that it ran in the run's own task."""
    builder = GraphBuilder("g", version="1")
    started = asyncio.Event()

    @builder.node("bad", writes=LOG)
    async def bad() -> Command:
        started.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return Command().update(LOG, "swallowed")

    start = builder.node("start")(nothing)
    builder.edge(start, bad)
    builder.edge(start, builder.node("held")(nothing))
    graph = builder.compile(start, output=lambda state: state[LOG])
    handle = await runtime.start("t", graph, None, RunConfig(interrupt_before="held"))
    await started.wait()
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    latest = await store.latest("t")
    assert latest is not None
    assert latest.writes == ()


async def test_a_plain_function_sees_the_cancellation_and_is_waited_for(runtime: GraphRuntime, store: Checkpointer) -> None:
    """D24: its result is dropped."""
    started, seen = threading.Event(), threading.Event()
    builder = GraphBuilder("g", version="1")

    @builder.node("plain", writes=LOG)
    def plain(context: RunContext) -> Command:
        started.set()
        while not context.cancelled:
            threading.Event().wait(0.002)
        seen.set()
        return Command().update(LOG, "plain")

    graph = builder.compile(plain, output=lambda state: state[LOG])
    handle = await runtime.start("t", graph, None)
    await until(started.is_set)
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    assert seen.is_set()
    latest = await store.latest("t")
    assert latest is not None
    assert latest.writes == ()


async def test_a_keyboard_interrupt_in_a_node_cancels_its_run_and_goes_on_through_the_loop(
    runtime: GraphRuntime, store: Checkpointer
) -> None:
    """R8.3: as an interrupted script does; the cancellation is recorded, the thread is free, the handle says what happened."""
    interrupts = [True]
    builder = GraphBuilder("g", version="1")

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        if interrupts:
            interrupts.pop()
            raise KeyboardInterrupt
        return Command().update(LOG, "start")

    graph = builder.compile(start, output=lambda state: state[LOG])
    raised: list[BaseException] = []

    def elsewhere() -> None:
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(runtime.run("t", graph, None))
        except KeyboardInterrupt as error:
            raised.append(error)
        loop.close()

    await asyncio.to_thread(elsewhere)
    assert len(raised) == 1
    raised.clear()
    gc.collect()  # the loop's own task, whose error nobody fetched, is told of here and not in the middle of something else
    assert (await names(store))[-1] == "RunCancelled"
    assert (await store.head("t")).claim is None
    assert output(await (await runtime.recover("t", graph))) == ["start"]


async def _failing() -> None:
    await asyncio.sleep(0)
    raise ValueError("child")


async def _group_with_a_failing_child() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_failing())
        group.create_task(asyncio.sleep(60))


@pytest.mark.parametrize("siblings", [1, 2])
async def test_a_task_group_whose_child_failed_does_not_cancel_the_run(runtime: GraphRuntime, siblings: int) -> None:
    """R8.5: before Python 3.13 such a group leaves a cancel request on the task, although nobody cancelled anything."""
    builder = GraphBuilder("g", version="1")

    @builder.node("group", writes=LOG)
    async def group() -> Command:
        try:
            await _group_with_a_failing_child()
        except* ValueError:
            pass
        await asyncio.sleep(0)
        return Command().update(LOG, "handled")

    start = builder.node("start")(nothing)
    for _ in range(siblings):
        builder.edge(start, group)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert output(await runtime.run("t", graph, None)) == ["handled"] * siblings


async def test_a_task_group_that_nobody_handles_is_the_nodes_failure(runtime: GraphRuntime) -> None:
    """R3.6: not a cancellation."""
    builder = GraphBuilder("g", version="1")
    start = builder.node("start")(_group_with_a_failing_child)
    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(NodeFailed) as failed:
        await runtime.run("t", graph, None)
    assert isinstance(failed.value.cause, ExceptionGroup)


async def test_a_callers_time_out_around_a_step_is_not_forgotten_for_a_node_that_swallows_it() -> None:
    """R8.5, R8.7: what the caller cancelled stays cancelled, and its own time-out ends as one."""
    began = asyncio.Event()
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start() -> None:
        began.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    graph = builder.compile(start, output=lambda _: "done")

    async def fire(limit: asyncio.Timeout) -> None:
        await began.wait()
        limit.reschedule(asyncio.get_running_loop().time())

    async def limited() -> None:
        async with asyncio.timeout(None) as limit:
            firing = asyncio.create_task(fire(limit))
            try:
                await graph.step(graph.start(None))
            finally:
                await firing

    with pytest.raises(TimeoutError):
        await limited()
