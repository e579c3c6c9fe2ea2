"""What a card is told of the call it asks about, beyond the call itself."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import Agent, ApprovalMiddleware, GuardrailReviewMiddleware, GuardrailVerdict, tool
from llm4s_notebook.guardrails import WordList
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session

from .turns import Shop, deployment

ASK = ApprovalMiddleware(lambda request: "always")


@pytest.mark.parametrize(
    ("hints", "destructive"),
    [
        ({}, True),  # the hints' own default is the careful one (3.1.2)
        ({"destructive": True}, True),
        ({"destructive": False}, False),
        ({"read_only": True}, False),
    ],
)
async def test_an_approval_says_whether_its_tools_hints_allow_for_destruction(hints: dict[str, Any], destructive: bool) -> None:
    """W2.2: what the button names again."""

    @tool(**hints)
    async def purge(table: str) -> str:
        """Purge."""
        return table

    agent = Agent("assistant", ScriptedClient(calls(ToolCall("c1", "purge", {"table": "logs"})), "out"), tools=purge, middleware=ASK)
    session = Session(agent, "t")
    await session.run("go")
    (card,) = session.state().pending
    assert (card.kind, card.destructive) == ("APPROVAL", destructive)


async def test_only_approvals_are_destructive() -> None:
    """A question's call has begun, and a held one is only let go on."""
    shop = Shop()
    session = Session(shop.agent(calls(ToolCall("c1", "order", {"item": "tea"})), "out"), "t")
    await session.run("go")
    assert [(card.kind, card.destructive) for card in session.state().pending] == [("QUESTION", False)]


async def test_a_refused_text_is_named_by_the_guardrail_that_refuses_it() -> None:
    """W2.4: the middleware only brings it before a person, on both ends of a turn."""
    words = {"input": [WordList(["cheap"], name="no bargains")], "output": [WordList(["guaranteed"], name="no promises")]}
    session = Session(Shop().agent("it is guaranteed", middleware=[GuardrailReviewMiddleware(**words)]), "t")
    result = await session.run("a cheap one")
    assert [card.title for card in session.state().pending] == ["no bargains refuses the query"]
    await session.answer(result.pending[0].reply(GuardrailVerdict.allow()))
    assert [card.title for card in session.state().pending] == ["no promises refuses the answer"]


async def test_a_call_that_was_rejected_shows_the_reason_and_not_its_json() -> None:
    """W4.1: the stored content is JSON for the model."""
    session = Session(Shop().agent(calls(deployment()), "out"), "t")
    result = await session.run("go")
    await session.answer(result.pending[0].reject('it costs {"much"}'))
    (told,) = [message for message in session.state().messages if message.role == "tool"]
    assert (told.text, told.not_run) == ('Rejected: it costs {"much"}', True)
