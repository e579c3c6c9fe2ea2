"""What is written when, and what a store that fails leaves (6.5, RUN-08, DUR)."""

from __future__ import annotations

import asyncio

import pytest

from llm4s_notebook.checkpoint import CheckpointStatus
from llm4s_notebook.errors import CheckpointWriteFailed, NodeFailed
from llm4s_notebook.graph import (
    Block,
    Command,
    CompiledGraph,
    Durability,
    GraphBuilder,
    GraphRuntime,
    RunConfig,
    RunHandle,
    RunStatus,
    events,
)

from .graphs import LOG, Another, chain, fan, ids, log, names, output, until
from .stores import FailingStore


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


async def test_a_store_that_dies_during_a_task_leaves_the_last_durable_superstep(failing: FailingStore) -> None:
    """RUN-08, R6.29: no failure of the run's own."""
    runtime = GraphRuntime(failing)

    async def kill() -> None:
        failing.dead = True

    made = chain(before_middle=kill)
    with pytest.raises(CheckpointWriteFailed) as caught:
        await runtime.run("t", made.graph, 1)
    assert caught.value.cause is failing.error
    assert caught.value.run_error is None
    assert caught.value.thread_id == "t"
    latest = await failing.latest("t")
    assert latest is not None
    assert (latest.checkpoint.status, latest.checkpoint.superstep) == (CheckpointStatus.RUNNING, 1)
    assert made.ran["end"] == 0


@pytest.mark.parametrize("durability", [Durability.ON_EXIT, Durability.ASYNC])
async def test_a_store_that_dies_in_a_failing_run_tells_both(failing: FailingStore, durability: Durability) -> None:
    """DUR-01, R6.29."""
    runtime = GraphRuntime(failing)

    async def fail() -> None:
        failing.dead = True
        raise ValueError("the run's own")

    made = chain(before_middle=fail)
    with pytest.raises(CheckpointWriteFailed) as caught:
        await runtime.run("t", made.graph, 1, RunConfig(durability=durability))
    assert isinstance(caught.value.run_error, NodeFailed)
    assert caught.value.cause is failing.error


async def test_a_store_that_dies_before_a_sibling_fails_tells_both(failing: FailingStore) -> None:
    """R6.29: in SYNC the first sibling's result cannot be written, then the second fails."""
    made = fan(delays=["b"])
    made.failing.add("b")
    handle = await GraphRuntime(failing).start("t", made.graph, ["a", "b"])
    await until(lambda: made.ran["b"])
    failing.dead = True
    await asyncio.sleep(0.01)
    made.delays["b"].set()
    with pytest.raises(CheckpointWriteFailed) as caught:
        await handle
    assert isinstance(caught.value.run_error, NodeFailed)
    assert caught.value.cause is failing.error


async def test_in_sync_a_superstep_starts_when_its_predecessor_is_durable(failing: FailingStore) -> None:
    """R6.45, 6.5: a body is not called before the commit of the superstep that scheduled it is over; a bookkeeping one may be."""
    runtime = GraphRuntime(failing)
    ran: list[str] = []
    builder = GraphBuilder("g", version="1")
    books, effect = builder.declare("books"), builder.declare("effect")

    @builder.node("start")
    async def start() -> Command:
        ran.append("start")
        return Command().goto(books)

    @builder.implement(books, bookkeeping=True)
    async def keeps_books() -> Command:
        ran.append("books")
        return Command().goto(effect)

    @builder.implement(effect)
    async def has_effects() -> None:
        ran.append("effect")

    graph = builder.compile(start, output=lambda _: None)
    failing.slow = asyncio.Event()
    handle = await runtime.start("t", graph, None)
    await until(lambda: "books" in ran)
    await asyncio.sleep(0.02)
    assert ran == ["start", "books"]
    failing.slow.set()
    await handle
    assert ran == ["start", "books", "effect"]
    assert [len(commit.checkpoints) for commit in failing.commits] == [1, 2, 2]


async def test_async_tasks_run_ahead_of_commits_and_events_do_not(failing: FailingStore) -> None:
    """DUR-02, R6.28: the run's end waits for everything queued."""
    runtime = GraphRuntime(failing)
    made = chain()
    failing.slow = asyncio.Event()
    heard: list[events.RunEvent] = []
    handle = await runtime.start("t", made.graph, 1, RunConfig(durability=Durability.ASYNC))

    async def listen() -> None:
        async for record in handle.events():
            heard.append(record.event)

    listener = asyncio.create_task(listen())
    await until(lambda: made.ran["end"] and heard)
    await asyncio.sleep(0.01)
    assert not handle.done
    assert heard == [events.RunStarted()]
    assert len(failing.commits) == 1
    failing.slow.set()
    assert output(await handle) == ["start", "middle", "end"]
    await listener
    assert heard == await log(failing)
    assert len(failing.commits[0].checkpoints) == 1
    checkpoints = [draft.header for commit in failing.commits for draft in commit.checkpoints]
    assert [header.superstep for header in checkpoints] == [0, 1, 2, 3, 3]


async def test_async_writes_nothing_after_a_commit_that_failed(failing: FailingStore) -> None:
    """6.5: and the run ends with the store's failure."""
    runtime = GraphRuntime(failing)
    failing.slow = asyncio.Event()

    async def kill() -> None:
        failing.dead = True
        assert failing.slow is not None
        failing.slow.set()
        await asyncio.sleep(0.01)
        failing.dead = False

    made = chain(before_middle=kill)
    with pytest.raises(CheckpointWriteFailed):
        await runtime.run("t", made.graph, 1, RunConfig(durability=Durability.ASYNC))
    assert len(failing.commits) == 1
    assert (await failing.head("t")).claim is None


async def test_on_exit_writes_the_claim_and_then_all_at_once(failing: FailingStore) -> None:
    """DUR-04: mid-run only the claim and RunStarted; then Completed with the claim as its parent."""
    runtime = GraphRuntime(failing)
    gate = asyncio.Event()
    made = chain(before_middle=gate.wait)
    handle = await runtime.start("t", made.graph, 1, RunConfig(durability=Durability.ON_EXIT))
    await until(lambda: made.ran["middle"])
    assert await names(failing) == ["RunStarted"]
    (claim,) = await runtime.history("t")
    assert claim.status is CheckpointStatus.RUNNING
    gate.set()
    assert output(await handle) == ["start", "middle", "end"]
    last, first = await runtime.history("t")
    assert (last.status, last.parent_id, first.id) == (CheckpointStatus.COMPLETED, claim.id, claim.id)
    assert made.graph.restore(last).state[LOG] == ["start", "middle", "end"]
    assert len(failing.commits) == 2
    assert (await names(failing))[-1] == "RunCompleted"
    assert len(await log(failing)) == 8


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
async def test_an_outcome_is_durable_before_it_is_visible(failing: FailingStore, durability: Durability) -> None:
    """R6.28: completed, suspended and blocked: as long as the closing commit is on its way nobody is told, neither by the handle nor by
    its events."""
    runtime = GraphRuntime(failing)
    config = RunConfig(durability=durability)
    made = fan(delays=["slow"])
    endings = {"slow": CheckpointStatus.COMPLETED, "ask": CheckpointStatus.SUSPENDED, "block": CheckpointStatus.FAILED}
    for thread, status in endings.items():
        graph = made.graph if thread != "block" else blocking()
        failing.slow = asyncio.Event()
        handle = await runtime.start(thread, graph, [thread], config)
        told: list[str] = []

        async def listen(handle: RunHandle = handle, told: list[str] = told) -> None:
            async for record in handle.events():
                told.append(type(record.event).__name__)

        listening = asyncio.create_task(listen())
        made.delays["slow"].set()
        await until(lambda told=told: bool(told))
        await asyncio.sleep(0.02)
        assert not handle.done
        assert handle.status is RunStatus.RUNNING
        assert told == ["RunStarted"]
        assert (await failing.head(thread)).status is CheckpointStatus.RUNNING
        failing.slow.set()
        await handle.ended()
        assert (await failing.head(thread)).status is status
        await listening
        assert told == await names(failing, thread)


@pytest.mark.parametrize("durability", Durability)
async def test_nothing_runs_before_the_claim_is_durable(failing: FailingStore, durability: Durability) -> None:
    """R6.28, R6.23, R4.15: of a start and of a resume, whose answers are consumed with it or not at all."""
    runtime = GraphRuntime(failing)
    config = RunConfig(durability=durability)
    made = fan()
    seen: list[tuple[dict[str, int], list[str]]] = []

    async def look() -> None:
        seen.append((dict(made.ran), await names(failing)))

    failing.before_claim = look
    await runtime.run("t", made.graph, ["ask a"], config)
    failing.before_claim = look
    before = dict(made.ran)
    await (await runtime.resume("t", made.graph, {"1.0": True}, config))
    assert seen[0] == ({}, [])
    assert seen[1][0] == before
    assert seen[1][1][-1] == "RunSuspended"


def blocking() -> CompiledGraph[list[str], None]:
    builder = GraphBuilder("blocks", version="1")

    @builder.node("start")
    async def start(items: list[str]) -> Block:
        return Block(ValueError("blocked"))

    return builder.compile(start, output=lambda _: None)


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
