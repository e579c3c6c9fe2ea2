"""Durable runs: which checkpoints and events are written when, and what survives (RUN, DUR, R6.28-R6.30, R7)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus, InMemoryCheckpointer
from llm4s_notebook.errors import (
    CheckpointWriteFailed,
    EncodeError,
    IncompleteRun,
    NodeFailed,
    NothingToRecover,
    RestoreRejected,
    RunCrashed,
    StaleClaim,
    StoreUnavailable,
    ThreadBusy,
)
from llm4s_notebook.graph import (
    ClaimPolicy,
    Command,
    CompiledGraph,
    Durability,
    GraphBuilder,
    GraphRuntime,
    RunConfig,
    RunContext,
    StateKey,
    Suspended,
    ThreadState,
    events,
    task_records,
)
from llm4s_notebook.testing import ManualClock

from .graphs import ITEMS, LOG, chain, fan, ids, log, names, output, trace, until
from .stores import FailingStore, broken

Another = Callable[[], GraphRuntime]


async def _nothing() -> None: ...


def emitting() -> CompiledGraph[None, list[str]]:
    """start -> a, b, each emitting a custom event and telling progress."""
    builder = GraphBuilder("g", version="1")

    def node(name: str) -> Any:
        @builder.node(name, writes=LOG)
        async def emits(context: RunContext) -> Command:
            payload = {"from": name}
            context.emit("did", payload, version=2)
            context.progress("doing", payload)
            payload["from"] = "changed afterwards"
            return Command().update(LOG, name)

        return emits

    a, b = node("a"), node("b")
    start = builder.node("start")(_nothing)
    builder.edge(start, a)
    builder.edge(start, b)
    return builder.compile(start, output=lambda state: state[LOG])


async def test_a_run_leaves_its_events_in_order(runtime: GraphRuntime, store: Checkpointer) -> None:
    """RUN-01, R7.3, R1.29: opening event; each task's outcome, then its custom events; a checkpoint per superstep; the closing one."""
    graph = emitting()
    live = runtime.subscribe("t")
    handle = await runtime.start("t", graph, None, RunConfig(principal="ana"))
    assert output(await handle) == ["a", "b"]
    assert (await store.head("t")).status is CheckpointStatus.COMPLETED
    assert await log(store) == [
        events.RunStarted("ana"),
        events.TaskCompleted(),
        events.CheckpointCommitted(1),
        events.TaskCompleted(),
        events.Custom("did", 2, {"from": "a"}),
        events.TaskCompleted(),
        events.Custom("did", 2, {"from": "b"}),
        events.CheckpointCommitted(2),
        events.RunCompleted(),
    ]
    records = await store.events_after("t", 0)
    assert [(record.task_id, record.node_id) for record in records[3:7]] == [("1.0", "a"), ("1.0", "a"), ("1.1", "b"), ("1.1", "b")]
    assert {record.run_id for record in records} == {handle.run_id}
    ids_ = [f"{handle.run_id}/{n}" for n in (1, 1, 2, 2, 2, 2, 2, 3, 4)]
    assert [record.checkpoint_id for record in records] == ids_
    seen = []
    async for record in live:
        seen.append(record)
        if isinstance(record.event, events.RunCompleted):
            break
    assert [record.event for record in seen if record.sequence is None] == [
        events.Progress("doing", 1, {"from": "a"}),
        events.Progress("doing", 1, {"from": "b"}),
    ]
    assert [record.sequence for record in seen if record.sequence is not None] == list(range(1, 10))


async def test_a_finished_thread_goes_on_over_its_state(runtime: GraphRuntime) -> None:
    """RUN-02, R4.21, R1.10."""
    made = chain()
    first = await runtime.run("t", made.graph, 1)
    second = await runtime.run("t", made.graph, 2)
    assert output(second) == ["start", "middle", "end"] * 2
    assert (first.superstep, second.superstep) == (3, 6)  # type: ignore[union-attr]


async def test_what_may_be_called_when(runtime: GraphRuntime, store: Checkpointer) -> None:
    """RUN-03, 4.4: new, failed and finished threads; each refusal leaves the thread as it was."""
    made = fan()
    with pytest.raises(NothingToRecover):
        await runtime.recover("t", made.graph)
    assert (await store.head("t")).checkpoint_id is None
    made.failing.add("a")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a"])
    before = await trace(store)
    with pytest.raises(IncompleteRun) as caught:
        await runtime.start("t", made.graph, ["a"])
    assert caught.value.checkpoint_id == (await store.head("t")).checkpoint_id
    assert await trace(store) == before
    await (await runtime.recover("t", made.graph))
    before = await trace(store)
    with pytest.raises(NothingToRecover):
        await runtime.recover("t", made.graph)
    assert await trace(store) == before


@pytest.mark.parametrize("order", ["abc", "cba", "bca", "acb"])
async def test_recover_runs_only_what_did_not_finish(runtime: GraphRuntime, another: Another, store: Checkpointer, order: str) -> None:
    """RUN-05, R8.10, R3.19: whatever order siblings finished in."""
    made = fan(delays="abc")
    made.failing.add("b")
    handle = await runtime.start("t", made.graph, list("abc"))
    for name in order:
        made.delays[name].set()
        await asyncio.sleep(0)
    with pytest.raises(NodeFailed):
        await handle
    sequence = len(await log(store))
    second = await another().recover("t", made.graph)
    assert output(await second) == ["planned", "A", "B", "C", "summ"]
    assert (made.ran["a"], made.ran["b"], made.ran["c"]) == (1, 2, 1)
    told = await log(store)
    assert isinstance(told[sequence], events.RunRecovered)
    assert second.run_id != handle.run_id


async def test_a_failing_task_leaves_no_custom_event(runtime: GraphRuntime, store: Checkpointer) -> None:
    """RUN-06, R7.4, D22: TaskFailed and RunFailed, by class name."""
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start(context: RunContext) -> None:
        context.emit("did", 1)
        raise ValueError("the secret text of the error")

    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(NodeFailed):
        await runtime.run("t", graph, None)
    told = await log(store)
    assert told == [events.RunStarted(), events.TaskFailed("NodeFailed (ValueError)"), events.RunFailed("NodeFailed (ValueError)")]


async def test_which_checkpoints_a_sync_run_writes(runtime: GraphRuntime) -> None:
    """R6.30: claim, one per superstep, the closing one; a pausing suspension directly as Suspended."""
    made = chain()
    await runtime.run("t", made.graph, 1)
    assert [(c.id.rpartition("/")[2], c.status, c.superstep) for c in reversed(await runtime.history("t"))] == [
        ("1", CheckpointStatus.RUNNING, 0),
        ("2", CheckpointStatus.RUNNING, 1),
        ("3", CheckpointStatus.RUNNING, 2),
        ("4", CheckpointStatus.RUNNING, 3),
        ("5", CheckpointStatus.COMPLETED, 3),
    ]
    made2 = fan()
    await runtime.run("u", made2.graph, ["ask a", "ask b"])
    assert [c.status.value for c in reversed(await runtime.history("u"))] == ["Running", "Running", "Suspended"]
    await (await runtime.resume("u", made2.graph, {"1.0": True}))
    assert [c.status.value for c in reversed(await runtime.history("u"))][3:] == ["Running", "Running", "Suspended"]


async def test_checkpoint_ids_count_along_the_thread(runtime: GraphRuntime) -> None:
    """R1.5, HIS-02: one run id for two runs repeats no checkpoint id."""
    made = chain()
    for _ in range(2):
        await runtime.run("t", made.graph, 1, RunConfig(run_id="run"))
    history = await runtime.history("t")
    assert [c.id for c in reversed(history)] == [f"run/{n}" for n in range(1, 11)]
    assert [c.parent_id for c in history] == [*(f"run/{n}" for n in range(9, 0, -1)), None]


async def test_a_store_that_dies_during_a_task_leaves_the_last_durable_superstep() -> None:
    """RUN-08, R6.29: no failure of the run's own."""
    store = FailingStore()
    runtime = GraphRuntime(store)

    async def kill() -> None:
        store.dead = True

    made = chain(before_middle=kill)
    with pytest.raises(CheckpointWriteFailed) as caught:
        await runtime.run("t", made.graph, 1)
    assert caught.value.cause is store.error
    assert caught.value.run_error is None
    assert caught.value.thread_id == "t"
    latest = await store.latest("t")
    assert latest is not None
    assert (latest.checkpoint.status, latest.checkpoint.superstep) == (CheckpointStatus.RUNNING, 1)
    assert made.ran["end"] == 0


async def test_durable_events_cannot_be_changed_through_what_was_read(runtime: GraphRuntime, store: Checkpointer) -> None:
    """RUN-10, R6.2."""
    await runtime.run("t", emitting(), None)
    before = json.dumps([str(event) for event in await log(store)])
    for event in await log(store):
        if isinstance(event, events.Custom):
            event.payload["from"] = "spoilt"
    assert json.dumps([str(event) for event in await log(store)]) == before


@pytest.mark.parametrize("durability", [Durability.ON_EXIT, Durability.ASYNC])
async def test_a_store_that_dies_in_a_failing_run_tells_both(durability: Durability) -> None:
    """DUR-01, R6.29."""
    store = FailingStore()
    runtime = GraphRuntime(store)

    async def fail() -> None:
        store.dead = True
        raise ValueError("the run's own")

    made = chain(before_middle=fail)
    with pytest.raises(CheckpointWriteFailed) as caught:
        await runtime.run("t", made.graph, 1, RunConfig(durability=durability))
    assert isinstance(caught.value.run_error, NodeFailed)
    assert caught.value.cause is store.error


async def test_a_store_that_dies_before_a_sibling_fails_tells_both() -> None:
    """R6.29: in SYNC the first sibling's result cannot be written, then the second fails."""
    store = FailingStore()
    made = fan(delays=["b"])
    made.failing.add("b")
    handle = await GraphRuntime(store).start("t", made.graph, ["a", "b"])
    await until(lambda: made.ran["b"])
    store.dead = True
    await asyncio.sleep(0.01)
    made.delays["b"].set()
    with pytest.raises(CheckpointWriteFailed) as caught:
        await handle
    assert isinstance(caught.value.run_error, NodeFailed)
    assert caught.value.cause is store.error


async def test_async_tasks_run_ahead_of_commits_and_events_do_not() -> None:
    """DUR-02, R6.28: the run's end waits for everything queued."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    made = chain()
    store.slow = asyncio.Event()
    heard: list[events.RunEvent] = []
    handle = await runtime.start("t", made.graph, 1, RunConfig(durability=Durability.ASYNC))

    async def listen() -> None:
        async for record in handle.events():
            heard.append(record.event)

    listener = asyncio.create_task(listen())
    await until(lambda: made.ran["end"])
    await asyncio.sleep(0.01)
    assert not handle.done
    assert heard == [events.RunStarted()]
    assert len(store.commits) == 1
    store.slow.set()
    assert output(await handle) == ["start", "middle", "end"]
    await listener
    assert heard == await log(store)
    assert len(store.commits[0].checkpoints) == 1
    checkpoints = [draft.header for commit in store.commits for draft in commit.checkpoints]
    assert [header.superstep for header in checkpoints] == [0, 1, 2, 3, 3]


async def test_async_writes_nothing_after_a_commit_that_failed() -> None:
    """6.5: and the run ends with the store's failure."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    store.slow = asyncio.Event()

    async def kill() -> None:
        store.dead = True
        assert store.slow is not None
        store.slow.set()
        await asyncio.sleep(0.01)
        store.dead = False

    made = chain(before_middle=kill)
    with pytest.raises(CheckpointWriteFailed):
        await runtime.run("t", made.graph, 1, RunConfig(durability=Durability.ASYNC))
    assert len(store.commits) == 1
    assert (await store.head("t")).claim is None


async def test_on_exit_writes_the_claim_and_then_all_at_once() -> None:
    """DUR-04: mid-run only the claim and RunStarted; then Completed with the claim as its parent."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    gate = asyncio.Event()
    made = chain(before_middle=gate.wait)
    handle = await runtime.start("t", made.graph, 1, RunConfig(durability=Durability.ON_EXIT))
    await until(lambda: made.ran["middle"])
    assert await names(store) == ["RunStarted"]
    (claim,) = await runtime.history("t")
    assert claim.status is CheckpointStatus.RUNNING
    gate.set()
    assert output(await handle) == ["start", "middle", "end"]
    last, first = await runtime.history("t")
    assert (last.status, last.parent_id, first.id) == (CheckpointStatus.COMPLETED, claim.id, claim.id)
    assert made.graph.restore(last).state[LOG] == ["start", "middle", "end"]
    assert len(store.commits) == 2
    assert (await names(store))[-1] == "RunCompleted"
    assert len(await log(store)) == 8


async def test_on_exit_keeps_a_completed_sibling_of_a_failure(runtime: GraphRuntime) -> None:
    """DUR-05."""
    made = fan()
    made.failing.add("b")
    config = RunConfig(durability=Durability.ON_EXIT)
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"], config)
    assert output(await (await runtime.recover("t", made.graph, config))) == ["planned", "A", "B", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (1, 2)


@pytest.mark.parametrize("durability", Durability)
async def test_a_typed_suspension_is_resumed_elsewhere_in_every_mode(
    runtime: GraphRuntime, another: Another, durability: Durability
) -> None:
    """DUR-06, R4.6."""
    config = RunConfig(durability=durability)
    made = fan()
    assert ids(await runtime.run("t", made.graph, ["a", "ask b"], config)) == ["1.1"]
    again = fan()
    done = await (await another().resume("t", again.graph, {"1.1": True}, config))
    assert output(done) == ["planned", "A", "ask b:True", "summ"]
    assert again.ran == {"approve ask b": 1, "summarize": 1}


async def test_a_store_that_fails_at_the_claim_leaves_the_thread_new() -> None:
    """CLM-03, R4.20, R4.22."""
    for error in (broken(), ValueError("odd")):
        store = FailingStore()
        store.error = error
        store.dead = True
        runtime = GraphRuntime(store)
        made = chain()
        with pytest.raises(CheckpointWriteFailed) as caught:
            await runtime.start("t", made.graph, 1)
        assert caught.value.cause is error
        store.dead = False
        assert (await store.head("t")).checkpoint_id is None
        assert output(await runtime.run("t", made.graph, 1)) == ["start", "middle", "end"]


async def test_admission_never_raises_anything_else_than_the_projects_errors() -> None:
    """R4.22, D2: an unexpected exception from the store is RunCrashed, and the thread is free."""

    class Odd(InMemoryCheckpointer):
        odd = True

        async def head(self, thread_id: str) -> Any:
            if self.odd:
                raise ZeroDivisionError
            return await super().head(thread_id)

    store = Odd()
    runtime = GraphRuntime(store)
    made = chain()
    for call in (runtime.start("t", made.graph, 1), runtime.resume("t", made.graph, {"0.0": None}), runtime.recover("t", made.graph)):
        with pytest.raises(RunCrashed) as caught:
            await call
        assert isinstance(caught.value.cause, ZeroDivisionError)
    store.odd = False
    assert output(await runtime.run("t", made.graph, 1)) == ["start", "middle", "end"]


@pytest.mark.parametrize("input", ["1", None, 1.5, [1]])
async def test_an_input_of_another_type_is_refused(runtime: GraphRuntime, store: Checkpointer, input: Any) -> None:
    """D4."""
    with pytest.raises(EncodeError):
        await runtime.start("t", chain().graph, input)
    assert (await store.head("t")).checkpoint_id is None


async def test_a_run_that_lost_its_claim_writes_nothing_more(clock: ManualClock) -> None:
    """CLM-02, R6.25: the second recovers and completes; the first fails and the log is unchanged."""
    store = InMemoryCheckpointer(clock=clock)
    first, second = GraphRuntime(store, clock=clock), GraphRuntime(store, clock=clock)
    made = fan(delays=["a"])
    handle = await first.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    with pytest.raises(ThreadBusy):
        await second.recover("t", made.graph)
    clock.advance(31)
    again = fan()
    assert output(await (await second.recover("t", again.graph))) == ["planned", "A", "summ"]
    before = await trace(store)
    made.delays["a"].set()
    with pytest.raises(CheckpointWriteFailed) as caught:
        await handle
    assert isinstance(caught.value.cause, StaleClaim)
    assert await trace(store) == before


async def test_a_live_claim_is_renewed_while_the_loop_is_blocked() -> None:
    """D8, R6.24: from a thread of its own."""
    import time

    store = InMemoryCheckpointer()
    runtime = GraphRuntime(store, claims=ClaimPolicy(ttl=0.8, renew_every=0.05))
    builder = GraphBuilder("g", version="1")
    claims: list[Any] = []

    @builder.node("blocks")
    async def blocks() -> None:
        time.sleep(1.2)  # noqa: ASYNC251 - a node that blocks its loop is the case
        claims.append((await store.head("t")).claim)

    graph = builder.compile(blocks, output=lambda _: "done")
    assert output(await runtime.run("t", graph, None)) == "done"
    assert claims[0] is not None
    await runtime.aclose()


async def test_a_renewal_that_finds_the_claim_lost_stops_the_run_at_its_next_superstep() -> None:
    """R6.25, CLM-05: a renewal that merely fails is retried."""

    class Losing(InMemoryCheckpointer):
        calls = 0

        def renew_now(self, thread_id: str, token: int, ttl: float) -> Any:
            self.calls += 1
            if self.calls == 1:
                raise broken()
            if self.calls == 2:
                return super().renew_now(thread_id, token, ttl)
            raise StaleClaim(token=token, current=None)

    store = Losing()
    runtime = GraphRuntime(store, claims=ClaimPolicy(ttl=5, renew_every=0.01))
    made = chain(before_middle=lambda: until(lambda: store.calls >= 3))
    with pytest.raises(CheckpointWriteFailed) as caught:
        await runtime.run("t", made.graph, 1)
    assert isinstance(caught.value.cause, StaleClaim)
    assert made.ran["end"] == 0
    await runtime.aclose()


async def test_recover_reads_the_writes_again_under_its_claim() -> None:
    """R6.26: a write the last holder made in between is reused."""
    made = fan(delays=["b"])
    store = InMemoryCheckpointer()
    first = GraphRuntime(store)
    handle = await first.start("t", made.graph, ["a", "b"])
    await until(lambda: made.ran["b"])
    handle.cancel()

    class Late(InMemoryCheckpointer):
        async def latest(self, thread_id: str) -> Any:
            return await store.latest(thread_id)

    with pytest.raises(Exception, match="cancelled"):
        await handle
    seen: list[int] = []
    original = store.latest

    async def counted(thread_id: str) -> Any:
        latest = await original(thread_id)
        head = await store.head(thread_id)
        seen.append(0 if head.claim is None else 1)
        return latest

    store.latest = counted  # type: ignore[method-assign]
    made.delays["b"].set()
    assert output(await (await GraphRuntime(store).recover("t", made.graph))) == ["planned", "A", "B", "summ"]
    assert seen == [0, 1]


async def test_a_second_crash_loses_nothing_either(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R8.10: reused writes are carried to recover's claim checkpoint."""
    made = fan()
    for _ in range(3):
        made.failing.add("b")
        with pytest.raises(NodeFailed):
            await ((await runtime.recover("t", made.graph)) if made.ran["plan"] else (await runtime.start("t", made.graph, ["a", "b"])))
        latest = await store.latest("t")
        assert latest is not None
        assert [write.task_id for write in latest.writes] == ["1.0"]
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "B", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (1, 4)


async def test_a_reused_suspension_parks_under_the_same_id(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R3.19."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["ask a", "b"])
    held = await (await runtime.recover("t", made.graph))
    assert isinstance(held, Suspended)
    assert ids(held) == ["1.0"]
    assert made.ran["ask a"] == 1
    assert output(await (await runtime.resume("t", made.graph, {"1.0": True}))) == ["planned", "B", "ask a:True", "summ"]


async def test_answers_are_durable_before_anything_runs(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.15, R4.16, R2.4.8: a resumed run that fails is recovered, and nobody is asked again."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "ask b"])
    builder_fails = [True]
    original = made.graph.plan.nodes["approve"].call

    async def failing(given: Any, state: Any, context: Any) -> Any:
        if builder_fails:
            builder_fails.pop()
            raise ValueError("once")
        return await original(given, state, context)

    object.__setattr__(made.graph.plan.nodes["approve"], "call", failing)
    with pytest.raises(NodeFailed):
        await (await runtime.resume("t", made.graph, {"1.0": True}))
    assert (await store.head("t")).status is CheckpointStatus.RUNNING
    held = await (await runtime.recover("t", made.graph))
    assert ids(held) == ["1.1"]
    assert held.state[ITEMS] == ["planned", "ask a:True"]
    assert output(await (await runtime.resume("t", made.graph, {"1.1": False}))) == ["planned", "ask a:True", "ask b:False", "summ"]


async def test_a_thread_with_nothing_left_to_run_is_just_closed(store: Checkpointer, another: Another) -> None:
    """R8.13: a process that died between the last superstep and the closing commit."""
    fails = [True]
    builder = GraphBuilder("g", version="1")
    ran: list[int] = []

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        ran.append(1)
        return Command().update(LOG, "start")

    def project(state: ThreadState) -> list[str]:
        if fails:
            fails.pop()
            raise ValueError("once")
        return state[LOG]

    graph = builder.compile(start, output=project)
    with pytest.raises(ValueError, match="once"):
        await another().run("t", graph, None)
    handle = await another().recover("t", graph)
    assert output(await handle) == ["start"]
    assert ran == [1]
    assert (await names(store))[-2:] == ["RunRecovered", "RunCompleted"]


async def test_the_held_execution_is_used_only_while_it_is_the_latest(runtime: GraphRuntime, another: Another) -> None:
    """D17: a turn that another runtime added is seen; another graph object is restored into."""
    made = chain()
    await runtime.run("t", made.graph, 1)
    await another().run("t", chain().graph, 1)
    third = await runtime.run("t", made.graph, 1)
    assert output(third) == ["start", "middle", "end"] * 3
    other = chain()
    assert len(output(await runtime.run("t", other.graph, 1))) == 12
    assert made.ran["start"] == 2
    with pytest.raises(RestoreRejected):
        await runtime.run("t", fan().graph, ["a"])


async def test_a_held_thread_is_not_read_again() -> None:
    """D17: hot turns call neither latest nor history; the cost of a turn does not grow with the thread."""

    class Counting(InMemoryCheckpointer):
        reads = 0

        async def latest(self, thread_id: str) -> Any:
            self.reads += 1
            return await super().latest(thread_id)

    store = Counting()
    runtime = GraphRuntime(store)
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "ask b"])
    await (await runtime.resume("t", made.graph, {"1.0": True}))
    await (await runtime.resume("t", made.graph, {"1.1": True}))
    await runtime.run("t", made.graph, ["a"])
    assert store.reads == 0


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


class Note:
    """Texts long enough that storing them twice would show."""

    LONG = "long " * 40


async def test_a_checkpoint_tells_what_its_tasks_did_without_storing_items_twice(runtime: GraphRuntime, store: Checkpointer) -> None:
    """api.md: input, updates and routes of each task, for a timeline; D17: an appended item is stored once."""
    records = StateKey("records", list[dict[str, str]], list[Any], initial=[], reduce=lambda now, how: [*now, *how[1:]])
    builder = GraphBuilder("g", version="1")

    @builder.node("next", writes=LOG)
    async def following(text: str) -> Command:
        return Command().update(LOG, text)

    @builder.node("start", writes=[LOG, records])
    async def start(text: str) -> Command:
        return (
            Command().update(LOG, text).update(records, ["add", {"text": text}]).send(following, text + "!").remove(LOG).update(LOG, text)
        )

    graph = builder.compile(start, output=lambda state: state[LOG])
    await runtime.run("t", graph, Note.LONG)
    closing, third, second, claim = await runtime.history("t")
    assert task_records(closing, third) == ()
    (one,) = task_records(second, claim)
    assert (one.task_id, one.node_id, one.ending, one.input) == ("0.0", "start", "completed", Note.LONG)
    assert [update["key"] for update in one.updates] == ["log", "records", "log", "log"]
    assert one.updates[1]["value"] == ["add", {"text": Note.LONG}]
    assert one.updates[2] == {"key": "log", "remove": True}
    assert one.updates[3]["value"] == Note.LONG
    assert one.routes == ({"node": "next", "tasks": ["1.0"]},)
    (two,) = task_records(third, second)
    assert two.input == Note.LONG + "!"
    assert two.updates == ({"key": "log", "value": Note.LONG + "!"},)
    assert Note.LONG.encode() not in third.header.journal
    assert second.header.journal.count(Note.LONG.encode()) == 1  # the update that was removed again is nowhere else


_ODD = {",": "," + "1," * 40}
"""A list item whose JSON text can also be read from within a string on: `["{",":",1,1,` and so on."""


@pytest.mark.parametrize(
    ("update", "shortened"),
    [
        (["{", ":", *[1] * 40, "}"], False),
        (['{"', _ODD], True),
        (['a "quoted" text \\\\', {"in": [_ODD]}], True),
        ([json.dumps(_ODD), 1], False),
        (["x", _ODD, _ODD], True),
        ([{"$item": 0}, _ODD], False),
    ],
)
async def test_a_journal_gives_an_update_back_whatever_is_in_it(runtime: GraphRuntime, update: list[Any], shortened: bool) -> None:
    """D17: what is a list item now is referred to, and nothing else is taken for it."""
    records = StateKey("records", list[dict[str, str]], list[Any], initial=[], reduce=lambda now, how: [*now, _ODD])
    builder = GraphBuilder("g", version="1")

    @builder.node("start", writes=records)
    async def start() -> Command:
        return Command().update(records, update)

    await runtime.run("t", builder.compile(start, output=lambda _: None), None)
    _, after, claim = await runtime.history("t")
    (one,) = task_records(after, claim)
    assert one.updates == ({"key": "records", "value": update},)
    assert (b'{"$item":0}' in after.header.journal and {"$item": 0} not in update) is shortened


async def test_a_claim_that_the_store_did_not_take_back_does_not_keep_the_thread_busy() -> None:
    """R8.2, R6.29: the error says "mend the store, then recover", and that works at once, not when a lease has run out."""

    class Unreachable(FailingStore):
        async def release(self, thread_id: str, token: int) -> None:
            self._check()
            await super().release(thread_id, token)

    store = Unreachable()
    runtime = GraphRuntime(store)
    builder = GraphBuilder("g", version="1")
    ran: list[int] = []

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        ran.append(1)
        store.dead = len(ran) == 1
        return Command().update(LOG, "ran")

    graph = builder.compile(start, output=lambda state: state[LOG])
    with pytest.raises(CheckpointWriteFailed):
        await runtime.run("t", graph, None)
    with pytest.raises(StoreUnavailable):  # still unreachable: what keeps it is the store, not a run
        await runtime.recover("t", graph)
    store.dead = False
    assert output(await (await runtime.recover("t", graph))) == ["ran"]
