"""Runs that run out of time (R8.9, R3.26, BUD)."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import (
    CheckpointWriteFailed,
    DeadlineExceeded,
    InvalidRoute,
    NodeFailed,
    RunCancelled,
    RunCrashed,
    RunError,
    StateUpdateFailed,
    SuperstepLimitExceeded,
    UndeclaredWrite,
    UnsatisfiedJoin,
)
from llm4s_notebook.graph import GraphRuntime, RunBudgets, RunConfig, _run

from .graphs import chain, fan, names, output
from .stores import FailingStore


async def test_a_time_out_is_no_cancellation(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BUD-01, R8.9: recoverable; the finished one of three is not run again."""
    made = fan(delays=["b", "c"])
    handle = await runtime.start("t", made.graph, ["a", "b", "c"], RunConfig(budgets=RunBudgets(timeout=0.2)))
    with pytest.raises(DeadlineExceeded) as caught:
        await handle
    assert caught.value.recoverable
    assert caught.value.checkpoint_id == (await store.head("t")).checkpoint_id
    told = await names(store)
    assert "RunTimedOut" in told
    assert "RunCancelled" not in told
    for gate in made.delays.values():
        gate.set()
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "B", "C", "summ"]
    assert made.ran["a"] == 1


async def test_the_clock_starts_when_the_claim_is_there(failing: FailingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """R3.26, R8.9: a store that is slow to say how the thread stands, or to grant the claim, uses none of the run's time."""
    passed = [0.0]
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(_run, "time", SimpleNamespace(monotonic=lambda: passed[0]))
    made = chain()

    async def slow() -> None:
        passed[0] += 60

    failing.before_claim = slow
    due: list[float] = []
    call_later = loop.call_later

    def later(delay: float, callback: Any, *arguments: Any, **options: Any) -> asyncio.TimerHandle:
        if delay == 5:
            due.append(passed[0] + delay)
        return call_later(delay, callback, *arguments, **options)

    monkeypatch.setattr(loop, "call_later", later)
    runtime = GraphRuntime(failing)
    assert output(await runtime.run("t", made.graph, 1, RunConfig(budgets=RunBudgets(timeout=5)))) == ["start", "middle", "end"]
    assert due == [65.0]

    async def long() -> None:
        passed[0] += 6

    late = chain(before_middle=long)
    with pytest.raises(DeadlineExceeded):
        await runtime.run("u", late.graph, 1, RunConfig(budgets=RunBudgets(timeout=5)))
    assert late.ran == {"start": 1, "middle": 1}


def test_of_the_graphs_own_errors_only_a_time_out_is_recoverable_as_it_is() -> None:
    """R8.9: recover with the same arguments may well succeed; a node's failure is as recoverable as its cause."""
    own: dict[RunError, bool] = {
        DeadlineExceeded(checkpoint_id="c"): True,
        RunCancelled(checkpoint_id="c"): False,
        SuperstepLimitExceeded(limit=1): False,
        UnsatisfiedJoin(join_id="j", missing=["a"]): False,
        StateUpdateFailed(key="k"): False,
        UndeclaredWrite(node_id="n", task_id="0.0", key="k"): False,
        InvalidRoute(node_id="n", task_id="0.0", reason="r"): False,
        RunCrashed(cause=ValueError()): False,
        CheckpointWriteFailed(cause=ValueError()): False,
        NodeFailed(node_id="n", task_id="0.0", cause=ValueError()): False,
        NodeFailed(node_id="n", task_id="0.0", cause=DeadlineExceeded(checkpoint_id="c")): True,
    }
    assert {type(error).__name__: error.recoverable for error in own if error.recoverable != own[error]} == {}


async def test_a_deadline_that_passed_stops_the_run_before_its_first_superstep(runtime: GraphRuntime) -> None:
    """R8.9."""
    made = chain()
    with pytest.raises(DeadlineExceeded):
        await runtime.run("t", made.graph, 1, RunConfig(budgets=RunBudgets(timeout=1e-9)))
    assert not made.ran


async def test_a_cancel_and_a_deadline_leave_exactly_one_cause(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BUD-03, R8.4: a hundred races; whoever comes first is the one that is told and raised."""
    made = fan(delays=["a"])
    for attempt in range(100):
        thread_id = f"t{attempt}"
        timeout = 0.001 * (attempt % 3 + 1)
        handle = await runtime.start(thread_id, made.graph, ["a"], RunConfig(budgets=RunBudgets(timeout=timeout)))
        asyncio.get_running_loop().call_later(0.002, handle.cancel)
        with pytest.raises((RunCancelled, DeadlineExceeded)) as caught:
            await handle
        told = await names(store, thread_id)
        wanted = "RunTimedOut" if isinstance(caught.value, DeadlineExceeded) else "RunCancelled"
        assert [name for name in told if name in ("RunTimedOut", "RunCancelled")] == [wanted]
