"""Runs that run out of time (R8.9, R3.26, BUD)."""

from __future__ import annotations

import asyncio

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import DeadlineExceeded, RunCancelled
from llm4s_notebook.graph import GraphRuntime, RunBudgets, RunConfig

from .graphs import chain, fan, names, output


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


async def test_a_deadline_that_passed_stops_the_run_before_its_first_superstep(runtime: GraphRuntime) -> None:
    """R8.9."""
    made = chain()
    with pytest.raises(DeadlineExceeded):
        await runtime.run("t", made.graph, 1, RunConfig(budgets=RunBudgets(timeout=1e-9)))
    assert not made.ran


async def test_a_cancel_and_a_deadline_leave_exactly_one_cause(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BUD-03, R8.4."""
    made = fan(delays=["a"])
    for attempt in range(60):
        thread_id = f"t{attempt}"
        timeout = 0.001 * (attempt % 3 + 1)
        handle = await runtime.start(thread_id, made.graph, ["a"], RunConfig(budgets=RunBudgets(timeout=timeout)))
        asyncio.get_running_loop().call_later(0.002, handle.cancel)
        with pytest.raises((RunCancelled, DeadlineExceeded)) as caught:
            await handle
        told = await names(store, thread_id)
        wanted = "RunTimedOut" if isinstance(caught.value, DeadlineExceeded) else "RunCancelled"
        assert [name for name in told if name in ("RunTimedOut", "RunCancelled")] == [wanted]
