"""The execution that a runtime holds of a thread (R6.46)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import PendingInterrupts, RestoreRejected
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, Resumed, RunConfig, Suspend, Suspended

from .graphs import LOG, Another, chain, fan, output


@pytest.fixture
def reads(store: Checkpointer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads whose latest checkpoint was read whole, one entry a reading."""
    seen: list[str] = []
    original = store.latest

    async def counted(thread_id: str) -> Any:
        found = await original(thread_id)
        if found is not None:  # a new thread has none
            seen.append(thread_id)
        return found

    monkeypatch.setattr(store, "latest", counted)
    return seen


async def test_the_held_execution_is_used_only_while_it_is_the_latest(runtime: GraphRuntime, another: Another, reads: list[str]) -> None:
    """R6.46, D17: a turn that another runtime added, an edit and another graph object make it read and check the thread."""
    made = chain()
    await runtime.run("t", made.graph, 1)
    assert reads == []
    await another().run("t", chain().graph, 1)
    assert reads == ["t"]
    third = await runtime.run("t", made.graph, 1)
    assert reads == ["t", "t"]
    assert output(third) == ["start", "middle", "end"] * 3
    await runtime.update_state("t", made.graph, (await runtime.history("t"))[0].id, Command().update(LOG, "edited"))
    reads.clear()
    assert output(await runtime.run("t", made.graph, 1)) == [*["start", "middle", "end"] * 3, "edited", "start", "middle", "end"]
    assert reads == ["t"]
    other = chain()
    assert len(output(await runtime.run("t", other.graph, 1))) == 16
    assert reads == ["t", "t"]
    assert (made.ran["start"], other.ran["start"]) == (3, 1)
    with pytest.raises(RestoreRejected):
        await runtime.run("t", fan().graph, ["a"])


async def test_a_thread_that_is_not_held_is_read_once(
    runtime: GraphRuntime, store: Checkpointer, another: Another, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4.20, W4: a turn on a finished thread, and the refusal of one on a waiting thread, read it whole and look at no head before."""

    async def unasked(thread_id: str) -> Any:
        raise AssertionError(thread_id)

    made = fan()
    await runtime.run("t", made.graph, ["a"])
    await runtime.run("u", made.graph, ["ask a", "ask b"])
    with monkeypatch.context() as patched:
        patched.setattr(store, "head", unasked)
        assert output(await another().run("t", made.graph, ["b"]))
        with pytest.raises(PendingInterrupts) as refused:
            await another().start("u", made.graph, ["b"])
    assert list(refused.value.interrupt_ids) == ["1.0", "1.1"]
    assert reads == ["t", "u"]


async def test_a_held_thread_is_not_read_again(runtime: GraphRuntime, reads: list[str]) -> None:
    """R6.46, D17: hot turns read the thread's head only, so that the cost of a turn does not grow with the thread."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "ask b"])
    await (await runtime.resume("t", made.graph, {"1.0": True}))
    await (await runtime.resume("t", made.graph, {"1.1": True}))
    await runtime.run("t", made.graph, ["a"])
    assert await runtime.pending("t", made.graph) is None
    assert reads == []


async def test_a_thread_begun_anew_under_the_same_run_id_is_read_again(
    runtime: GraphRuntime, another: Callable[[], GraphRuntime], store: Checkpointer
) -> None:
    """R6.46, D12, D17: another kernel deleted the thread and ran it again; its checkpoints have the very ids that this runtime wrote.
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
