"""Whatever order answers come in, and however they are grouped, the final messages are the same (2.4.2, 2.4.3)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from llm4s_notebook.agent import Agent, AgentNode, InterruptKind, PendingReview
from llm4s_notebook.graph import Answer
from llm4s_notebook.models import Message, ScriptedClient, calls

from .support import ConfirmTool, Environment, Info, call, echo, gated_into

KINDS = st.lists(st.sampled_from(["echo", "gated", "confirm", "unknown", "invalid"]), min_size=1, max_size=5)


def _message(kinds: list[str]) -> Any:
    arguments = {"echo": {"text": "e"}, "gated": {"what": "g"}, "confirm": {"text": "c"}, "unknown": {}, "invalid": {"text": 3}}
    names = {"invalid": "echo", "unknown": "nothing"}
    return calls(*(call(f"c{n}", names.get(kind, kind), **arguments[kind]) for n, kind in enumerate(kinds)))


def _agent(kinds: list[str], *, asking: bool, held: bool) -> Agent:
    return Agent(
        "assistant",
        ScriptedClient(_message(kinds), "done"),
        tools=[echo, gated_into([]), ConfirmTool()],
        middleware=[Environment()] if asking else [],
        interrupt_before=[AgentNode.TOOL] if held else [],
        interrupt_after=[AgentNode.TOOL] if held else [],
    )


def _answer(review: PendingReview) -> Answer:
    """What this interrupt is always answered, whenever that is: it depends on its call alone."""
    odd = int((review.call_id or "c0")[1:]) % 2
    match review.kind:
        case InterruptKind.APPROVAL:
            return review.reject("odd") if odd else review.edit({"what": f"edited {review.call_id}"})
        case InterruptKind.QUESTION:
            return review.reply({"ok": True} if odd else 7)
        case InterruptKind.MIDDLEWARE_QUESTION:
            return review.reply(Info(value="prod"))
        case InterruptKind.BREAKPOINT:
            return review.proceed()


async def _played(agent: Agent, picks: list[int]) -> list[Message]:
    result = await agent.run("go", thread_id="t")
    at = 0
    while result.pending:
        size = 1 + picks[at % len(picks)] % len(result.pending)
        start = picks[(at + 1) % len(picks)] % len(result.pending)
        chosen = (result.pending[start:] + result.pending[:start])[:size]
        result = await agent.resume("t", [_answer(review) for review in reversed(chosen)])
        at += 2
    assert result.answer == "done"
    assert len(agent.settings.client.requests) == 2  # type: ignore[attr-defined]  # a scripted client
    return [replace(message, id="") for message in result.messages]


@settings(max_examples=40, deadline=None)
@given(kinds=KINDS, asking=st.booleans(), held=st.booleans(), picks=st.lists(st.integers(0, 99), min_size=1, max_size=12))
def test_the_order_and_grouping_of_answers_do_not_matter(kinds: list[str], asking: bool, held: bool, picks: list[int]):
    """2.4.2, 2.4.3, F11: the model is called once before and once after, and sees the same."""
    one_by_one = [0]
    reference = asyncio.run(_played(_agent(kinds, asking=asking, held=held), one_by_one))
    assert asyncio.run(_played(_agent(kinds, asking=asking, held=held), picks)) == reference
