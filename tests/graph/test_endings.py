"""How a run ends when a cancel, a failure and the closing commit meet (R8.4, R8.6, CAN-13)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import CheckpointWriteFailed, RunCancelled
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, RunStatus

from .graphs import LOG, chain, fan, names, nothing, output, until
from .stores import FailingStore


def hooked(hook: Callable[[], None]) -> CompiledGraph[None, list[str]]:
    """start -> second; `hook` is called by the projection."""
    builder = GraphBuilder("g", version="1")

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        return Command().update(LOG, "start")

    def project(state: Any) -> list[str]:
        hook()
        return state[LOG]

    return builder.compile(start, output=project)


async def test_a_cancel_recorded_before_the_outcome_wins(runtime: GraphRuntime, store: Checkpointer) -> None:
    """CAN-13, R8.4: cancelled while the run ends by itself; the last superstep is kept, the outcome is not committed."""
    cancels = [True]

    def cancel() -> None:
        handle = runtime.live("t")
        if cancels and handle is not None:
            cancels.pop()
            handle.cancel()

    graph = hooked(cancel)
    handle = await runtime.start("t", graph, None)
    with pytest.raises(RunCancelled) as caught:
        await handle
    head = await store.head("t")
    assert head.status is CheckpointStatus.RUNNING
    assert head.checkpoint_id == caught.value.checkpoint_id
    assert (await names(store))[-2:] == ["CheckpointCommitted", "RunCancelled"]
    assert output(await (await runtime.recover("t", graph))) == ["start"]


async def test_a_cancel_recorded_before_the_failure_wins(runtime: GraphRuntime, store: Checkpointer) -> None:
    """CAN-13, R8.4: cancelled, and then the run fails by itself; one cause, the first."""

    def cancel_and_fail() -> None:
        handle = runtime.live("t")
        assert handle is not None
        handle.cancel()
        raise ValueError("the run's own")

    handle = await runtime.start("t", hooked(cancel_and_fail), None)
    with pytest.raises(RunCancelled) as caught:
        await handle
    assert caught.value.checkpoint_id == (await store.head("t")).checkpoint_id
    told = await names(store)
    assert told[-1] == "RunCancelled"
    assert "RunFailed" not in told


async def test_a_cancel_outranks_a_failure_of_the_same_superstep(runtime: GraphRuntime, store: Checkpointer) -> None:
    """CAN-13, R3.20."""
    made = fan(delays=["b"])
    made.failing.add("a")
    handle = await runtime.start("t", made.graph, ["a", "b"])
    await until(lambda: made.ran["b"] and not made.failing)
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    assert (await names(store))[-1] == "RunCancelled"
    assert "RunFailed" not in await names(store)


async def test_a_cancel_outranks_a_run_that_cancels_itself(runtime: GraphRuntime, store: Checkpointer) -> None:
    """CAN-13, R8.4: a node raises the cancellation of its own while one is recorded; one cause, one event, the right checkpoint."""
    builder = GraphBuilder("g", version="1")
    started = asyncio.Event()
    go = asyncio.Event()

    @builder.node("own", writes=LOG)
    async def own() -> None:
        started.set()
        try:
            await go.wait()
        finally:
            raise asyncio.CancelledError

    start = builder.node("start")(nothing)
    builder.edge(start, own)
    builder.edge(start, builder.node("beside")(nothing))
    graph = builder.compile(start, output=lambda state: state[LOG])
    handle = await runtime.start("t", graph, None)
    await started.wait()
    handle.cancel()
    with pytest.raises(RunCancelled) as caught:
        await handle
    assert caught.value.checkpoint_id == (await store.head("t")).checkpoint_id
    told = await names(store)
    assert told[-1] == "RunCancelled"
    assert told.count("RunCancelled") == 1
    assert (await store.events_after("t", 0))[-1].checkpoint_id == caught.value.checkpoint_id


async def test_a_cancel_during_a_commit_does_not_break_it(failing: FailingStore) -> None:
    """R8.6: the run is cancelled, not failed by its store; what was committed stays."""
    runtime = GraphRuntime(failing)
    made = chain()
    failing.slow = asyncio.Event()
    handle = await runtime.start("t", made.graph, 1)
    await until(lambda: failing.held == 1)
    handle.cancel()
    failing.slow.set()
    with pytest.raises(RunCancelled) as caught:
        await handle
    latest = await failing.latest("t")
    assert latest is not None
    assert (latest.checkpoint.id, latest.checkpoint.superstep) == (caught.value.checkpoint_id, 1)
    assert made.ran == {"start": 1}
    assert output(await (await runtime.recover("t", made.graph))) == ["start", "middle", "end"]
    assert made.ran["start"] == 1


async def test_a_store_that_fails_at_the_closing_commit_of_a_cancel_tells_both(failing: FailingStore) -> None:
    """R8.6."""
    runtime = GraphRuntime(failing)
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    failing.dead = True
    handle.cancel()
    with pytest.raises(CheckpointWriteFailed) as caught:
        await handle
    assert isinstance(caught.value.run_error, RunCancelled)
    assert caught.value.cause is failing.error
    failing.dead = False
    made.delays["a"].set()
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "summ"]


class Breaking(FailingStore):
    """Breaks one closing commit with a cancellation, before or after it was applied."""

    breaks = False
    applied = False

    async def commit(self, thread_id: str, commit: Any) -> Any:
        if self.breaks and commit.release:
            self.breaks = False
            if self.applied:
                await super().commit(thread_id, commit)
            raise asyncio.CancelledError
        return await super().commit(thread_id, commit)


@pytest.mark.parametrize("applied", [False, True])
async def test_a_closing_commit_that_is_broken_is_tried_afresh(applied: bool) -> None:
    """R8.6: by whoever ends the loop; the cancellation is recorded once and the thread is free."""
    store = Breaking()
    store.applied = applied
    runtime = GraphRuntime(store)
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    store.breaks = True
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    assert (await names(store)).count("RunCancelled") == 1
    assert (await store.head("t")).claim is None
    made.delays["a"].set()
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "summ"]


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("items", [["a"], ["ask a"]])
async def test_a_cancel_that_comes_with_the_outcome_is_ignored(applied: bool, items: list[str]) -> None:
    """R8.4: from the moment the outcome is being committed the run ends with it, completed or suspended."""
    store = Breaking()
    store.applied = applied
    store.breaks = True
    made = fan()
    handle = await GraphRuntime(store).start("t", made.graph, items)
    await handle
    assert handle.status in (RunStatus.COMPLETED, RunStatus.SUSPENDED)
    told = await names(store)
    assert told[-1] == ("RunCompleted" if items == ["a"] else "RunSuspended")
    assert "RunCancelled" not in told
    assert (await store.head("t")).claim is None
