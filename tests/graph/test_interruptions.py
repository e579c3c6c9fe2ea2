"""Stopped at any moment and taken up by anybody, a turn ends the same (R3.5, R8.3, R8.10, R6.26, D17)."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import InvalidResume, Llm4sError, NodeFailed, NotSuspended, PendingInterrupts, RunCancelled, ThreadBusy
from llm4s_notebook.graph import (
    Command,
    CompiledGraph,
    Durability,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    RunContext,
    StateKey,
    Suspend,
    Suspended,
    ThreadState,
    events,
)

from .graphs import LOG, Another, chain, fan, ids, output, until
from .stores import FailingStore

SEEN: StateKey[list[str], str] = StateKey("seen", list[str], str, initial=[], reduce=lambda now, one: sorted({*now, one}))


def busy(rng: random.Random | None) -> CompiledGraph[int, list[str]]:
    """Rounds of a fan-out with questions in it, joined by a bookkeeping node; with `rng`, workers now and then wait or fail."""
    builder = GraphBuilder("busy", version="1")
    rounds = StateKey.replace("rounds", int, initial=0)
    ask = builder.declare_resume("ask", question=str, answer=str)
    again = builder.declare("again")
    collect = builder.declare("collect")
    join = builder.dynamic_join("round", collect)

    async def trouble() -> None:
        if rng is not None:
            for _ in range(rng.choice((0, 0, 1, 3))):
                await asyncio.sleep(0)
            if rng.random() < 0.08:
                raise ValueError("now and then")

    @builder.node("worker", writes=[LOG, SEEN], routes=ask)
    async def worker(name: str) -> Command | Suspend[str, str]:
        await trouble()
        update = Command().update(SEEN, name)
        return Suspend(name, ask, update) if name.endswith("?") else update.update(LOG, name)

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        await trouble()
        return Command().update(LOG, f"{given.question}{given.answer}")

    @builder.implement(collect, writes=rounds, bookkeeping=True)
    async def collect_node(state: ThreadState) -> Command:
        return Command().update(rounds, state[rounds] - 1).goto(again)

    @builder.implement(again, routes=[join, worker])
    async def next_round(state: ThreadState) -> Command:
        n = state[rounds]
        return Command().fan_out(join, worker, [f"{n}a", f"{n}b?", f"{n}c", f"{n}d?"]) if n else Command()

    @builder.node("start", writes=[rounds, LOG])
    async def start(n: int) -> Command:
        await trouble()
        return Command().update(rounds, n).update(LOG, "start").goto(again)

    return builder.compile(start, output=lambda state: [*sorted(state[LOG]), *state[SEEN]])


def wanted(rounds: int) -> list[str]:
    logged = ["start", *(f"{n}{what}" for n in range(1, rounds + 1) for what in ("a", "b?!", "c", "d?!"))]
    seen = [f"{n}{what}" for n in range(1, rounds + 1) for what in ("a", "b?", "c", "d?")]
    return [*sorted(logged), *sorted(seen)]


@pytest.mark.parametrize("seed", range(12))
async def test_a_turn_stopped_at_random_moments_ends_as_if_it_had_not_been(store: Checkpointer, another: Another, seed: int) -> None:
    """Cancelled after any number of turns of the loop, failing now and then, taken up by new runtimes and new graph instances, in any
    durability mode and with breakpoints that come and go: the same output, contiguous events, one way from each checkpoint."""
    rng = random.Random(seed)
    started = False
    stops = 0
    while True:
        runtime, graph = another(), busy(rng if stops < 25 else None)
        config = RunConfig(
            durability=rng.choice(list(Durability)),
            interrupt_after=frozenset({"worker"} if rng.random() < 0.2 else ()),
            interrupt_before=frozenset({"again"} if rng.random() < 0.2 else ()),
        )
        head = await store.head("t")
        assert head.claim is None
        if head.status is CheckpointStatus.COMPLETED:
            break
        try:
            if not started:
                started, handle = True, await runtime.start("t", graph, 2, config)
            elif head.status is CheckpointStatus.SUSPENDED:
                pending = await runtime.pending("t", graph)
                assert isinstance(pending, Suspended)
                chosen = rng.sample(pending.interrupts, rng.randint(1, len(pending.interrupts)))
                handle = await runtime.resume("t", graph, {one.id: None if one.breakpoint else "!" for one in chosen}, config)
            else:
                handle = await runtime.recover("t", graph, config)
            if stops < 25 and rng.random() < 0.5:
                for _ in range(rng.randint(0, 40)):
                    await asyncio.sleep(0)
                handle.cancel()
            await handle
        except (RunCancelled, NodeFailed):
            stops += 1
    latest = await store.latest("t")
    assert latest is not None
    graph = busy(None)
    assert graph.project(graph.restore(latest.checkpoint).state) == wanted(2)
    assert latest.checkpoint.interrupts == ()
    records = await store.events_after("t", 0)
    assert [record.sequence for record in records] == list(range(1, len(records) + 1))
    history = await store.history("t", limit=1000)
    assert [c.parent_id for c in history] == [*(c.id for c in history[1:]), None]
    for checkpoint in history:
        graph.restore(checkpoint)


@pytest.mark.parametrize("winner_waits", [False, True])
async def test_of_two_resumes_that_read_the_same_checkpoint_one_is_taken(failing: FailingStore, winner_waits: bool) -> None:
    """R6.22, R6.23, F41: the loser is ThreadBusy whether the winner still runs or is done; its answer is not consumed."""
    second = GraphRuntime(failing)
    made = fan()
    await second.run("t", made.graph, ["ask a", "ask b"])
    first = GraphRuntime(failing)
    answers: list[Any] = []

    async def wins() -> None:
        handle = await second.resume("t", made.graph, {"1.0": True})
        answers.append(handle)
        if not winner_waits:
            await handle

    failing.before_claim = wins
    with pytest.raises(ThreadBusy):
        await first.resume("t", made.graph, {"1.0": False, "1.1": False})
    assert ids(await answers[0]) == ["1.1"]
    assert (made.ran["approve ask a"], made.ran["approve ask b"]) == (1, 0)
    resumed = [r.event for r in await failing.events_after("t", 0) if isinstance(r.event, events.RunResumed)]
    assert resumed == [events.RunResumed(("1.0",))]
    assert output(await (await first.resume("t", made.graph, {"1.1": True}))) == ["planned", "ask a:True", "ask b:True", "summ"]


async def test_who_goes_on_from_what_the_runtime_holds_is_told_what_came_between(failing: FailingStore) -> None:
    """R6.22, R6.23, F41, D17: such a resume reads nothing before its claim; where that is refused it reads, and is judged by that."""
    first, second = GraphRuntime(failing), GraphRuntime(failing)
    made = fan()
    await first.run("t", made.graph, ["ask a", "ask b", "ask c"])

    async def answers() -> None:
        await (await second.resume("t", made.graph, {"1.0": True}))

    failing.before_claim = answers
    with pytest.raises(InvalidResume) as caught:
        await first.resume("t", made.graph, {"1.0": False, "1.1": False})
    assert [(one.interrupt_id, one.code) for one in caught.value.problems] == [("1.0", "answered")]
    assert (made.ran["approve ask a"], made.ran["approve ask b"]) == (1, 0)

    await (await first.resume("t", made.graph, {"1.1": True}))

    async def answers_the_last() -> None:
        await (await second.resume("t", made.graph, {"1.2": True}))

    failing.before_claim = answers_the_last
    with pytest.raises(NotSuspended):
        await first.resume("t", made.graph, {"1.2": True})

    async def asks() -> None:
        await second.run("t", made.graph, ["ask d"])

    await first.run("t", made.graph, ["e"])
    failing.before_claim = asks
    with pytest.raises(PendingInterrupts):
        await first.start("t", made.graph, ["f"])
    assert made.ran["f"] == 0


async def test_a_thread_begun_anew_is_not_taken_for_the_one_that_is_held(failing: FailingStore) -> None:
    """R6.22, D17: under the same run id its checkpoints have the same ids; the token tells them apart."""
    first, second = GraphRuntime(failing), GraphRuntime(failing)
    made = fan()
    config = RunConfig(run_id="fixed")
    await first.run("t", made.graph, ["ask a"], config)
    await second.delete_thread("t")
    await second.run("t", made.graph, ["ask b"], config)
    assert output(await (await first.resume("t", made.graph, {"1.0": True}))) == ["planned", "ask b:True", "summ"]
    await second.delete_thread("t")
    await second.run("t", made.graph, ["c"], config)
    done = await first.run("t", made.graph, ["d"])
    assert output(done) == ["planned", "C", "summ", "planned", "D", "summ"]


async def test_of_two_starts_and_two_recovers_one_is_admitted(failing: FailingStore) -> None:
    """R6.22, R6.23: on a new thread, and on an unfinished one."""
    first, second = GraphRuntime(failing), GraphRuntime(failing)
    made = chain()

    async def starts() -> None:
        await second.run("t", made.graph, 1)

    failing.before_claim = starts
    with pytest.raises(ThreadBusy):
        await first.start("t", made.graph, 1)
    assert made.ran["start"] == 1

    left = fan()
    left.failing.add("a")
    with pytest.raises(NodeFailed):
        await first.run("u", left.graph, ["a"])

    async def recovers() -> None:
        await (await second.recover("u", left.graph))

    failing.before_claim = recovers
    with pytest.raises(Llm4sError) as caught:
        await first.recover("u", left.graph)
    assert isinstance(caught.value, ThreadBusy)
    assert left.ran["a"] == 2
    assert (await failing.head("u")).claim is None


async def test_an_effect_happens_again_when_a_run_dies_between_it_and_its_commit(another: Another, store: Checkpointer) -> None:
    """R8.11: at least once; the task has the same id and the same birth id both times, from which a key for it can be made."""
    seen: list[tuple[str, str]] = []
    gate = asyncio.Event()
    builder = GraphBuilder("g", version="1")

    @builder.node("acts")
    async def acts(context: RunContext) -> None:
        seen.append((context.task_id, context.birth_id))
        if len(seen) == 1:
            await gate.wait()

    graph = builder.compile(acts, output=lambda _: None)
    runtime = another()
    handle = await runtime.start("t", graph, None)
    await until(lambda: seen)
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    await (await another().recover("t", graph))
    assert len(seen) == 2
    assert seen[0] == seen[1]


async def test_a_live_claim_is_refused_from_outside_and_granted_after_the_end(runtime: GraphRuntime, store: Checkpointer) -> None:
    """CLM-01, R6.6, R1.9: naming the run; then with a greater token."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    head = await store.head("t")
    assert head.claim is not None
    with pytest.raises(ThreadBusy) as caught:
        await store.claim("t", "outside", 5)
    assert caught.value.holder == handle.run_id
    made.delays["a"].set()
    await handle
    claim = await store.claim("t", "outside", 5)
    assert claim.token > head.claim.token


async def test_principals_are_recorded_and_never_checked(runtime: GraphRuntime, store: Checkpointer) -> None:
    """TEN-05, D9."""
    made = fan()
    made.failing.add("b")
    await runtime.run("t", made.graph, ["ask a"], RunConfig(principal="ana"))
    await (await runtime.resume("t", made.graph, {"1.0": True}, RunConfig(principal="ben")))
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["b"])
    await (await runtime.recover("t", made.graph, RunConfig(principal="cat")))
    told = [r.event for r in await store.events_after("t", 0)]
    principals = [e.principal for e in told if isinstance(e, (events.RunStarted, events.RunResumed, events.RunRecovered))]
    assert principals == ["ana", "ben", None, "cat"]


async def test_a_checkpoint_of_every_status_survives_json(runtime: GraphRuntime, store: Checkpointer) -> None:
    """FMT-04, R5.40: as a snapshot, through text."""
    made = fan()
    statuses = set()
    await runtime.run("t", made.graph, ["ask a", "b"], RunConfig(interrupt_after="worker"))
    await (await runtime.resume("t", made.graph, {"1.1": None}))
    await runtime.abandon("t", made.graph)
    await runtime.run("u", made.graph, ["ask a", "b"], RunConfig(interrupt_before="worker"))
    await (await runtime.resume("u", made.graph, {"1.0": None, "1.1": None}))
    await (await runtime.resume("u", made.graph, {"2.0": True}))
    for thread in ("t", "u"):
        for checkpoint in await store.history(thread):
            statuses.add(checkpoint.status)
            snapshot = made.graph.snapshot(made.graph.restore(checkpoint))
            assert made.graph.snapshot(made.graph.restore(json.loads(json.dumps(snapshot)))) == snapshot
    assert statuses == set(CheckpointStatus)
