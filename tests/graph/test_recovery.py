"""Recovering what a run left (R8.10 - R8.14, R3.19)."""

from __future__ import annotations

import asyncio

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import NodeFailed, RunCrashed
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, Suspended, ThreadState, events

from .graphs import LOG, Another, fan, ids, log, names, nothing, output


@pytest.mark.parametrize("order", ["abc", "cba", "bca", "acb"])
async def test_recover_runs_only_what_did_not_finish(runtime: GraphRuntime, another: Another, store: Checkpointer, order: str) -> None:
    """RUN-05, R8.10, R3.19: whatever order siblings finished in."""
    made = fan(delays="abc")
    made.failing.add("b")
    handle = await runtime.start("t", made.graph, list("abc"))
    for name in order:
        made.delays[name].set()
        await asyncio.sleep(0)
    with pytest.raises(NodeFailed):
        await handle
    sequence = len(await log(store))
    second = await another().recover("t", made.graph)
    assert output(await second) == ["planned", "A", "B", "C", "summ"]
    assert (made.ran["a"], made.ran["b"], made.ran["c"]) == (1, 2, 1)
    told = await log(store)
    assert isinstance(told[sequence], events.RunRecovered)
    assert second.run_id != handle.run_id


async def test_a_second_crash_loses_nothing_either(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R8.10: reused writes are carried to recover's claim checkpoint."""
    made = fan()
    for _ in range(3):
        made.failing.add("b")
        with pytest.raises(NodeFailed):
            await ((await runtime.recover("t", made.graph)) if made.ran["plan"] else (await runtime.start("t", made.graph, ["a", "b"])))
        latest = await store.latest("t")
        assert latest is not None
        assert [write.task_id for write in latest.writes] == ["1.0"]
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "B", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (1, 4)


async def test_a_reused_suspension_parks_under_the_same_id(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R3.19."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["ask a", "b"])
    held = await (await runtime.recover("t", made.graph))
    assert isinstance(held, Suspended)
    assert ids(held) == ["1.0"]
    assert made.ran["ask a"] == 1
    assert output(await (await runtime.resume("t", made.graph, {"1.0": True}))) == ["planned", "B", "ask a:True", "summ"]


async def test_a_thread_with_nothing_left_to_run_is_just_closed(store: Checkpointer, another: Another) -> None:
    """R8.13: a process that died between the last superstep and the closing commit."""
    fails = [True]
    builder = GraphBuilder("g", version="1")
    ran: list[int] = []

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        ran.append(1)
        return Command().update(LOG, "start")

    def project(state: ThreadState) -> list[str]:
        if fails:
            fails.pop()
            raise ValueError("once")
        return state[LOG]

    graph = builder.compile(start, output=project)
    with pytest.raises(ValueError, match="once"):
        await another().run("t", graph, None)
    handle = await another().recover("t", graph)
    assert output(await handle) == ["start"]
    assert ran == [1]
    assert (await names(store))[-2:] == ["RunRecovered", "RunCompleted"]


class Odd(BaseException):
    """Neither an Exception nor a cancellation."""


@pytest.mark.parametrize("siblings", [False, True])
async def test_what_escapes_the_machinery_crashes_the_run_and_frees_the_thread(
    runtime: GraphRuntime, store: Checkpointer, siblings: bool
) -> None:
    """R8.14: the store is as it was, siblings are waited for, recover is admitted at once."""
    fails = [True]
    done: list[str] = []
    builder = GraphBuilder("g", version="1")

    @builder.node("odd")
    async def odd() -> None:
        if fails:
            fails.pop()
            raise Odd

    @builder.node("sibling")
    async def sibling() -> None:
        await asyncio.sleep(0.01)
        done.append("sibling")

    start = builder.node("start")(nothing)
    builder.edge(start, odd)
    if siblings:
        builder.edge(start, sibling)
    graph = builder.compile(start, output=lambda _: "done")
    with pytest.raises(RunCrashed) as caught:
        await runtime.run("t", graph, None)
    assert isinstance(caught.value.cause, Odd)
    assert caught.value.thread_id == "t"
    assert done == (["sibling"] if siblings else [])
    head = await store.head("t")
    assert (head.status, head.claim) == (CheckpointStatus.RUNNING, None)
    assert output(await (await runtime.recover("t", graph))) == "done"
