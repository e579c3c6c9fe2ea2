"""Streamed answers: what the scripted client streams, and what a run tells of it while it comes (8.1, 8.9-8.11)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentNode
from llm4s_notebook.agent import events as told
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.errors import CheckpointWriteFailed, ConfigError, ModelFailed, NothingToRecover, RunCancelled, StoreUnavailable
from llm4s_notebook.graph import RunConfig, RunStatus
from llm4s_notebook.graph.events import Custom, Gap, Progress, RunCompleted
from llm4s_notebook.models import AssistantMessage, BreaksOff, Completion, Delta, ModelRequest, ScriptedClient, Usage, UserMessage, calls

from .support import Wrap, call, echo, policy, until

REQUEST = ModelRequest((UserMessage("go", "u"),))


# -- the client ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size", "pieces"),
    [
        ("hello", 1, list("hello")),
        ("hello", 2, ["he", "ll", "o"]),
        ("hello", 5, ["hello"]),
        ("hello", 99, ["hello"]),
        ("é👍", 1, ["é", "👍"]),
    ],
)
async def test_a_text_is_streamed_in_pieces_of_the_size_asked_for(text: str, size: int, pieces: list[str]) -> None:
    """api.md, models: the pieces make up the text, and the completion comes last."""
    deltas = [delta async for delta in ScriptedClient(text, chunk_size=size).stream(REQUEST)]
    assert [delta.text for delta in deltas[:-1]] == pieces
    assert deltas[-1] == Delta(completion=Completion(AssistantMessage(text), Usage(10, 20), "scripted"))
    assert [delta for delta in deltas[:-1] if delta.completion is not None] == []


async def test_calls_without_text_are_streamed_as_their_completion_alone() -> None:
    """api.md, models."""
    message = calls(call("c1", "echo", text="a"))
    deltas = [delta async for delta in ScriptedClient(message).stream(REQUEST)]
    assert [delta.completion and delta.completion.message for delta in deltas] == [message]


async def test_it_waits_before_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """api.md, models: `delay` seconds."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("llm4s_notebook.models._scripted.asyncio.sleep", sleep)
    assert len([delta async for delta in ScriptedClient("abcd", chunk_size=2, delay=0.5).stream(REQUEST)]) == 3
    assert waited == [0.5, 0.5]


@pytest.mark.parametrize(("after", "pieces"), [(0, []), (1, ["ab"]), (2, ["ab", "cd"]), (9, ["ab", "cd", "e"])])
async def test_a_stream_may_break_off_after_some_pieces(after: int, pieces: list[str]) -> None:
    """api.md, models: the error of the step, and no completion; asked for as a whole, the error alone."""
    error = ConnectionError("line cut")
    client = ScriptedClient(BreaksOff("abcde", after, error), lambda _request: BreaksOff("abcde", after, error), chunk_size=2)
    heard: list[Delta] = []

    async def listen() -> None:
        async for delta in client.stream(REQUEST):
            heard.append(delta)

    with pytest.raises(ConnectionError) as raised:
        await listen()
    assert raised.value is error
    assert [delta.text for delta in heard] == pieces
    with pytest.raises(ConnectionError):
        await client.complete(REQUEST)
    assert len(client.requests) == 2


@pytest.mark.parametrize("bad", [{"chunk_size": 0}, {"delay": -1.0}])
def test_a_size_or_delay_that_cannot_be_is_refused(bad: Any) -> None:
    """D2: at once, not while a turn runs."""
    with pytest.raises(ValueError, match="must be at least"):
        ScriptedClient("x", **bad)


def test_a_stream_cannot_break_off_before_it_begins() -> None:
    """D2."""
    with pytest.raises(ValueError, match="after must be at least 0"):
        BreaksOff("x", -1, OSError())


# -- the run ---------------------------------------------------------------------------------------------------------


class Held:
    """A client that streams a piece, then waits until it may go on."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    async def complete(self, request: ModelRequest) -> Completion:
        raise AssertionError("it is to stream")

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        yield Delta(thinking="hm")
        yield Delta(text="first ")
        await self.gate.wait()
        yield Delta(text="second")
        yield Delta(completion=Completion(AssistantMessage("first second"), Usage(1, 2), "held"))


async def test_text_is_heard_while_the_model_still_speaks() -> None:
    """8.1, 8.9: an async iterator on the run's handle, live before the step is stored, and ended with the run."""
    client = Held()
    run = await Agent("assistant", client, stream=True).start("go", thread_id="t")
    heard: list[Any] = []
    async with asyncio.timeout(30):
        async for event in run.agent_events():
            heard.append(event)
            if event == told.TextDelta(1, "first "):
                assert run.status is RunStatus.RUNNING
                client.gate.set()
    assert heard == [
        told.ModelCallStarted("assistant", 1),
        told.ThinkingDelta(1, "hm"),
        told.TextDelta(1, "first "),
        told.TextDelta(1, "second"),
        told.ModelCallEnded("assistant", 1, failed=False),
        told.ModelCallCompleted("assistant", "held", 1, 0, Usage(1, 2)),
    ]
    assert (await run).answer == "first second"


async def test_a_turns_own_events_come_decoded_and_in_order(store: Checkpointer) -> None:
    """8.1, 8.3: of a run that waits, and of the one that goes on; the kernel's are left to `events`."""
    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "echo", text="a")), "done"), tools=echo, middleware=policy("echo"), runtime=store
    )
    run = await agent.start("go", thread_id="t")
    first = [event async for event in run.agent_events()]
    model = ["ModelCallStarted", "ModelCallEnded", "ModelCallCompleted"]
    assert [type(event).__name__ for event in first] == [*model, "ToolCallStarted", "ToolExecuted"]
    assert isinstance(first[-1], told.ToolExecuted)
    assert first[-1].outcome == "NeedsApproval"
    run = await agent.start_resume("t", (await run).pending[0].approve())
    names = [type(event).__name__ async for event in run.agent_events()]
    assert names == ["ToolCallStarted", "ToolCallResult", "ToolExecuted", *model]
    kernel = [type(record.event).__name__ async for record in run.events()]
    assert (kernel[0], kernel[-1]) == ("RunResumed", "RunCompleted")


async def test_a_stream_that_breaks_off_fails_the_step_and_stores_nothing_of_it(store: Checkpointer) -> None:
    """8.1, 1.3.5, 2.4.8: what was heard is not kept; `recover` asks the model again, in a new task whose attempts begin at 1."""
    agent = Agent(
        "assistant", ScriptedClient(BreaksOff("SECRET half", 2, ConnectionError("cut")), "whole", chunk_size=4), stream=True, runtime=store
    )
    run = await agent.start("go", thread_id="t")
    heard = [event async for event in run.agent_events()]
    assert heard == [
        told.ModelCallStarted("assistant", 1),
        told.TextDelta(1, "SECR"),
        told.TextDelta(1, "ET h"),
        told.ModelCallEnded("assistant", 1, failed=True),
    ]
    with pytest.raises(ModelFailed, match="ConnectionError: cut"):
        await run
    left = await agent.result("t")
    assert [message.role for message in left.messages] == ["user"]
    assert "SECR" not in repr(await store.events_after("t", 0)) + repr(await store.latest("t"))
    run = await agent.start_recover("t")
    again = [event async for event in run.agent_events()]
    assert [event.text for event in again if isinstance(event, told.TextDelta)] == ["whol", "e"]
    assert {event.attempt for event in again if isinstance(event, told.TextDelta)} == {1}
    assert (await run).answer == "whole"


async def test_a_wrapper_that_tries_again_tells_the_attempt() -> None:
    """8.10: a higher attempt discards the text of the lower; only the completion returned is counted."""

    async def twice(request: ModelRequest, _context: Any, next: Any) -> Any:
        try:
            return await next(request)
        except ModelFailed:
            return await next(request)

    client = ScriptedClient(BreaksOff("half an answer", 1, ConnectionError("cut")), "whole", chunk_size=5)
    run = await Agent("assistant", client, stream=True, middleware=Wrap("retry", model=twice)).start("go")
    heard = [event async for event in run.agent_events()]
    assert [(event.attempt, event.text) for event in heard if isinstance(event, told.TextDelta)] == [(1, "half "), (2, "whole")]
    assert [event for event in heard if isinstance(event, told.ModelCallCompleted)] == [
        told.ModelCallCompleted("assistant", "scripted", 2, 0, Usage(10, 20))
    ]
    assert (await run).usage.requests == 1


async def test_a_turn_cancelled_in_the_middle_of_a_stream_keeps_nothing_of_it() -> None:
    """4.2.5, 8.1."""
    client = Held()
    agent = Agent("assistant", client, stream=True)
    run = await agent.start("go", thread_id="t")
    heard: list[Any] = []

    async def listen() -> None:
        async for event in run.agent_events():
            heard.append(event)

    listener = asyncio.create_task(listen())
    await until(lambda: told.TextDelta(1, "first ") in heard)
    run.cancel()
    with pytest.raises(RunCancelled):
        await run
    await listener
    assert [message.role for message in (await agent.result("t")).messages] == ["user"]
    client.gate.set()
    assert (await agent.recover("t")).answer == "first second"


async def test_without_streaming_or_a_client_that_can_there_is_no_piece() -> None:
    """8.1: deltas come with streaming on, and from a client that streams."""

    class Whole:
        async def complete(self, request: ModelRequest) -> Completion:
            return Completion(AssistantMessage("whole"))

    for agent in (Agent("assistant", ScriptedClient("whole")), Agent("assistant", Whole(), stream=True)):
        run = await agent.start("go")
        assert [event async for event in run.agent_events() if isinstance(event, told.TextDelta)] == []
        assert (await run).answer == "whole"


async def test_a_stream_without_a_completion_is_the_models_failure() -> None:
    """1.3.5: a client that forgets its completion is told so."""

    class Forgets(Held):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            yield Delta(text="x")

    with pytest.raises(ModelFailed, match="returned NoneType, not a Completion"):
        await Agent("assistant", Forgets(), stream=True).run("go")


async def test_breakpoints_stop_at_the_same_places_streaming_or_not() -> None:
    """F21, 2.4.10: each stop once, with its side."""
    stops: list[list[str]] = []
    for stream in (False, True):
        agent = Agent(
            "assistant",
            ScriptedClient(calls(call("c1", "echo", text="a"), text="let me see"), "done"),
            tools=echo,
            stream=stream,
            interrupt_before=list(AgentNode),
            interrupt_after=list(AgentNode),
        )
        result = await agent.run("go", thread_id="t")
        seen: list[str] = []
        while result.pending:
            seen += [f"{review.phase} {review.node}" for review in result.pending]
            result = await agent.resume("t", [review.proceed() for review in result.pending])
        assert result.answer == "done"
        stops.append(seen)
    assert stops[0] == stops[1]
    assert len(stops[0]) == 8


async def test_whoever_asks_later_hears_what_is_stored_and_what_comes(store: Checkpointer) -> None:
    """8.9, R7.10, R7.11: live events are told once; a second reader, and one after the end, gets the stored ones from the start."""
    run = await Agent("assistant", ScriptedClient("hello", chunk_size=1), stream=True, runtime=store).start("go", thread_id="t")
    first = [record async for record in run.events()]
    await run
    again = [record async for record in run.events()]
    assert [record for record in first if record.sequence is not None] == again
    assert len(first) == len(again) + 7  # five pieces, and where the call begins and ends
    run = await Agent("assistant", ScriptedClient("hello", chunk_size=1), stream=True, runtime=store).start("go", thread_id="u")
    await run
    assert all(record.sequence is not None for record in [record async for record in run.events()])


async def test_a_reader_that_reads_late_is_told_how_much_it_missed() -> None:
    """8.11, R7.8: the run does not wait for it."""
    run = await Agent("assistant", ScriptedClient("x" * 3000, chunk_size=1), stream=True).start("go", thread_id="t")
    while run.status is RunStatus.RUNNING:  # noqa: ASYNC110 - nobody waits for its result yet
        await asyncio.sleep(0.001)
    kinds = [record.event async for record in run.events()]
    assert [event.count for event in kinds if isinstance(event, Gap)] == [3002 - 1024]
    assert type(kinds[-1]).__name__ == "RunCompleted"


async def test_a_refused_start_leaves_nobody_listening() -> None:
    """R7.11."""
    agent = Agent("assistant", ScriptedClient("x"))
    with pytest.raises(ConfigError):
        await agent.start("go", thread_id="t", config=RunConfig(interrupt_before=frozenset({"nowhere"})))
    with pytest.raises(NothingToRecover):
        await agent.start_recover("t")
    assert not agent.runtime._hub.heard("t")


async def test_what_a_reader_changes_in_an_event_another_one_does_not_see() -> None:
    """R7.13: the first reader of the run and a subscriber of its thread."""
    agent = Agent("assistant", ScriptedClient("hi there", chunk_size=4), stream=True)
    subscribed = agent.runtime.subscribe("t")
    run = await agent.start("go", thread_id="t")
    for record in [record async for record in run.events()]:
        if isinstance(record.event, Custom | Progress):
            record.event.payload.clear()
    heard = [told.decode(record.event.name, record.event.payload) for record in await _tellings(subscribed)]
    assert [one.text for one in heard if isinstance(one, told.TextDelta)] == ["hi t", "here"]
    assert [type(one).__name__ for one in heard] == ["ModelCallStarted", "TextDelta", "TextDelta", "ModelCallEnded", "ModelCallCompleted"]


async def _tellings(subscribed: AsyncIterator[Any]) -> list[Any]:
    found: list[Any] = []
    async for record in subscribed:
        if isinstance(record.event, Custom | Progress):
            found.append(record)
        if isinstance(record.event, RunCompleted):
            break
    return found


async def test_a_run_whose_store_fails_ends_its_events() -> None:
    """8.9, R6.29: a run that cannot write its last event ends the reading all the same."""

    class Fails(InMemoryCheckpointer):
        async def commit(self, thread_id: str, commit: Any) -> Any:
            if self.full:
                raise StoreUnavailable(path="memory", reason="full")
            return await super().commit(thread_id, commit)

        full = False

    store = Fails()

    def fill(_request: ModelRequest) -> str:
        store.full = True
        return "answer"

    run = await Agent("assistant", ScriptedClient(fill), runtime=store).start("go", thread_id="t")
    async with asyncio.timeout(30):
        heard = [type(record.event).__name__ async for record in run.events()]
    assert heard[0] == "RunStarted"
    with pytest.raises(CheckpointWriteFailed):
        await run
