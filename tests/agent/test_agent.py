"""The agent itself: settings, versions, stored threads, giving a turn up, and its cost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import (
    Agent,
    AgentMiddleware,
    AgentNode,
    Blocked,
    Completed,
    Handoff,
    NeedsApproval,
    Suspended,
    ToolContext,
    Unfinished,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import (
    ConfigError,
    GuardrailBlocked,
    IncompleteRun,
    Llm4sError,
    MiddlewareFailed,
    ModelFailed,
    NothingToRecover,
    Refused,
    RestoreRejected,
    ThreadBusy,
    ThreadNotFound,
)
from llm4s_notebook.graph import GraphRuntime, RunConfig, RunContext, StateKey
from llm4s_notebook.models import ScriptedClient, calls

from .support import AnswerReview, Info, Region, Wrap, call, deploy_into, echo, gated_into, policy, roles, sizes, until


async def test_a_run_without_a_thread_takes_a_fresh_one():
    """1.4.4."""
    agent = Agent("assistant", ScriptedClient("one", "two"))
    first, second = await agent.run("a"), await agent.run("b")
    assert first.thread_id != second.thread_id
    assert roles(second.messages) == ["user", "assistant"]


@pytest.mark.parametrize("query", ["", "  ", "\n"])
async def test_a_blank_query_is_refused_before_any_thread_is_touched(query: str):
    """1.4.2."""
    agent = Agent("assistant", ScriptedClient())
    with pytest.raises(ConfigError, match="the query is blank") as refused:
        await agent.run(query, thread_id="t")
    assert refused.value.field == "query"
    assert (await agent.runtime.checkpointer.head("t")).checkpoint_id is None


async def test_message_ids_are_made_from_the_task_that_wrote_them():
    """1.1.6, 1.3.2."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="a"), call("c2", "echo", text="b")), "done"), tools=echo)
    result = await agent.run("go")
    assert [message.id for message in result.messages] == ["0.0/user", "1.0/assistant", "3.0/tool/c1", "3.0/tool/c2", "4.0/assistant"]


def test_every_mistake_in_the_settings_is_told_at_once():
    """api.md: ConfigError lists every problem."""
    with pytest.raises(ConfigError) as refused:
        Agent("a b", object(), max_steps=0, tools=[3], middleware=[object()], interrupt_before=["nope"])  # type: ignore[arg-type, list-item]  # the mistakes under test
    assert refused.value.field == "agent"
    for part in ("must match", "has no `complete`", "at least 1", "3 is no tool", "is no AgentMiddleware", "'nope' is no AgentNode"):
        assert [problem for problem in refused.value.problems if part in problem], part


def test_a_key_of_the_loop_is_nobodys_to_write():
    """1.2.2: every offender is listed, innocent tools are not."""
    key: StateKey[int, int] = StateKey.replace("turn", int, initial=0)

    @tool(writes=key)
    async def greedy() -> str:
        """Greedy."""
        return ""

    class Greedy(Wrap):
        writes = (key,)

    with pytest.raises(ConfigError) as refused:
        Agent("assistant", ScriptedClient(), tools=[greedy, echo], middleware=Greedy("m"))
    assert refused.value.problems == (
        "agent 'assistant': tool 'greedy' declares a key the loop owns (turn)",
        "agent 'assistant': middleware 'm' declares a key the loop owns (turn)",
    )


def test_duplicate_tools_are_refused():
    """3.1.4."""
    with pytest.raises(ConfigError, match="duplicate tool name 'echo'"):
        Agent("assistant", ScriptedClient(), tools=[echo, echo])


def test_an_agent_can_be_had_with_some_settings_changed():
    """api.md: `with_`; it shares the runtime."""
    agent = Agent("assistant", ScriptedClient(), system_prompt="a", tools=echo, max_steps=3)
    other = agent.with_(system_prompt="b")
    assert (other.settings.system_prompt, other.settings.max_steps, other.runtime) == ("b", 3, agent.runtime)
    assert other.graph.version != agent.graph.version
    assert agent.with_(stream=True, interrupt_before=[AgentNode.TOOL]).graph.version == agent.graph.version
    with pytest.raises(ConfigError, match="no setting 'colour'"):
        agent.with_(colour="red")


def test_the_version_is_a_digest_of_the_settings_and_only_of_them():
    """2.4.11: client, streaming and breakpoints are not in it."""

    def version(**changes: Any) -> str:
        settings: dict[str, Any] = {"system_prompt": "p", "tools": [echo], "middleware": [policy("echo")], **changes}
        return Agent(
            "assistant", changes.pop("client", None) or ScriptedClient(), **{k: v for k, v in settings.items() if k != "client"}
        ).graph.version

    base = version()
    assert len(base) == 64
    assert int(base, 16) >= 0
    same = [
        version(),
        version(client=ScriptedClient("x")),
        version(stream=True),
        version(interrupt_after=[AgentNode.MODEL]),
        version(description="d"),
    ]
    assert set(same) == {base}
    changed = [
        version(system_prompt="q"),
        version(tools=[]),
        version(tools=[echo, deploy_into([])]),
        version(middleware=[]),
        version(middleware=[policy("echo", id="other")]),
        version(max_steps=3),
        version(handoffs=[Agent("x", ScriptedClient())]),
        version(handoffs=[Handoff(Agent("x", ScriptedClient()), preserve_context=False)]),
        version(version="mine"),
    ]
    assert len({base, *changed}) == 1 + len(changed)
    assert version(version="mine") == "mine"


async def test_a_thread_of_a_changed_agent_is_refused_naming_what_changed_and_the_ways_on(store: Checkpointer):
    """D14: nothing changes on disk; the messages can still be read, and history= starts a new thread."""
    ran: list[str] = []

    def agent(client: ScriptedClient, **changes: Any) -> Agent:
        settings: dict[str, Any] = {"system_prompt": "one", "tools": [gated_into(ran)], **changes}
        return Agent("assistant", client, runtime=GraphRuntime(store), **settings)

    first = agent(ScriptedClient("hi", calls(call("c1", "gated", what="x"))))
    await first.run("hello", thread_id="t")
    result = await first.run("go", thread_id="t")
    changed = agent(ScriptedClient("done", "fresh"), system_prompt="two", tools=[gated_into(ran), echo])
    before = await store.head("t")
    with pytest.raises(RestoreRejected) as refused:
        await changed.resume("t", [review.approve() for review in result.pending])
    problems = "; ".join(refused.value.problems)
    assert "changed: system prompt" in problems
    assert "added: tool 'echo'" in problems
    assert "tool 'gated'" not in problems
    assert "Agent(version=…)" in refused.value.next_step
    assert "history=" in refused.value.next_step
    assert await store.head("t") == before
    read = await changed.result("t")
    assert read.messages == result.messages
    assert read.pending == result.pending
    fresh = await changed.run("go on", history=(await first.abandon("t")).messages)
    assert roles(fresh.messages) == ["user", "assistant", "user", "assistant"]
    # fixing the version is the other way on
    result = await first.with_(client=ScriptedClient(calls(call("c1", "gated", what="y")))).run("again", thread_id="t")
    fixed = agent(ScriptedClient("done"), system_prompt="two", version=first.graph.version)
    done = await fixed.resume("t", [review.approve() for review in result.pending])
    assert (done.status, ran) == (Completed("done"), ["y"])


async def test_the_messages_of_an_agent_with_other_nodes_can_be_read(store: Checkpointer):
    """D14: even when what waits belongs to a middleware that is gone."""
    first = Agent("assistant", ScriptedClient("hi"), middleware=[Region(word="zone"), AnswerReview()], runtime=GraphRuntime(store))
    await first.run("my zone", thread_id="t")
    other = Agent("assistant", ScriptedClient(), runtime=GraphRuntime(store))
    read = await other.result("t")
    assert roles(read.messages) == ["user", "assistant"]
    assert isinstance(read.status, Unfinished)
    with pytest.raises(RestoreRejected):
        await Agent("somebody", ScriptedClient(), runtime=GraphRuntime(store)).result("t")


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
    """R6.36, F23: the thread is as before the turn and usable at once; usage stays."""
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
    """api.md: ThreadNotFound."""
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


async def test_user_keys_of_tools_are_in_the_results_state(tmp_path: Any):
    """api.md: `result.state`; and survive the file."""
    from llm4s_notebook.agent import Success
    from llm4s_notebook.graph import Command

    notes: StateKey[list[str], str] = StateKey.appending("notes", str)

    @tool(writes=notes)
    async def note(text: str, context: ToolContext) -> Any:
        """Note it."""
        return Success(len(context.state[notes]), Command().update(notes, text))

    async with SqliteCheckpointer(tmp_path / "t.db") as store:
        client = ScriptedClient(calls(call("c1", "note", text="a")), calls(call("c2", "note", text="b")), "done")
        agent = Agent("assistant", client, tools=note, runtime=store)
        result = await agent.run("go", thread_id="t")
        assert result.state[notes] == ["a", "b"]
        assert [message.content for message in result.messages if message.role == "tool"] == ["0", "1"]
        assert (await agent.result("t")).state[notes] == ["a", "b"]
        head = await store.head("t")
        assert head.status is CheckpointStatus.COMPLETED


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


@pytest.mark.parametrize("query", [None, 5, b"go"])
async def test_a_query_that_is_no_text_is_refused_before_any_thread_is_touched(query: Any, store: Checkpointer):
    """1.4.2."""
    agent = Agent("assistant", ScriptedClient("done"), runtime=store)
    with pytest.raises(ConfigError, match="not a text") as refused:
        await agent.run(query, thread_id="t")
    assert refused.value.field == "query"
    assert await store.latest("t") is None


async def test_a_boundary_hook_that_raises_says_that_there_is_nothing_to_recover(store: Checkpointer):
    """D21: the turn is closed; the error does not send the person to recover, which would be refused."""

    class Broken(AgentMiddleware):
        id = "broken"

        def before_agent(self, query: str, context: RunContext) -> str:
            if query == "bad":
                raise OSError("no disk")
            return query

    agent = Agent("assistant", ScriptedClient("done"), middleware=Broken(), runtime=store)
    with pytest.raises(MiddlewareFailed, match="no disk") as failed:
        await agent.run("bad", thread_id="t")
    assert "recover" not in failed.value.next_step
    assert not failed.value.recoverable
    with pytest.raises(NothingToRecover):
        await agent.recover("t")
    assert (await agent.run("good", thread_id="t")).answer == "done"


@pytest.mark.parametrize("hook", ["before", "after", "model", "tool"])
@pytest.mark.parametrize("refusal", [Refused("no"), GuardrailBlocked(guardrail="g", reason="no"), ConfigError(field="f", problems=["no"])])
async def test_a_hooks_refusal_says_where_and_what_to_do_now(hook: str, refusal: Exception):
    """D21: raised as that object; what it said when it was made - nothing changed, the thread is usable - may not hold any more."""

    async def refuse(*_: Any) -> Any:
        raise refusal

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "echo", text="x")), "done"), tools=echo, middleware=Wrap("w", **{hook: refuse})
    )
    open_turn = hook in ("model", "tool")
    if isinstance(refusal, GuardrailBlocked) and not open_turn:
        assert isinstance((await agent.run("go", thread_id="t")).status, Blocked)
        return
    with pytest.raises(type(refusal)) as caught:
        await agent.run("go", thread_id="t")
    assert caught.value is refusal
    assert isinstance((await agent.result("t")).status, Unfinished if open_turn else Blocked)
    assert isinstance(caught.value, Llm4sError)
    assert ("recover" in caught.value.next_step) == open_turn
    assert caught.value.where
    assert caught.value.next_step in str(caught.value)
