"""What runs again once a middleware's question is answered, and what it is given: agent.md 4.1, 4.3 to 4.5."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from llm4s_notebook.agent import (
    Agent,
    Answered,
    Ask,
    Asked,
    AskingMiddleware,
    Completed,
    GivenAnswer,
    Success,
    ToolError,
    tool,
)
from llm4s_notebook.agent._context import HookContext
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError, EncodeError, MiddlewareFailed, RunCancelled
from llm4s_notebook.graph import Command, GraphRuntime, RunBudgets, RunConfig, RunContext, StateKey
from llm4s_notebook.graph._context import RunVoice
from llm4s_notebook.models import Completion, ModelRequest, ScriptedClient, UserMessage, calls

from .support import (
    Environment,
    Gate,
    Info,
    Need,
    Region,
    Wrap,
    call,
    echo,
    only,
    roles,
    tool_texts,
)

NODES = {"before": "beforeAgent", "model": "wrapModelCall", "tool": "wrapToolCall", "after": "afterAgent"}
HOOKS = tuple(NODES)
NOTES: StateKey[list[str], str] = StateKey.appending("notes", str)


class AskAt(AskingMiddleware[Need, Info]):
    """Asks once at one hook, before or after what is inside it, and notes every time it is entered there."""

    def __init__(self, hook: str, id: str = "asker", *, late: bool = False, seen: list[str] | None = None) -> None:
        self.id = id
        self.hook = hook
        self.late = late
        self.seen: list[str] = [] if seen is None else seen

    def _entered(self, hook: str) -> None:
        if hook == self.hook:
            self.seen.append(self.id)

    def _asks(self, hook: str, context: Any) -> bool:
        return hook == self.hook and self.answered(context) is None

    async def before_agent(self, query: str, context: RunContext) -> str | Asked:
        self._entered("before")
        return self.ask(Need(what=query)) if self._asks("before", context) else f"{query}+{self.id}" if self.hook == "before" else query

    async def after_agent(self, answer: str, context: RunContext) -> str | Asked:
        self._entered("after")
        return self.ask(Need(what=answer)) if self._asks("after", context) else f"{answer}+{self.id}" if self.hook == "after" else answer

    async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Completion | Asked:
        self._entered("model")
        if not self._asks("model", context):
            return await next(request)
        if self.late:
            await next(request)
        return self.ask(Need(what="model"))

    async def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:
        self._entered("tool")
        if not self._asks("tool", context):
            return await next()
        if self.late:
            await next()
        return self.ask_about(Need(what=request.call.id))


def passing(id: str, seen: list[str]) -> Wrap:
    """Notes its id at whatever hook, and changes what it can."""

    async def text(text: str, _context: Any) -> str:
        seen.append(id)
        return f"{text}+{id}"

    async def model(request: ModelRequest, _context: Any, next: Any) -> Any:
        seen.append(id)
        return await next(ModelRequest((*request.messages, UserMessage(f"note {id}")), request.tools))

    async def tool(_request: Any, _context: Any, next: Any) -> Any:
        seen.append(id)
        outcome = await next()
        return Success(f"{outcome.content}+{id}") if isinstance(outcome, Success) else outcome

    return Wrap(id, before=text, after=text, model=model, tool=tool)


def agent_with(hook: str, stack: list[Any], store: Checkpointer, *more: Any) -> Agent:
    """An agent whose turn passes each hook once - the tool's where a call is scripted for it."""
    client = ScriptedClient(*([calls(call("c1", "echo", text="x"))] if hook == "tool" else []), "done", "done", *more)
    return Agent("assistant", client, tools=echo, middleware=stack, runtime=store)


@pytest.mark.parametrize("hook", HOOKS)
async def test_an_answer_makes_the_whole_stack_of_the_hook_run_again_from_the_outermost(hook: str, store: Checkpointer):
    """4.3.7, 4.3.8, 4.4.2: who comes before the asking one runs twice, and what they change is not changed twice."""
    seen: list[str] = []
    first, last = passing("first", seen), passing("last", seen)
    for one in (first, last):  # at this hook only
        for other in HOOKS:
            if other != hook:
                setattr(one, other, None)
    stack = [first, AskAt(hook, seen=seen), last]
    agent = agent_with(hook, stack[::-1] if hook == "after" else stack, store)
    result = await agent.run("go", thread_id="t")
    _, request = only(result)
    assert request.hook == NODES[hook]
    assert seen == ["first", "asker"]
    done = await agent.resume("t", result.reply(only(result)[0], Info(value="v")))
    assert isinstance(done.status, Completed)
    assert seen == ["first", "asker", "first", "asker", "last"]
    client = agent.settings.client
    assert isinstance(client, ScriptedClient)
    match hook:
        case "before":
            assert done.messages[0].content == "go+first+asker+last"  # type: ignore[union-attr]  # a user message
        case "model":
            assert [message.content for message in client.requests[0].messages] == ["go", "note first", "note last"]  # type: ignore[union-attr]  # all have content
        case "tool":
            assert tool_texts(done.messages) == ["x+last+first"]
        case _:
            assert done.answer == "done+first+asker+last"


@pytest.mark.parametrize("hook", HOOKS)
async def test_one_asking_task_makes_one_question_under_its_own_id(hook: str, store: Checkpointer):
    """4.3.5: the interrupt's id is that of the task that asked, and it resumes at the middleware's node for that hook (1.1.3)."""
    agent = agent_with(hook, [AskAt(hook)], store)
    result = await agent.run("go", thread_id="t")
    parked = await agent.runtime.pending("t", agent.graph)
    assert parked is not None
    ids = {"before": "0.0", "model": "1.0", "tool": "2.0", "after": "2.0"}
    assert [(one.id, one.resume_node) for one in parked.interrupts] == [(ids[hook], f"assistant/asked/asker/{NODES[hook]}")]
    assert only(result)[0] == ids[hook]


@pytest.mark.parametrize("hook", HOOKS)
async def test_two_askers_at_one_hook_are_answered_one_after_the_other_and_each_asks_once(hook: str, store: Checkpointer):
    """4.5.1, 4.5.2: the second question carries the first answer, and a new process goes on with nothing else."""
    seen: list[str] = []
    order = ["two", "one"] if hook == "after" else ["one", "two"]

    def agent() -> Agent:
        made = agent_with(hook, [AskAt(hook, "one", seen=seen), AskAt(hook, "two", seen=seen)], store)
        return made.with_(runtime=GraphRuntime(store))

    first_agent = agent()
    result = await first_agent.run("go", thread_id="t")
    first_id, first = only(result)
    assert (first.middleware, first.answers) == (order[0], ())
    result = await agent_as(agent(), first_agent).resume("t", result.reply(first_id, Info(value="first")))
    second_id, second = only(result)
    assert second.middleware == order[1]
    assert second.answers == (GivenAnswer("assistant", order[0], first.question, {"value": "first"}),)
    assert "first" not in str(dict(result.state.items()))  # the answers are in the request, not in the state
    done = await agent_as(agent(), first_agent).resume("t", result.reply(second_id, Info(value="second")))
    assert isinstance(done.status, Completed)
    assert seen == [order[0], *order, *order]


def agent_as(agent: Agent, other: Agent) -> Agent:
    """The agent with the other's client, which knows how far the script is."""
    return agent.with_(client=other.settings.client)


@pytest.mark.parametrize("hook", HOOKS)
async def test_recover_runs_the_continuation_with_the_answers_it_had(hook: str, store: Checkpointer):
    """4.5.6, 2.4.8: nobody is asked again, at whatever hook it failed."""
    cancelled: list[str] = []

    class Failing(AskAt):
        """Once answered, cancels the run the first time."""

        def _asks(self, hook: str, context: Any) -> bool:
            asks = super()._asks(hook, context)
            if hook == self.hook and not asks and not cancelled:
                cancelled.append(hook)
                raise asyncio.CancelledError
            return asks

    asker = Failing(hook)
    agent = agent_with(hook, [asker], store)
    result = await agent.run("go", thread_id="t")
    with pytest.raises(RunCancelled):
        await agent.resume("t", result.reply(only(result)[0], Info(value="v")))
    assert str((await agent.result("t")).status) == "UNFINISHED"
    assert isinstance((await agent.recover("t")).status, Completed)
    assert cancelled == [hook]
    assert asker.seen == ["asker"] * 3


async def test_a_call_that_waits_has_committed_nothing_although_its_tool_ran(store: Checkpointer):
    """4.4, 4.4.1: a wrapper that asks after `next` runs the tool again; its update is there once."""
    ran: list[str] = []

    @tool(writes=NOTES)
    async def note(text: str) -> Any:
        """Note it."""
        ran.append(text)
        return Success("noted", Command().update(NOTES, text))

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "note", text="x")), "done"),
        tools=note,
        middleware=AskAt("tool", late=True),
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    assert (ran, result.state[NOTES], result.recorded_results, roles(result.messages)) == (["x"], [], (), ["user", "assistant"])
    done = await agent.resume("t", result.reply(only(result)[0], Info(value="v")))
    assert (ran, done.state[NOTES]) == (["x", "x"], ["x"])


async def test_a_model_step_that_runs_again_starts_its_attempts_and_its_request_anew(store: Checkpointer):
    """4.4, 8.10: the attempt counter is fresh, the step limit is checked again, and the stored message is the second one."""
    client = ScriptedClient("first", "second")
    agent = Agent("assistant", client, middleware=AskAt("model", late=True), runtime=store, max_steps=1)
    result = await agent.run("go", thread_id="t")
    run = await agent.start_resume("t", result.reply(only(result)[0], Info(value="v")))
    done = await run
    assert done.status == Completed("second")
    from llm4s_notebook.agent import events as agent_events

    from .support import told

    assert [one.attempts for one in await told(agent) if isinstance(one, agent_events.ModelCallCompleted)] == [1, 1]
    assert client.requests[0] == client.requests[1]


async def test_an_answer_belongs_to_the_middleware_of_the_agent_that_asked(store: Checkpointer):
    """4.5.3: two agents may have a middleware of one id (4.2.1); the root's answer is not the target's."""
    seen: list[tuple[str, str]] = []

    class Signing(AskingMiddleware[str, str]):
        id = "sign"

        def __init__(self, agent: str) -> None:
            self.agent = agent

        async def after_agent(self, answer: str, context: RunContext) -> str | Asked:
            given = self.answered(context)
            if given is None:
                return self.ask(f"{self.agent} signs?")
            seen.append((self.agent, given.answer))
            return f"{answer} {given.answer}"

    target = Agent("target", ScriptedClient("hello"), middleware=Signing("target"))
    root = Agent(
        "root",
        ScriptedClient(calls(call("h1", "handoff_to_target", reason="r"))),
        handoffs=target,
        middleware=Signing("root"),
        runtime=store,
    )
    result = await root.run("go", thread_id="t")
    id, request = only(result)
    assert (request.agent, request.question) == ("target", "target signs?")
    result = await root.resume("t", result.reply(id, "T"))
    id, request = only(result)
    assert (request.agent, request.question) == ("root", "root signs?")
    parked = await root.runtime.pending("t", root.graph)
    assert parked is not None
    assert [one.resume_node for one in parked.interrupts] == ["root/asked/sign/afterAgent"]
    done = await root.resume("t", result.reply(id, "R"))
    assert (done.answer, done.active_agent) == ("hello T R", "target")
    assert seen == [("target", "T"), ("target", "T"), ("root", "R")]


async def test_wrappers_around_an_asking_tool_wrapper_get_its_question_like_any_outcome():
    """D3, 4.6.1, 4.2.6: one that catches, one that retries and one that falls back make no second question and run no tool."""
    ran: list[str] = []

    async def swallowing(_request: Any, _context: Any, next: Any) -> Any:
        try:
            return await next()
        except BaseException:
            return ToolError("swallowed")

    async def retrying(_request: Any, _context: Any, next: Any) -> Any:
        outcome = await next()
        return await next() if isinstance(outcome, ToolError | Ask) else outcome

    async def returning_in_finally(_request: Any, _context: Any, next: Any) -> Any:
        outcome = None
        try:
            outcome = await next()
        finally:
            return outcome  # noqa: B012 - what a careless wrapper does

    async def grouped(_request: Any, _context: Any, next: Any) -> Any:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(next())
        return task.result()

    @tool
    async def work(text: str) -> str:
        """Work."""
        ran.append(text)
        return text

    env = Environment()
    stack = [Wrap(wrap.__name__, tool=wrap) for wrap in (swallowing, retrying, returning_in_finally, grouped)]
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "work", text="x")), "done"), tools=work, middleware=[*stack, env])
    result = await agent.run("go", thread_id="t")
    id, request = only(result)
    assert (request.middleware, ran) == ("env", [])
    done = await agent.resume("t", result.reply(id, Info(value="p")))
    assert (tool_texts(done.messages), ran) == (["x"], ["x"])


async def test_a_wrapper_may_answer_for_the_asking_one_inside_it():
    """D3: what comes back from `next` is an outcome; one that returns something else has decided, and nobody is asked."""

    async def deciding(_request: Any, _context: Any, next: Any) -> Any:
        outcome = await next()
        return ToolError("Denied: nobody to ask") if isinstance(outcome, Ask) else outcome

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "echo", text="x")), "done"),
        tools=echo,
        middleware=[Wrap("deciding", tool=deciding), Environment()],
    )
    assert tool_texts((await agent.run("go")).messages) == ['{"error":"Denied: nobody to ask"}']


async def test_wrappers_of_one_batch_run_at_once_as_far_as_the_run_may():
    """4.1.7: up to the run's concurrency."""
    inside: list[int] = []
    most: list[int] = []

    async def counting(request: Any, _context: Any, next: Any) -> Any:
        inside.append(1)
        most.append(len(inside))
        for _ in range(5):
            await asyncio.sleep(0)
        inside.pop()
        return await next()

    message = calls(*(call(f"c{n}", "echo", text=str(n)) for n in range(4)))
    agent = Agent("assistant", ScriptedClient(message, "done", message, "done"), tools=echo, middleware=Wrap("counting", tool=counting))
    await agent.run("go", thread_id="t")
    assert max(most) == 4
    most.clear()
    await agent.run("go", thread_id="t", config=RunConfig(budgets=RunBudgets(max_concurrency=2)))
    assert max(most) == 2


# -- what an asking middleware is ------------------------------------------------------------------------------------


def test_the_markers_that_hooks_return_are_of_two_kinds():
    """4.3.1, 4.3.2: `ask` for three hooks, `ask_about` for the tool's; both only make a value."""
    region = Region()
    asked = region.ask(Need(what="x"))
    assert (asked.middleware, asked.question) == ("region", {"what": "x"})
    assert isinstance(region.ask_about(Need(what="x")), Ask)
    assert not isinstance(asked, BaseException)


@pytest.mark.parametrize("hook", HOOKS)
async def test_the_marker_of_another_hook_is_the_middlewares_failure(hook: str):
    """4.3.2."""

    class Confused(AskingMiddleware[Need, Info]):
        id = "confused"

        async def before_agent(self, query: str, context: RunContext) -> Any:
            return self.ask_about(Need(what="x")) if hook == "before" else query

        async def after_agent(self, answer: str, context: RunContext) -> Any:
            return self.ask_about(Need(what="x")) if hook == "after" else answer

        async def wrap_model_call(self, request: Any, context: RunContext, next: Any) -> Any:
            return self.ask_about(Need(what="x")) if hook == "model" else await next(request)

        async def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:
            return self.ask(Need(what="x")) if hook == "tool" else await next()

    client = ScriptedClient(*([calls(call("c1", "echo", text="x"))] if hook == "tool" else []), "done")
    with pytest.raises(MiddlewareFailed, match="returned Ask"):
        await Agent("assistant", client, tools=echo, middleware=Confused()).run("go")


def test_an_asking_middleware_without_types_is_refused_where_it_is_used():
    """4.3.1: it could not check what it is answered."""

    class Untyped(AskingMiddleware):  # type: ignore[type-arg]  # the mistake under test
        id = "untyped"

    with pytest.raises(ConfigError, match="does not name its types"):
        Agent("assistant", ScriptedClient(), middleware=Untyped())
    with pytest.raises(ConfigError, match="name its types"):
        Untyped().ask("x")


def _context(*answers: GivenAnswer) -> RunContext:
    return HookContext(RunContext(RunVoice(RunConfig()), "", "0.0", "input", 0), "assistant", answers)


def test_answered_gives_the_latest_pair_of_this_middleware_and_agent_or_nothing():
    """4.3.4, 4.5.3: nothing before there is one, and nothing when the stored pair is of other types than the class has now."""
    region = Region()
    assert region.answered(_context()) is None
    assert region.answered(RunContext(RunVoice(RunConfig()), "", "0.0", "input", 0)) is None
    one, two = (GivenAnswer("assistant", "region", {"what": name}, {"value": name}) for name in ("one", "two"))
    assert region.answered(_context(one, two)) == Answered(Need(what="two"), Info(value="two"))
    assert region.answered(_context(two, one)) == Answered(Need(what="one"), Info(value="one"))
    for other in (
        GivenAnswer("other", "region", {"what": "x"}, {"value": "x"}),
        GivenAnswer("assistant", "other", {"what": "x"}, {"value": "x"}),
    ):
        assert region.answered(_context(other)) is None
        assert region.answered(_context(one, other)) == Answered(Need(what="one"), Info(value="one"))
    for bad in (GivenAnswer("assistant", "region", {"what": 3}, {"value": "x"}), GivenAnswer("assistant", "region", {"what": "x"}, 7)):
        assert region.answered(_context(bad)) is None


async def test_answered_takes_the_context_of_a_tool_too(store: Checkpointer):
    """4.3.4."""
    env = Environment()
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="x")), "done"), tools=echo, middleware=env, runtime=store)
    result = await agent.run("go", thread_id="t")
    await agent.resume("t", result.reply(only(result)[0], Info(value="prod")))
    assert env.log == ["c1@prod"]


async def test_only_an_asking_middleware_suspends_from_a_model_wrapper():
    """4.1.6: another's marker is no way round it, and neither is a tool's outcome."""

    class Plain(BaseModel):
        what: str

    async def asking(_request: Any, _context: Any, _next: Any) -> Any:
        return Ask(Plain(what="x"))

    with pytest.raises(MiddlewareFailed, match="returned Ask"):
        await Agent("assistant", ScriptedClient("x"), middleware=Wrap("plain", model=asking)).run("go")
    gate = Gate()

    async def borrowing(_request: Any, _context: Any, _next: Any) -> Any:
        return gate.ask(Need(what="x"))

    with pytest.raises(ConfigError, match="has no asking middleware of that id"):
        await Agent("assistant", ScriptedClient("x"), middleware=Wrap("plain", model=borrowing)).run("go")


@pytest.mark.parametrize("question", [3, None, Info(value="x"), "no"])
def test_a_question_that_its_own_type_would_not_read_again_is_refused_where_it_is_asked(question: Any):
    """4.3.3: another type, or the type without its constraints."""

    class Strict(AskingMiddleware[Annotated[str, Field(min_length=3)], bool]):
        id = "strict"

    with pytest.raises(EncodeError):
        Strict().ask(question)
    assert Strict().ask("yes").question == "yes"
