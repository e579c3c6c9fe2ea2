"""What may be called when, and what is refused before anything changed (4.3, 4.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.errors import (
    ConfigError,
    EncodeError,
    IncompleteRun,
    NodeFailed,
    NothingToRecover,
    NotSuspended,
    PendingInterrupts,
    RestoreRejected,
    RunCrashed,
    ThreadBusy,
)
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, Resumed, RunConfig, Suspend, Suspended

from .graphs import LOG, Another, asking, chain, fan, output, trace, until


async def test_what_may_be_called_when(runtime: GraphRuntime, store: Checkpointer) -> None:
    """RUN-03, 4.4: new, failed and finished threads; each refusal leaves the thread as it was."""
    made = fan()
    with pytest.raises(NothingToRecover):
        await runtime.recover("t", made.graph)
    assert (await store.head("t")).checkpoint_id is None
    made.failing.add("a")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a"])
    before = await trace(store)
    with pytest.raises(IncompleteRun) as caught:
        await runtime.start("t", made.graph, ["a"])
    assert caught.value.checkpoint_id == (await store.head("t")).checkpoint_id
    assert await trace(store) == before
    await (await runtime.recover("t", made.graph))
    before = await trace(store)
    with pytest.raises(NothingToRecover):
        await runtime.recover("t", made.graph)
    assert await trace(store) == before


async def test_a_waiting_thread_refuses_start_and_recover(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.17, F23 (graph part): with the ids in parked order."""
    made = fan()
    await runtime.run("t", made.graph, [f"ask {n}" for n in range(11)])
    before = await trace(store)
    for call in (runtime.start("t", made.graph, []), runtime.recover("t", made.graph)):
        with pytest.raises(PendingInterrupts) as caught:
            await call
        assert caught.value.interrupt_ids == tuple(f"1.{n}" for n in range(11))
    assert await trace(store) == before


async def test_resume_is_refused_on_every_thread_that_does_not_wait(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.18."""
    made = chain()
    with pytest.raises(NotSuspended):
        await runtime.resume("t", made.graph, {"0.0": None})
    assert (await store.head("t")).checkpoint_id is None
    await runtime.run("t", made.graph, 1)
    with pytest.raises(NotSuspended):
        await runtime.resume("t", made.graph, {"0.0": None})


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


async def test_admission_never_raises_anything_else_than_the_projects_errors() -> None:
    """R4.22, D2: an unexpected exception from the store is RunCrashed, and the thread is free."""

    class Odd(InMemoryCheckpointer):
        odd = True

        async def head(self, thread_id: str) -> Any:
            if self.odd:
                raise ZeroDivisionError
            return await super().head(thread_id)

    store = Odd()
    runtime = GraphRuntime(store)
    made = chain()
    for call in (runtime.start("t", made.graph, 1), runtime.resume("t", made.graph, {"0.0": None}), runtime.recover("t", made.graph)):
        with pytest.raises(RunCrashed) as caught:
            await call
        assert isinstance(caught.value.cause, ZeroDivisionError)
    store.odd = False
    assert output(await runtime.run("t", made.graph, 1)) == ["start", "middle", "end"]


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


async def test_a_thread_begun_anew_under_the_same_run_id_is_read_again(
    runtime: GraphRuntime, another: Callable[[], GraphRuntime], store: Checkpointer
) -> None:
    """D12, D17: another kernel deleted the thread and ran it again; its checkpoints have the very ids that this runtime wrote.
    What is answered and run is what the store holds."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=bool)

    @builder.node("start", input=str)
    async def start(given: str) -> Suspend[str, bool]:
        return Suspend(given, ask)

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, bool]) -> Command:
        return Command().update(LOG, given.question)

    graph = builder.compile(start, output=lambda state: state[LOG])
    config = RunConfig(run_id="fixed")
    await runtime.run("t", graph, "old", config)
    elsewhere = another()
    await elsewhere.delete_thread("t")
    assert isinstance(await elsewhere.run("t", graph, "new", config), Suspended)
    waiting = await runtime.pending("t", graph)
    assert waiting is not None
    assert [interrupt.question for interrupt in waiting.interrupts] == ["new"]
    assert output(await (await runtime.resume("t", graph, {"0.0": True}))) == ["new"]
