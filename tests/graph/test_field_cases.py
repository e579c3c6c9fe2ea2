"""Field cases on the bare graph: what people did to other systems, on both stores."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import ThreadBusy
from llm4s_notebook.graph import (
    Breakpoint,
    BreakpointPhase,
    Command,
    CompiledGraph,
    Completed,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    RunContext,
    RunStatus,
    StateKey,
    Suspend,
    Suspended,
    ThreadState,
    events,
)
from llm4s_notebook.testing import ManualClock

from .graphs import LOG, fan, ids, log, names, output, until

WAY = StateKey.replace("way", str, initial="left")
N = StateKey.replace("n", int, initial=0)


def fork_in_the_road() -> CompiledGraph[str, list[str]]:
    """a goes where the key `way` says; left and right say where they are."""
    builder = GraphBuilder("road", version="1")
    a, left, right = builder.declare("a"), builder.declare("left"), builder.declare("right")

    @builder.node("start", writes=WAY, routes=a)
    async def start(way: str) -> Command:
        return Command().update(WAY, way).goto(a)

    @builder.implement(a, writes=LOG, routes=[left, right])
    async def a_node(state: ThreadState) -> Command:
        return Command().update(LOG, f"a saw {state[WAY]}").goto(left if state[WAY] == "left" else right)

    async def says(state: ThreadState, context: RunContext) -> Command:
        return Command().update(LOG, f"{context.node_id} saw {state[WAY]}")

    builder.implement(left, writes=LOG)(says)
    builder.implement(right, writes=LOG)(says)
    return builder.compile(start, output=lambda state: state[LOG])


def loop(length: int) -> CompiledGraph[None, list[str]]:
    """first, then a node that goes to itself `length` times, then last."""
    builder = GraphBuilder("loop", version="1")
    again, last = builder.declare("again"), builder.declare("last")

    @builder.node("first", writes=LOG)
    async def first() -> Command:
        return Command().update(LOG, "first").goto(again)

    @builder.implement(again, writes=[LOG, N], routes=[again, last])
    async def again_node(state: ThreadState) -> Command:
        n = state[N] + 1
        return Command().update(N, n).update(LOG, f"again {n}").goto(again if n < length else last)

    @builder.implement(last, writes=LOG)
    async def last_node() -> Command:
        return Command().update(LOG, "last")

    return builder.compile(first, output=lambda state: state[LOG])


async def test_waiting_reads_the_same_in_the_outcome_and_from_a_fresh_runtime(
    runtime: GraphRuntime, store: Checkpointer, another: Callable[[], GraphRuntime]
) -> None:
    """F10 (graph part): after each step the outcome, `pending` read afresh and the list of threads say the same."""
    made = fan()
    outcome = await runtime.run("t", made.graph, ["ask a", "b", "ask c", "ask d"])
    while isinstance(outcome, Suspended):
        fresh = await another().pending("t", made.graph)
        assert fresh is not None
        assert fresh.interrupts == outcome.interrupts
        (listed,) = await store.threads()
        assert list(listed.interrupts) == ids(outcome)
        outcome = await (await another().resume("t", made.graph, {ids(outcome)[-1]: True}))
    assert await another().pending("t", made.graph) is None
    assert [one.interrupts for one in await store.threads()] == [()]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
async def test_three_waits_are_answered_one_by_one_in_any_order(runtime: GraphRuntime, store: Checkpointer, order: tuple[int, ...]) -> None:
    """F11 (graph part): status never goes back to an earlier one; the join fires once, when the last is done."""
    made = fan()
    outcome: Any = await runtime.run("t", made.graph, ["ask 0", "ask 1", "ask 2"])
    waiting = ids(outcome)
    for place, which in enumerate(order):
        assert isinstance(outcome, Suspended)
        outcome = await (await runtime.resume("t", made.graph, {waiting[which]: True}))
        left = [id for id in waiting if id not in {waiting[one] for one in order[: place + 1]}]
        assert (ids(outcome) if left else []) == left
        assert made.ran["summarize"] == (0 if left else 1)
    assert output(outcome) == ["planned", *(f"ask {which}:True" for which in order), "summ"]
    assert (await names(store)).count("RunSuspended") == 3


async def test_an_answer_given_while_another_still_runs_is_refused_and_kept_for_later(runtime: GraphRuntime, store: Checkpointer) -> None:
    """F11, R8.12: the thread is busy; nothing of the run that is under way is disturbed, and the question is still there after it."""
    gate = asyncio.Event()
    builder = GraphBuilder("slow", version="1")
    approve = builder.declare_resume("approve", question=str, answer=str)

    @builder.implement(approve, writes=LOG)
    async def approved(given: Resumed[str, str]) -> Command:
        if given.answer == "wait":
            await gate.wait()
        return Command().update(LOG, f"{given.question}:{given.answer}")

    @builder.node("ask", writes=LOG)
    async def ask(name: str) -> Suspend[str, str]:
        return Suspend(name, approve)

    @builder.node("start")
    async def start(some: list[str]) -> Command:
        command = Command()
        for one in some:
            command = command.send(ask, one)
        return command

    graph = builder.compile(start, output=lambda state: state[LOG])
    first, second = ids(await runtime.run("t", graph, ["x", "y"]))
    running = await runtime.resume("t", graph, {first: "wait"})
    await until(lambda: running.running_nodes == ("approve",))
    with pytest.raises(ThreadBusy):
        await runtime.resume("t", graph, {second: "now"})
    assert running.status is RunStatus.RUNNING
    gate.set()
    assert ids(await running) == [second]
    assert output(await (await runtime.resume("t", graph, {second: "now"}))) == ["x:wait", "y:now"]


async def test_a_hold_after_a_node_keeps_the_routes_it_returned(runtime: GraphRuntime, store: Checkpointer) -> None:
    """F19, R5.16: the key that `a` routed on is edited while held; `a` is not asked again, and what comes next sees the edit."""
    graph = fork_in_the_road()
    held = await runtime.run("t", graph, "left", RunConfig(interrupt_after="a"))
    (stop,) = held.interrupts if isinstance(held, Suspended) else ()
    assert (stop.breakpoint, stop.resume_node) == (BreakpointPhase.AFTER, "a")
    head = await store.head("t")
    assert head.checkpoint_id is not None
    await runtime.update_state("t", graph, head.checkpoint_id, Command().update(WAY, "right"))
    done = await (await runtime.resume("t", graph, {stop.id: Breakpoint.proceed}))
    assert output(done) == ["a saw left", "left saw right"]


async def test_an_edit_at_one_hold_does_not_skip_the_next(runtime: GraphRuntime, store: Checkpointer) -> None:
    """F20, R6.33: held before two nodes one after the other, the state edited at the first: it stops at the second."""
    graph = fork_in_the_road()
    config = RunConfig(interrupt_before=["a", "right"])
    held = await runtime.run("t", graph, "left", config)
    assert isinstance(held, Suspended)
    assert [(one.resume_node, one.breakpoint) for one in held.interrupts] == [("a", BreakpointPhase.BEFORE)]
    head = await store.head("t")
    assert head.checkpoint_id is not None
    await runtime.update_state("t", graph, head.checkpoint_id, Command().update(WAY, "right"))
    held = await (await runtime.resume("t", graph, {ids(held)[0]: Breakpoint.proceed}, config))
    assert isinstance(held, Suspended)
    assert [(one.resume_node, one.breakpoint) for one in held.interrupts] == [("right", BreakpointPhase.BEFORE)]
    assert output(await (await runtime.resume("t", graph, {ids(held)[0]: Breakpoint.proceed}, config))) == [
        "a saw right",
        "right saw right",
    ]


@pytest.mark.parametrize("streaming", [False, True], ids=["awaited", "streamed"])
@pytest.mark.parametrize("side", list(BreakpointPhase))
@pytest.mark.parametrize(
    ("nodes", "stops"),
    [
        (["first"], ["first"]),
        (["last"], ["last"]),
        (["again"], ["again", "again", "again"]),
        (["first", "again", "last"], ["first", "again", "again", "again", "last"]),
    ],
    ids=["first", "last", "self-loop", "every"],
)
async def test_each_stop_is_listed_once_with_its_side(
    runtime: GraphRuntime, store: Checkpointer, nodes: list[str], stops: list[str], side: BreakpointPhase, streaming: bool
) -> None:
    """F21, R5.5: the first node, the last one, one that goes to itself, and every node."""
    graph = loop(3)
    config = RunConfig(**{"interrupt_before" if side is BreakpointPhase.BEFORE else "interrupt_after": frozenset(nodes)})
    found: list[str] = []
    told: list[tuple[str, ...]] = []
    handle = await runtime.start("t", graph, None, config)
    while True:
        if streaming:
            told.extend([one.event.interrupts async for one in handle.events() if isinstance(one.event, events.RunSuspended)])
        outcome = await handle
        if isinstance(outcome, Completed):
            break
        (stop,) = outcome.interrupts
        assert stop.breakpoint is side
        found.append(stop.resume_node)
        handle = await runtime.resume("t", graph, {stop.id: Breakpoint.proceed}, config)
    assert found == stops
    assert output(outcome) == ["first", "again 1", "again 2", "again 3", "last"]
    suspended = [event.interrupts for event in await log(store) if isinstance(event, events.RunSuspended)]
    assert len(set(itertools.chain(*suspended))) == len(suspended) == len(stops)
    assert told == (suspended if streaming else [])


async def test_a_fork_at_a_hold_asks_again_and_goes_its_own_way(runtime: GraphRuntime, store: Checkpointer) -> None:
    """F22 (holds): proceed and finish; fork at the hold, edit on the fork, proceed there: two ends, two histories."""
    graph = fork_in_the_road()
    held = await runtime.run("t", graph, "left", RunConfig(interrupt_before="a"))
    at = (await store.head("t")).checkpoint_id
    assert at is not None
    assert output(await (await runtime.resume("t", graph, {ids(held)[0]: Breakpoint.proceed}))) == ["a saw left", "left saw left"]
    before = [one.id for one in await runtime.history("t")]
    await runtime.fork("t", at, "u")
    asked = await runtime.pending("u", graph)
    assert asked is not None
    assert [(one.id, one.breakpoint) for one in asked.interrupts] == [(ids(held)[0], BreakpointPhase.BEFORE)]
    head = (await store.head("u")).checkpoint_id
    assert head is not None
    await runtime.update_state("u", graph, head, Command().update(WAY, "right"))
    assert output(await (await runtime.resume("u", graph, {ids(held)[0]: Breakpoint.proceed}))) == ["a saw right", "right saw right"]
    assert [one.id for one in await runtime.history("t")] == before


async def test_answers_from_other_loops_in_other_threads_are_all_taken(runtime: GraphRuntime, store: Checkpointer) -> None:
    """F29 (graph part), D23: five threads with loops of their own answer on one runtime, each until its answer is in."""
    made = fan()
    waiting = ids(await runtime.run("t", made.graph, [f"ask {n}" for n in range(5)]))
    failures: list[BaseException] = []

    def answer(id: str) -> None:
        async def insist() -> None:
            while True:
                try:
                    await (await runtime.resume("t", made.graph, {id: True}))
                    return
                except ThreadBusy:
                    await asyncio.sleep(0.002)

        try:
            asyncio.run(insist())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=answer, args=(id,)) for id in waiting]
    for one in threads:
        one.start()
    for one in threads:
        await asyncio.to_thread(one.join, 30)
    assert failures == []
    assert (await store.head("t")).status is CheckpointStatus.COMPLETED
    assert {f"approve ask {n}": made.ran[f"approve ask {n}"] for n in range(5)} == {f"approve ask {n}": 1 for n in range(5)}
    answered = [event.answered for event in await log(store) if isinstance(event, events.RunResumed)]
    assert sorted(itertools.chain(*answered)) == sorted(waiting)
    assert made.ran["summarize"] == 1


async def test_nothing_expires_by_itself(
    runtime: GraphRuntime, store: Checkpointer, another: Callable[[], GraphRuntime], clock: ManualClock
) -> None:
    """F34: thirty days later a question and a hold are as they were, for this process and for another one."""
    graph = fork_in_the_road()
    made = fan()
    asked = await runtime.run("t", made.graph, ["ask a"])
    held = await runtime.run("u", graph, "left", RunConfig(interrupt_after="a"))
    clock.advance(30 * 24 * 3600)
    assert sorted(one.thread_id for one in await store.threads(status=CheckpointStatus.SUSPENDED)) == ["t", "u"]
    assert output(await (await another().resume("t", made.graph, {ids(asked)[0]: True}))) == ["planned", "ask a:True", "summ"]
    assert output(await (await runtime.resume("u", graph, {ids(held)[0]: Breakpoint.proceed}))) == ["a saw left", "left saw left"]
