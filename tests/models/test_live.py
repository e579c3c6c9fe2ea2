"""A real client's turn as a person sees it: live text, waits to send again, and what the call took (M3.5, W4.7 - W4.9)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import Agent
from llm4s_notebook.agent import events as told
from llm4s_notebook.models import (
    Delta,
    ModelRequest,
    ProviderClient,
    Retry,
    RetryPolicy,
    ScriptedClient,
    UserMessage,
    tell_retry,
)
from llm4s_notebook.review import Session
from llm4s_notebook.testing._openai_chat import Answer
from llm4s_notebook.testing._provider_server import ProviderServer, streamed
from ticking import Ticking

from ..review.writing import Gate, Page, Typing, done, until
from .dialects import OPENAI, Dialect
from .test_faults import GOOD, failing
from .test_providers import client_of, each_provider, each_way
from .test_turns import heard_of


class Held:
    """The client waits to send again until the test lets it."""

    def __init__(self, client: ProviderClient) -> None:
        self.gate = Gate()
        client._sleep = self._sleep  # pyright: ignore[reportPrivateUsage]  # the seam for tests

    async def _sleep(self, seconds: float) -> None:
        await self.gate.wait()


@each_way
@each_provider
async def test_a_wait_to_send_again_is_told_before_it_is_waited_for(dialect: Dialect, server: ProviderServer, stream: bool) -> None:
    """M3.5: with the attempt that will follow, the seconds and the fault, streamed or not."""
    server.script(failing(dialect, "rate-limit", retry_after="7"), dialect.reply(GOOD, stream=stream))
    client = client_of(dialect, server, retry=RetryPolicy(jitter=0.0))
    held = Held(client)
    run = await Agent("support", client, stream=stream).start("go")
    heard: list[Any] = []

    async def listen() -> None:
        async for event in run.agent_events():
            heard.append(event)

    listener = asyncio.create_task(listen())
    await until(lambda: told.ModelCallWaits("support", 2, 7.0, "rate-limit") in heard)
    assert len(server.requests) == 1
    held.gate.set()
    assert (await run).answer == "All good"
    await listener
    ended = [event for event in heard if isinstance(event, told.ModelCallEnded)]
    assert ended == [told.ModelCallEnded("support", 2, failed=False)]


@each_way
async def test_the_last_failure_is_not_waited_for_and_tells_no_wait(server: ProviderServer, stream: bool) -> None:
    """M3.5, M4.2: a request that is not sent again."""
    server.script(failing(OPENAI, "server"))
    client = client_of(OPENAI, server, retry=RetryPolicy(attempts=1))
    run = await Agent("support", client, stream=stream).start("go")
    heard = await heard_of(run)
    with pytest.raises(Exception, match="failed"):
        await run
    assert [event for event in heard if isinstance(event, told.ModelCallWaits)] == []
    assert [event for event in heard if isinstance(event, told.ModelCallEnded)] == [told.ModelCallEnded("support", 1, failed=True)]


async def test_a_client_of_ones_own_around_another_tells_it_too() -> None:
    """M3.5: through a client around a client; and outside of a turn it is told to nobody."""

    class Patient:
        async def complete(self, request: ModelRequest) -> Any:
            tell_retry(Retry(2, 0.5, "queue-full"))
            return await ScriptedClient("hi").complete(request)

    class Around:
        async def complete(self, request: ModelRequest) -> Any:
            return await Patient().complete(request)

    run = await Agent("support", Around()).start("go")
    waits = [event for event in await heard_of(run) if isinstance(event, told.ModelCallWaits)]
    assert waits == [told.ModelCallWaits("support", 2, 0.5, "queue-full")]
    assert (await Around().complete(ModelRequest((UserMessage("go"),)))).message.content == "hi"


@each_provider
async def test_a_stream_that_is_cut_and_sent_again_is_drawn_whole(dialect: Dialect, server: ProviderServer) -> None:
    """W4.7, M3.3: the first attempt's text stays, marked as void, until the second one's first word; never both."""
    server.script(streamed(dialect.events(GOOD)[: -dialect.closing], "reset"), dialect.reply(GOOD, stream=True))
    client = client_of(dialect, server)
    held = Held(client)
    session = Session(Agent("support", client, stream=True), "t")
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: page.live.waiting is not None)
    if page.live.messages:  # a reset may take what was sent with it
        assert (page.written.note or "").startswith("void: attempt 2 after ")
    assert page.live.waiting is not None
    assert "is asked again in" in page.live.waiting
    held.gate.set()
    await turn
    assert page.drawn == ["go", "All good"]
    assert set(page.texts_of(session.state().messages[-1].id)) <= {"All ", "All good"}


@each_provider
async def test_what_the_call_took_stands_beside_its_message(dialect: Dialect, server: ProviderServer) -> None:
    """W4.9: as the provider counts it."""
    server.script(dialect.reply(Answer(("All ", "good")), stream=True))
    session = Session(Agent("support", client_of(dialect, server), stream=True), "t")
    await session.run("go")
    note = session.state().messages[-1].note or ""
    assert note.endswith("17 in, 5 out")
    assert "first word after" in note


async def test_the_first_word_is_that_of_the_attempt_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """W4.9, M3.3: not the void one's, and not the moment at which the request was sent again."""
    monkeypatch.setattr("llm4s_notebook.agent._model_step.perf_counter", Ticking())  # a second passes at each look at it
    session = Session(Agent("support", Typing(["void", Delta(again=True), "kept", done("kept")]), stream=True), "t")
    await session.run("go")
    (call,) = session.calls
    assert (call.first_token, call.seconds) == (2.0, 3.0)  # the looks: begun, void word, kept word, over
