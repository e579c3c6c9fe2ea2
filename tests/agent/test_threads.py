"""Turns and the threads they leave behind: agent.md 1.4, 2.4, D2, D18."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import (
    Agent,
    AgentNode,
    Blocked,
    NeedsApproval,
    Suspended,
    Unfinished,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.errors import (
    IncompleteRun,
    ModelFailed,
    NothingToRecover,
    ThreadBusy,
    ThreadNotFound,
)
from llm4s_notebook.graph import GraphRuntime, RunConfig
from llm4s_notebook.models import ScriptedClient, calls

from .support import Info, Region, Wrap, call, echo, gated_into, roles, sizes, until


async def test_a_run_without_a_thread_takes_a_fresh_one():
    """1.4.4."""
    agent = Agent("assistant", ScriptedClient("one", "two"))
    first, second = await agent.run("a"), await agent.run("b")
    assert first.thread_id != second.thread_id
    assert roles(second.messages) == ["user", "assistant"]


async def test_the_stored_result_of_every_status(store: Checkpointer):
    """api.md: `agent.result`; ThreadNotFound if there is none."""
    agent = Agent("assistant", ScriptedClient("one", OSError("down"), "two"), runtime=store)
    with pytest.raises(ThreadNotFound):
        await agent.result("t")
    done = await agent.run("a", thread_id="t")
    assert await agent.result("t") == done
    with pytest.raises(ModelFailed):
        await agent.run("b", thread_id="t")
    stored = await agent.result("t")
    assert isinstance(stored.status, Unfinished)
    assert stored.status.checkpoint_id == (await store.head("t")).checkpoint_id
    assert roles(stored.messages) == ["user", "assistant", "user"]
    with pytest.raises(IncompleteRun):
        await agent.run("c", thread_id="t")
    assert (await agent.recover("t")).answer == "two"
    with pytest.raises(NothingToRecover):
        await agent.recover("t")


@pytest.mark.parametrize(
    "where", ["input", "held before input", "held after input", "tool", "finish", "held after finish", "failed", "first turn"]
)
async def test_a_turn_can_be_given_up_wherever_it_stands(where: str, store: Checkpointer):
    """2.4.12, R6.36, F23: the thread is as before the turn and usable at once; usage stays."""
    second: list[Any] = {
        "input": ["never"],
        "tool": [calls(call("c1", "echo", text="free"), call("c2", "gated", what="x"))],
        "failed": [OSError("down")],
    }.get(where, ["second"])
    client = ScriptedClient(*([] if where == "first turn" else ["first"]), *second, "third", "third")
    agent = Agent(
        "assistant",
        client,
        tools=[gated_into([]), echo],
        middleware=[Region(word="a")] if where == "input" else [Wrap("w")],
        runtime=store,
    )
    before = None if where == "first turn" else await agent.run("a first", thread_id="t")
    config = {
        "held before input": RunConfig(interrupt_before=frozenset({"input"})),
        "held after input": RunConfig(interrupt_after=frozenset({"input"})),
        "finish": RunConfig(interrupt_before=frozenset({"assistant/finish"})),
        "held after finish": RunConfig(interrupt_after=frozenset({"assistant/finish"})),
        "first turn": RunConfig(interrupt_after=frozenset({"assistant/model"})),
    }.get(where, RunConfig())
    if where == "failed":
        with pytest.raises(ModelFailed):
            await agent.run("b", thread_id="t", config=config)
    else:
        assert isinstance((await agent.run("b", thread_id="t", config=config)).status, Suspended)
    calls_made = (await agent.result("t")).usage.requests
    given_up = await agent.abandon("t")
    assert isinstance(given_up.status, Blocked)
    assert given_up.messages == (before.messages if before is not None else ())
    assert (given_up.recorded_results, given_up.pending, given_up.usage.requests) == ((), (), calls_made)
    with pytest.raises(NothingToRecover):
        await agent.abandon("t")
    with pytest.raises(NothingToRecover):
        await agent.recover("t")
    client.requests.clear()
    client.steps = ("next",)
    assert (await agent.run("a next", thread_id="t")).answer == "next"


async def test_giving_up_needs_a_thread():
    """2.4.12, api.md: ThreadNotFound."""
    with pytest.raises(ThreadNotFound):
        await Agent("assistant", ScriptedClient()).abandon("t")


async def test_a_thread_can_be_forgotten_unless_a_turn_runs_on_it(store: Checkpointer):
    """1.4.5."""
    gate = asyncio.Event()
    entered = asyncio.Event()

    async def waits(request: Any, _context: Any, next: Any) -> Any:
        entered.set()
        await gate.wait()
        return await next(request)

    agent = Agent("assistant", ScriptedClient("done"), middleware=Wrap("w", model=waits), runtime=store)
    await agent.forget("nobody")
    run = await agent.start("go", thread_id="t")
    await entered.wait()
    with pytest.raises(ThreadBusy):
        await agent.forget("t")
    with pytest.raises(ThreadBusy):
        await agent.run("more", thread_id="t")
    gate.set()
    await run
    await agent.forget("t")
    with pytest.raises(ThreadNotFound):
        await agent.result("t")


async def test_cancelling_who_awaits_a_run_cancels_the_run(store: Checkpointer):
    """D2: an interrupted cell; recover finishes. Cancelling who awaits a handle leaves it alone."""
    entered, gate = asyncio.Event(), asyncio.Event()

    async def waits(request: Any, _context: Any, next: Any) -> Any:
        entered.set()
        await gate.wait()
        return await next(request)

    agent = Agent("assistant", ScriptedClient("done", "done"), middleware=Wrap("w", model=waits), runtime=store)
    cell = asyncio.create_task(agent.run("go", thread_id="t"))
    await entered.wait()
    cell.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cell
    assert isinstance((await agent.result("t")).status, Unfinished)
    gate.set()
    assert (await agent.recover("t")).answer == "done"
    gate.clear()
    entered.clear()
    run = await agent.start("again", thread_id="t")
    await entered.wait()
    waiter = asyncio.ensure_future(run)
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    gate.set()
    assert (await run).answer == "done"


async def test_restart_and_run_all_does_not_run_a_waiting_turn_again(store: Checkpointer):
    """F40 (agent part): a second process's run on the waiting thread is refused, and it reads the same waiting turn."""

    def notebook() -> Agent:
        return Agent(
            "assistant", ScriptedClient(calls(call("c1", "gated", what="x")), "done"), tools=gated_into([]), runtime=GraphRuntime(store)
        )

    first = notebook()
    result = await first.run("go", thread_id="t")
    again = notebook()
    with pytest.raises(Exception, match="waits for 1 answer"):
        await again.run("go", thread_id="t")
    assert again.settings.client.requests == []  # type: ignore[attr-defined]  # a scripted client
    assert (await again.result("t")).pending == result.pending


async def test_pending_is_the_same_read_by_anybody_after_every_step(store: Checkpointer):
    """F10 (agent part): the result of each step equals what a fresh runtime reads."""
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "gated", what="x"), call("c2", "echo", text="y")), "done"),
        tools=[gated_into([]), echo],
        middleware=[Region()],
        interrupt_after=[AgentNode.TOOL],
        runtime=GraphRuntime(store),
    )
    result = await agent.run("go", thread_id="t")
    steps = 0
    while result.pending:
        fresh = agent.with_(runtime=GraphRuntime(store))
        assert await fresh.result("t") == result
        assert (await fresh.result("t")).pending == result.pending
        review = result.pending[0]
        answer = {
            "approval": review.approve,
            "middleware_question": lambda review=review: review.reply(Info(value="eu")),
            "breakpoint": review.proceed,
        }[review.kind.value]()
        result = await agent.resume("t", answer)
        steps += 1
    assert result.answer == "done"
    assert steps == 4


async def test_three_waits_are_answered_in_every_order_and_the_batch_ends_once():
    """F11: status never goes backwards."""
    import itertools

    for order in itertools.permutations(range(3)):
        ran: list[str] = []
        client = ScriptedClient(calls(*(call(f"c{n}", "gated", what=str(n)) for n in range(3))), "done")
        agent = Agent("assistant", client, tools=gated_into(ran))
        result = await agent.run("go", thread_id="t")
        ids = [review.id for review in result.pending]
        for left, at in zip((2, 1, 0), order, strict=True):
            result = await agent.resume("t", result.approve(ids[at]))
            assert len(result.pending) == left
        assert result.answer == "done"
        assert [int(one) for one in ran] == list(order)
        assert len(client.requests) == 2
        assert [message.tool_call_id for message in result.messages if message.role == "tool"] == ["c0", "c1", "c2"]


async def test_a_rejected_call_that_comes_again_is_a_new_approval_each_time():
    """F14: nothing loops without a person, and the default reason says that a person decided."""
    message = calls(call("c1", "gated", what="x"))
    client = ScriptedClient(message, message, message, "I give up")
    agent = Agent("assistant", client, tools=gated_into([]))
    result = await agent.run("go", thread_id="t")
    for times in range(1, 4):
        assert sizes(result) == (1, 0, 0, 0)
        assert len(client.requests) == times
        result = await agent.resume("t", [review.reject() for review in result.pending])
    assert result.answer == "I give up"
    texts = [message.content for message in result.messages if message.role == "tool"]
    assert all("a reviewer refused this call; it was not run" in text for text in texts)


class Counting:
    """A store that counts its commits."""

    def __init__(self, inner: Checkpointer) -> None:
        self.inner = inner
        self.commits = 0

    def __getattr__(self, name: str) -> Any:
        made = getattr(self.inner, name)
        if name not in ("commit", "claim_and_commit"):
            return made

        async def counted(*given: Any) -> Any:
            self.commits += 1
            return await made(*given)

        return counted


async def test_a_turn_with_one_call_makes_at_most_four_commits_and_a_resume_three():
    """D18."""
    store = Counting(InMemoryCheckpointer())
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "echo", text="x")), "done", calls(call("c2", "gated", what="x")), "done"),
        tools=[echo, gated_into([])],
        runtime=store,  # type: ignore[arg-type]  # stands in for its inner store
    )
    await agent.run("go", thread_id="t")
    assert 1 <= store.commits <= 4
    result = await agent.run("go", thread_id="t")
    store.commits = 0
    await agent.resume("t", [review.approve() for review in result.pending])
    assert 1 <= store.commits <= 3


async def test_the_frozen_messages_of_a_thread_are_shared_by_its_readers():
    """D17: a step of a long thread copies no message."""
    client = ScriptedClient(*(str(n) for n in range(20)))
    agent = Agent("assistant", client)
    for _ in range(20):
        result = await agent.run("go", thread_id="t")
    first = {id(request.messages[0]) for request in client.requests}
    assert first == {id(result.messages[0])}


async def test_one_agent_serves_two_threads_answered_in_reverse_order():
    """F35."""
    agent = Agent("assistant", ScriptedClient(*([calls(call("c1", "gated", what="x"))] * 2), "done", "done"), tools=gated_into([]))
    first = await agent.run("one", thread_id="a")
    second = await agent.run("two", thread_id="b")
    done_b = await agent.resume("b", [review.approve() for review in second.pending])
    done_a = await agent.resume("a", [review.approve() for review in first.pending])
    assert (done_a.messages[0].content, done_b.messages[0].content) == ("one", "two")  # type: ignore[union-attr]  # user messages


async def test_a_run_is_seen_running_from_outside():
    """1.4.4: start gives a handle with its status."""
    from llm4s_notebook.graph import RunStatus

    started = asyncio.Event()
    gate = asyncio.Event()

    @tool
    async def wait() -> Any:
        """Wait."""
        started.set()
        await gate.wait()
        return NeedsApproval("now")

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "wait"))), tools=wait)
    run = await agent.start("go", thread_id="t")
    await until(started.is_set)
    assert run.status is RunStatus.RUNNING
    assert isinstance((await agent.result("t")).status, Unfinished)
    gate.set()
    assert isinstance((await run).status, Suspended)
    assert run.status is RunStatus.SUSPENDED
    assert run.thread_id == "t"
