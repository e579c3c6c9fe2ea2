"""A block ends the turn for good and takes it out of the history (BLK, R3.22, R6.36); giving a turn up does the same."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus, SqliteCheckpointer
from llm4s_notebook.errors import (
    CheckpointWriteFailed,
    ConfigError,
    NodeFailed,
    NothingToRecover,
    NotSuspended,
    StateUpdateFailed,
    ThreadBusy,
    ThreadNotFound,
    UndeclaredWrite,
    UnknownStateKey,
)
from llm4s_notebook.graph import (
    Block,
    Command,
    CompiledGraph,
    Durability,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    StateKey,
    Suspend,
    ThreadState,
    events,
)

from .graphs import ITEMS, LOG, Another, drive, fan, ids, log, names, nothing, output, trace, until
from .stores import FailingStore

N = StateKey.replace("n", int, initial=0)


class Refusing(Exception):
    pass


async def logs_done() -> Command:
    return Command().update(LOG, "done")


def gated(update: Command | None = None) -> CompiledGraph[str, list[str]]:
    """start(text) logs it and goes to check, which asks for "ask…", then blocks "bad…" with an update, or logs "fine"."""
    builder = GraphBuilder("gated", version="1")
    check = builder.declare("check")
    ask = builder.declare_resume("ask", question=str, answer=str)

    @builder.node("start", writes=LOG)
    async def start(text: str) -> Command:
        return Command().update(LOG, text).goto(check)

    @builder.implement(check, writes=[LOG, N])
    async def check_node(state: ThreadState) -> Command | Block | Suspend[str, str]:
        text = state[LOG][-1]
        if text.startswith("ask"):
            return Suspend(text, ask)
        return Block(Refusing(text), update or Command()) if text.startswith("bad") else Command().update(LOG, "fine")

    @builder.implement(ask, writes=[LOG, N])
    async def answered(given: Resumed[str, str]) -> Command | Block:
        return Block(Refusing(given.answer), update or Command()) if given.answer == "block" else Command().update(LOG, given.answer)

    return builder.compile(start, output=lambda state: state[LOG])


async def test_a_block_closes_the_thread_as_failed_and_gives_its_own_error(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BLK-02, R1.24: the error itself, unwrapped; D22: its text is not stored."""
    graph = gated(Command().update(N, 1))
    with pytest.raises(Refusing) as caught:
        await runtime.run("t", graph, "bad secret")
    assert caught.value.args == ("bad secret",)
    head = await store.head("t")
    assert (head.status, head.claim) == (CheckpointStatus.FAILED, None)
    told = await log(store)
    assert [type(event).__name__ for event in told] == [
        "RunStarted",
        "TaskCompleted",
        "CheckpointCommitted",
        "TaskFailed",
        "RunFailed",
    ]
    assert told[-1] == events.RunFailed("Refusing")


async def test_after_a_block_the_thread_is_usable_at_once(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BLK-03, BLK-04, 4.4."""
    graph = gated(Command().update(N, 1))
    with pytest.raises(Refusing):
        await runtime.run("t", graph, "bad")
    before = await trace(store)
    with pytest.raises(NothingToRecover):
        await runtime.recover("t", graph)
    with pytest.raises(NotSuspended):
        await runtime.resume("t", graph, {"0.0": None})
    assert await trace(store) == before
    done = await runtime.run("t", graph, "good")
    assert output(done) == ["bad", "good", "fine"]
    assert done.state[N] == 1


async def test_updates_of_all_siblings_of_a_block_commit_in_order_and_nothing_follows(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BLK-05, R3.22: of several blocks the first in frontier order supplies the error."""
    builder = GraphBuilder("g", version="1")
    later = builder.node("later")(nothing)

    def node(name: str, error: Exception | None = None) -> Any:
        @builder.node(name, writes=LOG)
        async def sibling() -> Command | Block:
            command = Command().update(LOG, name)
            return command.goto(later) if error is None else Block(error, command)

        return sibling

    first, second = Refusing("first"), Refusing("second")
    start = builder.node("start")(nothing)
    for one in (node("a"), node("stop", first), node("c"), node("stop too", second)):
        builder.edge(start, one)
    graph = builder.compile(start, output=lambda state: state[LOG])
    with pytest.raises(Refusing) as caught:
        await runtime.run("t", graph, None)
    assert caught.value is first
    latest = await store.latest("t")
    assert latest is not None
    execution = graph.restore(latest.checkpoint)
    assert execution.state[LOG] == ["a", "stop", "c", "stop too"]
    assert (execution.frontier, execution.parked, execution.superstep) == ((), {}, 2)


async def test_a_block_that_writes_an_undeclared_key_is_an_ordinary_failure(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BLK-07."""
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start() -> Block:
        return Block(Refusing(), Command().update(N, 1))

    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(UndeclaredWrite):
        await runtime.run("t", graph, None)
    assert (await store.head("t")).status is CheckpointStatus.RUNNING


async def test_a_block_in_memory_raises_its_error() -> None:
    """BLK-08."""
    graph = gated()
    with pytest.raises(Refusing):
        await drive(graph, graph.start("bad"))


async def test_a_failed_checkpoint_survives_json(runtime: GraphRuntime, store: Checkpointer, another: Another) -> None:
    """BLK-10: and restores in another instance, with nothing pending."""
    with pytest.raises(Refusing):
        await runtime.run("t", gated(), "bad")
    latest = await store.latest("t")
    assert latest is not None
    graph = gated()
    snapshot = graph.snapshot(graph.restore(latest.checkpoint))
    assert graph.snapshot(graph.restore(snapshot)) == snapshot
    assert output(await another().run("t", graph, "good")) == ["bad", "good", "fine"]


@pytest.mark.parametrize("durability", Durability)
async def test_a_block_leaves_only_the_closing_checkpoint_of_its_turn(
    runtime: GraphRuntime, another: Another, store: Checkpointer, durability: Durability
) -> None:
    """HIS-20, R6.36, D17: also of a turn that had suspended and was resumed elsewhere; its parent is the newest settled one."""
    config = RunConfig(durability=durability)
    graph = gated()
    await runtime.run("t", graph, "good", config)
    settled = (await runtime.history("t"))[0]
    assert ids(await runtime.run("t", graph, "ask", config)) == [f"{settled.superstep + 1}.0"]
    other = gated(Command().update(N, 7))
    second = another()
    with pytest.raises(Refusing):
        await (await second.resume("t", other, {f"{settled.superstep + 1}.0": "block"}, config))
    history = await runtime.history("t")
    assert [c.status for c in history[:2]] == [CheckpointStatus.FAILED, CheckpointStatus.COMPLETED]
    assert (history[0].parent_id, history[1].id) == (settled.id, settled.id)
    execution = other.restore(history[0])
    assert (execution.state[LOG], execution.state[N]) == (["good", "fine", "ask"], 7)
    assert output(await second.run("t", other, "more", config)) == ["good", "fine", "ask", "more", "fine"]
    ids_ = [c.id for c in await runtime.history("t")]
    assert len(set(ids_)) == len(ids_)


async def test_a_block_of_the_first_turn_has_no_parent(runtime: GraphRuntime) -> None:
    """R6.36."""
    with pytest.raises(Refusing):
        await runtime.run("t", gated(), "bad")
    (only,) = await runtime.history("t")
    assert (only.status, only.parent_id) == (CheckpointStatus.FAILED, None)


TEXTS: StateKey[list[str], list[Any]] = StateKey(
    "texts", list[str], list[Any], initial=[], reduce=lambda now, how: [*now, how[1]] if how[0] == "add" else now[: how[1]]
)


async def test_a_retracted_text_is_in_none_of_the_files(tmp_path: Path) -> None:
    """R6.36, D17: neither in a row, nor a journal, nor an event, once the block dropped it from the state."""
    store = SqliteCheckpointer(tmp_path / "t.db")
    runtime = GraphRuntime(store)
    builder = GraphBuilder("g", version="1")
    check = builder.declare("check", input=str)

    @builder.node("start", writes=TEXTS)
    async def start(text: str) -> Command:
        return Command().update(TEXTS, ["add", text]).send(check, text)

    @builder.implement(check, writes=TEXTS)
    async def check_node(text: str, state: ThreadState) -> Command | Block:
        return Block(Refusing(text), Command().update(TEXTS, ["cut", len(state[TEXTS]) - 1])) if "bad" in text else Command()

    graph = builder.compile(start, output=lambda state: state[TEXTS])
    assert output(await runtime.run("t", graph, "the first text")) == ["the first text"]
    secret = "a bad text that nobody may find again"
    with pytest.raises(Refusing):
        await runtime.run("t", graph, secret)
    files = {file.name: file.read_bytes() for file in await asyncio.to_thread(lambda: list(tmp_path.iterdir()))}
    assert [name for name, data in files.items() if secret.encode() in data] == []
    assert any(b"the first text" in data for data in files.values())
    assert output(await runtime.run("t", graph, "the third text")) == ["the first text", "the third text"]
    await store.aclose()


async def test_a_block_beside_a_question_wins(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R3.22: what parked in that superstep cannot be resumed."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    builder.implement(ask)(nothing)

    @builder.node("asks", writes=LOG)
    async def asks() -> Suspend[str, str]:
        return Suspend("?", ask, Command().update(LOG, "asked"))

    @builder.node("stops")
    async def stops() -> Block:
        return Block(Refusing())

    start = builder.node("start")(nothing)
    builder.edge(start, asks)
    builder.edge(start, stops)
    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(Refusing):
        await runtime.run("t", graph, None)
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.interrupts == ()
    assert graph.restore(latest.checkpoint).state[LOG] == ["asked"]
    with pytest.raises(NotSuspended):
        await runtime.resume("t", graph, {"1.0": "x"})


async def test_a_block_drops_questions_that_were_parked_before(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R3.22, R6.36: one of two is answered and its continuation blocks; the other waits no more, on no list, and the next turn is free
    of it and of the joins it would have arrived at."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    done = builder.node("done", writes=LOG)(logs_done)
    join = builder.dynamic_join("join", done)

    @builder.node("child")
    async def child(name: str) -> Suspend[str, str]:
        return Suspend(name, ask)

    @builder.implement(ask)
    async def answered(given: Resumed[str, str]) -> Block:
        return Block(Refusing(given.answer))

    @builder.node("start")
    async def start(names: list[str]) -> Command:
        return Command().fan_out(join, child, names)

    graph = builder.compile(start, output=lambda state: state[LOG])
    assert ids(await runtime.run("t", graph, ["a", "b"])) == ["1.0", "1.1"]
    with pytest.raises(Refusing):
        await (await runtime.resume("t", graph, {"1.0": "no"}))
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.interrupts == ()
    execution = graph.restore(latest.checkpoint)
    assert (execution.frontier, execution.parked, execution.activations, execution.paused) == ((), {}, {}, False)
    assert [one.interrupts for one in await store.threads()] == [()]
    assert await runtime.pending("t", graph) is None
    with pytest.raises(NotSuspended):
        await runtime.resume("t", graph, {"1.1": "late"})
    assert output(await runtime.run("t", graph, [])) == ["done"]


async def test_a_failing_sibling_outranks_a_block_and_recover_runs_the_block_again(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R8.13, R3.5: a block leaves no pending write."""
    fails, ran = [True], []
    builder = GraphBuilder("g", version="1")

    @builder.node("fails")
    async def failing() -> None:
        if fails:
            fails.pop()
            raise ValueError

    @builder.node("stops")
    async def stops() -> Block:
        ran.append("stops")
        return Block(Refusing())

    start = builder.node("start")(nothing)
    builder.edge(start, failing)
    builder.edge(start, stops)
    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(NodeFailed):
        await runtime.run("t", graph, None)
    latest = await store.latest("t")
    assert latest is not None
    assert latest.writes == ()
    with pytest.raises(Refusing):
        await (await runtime.recover("t", graph))
    assert ran == ["stops", "stops"]


async def test_a_store_that_fails_at_the_closing_commit_of_a_block_tells_both(failing: FailingStore) -> None:
    """R6.29, R8.13."""
    runtime = GraphRuntime(failing)
    builder = GraphBuilder("g", version="1")

    kills = [True]

    @builder.node("start")
    async def start() -> Block:
        failing.dead = bool(kills and kills.pop())
        return Block(Refusing())

    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(CheckpointWriteFailed) as caught:
        await runtime.run("t", graph, None)
    assert isinstance(caught.value.run_error, Refusing)
    failing.dead = False
    with pytest.raises(Refusing):
        await (await runtime.recover("t", graph))


# -- giving a turn up ----------------------------------------------------------------------------------------------------


async def test_a_waiting_turn_is_given_up(runtime: GraphRuntime, another: Another, store: Checkpointer) -> None:
    """R6.36, F23: it leaves the history, what was committed stays with the update applied, and the thread is usable."""
    made = fan()
    await runtime.run("t", made.graph, ["a"])
    settled = (await runtime.history("t"))[0]
    await runtime.run("t", made.graph, ["ask b"])
    id = await runtime.abandon("t", made.graph, Command().update(ITEMS, "given up"))
    history = await runtime.history("t")
    assert [c.id for c in history[:2]] == [id, settled.id]
    assert (history[0].status, history[0].interrupts) == (CheckpointStatus.FAILED, ())
    assert (await names(store))[-1] == "RunFailed"
    with pytest.raises(NotSuspended):
        await runtime.resume("t", made.graph, {"4.0": True})
    done = await another().run("t", fan().graph, ["c"])
    assert output(done) == ["planned", "A", "summ", "planned", "given up", "planned", "C", "summ"]
    assert done.superstep > 4  # type: ignore[union-attr]  # superstep numbers never restart


async def test_an_unfinished_turn_is_given_up(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R6.36: also one that failed."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"])
    await runtime.abandon("t", made.graph)
    latest = await store.latest("t")
    assert latest is not None
    assert (latest.checkpoint.status, latest.writes) == (CheckpointStatus.FAILED, ())
    with pytest.raises(NothingToRecover):
        await runtime.recover("t", made.graph)


async def test_giving_up_is_refused_where_it_makes_no_sense(runtime: GraphRuntime, another: Another, store: Checkpointer) -> None:
    """R4.19: new, settled, live; routes and unknown keys."""
    made = fan(delays=["slow"])
    with pytest.raises(ThreadNotFound):
        await runtime.abandon("t", made.graph)
    await runtime.run("t", made.graph, ["a"])
    before = await trace(store)
    with pytest.raises(NothingToRecover):
        await runtime.abandon("t", made.graph)
    with pytest.raises(UnknownStateKey):
        await runtime.abandon("t", made.graph, Command().update(N, 1))
    text: Any = "n"
    with pytest.raises(ConfigError, match="'n' is no state key"):
        await runtime.abandon("t", made.graph, Command().update(text, 1))
    assert await trace(store) == before
    handle = await runtime.start("t", made.graph, ["slow"])
    await until(lambda: made.ran["slow"])
    for one in (runtime, another()):
        with pytest.raises(ThreadBusy):
            await one.abandon("t", made.graph)
    made.delays["slow"].set()
    await handle
    builder = GraphBuilder("x", version="1")
    target = builder.node("target")(nothing)
    with pytest.raises(ConfigError):
        await runtime.abandon("t", made.graph, Command().goto(target))


async def test_a_rejected_update_leaves_the_waiting_turn_as_it_was(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.19: the claim is freed again."""

    def reject(now: int, by: int) -> int:
        raise ValueError

    total = StateKey("total", int, int, initial=0, reduce=reject)
    builder = GraphBuilder("g", version="1")
    builder.reads(total)
    ask = builder.declare_resume("ask", question=str, answer=str)
    builder.implement(ask)(nothing)

    @builder.node("start")
    async def start() -> Suspend[str, str]:
        return Suspend("?", ask)

    graph = builder.compile(start, output=lambda _: "done")
    await runtime.run("t", graph, None)
    before = await trace(store)
    with pytest.raises(StateUpdateFailed):
        await runtime.abandon("t", graph, Command().update(total, 1))
    assert await trace(store) == before
    assert output(await (await runtime.resume("t", graph, {"0.0": "x"}))) == "done"
