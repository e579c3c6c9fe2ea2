"""Tasks held before and after they run (5.2, 5.3, BRK)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import InvalidRoute, NodeFailed, SuperstepLimitExceeded
from llm4s_notebook.graph import (
    Answer,
    Block,
    Breakpoint,
    Command,
    GraphBuilder,
    GraphRuntime,
    PendingInterrupt,
    Resumed,
    RunBudgets,
    RunConfig,
    RunContext,
    StateKey,
    Suspend,
    Suspended,
    ThreadState,
)
from llm4s_notebook.graph._execution import BoundFanOut, BoundSend, JoinSlot, Origin

from .graphs import ITEMS, LOG, chain, completed, drive, fan, ids, names, nothing, output
from .holds import AFTER, BEFORE, after, before, proceed


async def test_the_entry_is_held_with_its_input_as_the_question() -> None:
    """BRK-03, R5.6, R5.8."""
    made = chain()
    held = await drive(made.graph, made.graph.start(7), before("start"))
    assert isinstance(held, Suspended)
    assert held.interrupts == (PendingInterrupt("0.0", "start", 7, BEFORE),)
    assert not made.ran
    assert held.state[LOG] == []


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


async def test_a_task_that_suspended_is_not_held_after(runtime: GraphRuntime) -> None:
    """BRK-41, R5.14, R5.45, R4.1: one interrupt, the typed one; its continuation is held only where its node is named, and reported as
    that node: what belongs to a step of an agent is for the agent to spell out."""
    made = fan()
    held = await runtime.run("t", made.graph, ["ask"], after("worker"))
    assert [(one.id, one.breakpoint) for one in held.interrupts] == [("1.0", None)]  # type: ignore[union-attr]
    held = await (await runtime.resume("t", made.graph, {"1.0": True}, after("worker", "approve")))
    assert [(one.id, one.resume_node, one.breakpoint) for one in held.interrupts] == [("2.0", "approve", AFTER)]  # type: ignore[union-attr]
    assert output(await proceed(runtime, made.graph, "2.0")) == ["planned", "ask:True", "summ"]


async def test_tasks_held_after_replay_together_in_one_superstep(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BRK-32, R5.18, D10."""
    made = fan()
    await runtime.run("t", made.graph, ["a", "b"], after("worker"))
    done = await proceed(runtime, made.graph, "1.0", "1.1")
    assert done.superstep == 4  # type: ignore[union-attr]  # plan, workers, one replay, summarize
    tasks = ["0.0 plan", "1.0 worker", "1.1 worker", "2.0 worker", "2.1 worker", "3.0 summarize"]
    assert await completed(store) == tasks


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


async def test_a_released_task_is_held_by_no_list(runtime: GraphRuntime) -> None:
    """R5.19: the replay of a task held after it ran is exempt, also when the resuming run names its node on both sides."""
    made = chain()
    held = await runtime.run("t", made.graph, 1, RunConfig(interrupt_after="middle"))
    again = RunConfig(interrupt_before="middle", interrupt_after="middle")
    assert output(await (await runtime.resume("t", made.graph, {ids(held)[0]: Breakpoint.proceed}, again))) == ["start", "middle", "end"]
    assert made.ran["middle"] == 1


async def test_stored_routes_are_checked_again_when_they_replay() -> None:
    """R5.22: as if the node had just returned them; here they changed between the hold and its release."""
    made = fan()
    held = await drive(made.graph, made.graph.start(["a"]), after("plan"))
    assert isinstance(held, Suspended)
    (parked,) = held.execution.parked.values()
    (route,) = parked.routes
    for spoilt, named in (
        (BoundFanOut("work", "gone", ()), "unknown node 'gone'"),
        (BoundFanOut("gone", "worker", ()), "unknown join 'gone'"),
        (BoundFanOut("work", "worker", (b"7",)), "does not decode"),
        (BoundSend("gone", b"null"), "unknown node 'gone'"),
    ):
        for routes in ((spoilt,), (route, spoilt)):
            execution = held.execution.replaced(parked={parked.id: parked.replaced(routes=routes)})
            with pytest.raises(InvalidRoute, match=named) as caught:
                await made.graph.step(made.graph.resume(execution, {"0.0": None}))
            assert (caught.value.node_id, caught.value.task_id) == ("plan", "1.0")
    twice = held.execution.replaced(parked={parked.id: parked.replaced(routes=(route, route))})
    with pytest.raises(InvalidRoute, match="twice"):
        await made.graph.step(made.graph.resume(twice, {"0.0": None}))
    assert output(await drive(made.graph, made.graph.resume(held.execution, {"0.0": None}))) == ["planned", "A", "summ"]


async def test_a_held_task_has_done_nothing_and_its_siblings_have(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R5.6, R5.7, R5.38: no call, no update, no write, no event; beside it a sibling ran and committed, then the run paused."""
    builder = GraphBuilder("g", version="1")
    ran: list[str] = []

    def says(name: str) -> Any:
        async def node(context: RunContext) -> Command:
            ran.append(name)
            context.emit("said", name)
            return Command().update(LOG, name)

        return builder.node(name, writes=LOG)(node)

    start = builder.node("start")(nothing)
    builder.edge(start, says("held"))
    builder.edge(start, says("sibling"))
    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None, before("held"))
    assert isinstance(held, Suspended)
    assert (ids(held), ran, held.state[LOG]) == (["1.0"], ["sibling"], ["sibling"])
    assert (await store.head("t")).write_count == 0
    assert await names(store) == ["RunStarted", "TaskCompleted", "CheckpointCommitted", "TaskCompleted", "Custom", "RunSuspended"]
    assert {record.task_id for record in await store.events_after("t", 0)} == {None, "0.0", "1.1"}


async def test_a_held_task_keeps_its_slot_and_its_origin(runtime: GraphRuntime) -> None:
    """R5.7, R4.12: on either side, also of a task that continues another; what it counts for at a join is what it counted for."""
    made = fan()
    held: Any = await runtime.run("t", made.graph, ["ask a"], before("worker"))
    config = RunConfig(interrupt_before="approve", interrupt_after="approve")
    for answer in (None, True, None, None):
        (one,) = held.execution.parked.values()
        assert one.slot == JoinSlot("work", "0.0")
        assert one.origin == Origin("1.0", "worker")
        held = await (await runtime.resume("t", made.graph, {one.id: answer}, config))
    assert output(held) == ["planned", "ask a:True", "summ"]


@pytest.mark.parametrize("how", ["fails", "blocks"])
async def test_a_task_that_did_not_complete_is_not_held_after(runtime: GraphRuntime, store: Checkpointer, how: str) -> None:
    """R5.14: one that failed or blocked ends its run as if no breakpoint were there."""
    builder = GraphBuilder("g", version="1")
    error = ValueError(how)

    @builder.node("bad", writes=LOG)
    async def bad() -> Block:
        if how == "fails":
            raise error
        return Block(error, Command().update(LOG, "bad"))

    graph = builder.compile(bad, output=lambda state: state[LOG])
    with pytest.raises(NodeFailed if how == "fails" else ValueError) as caught:
        await runtime.run("t", graph, None, after("bad"))
    assert (caught.value.cause if isinstance(caught.value, NodeFailed) else caught.value) is error
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.interrupts == ()
    assert latest.checkpoint.status.value == ("Running" if how == "fails" else "Failed")
    assert (await names(store))[-1] == "RunFailed"


async def test_a_replay_fires_static_edges_and_arrivals_beside_other_answers(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R5.16, R5.18: its edges, its routes and its arrivals, in the superstep in which a typed answer goes on too; the node is not run."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    ran: list[str] = []

    def says(name: str) -> Any:
        async def node() -> Command:
            ran.append(name)
            return Command().update(LOG, name)

        return builder.node(name, writes=LOG)(node)

    edge, both, other = says("edge"), says("both"), says("other")

    @builder.node("held", writes=LOG)
    async def held_node() -> Command:
        ran.append("held")
        return Command().update(LOG, "held").goto(other)

    @builder.node("asks")
    async def asks() -> Suspend[str, str]:
        return Suspend("?", ask)

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        return Command().update(LOG, given.answer)

    start = builder.node("start")(nothing)
    for target in (held_node, asks):
        builder.edge(start, target)
    builder.edge(held_node, edge)
    builder.static_join("join", [held_node, asks], both)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert ids(await runtime.run("t", graph, None, after("held"))) == ["1.0", "1.1"]
    done = await (await runtime.resume("t", graph, {"1.1": "answer", "1.0": None}))
    assert output(done) == ["held", "answer", "edge", "other", "both"]
    assert ran.count("held") == 1
    assert (await completed(store))[2:] == ["2.0 held", "2.1 ask", "3.0 edge", "3.1 other", "3.2 both"]


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
