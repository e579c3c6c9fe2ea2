"""A session made by an edited cell, over a thread that the cell began before (D14, W5.4)."""

from __future__ import annotations

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import RestoreRejected
from llm4s_notebook.models import calls
from llm4s_notebook.review import Session

from .browser import Browser
from .turns import Shop, deployment


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
