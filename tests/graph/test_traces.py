"""The worked traces (5.8)."""

from __future__ import annotations

from typing import Any

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, PendingInterrupt, RunConfig, Suspended

from .graphs import ITEMS, LOG, chain, completed, fan, ids, nothing, output
from .holds import AFTER, BEFORE, after, before, proceed


async def test_trace_before_middle(runtime: GraphRuntime, store: Checkpointer) -> None:
    """5.8: held as 1.0 with null as the question, ran as 2.0, end as 3.0."""
    made = chain()
    held = await runtime.run("t", made.graph, 1, before("middle"))
    assert isinstance(held, Suspended)
    assert held.interrupts == (PendingInterrupt("1.0", "middle", None, BEFORE),)
    assert held.state[LOG] == ["start"]
    assert output(await proceed(runtime, made.graph, "1.0", config=before("middle"))) == ["start", "middle", "end"]
    assert await completed(store) == ["0.0 start", "2.0 middle", "3.0 end"]


async def test_trace_after_middle(runtime: GraphRuntime, store: Checkpointer) -> None:
    """5.8, R5.12, R5.13: what it did is there while it is held; the replay is 2.0, end 3.0."""
    made = chain()
    held = await runtime.run("t", made.graph, 1, after("middle"))
    assert isinstance(held, Suspended)
    assert held.interrupts == (PendingInterrupt("1.0", "middle", None, AFTER),)
    assert held.state[LOG] == ["start", "middle"]
    assert held.execution.frontier == ()
    assert output(await proceed(runtime, made.graph, "1.0", config=after("middle"))) == ["start", "middle", "end"]
    assert await completed(store) == ["0.0 start", "1.0 middle", "2.0 middle", "3.0 end"]
    assert made.ran == {"start": 1, "middle": 1, "end": 1}


async def test_trace_before_and_after_middle(runtime: GraphRuntime, store: Checkpointer) -> None:
    """5.8, R5.5: held before it runs and, once answered and run, again after; the replay is 3.0, end 4.0."""
    made = chain()
    config = RunConfig(interrupt_before="middle", interrupt_after="middle")
    held = await runtime.run("t", made.graph, 1, config)
    assert [(one.id, one.breakpoint) for one in held.interrupts] == [("1.0", BEFORE)]  # type: ignore[union-attr]
    held = await proceed(runtime, made.graph, "1.0", config=config)
    assert [(one.id, one.breakpoint) for one in held.interrupts] == [("2.0", AFTER)]  # type: ignore[union-attr]
    assert held.state[LOG] == ["start", "middle"]
    assert output(await proceed(runtime, made.graph, "2.0", config=config)) == ["start", "middle", "end"]
    assert await completed(store) == ["0.0 start", "2.0 middle", "3.0 middle", "4.0 end"]
    assert made.ran == {"start": 1, "middle": 1, "end": 1}


async def test_trace_a_fan_out_is_let_through_one_at_a_time(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-04, BRK-05, BRK-06, R5.9, R5.35, 5.8: results in the order of answering."""
    made = fan()
    held = await runtime.run("t", made.graph, ["a", "b"], before("worker"))
    assert isinstance(held, Suspended)
    assert [(one.id, one.question) for one in held.interrupts] == [("1.0", "a"), ("1.1", "b")]
    (one,) = held.execution.activations.values()
    assert (one.fan_out_task, one.expected) == ("0.0", ("1.0", "1.1"))
    held = await proceed(runtime, made.graph, "1.1")
    assert isinstance(held, Suspended)
    assert ids(held) == ["1.0"]
    assert held.state[ITEMS] == ["planned", "B"]
    assert (made.ran["summarize"], made.ran["a"]) == (0, 0)
    (one,) = held.execution.activations.values()
    assert one.arrived == {"1.1"}
    assert output(await proceed(runtime, made.graph, "1.0")) == ["planned", "B", "A", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (1, 1)
    assert await completed(store) == ["0.0 plan", "2.0 worker", "3.0 worker", "4.0 summarize"]


async def test_trace_workers_held_after(runtime: GraphRuntime) -> None:
    """5.8, R5.15: both results are committed while held, the join is closed until the second is released; each worker runs once."""
    made = fan()
    held = await runtime.run("t", made.graph, ["a", "b"], after("worker"))
    for state, waiting, arrived in ((["planned", "A", "B"], ["1.0", "1.1"], set()), (["planned", "A", "B"], ["1.1"], {"1.0"})):
        assert isinstance(held, Suspended)
        assert (held.state[ITEMS], ids(held)) == (state, waiting)
        assert all(one.breakpoint is AFTER for one in held.interrupts)
        (one,) = held.execution.activations.values()
        assert one.arrived == arrived
        held = await proceed(runtime, made.graph, waiting[0], config=after("worker"))
    assert output(held) == ["planned", "A", "B", "summ"]
    assert made.ran == {"plan": 1, "a": 1, "b": 1, "summarize": 1}


async def test_trace_a_released_fan_out_opens_under_the_continuations_id(runtime: GraphRuntime) -> None:
    """5.8, R5.15, R5.21."""
    made = fan()
    config = RunConfig(interrupt_after="plan", interrupt_before="worker")
    held = await runtime.run("t", made.graph, ["a"], config)
    assert isinstance(held, Suspended)
    assert [(one.id, one.question, one.breakpoint) for one in held.interrupts] == [("0.0", None, AFTER)]
    assert not held.execution.activations
    held = await proceed(runtime, made.graph, "0.0", config=config)
    assert isinstance(held, Suspended)
    assert [(one.id, one.question) for one in held.interrupts] == [("2.0", "a")]
    (one,) = held.execution.activations.values()
    assert (one.fan_out_task, one.expected) == ("1.0", ("2.0",))
    assert output(await proceed(runtime, made.graph, "2.0", config=config)) == ["planned", "A", "summ"]


async def test_trace_sibling_work_runs_beside_the_replay(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-33, 5.8: p2 waits in the frontier and runs in the replay superstep, q2 in the next."""
    builder = GraphBuilder("g", version="1")

    def logs(name: str, target: Any = None) -> Any:
        @builder.node(name, writes=LOG)
        async def node() -> Command:
            command = Command().update(LOG, name)
            return command if target is None else command.goto(target)

        return node

    p, q = logs("p", logs("p2")), logs("q", logs("q2"))
    start = builder.node("start")(nothing)
    builder.edge(start, p)
    builder.edge(start, q)
    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None, after("q"))
    assert isinstance(held, Suspended)
    assert ids(held) == ["1.1"]
    assert [(task.id, task.node) for task in held.execution.frontier] == [("2.0", "p2")]
    done = await proceed(runtime, graph, "1.1")
    assert output(done) == ["p", "q", "p2", "q2"]
    assert done.superstep == 4  # type: ignore[union-attr]
    assert await completed(store) == ["0.0 start", "1.0 p", "1.1 q", "2.0 p2", "2.1 q", "3.0 q2"]


async def test_trace_a_static_join_source_held_after(runtime: GraphRuntime) -> None:
    """5.8, R5.12: the arrival is withheld with everything else."""
    builder = GraphBuilder("g", version="1")

    def logs(name: str) -> Any:
        @builder.node(name, writes=LOG)
        async def node() -> Command:
            return Command().update(LOG, name)

        return node

    left, right, merge = logs("l"), logs("r"), logs("m")
    start = builder.node("start")(nothing)
    builder.edge(start, left)
    builder.edge(start, right)
    builder.static_join("both", [left, right], merge)
    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None, after("l"))
    assert isinstance(held, Suspended)
    assert held.execution.arrivals == {"both": frozenset({"r"})}
    assert held.state[LOG] == ["l", "r"]
    assert output(await proceed(runtime, graph, "1.0")) == ["l", "r", "m"]
