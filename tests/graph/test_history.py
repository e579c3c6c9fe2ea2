"""History, fork, edit, seed, delete (HIS, SED, R6.31-R6.36)."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus, RetentionPolicy
from llm4s_notebook.errors import (
    CheckpointConflict,
    CheckpointNotFound,
    ConfigError,
    NodeFailed,
    NotSuspended,
    RestoreRejected,
    StateUpdateFailed,
    ThreadBusy,
    ThreadExists,
    ThreadNotFound,
    UndeclaredWrite,
    UnknownStateKey,
)
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, RunConfig, RunContext, StateKey, events
from llm4s_notebook.testing import ManualClock

from .graphs import ITEMS, LOG, Another, chain, completed, fan, ids, log, names, nothing, output, trace, until


async def test_history_is_paged_newest_first(runtime: GraphRuntime) -> None:
    """R6.31, HIS-04, HIS-05."""
    made = chain()
    await runtime.run("t", made.graph, 1)
    whole = await runtime.history("t")
    assert [c.superstep for c in whole] == [3, 3, 2, 1, 0]
    assert [len(made.graph.restore(c).state[LOG]) for c in whole] == [3, 3, 2, 1, 0]
    page = await runtime.history("t", before=whole[1].id, limit=2)
    assert [c.id for c in page] == [whole[2].id, whole[3].id]
    with pytest.raises(CheckpointNotFound):
        await runtime.history("t", before="nowhere")
    for limit in (0, -1):
        with pytest.raises(ConfigError):
            await runtime.history("t", limit=limit)


async def test_history_is_read_while_a_run_is_live(runtime: GraphRuntime, another: Another) -> None:
    """R6.31: it needs no claim, here and elsewhere."""
    made = fan(delays=["slow"])
    handle = await runtime.start("t", made.graph, ["slow"])
    await until(lambda: made.ran["slow"])
    for one in (runtime, another()):
        assert [c.superstep for c in await one.history("t")] == [1, 0]
    made.delays["slow"].set()
    await handle


async def test_a_waiting_checkpoint_is_forked_and_both_are_answered_differently(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R6.32, F22 (graph part): both threads keep their own history."""
    made = fan()
    held = await runtime.run("t", made.graph, ["ask a"])
    assert ids(held) == ["1.0"]
    at = (await runtime.history("t"))[0].id
    await (await runtime.resume("t", made.graph, {"1.0": True}))
    before = await trace(store)
    await runtime.fork("t", at, "u")
    assert await trace(store) == before
    (only,) = await runtime.history("u")
    assert (only.status, only.parent_id, only.thread_id) == (CheckpointStatus.SUSPENDED, None, "u")
    assert await log(store, "u") == [events.ThreadForked("t", at)]
    assert ids(await runtime.pending("u", made.graph)) == ["1.0"]
    assert output(await (await runtime.resume("u", made.graph, {"1.0": False}))) == ["planned", "ask a:False", "summ"]
    assert await trace(store) == before


async def test_a_fork_has_a_birth_id_of_its_own(runtime: GraphRuntime) -> None:
    """D13."""
    seen: dict[str, str] = {}
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start(context: RunContext) -> None:
        seen[context.thread_id] = context.birth_id

    graph = builder.compile(start, output=lambda _: None)
    await runtime.run("t", graph, None)
    await runtime.fork("t", (await runtime.history("t"))[0].id, "u")
    await runtime.run("u", graph, None)
    await runtime.run("t", graph, None)
    assert seen["t"]
    assert seen["u"]
    assert seen["t"] != seen["u"]


async def test_a_fork_of_a_running_checkpoint_runs_everything_again(runtime: GraphRuntime) -> None:
    """HIS-08: pending writes are not copied; the source reruns only what failed."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"])
    await runtime.fork("t", (await runtime.history("t"))[0].id, "u")
    assert output(await (await runtime.recover("u", made.graph))) == ["planned", "A", "B", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (2, 2)
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "B", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (2, 3)


async def test_a_block_on_a_fork_retracts_to_what_the_fork_has(runtime: GraphRuntime) -> None:
    """R6.36, R6.32: a fork of a running turn knows no settled checkpoint."""
    made = fan()
    await runtime.run("t", made.graph, ["a"])
    held = await runtime.run("t", made.graph, ["ask b"])
    assert len(ids(held)) == 1
    await runtime.fork("t", (await runtime.history("t"))[0].id, "u")
    await runtime.abandon("u", made.graph)
    (only,) = await runtime.history("u")
    assert (only.status, only.parent_id) == (CheckpointStatus.FAILED, None)
    assert made.graph.restore(only).state[ITEMS] == ["planned", "A", "summ", "planned"]


async def test_a_fork_is_refused_where_it_cannot_be(runtime: GraphRuntime, store: Checkpointer) -> None:
    """HIS-09."""
    made = fan(delays=["slow"])
    await runtime.run("t", made.graph, ["a"])
    await runtime.run("u", made.graph, ["a"])
    at = (await runtime.history("t"))[0].id
    before = await trace(store, "u")
    with pytest.raises(ConfigError):
        await runtime.fork("t", at, "t")
    with pytest.raises(ThreadExists):
        await runtime.fork("t", at, "u")
    for source, checkpoint in (("t", "nowhere"), ("nowhere", at)):
        with pytest.raises(CheckpointNotFound):
            await runtime.fork(source, checkpoint, "new")
    assert await trace(store, "u") == before
    assert (await store.head("new")).checkpoint_id is None
    await store.claim("held", "somebody", 30)
    with pytest.raises(ThreadBusy):
        await runtime.fork("t", at, "held")


async def test_a_finished_thread_is_edited_as_a_node(runtime: GraphRuntime, store: Checkpointer) -> None:
    """HIS-10, R6.33: a new checkpoint on top, one superstep more, StateUpdated with the node."""
    made = fan()
    await runtime.run("t", made.graph, ["a"])
    before = (await runtime.history("t"))[0]
    worker = next(ref for ref in _refs(made.graph) if ref.id == "worker")
    id = await runtime.update_state("t", made.graph, before.id, Command().update(ITEMS, "edited"), as_node=worker)
    after = (await runtime.history("t"))[0]
    assert (after.id, after.parent_id, after.superstep, after.status) == (id, before.id, before.superstep + 1, before.status)
    assert (await log(store))[-1] == events.StateUpdated("worker")
    assert output(await runtime.run("t", made.graph, [])) == ["planned", "A", "summ", "edited", "planned", "summ"]


def _refs(graph: CompiledGraph[Any, Any]) -> list[Any]:
    """Handles of a graph's nodes, made again by its own builder's identity."""
    from llm4s_notebook.graph import NodeRef

    return [NodeRef(node.id, graph.plan.owner, node.codec) for node in graph.plan.nodes.values()]


async def test_a_waiting_thread_is_edited_before_it_is_answered(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R6.33, R1.11, F20: everything that waits stays; the continuation's id is of the new superstep."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a"])
    before = (await runtime.history("t"))[0]
    at = before.id
    await runtime.update_state("t", made.graph, at, Command().update(ITEMS, "edited"))
    now = (await runtime.history("t"))[0]
    was, is_ = (made.graph.snapshot(made.graph.restore(one)) for one in (before, now))
    assert {name for name in was if was[name] != is_[name]} == {"state", "superstep"}
    assert is_["superstep"] == was["superstep"] + 1
    assert (await store.head("t")).status is CheckpointStatus.SUSPENDED
    assert ids(await runtime.pending("t", made.graph)) == ["1.0"]
    assert output(await (await runtime.resume("t", made.graph, {"1.0": True}))) == ["planned", "edited", "ask a:True", "summ"]
    tasks = [r.task_id for r in await store.events_after("t", 0) if isinstance(r.event, events.TaskCompleted)]
    assert tasks == ["0.0", "3.0", "4.0"]


async def test_pending_writes_are_carried_over_an_edit(runtime: GraphRuntime, store: Checkpointer) -> None:
    """HIS-12, R6.33, R1.11: the write is applied after the edit; the pending tasks keep the ids of their old superstep."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"])
    at = (await runtime.history("t"))[0].id
    await runtime.update_state("t", made.graph, at, Command().update(ITEMS, "edited"))
    latest = await store.latest("t")
    assert latest is not None
    execution = made.graph.restore(latest.checkpoint)
    assert (execution.superstep, [task.id for task in execution.frontier]) == (2, ["1.0", "1.1"])
    assert [write.checkpoint_id for write in latest.writes] == [latest.checkpoint.id]
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "edited", "A", "B", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (1, 2)
    assert (await completed(store))[-2:] == ["1.1 worker", "3.0 summarize"]


async def test_an_edit_is_refused_as_a_whole(runtime: GraphRuntime, store: Checkpointer) -> None:
    """HIS-13, HIS-14, R4.19."""

    def reject(now: int, by: int) -> int:
        raise ValueError

    total = StateKey("total", int, int, initial=0, reduce=reject)
    builder = GraphBuilder("g", version="1")
    builder.reads(total, ITEMS)
    start = builder.node("start", writes=LOG)(nothing)
    other = GraphBuilder("other", version="1").node("start")(nothing)
    graph = builder.compile(start, output=lambda _: "done")
    with pytest.raises(ThreadNotFound):
        await runtime.update_state("t", graph, "x", Command())
    await runtime.run("t", graph, None)
    at = (await runtime.history("t"))[0].id
    before = await trace(store)
    with pytest.raises(CheckpointConflict) as conflict:
        await runtime.update_state("t", graph, "stale", Command().update(LOG, "x"))
    assert (conflict.value.expected, conflict.value.actual) == ("stale", at)
    with pytest.raises(UndeclaredWrite) as undeclared:
        await runtime.update_state("t", graph, at, Command().update(ITEMS, "x"), as_node=start)
    assert undeclared.value.task_id == "updateState"
    for key in (StateKey.replace("unknown", int, initial=0), StateKey.replace("total", int, initial=5)):
        with pytest.raises(UnknownStateKey):
            await runtime.update_state("t", graph, at, Command().update(key, 1))
    with pytest.raises(StateUpdateFailed):
        await runtime.update_state("t", graph, at, Command().update(total, 1))
    text: Any = "total"
    with pytest.raises(ConfigError, match="'total' is no state key: give the StateKey"):
        await runtime.update_state("t", graph, at, Command().update(text, 1))
    with pytest.raises(ConfigError, match="a Command is wanted, not dict"):
        await runtime.update_state("t", graph, at, cast(Any, {"total": 1}))
    with pytest.raises(ConfigError, match="'start' is no node"):
        await runtime.update_state("t", graph, at, Command(), as_node=cast(Any, "start"))
    for command, node in ((Command().goto(start), None), (Command(), other)):
        with pytest.raises(ConfigError):
            await runtime.update_state("t", graph, at, command, as_node=node)
    with pytest.raises(RestoreRejected):
        await runtime.update_state("t", chain().graph, at, Command().update(LOG, "x"))
    assert await trace(store) == before


async def test_a_live_thread_is_not_edited(runtime: GraphRuntime, another: Another) -> None:
    """HIS-15."""
    made = fan(delays=["slow"])
    handle = await runtime.start("t", made.graph, ["slow"])
    await until(lambda: made.ran["slow"])
    at = (await runtime.history("t"))[0].id
    for one in (runtime, another()):
        with pytest.raises(ThreadBusy):
            await one.update_state("t", made.graph, at, Command().update(ITEMS, "x"))
    made.delays["slow"].set()
    await handle


async def test_task_positions_never_repeat_whatever_is_done_to_the_thread(runtime: GraphRuntime, store: Checkpointer) -> None:
    """HIS-16, R1.10: one run id; suspend, edit, resume, edit, start."""
    made = fan()
    config = RunConfig(run_id="one")

    async def edit() -> None:
        await runtime.update_state("t", made.graph, (await runtime.history("t"))[0].id, Command().update(ITEMS, "edit"))

    await runtime.run("t", made.graph, ["ask a"], config)
    await edit()
    await (await runtime.resume("t", made.graph, {"1.0": True}, config))
    await edit()
    await runtime.run("t", made.graph, ["b"], config)
    records = await store.events_after("t", 0)
    tasks = [r.task_id for r in records if isinstance(r.event, (events.TaskCompleted, events.TaskSuspended))]
    assert len(set(tasks)) == len(tasks)
    supersteps = [c.superstep for c in reversed(await runtime.history("t"))]
    assert supersteps == sorted(supersteps)


async def test_a_thread_is_seeded_and_continued(runtime: GraphRuntime, store: Checkpointer) -> None:
    """SED-01, SED-02, R6.34."""
    made = chain()
    id = await runtime.seed("t", made.graph, Command().update(LOG, "one").update(LOG, "two"))
    assert id.endswith("/1")
    (record,) = await store.events_after("t", 0)
    assert (record.sequence, record.event) == (1, events.ThreadSeeded())
    assert (await store.head("t")).status is CheckpointStatus.COMPLETED
    assert output(await runtime.run("t", made.graph, 1)) == ["one", "two", "start", "middle", "end"]
    with pytest.raises(ThreadExists):
        await runtime.seed("t", made.graph, Command())


async def test_a_refused_seed_leaves_the_thread_free(runtime: GraphRuntime, store: Checkpointer) -> None:
    """SED-04."""
    made = chain()
    with pytest.raises(UnknownStateKey):
        await runtime.seed("t", made.graph, Command().update(ITEMS, "x"))
    text: Any = "items"
    with pytest.raises(ConfigError, match="'items' is no state key"):
        await runtime.seed("t", made.graph, Command().update(text, "x"))
    with pytest.raises(ConfigError, match="'items' is no state key"):
        await runtime.seed("t", made.graph, Command().remove(text))
    head = await store.head("t")
    assert (head.checkpoint_id, head.claim) == (None, None)
    await runtime.seed("t", made.graph, Command().update(LOG, "x"))


@pytest.mark.parametrize("policy", [{"max_checkpoints": 1}, {"max_age": 0.5}, {"max_events": 0}], ids=str)
async def test_pruning_changes_nothing_that_may_be_called(
    runtime: GraphRuntime, another: Another, store: Checkpointer, clock: ManualClock, policy: dict[str, Any]
) -> None:
    """R6.16, R6.37, HIS-17, HIS-18: a waiting, an unfinished, a finished and a retracted turn go on from what is left."""
    made = fan()
    for thread in ("waits", "left", "done", "gone"):
        await runtime.run(thread, made.graph, ["a"])
    await runtime.run("waits", made.graph, ["ask b"])
    made.failing.add("f")
    with pytest.raises(NodeFailed):
        await runtime.run("left", made.graph, ["c", "f"])
    await runtime.run("gone", made.graph, ["ask d"])
    await runtime.abandon("gone", made.graph)
    clock.advance(60)
    counts = {}
    for thread in ("waits", "left", "done", "gone"):
        before = await store.latest(thread)
        await store.prune(thread, RetentionPolicy(**policy))
        assert await store.latest(thread) == before
        counts[thread] = len(await runtime.history(thread))
    if "max_events" not in policy:  # in the middle of a turn the newest settled one stays too, for a block to go back to
        assert counts == {"waits": 2, "left": 2, "done": 1, "gone": 1}
    one = another()
    waiting = await one.pending("waits", made.graph)
    assert output(await (await one.resume("waits", made.graph, {ids(waiting)[0]: True})))[-2:] == ["ask b:True", "summ"]
    made.ran.clear()
    assert output(await (await one.recover("left", made.graph)))[-3:] == ["C", "F", "summ"]
    assert made.ran == {"f": 1, "summarize": 1}
    for thread in ("done", "gone"):
        with pytest.raises(NotSuspended):
            await one.resume(thread, made.graph, {"1.0": True})
        assert output(await one.run(thread, made.graph, ["e"]))[:3] == ["planned", "A", "summ"]


async def test_a_deleted_thread_is_new_again(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R6.35: an unknown one is fine; nothing of the old one comes back."""
    made = chain()
    await runtime.delete_thread("t")
    await runtime.run("t", made.graph, 1)
    await runtime.delete_thread("t")
    head = await store.head("t")
    assert (head.checkpoint_id, head.claim) == (None, None)
    assert output(await runtime.run("t", made.graph, 1)) == ["start", "middle", "end"]
    assert (await names(store))[0] == "RunStarted"


async def test_changes_of_one_thread_do_not_meet_half_way(runtime: GraphRuntime) -> None:
    """R4.18: while one is under way the thread is busy for the rest; exactly one of many edits from one version wins."""
    made = chain()
    await runtime.run("t", made.graph, 1)
    at = (await runtime.history("t"))[0].id
    results = await asyncio.gather(
        *(runtime.update_state("t", made.graph, at, Command().update(LOG, str(n))) for n in range(5)), return_exceptions=True
    )
    assert sum(isinstance(result, str) for result in results) == 1
    assert all(isinstance(result, (str, ThreadBusy, CheckpointConflict)) for result in results)
