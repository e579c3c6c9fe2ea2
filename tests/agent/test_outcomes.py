"""What comes of a call, and what is recorded of it: agent.md 3.4, 1.3.6, 10.2."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import (
    Agent,
    AgentMiddleware,
    Completed,
    Fatal,
    Success,
    ToolContext,
    ToolError,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.errors import RunCancelled, ToolFailed
from llm4s_notebook.graph import Command, GraphRuntime, StateKey
from llm4s_notebook.models import ScriptedClient, calls

from .support import Wrap, call, tool_results, tool_texts, until

COUNT: StateKey[int, int] = StateKey("count", int, int, initial=0, reduce=lambda total, more: total + more)


OTHER: StateKey[int, int] = StateKey.replace("other", int, initial=0)


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        ("", '""'),
        ("  ", '"  "'),
        ("text", "text"),
        ("ü", "ü"),
        (3, "3"),
        (None, "null"),
        ("\u200b", '"\u200b"'),
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
    """TOOL-21, 4.1.3."""

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
    limits: list[asyncio.Timeout] = []

    @tool
    async def slow() -> str:
        """Slow the first time: its time is over while it waits, and not before it has begun."""
        starts.append(1)
        if len(starts) == 1:
            limits[0].reschedule(asyncio.get_running_loop().time())
            await asyncio.Event().wait()
        return "fast"

    async def impatient(_request: Any, _context: Any, next: Any) -> Any:
        try:
            async with asyncio.timeout(None) as limit:
                limits.append(limit)
                return await next()
        except TimeoutError:
            return await next()

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "slow")), "done"), tools=slow, middleware=Wrap("impatient", tool=impatient))
    result = await agent.run("go")
    assert tool_texts(result.messages) == ["fast"]
    assert len(starts) == 2


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
    await asyncio.to_thread(entered.wait, 30)
    run.cancel()
    with pytest.raises(RunCancelled):
        await run
    assert seen == [True, "left"]
    assert (await agent.result("t")).recorded_results == ()


@pytest.mark.parametrize("where", ["check", "tool", "reported"])
async def test_a_cancellation_of_the_tools_own_cancels_the_run_and_recover_runs_only_that_call(where: str, store: Checkpointer):
    """3.2.1, 3.4: raised by its check or by itself, or reported as its outcome; the call records nothing."""
    ran: list[str] = []
    once = [True]

    def cancel_once() -> None:
        if once:
            once.clear()
            raise asyncio.CancelledError

    @tool(check=lambda which: cancel_once() if where == "check" and which == "b" else None)
    async def work(which: str) -> Any:
        """Work."""
        ran.append(which)
        if which == "b" and where == "tool":
            cancel_once()
        if which == "b" and where == "reported" and once:
            once.clear()
            return Fatal(asyncio.CancelledError())
        return which

    client = ScriptedClient(calls(call("c1", "work", which="a"), call("c2", "work", which="b")), "done")
    agent = Agent("assistant", client, tools=work, runtime=store)
    with pytest.raises(RunCancelled):
        await agent.run("go", thread_id="t")
    done = await agent.recover("t")
    assert tool_texts(done.messages) == ["a", "b"]
    assert ran.count("b") == (1 if where == "check" else 2)
