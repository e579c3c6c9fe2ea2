"""Field cases on the bare graph: what people did to other systems, on both stores."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus, SqliteCheckpointer
from llm4s_notebook.errors import InvalidResume, NotSuspended, ThreadBusy
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

from .fresh import HOLDS, fresh, told
from .graphs import LOG, fan, ids, log, output, until
from .holds import AFTER, BEFORE

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


async def test_waiting_reads_the_same_in_a_process_that_opens_the_file_anew(tmp_path: Path) -> None:
    """F10 (graph part): after each step - the first run here, then answers given by new processes and by this one in turn - the outcome,
    `pending` here, and what a process that has just opened the file reads are equal."""
    path = tmp_path / "t.db"
    made = fan()
    async with SqliteCheckpointer(path) as store:
        runtime = GraphRuntime(store)
        outcome: Any = await runtime.run("t", made.graph, ["ask a", "b", "ask c"], HOLDS)
        waits = told(outcome)
        steps = 0
        while waits is not None:
            assert told(await runtime.pending("t", made.graph)) == waits
            first = waits[0][0]
            said = await asyncio.to_thread(fresh, path, first if steps % 2 == 0 else None)
            assert said["waits"] == waits
            assert said["listed"] == [[one[0] for one in waits]]
            if steps % 2 == 0:
                waits = said["outcome"]
                assert said["ran"].get("ask a", 0) == 0  # nothing that had run is run again
            else:
                held = next(one for one in outcome_of(await runtime.pending("t", made.graph)).interrupts if one.id == first)
                waits = told(await (await runtime.resume("t", made.graph, {first: None if held.breakpoint else True}, HOLDS)))
            steps += 1
        assert steps == 4  # two questions, and each answer held after it
        assert await asyncio.to_thread(fresh, path) == {"waits": None, "listed": [[]]}
        assert await runtime.pending("t", made.graph) is None
        latest = await store.latest("t")
        assert latest is not None
        assert sorted(made.graph.project(made.graph.restore(latest.checkpoint).state)) == sorted(
            ["planned", "B", "ask a:True", "ask c:True", "summ"]
        )


def outcome_of(pending: Suspended | None) -> Suspended:
    assert pending is not None
    return pending


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
async def test_three_waits_are_answered_one_by_one_in_any_order(
    runtime: GraphRuntime, another: Callable[[], GraphRuntime], store: Checkpointer, order: tuple[int, ...]
) -> None:
    """F11, R8.12: three separate calls, each of the later ones tried while the one before still runs: it is refused and nothing of it is
    kept. What was answered never waits again, the list only gets shorter, and the batch ends once, when all are done."""
    gates = {name: asyncio.Event() for name in ("q0", "q1", "q2")}
    ended: list[str] = []
    builder = GraphBuilder("batch", version="1")
    approve = builder.declare_resume("approve", question=str, answer=str)

    @builder.node("done")
    async def done() -> None:
        ended.append("batch")

    join = builder.dynamic_join("join", done)

    @builder.node("ask")
    async def ask(name: str) -> Suspend[str, str]:
        return Suspend(name, approve)

    @builder.implement(approve, writes=LOG)
    async def approved(given: Resumed[str, str]) -> Command:
        await gates[given.question].wait()
        return Command().update(LOG, f"{given.question} {given.answer}")

    @builder.node("start")
    async def start() -> Command:
        return Command().fan_out(join, ask, list(gates))

    graph = builder.compile(start, output=lambda state: state[LOG])
    outcome: Any = await runtime.run("t", graph, None)
    by_question = {one.question: one.id for one in outcome.interrupts}
    answered = [f"q{which}" for which in order]
    waiting = [[one.question for one in outcome.interrupts]]
    for place, question in enumerate(answered):
        handle = await runtime.resume("t", graph, {by_question[question]: "yes"})
        await until(lambda handle=handle: handle.running_nodes == ("approve",))
        if place < 2:
            later = by_question[answered[place + 1]]
            for one in (runtime, another()):
                with pytest.raises(ThreadBusy):
                    await one.resume("t", graph, {later: "too early"})
            assert handle.status is RunStatus.RUNNING
        assert ended == []
        gates[question].set()
        outcome = await handle
        waiting.append([one.question for one in outcome.interrupts] if isinstance(outcome, Suspended) else [])
        assert (await store.head("t")).status is (CheckpointStatus.SUSPENDED if place < 2 else CheckpointStatus.COMPLETED)
        for earlier in answered[: place + 1]:
            with pytest.raises((InvalidResume, NotSuspended)):
                await runtime.resume("t", graph, {by_question[earlier]: "again"})
    assert waiting == [[name for name in gates if name not in answered[:place]] for place in range(4)]
    assert output(outcome) == [f"{question} yes" for question in answered]
    assert ended == ["batch"]
    told_ = await log(store)
    assert [event.interrupts for event in told_ if isinstance(event, events.RunSuspended)] == [
        tuple(by_question[name] for name in names_) for names_ in waiting[:3]
    ]
    assert [isinstance(event, events.RunCompleted) for event in told_].index(True) == len(told_) - 1


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
@pytest.mark.parametrize("sides", [[BEFORE], [AFTER], [BEFORE, AFTER]], ids=["before", "after", "both"])
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
    runtime: GraphRuntime, store: Checkpointer, nodes: list[str], stops: list[str], sides: list[BreakpointPhase], streaming: bool
) -> None:
    """F21, R5.5: the first node, the last one, one that goes to itself, and every node; before, after, and both."""
    graph = loop(3)
    config = RunConfig(interrupt_before=nodes if BEFORE in sides else (), interrupt_after=nodes if AFTER in sides else ())  # type: ignore[arg-type]
    found: list[tuple[str, BreakpointPhase | None]] = []
    told_: list[tuple[str, ...]] = []
    handle = await runtime.start("t", graph, None, config)
    while True:
        if streaming:
            told_.extend([one.event.interrupts async for one in handle.events() if isinstance(one.event, events.RunSuspended)])
        outcome = await handle
        if isinstance(outcome, Completed):
            break
        (stop,) = outcome.interrupts
        found.append((stop.resume_node, stop.breakpoint))
        handle = await runtime.resume("t", graph, {stop.id: Breakpoint.proceed}, config)
    assert found == [(node, side) for node in stops for side in sides]
    assert output(outcome) == ["first", "again 1", "again 2", "again 3", "last"]
    suspended = [event.interrupts for event in await log(store) if isinstance(event, events.RunSuspended)]
    assert len(set(itertools.chain(*suspended))) == len(suspended) == len(found)
    assert told_ == (suspended if streaming else [])


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
