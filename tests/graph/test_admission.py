"""What may be called when, and what is refused before anything changed (4.3, 4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import (
    ConfigError,
    EncodeError,
    IncompleteRun,
    InvalidResume,
    Llm4sError,
    NodeFailed,
    NothingToRecover,
    NotSuspended,
    PendingInterrupts,
    RestoreRejected,
    RunCrashed,
    ThreadBusy,
)
from llm4s_notebook.graph import CompiledGraph, GraphBuilder, GraphRuntime, RunConfig, RunHandle, Suspended

from .graphs import Another, Fan, asking, chain, fan, output, trace, until


@dataclass
class Stand:
    """A thread in one state of the table, with its graph and what lets a live run go on."""

    made: Fan
    handle: RunHandle | None = None


async def brought_to(state: str, runtime: GraphRuntime) -> Stand:
    """Thread "t" in the state named."""
    made = fan(delays=["slow"])
    if state == "left behind":
        made.failing.add("a")
        with pytest.raises(NodeFailed):
            await runtime.run("t", made.graph, ["a", "b"])
    elif state == "waiting":
        await runtime.run("t", made.graph, ["ask a", "b"])
    elif state == "held":
        await runtime.run("t", made.graph, ["a"], RunConfig(interrupt_before="worker"))
    elif state == "completed":
        await runtime.run("t", made.graph, ["a"])
    elif state == "blocked":
        await runtime.run("t", made.graph, ["ask a"])
        await runtime.abandon("t", made.graph)
    elif state == "live":
        handle = await runtime.start("t", made.graph, ["slow"])
        await until(lambda: made.ran["slow"])
        return Stand(made, handle)
    return Stand(made)


TABLE: dict[str, tuple[type[Llm4sError] | list[str], type[Llm4sError] | list[str], type[Llm4sError] | list[str]]] = {
    # state: start, resume, recover
    "new": (["planned", "C", "summ"], NotSuspended, NothingToRecover),
    "left behind": (IncompleteRun, NotSuspended, ["planned", "A", "B", "summ"]),
    "waiting": (PendingInterrupts, ["planned", "B", "ask a:True", "summ"], PendingInterrupts),
    "held": (PendingInterrupts, ["planned", "A", "summ"], PendingInterrupts),
    "completed": (["planned", "A", "summ", "planned", "C", "summ"], NotSuspended, NothingToRecover),
    "blocked": (["planned", "planned", "C", "summ"], NotSuspended, NothingToRecover),
    "live": (ThreadBusy, ThreadBusy, ThreadBusy),
}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("call", ["start", "resume", "recover"])
@pytest.mark.parametrize("state", TABLE)
async def test_what_may_be_called_when(
    runtime: GraphRuntime, another: Another, store: Checkpointer, state: str, call: str, elsewhere: bool
) -> None:
    """RUN-03, 4.4, R4.18, R4.19: each cell of the table, for the runtime that brought the thread there and for one that did not; a
    refusal leaves all of the thread as it was."""
    stand = await brought_to(state, runtime)
    one, graph = another() if elsewhere else runtime, stand.made.graph
    wanted = TABLE[state][("start", "resume", "recover").index(call)]
    answers = {"1.0": None if state == "held" else True}
    calls = {
        "start": lambda: one.start("t", graph, ["c"]),
        "resume": lambda: one.resume("t", graph, answers),
        "recover": lambda: one.recover("t", graph),
    }
    if isinstance(wanted, list):
        assert output(await (await calls[call]())) == wanted
    else:
        before, ran = await trace(store), dict(stand.made.ran)
        with pytest.raises(wanted) as caught:
            await calls[call]()
        assert type(caught.value) is wanted
        assert caught.value.thread_id == "t"
        assert await trace(store) == before
        assert stand.made.ran == ran
        if isinstance(caught.value, IncompleteRun):
            assert caught.value.checkpoint_id == (await store.head("t")).checkpoint_id
        if isinstance(caught.value, PendingInterrupts):
            assert caught.value.interrupt_ids == ("1.0",)
    if stand.handle is not None:
        stand.made.delays["slow"].set()
        assert output(await stand.handle) == ["planned", "SLOW", "summ"]


def rejecting() -> CompiledGraph[int, Any]:
    """Another graph altogether, whose own thread this is not."""
    builder = GraphBuilder("other", version="1")

    @builder.node("start")
    async def start(n: int) -> None: ...

    return builder.compile(start, output=lambda _: None)


NOWHERE = RunConfig(interrupt_before="nowhere")


async def test_of_all_that_is_wrong_with_a_resume_the_first_in_order_is_raised(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.20: a live run here, unknown breakpoints, the status, the restore, the answers, the store's claim."""
    made, other, bad = fan(delays=["slow"]), rejecting(), {"9.9": 1}
    handle = await runtime.start("t", made.graph, ["slow", "ask a"])
    await until(lambda: made.ran["slow"])
    with pytest.raises(ThreadBusy):
        await runtime.resume("t", other, bad, NOWHERE)
    made.delays["slow"].set()
    await handle
    await runtime.run("done", made.graph, [])
    for thread in ("t", "done", "new"):
        with pytest.raises(ConfigError) as caught:
            await runtime.resume(thread, other, bad, NOWHERE)
        assert caught.value.field == "breakpoints"
    for thread in ("done", "new"):
        with pytest.raises(NotSuspended):
            await runtime.resume(thread, other, bad)
    claim = await store.claim("t", "somebody", 30)
    with pytest.raises(RestoreRejected):
        await runtime.resume("t", other, bad)
    with pytest.raises(InvalidResume):
        await runtime.resume("t", made.graph, bad)
    with pytest.raises(ThreadBusy) as busy:
        await runtime.resume("t", made.graph, {"1.1": True})
    assert busy.value.holder == "somebody"
    await store.release("t", claim.token)
    assert output(await (await runtime.resume("t", made.graph, {"1.1": True}))) == ["planned", "SLOW", "ask a:True", "summ"]


async def test_of_all_that_is_wrong_with_a_start_the_first_in_order_is_raised(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.20: a live run here, unknown breakpoints, the input, the status, the restore, the store's claim."""
    made, other = fan(delays=["slow"]), rejecting()
    handle = await runtime.start("t", made.graph, ["slow", "ask a"])
    await until(lambda: made.ran["slow"])
    with pytest.raises(ThreadBusy):
        await runtime.start("t", other, "no number", NOWHERE)
    made.delays["slow"].set()
    await handle
    with pytest.raises(ConfigError):
        await runtime.start("t", other, "no number", NOWHERE)
    with pytest.raises(EncodeError):
        await runtime.start("t", other, "no number")
    with pytest.raises(PendingInterrupts):
        await runtime.start("t", other, 1)
    await runtime.run("done", made.graph, [])
    await store.claim("done", "somebody", 30)
    with pytest.raises(RestoreRejected):
        await runtime.start("done", other, 1)
    with pytest.raises(ThreadBusy) as busy:
        await runtime.start("done", made.graph, [])
    assert busy.value.holder == "somebody"


async def test_of_all_that_is_wrong_with_a_recover_the_first_in_order_is_raised(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.20: a live run here, unknown breakpoints, the status, a live run elsewhere, the restore."""
    made, other = fan(delays=["slow"]), rejecting()
    handle = await runtime.start("t", made.graph, ["slow"])
    await until(lambda: made.ran["slow"])
    with pytest.raises(ThreadBusy):
        await runtime.recover("t", other, NOWHERE)
    made.delays["slow"].set()
    await handle
    await runtime.run("waits", made.graph, ["ask a"])
    for thread in ("t", "waits", "new"):
        with pytest.raises(ConfigError):
            await runtime.recover(thread, other, NOWHERE)
    for thread, error in (("t", NothingToRecover), ("new", NothingToRecover), ("waits", PendingInterrupts)):
        with pytest.raises(error):
            await runtime.recover(thread, other)
    made.failing.add("a")
    with pytest.raises(NodeFailed):
        await runtime.run("left", made.graph, ["a"])
    claim = await store.claim("left", "somebody", 30)
    with pytest.raises(ThreadBusy):
        await runtime.recover("left", other)
    await store.release("left", claim.token)
    with pytest.raises(RestoreRejected):
        await runtime.recover("left", other)
    assert (await store.head("left")).claim is None


async def test_a_turn_after_a_block_finds_nothing_of_it_but_the_state(runtime: GraphRuntime, another: Another, store: Checkpointer) -> None:
    """R4.21, R3.22: an empty join table and nothing parked, although the turn that was closed had both; the superstep goes on."""
    made = fan()
    await runtime.run("t", made.graph, ["a", "ask b"])
    await runtime.abandon("t", made.graph)
    closed = (await runtime.history("t"))[0]
    for one in (runtime, another()):
        held = await one.run("t", made.graph, ["ask c"])
        assert isinstance(held, Suspended)
        entry = int(held.interrupts[0].id.partition(".")[0]) - 1
        assert entry >= closed.superstep
        assert [(activation.fan_out_task, activation.arrived) for activation in held.execution.activations.values()] == [
            (f"{entry}.0", frozenset())
        ]
        assert len(held.interrupts) == 1
        await one.abandon("t", made.graph)
    assert output(await runtime.run("t", made.graph, [])) == ["planned", "A", "planned", "planned", "planned", "summ"]


async def test_a_waiting_thread_refuses_start_and_recover(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.17, R1.12, F23 (graph part): with the ids in parked order."""
    made = fan()
    await runtime.run("t", made.graph, [f"ask {n}" for n in range(11)])
    before = await trace(store)
    for call in (runtime.start("t", made.graph, []), runtime.recover("t", made.graph)):
        with pytest.raises(PendingInterrupts) as caught:
            await call
        assert caught.value.interrupt_ids == tuple(f"1.{n}" for n in range(11))
    assert await trace(store) == before


async def test_a_live_run_makes_its_thread_busy(runtime: GraphRuntime, another: Another, store: Checkpointer) -> None:
    """CAN-09, R4.20: for this runtime and for others, unchanged."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    before = await trace(store)
    for one in (runtime, another()):
        for call in (
            one.start("t", made.graph, ["x"]),
            one.resume("t", made.graph, {"1.0": True}),
            one.recover("t", made.graph),
            one.delete_thread("t"),
        ):
            with pytest.raises(ThreadBusy) as caught:
                await call
            assert caught.value.thread_id == "t"
            assert caught.value.holder == handle.run_id
    assert await trace(store) == before
    made.delays["a"].set()
    assert output(await handle) == ["planned", "A", "summ"]


async def test_a_finished_thread_goes_on_over_its_state(runtime: GraphRuntime) -> None:
    """RUN-02, R4.21, R1.10."""
    made = chain()
    first = await runtime.run("t", made.graph, 1)
    second = await runtime.run("t", made.graph, 2)
    assert output(second) == ["start", "middle", "end"] * 2
    assert (first.superstep, second.superstep) == (3, 6)  # type: ignore[union-attr]


@pytest.mark.parametrize("input", ["1", None, 1.5, [1]])
async def test_an_input_of_another_type_is_refused(runtime: GraphRuntime, store: Checkpointer, input: Any) -> None:
    """D4."""
    with pytest.raises(EncodeError):
        await runtime.start("t", chain().graph, input)
    assert (await store.head("t")).checkpoint_id is None


@pytest.mark.parametrize("thread_id", [5, None, b"t", "half \ud83d"])
async def test_what_is_no_thread_id_is_refused_before_anything_is_stored(
    runtime: GraphRuntime, store: Checkpointer, thread_id: Any
) -> None:
    """D2: a refusal raises before anything changed, on every store."""
    graph = asking(str)
    for call in (
        lambda: runtime.start(thread_id, graph, None),
        lambda: runtime.resume(thread_id, graph, {"0.0": "x"}),
        lambda: runtime.delete_thread(thread_id),
    ):
        with pytest.raises(ConfigError) as refused:
            await call()
        assert refused.value.field == "thread_id"
    assert await store.threads() == []


async def test_admission_raises_only_the_projects_errors(
    runtime: GraphRuntime, store: Checkpointer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4.22, D2: an unexpected exception from the store is RunCrashed, and the thread is free."""
    made = chain()

    async def odd(thread_id: str) -> Any:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        for read in ("head", "latest"):
            patched.setattr(store, read, odd)
        for call in (runtime.start("t", made.graph, 1), runtime.resume("t", made.graph, {"0.0": None}), runtime.recover("t", made.graph)):
            with pytest.raises(RunCrashed) as caught:
                await call
            assert isinstance(caught.value.cause, ZeroDivisionError)
    assert output(await runtime.run("t", made.graph, 1)) == ["start", "middle", "end"]


async def test_a_thread_that_goes_on_while_it_is_looked_at_is_busy(
    runtime: GraphRuntime, store: Checkpointer, another: Another, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4.20: it was left behind when it was read, and is over when its claim is looked for; nobody is told to recover it."""
    made = (await brought_to("left behind", runtime)).made
    made.failing.clear()
    original = store.latest

    async def late(thread_id: str) -> Any:
        found = await original(thread_id)
        monkeypatch.setattr(store, "latest", original)
        await (await another().recover(thread_id, made.graph))
        return found

    monkeypatch.setattr(store, "latest", late)
    with pytest.raises(ThreadBusy) as caught:
        await runtime.start("t", made.graph, ["c"])
    assert caught.value.checkpoint_id == (await store.head("t")).checkpoint_id
    assert output(await runtime.run("t", made.graph, ["c"]))


async def test_a_refused_restore_leaves_the_thread_alone(runtime: GraphRuntime, store: Checkpointer, another: Any) -> None:
    """R4.19, R4.20: by start, resume and recover."""
    await runtime.run("t", fan().graph, ["ask a"])
    other = chain().graph
    second = another()
    with pytest.raises(RestoreRejected):
        await second.resume("t", other, {"1.0": True})
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("u", made.graph, ["a", "b"])
    with pytest.raises(RestoreRejected):
        await second.recover("u", other)
    await runtime.run("v", fan().graph, ["a"])
    with pytest.raises(RestoreRejected):
        await second.start("v", other, 1)
    for thread in "tuv":
        assert (await store.head(thread)).claim is None
    assert output(await (await runtime.resume("t", fan().graph, {"1.0": True})))
