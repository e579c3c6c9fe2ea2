"""Holds beside siblings that fail, block or join (5.6, BRK)."""

from __future__ import annotations

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import NodeFailed, NotSuspended
from llm4s_notebook.graph import Block, GraphBuilder, GraphRuntime, Suspended

from .graphs import ITEMS, fan, ids, names, nothing, output
from .holds import after, before, proceed


@pytest.mark.parametrize("again", [True, False], ids=["held again", "not held"])
async def test_a_failing_sibling_outranks_a_hold(runtime: GraphRuntime, store: Checkpointer, again: bool) -> None:
    """BRK-36, R5.31, R5.38: failed first, nothing parked and nothing recorded of x; then recover decides by its own configuration, and
    where it holds x, x never ran before its answer."""
    builder = GraphBuilder("g", version="1")
    ran: list[str] = []
    fails = [True]

    @builder.node("x")
    async def x() -> None:
        ran.append("x")

    @builder.node("b")
    async def b() -> None:
        ran.append("b")
        if fails:
            fails.pop()
            raise ValueError("b")

    start = builder.node("start")(nothing)
    builder.edge(start, x)
    builder.edge(start, b)
    graph = builder.compile(start, output=lambda _: ran)
    with pytest.raises(NodeFailed):
        await runtime.run("t", graph, None, before("x"))
    latest = await store.latest("t")
    assert latest is not None
    assert (latest.checkpoint.status, latest.checkpoint.interrupts, latest.writes) == (CheckpointStatus.RUNNING, (), ())
    assert "RunSuspended" not in await names(store)
    if not again:
        assert output(await (await runtime.recover("t", graph))) == ["b", "x", "b"]
        return
    held = await (await runtime.recover("t", graph, before("x")))
    assert ids(held) == ["1.0"]
    assert ran == ["b", "b"]
    assert output(await proceed(runtime, graph, "1.0")) == ["b", "b", "x"]


async def test_a_failing_sibling_leaves_a_result_that_would_be_held_after(runtime: GraphRuntime) -> None:
    """R5.29, R5.32: recover reuses it without running the node, and its own configuration holds it or not."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"])
    held = await (await runtime.recover("t", made.graph, after("worker")))
    assert ids(held) == ["1.0", "1.1"]
    assert made.ran["a"] == 1
    assert output(await proceed(runtime, made.graph, "1.0", "1.1")) == ["planned", "A", "B", "summ"]


async def test_the_run_that_commits_a_result_decides_whether_it_is_held_after(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R5.29, R5.32: the run that recorded it would have held it; the one that recovers it does not, and runs it no second time."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"], after("worker"))
    assert (await store.head("t")).write_count == 1
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "B", "summ"]
    assert made.ran["a"] == 1


async def test_a_recorded_result_is_never_held_before(runtime: GraphRuntime) -> None:
    """R5.30."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"])
    held = await (await runtime.recover("t", made.graph, before("worker")))
    assert ids(held) == ["1.1"]
    assert held.state[ITEMS] == ["planned", "A"]


async def test_a_blocking_sibling_drops_what_is_held(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-42, R5.33."""
    refused = ValueError("blocked")
    builder = GraphBuilder("g", version="1")
    blocks = [True]

    @builder.node("held")
    async def held() -> None: ...

    @builder.node("stop")
    async def stop() -> Block | None:
        return Block(refused) if blocks else None

    start = builder.node("start")(nothing)
    builder.edge(start, held)
    builder.edge(start, stop)
    graph = builder.compile(start, output=lambda _: "done")
    with pytest.raises(ValueError, match="blocked") as caught:
        await runtime.run("t", graph, None, before("held"))
    assert caught.value is refused
    assert (await store.head("t")).status is CheckpointStatus.FAILED
    with pytest.raises(NotSuspended):
        await runtime.resume("t", graph, {"1.0": None})
    blocks.clear()
    assert output(await runtime.run("t", graph, None)) == "done"


async def test_a_join_target_that_is_a_held_node(runtime: GraphRuntime) -> None:
    """R5.34: the join releases, and its target is held before it runs."""
    made = fan()
    held = await runtime.run("t", made.graph, ["a"], before("summarize"))
    assert isinstance(held, Suspended)
    assert ids(held) == ["2.0"]
    assert not held.execution.activations
    assert output(await proceed(runtime, made.graph, "2.0")) == ["planned", "A", "summ"]


async def test_trace_held_siblings_answered_together_keep_frontier_order(runtime: GraphRuntime) -> None:
    """BRK-39, R5.35."""
    made = fan()
    await runtime.run("t", made.graph, ["a", "b"], before("worker"))
    assert output(await proceed(runtime, made.graph, "1.1", "1.0")) == ["planned", "A", "B", "summ"]
