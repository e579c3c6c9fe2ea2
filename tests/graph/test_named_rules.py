"""Rules that other tests lean on without saying so, each by its number."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, Commit, InMemoryCheckpointer, PendingWrite
from llm4s_notebook.errors import ConfigError, NodeFailed, ThreadBusy
from llm4s_notebook.graph import (
    Breakpoint,
    BreakpointPhase,
    Command,
    Execution,
    GraphBuilder,
    GraphRuntime,
    RunConfig,
    StateKey,
    Suspended,
    ThreadState,
)

from .graphs import ITEMS, LOG, chain, fan, ids, log, names, output

HOLD_MIDDLE = RunConfig(interrupt_before="middle")


async def stored(store: Checkpointer, section: str) -> dict[str, Any]:
    latest = await store.latest("t")
    assert latest is not None
    return {name: json.loads(entry) for (place, name), entry in latest.checkpoint.entries.items() if place == section}  # type: ignore[arg-type]  # these sections hold values


async def test_nothing_follows_a_task_without_routes_and_edges(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.23: the run is over after it."""
    builder = GraphBuilder("g", version="1")

    @builder.node("only", writes=LOG)
    async def only() -> Command:
        return Command().update(LOG, "only")

    assert output(await runtime.run("t", builder.compile(only, output=lambda state: state[LOG]), None)) == ["only"]
    assert (await names(store)).count("TaskCompleted") == 1


async def test_a_config_belongs_to_one_run(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.30: neither its breakpoints, nor its run id or principal are the next run's; the principal is recorded, never checked."""
    made = chain()
    config = RunConfig(interrupt_before=["middle", "end"], run_id="mine", principal="ann", metadata={"any": ["thing"]})
    held = await runtime.run("t", made.graph, 1, config)
    handle = await runtime.resume("t", made.graph, {ids(held)[0]: Breakpoint.proceed})
    assert output(await handle) == ["start", "middle", "end"]  # not held before end
    assert handle.run_id != "mine"
    assert [getattr(event, "principal", "-") for event in await log(store) if hasattr(event, "principal")] == ["ann", None]


async def test_the_records_of_tasks_and_of_what_is_parked(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.33, R1.34, R4.7, R5.7, R5.13: id, node, input or question, join slot, origin, and the routes withheld after a node; no code."""
    made = fan()
    held = await runtime.run("t", made.graph, ["ask a"])
    assert await stored(store, "parked") == {
        "1.0": {
            "node": "approve",
            "question": "ask a",
            "slot_join": "work",
            "slot_task": "0.0",
            "origin_task": "1.0",
            "origin_node": "worker",
        }
    }
    held = await (await runtime.resume("t", made.graph, {ids(held)[0]: True}, RunConfig(interrupt_after="approve")))
    (stop,) = held.interrupts if isinstance(held, Suspended) else ()
    assert (stop.resume_node, stop.question, stop.breakpoint) == ("approve", None, BreakpointPhase.AFTER)
    (record,) = (await stored(store, "parked")).values()
    assert record == {
        "node": "approve",
        "question": None,
        "slot_join": "work",
        "slot_task": "0.0",
        "origin_task": "1.0",  # R4.12: the continuation stands for the task that asked
        "origin_node": "worker",
        "phase": "After",
        "routes": [],
    }
    assert output(await (await runtime.resume("t", made.graph, {stop.id: Breakpoint.proceed}))) == ["planned", "ask a:True", "summ"]
    assert made.ran["ask a"] == made.ran["approve ask a"] == 1


def test_the_keys_of_a_graph_are_those_written_and_those_registered() -> None:
    """R2.3."""
    builder = GraphBuilder("g", version="1")
    read = StateKey.replace("read", int, initial=0)

    @builder.node("only", writes=[LOG, ITEMS])
    async def only() -> None: ...

    builder.reads(read)
    assert {key.id for key in builder.compile(only, output=lambda _: None).keys} == {"log", "items", "read"}


async def test_the_projection_runs_only_when_a_run_completes(runtime: GraphRuntime) -> None:
    """R2.5: not at a hold, and once at the end."""
    seen: list[list[str]] = []
    builder = GraphBuilder("g", version="1")

    @builder.node("only", writes=LOG)
    async def only() -> Command:
        return Command().update(LOG, "only")

    def project(state: ThreadState) -> int:
        seen.append(state[LOG])
        return len(seen)

    graph = builder.compile(only, output=project)
    held = await runtime.run("t", graph, None, RunConfig(interrupt_after="only"))
    assert seen == []
    assert output(await (await runtime.resume("t", graph, {ids(held)[0]: Breakpoint.proceed}))) == 1
    assert seen == [["only"]]


async def test_a_breakpoint_at_no_node_is_refused_at_admission_not_at_compile(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R2.6, R5.4: the graph compiles whatever a run will name."""
    with pytest.raises(ConfigError, match="nowhere"):
        await runtime.run("t", chain().graph, 1, RunConfig(interrupt_before=["nowhere"]))
    assert await store.latest("t") is None


@pytest.mark.parametrize(
    ("config", "items"),
    [
        (RunConfig(), ["ask"]),
        (RunConfig(interrupt_before="worker"), ["a"]),
        (RunConfig(interrupt_after="worker"), ["a"]),
    ],
    ids=["suspended", "before", "after"],
)
async def test_what_is_parked_sets_nothing_in_motion(config: RunConfig, items: list[str]) -> None:
    """R3.9, R4.1, R5.1: no edge, no route, no arrival, whichever way it came to wait; one interrupt a task, whose id it has."""
    made = fan()
    at: Any = await made.graph.step(made.graph.start(items))
    at = await made.graph.step(at, config)
    execution = at.execution if isinstance(at, Suspended) else at
    assert isinstance(execution, Execution)
    snapshot = made.graph.snapshot(execution)
    assert snapshot["tasks"] == []
    assert [one["id"] for one in snapshot["parked"]] == ["1.0"]
    assert [(one["expected"], one["arrived"]) for one in snapshot["activations"]] == [(["1.0"], [])]


async def test_a_released_task_is_held_by_no_list(runtime: GraphRuntime) -> None:
    """R5.19: the replay of a task held after it ran is exempt, also when the resuming run names its node on both sides."""
    made = chain()
    held = await runtime.run("t", made.graph, 1, RunConfig(interrupt_after="middle"))
    again = RunConfig(interrupt_before="middle", interrupt_after="middle")
    assert output(await (await runtime.resume("t", made.graph, {ids(held)[0]: Breakpoint.proceed}, again))) == ["start", "middle", "end"]
    assert made.ran["middle"] == 1


async def test_a_recorded_result_says_whose_it_is(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R6.4: checkpoint, task, node, operations and routes; and for a task that asks, where it goes on and the question."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "ask", "b"])
    latest = await store.latest("t")
    assert latest is not None
    writes = {write.task_id: (write.checkpoint_id, write.node_id, json.loads(write.body)) for write in latest.writes}
    here = latest.checkpoint.id
    assert writes == {
        "1.0": (here, "worker", {"updates": [{"key": "items", "value": "A"}], "routes": []}),
        "1.1": (here, "worker", {"updates": [], "routes": [], "suspend": {"node": "approve", "question": "ask"}}),
    }
    assert all(isinstance(write, PendingWrite) for write in latest.writes)


async def test_a_busy_thread_says_who_holds_it() -> None:
    """R6.27: the thread, its latest checkpoint and the holding run."""
    store = InMemoryCheckpointer()
    made = chain()
    await GraphRuntime(store).run("t", made.graph, 1)
    at = (await store.head("t")).checkpoint_id
    claim = await store.claim("t", "the other run", 30)
    with pytest.raises(ThreadBusy) as caught:
        await GraphRuntime(store).start("t", made.graph, 1)
    assert (caught.value.thread_id, caught.value.checkpoint_id, caught.value.holder) == ("t", at, "the other run")
    await store.commit("t", Commit(token=claim.token, release=True))
    assert output(await GraphRuntime(store).run("t", made.graph, 1)) == ["start", "middle", "end"] * 2


async def test_a_held_run_is_over_and_cannot_be_cancelled(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R8.8, R5.36: a breakpoint changes nothing of cancelling: the run that was held has ended, and its hold stays."""
    made = chain()
    handle = await runtime.start("t", made.graph, 1, HOLD_MIDDLE)
    held = await handle
    handle.cancel()
    assert ids(await runtime.pending("t", made.graph)) == ids(held)
    assert "RunCancelled" not in await names(store)
