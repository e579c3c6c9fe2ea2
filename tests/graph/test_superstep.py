"""One superstep after another (SUP, R3)."""

from __future__ import annotations

import asyncio
import random
import threading
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import ForeignExecution, NodeFailed, SuperstepLimitExceeded
from llm4s_notebook.graph import (
    Command,
    CompiledGraph,
    Execution,
    GraphBuilder,
    GraphRuntime,
    RunBudgets,
    RunConfig,
    RunContext,
    StateKey,
    ThreadState,
)

from .graphs import LOG, chain, drive, fan, ids, names, nothing, output, until

N = StateKey.replace("n", int, initial=0)


async def test_a_payload_reaches_its_node(runtime: GraphRuntime) -> None:
    """SUP-01, R3.17: the superstep number is the thread's."""
    builder = GraphBuilder("g", version="1")

    @builder.node("end", writes=N)
    async def end(n: int) -> Command:
        return Command().update(N, n * 2)

    @builder.node("start")
    async def start(n: int) -> Command:
        return Command().send(end, n + 1)

    graph = builder.compile(start, output=lambda state: state[N])
    for result in (await drive(graph, graph.start(20)), await runtime.run("t", graph, 20)):
        assert output(result) == 42
        assert result.superstep == 2  # type: ignore[union-attr]


def endless() -> CompiledGraph[None, int]:
    builder = GraphBuilder("endless", version="1")
    again = builder.declare("again")

    @builder.implement(again, writes=N)
    async def node(state: ThreadState) -> Command:
        return Command().update(N, state[N] + 1).goto(again)

    return builder.compile(again, output=lambda state: state[N])


async def test_the_superstep_limit_ends_an_endless_run_and_recover_has_a_fresh_allowance(
    runtime: GraphRuntime, store: Checkpointer
) -> None:
    """SUP-03, BUD-05, R3.23."""
    graph = endless()
    config = RunConfig(budgets=RunBudgets(max_supersteps=3))
    with pytest.raises(SuperstepLimitExceeded) as caught:
        await runtime.run("t", graph, None, config)
    assert caught.value.limit == 3
    assert caught.value.thread_id == "t"
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.status is CheckpointStatus.RUNNING
    assert graph.restore(latest.checkpoint).state[N] == 3
    with pytest.raises(SuperstepLimitExceeded):
        await (await runtime.recover("t", graph, config))
    latest = await store.latest("t")
    assert latest is not None
    assert graph.restore(latest.checkpoint).state[N] == 6


async def test_a_run_that_needs_exactly_the_limit_succeeds(runtime: GraphRuntime) -> None:
    """R3.23: tested after the end-of-run test."""
    made = chain()
    assert output(await runtime.run("t", made.graph, 1, RunConfig(budgets=RunBudgets(max_supersteps=3)))) == ["start", "middle", "end"]
    with pytest.raises(SuperstepLimitExceeded):
        await runtime.run("u", made.graph, 1, RunConfig(budgets=RunBudgets(max_supersteps=2)))


async def test_siblings_read_the_same_state_and_the_later_in_order_wins(runtime: GraphRuntime) -> None:
    """SUP-04, R3.1, R3.4."""
    saw: list[int] = []
    builder = GraphBuilder("g", version="1")

    def sibling(name: str, value: int) -> Any:
        @builder.node(name, writes=N)
        async def node(state: ThreadState) -> Command:
            saw.append(state[N])
            return Command().update(N, value)

        return node

    a, b = sibling("a", 1), sibling("b", 2)
    start = builder.node("start")(nothing)
    builder.edge(start, a)
    builder.edge(start, b)
    graph = builder.compile(start, output=lambda state: state[N])
    assert output(await drive(graph, graph.start(None))) == output(await runtime.run("t", graph, None)) == 2
    assert saw == [0, 0, 0, 0]


@pytest.mark.parametrize("seed", ["in order", "reversed", *range(20)])
async def test_the_order_in_which_siblings_finish_does_not_show(runtime: GraphRuntime, seed: object) -> None:
    """SUP-05, R3.2, R3.4: frontier order, then emission order."""
    order = list(range(4))
    if seed == "reversed":
        order.reverse()
    elif isinstance(seed, int):
        random.Random(seed).shuffle(order)
    gates = [asyncio.Event() for _ in range(4)]
    builder = GraphBuilder("g", version="1")

    @builder.node("worker", writes=LOG)
    async def worker(index: int) -> Command:
        await gates[index].wait()
        if (at := order.index(index)) + 1 < 4:
            gates[order[at + 1]].set()
        return Command().update(LOG, f"{index}a").update(LOG, f"{index}b")

    done = builder.node("done")(nothing)
    join = builder.dynamic_join("j", done)

    @builder.node("start")
    async def start() -> Command:
        gates[order[0]].set()
        return Command().fan_out(join, worker, range(4))

    graph = builder.compile(start, output=lambda state: state[LOG])
    assert output(await runtime.run("t", graph, None)) == ["0a", "0b", "1a", "1b", "2a", "2b", "3a", "3b"]


async def test_edges_come_before_routes_and_duplicates_stay() -> None:
    """SUP-06, R3.7, R3.8."""
    builder = GraphBuilder("g", version="1")
    x, y, z = (builder.node(name)(nothing) for name in "xyz")

    @builder.node("start")
    async def start() -> Command:
        return Command().goto(z).goto(x)

    builder.edge(start, x)
    builder.edge(start, y)
    graph = builder.compile(start, output=lambda _: None)
    after = await graph.step(graph.start(None))
    assert isinstance(after, Execution)
    assert [(task.id, task.node) for task in after.frontier] == [("1.0", "x"), ("1.1", "y"), ("1.2", "z"), ("1.3", "x")]


async def test_a_failing_projection_fails_the_run_with_its_own_error(runtime: GraphRuntime, store: Checkpointer) -> None:
    """SUP-12, R3.16: and the thread is left for recover."""
    error = ValueError("no output")

    def fails(_state: ThreadState) -> None:
        raise error

    builder = GraphBuilder("g", version="1")
    graph = builder.compile(builder.node("start")(nothing), output=fails)
    with pytest.raises(ValueError, match="no output"):
        await drive(graph, graph.start(None))
    with pytest.raises(ValueError, match="no output") as caught:
        await runtime.run("t", graph, None)
    assert caught.value is error
    assert (await store.head("t")).status is CheckpointStatus.RUNNING


async def test_an_execution_belongs_to_its_graph_object() -> None:
    """SUP-13, R1.32: even an identical graph is another one."""
    one, two = chain().graph, chain().graph
    execution = one.start(1)
    with pytest.raises(ForeignExecution):
        await two.step(execution)
    with pytest.raises(ForeignExecution):
        two.snapshot(execution)
    with pytest.raises(ForeignExecution):
        two.resume(execution, {"0.0": None})


def test_a_command_keeps_the_order_of_what_it_was_told() -> None:
    """SUP-14: each method gives a new command."""
    builder = GraphBuilder("g", version="1")
    a, b = builder.node("a")(nothing), builder.node("b")(nothing)
    first = Command().update(N, 1)
    whole = first.goto(b).remove(N).update(N, 2).goto(a)
    assert [getattr(one, "value", "removed") for one in whole.updates] == [1, "removed", 2]
    assert [route.target.id for route in whole.routes] == ["b", "a"]
    assert len(first.updates) == 1
    assert not first.routes


async def test_a_failing_sibling_does_not_stop_the_others(runtime: GraphRuntime, store: Checkpointer) -> None:
    """SUP-15, R3.18, R3.19: the slow good sibling is waited for and leaves a pending write; recover does not run it again."""
    made = fan(delays=["slow"])
    made.failing.add("bad")
    handle = await runtime.start("t", made.graph, ["bad", "slow"])
    await until(lambda: made.ran["slow"] and "bad" not in made.failing)
    made.delays["slow"].set()
    with pytest.raises(NodeFailed) as caught:
        await handle
    assert (caught.value.node_id, caught.value.task_id) == ("worker", "1.0")
    assert isinstance(caught.value.cause, ValueError)
    latest = await store.latest("t")
    assert latest is not None
    assert [write.task_id for write in latest.writes] == ["1.1"]
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "BAD", "SLOW", "summ"]
    assert (made.ran["slow"], made.ran["bad"]) == (1, 2)


async def test_of_several_failures_the_first_in_frontier_order_is_reported(runtime: GraphRuntime) -> None:
    """R3.18."""
    made = fan(delays=["first"])
    made.failing |= {"first", "second"}
    handle = await runtime.start("t", made.graph, ["first", "second"])
    await until(lambda: "second" not in made.failing)
    made.delays["first"].set()
    with pytest.raises(NodeFailed) as caught:
        await handle
    assert caught.value.task_id == "1.0"


async def test_a_plain_function_runs_beside_the_loop(runtime: GraphRuntime) -> None:
    """D24: in a worker thread, so the loop goes on."""
    builder = GraphBuilder("g", version="1")
    here = threading.get_ident()
    go = threading.Event()
    seen: list[int] = []

    @builder.node("plain", writes=LOG)
    def plain(context: RunContext) -> Command:
        seen.append(threading.get_ident())
        assert go.wait(20)
        context.progress("told", 1)
        return Command().update(LOG, "plain")

    @builder.node("frees")
    async def frees() -> None:
        await until(lambda: seen)
        go.set()

    start = builder.node("start")(nothing)
    builder.edge(start, plain)
    builder.edge(start, frees)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert output(await runtime.run("t", graph, None)) == ["plain"]
    assert seen != [here]


async def test_what_tasks_schedule_is_numbered_task_by_task() -> None:
    """R3.7, R3.8: by the ordinal of the task that scheduled it, edges before routes, a fan-out spelt out; then what the joins release."""
    builder = GraphBuilder("g", version="1")
    x, y, both, all_ = (builder.node(name)(nothing) for name in ("x", "y", "both", "all"))
    join = builder.dynamic_join("join", all_)
    gates = {name: asyncio.Event() for name in ("first", "second")}

    @builder.node("child")
    async def child(n: int) -> None: ...

    @builder.node("first")
    async def first() -> Command:
        await gates["first"].wait()
        return Command().goto(y).fan_out(join, child, [1, 2])

    @builder.node("second")
    async def second() -> Command:
        gates["first"].set()  # the second task ends before the first
        return Command().fan_out(join, child, []).goto(y)

    start = builder.node("start")(nothing)
    builder.edge(start, first)
    builder.edge(start, second)
    builder.edge(second, x)
    builder.edge(first, x)
    builder.static_join("both", [first, second], both)
    graph = builder.compile(start, output=lambda _: None)
    after: Any = await graph.step(graph.start(None))
    after = await graph.step(after)
    assert [(task.id, task.node) for task in after.frontier] == [
        ("2.0", "x"),
        ("2.1", "y"),
        ("2.2", "child"),
        ("2.3", "child"),
        ("2.4", "x"),
        ("2.5", "y"),
        ("2.6", "both"),
        ("2.7", "all"),
    ]


async def test_a_superstep_commits_nothing_of_its_good_tasks_when_one_fails(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R3.5, R3.18: neither updates, nor what they scheduled, nor arrivals, in the store as in memory."""
    made = fan()
    made.failing.add("b")
    execution: Any = await made.graph.step(made.graph.start(["a", "b"]))
    before = made.graph.snapshot(execution)
    with pytest.raises(NodeFailed):
        await made.graph.step(execution)
    assert made.graph.snapshot(execution) == before
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"])
    latest = await store.latest("t")
    assert latest is not None
    assert made.graph.snapshot(made.graph.restore(latest.checkpoint)) == before


async def test_no_more_tasks_run_at_once_than_the_budget_allows(runtime: GraphRuntime) -> None:
    """BUD-04, R3.2."""
    running = most = 0
    builder = GraphBuilder("g", version="1")

    @builder.node("worker")
    async def worker(n: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    done = builder.node("done")(nothing)
    join = builder.dynamic_join("j", done)

    @builder.node("start")
    async def start() -> Command:
        return Command().fan_out(join, worker, range(6))

    graph = builder.compile(start, output=lambda _: most)
    assert output(await runtime.run("t", graph, None, RunConfig(budgets=RunBudgets(max_concurrency=2)))) == 2


async def test_stepping_in_memory_has_no_superstep_limit() -> None:
    """R3.29: whatever the config says."""
    made = chain()
    config = RunConfig(budgets=RunBudgets(max_supersteps=1))
    assert output(await drive(made.graph, made.graph.start(1), config)) == ["start", "middle", "end"]


async def test_stepping_a_paused_execution_does_not_advance() -> None:
    """R3.29."""
    made = chain()
    config = RunConfig(interrupt_before="start")
    held = await drive(made.graph, made.graph.start(1), config)
    assert ids(held) == ["0.0"]
    again = await made.graph.step(held.execution)  # type: ignore[union-attr]
    assert ids(again) == ["0.0"]
    assert not made.ran


async def test_nothing_follows_a_task_without_routes_and_edges(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.23: the run is over after it."""
    builder = GraphBuilder("g", version="1")

    @builder.node("only", writes=LOG)
    async def only() -> Command:
        return Command().update(LOG, "only")

    assert output(await runtime.run("t", builder.compile(only, output=lambda state: state[LOG]), None)) == ["only"]
    assert (await names(store)).count("TaskCompleted") == 1


async def test_a_loop_may_run_new_tasks_at_once(runtime: GraphRuntime) -> None:
    """R3.18: as with an eager task factory, which Python has from 3.12 on; here of the tasks' own coroutines, which end at once."""
    loop = asyncio.get_running_loop()
    ran = 0

    async def over() -> None: ...

    def at_once(loop: asyncio.AbstractEventLoop, coroutine: Any, **given: Any) -> asyncio.Task[Any]:
        nonlocal ran
        if coroutine.__name__ != "_one":
            return asyncio.Task(coroutine, loop=loop, **given)
        with pytest.raises(StopIteration):
            coroutine.send(None)
        ran += 1
        return asyncio.Task(over(), loop=loop, **given)

    made = fan()
    loop.set_task_factory(at_once)
    try:
        done = await runtime.run("t", made.graph, ["a", "b", "c"])
    finally:
        loop.set_task_factory(None)
    assert ran == 3
    assert len(output(done)) == 5
