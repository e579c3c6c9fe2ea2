"""What a browser asks of a text review: each request gets one reply, and nothing else is touched (W1.5, T3.1, T3.2, T3.4)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import GuardrailVerdict
from llm4s_notebook.review import TextSession
from llm4s_notebook.testing import ManualClock

from ..turns import until
from .browser import Browser
from .support import PROMISES, SHORT, TEXTS, Fails, Gate, Upper, checked


async def reviewed(*guardrails: Any, texts: Any = TEXTS, **settings: Any) -> tuple[TextSession, Browser]:
    session = await checked(texts, *guardrails, **settings)
    return session, Browser(session)


async def test_find_gives_positions_and_marks_and_nothing_of_the_texts() -> None:
    """T3.1: one letter a text."""
    session, browser = await reviewed()
    session.decide(1, "allow")
    session.decide(2, GuardrailVerdict.edit("hoped for"))
    found = await browser.find("all")
    assert (found.positions, found.marks) == ([0, 1, 2, 3], "naeu")
    assert "guaranteed" not in found.model_dump_json()


async def test_the_document_does_not_grow_with_the_texts() -> None:
    """T3.1: ten thousand texts, ten thousand refusals: the same few hundred bytes."""
    few, many = await checked(["guaranteed"] * 10), await checked([f"guaranteed {n}" for n in range(10_000)])
    small, large = (len(session.state().model_dump_json()) for session in (few, many))
    assert large < small + 100
    assert many.left == 10_000


async def test_rows_show_the_beginning_of_a_text_and_open_shows_all() -> None:
    """T3.1, T3.2: the row of a line of 100,000 characters is short."""
    session, browser = await reviewed(texts={"a": "guaranteed " + "x" * 100_000, "b": "fine"})
    [row] = (await browser.ask(kind="rows", positions=[0])).rows
    assert (row.position, row.id, row.guardrail, row.outcome, row.mark) == (0, "a", "no promises", "refused", "undecided")
    assert len(row.excerpt) == 160
    opened = await browser.ask(kind="open", position=0)
    assert (opened.text, opened.cut) == (session.refusals[0].text, 0)
    assert [(reason.guardrail, reason.did) for reason in opened.reasons] == [("no promises", "refused"), ("short", "refused")]


async def test_a_text_longer_than_is_shown_is_cut_and_edited_in_code_only() -> None:
    """T3.2: nobody saves an edit of a part as the whole."""
    session, browser = await reviewed(texts=["guaranteed " + "x" * 300_000])
    opened = await browser.ask(kind="open", position=0)
    assert (len(opened.text), opened.cut) == (200_000, 100_011)
    refused = await browser.decide(0, "edit", "short")
    assert (refused.kind, session.verdicts) == ("refused", {})
    assert "edit it in code" in refused.error.what
    assert (await browser.decide(0, "block")).kind == "decided"


async def test_open_shows_what_guardrails_changed_and_failed_at() -> None:
    """T3.2: fixed, failed, before."""
    session, browser = await reviewed(Upper(), Fails(), texts=["boom", "fine"])
    opened = await browser.ask(kind="open", position=1)
    assert (opened.made_of_it, opened.outcome, opened.before, opened.mark) == ("FINE", "passed", None, "none")
    after = session.with_guardrails([Fails(), PROMISES])
    await after.run()
    opened = await Browser(after).ask(kind="open", position=0)
    assert [(reason.did, reason.reason) for reason in opened.reasons] == [("error", "LookupError: no such model")]
    assert (opened.before, opened.made_of_it) == ("passed", None)


async def test_a_verdict_is_told_to_every_view() -> None:
    """T3.4, W1.2: also those of equal texts, and those given in code or taken back."""
    session, browser = await reviewed(texts=["guaranteed", "fine", "guaranteed"])
    other = Browser(session)
    decided = await browser.decide(2, "block", note="never")
    assert (decided.said, decided.position, decided.left) == ("blocked, 0 left", 2, 0)
    session.decide(0, "allow")
    back = await other.ask(kind="undo")
    assert (back.kind, back.said, back.position) == ("decided", "taken back, 0 left", 0)
    told = [(push.positions, push.mark) for push in other.pushed("marks")]
    assert told == [([0, 2], "block"), ([0, 2], "allow"), ([0, 2], "block")]
    opened = await other.ask(kind="open", position=0)
    assert (opened.verdict.verdict, opened.verdict.note) == ("block", "never")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"kind": "open", "position": 4}, "there is no text 4: there are 4"),
        ({"kind": "rows", "positions": [0, 99]}, "there is no text 99"),
        ({"kind": "decide", "position": 0, "verdict": "block", "text": None, "note": None}, "nothing to decide"),
        ({"kind": "decide", "position": 1, "verdict": "edit", "text": None, "note": None}, "an edit needs its text"),
        ({"kind": "decide", "position": 1, "verdict": "allow", "text": "x", "note": None}, "nothing else takes one"),
        ({"kind": "decide", "position": 1, "verdict": "edit", "text": " ", "note": None}, "blank"),
        ({"kind": "undo"}, "no verdict was given"),
        ({"kind": "save_draft", "id": "4", "draft": {}}, "there is no text '4'"),
        ({"kind": "save_draft", "id": "-1", "draft": {}}, "there is no text '-1'"),
        ({"kind": "save_draft", "id": "1", "draft": "x" * 1_000_001}, "longer than"),
    ],
)
async def test_what_cannot_be_done_is_refused_and_changes_nothing(body: dict[str, Any], said: str) -> None:
    """W1.5: one reply that says why."""
    session, browser = await reviewed()
    before = session.state()
    reply = await browser.ask(**body)
    assert reply.kind == "refused"
    assert said in reply.error.what
    assert (session.verdicts, session.drafts.all(), session.state().totals) == ({}, {}, before.totals)


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "run",
        {"request_id": "r"},
        {"request_id": "r", "body": {"kind": "submit", "decisions": []}},
        {"request_id": "r", "body": {"kind": "open", "position": -1}},
        {"request_id": "r", "body": {"kind": "open", "position": "0"}},
        {"request_id": "r", "body": {"kind": "open", "position": 1.5}},
        {"request_id": "r", "body": {"kind": "rows", "positions": list(range(501))}},
        {"request_id": "r", "body": {"kind": "find", "show": "secret", "verdict": "any", "guardrail": None, "search": ""}},
        {"request_id": "r", "body": {"kind": "find", "show": "all", "verdict": "any", "guardrail": None, "search": "x" * 1001}},
        {"request_id": "r", "body": {"kind": "decide", "position": 1, "verdict": "undecided", "text": None, "note": None}},
        {"request_id": "r", "body": {"kind": "decide", "position": 1, "verdict": "allow", "text": None, "note": None, "by": "rita"}},
    ],
)
async def test_what_is_no_request_is_refused(content: Any) -> None:
    """W1.5, F25: garbage in, one refusal out."""
    session, browser = await reviewed()
    browser.send(content)
    [reply] = browser.received
    assert (reply.kind, reply.error.type) == ("refused", "DecodeError")
    assert session.verdicts == {}


async def test_a_request_delivered_twice_is_carried_out_once() -> None:
    """W1.5: the same reply again; another request under the same id is refused."""
    session, browser = await reviewed()
    session.decide(2, "block")
    first = await browser.ask("r", kind="undo")
    assert await browser.ask("r", kind="undo") == first
    assert session.undo() is None
    assert (await browser.ask("r", kind="hello")).error.type == "ConfigError"


async def test_the_button_starts_a_run_and_stops_it() -> None:
    """T1.3, T1.4: as from a cell."""
    gate = Gate(passing=1)
    session = TextSession(["a", "bad", "bad too"], [gate], concurrency=1)
    browser = Browser(session)
    assert (await browser.ask(kind="run", again=False)).said == "checking"
    await until(lambda: gate.waiting == 1)
    assert (await browser.ask(kind="cancel")).said == "stopping; what is checked stays"
    await until(lambda: not session.running)
    assert session.state().checked == 1
    assert (await browser.ask(kind="cancel")).said == "nothing was running"
    gate.open.set()
    await browser.ask(kind="run", again=False)
    await until(lambda: session.state().checked == 3)
    assert [refusal.text for refusal in session.refusals] == ["bad", "bad too"]


async def test_drafts_come_back_to_a_view_and_go_with_the_verdict() -> None:
    """T3.4, W1.4: half a note outlives a reload, and no verdict leaves it behind."""
    _, browser = await reviewed()
    draft = {"edit": "half an ed", "note": None, "editing": True, "noting": False}
    await browser.ask(kind="save_draft", id="1", draft=draft)
    assert (await browser.ask(kind="hello")).drafts == {"1": draft}
    assert [push.drafts for push in browser.pushed("drafts")] == [{"1": draft}]
    await browser.decide(1, "edit", "half an edit")
    assert (await browser.ask(kind="hello")).drafts == {}
    assert browser.pushed("drafts")[-1].drafts == {}


async def test_seconds_are_counted_from_the_opening_and_only_once() -> None:
    """T2.5: a second verdict on a text that was not opened again has no time of its own."""
    clock = ManualClock()
    session, browser = await reviewed(clock=clock)
    await browser.ask(kind="open", position=1)
    clock.advance(-5)
    assert (await browser.decide(1, "allow")).kind == "decided"
    assert session.verdicts["it is guaranteed"].mark == "allow"


async def test_half_characters_and_ids_of_any_kind_can_be_sent() -> None:
    """W5.7: what cannot be encoded is written out; an id is shown by its text."""
    _, browser = await reviewed(PROMISES, SHORT, texts=[((1, "a\ud800"), "guaranteed \ud800")])
    [row] = (await browser.ask(kind="rows", positions=[0])).rows
    row.model_dump_json()
    assert row.excerpt == "guaranteed \\ud800"
    assert (await browser.decide(0, "block")).left == 0


async def test_without_a_loop_a_request_is_refused() -> None:
    """W1.5: and not lost."""

    def ask() -> list[Any]:
        browser = Browser(TextSession(["a"], PROMISES))
        browser.send({"request_id": "r", "body": {"kind": "hello"}})
        return browser.received

    [reply] = await asyncio.to_thread(ask)
    assert reply.kind == "refused"
    assert "no event loop runs" in reply.error.what
