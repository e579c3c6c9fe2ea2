"""Suspending: when a run pauses, and what it says waits (4.1)."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import InvalidRoute, UndeclaredWrite
from llm4s_notebook.graph import (
    Block,
    Command,
    CompiledGraph,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    StateKey,
    Suspend,
    Suspended,
    events,
)

from .graphs import LOG, fan, ids, log, nothing, output

N = StateKey.replace("n", int, initial=0)


async def test_siblings_commit_with_a_suspension_and_nothing_follows_before_the_answer(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.2, R4.3, R4.5, R4.11: the pause holds though a sibling scheduled more work, which runs with the continuation and before it."""
    builder = GraphBuilder("g", version="1")
    later = builder.declare("later")
    ask = builder.declare_resume("ask", question=str, answer=str)

    @builder.node("asks", writes=LOG)
    async def asks() -> Suspend[str, str]:
        return Suspend("who?", ask, Command().update(LOG, "asked"))

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        return Command().update(LOG, f"{given.question} {given.answer}")

    @builder.node("sibling", writes=LOG)
    async def sibling() -> Command:
        return Command().update(LOG, "sibling").goto(later)

    @builder.implement(later, writes=LOG)
    async def later_node() -> Command:
        return Command().update(LOG, "later")

    start = builder.node("start")(nothing)
    builder.edge(start, asks)
    builder.edge(start, sibling)
    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None)
    assert isinstance(held, Suspended)
    assert held.state[LOG] == ["asked", "sibling"]
    (one,) = held.interrupts
    assert (one.id, one.resume_node, one.question, one.breakpoint) == ("1.0", "ask", "who?", None)
    assert [task.id for task in held.execution.frontier] == ["2.0"]
    assert output(await (await runtime.resume("t", graph, {"1.0": "me"}))) == ["asked", "sibling", "later", "who? me"]
    tasks = [(one.task_id, one.node_id) for one in await store.events_after("t", 0) if isinstance(one.event, events.TaskCompleted)]
    assert tasks == [("0.0", "start"), ("1.1", "sibling"), ("2.0", "later"), ("2.1", "ask")]


async def test_a_suspension_is_checked_like_every_result() -> None:
    """SUS-08, R3.3: write set first, then the resume node, which is of this graph and one to resume at."""
    other = GraphBuilder("other", version="1").declare_resume("ask", question=str, answer=str)
    for update, target, error in ((Command().update(N, 1), None, UndeclaredWrite), (Command(), other, InvalidRoute)):
        builder = GraphBuilder("g", version="1")
        ask = builder.declare_resume("ask", question=str, answer=str)
        builder.implement(ask)(nothing)

        async def start(update: Command, target: Any) -> Suspend[str, str]:
            return Suspend("?", target, update)

        node = builder.node("start")(functools.partial(start, update=update, target=target or ask))
        graph = builder.compile(node, output=lambda _: None)
        with pytest.raises(error):
            await graph.step(graph.start(None))
    builder = GraphBuilder("g", version="1")
    plain = builder.node("plain")(nothing)

    @builder.node("start")
    async def to_plain() -> Suspend[Any, Any]:
        return Suspend("?", plain)  # type: ignore[arg-type]

    graph = builder.compile(to_plain, output=lambda _: None)
    with pytest.raises(InvalidRoute):
        await graph.step(graph.start(None))


async def test_a_question_raised_while_another_waits_is_listed_after_it(runtime: GraphRuntime) -> None:
    """F08: P and R pause while a sibling routes on to Q, which asks."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        return Command().update(LOG, f"{given.question}={given.answer}")

    def asks(name: str) -> Any:
        async def node() -> Suspend[str, str]:
            return Suspend(name, ask)

        return builder.node(name)(node)

    p, r, q = asks("P"), asks("R"), asks("Q")

    @builder.node("S")
    async def sibling() -> Command:
        return Command().goto(q)

    start = builder.node("start")(nothing)
    for target in (p, r, sibling):
        builder.edge(start, target)
    graph = builder.compile(start, output=lambda state: state[LOG])
    paused = await runtime.run("t", graph, None)
    assert [one.question for one in paused.interrupts] == ["P", "R"]  # type: ignore[union-attr]
    after_r = await (await runtime.resume("t", graph, {"1.1": "r"}))
    assert [(one.id, one.question) for one in after_r.interrupts] == [("1.0", "P"), ("2.0", "Q")]  # type: ignore[union-attr]
    after_q = await (await runtime.resume("t", graph, {"2.0": "q"}))
    assert [one.question for one in after_q.interrupts] == ["P"]  # type: ignore[union-attr]
    assert after_q.state[LOG] == ["R=r", "Q=q"]
    assert output(await (await runtime.resume("t", graph, {"1.0": "p"}))) == ["R=r", "Q=q", "P=p"]


class Refusing(Exception):
    pass


@pytest.mark.parametrize("how", ["completes", "suspends", "is held before", "is held after", "blocks"])
async def test_what_is_parked_sets_nothing_in_motion(runtime: GraphRuntime, store: Checkpointer, how: str) -> None:
    """R3.9, R4.1, R5.1: no edge, no route, no fan-out, no arrival at either join, whichever way it came to wait or to block; one
    interrupt, whose id is the task's. A task that just completes sets all of them in motion."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    builder.implement(ask)(nothing)
    edge, route, both, all_, fanned = (builder.node(name)(nothing) for name in ("edge", "route", "both", "all", "fanned"))
    outer, inner = builder.dynamic_join("outer", all_), builder.dynamic_join("inner", fanned)

    @builder.node("child")
    async def child(n: int) -> None: ...

    @builder.node("one", writes=LOG)
    async def one(n: int) -> Command | Suspend[str, str] | Block:
        update = Command().update(LOG, "one")
        if how == "suspends":
            return Suspend("?", ask, update)
        return Block(Refusing(), update) if how == "blocks" else update.goto(route).fan_out(inner, child, [1])

    @builder.node("other")
    async def other() -> None: ...

    @builder.node("start")
    async def start() -> Command:
        return Command().fan_out(outer, one, [1]).goto(other)

    builder.edge(one, edge)
    builder.static_join("join", [one, other], both)
    graph = builder.compile(start, output=lambda _: None)
    sides = {"is held before": {"interrupt_before": "one"}, "is held after": {"interrupt_after": "one"}}
    config = RunConfig(**sides.get(how, {}))  # type: ignore[arg-type]
    if how == "blocks":
        with pytest.raises(Refusing):
            await runtime.run("t", graph, None, config)
        latest = await store.latest("t")
        assert latest is not None
        execution = graph.restore(latest.checkpoint)
        assert (execution.frontier, execution.parked, execution.arrivals, execution.activations) == ((), {}, {}, {})
        return
    at: Any = await graph.step(graph.start(None))
    at = await graph.step(at, config)
    execution = at.execution if isinstance(at, Suspended) else at
    if how == "completes":
        assert [task.node for task in execution.frontier] == ["edge", "route", "child", "both", "all"]
        return
    assert isinstance(at, Suspended)
    assert execution.frontier == ()
    assert list(execution.parked) == ["1.0"]
    assert execution.arrivals == {"join": frozenset({"other"})}
    assert [(one.join_id, one.expected, one.arrived) for one in execution.activations.values()] == [("outer", ("1.0",), frozenset())]
    assert execution.state[LOG] == ([] if how == "is held before" else ["one"])


async def test_everything_that_waits_has_an_id_of_its_own(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.1, R1.3: questions and holds of both sides, of one superstep and of several; none is another's, one task waits once."""
    made = fan()
    seen: list[str] = []
    config = RunConfig(interrupt_before="worker", interrupt_after=["worker", "approve"])
    held: Any = await runtime.run("t", made.graph, ["ask a", "b", "ask c"], config)
    while isinstance(held, Suspended):
        waiting = ids(held)
        assert len(set(waiting)) == len(waiting)
        seen += [id for id in waiting if id not in seen]
        first = held.interrupts[0]
        held = await (await runtime.resume("t", made.graph, {first.id: None if first.breakpoint else True}, config))
        assert first.id not in (ids(held) if isinstance(held, Suspended) else [])
    assert len(seen) == 3 + 1 + 2 + 2  # each held before, b after, two questions, each answer held after
    told = [event.interrupts for event in await log(store) if isinstance(event, events.RunSuspended)]
    assert {id for ids_ in told for id in ids_} == set(seen)


async def test_another_runtime_resumes_what_was_suspended(runtime: GraphRuntime, another: Any, store: Checkpointer) -> None:
    """R4.6, R1.39, RBD-01: a rebuilt graph's own client answers, not the one captured when it asked."""

    def built(client: str) -> CompiledGraph[None, list[str]]:
        builder = GraphBuilder("g", version="1")
        ask = builder.declare_resume("ask", question=str, answer=str)

        @builder.node("start", writes=LOG)
        async def start() -> Suspend[str, str]:
            return Suspend("?", ask, Command().update(LOG, client))

        @builder.implement(ask, writes=LOG)
        async def answered(given: Resumed[str, str]) -> Command:
            return Command().update(LOG, f"{client} {given.answer}")

        return builder.compile(start, output=lambda state: state[LOG])

    await runtime.run("t", built("old"), None)
    assert (await store.head("t")).status is CheckpointStatus.SUSPENDED
    rebuilt = built("new")
    second = another()
    pending = await second.pending("t", rebuilt)
    assert ids(pending) == ["0.0"]
    assert output(await (await second.resume("t", rebuilt, {"0.0": "yes"}))) == ["old", "new yes"]
    assert await second.pending("t", rebuilt) is None
    assert await second.pending("nowhere", rebuilt) is None


async def test_two_paused_threads_are_independent(runtime: GraphRuntime) -> None:
    """F35: answered in reverse order."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a"])
    await runtime.run("u", made.graph, ["ask b"])
    assert output(await (await runtime.resume("u", made.graph, {"1.0": False}))) == ["planned", "ask b:False", "summ"]
    assert ids(await runtime.pending("t", made.graph)) == ["1.0"]
    assert output(await (await runtime.resume("t", made.graph, {"1.0": True}))) == ["planned", "ask a:True", "summ"]


async def test_events_list_what_waits_and_what_was_answered(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R7.6: answered in parked order; everything still pending, older ones included."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "ask b", "ask c"])
    await (await runtime.resume("t", made.graph, {"1.2": True, "1.1": True}, RunConfig(principal="ana")))
    told = await log(store)
    assert [event for event in told if isinstance(event, (events.RunSuspended, events.RunResumed))] == [
        events.RunSuspended(("1.0", "1.1", "1.2")),
        events.RunResumed(("1.1", "1.2"), "ana"),
        events.RunSuspended(("1.0",)),
    ]
