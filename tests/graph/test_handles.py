"""Handles of runs, from any loop and thread (R8.1, R8.2, D2, D23)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import NodeFailed, RunCancelled
from llm4s_notebook.graph import Completed, Durability, GraphRuntime, RunConfig, RunStatus

from .graphs import Another, chain, fan, ids, names, output, until


async def test_the_three_endings_of_a_handle(runtime: GraphRuntime) -> None:
    """CAN-15, R8.1."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    assert handle.status is RunStatus.RUNNING
    made.delays["a"].set()
    await handle
    assert handle.status is RunStatus.COMPLETED
    handle = await runtime.start("u", made.graph, ["ask"])
    assert ids(await handle) == ["1.0"]
    assert handle.status is RunStatus.SUSPENDED
    made.failing.add("x")
    handle = await runtime.start("v", made.graph, ["x"])
    with pytest.raises(NodeFailed):
        await handle
    assert handle.status is RunStatus.FAILED


async def test_a_finished_run_cannot_be_cancelled_and_gives_the_same_result_again(runtime: GraphRuntime) -> None:
    """CAN-12, R8.2, R8.4."""
    made = chain()
    handle = await runtime.start("t", made.graph, 1)
    first = await handle
    handle.cancel()
    handle.cancel()
    assert await handle is first
    assert handle.status is RunStatus.COMPLETED


async def test_an_error_is_the_same_each_time(runtime: GraphRuntime) -> None:
    """R8.2."""
    made = fan()
    made.failing.add("a")
    handle = await runtime.start("t", made.graph, ["a"])
    caught = []
    for _ in range(2):
        with pytest.raises(NodeFailed) as one:
            await handle
        caught.append(one.value)
    assert caught[0] is caught[1]


async def test_cancelling_the_waiter_leaves_the_run_alone(runtime: GraphRuntime) -> None:
    """R8.2, D2."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])

    async def wait() -> object:
        return await handle

    waiter = asyncio.create_task(wait())
    await until(lambda: made.ran["a"])
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert handle.status is RunStatus.RUNNING
    made.delays["a"].set()
    assert output(await handle) == ["planned", "A", "summ"]


async def test_a_handle_names_the_nodes_whose_calls_are_under_way(runtime: GraphRuntime) -> None:
    """For a diagram: each once, in the order in which they began; none before, between and after."""
    made = fan(delays=["a", "b"])
    handle = await runtime.start("t", made.graph, ["a", "b"])
    await until(lambda: made.ran["a"] and made.ran["b"])
    assert handle.running_nodes == ("worker",)
    for gate in made.delays.values():
        gate.set()
    await handle
    assert handle.running_nodes == ()


async def test_a_callers_time_out_around_the_run_leaves_no_task_behind(runtime: GraphRuntime) -> None:
    """CAN-06, D2: cancelling `await runtime.run(...)` cancels the run and waits for it."""
    made = fan(delays=["b"])

    async def fire(limit: asyncio.Timeout) -> None:
        await until(lambda: made.ran["b"])
        limit.reschedule(asyncio.get_running_loop().time())

    async def limited() -> None:
        async with asyncio.timeout(None) as limit:
            await asyncio.gather(runtime.run("t", made.graph, ["a", "b"]), fire(limit))

    with pytest.raises(TimeoutError):
        await limited()
    left = [task.get_name() for task in asyncio.all_tasks() if "thread t" in task.get_name() or "of node" in task.get_name()]
    assert left == []
    made.delays["b"].set()
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "B", "summ"]
    assert made.ran["a"] == 1


async def test_cancelling_start_itself_leaves_nothing_half_done(store: Checkpointer, another: Another) -> None:
    """D2: a caller cancelled while its run is being admitted waits until that run is over."""
    made = chain()
    for ticks in range(12):
        runtime, thread_id = another(), f"t{ticks}"
        task = asyncio.create_task(runtime.run(thread_id, made.graph, 1))
        for _ in range(ticks):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert runtime.live(thread_id) is None
        head = await store.head(thread_id)
        assert head.claim is None
        if head.status is CheckpointStatus.RUNNING:
            assert output(await (await runtime.recover(thread_id, made.graph)))[-1] == "end"


async def test_a_run_can_be_awaited_and_cancelled_from_other_loops_and_threads(runtime: GraphRuntime) -> None:
    """D23: the run lives on the loop that started it."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    got: list[object] = []

    def elsewhere() -> None:
        async def wait() -> None:
            try:
                await handle
            except RunCancelled as error:
                got.append(error)

        asyncio.run(wait())

    threads = [threading.Thread(target=elsewhere) for _ in range(3)]
    for thread in threads:
        thread.start()
    await asyncio.sleep(0.02)
    await asyncio.to_thread(handle.cancel)
    with pytest.raises(RunCancelled) as caught:
        await handle
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert got == [caught.value] * 3


async def test_one_runtime_serves_several_loops_at_once(runtime: GraphRuntime) -> None:
    """D23."""
    made = fan()
    got: dict[str, Completed[Any]] = {}

    def elsewhere(name: str) -> None:
        async def turns() -> None:
            await runtime.run(name, made.graph, ["a", "ask"])
            got[name] = await (await runtime.resume(name, made.graph, {"1.1": True}))  # type: ignore[assignment]

        asyncio.run(turns())

    threads = [threading.Thread(target=elsewhere, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert [output(got[f"t{n}"]) for n in range(4)] == [["planned", "A", "ask:True", "summ"]] * 4


@pytest.mark.parametrize("durability", Durability)
async def test_a_loop_that_ends_cancels_its_runs_and_recover_continues_them(
    runtime: GraphRuntime, store: Checkpointer, durability: Durability
) -> None:
    """R8.3, R8.6: `asyncio.run` cancels every task when its main coroutine returns; the cancellation is recorded."""
    made = fan(delays=["b"])

    def elsewhere() -> None:
        async def begin() -> None:
            await runtime.start("t", made.graph, ["a", "b"], RunConfig(durability=durability))
            await until(lambda: made.ran["b"])

        asyncio.run(begin())

    await asyncio.to_thread(elsewhere)
    assert (await names(store))[-1] == "RunCancelled"
    assert (await store.head("t")).claim is None
    again = fan()
    assert output(await (await runtime.recover("t", again.graph))) == ["planned", "A", "B", "summ"]


async def test_a_run_whose_loop_was_closed_under_it_does_not_hold_its_thread(runtime: GraphRuntime, store: Checkpointer) -> None:
    """D23, D8: it can neither go on nor end; recover is admitted, and its claim is not renewed for ever."""
    made = fan(delays=["b"])
    handles: list[Any] = []

    def elsewhere() -> None:
        loop = asyncio.new_event_loop()
        handles.append(loop.run_until_complete(runtime.start("t", made.graph, ["a", "b"])))
        loop.run_until_complete(until(lambda: made.ran["b"]))
        loop.close()

    await asyncio.to_thread(elsewhere)
    assert runtime.live("t") is None
    again = fan()
    assert output(await (await runtime.recover("t", again.graph))) == ["planned", "A", "B", "summ"]
    handles[0].cancel()


async def test_closing_a_runtime_cancels_its_runs(another: Another, store: Checkpointer) -> None:
    """api.md: `aclose`."""
    made = fan(delays=["a"])
    runtime = another()
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    await runtime.aclose()
    with pytest.raises(RunCancelled):
        await handle
    assert (await names(store))[-1] == "RunCancelled"
