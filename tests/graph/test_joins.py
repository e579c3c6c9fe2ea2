"""Static and dynamic joins (JON, R3.10-R3.15)."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import InvalidRoute, NodeFailed, UnsatisfiedJoin
from llm4s_notebook.graph import (
    Command,
    Execution,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    StateKey,
    Suspend,
    Suspended,
    ThreadState,
)

from .graphs import LOG, Another, drive, fan, ids, nothing, output

ROUND = StateKey.replace("round", int, initial=0)


async def test_a_source_that_completes_twice_counts_once_and_the_join_arms_again(runtime: GraphRuntime) -> None:
    """JON-02, R3.10, R1.27: in each of two rounds left completes twice before right does."""
    builder = GraphBuilder("g", version="1")
    left, right, slow = builder.declare("left"), builder.declare("right"), builder.declare("slow")
    start = builder.declare("start")

    @builder.implement(start)
    async def begin() -> Command:
        return Command().goto(left).goto(left).goto(slow)

    @builder.implement(left, writes=LOG)
    async def left_node() -> Command:
        return Command().update(LOG, "left")

    @builder.implement(slow)
    async def slow_node() -> Command:
        return Command().goto(right)

    @builder.implement(right, writes=LOG)
    async def right_node() -> Command:
        return Command().update(LOG, "right")

    @builder.node("merge", writes=[LOG, ROUND])
    async def merge(state: ThreadState) -> Command:
        command = Command().update(LOG, "merge").update(ROUND, state[ROUND] + 1)
        return command.goto(start) if state[ROUND] == 0 else command

    builder.static_join("both", [left, right], merge)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert output(await drive(graph, graph.start(None))) == ["left", "left", "right", "merge"] * 2
    assert output(await runtime.run("t", graph, None)) == ["left", "left", "right", "merge"] * 2


async def test_a_join_that_cannot_be_satisfied_fails_the_run_and_keeps_earlier_work(runtime: GraphRuntime, store: Checkpointer) -> None:
    """JON-03, R3.14."""
    builder = GraphBuilder("g", version="1")

    @builder.node("here", writes=LOG)
    async def here() -> Command:
        return Command().update(LOG, "here")

    never = builder.node("never")(nothing)
    builder.static_join("both", [here, never], builder.node("merge")(nothing))
    graph = builder.compile(here, output=lambda state: state[LOG])
    for call in (lambda: runtime.start("t", graph, None), lambda: runtime.recover("t", graph)):
        with pytest.raises(UnsatisfiedJoin) as caught:
            await (await call())
        assert (caught.value.join_id, caught.value.missing) == ("both", ("never",))
        latest = await store.latest("t")
        assert latest is not None
        assert latest.checkpoint.status is CheckpointStatus.RUNNING
        assert graph.restore(latest.checkpoint).state[LOG] == ["here"]


@pytest.mark.parametrize("seed", range(6))
async def test_a_fan_out_is_joined_once_with_results_in_item_order(runtime: GraphRuntime, seed: int) -> None:
    """JON-04."""
    made = fan(delays=["a", "b", "c", "d"])
    order = list("abcd")
    random.Random(seed).shuffle(order)

    async def release() -> None:
        for name in order:
            made.delays[name].set()
            await asyncio.sleep(0)

    task = asyncio.create_task(release())
    assert output(await runtime.run("t", made.graph, list("abcd"))) == ["planned", "A", "B", "C", "D", "summ"]
    assert made.ran["summarize"] == 1
    await task


async def test_an_empty_fan_out_releases_at_once() -> None:
    """JON-06, R3.11."""
    made = fan()
    after = await made.graph.step(made.graph.start([]))
    assert isinstance(after, Execution)
    assert [(task.id, task.node) for task in after.frontier] == [("1.0", "summarize")]
    assert not after.activations


async def test_a_join_counts_the_children_only() -> None:
    """JON-07, R3.12: what children send comes first in the frontier and delays nothing."""
    builder = GraphBuilder("g", version="1")
    done = builder.node("done")(nothing)
    join = builder.dynamic_join("j", done)

    @builder.node("more")
    async def more(n: int) -> None: ...

    @builder.node("child")
    async def child(n: int) -> Command:
        return Command().send(more, n)

    @builder.node("start")
    async def start() -> Command:
        return Command().fan_out(join, child, [1, 2])

    graph = builder.compile(start, output=lambda _: None)
    after = await graph.step(graph.start(None))
    assert isinstance(after, Execution)
    after = await graph.step(after)
    assert isinstance(after, Execution)
    assert [(task.id, task.node, task.slot) for task in after.frontier] == [
        ("2.0", "more", None),
        ("2.1", "more", None),
        ("2.2", "done", None),
    ]


async def test_a_command_fans_out_to_a_join_once_and_two_tasks_make_two_activations(runtime: GraphRuntime) -> None:
    """JON-08, R3.3, R3.11, R1.27."""
    builder = GraphBuilder("g", version="1")

    @builder.node("done", writes=LOG)
    async def done() -> Command:
        return Command().update(LOG, "done")

    join = builder.dynamic_join("j", done)

    @builder.node("child")
    async def child(n: int) -> None: ...

    @builder.node("fans")
    async def fans(twice: bool) -> Command:
        command = Command().fan_out(join, child, [1])
        return command.fan_out(join, child, [2]) if twice else command

    @builder.node("start")
    async def start(twice: bool) -> Command:
        return Command().send(fans, twice).send(fans, twice)

    graph = builder.compile(start, output=lambda state: state[LOG])
    with pytest.raises(InvalidRoute):
        await drive(graph, graph.start(True))
    with pytest.raises(InvalidRoute):
        await runtime.run("t", graph, True)
    assert output(await drive(graph, graph.start(False))) == output(await runtime.run("u", graph, False)) == ["done", "done"]


async def test_static_joins_are_released_before_dynamic_ones() -> None:
    """R3.7: pass 2, static joins as declared, then activations, oldest first."""
    builder = GraphBuilder("g", version="1")
    one, two, three = (builder.node(name)(nothing) for name in ("one", "two", "three"))
    a = builder.declare("a")
    dynamic = builder.dynamic_join("dynamic", three)

    @builder.node("child")
    async def child(n: int) -> None: ...

    @builder.node("start")
    async def start() -> Command:
        return Command().fan_out(dynamic, child, [1]).goto(a)

    builder.implement(a)(nothing)
    builder.static_join("second", [a], two)
    builder.static_join("first", [child, a], one)
    graph = builder.compile(start, output=lambda _: None)
    after = await graph.step(graph.start(None))
    assert isinstance(after, Execution)
    after = await graph.step(after)
    assert isinstance(after, Execution)
    assert [task.node for task in after.frontier] == ["two", "one", "three"]


async def test_fan_outs_to_one_join_are_counted_apart(runtime: GraphRuntime) -> None:
    """R3.11, R1.27: two tasks fan out to it; the one whose children are done releases it while the other's child waits for a person."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)

    @builder.node("done", writes=LOG)
    async def done() -> Command:
        return Command().update(LOG, "done")

    join = builder.dynamic_join("join", done)

    @builder.node("child", writes=LOG)
    async def child(name: str) -> Command | Suspend[str, str]:
        return Suspend(name, ask) if name == "ask" else Command().update(LOG, name)

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        return Command().update(LOG, given.answer)

    @builder.node("fans")
    async def fans(names: list[str]) -> Command:
        return Command().fan_out(join, child, names)

    @builder.node("start")
    async def start() -> Command:
        return Command().send(fans, ["a", "ask"]).send(fans, ["b"])

    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None)
    assert isinstance(held, Suspended)
    assert [(one.fan_out_task, one.expected, one.arrived) for one in held.execution.activations.values()] == [
        ("1.0", ("2.0", "2.1"), frozenset({"2.0"}))
    ]
    assert [task.node for task in held.execution.frontier] == ["done"]
    assert output(await (await runtime.resume("t", graph, {"2.1": "answer"}))) == ["a", "b", "done", "answer", "done"]


async def test_of_activations_released_together_the_oldest_comes_first(runtime: GraphRuntime, another: Another) -> None:
    """R3.7: the age of the fan-out decides, not the order in which children arrive; also after a restore."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    later = builder.declare("later")
    first_done, second_done = (builder.node(name)(nothing) for name in ("first done", "second done"))
    first, second = builder.dynamic_join("first", first_done), builder.dynamic_join("second", second_done)

    @builder.node("child")
    async def child(name: str) -> Suspend[str, str]:
        return Suspend(name, ask)

    @builder.implement(ask)
    async def answered(given: Resumed[str, str]) -> Suspend[str, str] | None:
        return Suspend("again", ask) if given.answer == "again" else None

    @builder.node("start")
    async def start() -> Command:
        return Command().fan_out(first, child, ["old"]).goto(later)

    @builder.implement(later)
    async def later_node() -> Command:
        return Command().fan_out(second, child, ["new"])

    graph = builder.compile(start, output=lambda _: None)
    held: Any = await runtime.run("t", graph, None)
    held = await (await runtime.resume("t", graph, {held.interrupts[0].id: "again"}))
    held = await (await runtime.resume("t", graph, {ids(held)[-1]: "again"}))
    waiting = {one.id: one.question for one in held.interrupts}
    assert len(waiting) == 2
    config = RunConfig(interrupt_before=["first done", "second done"])
    held = await (await another().resume("t", graph, {id: "done" for id in waiting}, config))
    assert [one.resume_node for one in held.interrupts] == ["first done", "second done"]


async def test_the_first_unsatisfied_join_in_declaration_order_is_the_one_reported() -> None:
    """R3.14: of two, whatever order their sources completed in; with what is missing of it."""
    builder = GraphBuilder("g", version="1")
    here, there = builder.node("here")(nothing), builder.node("there")(nothing)
    never, nowhere = builder.node("never")(nothing), builder.node("nowhere")(nothing)
    end = builder.node("end")(nothing)
    builder.static_join("declared first", [there, nowhere, never], end)
    builder.static_join("declared second", [here, never], end)
    builder.edge(here, there)
    graph = builder.compile(here, output=lambda _: None)
    with pytest.raises(UnsatisfiedJoin) as caught:
        await drive(graph, graph.start(None))
    assert (caught.value.join_id, set(caught.value.missing)) == ("declared first", {"nowhere", "never"})


@pytest.mark.parametrize("helped", ["by its origin", "by an edge of its node", "by a declared route of its node", "by nobody"])
async def test_an_open_join_waits_for_what_a_parked_continuation_can_do(runtime: GraphRuntime, store: Checkpointer, helped: str) -> None:
    """R3.14, R3.13: the run goes quiet while a question is parked, whose continuation arrives for the task that asked, or leads to a
    source of the join; a join that nothing parked can help ends the run, although something waits."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    beside = builder.declare_resume("beside", question=str, answer=str)
    source, end = builder.declare("source"), builder.declare("end")

    @builder.node("asks")
    async def asks() -> Suspend[str, str]:
        return Suspend("?", ask)

    @builder.node("asks beside")
    async def asks_beside() -> Suspend[str, str]:
        return Suspend("?", beside)

    routes = source if helped == "by a declared route of its node" else ()

    @builder.implement(ask, routes=routes)
    async def answered(given: Resumed[str, str]) -> Command:
        return Command().goto(source) if routes else Command()

    builder.implement(beside)(nothing)
    builder.implement(source)(nothing)

    @builder.implement(end, writes=LOG)
    async def end_node() -> Command:
        return Command().update(LOG, "end")

    other, start = builder.node("other")(nothing), builder.node("start")(nothing)
    for target in (asks, asks_beside, other):
        builder.edge(start, target)
    if helped == "by an edge of its node":
        builder.edge(ask, source)
    builder.static_join("join", [other, asks if helped == "by its origin" else source], end)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert ids(await runtime.run("t", graph, None)) == ["1.0", "1.1"]
    quiet = await runtime.resume("t", graph, {"1.1": "x"})
    if helped == "by nobody":
        with pytest.raises(UnsatisfiedJoin) as caught:
            await quiet
        assert (caught.value.join_id, caught.value.missing) == ("join", ("source",))
        assert (await store.head("t")).status is CheckpointStatus.RUNNING
    else:
        assert ids(await quiet) == ["1.0"]
        assert output(await (await runtime.resume("t", graph, {"1.0": "x"}))) == ["end"]


async def test_a_quiet_run_whose_join_nothing_can_help_fails_although_something_waits(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R3.14: the join comes first; what waits stays parked on the thread, which recover finds the same."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    builder.implement(ask)(nothing)

    @builder.node("asks")
    async def asks() -> Suspend[str, str]:
        return Suspend("?", ask)

    other, start, never = builder.node("other")(nothing), builder.node("start")(nothing), builder.node("never")(nothing)
    builder.edge(start, asks)
    builder.edge(start, asks)
    builder.edge(start, other)
    builder.static_join("join", [other, never], builder.node("end")(nothing))
    graph = builder.compile(start, output=lambda _: None)
    assert ids(await runtime.run("t", graph, None)) == ["1.0", "1.1"]
    for call in (lambda: runtime.resume("t", graph, {"1.0": "x"}), lambda: runtime.recover("t", graph)):
        with pytest.raises(UnsatisfiedJoin) as caught:
            await (await call())
        assert (caught.value.join_id, caught.value.missing) == ("join", ("never",))
        latest = await store.latest("t")
        assert latest is not None
        assert (latest.checkpoint.status, latest.checkpoint.interrupts) == (CheckpointStatus.RUNNING, ("1.1",))


async def test_a_join_with_no_arrival_at_all_is_no_error(runtime: GraphRuntime) -> None:
    """JON-09, R3.15."""
    builder = GraphBuilder("g", version="1")
    start = builder.node("start")(nothing)
    never = builder.node("never")(nothing)
    builder.static_join("j", [never], start)
    graph = builder.compile(start, output=lambda _: "done")
    assert output(await drive(graph, graph.start(None))) == output(await runtime.run("t", graph, None)) == "done"


async def test_a_failed_child_leaves_the_join_to_recover(runtime: GraphRuntime) -> None:
    """R3.5, R3.19."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b", "c"])
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "B", "C", "summ"]
    assert made.ran == {"plan": 1, "a": 1, "b": 2, "c": 1, "summarize": 1}
