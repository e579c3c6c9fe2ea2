"""Cases from the field through the widgets: docs/specification/field-cases.md F10, F11."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, ApprovalMiddleware
from llm4s_notebook.checkpoint import SqliteCheckpointer
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session
from llm4s_notebook.widgets import Console, ReviewPanel

from ..review.turns import Shop, deployment, until
from .front_end import FakeFrontEnd
from .reading import asks_in_every_way, read_anew

# Each step answers the one card there is of a kind, the first where there are several.
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("MIDDLEWARE_QUESTION", {"decision": "reply", "value": {"value": "eu"}}),
    ("BREAKPOINT", {"decision": "proceed"}),
    ("QUESTION", {"decision": "reply", "value": {"ok": True}}),
    ("APPROVAL", {"decision": "edit", "arguments": {"environment": "staging", "version": "1.5"}}),
    ("APPROVAL", {"decision": "reject", "reason": "not today"}),
    ("BREAKPOINT", {"decision": "proceed"}),
    ("MIDDLEWARE_QUESTION", {"decision": "reply", "value": {"verdict": "allow"}}),
]


async def test_what_waits_is_equal_in_result_session_widgets_and_a_fresh_process_after_every_click(front: FakeFrontEnd, tmp_path: Path):
    """F10: every kind of card; a held model step too."""
    file = tmp_path / "threads.db"
    order = ToolCall("c2", "order", {"item": "tea"})
    async with SqliteCheckpointer(file) as store:
        batch = calls(deployment("c1"), order, deployment("c3", "2.0"))
        session = Session(asks_in_every_way(Shop(), batch, "it is guaranteed", store=store), "t")
        console, panel = Console(session), ReviewPanel(session)
        clicks = [
            front.ask(console, {"kind": "set_hold", "node": "assistant/model", "phase": "AFTER", "on": True}),
            front.ask(console, {"kind": "run", "query": "ship"}),
        ]
        for number, (kind, decision) in enumerate(STEPS):
            await settled(front, session, clicks)
            cards = await equal_everywhere(front, session, (console, panel), file)
            assert cards, f"nothing waits before step {number}"
            id = next(card["id"] for card in cards if card["kind"] == kind)
            clicks = [front.ask((console, panel)[number % 2], {"kind": "submit", "decisions": [{**decision, "id": id}]})]
        await settled(front, session, clicks)
        assert await equal_everywhere(front, session, (console, panel), file) == []
        assert session.result.answer == "it is guaranteed"


async def settled(front: FakeFrontEnd, session: Session, clicks: list[str]) -> None:
    """Wait until each request is done and nothing runs."""
    await until(lambda: all(front.replies(click) for click in clicks) and not session.running)
    assert [[reply["kind"] for reply in front.replies(click)] for click in clicks] == [["done"]] * len(clicks), front.messages[-1]


async def equal_everywhere(front: FakeFrontEnd, session: Session, widgets: tuple[Console | ReviewPanel, ...], file: Path) -> list[Any]:
    """The cards that wait, the same for whoever asks."""
    await until(lambda: all(front.document(widget)["revision"] == session.state().revision for widget in widgets))
    state = session.state()
    cards = [card.model_dump(mode="json") for card in state.pending]
    said = await asyncio.to_thread(read_anew, file)
    assert said == {"pending": [str(review) for review in session.result.pending], "cards": cards, "status": state.status}
    assert [card["id"] for card in cards] == [review.id for review in session.result.pending]
    for widget in widgets:
        assert widget.state["pending"] == front.document(widget)["pending"] == cards
        assert front.document(widget)["status"] == state.status
    return cards


WAITS: dict[str, dict[str, Any]] = {
    "2.0": {"decision": "approve"},
    "2.1": {"decision": "approve"},  # the call of a tool that goes on until its gate is opened
    "2.2": {"decision": "reply", "value": {"ok": True}},
}


@pytest.mark.parametrize("order", list(itertools.permutations(WAITS)), ids="-".join)
async def test_three_clicks_in_any_order_one_while_another_runs_never_go_backwards_and_end_the_batch_once(
    front: FakeFrontEnd, order: tuple[str, ...]
):
    """F11: three messages; whatever follows the slow call is sent while it runs."""
    shop = Shop()
    batch = calls(deployment("c1"), ToolCall("c2", "slow", {"name": "a"}), ToolCall("c3", "order", {"item": "tea"}))
    client = ScriptedClient(batch, "out")
    session = Session(slow_is_approved(shop, client), "t")
    await session.run("ship")
    panel = ReviewPanel(session)
    documents: list[dict[str, Any]] = [front.document(panel)]
    panel.observe(lambda change: documents.append(change["new"]), "state")
    assert [card["id"] for card in documents[0]["pending"]] == list(WAITS)

    clicks: list[str] = []
    for id in order:
        before = len(clicks)
        clicks.append(front.ask(panel, {"kind": "submit", "decisions": [{**WAITS[id], "id": id}]}))
        if id == "2.1":
            await until(lambda: shop.started.is_set() and bool(front.document(panel)["running"]))
        elif not shop.started.is_set():
            await settled(front, session, clicks[before:])
    assert len(client.requests) == 1
    assert front.document(panel)["running"]
    shop.gate.set()
    await settled(front, session, clicks)
    await until(lambda: front.document(panel)["revision"] == session.state().revision)

    assert sorted(shop.ran) == ["deploy prod 1.0", "order tea True", "slow a"]
    assert len(client.requests) == 2
    assert documents[-1] == front.document(panel)
    assert session.result.answer == "out"
    never_backwards(documents)


def slow_is_approved(shop: Shop, client: ScriptedClient) -> Agent:
    approval = ApprovalMiddleware(lambda request: "takes long" if request.call.name == "slow" else None)
    return shop.agent(client, middleware=[approval])


CALL_STATES = ["waiting", "running", "done"]


def never_backwards(documents: list[dict[str, Any]]) -> None:
    """What waits only leaves, what was answered stays, a call only goes on, and the end comes once and last."""
    for earlier, later in itertools.pairwise(documents):
        assert earlier["revision"] < later["revision"]
        assert {card["id"] for card in later["pending"]} <= {card["id"] for card in earlier["pending"]}
        assert {one["id"] for one in earlier["answered"]} <= {one["id"] for one in later["answered"]}
        assert all(was <= now for was, now in zip(steps(earlier), steps(later), strict=True))
    ends = [document["status"] == "completed" for document in documents]
    assert ends == sorted(ends)
    assert {document["status"] for document in documents} <= {"suspended", "running", "completed"}
    assert [message["text"] for message in documents[-1]["messages"]].count("out") == 1


def steps(document: dict[str, Any]) -> list[int]:
    """How far each call of the batch is."""
    return [CALL_STATES.index(call["state"]) for message in document["messages"] for call in message["tool_calls"]]
