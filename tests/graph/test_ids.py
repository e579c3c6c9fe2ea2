"""The ids of a run, and what they may be (R1.1 - R1.12)."""

from __future__ import annotations

import uuid

import pytest

from llm4s_notebook.checkpoint import CheckpointDraft, Checkpointer, Commit
from llm4s_notebook.errors import InvalidResume, NodeFailed, PendingInterrupts
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, Resumed, RunConfig, RunContext, Suspend, events

from .graphs import ITEMS, LOG, asking, chain, fan, ids, names, output, until


async def test_checkpoint_ids_count_along_the_thread(runtime: GraphRuntime) -> None:
    """R1.5, HIS-02: one run id for two runs repeats no checkpoint id."""
    made = chain()
    for _ in range(2):
        await runtime.run("t", made.graph, 1, RunConfig(run_id="run"))
    history = await runtime.history("t")
    assert [c.id for c in reversed(history)] == [f"run/{n}" for n in range(1, 11)]
    assert [c.parent_id for c in history] == [*(f"run/{n}" for n in range(9, 0, -1)), None]


async def test_a_checkpoint_id_of_another_shape_counts_as_nought(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.5: somebody else's commit has an id without a number; the next one is the first again."""
    made = chain()
    await runtime.run("t", made.graph, 1)
    latest = await store.latest("t")
    assert latest is not None
    header = latest.checkpoint.header.replaced(id="of another shape", parent_id=latest.checkpoint.id)
    claim = await store.claim("t", "somebody", 30)
    await store.commit("t", Commit(token=claim.token, checkpoints=(CheckpointDraft(header, ()),), release=True))
    await runtime.run("t", made.graph, 1, RunConfig(run_id="run"))
    history = await runtime.history("t", limit=6)
    assert [c.id for c in reversed(history)] == ["of another shape", *(f"run/{n}" for n in range(1, 6))]


async def test_every_call_makes_a_run_of_its_own(runtime: GraphRuntime) -> None:
    """BUD-07, R1.4: a random UUID for each start, resume and recover, unless the caller gives any text."""
    made = fan()
    made.failing.add("b")
    first = await runtime.start("t", made.graph, ["ask a", "b"])
    with pytest.raises(NodeFailed):
        await first
    second = await runtime.recover("t", made.graph)
    assert ids(await second) == ["1.0"]
    third = await runtime.resume("t", made.graph, {"1.0": True})
    await third
    fourth = await runtime.start("t", made.graph, [], RunConfig(run_id="any text / at all"))
    await fourth
    random = {first.run_id, second.run_id, third.run_id}
    assert len(random) == 3
    assert {uuid.UUID(one).version for one in random} == {4}
    assert fourth.run_id == "any text / at all"
    assert (await runtime.history("t"))[0].id.startswith("any text / at all/")


@pytest.mark.parametrize("node", ["assistant/model", "end", "0.0", "a b", "é", "<x>", "x" * 80, "🦊", "\u202eltr"])
async def test_a_node_id_is_any_text_that_is_not_empty(runtime: GraphRuntime, store: Checkpointer, node: str) -> None:
    """R1.1, R1.11: it is held, answered, told of and restored under it, also where it looks like an id of another kind."""
    builder = GraphBuilder("g", version="1")

    @builder.node(node, writes=LOG)
    async def only(context: RunContext) -> Command:
        return Command().update(LOG, context.node_id)

    graph = builder.compile(only, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None, RunConfig(interrupt_before=node))
    assert [(one.id, one.resume_node) for one in held.interrupts] == [("0.0", node)]  # type: ignore[union-attr]
    assert output(await (await runtime.resume("t", graph, {"0.0": None}))) == [node]
    told = [record.node_id for record in await store.events_after("t", 0) if isinstance(record.event, events.TaskCompleted)]
    assert told == [node]


async def test_tasks_are_numbered_and_listed_as_they_are_scheduled(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.2, R1.3, R1.12, R7.6: superstep and place, from nought and without padding; what waits has the id of its task; nothing is
    sorted as text, where 1.10 would come before 1.2."""
    made = fan()
    held = await runtime.run("t", made.graph, [f"ask {n}" for n in range(12)])
    children = [f"1.{n}" for n in range(12)]
    assert ids(held) == children
    records = await store.events_after("t", 0)
    assert [record.task_id for record in records if isinstance(record.event, events.TaskCompleted)] == ["0.0"]
    asked = [(record.task_id, record.event.interrupt_id) for record in records if isinstance(record.event, events.TaskSuspended)]
    assert asked == [(id, id) for id in children]
    (listed,) = await store.threads()
    assert list(listed.interrupts) == children
    held = await (await runtime.resume("t", made.graph, {"1.10": True, "1.2": True}))
    assert ids(held) == [id for id in children if id not in ("1.2", "1.10")]
    records = await store.events_after("t", records[-1].sequence or 0)
    assert records[0].event == events.RunResumed(("1.2", "1.10"))
    done = [(record.task_id, record.node_id) for record in records if isinstance(record.event, events.TaskCompleted)]
    assert done == [("2.0", "approve"), ("2.1", "approve")]
    assert held.state[ITEMS] == ["planned", "ask 2:True", "ask 10:True"]  # type: ignore[union-attr]


async def test_a_threads_id_is_the_address_of_all_it_has(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.6: checkpoints, events and the claim of one thread are none of another's, whatever their runs are called."""
    made = fan(delays=["slow"])
    handle = await runtime.start("t", made.graph, ["slow"], RunConfig(run_id="one"))
    await until(lambda: made.ran["slow"])
    assert output(await runtime.run("u", made.graph, ["a"], RunConfig(run_id="one"))) == ["planned", "A", "summ"]
    claimed = (await store.head("t")).claim
    assert claimed is not None
    assert claimed.holder == "one"
    assert (await store.head("u")).claim is None
    assert [c.id for c in await runtime.history("t")] == ["one/2", "one/1"]
    assert [c.id for c in await runtime.history("u")] == [f"one/{n}" for n in range(5, 0, -1)]
    made.delays["slow"].set()
    assert output(await handle) == ["planned", "SLOW", "summ"]
    for thread in "tu":
        assert {record.thread_id for record in await store.events_after(thread, 0)} == {thread}
        assert (await names(store, thread))[-1] == "RunCompleted"


async def test_events_are_numbered_along_the_thread_and_no_number_comes_twice(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.8, R6.21: from 1, over runs, refusals, edits, and a turn that was taken out of the history; the log keeps what it told."""
    made = fan()
    await runtime.run("t", made.graph, ["a"])
    await runtime.run("t", made.graph, ["ask b"])
    with pytest.raises(PendingInterrupts):
        await runtime.start("t", made.graph, ["c"])
    before = await store.events_after("t", 0)
    await runtime.abandon("t", made.graph)
    at = (await store.head("t")).checkpoint_id
    assert at is not None
    await runtime.update_state("t", made.graph, at, Command().update(ITEMS, "edited"))
    await runtime.run("t", made.graph, ["d"])
    records = await store.events_after("t", 0)
    assert [record.sequence for record in records] == list(range(1, len(records) + 1))
    assert records[: len(before)] == before
    assert len(records) > len(before) + 2


async def test_a_turn_that_follows_has_interrupts_of_other_ids(runtime: GraphRuntime) -> None:
    """R1.10, F03 (graph part): an old id never means something new."""
    graph = asking(bool)
    assert ids(await runtime.run("t", graph, None)) == ["0.0"]
    await (await runtime.resume("t", graph, {"0.0": True}))
    assert ids(await runtime.run("t", graph, None)) == ["2.0"]
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", graph, {"0.0": True})
    assert caught.value.problems[0].code == "answered"
    assert ids(await runtime.pending("t", graph)) == ["2.0"]


class Name(str):
    """A text of a class of its own, as a program may keep its names."""

    __slots__ = ()


async def test_a_node_and_a_join_may_be_named_by_a_class_made_from_str(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.1, R1.35: what is stored of them is a plain text."""
    builder = GraphBuilder("g", version="1")
    end = builder.declare(Name("end"))
    join = builder.dynamic_join(Name("all"), end)
    later = builder.declare_resume(Name("later"), question=int, answer=int)

    @builder.node(Name("ask"), routes=later)
    async def ask(n: int) -> Suspend[int, int]:
        return Suspend(n, later)

    @builder.implement(later, writes=LOG)
    async def answered(given: Resumed[int, int]) -> Command:
        return Command().update(LOG, f"{given.question} {given.answer}")

    @builder.implement(end)
    async def ends() -> None: ...

    @builder.node(Name("start"), routes=[join, ask])
    async def start() -> Command:
        return Command().fan_out(join, ask, [1, 2])

    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None)
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.entries[("parked", "1.0")] == (
        b'{"node":"later","question":1,"slot_join":"all","slot_task":"0.0","origin_task":"1.0","origin_node":"ask"}'
    )
    assert output(await (await runtime.resume("t", graph, dict.fromkeys(ids(held), 7)))) == ["1 7", "2 7"]
