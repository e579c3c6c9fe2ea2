"""A session made by an edited cell, over a thread that the cell began before (D14, W5.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import RestoreRejected
from llm4s_notebook.models import calls
from llm4s_notebook.review import Session, register, review

from .browser import Browser
from .seat import Seat
from .test_ways_on import ways
from .turns import Shop, deployment, until


@pytest.fixture
def somebody() -> Iterator[Seat]:
    seat = Seat()
    register(seat)
    yield seat
    register(None)


async def test_a_changed_agent_shows_what_waits_and_says_why_it_cannot_be_answered(store: Checkpointer):
    """D14: the cards are drawn whatever the version; answering names what changed and the ways on, in the reply and in the document."""
    await Session(Shop().agent(calls(deployment()), store=store, system_prompt="one"), "t").run("ship")
    shop = Shop()
    session = Session(shop.agent("out", store=store, system_prompt="two"), "t")
    await session.open("ship")
    (card,) = session.state().pending
    assert card.title == "deploy wants your approval"
    browser = Browser(session)
    refused = await browser.submit({"decision": "approve", "id": card.id})
    assert (refused.kind, refused.error.type) == ("refused", "RestoreRejected")
    assert "changed: system prompt" in refused.error.what
    assert "Agent(version=…)" in refused.error.next_step
    with pytest.raises(RestoreRejected):
        await session.answer({card.id: {"decision": "approve"}})
    error = session.state().error
    assert error is not None
    assert "changed: system prompt" in error.what
    assert [card.id for card in session.state().pending] == [card.id]
    assert shop.ran == []


async def test_a_cell_with_another_client_goes_on(store: Checkpointer):
    """F18, 2.4.10."""
    await Session(Shop().agent(calls(deployment()), store=store), "t").run("ship")
    shop = Shop()
    session = Session(shop.agent("out", store=store, stream=True), "t")
    await session.open("ship")
    done = await session.answer({session.state().pending[0].id: {"decision": "approve"}})
    assert (done.answer, shop.ran) == ("out", ["deploy prod 1.0"])


async def test_a_query_that_an_edited_cell_cannot_ask_waits_for_a_choice_and_is_suggested(somebody: Seat, store: Checkpointer):
    """W4.6, W5.1: the cell does not end with the error of D14, and not with the turn before: it ends with what the person chose."""
    await Shop().agent("hi", store=store, system_prompt="one").run("hello", thread_id="t")
    agent = Shop().agent("new", store=store, system_prompt="two")
    cell = asyncio.create_task(review(agent, "next", thread_id="t"))
    await until(lambda: bool(somebody.shown) and bool(ways(somebody.shown[0])))
    (session,) = somebody.shown
    browser = Browser(session)
    reply = await browser.ask(kind="go_on", way="new_thread", thread_id="t")
    assert reply.kind == "done"
    state = session.state()
    assert state.editor is not None
    assert (state.editor.suggested, state.error, cell.done()) == ("next", None, False)
    await browser.ask(kind="run", query="next")
    result = await cell
    assert (result.thread_id, result.answer) == (session.thread_id, "new")
    assert [message.content for message in result.messages] == ["hello", "hi", "next", "new"]


async def test_an_edited_cell_with_the_query_of_the_last_turn_shows_its_result(somebody: Seat, store: Checkpointer):
    """W5.4."""
    await Shop().agent("hi", store=store, system_prompt="one").run("hello", thread_id="t")
    agent = Shop().agent(store=store, system_prompt="two")
    assert (await review(agent, "hello", thread_id="t")).answer == "hi"
    assert somebody.shown[0].offer is not None


async def test_with_nobody_there_an_edited_cell_raises(store: Checkpointer):
    """D14: headless there is nobody to choose."""
    await Shop().agent("hi", store=store, system_prompt="one").run("hello", thread_id="t")
    with pytest.raises(RestoreRejected):
        await review(Shop().agent(store=store, system_prompt="two"), "next", thread_id="t", answers=[])


async def test_the_cell_run_again_after_a_new_thread_was_chosen_shows_the_thread_that_was_left(somebody: Seat, store: Checkpointer):
    """W5.4: nothing runs twice, and what waits can still be answered there."""
    shop = Shop()
    agent = shop.agent(calls(deployment()), "new", store=store, system_prompt="one")
    first = asyncio.create_task(review(agent, "ship", thread_id="t"))
    session = await somebody.session()
    browser = Browser(session)
    await browser.ask(kind="change_agent", agent="assistant", value={"system_prompt": "two"})
    await browser.ask(kind="go_on", way="empty_thread", thread_id="t")
    await browser.ask(kind="run", query="ship")
    assert (await first).thread_id == session.thread_id
    second = asyncio.create_task(review(agent, "ship", thread_id="t"))
    await until(lambda: len(somebody.shown) == 2)
    again = await somebody.session()
    assert (again.thread_id, again.offer, shop.ran) == ("t", None, [])
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second


async def test_an_interrupted_cell_says_how_to_wait_for_the_new_thread(somebody: Seat, store: Checkpointer):
    agent = Shop().agent(calls(deployment()), store=store, system_prompt="one")
    cell = asyncio.create_task(review(agent, "ship", thread_id="t"))
    session = await somebody.session()
    await session.use(agent.with_(system_prompt="two"))
    await session.new_thread(history=False)
    cell.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cell
    assert f'thread_id="{session.thread_id}"), with the agent as changed here (As code)' in str(session.state().notice)
