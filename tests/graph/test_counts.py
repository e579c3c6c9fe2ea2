"""Costs that are counted, never timed: commits, calls, reads, bodies run (D17, D18, docs/performance.md)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from counting import calls_of, counted_calls
from llm4s_notebook.checkpoint import InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.graph import (
    Command,
    CompiledGraph,
    Execution,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunBudgets,
    RunConfig,
    StateKey,
    Suspend,
    Suspended,
    ThreadState,
)

from .graphs import LOG, chain, fan, ids, output, until
from .stores import FailingStore

N = StateKey.replace("n", int, initial=0)
LAST = StateKey.replace("last", str, initial="")


def cycle(length: int) -> CompiledGraph[None, int]:
    """Two nodes that go to each other, `length` supersteps in all, each with two updates."""
    builder = GraphBuilder("cycle", version="1")
    one, two = builder.declare("one"), builder.declare("two")

    def body(name: str, other: Any) -> Any:
        async def node(state: ThreadState) -> Command:
            n = state[N] + 1
            command = Command().update(N, n).update(LAST, name)
            return command if n >= length else command.goto(other)

        return node

    builder.implement(one, writes=[N, LAST])(body("one", two))
    builder.implement(two, writes=[N, LAST])(body("two", one))
    return builder.compile(one, output=lambda state: state[N])


def test_a_superstep_in_memory_makes_few_calls() -> None:
    """performance.md W1 asks for at most 120 function calls per superstep without a checkpointer; held is what was reached."""

    def work(length: int) -> Any:
        graph = cycle(length)

        async def steps() -> None:
            at: Any = graph.start(None)
            while isinstance(at, Execution):
                at = await graph.step(at)
            assert output(at) == length

        return steps

    short, long = calls_of(work(200)) / 200, calls_of(work(1000)) / 1000
    assert long <= 65
    assert long <= short * 1.05


def test_a_durable_superstep_makes_few_calls() -> None:
    """performance.md W1, with a store in memory: its own work included."""

    async def run() -> None:
        await GraphRuntime(InMemoryCheckpointer()).run("t", cycle(500), None)

    assert calls_of(run) / 500 <= 120


async def test_one_commit_per_superstep_and_none_more_for_the_end() -> None:
    """R6.45, D18: the claim, one per superstep; the closing checkpoint rides with the last."""
    store = FailingStore()
    await GraphRuntime(store).run("t", cycle(50), None)
    assert len(store.commits) == 51
    assert sum(len(commit.checkpoints) for commit in store.commits) == 52
    assert [bool(commit.release) for commit in store.commits] == [False] * 50 + [True]


@pytest.mark.parametrize("count", [2, 1000])
async def test_tasks_that_finish_at_once_share_a_commit(count: int) -> None:
    """R6.45, D18: 1,000 at most 3 for their superstep; here their checkpoint is written at once, so no pending write is."""
    store = FailingStore()
    made = fan()
    done = await GraphRuntime(store).run("t", made.graph, [f"i{n}" for n in range(count)])
    assert len(output(done)) == count + 2
    commits = [commit for commit in store.commits if any(d.header.superstep == 2 for d in commit.checkpoints) or commit.writes]
    assert 1 <= len(commits) <= 3
    assert sum(len(commit.writes) for commit in store.commits) <= count
    assert len(store.commits) <= 6


async def test_a_fast_task_beside_a_slow_one_is_durable_before_the_slow_one_ends() -> None:
    """R6.45, D18, 6.5: in SYNC a task's result is written as it finishes."""
    store = FailingStore()
    made = fan(delays=["slow"])
    runtime = GraphRuntime(store)
    handle = await runtime.start("t", made.graph, ["a", "b", "slow"])
    await until(lambda: sum(len(commit.writes) for commit in store.commits) == 2)
    assert made.ran["slow"] == 1
    made.delays["slow"].set()
    await handle
    assert sum(len(commit.writes) for commit in store.commits) == 2
    assert len(store.commits) == 5


def bookkeeping(entry: bool) -> CompiledGraph[str, list[str]]:
    """input -> model -> call (two at once) -> collect -> model -> finish, as an agent's turn with two tool calls is."""
    builder = GraphBuilder("turn", version="1")
    model, finish = builder.declare("model"), builder.declare("finish")
    collect = builder.declare("collect")
    batch = builder.dynamic_join("batch", collect)

    @builder.node("call", writes=LOG)
    async def call(n: int) -> Command:
        return Command().update(LOG, f"call {n}")

    @builder.node("input", writes=LOG, bookkeeping=entry)
    async def start(text: str) -> Command:
        return Command().update(LOG, text).goto(model)

    @builder.implement(model, writes=[LOG, N])
    async def model_node(state: ThreadState) -> Command:
        command = Command().update(LOG, "model").update(N, state[N] + 1)
        return command.fan_out(batch, call, [1, 2]) if state[N] % 2 == 0 else command.goto(finish)

    @builder.implement(collect, writes=LOG, bookkeeping=True)
    async def collect_node() -> Command:
        return Command().update(LOG, "collect").goto(model)

    @builder.implement(finish, writes=LOG, bookkeeping=True)
    async def finish_node() -> Command:
        return Command().update(LOG, "finish")

    return builder.compile(start, output=lambda state: state[LOG])


WHOLE_TURN = ["hi", "model", "call 1", "call 2", "collect", "model", "finish"]


async def test_a_turn_with_tool_calls_makes_four_commits() -> None:
    """R6.45, D18: claim + input; model; calls + collect; model + finish + the closing checkpoint. Every checkpoint of R6.30 is there."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    graph = bookkeeping(True)
    for turn in range(3):
        before = len(store.commits)
        assert output(await runtime.run("t", graph, "hi")) == WHOLE_TURN * (turn + 1)
        commits = store.commits[before:]
        assert [len(commit.checkpoints) for commit in commits] == [2, 1, 2, 3]
        assert commits[-1].release
    assert len(await runtime.history("t")) == 24


async def test_a_resume_makes_three_commits_at_most() -> None:
    """R6.45, D18, performance.md W5: claim with the answer; act; ask again with the release."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    builder = GraphBuilder("w5", version="1")
    question = builder.declare_resume("act", question=int, answer=bool)
    ask = builder.declare("ask")

    @builder.implement(ask, writes=N)
    async def asks(state: ThreadState) -> Suspend[int, bool]:
        return Suspend(state[N], question)

    @builder.implement(question, writes=N)
    async def act(given: Resumed[int, bool]) -> Command:
        return Command().update(N, given.question + 1).goto(ask)

    graph = builder.compile(ask, output=lambda state: state[N])
    held: Any = await runtime.run("t", graph, None)
    for n in range(5):
        before = len(store.commits)
        held = await (await runtime.resume("t", graph, {held.interrupts[0].id: True}))
        assert isinstance(held, Suspended)
        assert held.interrupts[0].question == n + 1
        assert len(store.commits) - before == 3


async def test_what_rides_is_flushed_before_a_failure_is_recorded() -> None:
    """R6.45, D18: a projection that fails after a bookkeeping finish; its checkpoints are durable with RunFailed."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    builder = GraphBuilder("g", version="1")

    @builder.node("finish", writes=LOG, bookkeeping=True)
    async def finish() -> Command:
        return Command().update(LOG, "finish")

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        return Command().update(LOG, "start").goto(finish)

    def project(state: ThreadState) -> None:
        raise ValueError(state[LOG])

    graph = builder.compile(start, output=project)
    with pytest.raises(ValueError, match="finish"):
        await runtime.run("t", graph, None)
    latest = await store.latest("t")
    assert latest is not None
    assert graph.restore(latest.checkpoint).state[LOG] == ["start", "finish"]
    assert [len(commit.checkpoints) for commit in store.commits] == [1, 2]


async def test_a_bookkeeping_entry_that_does_not_just_complete_is_run_after_the_claim() -> None:
    """R6.45, D18, R6.23: its failure is a failed run of a claimed thread."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    builder = GraphBuilder("g", version="1")

    @builder.node("start", bookkeeping=True)
    async def start() -> Command:
        raise ValueError("bad")

    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(Exception, match="bad"):
        await runtime.run("t", graph, None)
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.superstep == 0
    assert [type(r.event).__name__ for r in await store.events_after("t", 0)] == ["RunStarted", "TaskFailed", "RunFailed"]


async def test_a_held_bookkeeping_node_is_held() -> None:
    """R5.2, D18: breakpoints act on every node."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    graph = bookkeeping(True)
    for config, held in ((RunConfig(interrupt_before="input"), "0.0"), (RunConfig(interrupt_after="collect"), None)):
        result = await runtime.run(f"t{held}", graph, "hi", config)
        assert isinstance(result, Suspended)
        if held:
            assert ids(result) == [held]
        else:
            assert result.interrupts[0].resume_node == "collect"
        assert output(await (await runtime.resume(f"t{held}", graph, {ids(result)[0]: None}))) == WHOLE_TURN


async def asked(count: int, runtime: GraphRuntime) -> tuple[Any, list[str]]:
    made = fan()
    held = await runtime.run("t", made.graph, [f"ask {n}" for n in range(count)])
    return made, ids(held)


def test_answering_one_of_many_costs_the_same_for_ten_and_for_a_thousand() -> None:
    """performance.md W6, D17: in calls; not one for each of those that still wait."""

    def measure(count: int) -> int:
        made: Any = None
        store = FailingStore()
        runtime = GraphRuntime(store)

        async def prepare() -> None:
            nonlocal made
            made, _ = await asked(count, runtime)

        async def answer() -> None:
            await prepare()
            with counted_calls() as calls:
                await (await runtime.resume("t", made.graph, {"1.5": True}))
            totals.append(calls.total)

        totals: list[int] = []
        asyncio.run(answer())
        assert made.ran["approve ask 5"] == 1
        assert sum(made.ran.values()) == count + 2
        return totals[0]

    few, many = measure(10), measure(1000)
    assert many <= few * 1.1


@pytest.mark.parametrize("count", [10, 1000])
async def test_a_warm_answer_asks_little_of_its_file(tmp_path: Path, count: int) -> None:
    """performance.md W6, R6.23, D17: what this runtime wrote last is not read again: the claim with the answer, and the superstep with the
    outcome, in two transactions; statements and calls are counted."""
    async with SqliteCheckpointer(tmp_path / "t.db", synchronous="normal") as store:
        runtime = GraphRuntime(store)
        made, waiting = await asked(count, runtime)

        async def answer(id: str) -> None:
            await (await runtime.resume("t", made.graph, {id: True}))

        for id in waiting[:3]:
            await answer(id)
        ran: list[str] = []
        for lane in (store._writer, store._reader):
            lane.call_now(lambda c: c.set_trace_callback(ran.append))
        ran.clear()
        await answer(waiting[3])
        asked_for = [one.split(" ")[0] for one in ran]
        for lane in (store._writer, store._reader):
            lane.call_now(lambda c: c.set_trace_callback(None))
        assert asked_for.count("COMMIT") == 2
        assert not [one for one in ran if one.startswith("SELECT")]
        assert len(asked_for) <= 15
        with counted_calls() as calls:
            for id in waiting[4:7]:
                await answer(id)
        assert calls.total / 3 <= 580


def test_a_question_and_an_answer_among_a_thousand_make_few_calls() -> None:
    """performance.md W6, with a store in memory: 1,000 tasks ask, and all are answered at once."""
    made = fan()
    runtime = GraphRuntime(InMemoryCheckpointer())
    answers: dict[str, bool] = {}

    async def ask() -> None:
        held = await runtime.run("t", made.graph, [f"ask {n}" for n in range(1000)])
        answers.update(dict.fromkeys(ids(held), True))

    async def answer() -> None:
        assert len(output(await (await runtime.resume("t", made.graph, answers)))) == 1002

    assert calls_of(ask) / 1000 <= 85
    assert calls_of(answer) / 1000 <= 98


async def test_answering_one_writes_a_patch_of_constant_size() -> None:
    """R6.44, D17: whatever else waits."""
    sizes = []
    for count in (10, 300):
        store = FailingStore()
        runtime = GraphRuntime(store)
        made, _ = await asked(count, runtime)
        before = len(store.commits)
        await (await runtime.resume("t", made.graph, {"1.5": True}))
        sizes.append([sum(len(draft.patch) for draft in commit.checkpoints) for commit in store.commits[before:]])
    assert sizes[0] == sizes[1]


async def test_what_a_turn_writes_does_not_depend_on_the_turns_before() -> None:
    """R6.44, D17, performance.md W4: bytes of patches, headers and journals at turn 5 and turn 60."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    made = chain()
    sizes = []
    for _ in range(60):
        before = len(store.commits)
        await runtime.run("t", made.graph, 1, RunConfig(run_id="r", budgets=RunBudgets(max_supersteps=3)))
        drafts = [draft for commit in store.commits[before:] for draft in commit.checkpoints]
        patches = sum(
            len(item) for draft in drafts for op in draft.patch for item in getattr(op, "items", ()) or (getattr(op, "value", b""),)
        )
        sizes.append(patches + sum(len(draft.header.body) + len(draft.header.journal) for draft in drafts))
    assert max(sizes[5:]) - min(sizes[5:]) <= 30  # ids grow by a digit
