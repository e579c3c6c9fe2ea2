"""The tool pipeline and approvals: agent.md 10.2."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

from llm4s_notebook.agent import (
    Agent,
    AgentMiddleware,
    ApprovalMiddleware,
    Completed,
    Fatal,
    NeedsApproval,
    Success,
    ToolContext,
    ToolError,
    schema_tool,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.errors import ModelFailed, RunCancelled, ToolFailed
from llm4s_notebook.graph import Command, GraphRuntime, StateKey
from llm4s_notebook.models import AssistantMessage, ScriptedClient, ToolCall, ToolMessage, calls, compact

from .support import Recorder, Wrap, call, deploy_into, echo, policy, tool_results, tool_texts, until, waiting

COUNT: StateKey[int, int] = StateKey("count", int, int, initial=0, reduce=lambda total, more: total + more)
OTHER: StateKey[int, int] = StateKey.replace("other", int, initial=0)


async def test_parallel_calls_give_two_tool_messages_in_call_order():
    """TOOL-01: and the second request carries both."""
    client = ScriptedClient(calls(call("c1", "echo", text="a"), call("c2", "echo", text="b")), "done")
    result = await Agent("assistant", client, tools=echo).run("go")
    assert tool_texts(result.messages) == ["a", "b"]
    assert tool_texts(client.requests[1].messages) == ["a", "b"]
    assert result.status == Completed("done")


async def test_results_are_in_call_order_however_the_calls_finish():
    """1.2.4: the second call finishes first."""
    second_done = asyncio.Event()

    @tool
    async def wait(which: int) -> int:
        """Wait for the other."""
        if which == 1:
            await second_done.wait()
        else:
            second_done.set()
        return which

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "wait", which=1), call("c2", "wait", which=2)), "done"), tools=wait)
    assert tool_texts((await agent.run("go")).messages) == ["1", "2"]


async def test_a_wrapper_denies_and_the_tool_does_not_run():
    """TOOL-05."""
    ran: list[str] = []

    async def deny(_request: Any, _context: Any, _next: Any) -> ToolError:
        return ToolError("Denied: never allowed")

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="x")), "done"),
        tools=deploy_into(ran),
        middleware=Wrap("deny", tool=deny),
    )
    result = await agent.run("go")
    message = tool_results(result)["c1"]
    assert (message.content, message.is_error, message.outcome) == ('{"error":"Denied: never allowed"}', True, "denied")
    assert ran == []


async def test_an_inner_wrapper_that_asks_again_after_the_approval_is_told_so():
    """TOOL-08, 3.6.1: the first request's source was the outer one; the tool never ran."""
    ran: list[str] = []

    async def always(_request: Any, _context: Any, _next: Any) -> NeedsApproval:
        return NeedsApproval("y checks deploys")

    client = ScriptedClient(calls(call("c1", "deploy", what="x")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=[policy("deploy", id="x"), Wrap("y", tool=always)])
    result = await agent.run("go", thread_id="t")
    ((id, request),) = waiting(result).approvals.items()
    assert request.source == "x"
    done = await agent.resume("t", result.approve(id))
    assert tool_texts(done.messages) == ['{"error":"Middleware \'y\' asked for approval again: y checks deploys"}']
    assert ran == []


async def test_a_tool_that_asks_again_after_its_approval_is_told_so():
    """3.6.1."""

    @tool
    async def stubborn() -> Any:
        """Never satisfied."""
        return NeedsApproval("again")

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "stubborn")), "done"), tools=stubborn)
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.approve() for review in result.pending])
    assert tool_texts(done.messages) == ['{"error":"Tool \'stubborn\' asked for approval again: again"}']


async def test_a_deny_rule_refuses_the_edited_value_and_the_edit_is_recorded():
    """TOOL-09."""
    ran: list[str] = []

    async def deny_secret(request: Any, _context: Any, next: Any) -> Any:
        return ToolError("Denied: secret") if request.call.arguments["what"] == "secret" else await next()

    client = ScriptedClient(calls(call("c1", "deploy", what="x")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=[policy("deploy"), Wrap("deny", tool=deny_secret)])
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.edit({"what": "secret"}) for review in result.pending])
    assert tool_texts(done.messages) == ['{"error":"Denied: secret"}']
    assert ran == []
    message = done.messages[1]
    assert isinstance(message, AssistantMessage)
    assert (message.tool_calls[0].arguments, message.tool_calls[0].edited) == ({"what": "secret"}, True)


async def test_an_edit_runs_with_the_new_arguments_and_the_model_sees_the_edited_call():
    """3.5.3, F13: the history's call is replaced."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="prod")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=policy("deploy"))
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.edit({"what": "staging"}) for review in result.pending])
    assert ran == ["staging"]
    sent = client.requests[1].messages[1]
    assert isinstance(sent, AssistantMessage)
    assert sent.tool_calls[0].arguments == {"what": "staging"}
    assert tool_texts(done.messages) == ["deployed staging"]


async def test_an_edit_that_does_not_validate_is_recorded_and_its_error_is_the_result():
    """3.5.3, D25."""
    ran: list[str] = []
    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "deploy", what="x")), "done"), tools=deploy_into(ran), middleware=policy("deploy")
    )
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.edit({"what": 3}) for review in result.pending])
    assert tool_texts(done.messages) == ['{"error":"Invalid arguments for \'deploy\': $.what: expected string, got integer"}']
    message = done.messages[1]
    assert isinstance(message, AssistantMessage)
    assert message.tool_calls[0].arguments == {"what": 3}
    assert ran == []


async def test_edits_of_two_calls_of_one_message_compose():
    """1.3.3: both are in the history."""
    ran: list[str] = []
    message = calls(call("c1", "deploy", what="a"), call("c2", "deploy", what="b"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=deploy_into(ran), middleware=policy("deploy"))
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.edit({"what": f"edited {review.call_id}"}) for review in result.pending])
    stored = done.messages[1]
    assert isinstance(stored, AssistantMessage)
    assert [one.arguments for one in stored.tool_calls] == [{"what": "edited c1"}, {"what": "edited c2"}]
    assert sorted(ran) == ["edited c1", "edited c2"]


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        ({"q": 3}, "$.q: expected string, got integer"),
        ({"extra": 1}, "$.q: required property missing; $.extra: property not allowed"),
        ("text", "$: expected object, got string"),
        (None, "$: expected object, got null"),
        ({"q": "a", "limit": 500}, "$.limit: 500 is above maximum 100"),
        ({"q": "a", "limit": "5"}, "$.limit: expected integer, got string"),
        ({"q": "a", "limit": True}, "$.limit: expected integer, got boolean"),
        ({"q": "a", "limit": 2.5}, "$.limit: expected integer, got number"),
        ({"q": "a", "either": []}, "$.either: expected integer or string or null, got array"),
        ({"q": "a", "inner": {"n": "x"}}, "$.inner.n: expected integer or null, got string"),
        ({"q": "a", "where": "moon"}, '$.where: "moon" is not one of ["prod", "staging"]'),
        ({"q": None}, "$.q: expected string, got null"),
        ({"q": ""}, "$.q: length 0 is below minLength 1"),
    ],
)
async def test_arguments_are_checked_strictly_before_any_wrapper_or_the_tool(arguments: Any, detail: str):
    """TOOL-11, TOOL-26, 3.3.3, 3.3.6, D20."""
    recorder = Recorder()
    ran: list[str] = []

    class Inner(BaseModel):
        n: int | None

    @tool
    async def lookup(
        q: Annotated[str, Field(min_length=1)],
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        either: int | str | None = None,
        where: Literal["prod", "staging"] = "prod",
        inner: Inner | None = None,
    ) -> str:
        """Look up."""
        ran.append(q)
        return q

    agent = Agent("assistant", ScriptedClient(calls(ToolCall("c1", "lookup", arguments)), "done"), tools=lookup, middleware=recorder)
    result = await agent.run("go")
    assert tool_texts(result.messages) == [compact({"error": f"Invalid arguments for 'lookup': {detail}"})]
    assert (recorder.seen, ran) == ([], [])


async def test_what_validates_is_taken_as_it_is_with_defaults():
    """TOOL-15, 3.3.1, 3.3.3: optional fields may be left out, and a whole-valued float is an integer."""
    got: list[Any] = []

    class Where(BaseModel):
        city: str
        floor: int = 0

    @tool
    async def lookup(q: str, limit: int = 10, where: Where | None = None, tags: list[str] | None = None) -> str:
        """Look up."""
        got.append((q, limit, where, tags))
        return "ok"

    message = calls(
        call("c1", "lookup", q="a"),
        call("c2", "lookup", q="b", limit=3.0, where={"city": "x", "floor": 2.0}),
        call("c3", "lookup", q="c", tags=["t"]),
    )
    await Agent("assistant", ScriptedClient(message, "done"), tools=lookup).run("go")
    assert sorted(got, key=lambda one: one[0]) == [
        ("a", 10, None, None),
        ("b", 3, Where(city="x", floor=2), None),
        ("c", 10, None, ["t"]),
    ]
    assert type(next(one for one in got if one[0] == "b")[1]) is int


async def test_schema_valid_arguments_that_do_not_decode_are_an_error_result():
    """TOOL-12."""
    ran: list[Any] = []

    class Mismatched(BaseModel):
        n: int

    async def execute(args: Any, _context: ToolContext) -> str:
        ran.append(args)
        return "ran"

    mismatched = schema_tool("mismatched", "", {"type": "object", "properties": {"n": {"type": "string"}}}, execute, arguments=Mismatched)
    result = await Agent("assistant", ScriptedClient(calls(call("c1", "mismatched", n="x")), "done"), tools=mismatched).run("go")
    assert tool_texts(result.messages)[0].startswith('{"error":"Invalid arguments for \'mismatched\': $.n: ')
    assert ran == []


async def test_the_tools_own_check_refuses():
    """TOOL-13: by raising, or by returning why."""

    def raising(n: int) -> None:
        if n > 3:
            raise ValueError("too many")

    @tool(check=raising)
    async def checked(n: int) -> int:
        """Check."""
        return n

    @tool(check=lambda n: "odd" if n % 2 else None)
    async def even(n: int) -> int:
        """Check."""
        return n

    message = calls(call("c1", "checked", n=5), call("c2", "even", n=1), call("c3", "even", n=2))
    result = await Agent("assistant", ScriptedClient(message, "done"), tools=[checked, even]).run("go")
    assert tool_texts(result.messages) == [
        '{"error":"Invalid arguments for \'checked\': too many"}',
        '{"error":"Invalid arguments for \'even\': odd"}',
        "2",
    ]


async def test_a_validator_that_raises_refuses_the_call_with_its_message():
    """TOOL-14, 3.2.1."""

    def broken(value: str) -> str:
        raise RuntimeError("validator broke")

    @tool
    async def lookup(q: Annotated[str, AfterValidator(broken)]) -> str:
        """Look up."""
        return q

    result = await Agent("assistant", ScriptedClient(calls(call("c1", "lookup", q="a")), "done"), tools=lookup).run("go")
    assert tool_texts(result.messages) == ['{"error":"Invalid arguments for \'lookup\': validator broke"}']


async def test_null_arguments_stand_for_nothing_where_nothing_is_required():
    """TOOL-16, 3.3.4."""

    @tool
    async def plain(note: str = "none") -> str:
        """Needs nothing."""
        return f"ran with {note}"

    @tool
    async def needs_text(text: str) -> str:
        """Needs text."""
        return text

    message = calls(ToolCall("c1", "plain", None), ToolCall("c2", "needs_text", None))
    result = await Agent("assistant", ScriptedClient(message, "done"), tools=[plain, needs_text]).run("go")
    assert tool_texts(result.messages) == [
        "ran with none",
        '{"error":"Invalid arguments for \'needs_text\': $: expected object, got null"}',
    ]


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        ("", '""'),
        ("  ", '"  "'),
        ("text", "text"),
        ("ü", "ü"),
        (3, "3"),
        (None, "null"),
        ({"a": [1, "b"]}, '{"a":[1,"b"]}'),
        (True, "true"),
        ("null", "null"),
    ],
)
async def test_results_are_stored_bare_or_as_compact_json(content: Any, stored: str):
    """TOOL-17, 1.3.6: a blank string is quoted, and the conversation stays valid."""

    @tool
    async def give() -> Any:
        """Give it."""
        return content

    client = ScriptedClient(calls(call("c1", "give")), "done")
    result = await Agent("assistant", client, tools=give).run("go")
    assert tool_texts(result.messages) == [stored]
    assert result.status == Completed("done")


async def test_a_result_without_json_form_is_the_calls_error():
    """3.4: the model sees that the tool failed; the run goes on."""

    @tool
    async def give() -> Any:
        """Give it."""
        return object()

    result = await Agent("assistant", ScriptedClient(calls(call("c1", "give")), "done"), tools=give).run("go")
    assert "Tool 'give' failed: its result has no JSON form" in tool_texts(result.messages)[0]
    assert tool_results(result)["c1"].is_error


def _counting(key: StateKey[int, int], writes: Any) -> Any:
    @tool(writes=writes)
    async def count() -> Any:
        """Count."""
        return Success("counted", Command().update(key, 2))

    return count


@pytest.mark.parametrize("durable", [True, False])
async def test_an_update_of_a_key_nobody_declares_fails_the_run_naming_it(durable: bool):
    """TOOL-19, TOOL-20: by the tool, or added by a wrapper."""

    async def adding(_request: Any, _context: Any, next: Any) -> Any:
        outcome = await next()
        return Success(outcome.content, outcome.update.update(OTHER, 1))

    @tool(writes=OTHER)
    async def innocent() -> str:
        """Declares the other key."""
        return "fine"

    # another tool's declaration does not help; a middleware's would
    tools: list[Any] = [_counting(COUNT, ()), innocent] if durable else [_counting(COUNT, COUNT), innocent]
    middleware: list[AgentMiddleware] = [] if durable else [Wrap("adding", tool=adding)]
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "count")), "done"), tools=tools, middleware=middleware)
    with pytest.raises(ToolFailed, match="count" if durable else "other") as failed:
        await agent.run("go", thread_id="t")
    assert (failed.value.tool, failed.value.call_id, failed.value.thread_id) == ("count", "c1", "t")


async def test_a_key_that_a_middleware_declares_may_be_updated_by_any_call():
    """TOOL-21."""

    async def adding(_request: Any, _context: Any, next: Any) -> Any:
        outcome = await next()
        return Success(outcome.content, outcome.update.update(OTHER, 7))

    class Adding(Wrap):
        writes = frozenset({OTHER})

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "count")), "done"),
        tools=_counting(COUNT, COUNT),
        middleware=Adding("adding", tool=adding),
    )
    result = await agent.run("go")
    assert (result.state[COUNT], result.state[OTHER]) == (2, 7)


async def test_a_tool_update_with_routes_fails_the_run():
    """api.md: where only an update makes sense a command with routes is refused."""

    @tool(writes=COUNT)
    async def routing() -> Any:
        """Route."""
        return Success("x", Command().goto(None))  # type: ignore[arg-type]  # the mistake under test

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "routing")), "done"), tools=routing)
    with pytest.raises(ToolFailed, match="routes"):
        await agent.run("go")


async def test_a_tool_that_raises_gives_an_error_result_and_the_run_goes_on():
    """3.4."""

    @tool
    async def broken() -> str:
        """Break."""
        raise ValueError("no luck")

    @tool
    async def silent() -> str:
        """Break without words."""
        raise KeyError

    result = await Agent(
        "assistant", ScriptedClient(calls(call("c1", "broken"), call("c2", "silent")), "done"), tools=[broken, silent]
    ).run("go")
    assert tool_texts(result.messages) == ['{"error":"Tool \'broken\' failed: no luck"}', '{"error":"Tool \'silent\' failed: KeyError"}']
    assert result.status == Completed("done")


class Speechless(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("made", "stored"),
    [
        ("half \ud83d", "half \\ud83d"),
        (ToolError("half \ud83d"), '{"error":"half \\\\ud83d"}'),
        (RuntimeError("half \ud83d"), '{"error":"Tool \'odd\' failed: half \\\\ud83d"}'),
        (Speechless(), '{"error":"Tool \'odd\' failed: Speechless"}'),
        (ToolError(5), '{"error":"5"}'),  # pyright: ignore[reportArgumentType]  # tools are not always typed
    ],
)
async def test_text_that_no_store_takes_is_written_out_in_the_result(made: Any, stored: str, store: Checkpointer):
    """3.4: a tool ran once, and what it said, such as output with half a surrogate pair, does not fail the run."""
    ran: list[int] = []

    @tool
    async def odd() -> Any:
        """Say something odd."""
        ran.append(1)
        if isinstance(made, Exception):
            raise made
        return made

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "odd")), "done"), tools=odd, runtime=store)
    result = await agent.run("go", thread_id="t")
    assert (result.answer, tool_texts((await agent.result("t")).messages), ran) == ("done", [stored], [1])


async def test_a_number_too_long_to_be_written_is_the_calls_error():
    """3.4: Python refuses to write out thousands of digits."""

    @tool
    async def long() -> int:
        """Return a long number."""
        return 10**5000

    result = await Agent("assistant", ScriptedClient(calls(call("c1", "long")), "done"), tools=long).run("go")
    (text,) = tool_texts(result.messages)
    assert result.answer == "done"
    assert "its result has no JSON form" in text


@pytest.mark.parametrize("arguments", [{"text": "half \ud83d"}, {"text": 10**5000}])
async def test_a_models_call_that_cannot_be_stored_is_the_models_failure_and_recover_asks_again(arguments: Any, store: Checkpointer):
    """1.3.5: refused before it is stored; no tool ran."""
    client = ScriptedClient(calls(ToolCall("c1", "echo", arguments)), "done")
    agent = Agent("assistant", client, tools=echo, runtime=store)
    with pytest.raises(ModelFailed, match="has no JSON form"):
        await agent.run("go", thread_id="t")
    assert (await agent.recover("t")).answer == "done"


async def test_an_unknown_tool_is_an_error_result_and_no_middleware_runs():
    """3.2 step 1."""
    recorder = Recorder()
    result = await Agent("assistant", ScriptedClient(calls(call("c1", "nothing")), "done"), tools=echo, middleware=recorder).run("go")
    assert tool_texts(result.messages) == ['{"error":"Unknown tool \'nothing\'"}']
    assert recorder.seen == []


async def test_a_fatal_outcome_fails_the_run_and_recover_runs_only_that_call(store: Checkpointer):
    """3.4: the sibling's result stays."""
    ran: list[str] = []

    @tool
    async def sibling() -> str:
        """Fine."""
        ran.append("sibling")
        return "fine"

    @tool
    async def fatal() -> Any:
        """Fail once."""
        ran.append("fatal")
        return Fatal(OSError("disk full")) if ran.count("fatal") == 1 else "mended"

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "sibling"), call("c2", "fatal")), "done"), tools=[sibling, fatal], runtime=store
    )
    with pytest.raises(ToolFailed, match="disk full") as failed:
        await agent.run("go", thread_id="t")
    assert (failed.value.tool, failed.value.call_id) == ("fatal", "c2")
    assert isinstance(failed.value.cause, OSError)
    done = await agent.recover("t")
    assert tool_texts(done.messages) == ["fine", "mended"]
    assert ran.count("sibling") == 1


async def test_a_cancelled_model_call_cancels_the_run_whatever_a_retrying_wrapper_does():
    """TOOL-29, MW-15: the model is called once."""

    async def retrying(request: Any, _context: Any, next: Any) -> Any:
        for _ in range(3):
            try:
                return await next(request)
            except BaseException:
                continue
        return await next(request)

    client = ScriptedClient(asyncio.CancelledError(), "done")
    agent = Agent("assistant", client, middleware=Wrap("retry", model=retrying))
    with pytest.raises(RunCancelled):
        await agent.run("go", thread_id="t")
    assert len(client.requests) == 1
    assert (await agent.recover("t")).status == Completed("done")


async def test_cancelling_the_run_stops_a_retrying_tool_wrapper(store: Checkpointer):
    """3.4: a cancelled tool is never started again, and recover runs only that call."""
    starts: list[str] = []
    entered = asyncio.Event()

    @tool
    async def hang(text: str) -> str:
        """Hang the first time."""
        starts.append(text)
        if len(starts) == 1:
            entered.set()
            await asyncio.Event().wait()
        return text

    async def retrying(_request: Any, _context: Any, next: Any) -> Any:
        for _ in range(5):
            try:
                return await next()
            except BaseException:
                continue
        return ToolError("gave up")

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "hang", text="x")), "done"),
        tools=hang,
        middleware=Wrap("retry", tool=retrying),
        runtime=store,
    )
    run = await agent.start("go", thread_id="t")
    await entered.wait()
    run.cancel()
    with pytest.raises(RunCancelled):
        await run
    assert starts == ["x"]
    assert (await agent.recover("t")).status == Completed("done")
    assert starts == ["x", "x"]


async def test_a_wrappers_own_timeout_may_try_again():
    """3.4: only a cancelled run or call is never started again; a wrapper's timeout is its own business."""
    starts: list[int] = []

    @tool
    async def slow() -> str:
        """Slow the first time."""
        starts.append(1)
        if len(starts) == 1:
            await asyncio.Event().wait()
        return "fast"

    async def impatient(_request: Any, _context: Any, next: Any) -> Any:
        try:
            async with asyncio.timeout(0.01):
                return await next()
        except TimeoutError:
            return await next()

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "slow")), "done"), tools=slow, middleware=Wrap("impatient", tool=impatient))
    result = await agent.run("go")
    assert tool_texts(result.messages) == ["fast"]
    assert len(starts) == 2


async def test_denied_approved_rejected_and_edited_in_one_message():
    """TOOL-33: no request is sent while one waits; then all four results at once."""
    ran: list[str] = []

    async def deny(request: Any, _context: Any, next: Any) -> Any:
        return ToolError("Denied: d") if request.call.arguments["what"] == "d" else await next()

    message = calls(*(call(f"c{what}", "deploy", what=what) for what in "dare"))
    client = ScriptedClient(message, "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=[Wrap("deny", tool=deny), policy("deploy")])
    result = await agent.run("go", thread_id="t")
    a, r, e = result.pending
    result = await agent.resume("t", a.approve())
    result = await agent.resume("t", r.reject("no"))
    assert len(client.requests) == 1
    done = await agent.resume("t", e.edit({"what": "edited"}))
    assert tool_texts(client.requests[1].messages) == [
        '{"error":"Denied: d"}',
        "deployed a",
        '{"error":"Rejected: no"}',
        "deployed edited",
    ]
    assert [message.outcome for message in done.messages if isinstance(message, ToolMessage)] == [
        "denied",
        "succeeded",
        "rejected",
        "succeeded",
    ]
    assert ran == ["a", "edited"]


async def test_a_call_id_may_come_again_in_a_later_turn():
    """TOOL-34."""
    client = ScriptedClient(calls(call("c1", "echo", text="one")), "first", calls(call("c1", "echo", text="two")), "second")
    agent = Agent("assistant", client, tools=echo)
    first = await agent.run("a", thread_id="t")
    second = await agent.run("b", thread_id="t")
    assert (first.answer, second.answer) == ("first", "second")
    assert tool_texts(second.messages) == ["one", "two"]


async def test_after_a_crash_between_two_results_the_finished_call_is_not_run_again(store: Checkpointer):
    """TOOL-35: a second runtime recovers."""
    ran: list[str] = []
    crash = [True]

    @tool
    async def work(which: str) -> str:
        """Work."""
        ran.append(which)
        if which == "b" and crash:
            await until(lambda: "a" in ran)
            crash.clear()
            return await asyncio.Event().wait()  # type: ignore[return-value]  # never returns
        return which

    def agent() -> Agent:
        client = ScriptedClient(calls(call("c1", "work", which="a"), call("c2", "work", which="b")), "done")
        client.requests.extend([None] if ran else [])  # type: ignore[list-item]  # the second process starts at its second step
        return Agent("assistant", client, tools=work, runtime=GraphRuntime(store))

    run = await agent().start("go", thread_id="t")
    await until(lambda: not crash)
    run.cancel()
    with pytest.raises(RunCancelled):
        await run
    done = await agent().recover("t")
    assert tool_texts(done.messages) == ["a", "b"]
    assert ran.count("a") == 1
    assert ran.count("b") == 2


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (calls(call("c1", "echo", text="a"), call("c1", "echo", text="b")), "'c1' is used more than once"),
        (calls(call(" ", "echo", text="a")), "a tool call has a blank id"),
        (AssistantMessage("  "), "the answer is blank"),
    ],
)
async def test_a_message_that_cannot_be_stored_fails_the_run_and_recover_asks_again(bad: Any, problem: str):
    """TOOL-36, TOOL-37, 1.3.5: nothing is stored and no tool ran."""
    client = ScriptedClient(bad, "done")
    agent = Agent("assistant", client, tools=echo)
    with pytest.raises(ModelFailed, match=problem):
        await agent.run("go", thread_id="t")
    stored = await agent.result("t")
    assert [message.role for message in stored.messages] == ["user"]
    assert (await agent.recover("t")).status == Completed("done")
    assert len(client.requests) == 2


async def test_a_request_without_its_tool_results_is_refused():
    """TOOL-38: whatever a wrapper changed is checked whole; the model is not called again."""

    async def dropping(request: Any, _context: Any, next: Any) -> Any:
        from dataclasses import replace

        return await next(replace(request, messages=tuple(one for one in request.messages if one.role != "tool")))

    client = ScriptedClient(calls(call("c1", "echo", text="a")), "done")
    agent = Agent("assistant", client, tools=echo, middleware=Wrap("drop", model=dropping))
    with pytest.raises(ModelFailed, match="tool call 'c1' has no result straight after it"):
        await agent.run("go")
    assert len(client.requests) == 1


async def test_an_approved_tool_that_raises_gives_an_error_result(store: Checkpointer):
    """TOOL-39: no failed run; the sibling's earlier result is not computed again."""
    ran: list[str] = []

    @tool
    async def free() -> str:
        """Free."""
        ran.append("free")
        return "free"

    @tool
    async def broken(context: ToolContext) -> Any:
        """Break once approved."""
        if not context.approved:
            return NeedsApproval("check")
        raise OSError("no")

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "free"), call("c2", "broken")), "done"), tools=[free, broken], runtime=store)
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.approve() for review in result.pending])
    assert tool_texts(done.messages) == ["free", '{"error":"Tool \'broken\' failed: no"}']
    assert ran == ["free"]


async def test_an_approval_for_everything_that_is_not_read_only():
    """3.5.5."""

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        return "seen"

    @tool
    async def touch() -> str:
        """Touch."""
        return "touched"

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "look"), call("c2", "touch")), "done"),
        tools=[look, touch],
        middleware=ApprovalMiddleware.unless_read_only(),
    )
    result = await agent.run("go")
    ((_, request),) = waiting(result).approvals.items()
    assert (request.call.id, request.source, request.reason) == ("c2", "approval", "tool 'touch' is not read-only")


async def test_what_was_approved_is_what_runs_whatever_a_wrapper_does_to_it():
    """D12: wrappers see the call read-only; the tool gets the approved arguments."""
    ran: list[str] = []
    tried: list[str] = []

    async def meddling(request: Any, _context: Any, next: Any) -> Any:
        try:
            request.call.arguments["what"] = "evil"
        except TypeError as error:
            tried.append(str(error))
        return await next()

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="good")), "done"),
        tools=deploy_into(ran),
        middleware=[policy("deploy"), Wrap("meddling", tool=meddling)],
    )
    result = await agent.run("go", thread_id="t")
    await agent.resume("t", [review.approve() for review in result.pending])
    assert ran == ["good"]
    assert tried


async def test_a_tool_that_is_tried_again_gets_the_approved_arguments_again():
    """D12: what the tool did to its arguments the first time is not in the second call."""
    ran: list[list[str]] = []

    @tool
    async def deploy(targets: list[str]) -> str:
        """Deploy to each target."""
        ran.append(list(targets))
        targets.append("prod")
        if len(ran) == 1:
            raise RuntimeError("flaky")
        return "ok"

    async def retry(request: Any, context: ToolContext, next: Any) -> Any:
        outcome = await next()
        return await next() if isinstance(outcome, ToolError) else outcome

    client = ScriptedClient(calls(call("c1", "deploy", targets=["staging"])), "done")
    agent = Agent("assistant", client, tools=deploy, middleware=[policy("deploy"), Wrap("retry", tool=retry)])
    result = await agent.run("go", thread_id="t")
    assert (await agent.resume("t", result.pending[0].approve())).answer == "done"
    assert ran == [["staging"], ["staging"]]


async def test_invalid_arguments_raise_no_approval_and_no_question():
    """D12: they are validated before either is raised."""
    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "deploy", what=1)), "done"), tools=deploy_into([]), middleware=policy("deploy")
    )
    assert (await agent.run("go")).status == Completed("done")


async def test_the_idempotency_key_is_the_same_on_every_run_of_one_call_and_no_other(store: Checkpointer):
    """D13."""
    seen: list[tuple[str, str]] = []

    @tool
    async def keyed(context: ToolContext) -> Any:
        """Note the key."""
        seen.append((context.call_id, context.idempotency_key))
        return "ran" if context.approved else NeedsApproval("check")

    message = calls(call("c1", "keyed"), call("c2", "keyed"))
    agent = Agent("assistant", ScriptedClient(message, "done", message, "done", message), tools=keyed, runtime=store)
    result = await agent.run("go", thread_id="t")
    await agent.resume("t", [review.approve() for review in result.pending])
    result = await agent.run("again", thread_id="t")
    await agent.resume("t", [review.reject() for review in result.pending])
    await agent.run("elsewhere", thread_id="u")
    keys = {}
    for id, key in seen[:4]:
        keys.setdefault(id, set()).add(key)
    assert all(len(one) == 1 for one in keys.values())
    assert len({key for _, key in seen}) == 6
    assert all(len(key) == 64 and int(key, 16) >= 0 for _, key in seen)


async def test_a_plain_tool_runs_in_a_worker_thread_and_sees_its_cancellation():
    """D24: the run waits for it and drops its result."""
    import threading

    entered, seen = threading.Event(), []

    @tool
    def work(context: ToolContext) -> str:
        """Work until told to stop."""
        seen.append(threading.current_thread() is not threading.main_thread())
        entered.set()
        deadline = threading.Event()
        while not context.run.cancelled:
            deadline.wait(0.001)
        seen.append("left")
        return "dropped"

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "work")), "done"), tools=work, runtime=InMemoryCheckpointer())
    run = await agent.start("go", thread_id="t")
    await asyncio.to_thread(entered.wait, 10)
    run.cancel()
    with pytest.raises(RunCancelled):
        await run
    assert seen == [True, "left"]
    assert (await agent.result("t")).recorded_results == ()
