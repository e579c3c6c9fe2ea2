"""Cases from the field at the session: docs/specification/field-cases.md F13, F17."""

from __future__ import annotations

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import PendingInterrupts
from llm4s_notebook.models import ScriptedClient
from llm4s_notebook.review import Session

from .browser import Browser, settled
from .turns import Shop, deployments


async def test_a_message_while_a_tool_waits_is_refused_in_code_and_from_the_browser(store: Checkpointer):
    """F17, W2.7: naming what waits; nothing changes; after the denial the transcript says that the call was not run."""
    shop = Shop()
    client = ScriptedClient(deployments("1.0"), "understood", "sunny")
    session = Session(shop.agent(client, store=store), "t")
    await session.run("ship")
    browser = Browser(session)
    refused = await browser.ask(kind="run", query="what is the weather?")
    assert (refused.kind, refused.error.type) == ("refused", "PendingInterrupts")
    assert 'deploy {"environment":"prod","version":"1.0"}' in refused.error.what
    assert "abandon" in refused.error.next_step
    with pytest.raises(PendingInterrupts, match=r"1\.0 would reach prod"):
        await session.run("what is the weather?")
    assert len(client.requests) == 1
    (card,) = session.state().pending
    await browser.submit({"decision": "reject", "id": card.id, "reason": card.default_reject_reason})
    await settled(session)
    assert shop.ran == []
    transcript = session.state().messages
    assert [call.state for message in transcript for call in message.tool_calls] == ["not_run"]
    (result,) = [message for message in transcript if message.role == "tool"]
    assert (result.not_run, result.is_error) == (True, True)
    assert result.text == "Rejected: a reviewer refused this call; it was not run"
    assert (await session.run("what is the weather?")).answer == "sunny"


async def test_a_blank_reason_from_a_browser_says_that_a_person_decided(store: Checkpointer):
    """F14: the form asks for a reason; a message that carries none is answered all the same, and the model is told who decided."""
    session = Session(Shop().agent(deployments("1.0"), "understood", store=store), "t")
    await session.run("ship")
    await Browser(session).submit({"decision": "reject", "id": session.state().pending[0].id, "reason": " "})
    await settled(session)
    (result,) = [message for message in session.state().messages if message.role == "tool"]
    assert "a reviewer refused this call; it was not run" in result.text


async def test_an_edited_call_is_shown_as_edited_with_what_ran(store: Checkpointer):
    """F13, W4.1: the transcript a person sees is the one the model is sent."""
    shop = Shop()
    client = ScriptedClient(deployments("1.0"), "done")
    session = Session(shop.agent(client, store=store), "t")
    await session.run("ship")
    arguments = {"environment": "staging", "version": "1.1"}
    await Browser(session).submit({"decision": "edit", "id": session.state().pending[0].id, "arguments": arguments})
    await settled(session)
    (call,) = [call for message in session.state().messages for call in message.tool_calls]
    assert (call.arguments, call.edited, call.state) == (arguments, True, "done")
    assert [one.arguments for message in client.requests[1].messages for one in getattr(message, "tool_calls", ())] == [arguments]
    assert shop.ran == ["deploy staging 1.1"]
