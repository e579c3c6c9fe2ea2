"""What a task knows of its run (1.4)."""

from __future__ import annotations

from llm4s_notebook.graph import GraphBuilder, GraphRuntime, RunConfig, RunContext


async def test_a_task_knows_where_it_is(runtime: GraphRuntime) -> None:
    """R1.28, R1.29."""
    seen: list[RunContext] = []
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start(context: RunContext) -> None:
        seen.append(context)

    graph = builder.compile(start, output=lambda _: None)
    config = RunConfig(run_id="r", principal="ana", metadata={"a": 1})
    await runtime.run("t", graph, None, config)
    one = seen[0]
    assert (one.thread_id, one.run_id, one.checkpoint_id, one.task_id, one.node_id, one.superstep) == ("t", "r", "r/1", "0.0", "start", 0)
    assert one.config is config
    assert not one.cancelled
    await graph.step(graph.start(None))
    assert (seen[1].thread_id, seen[1].checkpoint_id) == ("", "")


async def test_the_birth_id_is_the_threads(runtime: GraphRuntime) -> None:
    """D13: the same over turns, another for every thread, random."""
    seen: dict[str, set[str]] = {}
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start(context: RunContext) -> None:
        seen.setdefault(context.thread_id, set()).add(context.birth_id)

    graph = builder.compile(start, output=lambda _: None)
    for thread_id in ("t", "t", "u"):
        await runtime.run(thread_id, graph, None)
    assert [len(ids_) for ids_ in seen.values()] == [1, 1]
    assert seen["t"] != seen["u"]
    assert all(len(one) >= 32 for ids_ in seen.values() for one in ids_)
