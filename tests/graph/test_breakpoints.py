"""Declaring breakpoints and answering them (5.1, 5.4, 5.5, BRK)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError, InvalidResume, PendingInterrupts
from llm4s_notebook.graph import Breakpoint, Command, GraphBuilder, GraphRuntime, Resumed, RunConfig, Suspend, Suspended

from .graphs import LOG, Another, chain, fan, ids, log, nothing, output, trace
from .holds import AFTER, BEFORE, after, before, proceed


async def test_an_unknown_breakpoint_is_refused_before_the_thread_is_read(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-45, R5.4: by start, resume and recover, on any thread, listing every unknown node in order."""
    made = chain()
    unknown = ["ant", "asp", "auk", "ewe", "fox", "zebra"]
    config = RunConfig(interrupt_before={*unknown, "start"}, interrupt_after={*reversed(unknown), "end"})  # type: ignore[arg-type]
    wanted = tuple(
        f"{side} names node '{node}', which graph 'chain' does not have"
        for side in ("interrupt_before", "interrupt_after")
        for node in unknown
    )
    await runtime.run("held", made.graph, 1, before("middle"))
    unchanged = await trace(store, "held")
    for thread_id in ("held", "new"):
        for call in (
            runtime.start(thread_id, made.graph, 1, config),
            runtime.resume(thread_id, made.graph, {"1.0": None}, config),
            runtime.recover(thread_id, made.graph, config),
        ):
            with pytest.raises(ConfigError) as caught:
                await call
            assert (caught.value.field, caught.value.problems) == ("breakpoints", wanted)
    for one in (config, before("zebra"), after("zebra")):
        with pytest.raises(ConfigError) as caught:
            await made.graph.step(made.graph.start(1), one)
        assert set(caught.value.problems) <= set(wanted)
    for one in (before("zebra"), after("zebra")):
        with pytest.raises(ConfigError):
            await runtime.start("new", made.graph, 1, one)
    assert await trace(store, "held") == unchanged
    assert (await store.head("new")).checkpoint_id is None
    await store.aclose()  # from now on reading a thread fails
    for call in (
        runtime.start("held", made.graph, 1, config),
        runtime.resume("held", made.graph, {"1.0": None}, config),
        runtime.recover("held", made.graph, config),
    ):
        with pytest.raises(ConfigError):
            await call


async def test_a_breakpoint_at_no_node_is_refused_at_admission_not_at_compile(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R2.6, R5.4: the graph compiles whatever a run will name."""
    with pytest.raises(ConfigError, match="nowhere"):
        await runtime.run("t", chain().graph, 1, RunConfig(interrupt_before=["nowhere"]))
    assert await store.latest("t") is None


async def test_breakpoints_are_not_stored_with_the_thread(runtime: GraphRuntime, another: Another) -> None:
    """R5.3, R1.37: another run without them is not held, and the graph is the same graph."""
    made = chain()
    await runtime.run("t", made.graph, 1, before("middle", "end"))
    other = chain()
    assert other.graph.fingerprint == made.graph.fingerprint
    assert output(await proceed(another(), other.graph, "1.0")) == ["start", "middle", "end"]


async def test_a_config_belongs_to_one_run(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.30: neither its breakpoints, nor its run id or principal are the next run's; the principal is recorded, never checked."""
    made = chain()
    config = RunConfig(interrupt_before=["middle", "end"], run_id="mine", principal="ann", metadata={"any": ["thing"]})
    held = await runtime.run("t", made.graph, 1, config)
    handle = await runtime.resume("t", made.graph, {ids(held)[0]: Breakpoint.proceed})
    assert output(await handle) == ["start", "middle", "end"]  # not held before end
    assert handle.run_id != "mine"
    assert [getattr(event, "principal", "-") for event in await log(store) if hasattr(event, "principal")] == ["ann", None]


@pytest.mark.parametrize("answer", ["yes", False, 0, "", {}, [], True])
async def test_a_breakpoint_takes_no_answer_but_proceed(runtime: GraphRuntime, store: Checkpointer, answer: Any) -> None:
    """BRK-15, BRK-29, R5.23, R4.19."""
    made = chain()
    await runtime.run("t", made.graph, 1, before("middle"))
    unchanged = await trace(store)
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", made.graph, {"1.0": answer})
    assert [(problem.interrupt_id, problem.code) for problem in caught.value.problems] == [("1.0", "invalid")]
    assert await trace(store) == unchanged
    assert made.ran["middle"] == 0


async def test_a_typed_answer_and_a_hold_wait_side_by_side(runtime: GraphRuntime) -> None:
    """R5.24: answered separately, any non-empty subset."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=int)

    @builder.node("asks")
    async def asks() -> Suspend[str, int]:
        return Suspend("?", ask)

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, int]) -> Command:
        return Command().update(LOG, str(given.answer))

    @builder.node("held", writes=LOG)
    async def held() -> Command:
        return Command().update(LOG, "held")

    start = builder.node("start")(nothing)
    builder.edge(start, asks)
    builder.edge(start, held)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert ids(await runtime.run("t", graph, None, before("held"))) == ["1.0", "1.1"]
    assert ids(await proceed(runtime, graph, "1.1")) == ["1.0"]
    assert output(await (await runtime.resume("t", graph, {"1.0": 5}))) == ["held", "5"]


async def test_a_held_thread_refuses_start_and_recover(runtime: GraphRuntime, another: Another) -> None:
    """BRK-16, R5.25: also from another runtime."""
    made = chain()
    await runtime.run("t", made.graph, 1, before("middle"))
    for one in (runtime, another()):
        for call in (one.start("t", made.graph, 1), one.recover("t", made.graph)):
            with pytest.raises(PendingInterrupts) as caught:
                await call
            assert caught.value.interrupt_ids == ("1.0",)


async def test_a_resume_may_bring_other_breakpoints(runtime: GraphRuntime) -> None:
    """BRK-31, R5.10, R5.26-R5.28: the mark holds against a new before-breakpoint on the same node."""
    made = chain()
    await runtime.run("t", made.graph, 1, before("middle"))
    config = RunConfig(interrupt_before="middle", interrupt_after="end")
    held = await proceed(runtime, made.graph, "1.0", config=config)
    assert isinstance(held, Suspended)
    assert [(one.id, one.resume_node, one.breakpoint) for one in held.interrupts] == [("3.0", "end", AFTER)]
    assert held.state[LOG] == ["start", "middle", "end"]
    assert output(await proceed(runtime, made.graph, "3.0")) == ["start", "middle", "end"]


async def test_tasks_that_wait_in_the_frontier_are_judged_by_the_run_that_executes_them(runtime: GraphRuntime) -> None:
    """R5.28: they were scheduled under another configuration, which named neither; the next run holds one before and one after."""
    builder = GraphBuilder("g", version="1")

    def says(name: str, *targets: Any) -> Any:
        @builder.node(name, writes=LOG)
        async def node() -> Command:
            command = Command().update(LOG, name)
            for target in targets:
                command = command.goto(target)
            return command

        return node

    p2, p3 = says("p2"), says("p3")
    q = says("q")
    start = says("start", says("p", p2, p3), q)
    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None, after("q"))
    assert isinstance(held, Suspended)
    assert [task.node for task in held.execution.frontier] == ["p2", "p3"]
    held = await proceed(runtime, graph, "1.1", config=RunConfig(interrupt_before="p2", interrupt_after="p3"))
    assert [(one.resume_node, one.breakpoint) for one in held.interrupts] == [("p2", BEFORE), ("p3", AFTER)]  # type: ignore[union-attr]
    assert output(await proceed(runtime, graph, *ids(held))) == ["start", "p", "q", "p3", "p2"]


async def test_what_is_held_stays_held_whatever_the_resuming_run_says(runtime: GraphRuntime) -> None:
    """R5.26, R5.27: no answer, no release; and the rest is not held without breakpoints."""
    made = fan()
    await runtime.run("t", made.graph, ["a", "b"], before("worker", "summarize"))
    held = await proceed(runtime, made.graph, "1.0")
    assert ids(held) == ["1.1"]
    assert output(await proceed(runtime, made.graph, "1.1")) == ["planned", "A", "B", "summ"]
