"""What a model writes is drawn as it comes, and gives way to what is stored (W4.7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentMiddleware, GuardrailMiddleware, Handoff, NeedsApproval, ToolContext, tool
from llm4s_notebook.checkpoint import InMemoryCheckpointer
from llm4s_notebook.errors import ModelFailed, RunCancelled, StoreUnavailable
from llm4s_notebook.graph import RunContext
from llm4s_notebook.guardrails import WordList
from llm4s_notebook.models import BreaksOff, Completion, Delta, ModelRequest, Retry, ScriptedClient, ToolCall, calls

from .writing import Gate, Page, Typing, call_piece, done, log_in, look_up, session_of, until, written_as_drawn


async def test_the_text_grows_and_gives_way_to_the_stored_message_in_one_step() -> None:
    """W4.7: every frame holds more of it, none holds it twice, and none lacks it once it has begun."""
    gates = Gate(), Gate()
    session = session_of(Typing(["Your order ", gates[0], "A-1 is ", gates[1], "on its way.", done("Your order A-1 is on its way.")]))
    page = Page(session)
    turn = asyncio.create_task(session.run("Where is A-1?"))
    await until(lambda: page.last == "Your order ")
    assert page.written.note == "writing …"
    assert [message.text for message in session.state().live.messages] == ["Your order "]  # also without a front end
    gates[0].set()
    await until(lambda: page.last == "Your order A-1 is ")
    gates[1].set()
    await turn
    assert page.drawn == ["Where is A-1?", "Your order A-1 is on its way."]
    assert session.state().live.messages == []
    stored = session.state().messages[-1].id
    texts = page.texts_of(stored)
    assert texts == sorted(texts, key=len)
    first = next(at for at, frame in enumerate(page.frames) if stored in {message.id for message in frame})
    assert all(stored in {message.id for message in frame} for frame in page.frames[first:])


async def test_a_call_is_drawn_with_its_arguments_so_far_and_the_next_answer_below_it() -> None:
    """W4.7: while the turn goes on, what is stored of it is drawn as stored; the message keeps its place."""
    asked, answered = Gate(), Gate()
    client = Typing(
        [
            *("I look.", call_piece(0, "c1", "look_up"), call_piece(0, "c1", "look_up", '{"order": "A'), asked),
            *(call_piece(0, "c1", "look_up", '-1"}'), done("I look.", ToolCall("c1", "look_up", {"order": "A-1"}))),
        ],
        ["It is ", answered, "on its way.", done("It is on its way.")],
    )
    session = session_of(client, tools=[look_up])
    page = Page(session)
    turn = asyncio.create_task(session.run("Where is A-1?"))
    await until(lambda: bool(page.live.messages) and bool(page.written.tool_calls) and page.written.tool_calls[0].arguments != "")
    (call,) = page.written.tool_calls
    assert (page.written.text, call.name, call.arguments, call.state) == ("I look.", "look_up", '{"order": "A', "writing")
    asked.set()
    await until(lambda: page.last == "It is ")
    await until(lambda: len(page.documents[-1].messages) == 3)  # the query, the call and its result, drawn while the turn runs
    stored = page.documents[-1].messages
    assert [message.role for message in stored] == ["user", "assistant", "tool"]
    assert (stored[1].tool_calls[0].arguments, stored[1].tool_calls[0].state) == ({"order": "A-1"}, "done")
    assert [message.text for message in page.live.messages] == ["It is "]
    answered.set()
    await turn
    assert page.drawn == ["Where is A-1?", "I look.", "A-1 is on its way", "It is on its way."]


async def test_a_retried_attempt_replaces_the_text_whole() -> None:
    """W4.7, M3.3: the void text stays, marked, until the new one begins; never a mixture of the two."""
    waits, again, more = Gate(), Gate(), Gate()
    retry = Retry(2, 4.0, "rate-limit")
    client = Typing(["Half an ", waits, retry, again, Delta(again=True), "The whole ", more, "answer.", done("The whole answer.")])
    session = session_of(client)
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: page.last == "Half an ")
    waits.set()
    await until(lambda: page.written.note != "writing …")
    assert (page.written.note, page.written.text) == ("void: attempt 2 after rate limit begins anew", "Half an ")
    again.set()
    await until(lambda: page.last == "The whole ")
    assert page.written.note == "writing …"
    more.set()
    await turn
    assert page.texts_of(session.state().messages[-1].id) == ["Half an ", "The whole ", "The whole answer."]


@pytest.mark.parametrize("ends", ["fails", "is cancelled"])
async def test_it_is_gone_when_the_call_fails_or_is_cancelled(ends: str) -> None:
    """W4.7, M3.4: nothing of it is stored, and nothing of it is drawn."""
    gate = Gate()
    session = session_of(Typing(["Half an ", gate, ConnectionError("cut")]))
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: page.last == "Half an ")
    if ends == "fails":
        gate.set()
        with pytest.raises(ModelFailed):
            await turn
    else:
        await session.cancel()
        with pytest.raises(RunCancelled):
            await turn
    assert page.drawn == ["go"]
    assert session.state().can_recover
    assert session.state().live.waiting is None


async def test_a_scripted_stream_that_breaks_off_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """W4.7: the same with the scripted client."""
    session = session_of(ScriptedClient(BreaksOff("half an answer", 2, ConnectionError("cut")), chunk_size=4, delay=0.06))
    page = Page(session)
    written_as_drawn(monkeypatch, page, 4)
    with pytest.raises(ModelFailed):
        await session.run("go")
    assert any(frame[-1].text == "half" for frame in page.frames if frame)
    assert page.drawn == ["go"]


async def test_a_wrapper_that_calls_twice_shows_the_later_call() -> None:
    """W4.7, agent.md 8.10: a higher attempt voids the lower, also where the wrapper asked twice on purpose, or at once."""

    class Twice(AgentMiddleware):
        id = "twice"

        async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Completion:
            first = asyncio.create_task(next(request))
            await asyncio.sleep(0)
            second = await next(request)
            await first
            return second

    slow, fast, last = Gate(), Gate(), Gate()
    session = session_of(
        Typing(["first ", slow, "answer", done("first answer")], [fast, "second ", last, "one", done("second one")]), middleware=[Twice()]
    )
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: page.last == "first ")
    fast.set()
    await until(lambda: page.last == "second ")
    slow.set()
    await asyncio.sleep(0.1)
    assert page.last == "second "
    assert page.written.note == "writing …"  # the first call's end is not the second one's
    last.set()
    await turn
    assert page.drawn == ["go", "second one"]


async def test_a_handoff_draws_both_agents_answers_in_their_order() -> None:
    """W4.7: each step's message has a place of its own."""
    held = Gate()
    billing = Agent("billing", Typing(["The bill ", held, "is paid.", done("The bill is paid.")]), stream=True)
    first = Typing(["One moment.", done("One moment.", ToolCall("h1", "handoff_to_billing", {}))])
    session = session_of(first, handoffs=[Handoff(billing)])
    page = Page(session)
    turn = asyncio.create_task(session.run("my bill"))
    await until(lambda: page.last == "The bill ")
    assert page.drawn[-2:] == ["One moment.", "The bill "]
    held.set()
    await turn
    assert [message.text for message in session.state().messages if message.role == "assistant"] == ["One moment.", "The bill is paid."]


async def test_a_view_that_comes_in_mid_stream_shows_the_same() -> None:
    """W1.2, W4.7: its first document has what the others were sent, and the next piece continues it."""
    gates = Gate(), Gate()
    session = session_of(Typing(["One, ", "two, ", gates[0], "three, ", gates[1], "four.", done("One, two, three, four.")]))
    first = Page(session)
    turn = asyncio.create_task(session.run("count"))
    await until(lambda: first.last == "One, two, ")
    second = Page(session)
    assert second.drawn == first.drawn
    gates[0].set()
    await until(lambda: first.last == "One, two, three, ")
    assert (second.live, second.drawn) == (first.live, first.drawn)
    gates[1].set()
    await turn
    assert second.drawn == first.drawn == ["count", "One, two, three, four."]


async def test_reasoning_is_said_and_not_shown() -> None:
    """W4.7, M2.3: what is thought is not stored, so it is not drawn as what is."""
    thinks, writes = Gate(), Gate()
    session = session_of(Typing([Delta(thinking="SECRET plan"), thinks, "So: ", writes, "four.", done("So: four.")]))
    page = Page(session)
    turn = asyncio.create_task(session.run("2 + 2"))
    await until(lambda: bool(page.live.messages))
    assert (page.written.text, page.written.note) == ("", "thinking …")
    thinks.set()
    await until(lambda: page.written.text == "So: ")
    assert page.written.note == "writing …"
    writes.set()
    await turn
    assert "SECRET" not in "".join(document.model_dump_json() for document in page.documents)


async def test_a_secret_argument_is_in_no_piece() -> None:
    """W4.7, 3.8.2: of such a call only the name is drawn."""
    held = Gate()
    arguments = {"user": "ann", "password": "hunter2-hunter2"}
    pieces = [call_piece(0, "c1", "log_in", '{"user": "ann", "pass'), call_piece(0, "c1", "log_in", 'word": "hunter2-hunter2"}')]
    session = session_of(Typing([*pieces, held, done(None, ToolCall("c1", "log_in", arguments))], [done("in")]), tools=[log_in])
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: bool(page.live.messages))
    assert [(call.name, call.arguments) for call in page.written.tool_calls] == [("log_in", "")]
    held.set()
    await turn
    sent = [*page.documents, *page.pieces]
    assert "hunter2" not in "".join(one.model_dump_json() for one in sent)


async def test_an_answer_that_a_guardrail_blocks_goes_with_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """W4.7, W4.1: it was drawn while it was written, and is removed with the turn."""
    session = session_of(
        ScriptedClient("a secret word", chunk_size=4, delay=0.06), middleware=[GuardrailMiddleware(output=[WordList(["secret"])])]
    )
    page = Page(session)
    written_as_drawn(monkeypatch, page, 4)
    await session.run("go")
    assert any("a se" in message.text for frame in page.frames for message in frame)
    assert page.documents[-1].status == "blocked"
    assert page.drawn == []


async def test_of_what_a_slow_reader_missed_it_is_said_so() -> None:
    """W4.7, R7.8: the loop was held so long that pieces were lost; the stored message is whole."""

    class Blocking(Typing):
        async def stream(self, request: ModelRequest) -> Any:
            yield Delta(text="begins ")
            await asyncio.sleep(0.2)
            for _ in range(3000):  # without giving the loop a breath
                yield Delta(text="x")
            await held.wait()
            yield Delta(completion=done("begins " + "x" * 3000))

    held = Gate()
    session = session_of(Blocking())
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: bool(page.live.messages) and (page.written.note or "").endswith("parts of it were missed here"))
    assert page.written.text.startswith("begins x")
    held.set()
    await turn
    assert page.drawn == ["go", "begins " + "x" * 3000]


async def test_a_void_text_does_not_outlive_an_attempt_that_is_not_streamed() -> None:
    """W4.7: the second attempt came as a whole, so until it is stored there is nothing of it to draw."""

    class Twice(AgentMiddleware):
        id = "twice"

        async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Completion:
            await next(request)
            made = await next(request)
            await held.wait()
            return made

    held = Gate()
    session = session_of(
        ScriptedClient("a first answer", calls(ToolCall("c1", "look_up", {"order": "A-1"})), "There."),
        tools=[look_up],
        middleware=[Twice()],
    )
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: page.documents[-1].run is not None and page.documents[-1].run.superstep is not None and not page.live.messages)
    await asyncio.sleep(0.3)
    assert page.live.messages == []
    await session.cancel()
    with pytest.raises(RunCancelled):
        await turn


async def test_while_something_waits_the_messages_stay_as_they_are_drawn() -> None:
    """W4.7, W4.1: one of two calls is approved and runs; the other one waits, and is drawn waiting."""
    runs = Gate()

    @tool
    async def deploy(version: str, context: ToolContext) -> Any:
        """Deploy."""
        if not context.approved:
            return NeedsApproval("careful")
        await runs.wait()
        return f"{version} is live"

    both = calls(ToolCall("c1", "deploy", {"version": "1"}), ToolCall("c2", "deploy", {"version": "2"}))
    session = session_of(ScriptedClient(both, "done"), tools=[deploy])
    result = await session.run("go")
    page = Page(session)
    turn = asyncio.create_task(session.answer(result.pending[0].approve()))
    await until(lambda: page.documents[-1].run is not None and page.documents[-1].run.nodes != [])
    await asyncio.sleep(0.6)  # two ticks, in which the thread would have been read
    document = page.documents[-1]
    assert [card.id for card in document.pending] == [result.pending[1].id]
    assert document.messages[-1].tool_calls[1].state == "waiting"
    runs.set()
    await turn
    assert [call.state for call in session.state().messages[1].tool_calls] == ["done", "waiting"]


async def test_a_store_that_cannot_be_read_meanwhile_stops_nothing() -> None:
    """W4.7, F33: what is stored is drawn when the run has ended; the turn does not notice."""

    class Failing(InMemoryCheckpointer):
        fails = False
        asked = 0

        async def latest(self, thread_id: str) -> Any:
            if self.fails:
                self.asked += 1
                raise StoreUnavailable(path="memory", reason="locked")
            return await super().latest(thread_id)

    store, held = Failing(), Gate()
    client = Typing([done(None, ToolCall("c1", "look_up", {"order": "A-1"}))], ["It is ", held, "there.", done("It is there.")])
    session = session_of(client, tools=[look_up], runtime=store)
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: page.last == "It is ")
    store.fails = True
    underway = session._conductor.board.underway
    assert underway is not None
    underway.committed = True  # as if one more step had been stored
    await until(lambda: store.asked > 0)
    store.fails = False
    assert page.last == "It is "
    held.set()
    await turn
    assert session.error is None
    assert page.drawn == ["go", "", "A-1 is on its way", "It is there."]


async def test_pieces_are_gathered_and_come_at_most_twenty_times_a_second() -> None:
    """W4.7: a thousand deltas are not a thousand messages."""
    session = session_of(ScriptedClient("word " * 1000, chunk_size=5))
    page = Page(session)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await session.run("go")
    assert len(page.pieces) <= 1 + (loop.time() - begun) / 0.05
    assert len(page.documents) < 30
    assert page.drawn == ["go", "word " * 1000]
