"""The middleware stack: agent.md 10.7 and 4.2."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from llm4s_notebook.agent import (
    Agent,
    AgentMiddleware,
    ApprovalMiddleware,
    AskingMiddleware,
    Completed,
    GuardrailMiddleware,
    GuardrailReviewMiddleware,
    NeedsApproval,
    Success,
    ToolCallRequest,
    tool,
)
from llm4s_notebook.agent._turn_input import TurnInput
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError, MiddlewareFailed, RunCancelled
from llm4s_notebook.graph import Execution, RunContext, StateKey
from llm4s_notebook.models import ScriptedClient, UserMessage, calls

from .support import Wrap, call, deploy_into, echo, roles, tool_texts, waiting


class Plain(AgentMiddleware):
    def __init__(self, id: str, *, runs_before: Any = (), runs_after: Any = (), tools: Any = ()) -> None:
        self.id = id
        self.runs_before = runs_before
        self.runs_after = runs_after
        self.tools = tools


def order(*middleware: AgentMiddleware) -> list[str]:
    """The ids, outermost first."""
    agent = Agent("assistant", ScriptedClient(), middleware=middleware)
    return [one.id for one in agent._build().family.members["assistant"].stack.all]


def test_without_constraints_the_order_is_that_of_registration():
    """MW-01."""
    assert order(Plain("c"), Plain("a"), Plain("b")) == ["c", "a", "b"]


def test_constraints_reorder_and_ties_stay_as_registered():
    """MW-02, 4.2.2."""
    assert order(Plain("a", runs_after="c"), Plain("b"), Plain("c")) == ["b", "c", "a"]
    assert order(Plain("a"), Plain("b"), Plain("c", runs_before={"a"})) == ["b", "c", "a"]
    assert order(Plain("a", runs_before=["c"]), Plain("b"), Plain("c", runs_before=["b"])) == ["a", "c", "b"]


def _tool(name: str) -> Any:
    @tool(name=name)
    async def made() -> str:
        """A tool."""
        return name

    return made


def test_every_mistake_is_reported_at_once():
    """MW-03, 4.2.3: cycles with their paths, starting at the earliest-registered member."""
    stack = [
        Plain("bad id"),
        Plain("x" * 65),
        Plain("twin"),
        Plain("twin"),
        Plain("lost", runs_after=["nobody"], runs_before="nothing"),
        Plain("p", runs_before="q"),
        Plain("q", runs_before="p"),
        Plain("r", runs_before="s"),
        Plain("s", runs_before="u"),
        Plain("u", runs_before="r"),
        Plain("giver", tools=[_tool("one"), _tool("one"), _tool("two")]),
        Plain("other", tools=[_tool("two"), _tool("mine")]),
    ]
    with pytest.raises(ConfigError) as refused:
        Agent("assistant", ScriptedClient(), middleware=stack, tools=[_tool("mine")])
    assert refused.value.field == "middleware stack"
    assert list(refused.value.problems) == [
        "invalid middleware id 'bad id': must match [a-zA-Z0-9_-]{1,64}",
        f"invalid middleware id '{'x' * 65}': must match [a-zA-Z0-9_-]{{1,64}}",
        "duplicate middleware id 'twin'",
        "middleware 'lost': runs_after names unknown middleware 'nobody'",
        "middleware 'lost': runs_before names unknown middleware 'nothing'",
        "middleware cycle: p -> q -> p",
        "middleware cycle: r -> s -> u -> r",
        "tool 'one' is contributed twice by middleware 'giver'",
        "tool 'two' is contributed by more than one middleware: giver, other",
        "tool 'mine' is contributed by middleware 'other' and is a tool of the agent too",
    ]


def test_a_wrapper_that_is_no_async_function_is_refused():
    """D24."""

    class Sync(AgentMiddleware):
        id = "sync"

        def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:  # type: ignore[override]  # the mistake under test
            return next()

    with pytest.raises(ConfigError, match="wrap_tool_call must be an async function"):
        Agent("assistant", ScriptedClient(), middleware=Sync())


def test_contributed_tools_come_in_stack_order_after_the_agents_and_writes_unite():
    """MW-06, 4.1.3."""
    key: StateKey[int, int] = StateKey.replace("a-key", int, initial=0)

    class Writing(Plain):
        writes = key

    agent = Agent(
        "assistant",
        ScriptedClient(),
        tools=_tool("own"),
        middleware=[Writing("late", tools=[_tool("l")], runs_after="early"), Plain("early", tools=[_tool("e")])],
    )
    member = agent._build().family.members["assistant"]
    assert list(member.tools) == ["own", "e", "l"]
    assert member.contributed == {"e": "early", "l": "late"}
    assert member.middleware_writes == {key}


async def test_a_wrapper_that_does_not_call_next_skips_the_inner_ones():
    """MW-08: and the outer one sees its outcome."""
    seen: list[Any] = []

    async def outer(_request: Any, _context: Any, next: Any) -> Any:
        outcome = await next()
        seen.append(outcome)
        return outcome

    async def middle(_request: Any, _context: Any, _next: Any) -> Any:
        return Success("short")

    async def inner(_request: Any, _context: Any, next: Any) -> Any:
        seen.append("inner")
        return await next()

    ran: list[str] = []
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="x")), "done"),
        tools=deploy_into(ran),
        middleware=[Wrap("outer", tool=outer), Wrap("middle", tool=middle), Wrap("inner", tool=inner)],
    )
    assert tool_texts((await agent.run("go")).messages) == ["short"]
    assert (seen, ran) == ([Success("short")], [])


async def test_a_wrapper_may_run_the_tool_twice_and_return_the_second_outcome():
    """MW-09, 3.2 step 6: one result is recorded."""
    ran: list[str] = []

    async def twice(_request: Any, _context: Any, next: Any) -> Any:
        await next()
        return await next()

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="x")), "done"),
        tools=deploy_into(ran),
        middleware=Wrap("twice", tool=twice),
    )
    assert tool_texts((await agent.run("go")).messages) == ["deployed x"]
    assert ran == ["x", "x"]


@pytest.mark.parametrize("reworded", [None, "outer says", "inner says"])
async def test_an_approval_belongs_to_whoever_made_the_outcome(reworded: str | None):
    """MW-11, MW-12, 3.5.2: passing on keeps the inner source; a new outcome, even an equal one, has the wrapper that made it as source."""

    async def asking(_request: Any, _context: Any, _next: Any) -> Any:
        return NeedsApproval("inner says")

    async def outer(_request: Any, _context: Any, next: Any) -> Any:
        outcome = await next()
        return NeedsApproval(reworded) if reworded else outcome

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "echo", text="x"))),
        tools=echo,
        middleware=[Wrap("outer", tool=outer), Wrap("inner", tool=asking)],
    )
    (request,) = waiting(await agent.run("go")).approvals.values()
    assert (request.source, request.reason) == (("outer", reworded) if reworded else ("inner", "inner says"))


async def test_an_outcome_kept_from_an_earlier_next_keeps_its_source():
    """MW-13: any of the wrapper's next calls counts, not just the last."""
    times: list[int] = []

    async def asking(_request: Any, _context: Any, next: Any) -> Any:
        times.append(1)
        return NeedsApproval("first") if len(times) == 1 else await next()

    async def keeping(_request: Any, _context: Any, next: Any) -> Any:
        kept = await next()
        await next()
        return kept

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "echo", text="x"))),
        tools=echo,
        middleware=[Wrap("keeping", tool=keeping), Wrap("asking", tool=asking)],
    )
    (request,) = waiting(await agent.run("go")).approvals.values()
    assert request.source == "asking"


@pytest.mark.parametrize("hook", ["before", "after", "model", "tool"])
async def test_a_cancellation_raised_by_a_hook_cancels_the_run(hook: str, store: Checkpointer):
    """MW-15, 4.2.5: neither a failure nor a block; the thread is there to be recovered."""
    times: list[int] = []

    async def cancel(*given: Any) -> Any:
        times.append(1)
        if len(times) == 1:
            raise asyncio.CancelledError
        if hook in ("before", "after"):
            return given[0]
        return await (given[2](given[0]) if hook == "model" else given[2]())

    client = ScriptedClient(*([calls(call("c1", "echo", text="x"))] if hook == "tool" else []), "done")
    agent = Agent("assistant", client, tools=echo, middleware=Wrap("cancelling", **{hook: cancel}), runtime=store)
    with pytest.raises(RunCancelled):
        await agent.run("go", thread_id="t")
    assert str((await agent.result("t")).status) == "UNFINISHED"
    assert (await agent.recover("t")).status == Completed("done")


async def test_before_agent_stops_at_the_first_refusal():
    """MW-16: earlier ones already ran."""
    seen: list[str] = []

    def hook(name: str, fail: bool = False) -> Wrap:
        async def before(query: str, _context: RunContext) -> str:
            seen.append(f"{name}:{query}")
            if fail:
                raise ValueError("no")
            return f"{query}{name}"

        return Wrap(name, before=before)

    agent = Agent("assistant", ScriptedClient("done"), middleware=[hook("a"), hook("b", fail=True), hook("c")])
    with pytest.raises(MiddlewareFailed) as failed:
        await agent.run("q", thread_id="t")
    assert (seen, failed.value.middleware) == (["a:q", "b:qa"], "b")


async def test_after_agent_runs_in_reverse_with_the_text_threaded_through():
    """MW-17."""

    def hook(name: str) -> Wrap:
        async def after(answer: str, _context: RunContext) -> str:
            return f"{answer}{name}"

        return Wrap(name, after=after)

    agent = Agent("assistant", ScriptedClient("x"), middleware=[hook("a"), hook("b"), hook("c")])
    assert (await agent.run("q")).answer == "xcba"


async def test_model_wrappers_see_the_request_as_the_ones_before_left_it():
    """MW-18."""
    seen: list[int] = []

    def hook(name: str) -> Wrap:
        async def model(request: Any, _context: Any, next: Any) -> Any:
            seen.append(len(request.messages))
            return await next(replace(request, messages=(*request.messages, UserMessage(f"note {name}"))))

        return Wrap(name, model=model)

    client = ScriptedClient("done")
    result = await Agent("assistant", client, middleware=[hook("a"), hook("b")]).run("q")
    assert seen == [1, 2]
    assert [message.content for message in client.requests[0].messages] == ["q", "note a", "note b"]  # type: ignore[union-attr]  # all have content
    assert roles(result.messages) == ["user", "assistant"]


async def test_a_model_wrapper_may_retry_and_usage_counts_what_it_returned():
    """MW-20, 1.5.2: attempts tell how many calls were made."""
    from llm4s_notebook.agent import events as agent_events

    async def twice(request: Any, _context: Any, next: Any) -> Any:
        await next(request)
        return await next(request)

    agent = Agent("assistant", ScriptedClient("first", "second"), middleware=Wrap("twice", model=twice))
    result = await agent.run("q", thread_id="t")
    assert (result.answer, result.usage.requests) == ("second", 1)
    records = await agent.runtime.checkpointer.events_after("t", 0)
    (told,) = [agent_events.decode(one.event.name, one.event.payload) for one in records if type(one.event).__name__ == "Custom"]
    assert isinstance(told, agent_events.ModelCallCompleted)
    assert told.attempts == 2


async def test_a_contributed_tool_is_offered_and_runs():
    """MW-21, 4.1.3."""
    client = ScriptedClient(calls(call("c1", "extra")), "done")
    agent = Agent("assistant", client, middleware=Plain("giver", tools=[_tool("extra")]))
    result = await agent.run("q")
    assert [spec.name for spec in client.requests[0].tools] == ["extra"]
    assert tool_texts(result.messages) == ["extra"]


async def test_a_changed_answer_is_stored_and_an_untouched_one_keeps_its_message():
    """MW-23."""

    async def shout(answer: str, _context: RunContext) -> str:
        return answer.upper() if answer == "one" else answer

    client = ScriptedClient("one", "two")
    agent = Agent("assistant", client, middleware=Wrap("shout", after=shout))
    await agent.run("a", thread_id="t")
    second = await agent.run("b", thread_id="t")
    assert [message.content for message in client.requests[1].messages] == ["a", "ONE", "b"]  # type: ignore[union-attr]  # all have content
    assert second.answer == "two"


async def test_a_wrapper_that_raises_is_its_failure_seen_by_the_enclosing_ones(store: Checkpointer):
    """4.2.4: from a tool wrapper it fails the run, recoverable."""
    seen: list[BaseException] = []
    fail = [True]

    async def outer(_request: Any, _context: Any, next: Any) -> Any:
        try:
            return await next()
        except MiddlewareFailed as error:
            seen.append(error)
            raise

    async def inner(_request: Any, _context: Any, next: Any) -> Any:
        if fail:
            raise KeyError("boom")
        return await next()

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "echo", text="x")), "done"),
        tools=echo,
        middleware=[Wrap("outer", tool=outer), Wrap("inner", tool=inner)],
        runtime=store,
    )
    with pytest.raises(MiddlewareFailed) as failed:
        await agent.run("q", thread_id="t")
    assert failed.value.middleware == "inner"
    assert failed.value is seen[0]
    assert isinstance(failed.value.cause, KeyError)
    fail.clear()
    assert (await agent.recover("t")).status == Completed("done")


async def test_a_hook_that_returns_something_else_is_its_failure():
    """4.1: a text or a question; a completion or a question; an outcome."""

    async def nothing(*_given: Any) -> Any:
        return None

    for hook in ("before", "after", "model", "tool"):
        client = ScriptedClient(*([calls(call("c1", "echo", text="x"))] if hook == "tool" else []), "done")
        agent = Agent("assistant", client, tools=echo, middleware=Wrap("wrong", **{hook: nothing}))
        with pytest.raises(MiddlewareFailed, match="returned NoneType"):
            await agent.run("q")


async def test_plain_boundary_hooks_run_in_a_worker_thread():
    """D24."""
    import threading

    threads: list[bool] = []

    class Sync(AgentMiddleware):
        id = "sync"

        def before_agent(self, query: str, context: RunContext) -> str:  # type: ignore[override]  # a plain function is allowed
            threads.append(threading.current_thread() is threading.main_thread())
            return f"{query}!"

        def after_agent(self, answer: str, context: RunContext) -> str:  # type: ignore[override]  # a plain function is allowed
            threads.append(threading.current_thread() is threading.main_thread())
            return f"{answer}?"

    client = ScriptedClient("done")
    assert (await Agent("assistant", client, middleware=Sync()).run("q")).answer == "done?"
    assert client.requests[0].messages[0].content == "q!"  # type: ignore[union-attr]  # a user message
    assert threads == [False, False]


async def test_removing_a_tool_from_the_request_only_hides_it():
    """4.1.2."""

    async def hiding(request: Any, _context: Any, next: Any) -> Any:
        return await next(replace(request, tools=()))

    client = ScriptedClient(calls(call("c1", "echo", text="x")), "done")
    result = await Agent("assistant", client, tools=echo, middleware=Wrap("hiding", model=hiding)).run("q")
    assert client.requests[0].tools == ()
    assert tool_texts(result.messages) == ["x"]


def test_what_comes_with_the_package_and_under_which_ids():
    """4.7.1, 3.5.5, 6.1.2, 6.2."""
    shipped = [ApprovalMiddleware(lambda _request: None), GuardrailMiddleware(), GuardrailReviewMiddleware()]
    assert [one.id for one in shipped] == ["approval", "guardrails", "guardrail-review"]
    assert [isinstance(one, AskingMiddleware) for one in shipped] == [False, False, True]
    assert ApprovalMiddleware.unless_read_only().id == "approval"
    assert order(*shipped) == ["approval", "guardrails", "guardrail-review"]


async def test_an_approval_middleware_asks_once_and_whatever_is_no_clear_no_asks():
    """3.5.5: an empty reason is a reason; nothing (None) lets the call run."""
    asked: list[str] = []

    def requires(request: ToolCallRequest) -> str | None:
        asked.append(request.call.id)
        return "" if request.call.id == "c1" else None

    client = ScriptedClient(calls(call("c1", "echo", text="a"), call("c2", "echo", text="b")), "done")
    agent = Agent("assistant", client, tools=echo, middleware=ApprovalMiddleware(requires, id="mine"))
    result = await agent.run("go", thread_id="t")
    ((_, request),) = waiting(result).approvals.items()
    assert (request.call.id, request.source, request.reason) == ("c1", "mine", "tool 'echo' needs approval")
    done = await agent.resume("t", [review.approve() for review in result.pending])
    assert tool_texts(done.messages) == ["a", "b"]
    assert asked == ["c1", "c2"]


async def _got_over() -> None:
    """A TaskGroup whose child fails, and the failure is handled."""

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("x")

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
    except* ValueError:
        pass


async def _finished(agent: Agent, by_hand: bool) -> str | None:
    if not by_hand:
        return (await agent.run("go")).answer
    at: Any = agent.graph.start(TurnInput("go"))
    while isinstance(at, Execution):
        at = await agent.graph.step(at)
    return at.output.answer


@pytest.mark.parametrize("by_hand", [False, True])
async def test_a_task_group_whose_failure_a_hook_got_over_cancels_nothing(by_hand: bool):
    """4.2.5: Python before 3.13 leaves a cancel request on the task then; nobody cancelled the turn, run or stepped by hand."""

    async def text(text: str, _context: Any) -> str:
        return await _got_over() or text

    async def model(request: Any, _context: Any, next: Any) -> Any:
        await _got_over()
        return await next(request)

    async def tool(_request: Any, _context: Any, next: Any) -> Any:
        await _got_over()
        return await next()

    client = ScriptedClient(calls(call("c1", "echo", text="x")), "done")
    agent = Agent("assistant", client, tools=echo, middleware=Wrap("group", before=text, after=text, model=model, tool=tool))
    assert await _finished(agent, by_hand) == "done"


@pytest.mark.parametrize("by_hand", [False, True])
async def test_a_task_group_whose_failure_a_tool_or_client_got_over_cancels_nothing(by_hand: bool):
    """4.2.5: the same without any wrapper around them, and for calls side by side."""

    async def said(_request: Any) -> Any:
        await _got_over()
        return calls(call("c1", "work", text="x"), call("c2", "work", text="y")) if len(client.requests) == 1 else "done"

    @tool
    async def work(text: str) -> str:
        return await _got_over() or text

    client = ScriptedClient(said, said)
    agent = Agent("assistant", client, tools=work)
    assert await _finished(agent, by_hand) == "done"
    assert tool_texts(client.requests[1].messages) == ["x", "y"]
