"""Static breakpoints (BRK, R5)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import (
    ConfigError,
    InvalidResume,
    NodeFailed,
    NotSuspended,
    PendingInterrupts,
    RestoreRejected,
    RunCancelled,
    SuperstepLimitExceeded,
)
from llm4s_notebook.graph import (
    Answer,
    Block,
    Breakpoint,
    BreakpointPhase,
    Command,
    CompiledGraph,
    Completed,
    Durability,
    GraphBuilder,
    GraphRuntime,
    PendingInterrupt,
    Resumed,
    RunBudgets,
    RunConfig,
    StateKey,
    Suspend,
    Suspended,
    ThreadState,
    events,
)

from .graphs import ITEMS, LOG, chain, drive, fan, ids, log, names, output, trace, until

BEFORE, AFTER = BreakpointPhase.BEFORE, BreakpointPhase.AFTER
Another = Callable[[], GraphRuntime]


def before(*nodes: str) -> RunConfig:
    return RunConfig(interrupt_before=frozenset(nodes))


def after(*nodes: str) -> RunConfig:
    return RunConfig(interrupt_after=frozenset(nodes))


async def _nothing() -> None: ...


async def proceed(
    runtime: GraphRuntime, graph: CompiledGraph[Any, Any], *which: str, config: RunConfig | None = None
) -> Completed[Any] | Suspended:
    return await (await runtime.resume("t", graph, {id: Breakpoint.proceed for id in which}, config or RunConfig()))


async def test_the_entry_is_held_with_its_input_as_the_question() -> None:
    """BRK-03, R5.6, R5.8."""
    made = chain()
    held = await drive(made.graph, made.graph.start(7), before("start"))
    assert isinstance(held, Suspended)
    assert held.interrupts == (PendingInterrupt("0.0", "start", 7, BEFORE),)
    assert not made.ran
    assert held.state[LOG] == []


# -- the worked traces of R5.8 -------------------------------------------------------------------------------------------


async def test_trace_before_middle(runtime: GraphRuntime, store: Checkpointer) -> None:
    """5.8: held as 1.0 with null as the question, ran as 2.0, end as 3.0."""
    made = chain()
    held = await runtime.run("t", made.graph, 1, before("middle"))
    assert isinstance(held, Suspended)
    assert held.interrupts == (PendingInterrupt("1.0", "middle", None, BEFORE),)
    assert held.state[LOG] == ["start"]
    assert output(await proceed(runtime, made.graph, "1.0", config=before("middle"))) == ["start", "middle", "end"]
    tasks = [record.task_id for record in await store.events_after("t", 0) if isinstance(record.event, events.TaskCompleted)]
    assert tasks == ["0.0", "2.0", "3.0"]


async def test_trace_before_and_after_middle(runtime: GraphRuntime) -> None:
    """5.8, R5.5: held before it runs and, once answered and run, again after."""
    made = chain()
    config = RunConfig(interrupt_before="middle", interrupt_after="middle")
    held = await runtime.run("t", made.graph, 1, config)
    assert [(one.id, one.breakpoint) for one in held.interrupts] == [("1.0", BEFORE)]  # type: ignore[union-attr]
    held = await proceed(runtime, made.graph, "1.0", config=config)
    assert [(one.id, one.breakpoint) for one in held.interrupts] == [("2.0", AFTER)]  # type: ignore[union-attr]
    assert held.state[LOG] == ["start", "middle"]
    assert output(await proceed(runtime, made.graph, "2.0", config=config)) == ["start", "middle", "end"]
    assert made.ran == {"start": 1, "middle": 1, "end": 1}


async def test_trace_a_fan_out_is_let_through_one_at_a_time(runtime: GraphRuntime) -> None:
    """BRK-04, BRK-05, BRK-06, R5.9, R5.35, 5.8: results in the order of answering."""
    made = fan()
    held = await runtime.run("t", made.graph, ["a", "b"], before("worker"))
    assert isinstance(held, Suspended)
    assert [(one.id, one.question) for one in held.interrupts] == [("1.0", "a"), ("1.1", "b")]
    (one,) = held.execution.activations.values()
    assert (one.fan_out_task, one.expected) == ("0.0", ("1.0", "1.1"))
    held = await proceed(runtime, made.graph, "1.1")
    assert isinstance(held, Suspended)
    assert ids(held) == ["1.0"]
    assert held.state[ITEMS] == ["planned", "B"]
    assert (made.ran["summarize"], made.ran["a"]) == (0, 0)
    (one,) = held.execution.activations.values()
    assert one.arrived == {"1.1"}
    assert output(await proceed(runtime, made.graph, "1.0")) == ["planned", "B", "A", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (1, 1)


async def test_trace_held_siblings_answered_together_keep_frontier_order(runtime: GraphRuntime) -> None:
    """BRK-39, R5.35."""
    made = fan()
    await runtime.run("t", made.graph, ["a", "b"], before("worker"))
    assert output(await proceed(runtime, made.graph, "1.1", "1.0")) == ["planned", "A", "B", "summ"]


async def test_trace_a_released_fan_out_opens_under_the_continuations_id(runtime: GraphRuntime) -> None:
    """5.8, R5.15, R5.21."""
    made = fan()
    config = RunConfig(interrupt_after="plan", interrupt_before="worker")
    held = await runtime.run("t", made.graph, ["a"], config)
    assert isinstance(held, Suspended)
    assert [(one.id, one.question, one.breakpoint) for one in held.interrupts] == [("0.0", None, AFTER)]
    assert not held.execution.activations
    held = await proceed(runtime, made.graph, "0.0", config=config)
    assert isinstance(held, Suspended)
    assert [(one.id, one.question) for one in held.interrupts] == [("2.0", "a")]
    (one,) = held.execution.activations.values()
    assert (one.fan_out_task, one.expected) == ("1.0", ("2.0",))
    assert output(await proceed(runtime, made.graph, "2.0", config=config)) == ["planned", "A", "summ"]


async def test_trace_sibling_work_runs_beside_the_replay(runtime: GraphRuntime) -> None:
    """BRK-33, 5.8: p2 waits in the frontier and runs in the replay superstep, q2 in the next."""
    builder = GraphBuilder("g", version="1")

    def logs(name: str, target: Any = None) -> Any:
        @builder.node(name, writes=LOG)
        async def node() -> Command:
            command = Command().update(LOG, name)
            return command if target is None else command.goto(target)

        return node

    p, q = logs("p", logs("p2")), logs("q", logs("q2"))
    start = builder.node("start")(_nothing)
    builder.edge(start, p)
    builder.edge(start, q)
    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None, after("q"))
    assert isinstance(held, Suspended)
    assert ids(held) == ["1.1"]
    assert [(task.id, task.node) for task in held.execution.frontier] == [("2.0", "p2")]
    done = await proceed(runtime, graph, "1.1")
    assert output(done) == ["p", "q", "p2", "q2"]
    assert done.superstep == 4  # type: ignore[union-attr]


async def test_trace_a_static_join_source_held_after(runtime: GraphRuntime) -> None:
    """5.8, R5.12: the arrival is withheld with everything else."""
    builder = GraphBuilder("g", version="1")

    def logs(name: str) -> Any:
        @builder.node(name, writes=LOG)
        async def node() -> Command:
            return Command().update(LOG, name)

        return node

    left, right, merge = logs("l"), logs("r"), logs("m")
    start = builder.node("start")(_nothing)
    builder.edge(start, left)
    builder.edge(start, right)
    builder.static_join("both", [left, right], merge)
    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None, after("l"))
    assert isinstance(held, Suspended)
    assert held.execution.arrivals == {"both": frozenset({"r"})}
    assert held.state[LOG] == ["l", "r"]
    assert output(await proceed(runtime, graph, "1.0")) == ["l", "r", "m"]


# -- scenarios -----------------------------------------------------------------------------------------------------------


async def test_a_continuation_of_a_typed_interrupt_can_be_held_itself(runtime: GraphRuntime) -> None:
    """BRK-08, R5.11: the accepted answer waits inside the held task's input."""
    made = fan()
    config = before("approve")
    assert ids(await runtime.run("t", made.graph, ["ask"], config)) == ["1.0"]
    held = await (await runtime.resume("t", made.graph, {"1.0": True}, config))
    assert isinstance(held, Suspended)
    assert held.interrupts == (PendingInterrupt("2.0", "approve", {"question": "ask", "answer": True}, BEFORE),)
    assert output(await proceed(runtime, made.graph, "2.0", config=config)) == ["planned", "ask:True", "summ"]


async def test_a_plan_held_after_schedules_no_worker(runtime: GraphRuntime) -> None:
    """BRK-11, R5.12, R5.15."""
    made = fan()
    held = await runtime.run("t", made.graph, ["a", "b"], after("plan"))
    assert isinstance(held, Suspended)
    assert held.state[ITEMS] == ["planned"]
    assert made.ran == {"plan": 1}
    assert output(await proceed(runtime, made.graph, "0.0")) == ["planned", "A", "B", "summ"]
    assert made.ran["plan"] == 1


async def test_workers_held_after_keep_the_join_closed(runtime: GraphRuntime) -> None:
    """BRK-12, 5.8: both results are committed while held."""
    made = fan()
    held = await runtime.run("t", made.graph, ["a", "b"], after("worker"))
    assert isinstance(held, Suspended)
    assert (ids(held), held.state[ITEMS]) == (["1.0", "1.1"], ["planned", "A", "B"])
    (one,) = held.execution.activations.values()
    assert not one.arrived
    held = await proceed(runtime, made.graph, "1.0", config=after("worker"))
    assert isinstance(held, Suspended)
    assert (ids(held), made.ran["summarize"]) == (["1.1"], 0)
    (one,) = held.execution.activations.values()
    assert one.arrived == {"1.0"}
    assert output(await proceed(runtime, made.graph, "1.1", config=after("worker"))) == ["planned", "A", "B", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (1, 1)


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


async def test_a_held_thread_refuses_start_and_recover(runtime: GraphRuntime, another: Another) -> None:
    """BRK-16, R5.25: also from another runtime."""
    made = chain()
    await runtime.run("t", made.graph, 1, before("middle"))
    for one in (runtime, another()):
        for call in (one.start("t", made.graph, 1), one.recover("t", made.graph)):
            with pytest.raises(PendingInterrupts) as caught:
                await call
            assert caught.value.interrupt_ids == ("1.0",)


async def test_after_start_and_before_end_in_memory() -> None:
    """BRK-20, R5.17, R5.20: the replay takes superstep 1, so end is 3.0."""
    made = chain()
    config = RunConfig(interrupt_after="start", interrupt_before="end")
    held = await drive(made.graph, made.graph.start(1), config)
    assert [(one.id, one.breakpoint) for one in held.interrupts] == [("0.0", AFTER)]  # type: ignore[union-attr]
    held = await drive(made.graph, made.graph.resume(held.execution, {"0.0": None}), config)  # type: ignore[union-attr]
    assert [(one.id, one.breakpoint) for one in held.interrupts] == [("3.0", BEFORE)]  # type: ignore[union-attr]
    done = await drive(made.graph, made.graph.resume(held.execution, Answer.proceed("3.0")), config)  # type: ignore[union-attr]
    assert output(done) == ["start", "middle", "end"]
    assert made.ran == {"start": 1, "middle": 1, "end": 1}


async def test_holds_survive_json_and_three_instances_of_the_graph(store: Checkpointer, another: Another) -> None:
    """BRK-21, R5.40: at each stop the snapshot equals itself through JSON; a ran once, in the last instance."""
    config = RunConfig(interrupt_before="worker", interrupt_after="plan")
    made = [fan(), fan(), fan()]

    async def check(which: int) -> None:
        latest = await store.latest("t")
        assert latest is not None
        graph = made[which].graph
        snapshot = graph.snapshot(graph.restore(latest.checkpoint))
        assert json.loads(json.dumps(snapshot)) == snapshot
        assert graph.snapshot(graph.restore(json.loads(json.dumps(snapshot)))) == snapshot

    assert ids(await another().run("t", made[0].graph, ["a"], config)) == ["0.0"]
    await check(0)
    assert ids(await proceed(another(), made[1].graph, "0.0", config=config)) == ["2.0"]
    await check(1)
    assert output(await proceed(another(), made[2].graph, "2.0", config=config)) == ["planned", "A", "summ"]
    await check(2)
    assert [one.ran["a"] for one in made] == [0, 0, 1]


async def test_a_damaged_hold_is_named() -> None:
    """BRK-22, R5.41: held route, node, input, origin; the replay route of a pending task."""
    made = fan()
    graph = made.graph
    held = await drive(graph, graph.start(["a"]), RunConfig(interrupt_after="plan"))
    assert isinstance(held, Suspended)
    snapshot = graph.snapshot(held.execution)
    (parked,) = snapshot["parked"]
    route = parked["routes"][0]

    def damaged(**changes: Any) -> dict[str, Any]:
        return {**snapshot, "parked": [{**parked, **changes}]}

    def rejected(damage: dict[str, Any]) -> tuple[str, ...]:
        with pytest.raises(RestoreRejected) as caught:
            graph.restore(damage)
        return caught.value.problems

    assert rejected(damaged(routes=[{**route, "node": "gone"}])) == ("parked interrupt 0.0: it routes to unknown node 'gone'",)
    assert rejected(damaged(routes=[{**route, "join": "gone"}])) == ("parked interrupt 0.0: it fans out to unknown join 'gone'",)
    assert "does not decode" in rejected(damaged(routes=[{**route, "payloads": [7]}]))[0]
    assert rejected(damaged(routes=None)) == ("parked interrupt 0.0: the routes are not a list",)
    assert rejected(damaged(node="gone")) == ("parked interrupt 0.0: node 'gone' is unknown",)
    assert rejected(damaged(origin_node="gone")) == ("parked interrupt 0.0: origin node 'gone' is unknown",)
    assert rejected(damaged(phase="Sideways"))[0].startswith("parked interrupt 0.0: phase 'Sideways' is unknown")
    assert rejected({**snapshot, "parked": [{**parked, "phase": "Before", "question": 7}]})[0].startswith(
        "parked interrupt 0.0: its input does not decode"
    )
    execution = graph.resume(held.execution, {"0.0": None})
    snapshot = graph.snapshot(execution)
    (task,) = snapshot["tasks"]
    snapshot["tasks"] = [{**task, "replay": [{**route, "node": "gone"}]}]
    assert rejected(snapshot) == ("pending task 1.0: it routes to unknown node 'gone'",)


async def test_recover_applies_its_breakpoints_to_tasks_not_yet_let_through(runtime: GraphRuntime) -> None:
    """BRK-23, R5.36, R5.44: cancelled while a slow node ran; the old handle's cancel does nothing."""
    gate = asyncio.Event()
    made = chain(before_middle=gate.wait)
    config = before("end")
    handle = await runtime.start("t", made.graph, 1, config)
    await until(lambda: made.ran["middle"])
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    gate.set()
    held = await (await runtime.recover("t", made.graph, config))
    assert ids(held) == ["2.0"]
    assert made.ran["end"] == 0
    handle.cancel()
    assert output(await proceed(runtime, made.graph, "2.0", config=config)) == ["start", "middle", "end"]


async def test_a_task_let_through_before_a_cancel_just_runs(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-24, R5.36: the mark is in the checkpoint's pending task."""
    gate = asyncio.Event()
    made = chain(before_middle=gate.wait)
    config = before("middle")
    await runtime.run("t", made.graph, 1, config)
    handle = await runtime.resume("t", made.graph, {"1.0": None}, config)
    await until(lambda: made.ran["middle"])
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.status is CheckpointStatus.RUNNING
    assert [(task.id, task.passed) for task in made.graph.restore(latest.checkpoint).frontier] == [("2.0", True)]
    gate.set()
    assert output(await (await runtime.recover("t", made.graph, config))) == ["start", "middle", "end"]
    assert made.ran["middle"] == 2


async def test_a_task_let_through_that_failed_is_not_held_again(runtime: GraphRuntime) -> None:
    """BRK-25, R5.37."""
    fails = [True]

    async def once() -> None:
        if fails:
            fails.pop()
            raise ValueError("once")

    made = chain(before_middle=once)
    config = before("middle")
    await runtime.run("t", made.graph, 1, config)
    with pytest.raises(NodeFailed):
        await proceed(runtime, made.graph, "1.0", config=config)
    assert output(await (await runtime.recover("t", made.graph, config))) == ["start", "middle", "end"]
    assert made.ran["middle"] == 2


@pytest.mark.parametrize("durability", Durability)
async def test_a_held_thread_is_durable_in_every_mode(
    runtime: GraphRuntime, another: Another, store: Checkpointer, durability: Durability
) -> None:
    """BRK-27, R5.43."""
    made = chain()
    config = RunConfig(interrupt_after="start", durability=durability)
    assert ids(await runtime.run("t", made.graph, 1, config)) == ["0.0"]
    head = await store.head("t")
    assert (head.status, head.claim) == (CheckpointStatus.SUSPENDED, None)
    done = await proceed(another(), made.graph, "0.0", config=RunConfig(durability=durability))
    assert output(done) == ["start", "middle", "end"]
    assert (await store.head("t")).status is CheckpointStatus.COMPLETED


async def test_events_name_held_and_answered_interrupts(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-28, R5.38, R5.39: and a held-before task records no task event."""
    made = chain()
    await runtime.run("t", made.graph, 1, before("end"))
    await proceed(runtime, made.graph, "2.0")
    told = await log(store)
    assert events.RunSuspended(("2.0",)) in told
    assert events.RunResumed(("2.0",)) in told
    assert "TaskSuspended" not in await names(store)


async def test_the_next_round_of_a_loop_is_held_again_under_a_new_id(runtime: GraphRuntime) -> None:
    """BRK-30, R5.10."""
    rounds = StateKey.replace("rounds", int, initial=0)
    builder = GraphBuilder("g", version="1")
    node = builder.declare("node")

    @builder.implement(node, writes=rounds)
    async def loops(state: ThreadState) -> Command:
        command = Command().update(rounds, state[rounds] + 1)
        return command.goto(node) if state[rounds] < 2 else command

    graph = builder.compile(node, output=lambda state: state[rounds])
    held: Any = await runtime.run("t", graph, None, before("node"))
    seen = []
    while isinstance(held, Suspended):
        seen += ids(held)
        held = await proceed(runtime, graph, *ids(held), config=before("node"))
    assert seen == ["0.0", "2.0", "4.0"]
    assert output(held) == 3


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


async def test_what_is_held_stays_held_whatever_the_resuming_run_says(runtime: GraphRuntime) -> None:
    """R5.26, R5.27: no answer, no release; and the rest is not held without breakpoints."""
    made = fan()
    await runtime.run("t", made.graph, ["a", "b"], before("worker", "summarize"))
    held = await proceed(runtime, made.graph, "1.0")
    assert ids(held) == ["1.1"]
    assert output(await proceed(runtime, made.graph, "1.1")) == ["planned", "A", "B", "summ"]


async def test_tasks_held_after_replay_together_in_one_superstep(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-32, R5.18, D10."""
    made = fan()
    await runtime.run("t", made.graph, ["a", "b"], after("worker"))
    done = await proceed(runtime, made.graph, "1.0", "1.1")
    assert done.superstep == 4  # type: ignore[union-attr]  # plan, workers, one replay, summarize
    tasks = [record.task_id for record in await store.events_after("t", 0) if isinstance(record.event, events.TaskCompleted)]
    assert tasks == ["0.0", "1.0", "1.1", "2.0", "2.1", "3.0"]


async def test_the_replay_superstep_counts_against_the_budget(runtime: GraphRuntime) -> None:
    """BRK-34, R3.24, R5.17."""
    made = chain()
    await runtime.run("t", made.graph, 1, after("start"))
    with pytest.raises(SuperstepLimitExceeded):
        await proceed(runtime, made.graph, "0.0", config=RunConfig(budgets=RunBudgets(max_supersteps=2)))
    assert made.ran == {"start": 1, "middle": 1}
    assert output(await (await runtime.recover("t", made.graph))) == ["start", "middle", "end"]


async def test_a_superstep_that_only_holds_counts_too(runtime: GraphRuntime) -> None:
    """R3.25, D10."""
    made = chain()
    config = RunConfig(interrupt_before="middle", budgets=RunBudgets(max_supersteps=1))
    with pytest.raises(SuperstepLimitExceeded):
        await runtime.run("t", made.graph, 1, config)
    held = await (await runtime.recover("t", made.graph, config))
    assert isinstance(held, Suspended)
    assert held.execution.superstep == 2


async def test_a_failing_sibling_outranks_a_hold(runtime: GraphRuntime) -> None:
    """BRK-36, R5.31: failed first, then suspended at x by recover; x never ran before its answer."""
    made = fan()
    made.failing.add("b")
    builder = GraphBuilder("g", version="1")
    ran: list[str] = []
    fails = [True]

    @builder.node("x")
    async def x() -> None:
        ran.append("x")

    @builder.node("b")
    async def b() -> None:
        ran.append("b")
        if fails:
            fails.pop()
            raise ValueError("b")

    start = builder.node("start")(_nothing)
    builder.edge(start, x)
    builder.edge(start, b)
    graph = builder.compile(start, output=lambda _: ran)
    with pytest.raises(NodeFailed):
        await runtime.run("t", graph, None, before("x"))
    held = await (await runtime.recover("t", graph, before("x")))
    assert ids(held) == ["1.0"]
    assert ran == ["b", "b"]
    assert output(await proceed(runtime, graph, "1.0")) == ["b", "b", "x"]


async def test_a_failing_sibling_leaves_a_result_that_would_be_held_after(runtime: GraphRuntime) -> None:
    """R5.29, R5.32: recover reuses it without running the node, and its own configuration holds it or not."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"])
    held = await (await runtime.recover("t", made.graph, after("worker")))
    assert ids(held) == ["1.0", "1.1"]
    assert made.ran["a"] == 1
    assert output(await proceed(runtime, made.graph, "1.0", "1.1")) == ["planned", "A", "B", "summ"]


async def test_a_recorded_result_is_never_held_before(runtime: GraphRuntime) -> None:
    """R5.30."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"])
    held = await (await runtime.recover("t", made.graph, before("worker")))
    assert ids(held) == ["1.1"]
    assert held.state[ITEMS] == ["planned", "A"]


async def test_a_replay_that_crashed_is_replayed_once_more(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-40, R5.16: without running the node."""
    builder = GraphBuilder("g", version="1")
    gate = asyncio.Event()
    ran: list[str] = []
    slow, after_q = builder.declare("slow"), builder.declare("after-q")

    @builder.node("p")
    async def p() -> Command:
        return Command().goto(slow)

    @builder.node("start")
    async def start() -> Command:
        return Command().goto(p).send(q, 7)

    @builder.implement(slow)
    async def slow_node() -> None:
        ran.append("slow")
        await gate.wait()

    @builder.node("q", writes=LOG)
    async def q(n: int) -> Command:
        ran.append("q")
        return Command().update(LOG, "q").goto(after_q)

    @builder.implement(after_q, writes=LOG)
    async def after_q_node() -> Command:
        return Command().update(LOG, "after q")

    graph = builder.compile(start, output=lambda state: state[LOG])
    await runtime.run("t", graph, None, after("q"))
    handle = await runtime.resume("t", graph, {"1.1": None}, after("q"))
    await until(lambda: "slow" in ran)
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    gate.set()
    assert output(await (await runtime.recover("t", graph, after("q")))) == ["q", "after q"]
    assert ran == ["q", "slow", "slow"]


async def test_a_task_that_suspended_is_not_held_after(runtime: GraphRuntime) -> None:
    """BRK-41, R5.14: one interrupt, the typed one; its continuation is held only where its node is named."""
    made = fan()
    held = await runtime.run("t", made.graph, ["ask"], after("worker"))
    assert [(one.id, one.breakpoint) for one in held.interrupts] == [("1.0", None)]  # type: ignore[union-attr]
    held = await (await runtime.resume("t", made.graph, {"1.0": True}, after("worker", "approve")))
    assert [(one.id, one.resume_node, one.breakpoint) for one in held.interrupts] == [("2.0", "approve", AFTER)]  # type: ignore[union-attr]
    assert output(await proceed(runtime, made.graph, "2.0")) == ["planned", "ask:True", "summ"]


async def test_a_blocking_sibling_drops_what_is_held(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-42, R5.33."""
    refused = ValueError("blocked")
    builder = GraphBuilder("g", version="1")
    blocks = [True]

    @builder.node("held")
    async def held() -> None: ...

    @builder.node("stop")
    async def stop() -> Block | None:
        return Block(refused) if blocks else None

    start = builder.node("start")(_nothing)
    builder.edge(start, held)
    builder.edge(start, stop)
    graph = builder.compile(start, output=lambda _: "done")
    with pytest.raises(ValueError, match="blocked") as caught:
        await runtime.run("t", graph, None, before("held"))
    assert caught.value is refused
    assert (await store.head("t")).status is CheckpointStatus.FAILED
    with pytest.raises(NotSuspended):
        await runtime.resume("t", graph, {"1.0": None})
    blocks.clear()
    assert output(await runtime.run("t", graph, None)) == "done"


async def test_a_task_held_after_is_told_twice_under_two_ids(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-44, R5.38."""
    made = chain()
    await runtime.run("t", made.graph, 1, after("middle"))
    await proceed(runtime, made.graph, "1.0")
    told = [
        (record.task_id, record.node_id) for record in await store.events_after("t", 0) if isinstance(record.event, events.TaskCompleted)
    ]
    assert told == [("0.0", "start"), ("1.0", "middle"), ("2.0", "middle"), ("3.0", "end")]
    assert "TaskSuspended" not in await names(store)


async def test_an_unknown_breakpoint_is_refused_before_the_thread_is_read(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-45, R5.4: by start, resume and recover, on any thread, listing every unknown node in order."""
    made = chain()
    config = RunConfig(interrupt_before={"zebra", "start", "ant"}, interrupt_after={"bee"})
    wanted = (
        "interrupt_before names node 'ant', which graph 'chain' does not have",
        "interrupt_before names node 'zebra', which graph 'chain' does not have",
        "interrupt_after names node 'bee', which graph 'chain' does not have",
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
    with pytest.raises(ConfigError):
        await made.graph.step(made.graph.start(1), config)
    assert await trace(store, "held") == unchanged
    assert (await store.head("new")).checkpoint_id is None


async def test_a_join_target_that_is_a_held_node(runtime: GraphRuntime) -> None:
    """R5.34: the join releases, and its target is held before it runs."""
    made = fan()
    held = await runtime.run("t", made.graph, ["a"], before("summarize"))
    assert isinstance(held, Suspended)
    assert ids(held) == ["2.0"]
    assert not held.execution.activations
    assert output(await proceed(runtime, made.graph, "2.0")) == ["planned", "A", "summ"]


async def test_stored_routes_are_checked_again_when_they_replay() -> None:
    """R5.22: as if the node had just returned them."""
    made = fan()
    held = await drive(made.graph, made.graph.start(["a"]), after("plan"))
    assert isinstance(held, Suspended)
    done = await drive(made.graph, made.graph.resume(held.execution, {"0.0": None}))
    assert output(done) == ["planned", "A", "summ"]


async def test_breakpoints_are_not_stored_with_the_thread(runtime: GraphRuntime, another: Another) -> None:
    """R5.3, R1.37: another run without them is not held, and the graph is the same graph."""
    made = chain()
    await runtime.run("t", made.graph, 1, before("middle", "end"))
    other = chain()
    assert other.graph.fingerprint == made.graph.fingerprint
    assert output(await proceed(another(), other.graph, "1.0")) == ["start", "middle", "end"]


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

    start = builder.node("start")(_nothing)
    builder.edge(start, asks)
    builder.edge(start, held)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert ids(await runtime.run("t", graph, None, before("held"))) == ["1.0", "1.1"]
    assert ids(await proceed(runtime, graph, "1.1")) == ["1.0"]
    assert output(await (await runtime.resume("t", graph, {"1.0": 5}))) == ["held", "5"]
