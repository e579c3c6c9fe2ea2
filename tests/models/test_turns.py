"""Turns of an agent with a real client over HTTP: what is stored, heard, cancelled and recovered (M3, M4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from llm4s_notebook.agent import Agent, AgentRun, Completed, tool
from llm4s_notebook.agent import events as told
from llm4s_notebook.checkpoint import InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import ModelFailed, ProviderFailed, RunCancelled
from llm4s_notebook.models import AssistantMessage, Completion, Delta, ModelRequest, RetryPolicy, ToolCall, ToolMessage, Usage, UserMessage
from llm4s_notebook.review import Session
from llm4s_notebook.testing._openai_chat import Answer
from llm4s_notebook.testing._provider_server import SILENCE, ProviderServer, Reply, streamed
from ticking import Ticking

from .dialects import ANTHROPIC, OPENAI, Dialect
from .test_faults import CAUSED, GOOD, LASTING, PASSING, Waits, failing
from .test_providers import BOTH, REQUEST, client_of, each_provider, each_way

KEY = "sk-proj-9fQ2vX7LmT4bW8cZ1yR6"
CALLING = Answer(("Deploying",), (("c1", "deploy", '{"version": "1.4.0"}'), ("c2", "nope", "{}")))


@tool
async def deploy(version: str) -> str:
    """Deploy a version."""
    return f"{version} is live"


@tool
async def log_in(user: str, password: SecretStr) -> str:
    """Log in."""
    return user


def agent_of(dialect: Dialect, server: ProviderServer, *, stream: bool, **options: Any) -> Agent:
    client = client_of(dialect, server, **options)
    Waits(client)
    return Agent("assistant", client, tools=[deploy, log_in], runtime=InMemoryCheckpointer(), stream=stream)


def files_of(folder: Path) -> list[Path]:
    """The database with what stands beside it."""
    files = sorted(folder.iterdir())
    assert files
    return files


async def heard_of(run: AgentRun) -> list[Any]:
    async with asyncio.timeout(30):
        return [event async for event in run.agent_events()]


@each_way
@each_provider
async def test_a_turn_with_tools_goes_through(dialect: Dialect, server: ProviderServer, stream: bool) -> None:
    """M3.2, 3.2.1, 1.5.1: the same messages and usage, streamed or whole; an unknown tool is an error that the model sees."""
    server.script(dialect.reply(CALLING, stream=stream), dialect.reply(GOOD, stream=stream))
    result = await agent_of(dialect, server, stream=stream).run("Release it")
    assert result.status == Completed("All good")
    user, calling, first, second, last = result.messages
    assert isinstance(user, UserMessage)
    assert isinstance(calling, AssistantMessage)
    assert (calling.content, calling.tool_calls) == (
        "Deploying",
        (ToolCall("c1", "deploy", {"version": "1.4.0"}), ToolCall("c2", "nope", {})),
    )
    assert isinstance(first, ToolMessage)
    assert isinstance(second, ToolMessage)
    assert (first.content, second.content) == ("1.4.0 is live", '{"error":"Unknown tool \'nope\'"}')
    assert isinstance(last, AssistantMessage)
    assert last.content == "All good"
    assert (result.usage.requests, result.usage.input_tokens, result.usage.output_tokens) == (2, 34, 10)
    assert list(result.usage.by_model) == ["model-2026-01-01"]


@each_provider
async def test_an_attempt_that_is_made_again_replaces_what_was_heard(dialect: Dialect, server: ProviderServer) -> None:
    """M3.3, 8.10: a higher attempt voids the text of the lower; stored and counted once (1.5.2)."""
    server.script(streamed(dialect.events(GOOD)[: -dialect.closing], "reset"), dialect.reply(GOOD, stream=True))
    run = await agent_of(dialect, server, stream=True).start("go", thread_id="t")
    events = await heard_of(run)
    result = await run
    starts = [event.attempt for event in events if isinstance(event, told.ModelCallStarted)]
    last = [event.text for event in events if isinstance(event, told.TextDelta) and event.attempt == 2]
    assert (starts, last) == ([1, 2], ["All ", "good"])
    assert {event.attempt for event in events if isinstance(event, told.TextDelta)} <= {1, 2}
    [done] = [event for event in events if isinstance(event, told.ModelCallCompleted)]
    assert (done.attempts, done.usage) == (2, Usage(17, 5))
    assert [message.content for message in result.messages] == ["go", "All good"]
    assert result.usage.requests == 1


async def test_requests_sent_again_are_counted_without_a_stream_too(server: ProviderServer) -> None:
    """M4.2, 8.1: `attempts` of the event."""
    server.script(failing(OPENAI, "server"), OPENAI.reply(GOOD, stream=False))
    run = await agent_of(OPENAI, server, stream=False).start("go")
    [done] = [event for event in await heard_of(run) if isinstance(event, told.ModelCallCompleted)]
    assert (done.attempts, (await run).usage.requests) == (2, 1)


@each_provider
async def test_calls_are_heard_while_they_are_written(dialect: Dialect, server: ProviderServer) -> None:
    """M3.1, 8.1: piece by piece; of a tool with secret arguments only that it is being called (3.8.2)."""
    secret = '{"user": "ann", "password": "hunter2-hunter2"}'
    answer = Answer(calls=(("c1", "deploy", '{"version": "1.4.0"}'), ("c2", "log_in", secret)))
    server.script(dialect.reply(answer, stream=True), dialect.reply(GOOD, stream=True))
    run = await agent_of(dialect, server, stream=True).start("go")
    events = await heard_of(run)
    pieces = [event for event in events if isinstance(event, told.ToolCallDelta)]
    assert "".join(piece.arguments for piece in pieces if piece.index == 0).replace(" ", "") == '{"version":"1.4.0"}'
    assert {(piece.attempt, piece.index, piece.call_id, piece.tool) for piece in pieces} == {(1, 0, "c1", "deploy"), (1, 1, "c2", "log_in")}
    assert "hunter2" not in str(events)
    await run


@pytest.mark.parametrize("where", ["before the head", "after the head", "in the middle"])
@each_way
@each_provider
async def test_cancelling_a_turn_closes_the_connection(dialect: Dialect, server: ProviderServer, stream: bool, where: str) -> None:
    """M3.4: the server sees it (measured: within a second); nothing is kept, and recover asks again."""
    whole = dialect.reply(GOOD, stream=stream)
    half = whole.pieces[:2] if stream else (whole.pieces[0][:20],)
    held = (
        SILENCE if where == "before the head" else Reply(half if "middle" in where else (), content_type=whole.content_type, ending="hold")
    )
    agent = agent_of(dialect, server.script(held), stream=stream)
    run = await agent.start("go", thread_id="t")
    assert await asyncio.to_thread(server.held.wait, 30)
    run.cancel()
    assert await asyncio.to_thread(server.left.wait, 30)
    with pytest.raises(RunCancelled):
        await run
    assert len(server.requests) == 1
    server.script(dialect.reply(GOOD, stream=stream))
    result = await agent.recover("t")
    assert [message.content for message in result.messages] == ["go", "All good"]
    assert (result.usage.requests, len(server.requests)) == (1, 2)


@each_provider
async def test_a_stream_that_is_left_closes_the_connection(dialect: Dialect, server: ProviderServer) -> None:
    """M3.4: also where nobody is cancelled, but no further piece is wanted."""
    client = client_of(dialect, server.script(streamed(dialect.events(BOTH), "hold", first=-dialect.closing)))
    pieces = client.stream(REQUEST)
    assert await anext(pieces)
    await pieces.aclose()
    assert await asyncio.to_thread(server.left.wait, 30)
    await client.aclose()


async def test_a_stream_that_the_turn_cannot_read_is_closed_at_once() -> None:
    """M3.4: not when somebody collects it; the error's traceback would keep it open."""
    closed: list[bool] = []

    class Odd:
        async def complete(self, request: ModelRequest) -> Completion:
            raise AssertionError("it is to stream")

        async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
            try:
                yield Delta(text="x")
                yield None
            finally:
                closed.append(True)

    with pytest.raises(ModelFailed):
        await Agent("assistant", Odd(), runtime=InMemoryCheckpointer(), stream=True).run("go")
    assert closed == [True]


@each_way
async def test_a_turn_cancelled_while_it_waits_to_ask_again_asks_no_more(server: ProviderServer, stream: bool) -> None:
    """M3.4, M4.2."""
    client = client_of(OPENAI, server.script(failing(OPENAI, "server")))
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.sleep(3600)

    client._sleep = sleep  # pyright: ignore[reportPrivateUsage]  # the seam for tests
    agent = Agent("assistant", client, runtime=InMemoryCheckpointer(), stream=stream)
    run = await agent.start("go", thread_id="t")
    async with asyncio.timeout(30):
        await waiting.wait()
        run.cancel()
        with pytest.raises(RunCancelled):
            await run
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", [*PASSING, *LASTING])
@each_way
async def test_a_turn_that_failed_is_left_for_recover(server: ProviderServer, stream: bool, fault: str) -> None:
    """M4.1, 1.3.5: a ModelFailed with the step that helps; the tool that ran is not run again, nothing is stored twice."""
    server.script(ANTHROPIC.reply(Answer(calls=(("c1", "deploy", '{"version": "1"}'),)), stream=stream), failing(ANTHROPIC, fault))
    agent = agent_of(ANTHROPIC, server, stream=stream, retry=RetryPolicy(attempts=1))
    with pytest.raises(ModelFailed) as raised:
        await agent.run("go", thread_id="t")
    assert isinstance(raised.value.cause, ProviderFailed)
    assert (raised.value.cause.fault, raised.value.recoverable) == (fault, fault in PASSING)
    assert CAUSED[fault]["anthropic"][2] in raised.value.what
    assert raised.value.next_step == raised.value.cause.next_step
    assert "recover(thread_id)" in raised.value.next_step
    server.script(ANTHROPIC.reply(GOOD, stream=stream))
    result = await agent.recover("t")
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert (result.usage.requests, result.usage.input_tokens, len(server.requests)) == (2, 34, 3)


async def test_another_client_goes_on_where_the_first_one_failed(server: ProviderServer) -> None:
    """M4.3, 2.4.10: a valid key, a larger model or a longer max_tokens is given to the same agent made anew."""
    store = InMemoryCheckpointer()
    server.script(failing(OPENAI, "authentication"), ANTHROPIC.reply(GOOD, stream=False))
    with pytest.raises(ModelFailed, match="does not accept the key"):
        await Agent("assistant", client_of(OPENAI, server), runtime=store).run("go", thread_id="t")
    result = await Agent("assistant", client_of(ANTHROPIC, server), runtime=store).recover("t")
    assert [message.content for message in result.messages] == ["go", "All good"]


async def test_a_key_is_in_no_checkpoint_event_or_widget_state(server: ProviderServer, tmp_path: Path) -> None:
    """M1.5: of a turn that failed with an error that quotes it."""
    server.script(*(OPENAI.fails(500, "server_error", f"cannot serve Bearer {KEY}") for _ in range(3)))
    client = client_of(OPENAI, server, api_key=KEY)
    Waits(client)
    file = tmp_path / "threads.db"
    async with SqliteCheckpointer(file) as store:
        agent = Agent("assistant", client, runtime=store)
        session = Session(agent, "t")
        with pytest.raises(ModelFailed) as raised:
            await session.run("go")
        events = await agent.runtime.checkpointer.events_after("t", 0)
        shown = [str(events), session.state().model_dump_json(), str(raised.value), repr(agent), repr(session), repr(session.error)]
        assert "cannot serve Bearer ••••" in session.state().model_dump_json()
        assert [text for text in shown if KEY in text] == []
        assert [path.name for path in files_of(tmp_path) if KEY.encode() in path.read_bytes()] == []
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(("stream", "first"), [(False, None), (True, 1.0)], ids=["whole", "streamed"])
async def test_the_times_of_a_call_are_kept_with_its_usage(
    server: ProviderServer, stream: bool, first: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8.1: in the durable event, so that they outlive the process; until the first piece only where there are pieces."""
    monkeypatch.setattr("llm4s_notebook.agent._model_step.perf_counter", Ticking())
    agent = agent_of(OPENAI, server.script(OPENAI.reply(GOOD, stream=stream)), stream=stream)
    await agent.run("go", thread_id="t")
    records = await agent.runtime.checkpointer.events_after("t", 0)
    payloads = [record.event.payload for record in records if getattr(record.event, "name", "") == told.ModelCallCompleted.name]
    [done] = [told.decode(told.ModelCallCompleted.name, payload) for payload in payloads]
    assert isinstance(done, told.ModelCallCompleted)
    assert (done.usage, done.first_token, done.seconds) == (Usage(17, 5), first, 2.0 if stream else 1.0)
