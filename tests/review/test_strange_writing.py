"""Pieces that no careful client would stream: telling them fails no call, leaks no secret and mixes no two texts (W4.7, agent.md 8.1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from llm4s_notebook.agent import Agent, AgentMiddleware
from llm4s_notebook.errors import ModelFailed
from llm4s_notebook.graph import RunContext
from llm4s_notebook.models import Completion, Delta, ModelRequest, Retry, ToolCall, ToolCallDelta, tell_retry
from llm4s_notebook.review import Session

from .writing import Gate, Page, Typing, call_piece, done, log_in, look_up, session_of, until


class Beside(AgentMiddleware):
    """Asks the model twice at once and takes the first that gives an answer."""

    id = "beside"

    async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Completion:
        answers = await asyncio.gather(next(request), next(request), return_exceptions=True)
        first, *_ = (answer for answer in answers if isinstance(answer, Completion))
        return first


class Telling(AgentMiddleware):
    """Tells something under a name of the agent's, before the model is asked."""

    id = "telling"

    def __init__(self, how: str, name: str, payload: Any) -> None:
        self.how, self.name, self.payload = how, name, payload

    async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Completion:
        getattr(context, self.how)(self.name, self.payload)
        return await next(request)


@pytest.mark.parametrize(
    ("pieces", "drawn"),
    [
        (["Hi \ud83d", "\ude00 there"], "Hi 😀 there"),
        (["\ud83d", "", "\ude00"], "😀"),
        (["a\ud800b"], "a\ufffdb"),
        (["a\ud83d", "b"], "a\ufffdb"),
        (["\ude00"], "\ufffd"),
        (["\ud83d\ude00"], "😀"),
        (["a\ud83d"], "a"),
    ],
    ids=ascii,
)
async def test_a_character_in_two_pieces_is_one_and_half_a_one_fails_nothing(pieces: list[str], drawn: str) -> None:
    """W4.7: what is stored was whole all the time."""
    gate = Gate()
    session = session_of(Typing([*pieces, gate, done("whole")]))
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: turn.done() or page.last == drawn)
    gate.set()
    await turn
    assert page.texts_of(session.state().messages[-1].id) == [drawn, "whole"]


async def test_a_character_that_two_pieces_of_arguments_share_is_one() -> None:
    """W4.7: also where pieces of another call come between."""
    gate = Gate()
    pieces = [
        call_piece(0, "c", "look_up", '{"order": "\ud83d'),
        call_piece(1, "d", "look_up", "{"),
        call_piece(0, "c", "look_up", '\ude00"'),
    ]
    session = session_of(Typing([*pieces, gate, done("no")]), tools=[look_up])
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: turn.done() or bool(page.live.messages))
    assert [call.arguments for call in page.written.tool_calls] == ['{"order": "😀"', "{"]
    gate.set()
    await turn


@pytest.mark.parametrize(
    "piece",
    [
        Delta(text=cast(Any, float("nan"))),
        Delta(text=cast(Any, 5)),
        Delta(thinking=cast(Any, [float("inf")])),
        Delta(tool_call=ToolCallDelta(cast(Any, "first"), "c", "look_up", "{")),
        Delta(tool_call=cast(Any, {"index": 0})),
    ],
    ids=ascii,
)
async def test_a_piece_that_is_no_text_is_not_told_and_the_rest_is(piece: Delta) -> None:
    """W4.7: nobody stops listening over it."""
    gate = Gate()
    session = session_of(Typing([piece, "still ", gate, done("still here")]), tools=[look_up])
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: turn.done() or page.last == "still ")
    gate.set()
    await turn
    assert page.drawn == ["go", "still here"]


async def test_a_call_is_named_by_its_first_piece_where_later_ones_repeat_nothing() -> None:
    """W4.7."""
    gate = Gate()
    pieces = [call_piece(0, "c", "look_up"), call_piece(0, "", "", '{"order"'), call_piece(0, cast(Any, None), cast(Any, None), ': "A"')]
    session = session_of(Typing([*pieces, gate, done("no")]), tools=[look_up, log_in])
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: turn.done() or bool(page.live.messages))
    (call,) = page.written.tool_calls
    assert (call.id, call.name, call.arguments) == ("c", "look_up", '{"order": "A"')
    gate.set()
    await turn


@pytest.mark.parametrize(
    "names", [["log_in", "", ""], ["log_in", None, None], ["log", "log_", "log_in"], ["log", "_in", ""], ["", "", "log_in"]]
)
async def test_a_secret_is_in_no_piece_however_the_client_gives_the_name(names: list[Any]) -> None:
    """agent.md 3.8.2: what is not known to be for a tool without secrets is not told."""
    gate = Gate()
    parts = ['{"user": "a", ', '"password": "hun', 'ter2"}']
    pieces = [call_piece(0, "c", name, part) for name, part in zip(names, parts, strict=True)]
    wanted = ToolCall("c", "log_in", {"user": "a", "password": "hunter2"})
    session = session_of(Typing([*pieces, gate, done(None, wanted)], [done("in")]), tools=[look_up, log_in])
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: turn.done() or bool(page.live.messages))
    gate.set()
    await turn
    shown = "".join(document.model_dump_json() for document in page.documents) + "".join(one.model_dump_json() for one in page.pieces)
    assert page.drawn[-1] == "in"
    assert "hun" not in shown
    assert "ter2" not in shown


async def test_of_two_calls_at_once_one_that_is_sent_again_mixes_with_none() -> None:
    """W4.7, agent.md 8.10: each request has an attempt of its own, and all of them are counted."""
    again, more = Gate(), Gate()
    client = Typing(
        ["A1 ", again, Retry(2, 1.0, "server"), Delta(again=True), "A2 ", more, "A3", done("A2 A3")],
        ["B1 ", again, "B2 ", more, "B3", done("B1 B2 B3")],
    )
    session = session_of(client, middleware=[Beside()])
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: page.last == "B1 ")
    again.set()
    await until(lambda: turn.done() or page.last not in ("B1 ", "B1 B2 "))
    assert page.last == "A2 "
    more.set()
    await turn
    assert not [text for text in page.texts_of(session.state().messages[-1].id) if "A" in text and "B" in text]
    assert [call.attempts for call in session.calls] == [3]


class Slow:
    """Answers as a whole, the n-th call once its gate is open; the first one only when its request was sent twice."""

    def __init__(self, *gates: asyncio.Event) -> None:
        self.gates = gates
        self.calls = 0

    async def complete(self, request: ModelRequest) -> Completion:
        at = self.calls
        self.calls += 1
        await self.gates[at].wait()
        if at == 0:
            tell_retry(Retry(2, 0.0, "server"))
        return replace(done("yes"), attempts=2 if at == 0 else 1)


@pytest.mark.parametrize("followed", [True, False])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_of_two_calls_at_once_every_request_is_counted_whoever_follows(order: tuple[int, int], followed: bool) -> None:
    """M4.4, agent.md 8.10: what is stored does not depend on who looks."""
    gates = Gate(), Gate()
    agent = Agent("support", Slow(*gates), middleware=[Beside()])
    session = Session(agent, "t")
    turn = asyncio.create_task(session.run("go") if followed else agent.run("go", thread_id="t"))
    await until(lambda: cast(Any, agent.settings.client).calls == 2)
    for at in order:
        gates[at].set()
        await asyncio.sleep(0.01)
    await turn
    await session.refresh()
    assert [call.attempts for call in session.calls] == [3]


async def test_of_two_calls_at_once_one_that_fails_while_it_waits_leaves_the_other_its_text() -> None:
    """W4.7: an attempt that never began voids no other."""
    fails, more = Gate(), Gate()
    client = Typing(
        ["A1 ", Retry(2, 1.0, "server"), fails, ConnectionError("cut")],
        ["B1 ", fails, "B2 ", more, done("B1 B2 ")],
    )
    session = session_of(client, middleware=[Beside()])
    page = Page(session)
    turn = asyncio.create_task(session.run("go"))
    await until(lambda: page.last == "B1 ")
    fails.set()
    await until(lambda: turn.done() or page.last == "B1 B2 ")
    more.set()
    await turn
    assert page.texts_of(session.state().messages[-1].id) == ["B1 ", "B1 B2 "]


async def test_what_came_before_the_request_was_sent_again_is_no_answer() -> None:
    """M3.3: its completion is void as its text is."""
    session = session_of(Typing(["half", done("half"), Delta(again=True), "new"]))
    with pytest.raises(ModelFailed):
        await session.run("go")
    assert [message.text for message in session.state().messages] == ["go"]


@pytest.mark.parametrize(
    "retry", [Retry(2, float("inf"), "server"), Retry(2, float("nan"), "\ud800"), Retry(2, 10**400, "x"), Retry(1, -1, "x")]
)
async def test_a_wait_that_cannot_be_told_fails_nothing(retry: Retry) -> None:
    """M3.5: it is told as well as it can be."""
    session = session_of(Typing(["a ", retry, Delta(again=True), "b", done("b")]))
    page = Page(session)
    await session.run("go")
    assert page.drawn == ["go", "b"]


@pytest.mark.parametrize("how", ["emit", "progress"])
@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("agent.model-call-completed", {"x": 1}),
        ("agent.model-call-completed", None),
        ("agent.text-delta", 5),
        ("agent.model-call-waits", {"agent": "x", "attempt": 7, "seconds": 1e300, "fault": "x"}),
    ],
)
async def test_what_others_tell_under_the_agents_names_spoils_no_thread(how: str, name: str, payload: Any) -> None:
    """W4.9, 8.1: a durable event of a hook's own is there for good, and the thread can be drawn all the same."""
    session = session_of(Typing(["a", done("a")]), middleware=[Telling(how, name, payload)])
    await session.run("go")
    fresh = Session(cast(Agent, session.target), "t")
    await fresh.refresh()
    assert (session.error, fresh.error) == (None, None)
    assert [message.text for message in fresh.state().messages] == ["go", "a"]
    assert [call.attempts for call in fresh.calls] == [1]
