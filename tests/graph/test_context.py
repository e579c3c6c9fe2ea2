"""What a task knows of its run (1.4)."""

from __future__ import annotations

from llm4s_notebook.graph import GraphBuilder, GraphRuntime, RunConfig, RunContext

from .graphs import drive, output


async def test_a_task_knows_where_it_is(runtime: GraphRuntime) -> None:
    """R1.28: thread, run, the checkpoint whose frontier it is in, task, node, superstep, and the very config."""
    seen: list[tuple[object, ...]] = []
    contexts: list[RunContext] = []
    builder = GraphBuilder("g", version="1")

    async def note(context: RunContext) -> None:
        contexts.append(context)
        seen.append((context.thread_id, context.run_id, context.checkpoint_id, context.task_id, context.node_id, context.superstep))

    second = builder.node("second")(note)
    start = builder.node("start")(note)
    builder.edge(start, second)
    builder.edge(start, second)
    graph = builder.compile(start, output=lambda _: None)
    config = RunConfig(run_id="r", principal="ana", metadata={"a": 1})
    await runtime.run("t", graph, None, config)
    assert seen == [
        ("t", "r", "r/1", "0.0", "start", 0),
        ("t", "r", "r/2", "1.0", "second", 1),
        ("t", "r", "r/2", "1.1", "second", 1),
    ]
    assert all(one.config is config and not one.cancelled for one in contexts)


async def test_outside_a_runtime_a_task_is_nowhere_and_heard_by_nobody() -> None:
    """R1.29, R3.29: the checkpoint id is the empty string, and what it emits and tells is dropped."""
    seen: list[RunContext] = []
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start(context: RunContext) -> None:
        seen.append(context)
        context.emit("did", {"a": 1})
        context.progress("doing", {"a": 1})

    graph = builder.compile(start, output=lambda _: "done")
    assert output(await drive(graph, graph.start(None))) == "done"
    (one,) = seen
    assert (one.thread_id, one.run_id, one.checkpoint_id, one.task_id, one.node_id, one.superstep) == ("", "", "", "0.0", "start", 0)
    assert not one.cancelled


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
