"""What a browser asks: each request gets exactly one reply, and no message makes anything run but what waits."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from pydantic import BaseModel

from llm4s_notebook.agent import Answer, tool
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session
from llm4s_notebook.wire import Done, Refusal, Welcome

from .browser import Browser, settled
from .loops import other_loop
from .turns import SLOW, Region, Shop, deployment, deployments, guarded, ids, until


async def waiting(shop: Shop, *script: Any, **settings: Any) -> tuple[Session, Browser]:
    session = Session(shop.agent(*script, **settings), "t")
    await session.run("ship")
    return session, Browser(session)


def approve(id: str) -> dict[str, Any]:
    return {"decision": "approve", "id": id}


async def test_an_approval_is_admitted_answered_and_said():
    """W2.6, W2.10: the reply comes at admission and says what was done and what is left."""
    shop = Shop()
    session, browser = await waiting(shop, deployments("1.0", "2.0"), "out")
    reply = await browser.submit(approve("2.0"))
    assert reply == Done(kind="done", request_id="r1", said="approved deploy, 1 left")
    await settled(session)
    assert shop.ran == ["deploy prod 1.0"]
    assert ids(session.state().pending) == ["2.1"]
    assert [(one.id, one.summary) for one in session.state().answered] == [("2.0", "approved deploy")]


async def test_several_decisions_of_one_submit_are_one_resume():
    """W2.6: all or nothing, and the model is called once for all of them."""
    shop = Shop()
    client = ScriptedClient(deployments("1.0", "2.0", "3.0"), "out")
    session, browser = await waiting(shop, client)
    edit = {"decision": "edit", "id": "2.1", "arguments": {"environment": "staging", "version": "2.5"}}
    reply = await browser.submit(approve("2.0"), edit, {"decision": "reject", "id": "2.2", "reason": "no"})
    assert reply.said == "approved deploy, edited deploy, rejected deploy"
    await settled(session)
    assert sorted(shop.ran) == ["deploy prod 1.0", "deploy staging 2.5"]
    assert len(client.requests) == 2


@pytest.mark.parametrize(
    "content",
    [
        None,
        17,
        "approve",
        [],
        {},
        {"request_id": "x"},
        {"request_id": "x", "body": None},
        {"request_id": "x", "body": {}},
        {"request_id": "x", "body": {"kind": "approve_everything"}},
        {"request_id": "x", "body": {"kind": "submit"}},
        {"request_id": "x", "body": {"kind": "submit", "decisions": {}}},
        {"request_id": "x", "body": {"kind": "submit", "decisions": [{"decision": "approve"}]}},
        {"request_id": "x", "body": {"kind": "submit", "decisions": [{"decision": "approve", "id": 2.0}]}},
        {"request_id": "x", "body": {"kind": "submit", "decisions": [{"decision": "approved", "id": "2.0"}]}},
        {"request_id": "x", "body": {"kind": "submit", "decisions": [{"decision": "approve", "id": "2.0", "tool_name": "slow"}]}},
        {"request_id": "x", "body": {"kind": "submit", "decisions": [{"decision": "approve", "id": "2.0", "arguments": {}}]}},
        {"request_id": "x", "body": {"kind": "submit", "decisions": [{"decision": "edit", "id": "2.0", "name": "slow", "arguments": {}}]}},
        {"request_id": "x", "body": {"kind": "submit", "decisions": [{"decision": "edit", "id": "2.0", "arguments": []}]}},
        {"request_id": "x", "body": {"kind": "submit", "decisions": [{"decision": "reject", "id": "2.0"}]}},
        {"request_id": "x", "body": {"kind": "submit", "decisions": [approve("2.0")], "call": {"name": "slow"}}},
        {"request_id": "x", "body": {"kind": "run", "query": 1}},
        {"request_id": "x", "body": {"kind": "set_hold", "node": "assistant/model", "phase": "DURING", "on": True}},
        {"request_id": "x", "body": {"kind": "set_hold", "node": "assistant/model", "phase": "BEFORE", "on": "yes"}},
        {"request_id": "x", "body": {"kind": "hello"}, "extra": 1},
        {"request_id": "x", "body": {"kind": "save_draft", "id": "2.0", "draft": float("nan")}},
        {"request_id": "x", "body": {"kind": "save_draft", "id": "2.0", "draft": object()}},
    ],
)
async def test_a_message_that_is_no_request_is_refused_and_changes_nothing(content: object):
    """F12, F25, W1.5: unknown kinds, missing fields, wrong types, and calls or names of the message's own."""
    shop = Shop()
    session, browser = await waiting(shop, deployments("1.0"), "out")
    before = session.state()
    browser.send(content)
    (reply,) = browser.received
    assert isinstance(reply, Refusal)
    assert reply.request_id == ("x" if isinstance(content, dict) and content else "")
    assert reply.error.type == "DecodeError"
    assert reply.error.what
    assert session.state().model_dump(exclude={"updated_at_ms"}) == before.model_dump(exclude={"updated_at_ms"})
    assert shop.ran == []
    assert (await browser.submit(approve("2.0"))).kind == "done"


@pytest.mark.parametrize(
    ("decision", "code"),
    [
        ({"decision": "approve", "id": "9.9"}, "unknown"),
        ({"decision": "proceed", "id": "2.0"}, "invalid"),
        ({"decision": "reply", "id": "2.0", "value": {"decision": "approve"}}, "invalid"),
    ],
)
async def test_a_decision_that_does_not_fit_what_waits_is_refused_on_its_card(decision: dict[str, Any], code: str):
    """F25, W2.7: an unknown id, and a decision of another kind."""
    shop = Shop()
    session, browser = await waiting(shop, deployments("1.0", "2.0"), "out")
    reply = await browser.submit(approve("2.1"), decision)
    assert isinstance(reply, Refusal)
    assert [(problem.interrupt_id, problem.code) for problem in reply.problems] == [(decision["id"], code)]
    assert ids(session.state().pending) == ["2.0", "2.1"]
    assert shop.ran == []


async def test_an_empty_submit_and_one_that_answers_an_id_twice_are_refused():
    """D5, D6: both are problems, and nothing is taken."""
    shop = Shop()
    _, browser = await waiting(shop, deployments("1.0"), "out")
    assert [problem.code for problem in (await browser.submit()).problems] == ["empty"]
    twice = await browser.submit(approve("2.0"), {"decision": "reject", "id": "2.0", "reason": "no"})
    assert [(problem.interrupt_id, problem.code) for problem in twice.problems] == [("2.0", "repeated")]
    assert shop.ran == []


async def test_an_edit_that_the_tool_does_not_take_is_refused_on_its_fields_and_a_valid_one_runs():
    """D25, F07: checked like the form; nothing of the first is kept."""
    shop = Shop()
    session, browser = await waiting(shop, deployments("1.0"), "out")
    wrong = {"decision": "edit", "id": "2.0", "arguments": {"environment": "moon", "version": "", "more": 1}}
    reply = await browser.submit(wrong)
    assert isinstance(reply, Refusal)
    assert {tuple(problem.path): problem.code for problem in reply.problems} == {
        ("arguments", "environment"): "invalid",
        ("arguments", "version"): "invalid",
        ("arguments", "more"): "invalid",
    }
    assert session.state().pending[0].arguments == {"environment": "prod", "version": "1.0"}
    right = {"decision": "edit", "id": "2.0", "arguments": {"environment": "staging", "version": "1.1"}}
    assert (await browser.submit(right)).kind == "done"
    await settled(session)
    assert shop.ran == ["deploy staging 1.1"]
    (call,) = next(message for message in session.state().messages if message.tool_calls).tool_calls
    assert (call.edited, call.arguments) == (True, {"environment": "staging", "version": "1.1"})


async def test_a_field_inside_the_arguments_is_named_by_its_path():
    """D25: nested fields and list items."""

    class Item(BaseModel):
        count: int

    @tool
    async def order(items: list[Item]) -> str:
        """Order."""
        return "ordered"

    from llm4s_notebook.agent import Agent, ApprovalMiddleware

    client = ScriptedClient(calls(ToolCall("c1", "order", {"items": [{"count": 1}]})), "out")
    agent = Agent("assistant", client, tools=order, middleware=ApprovalMiddleware(lambda request: "always"))
    session = Session(agent, "t")
    await session.run("ship")
    edit = {"decision": "edit", "id": "2.0", "arguments": {"items": [{"count": 1}, {"count": "two"}]}}
    reply = await Browser(session).submit(edit)
    assert [(problem.path, problem.message) for problem in reply.problems] == [
        (["arguments", "items", 1, "count"], "expected integer, got string")
    ]


async def test_a_middlewares_question_answered_wrongly_stays_with_the_problem_on_its_field():
    """F07, W2.7: refused at the door, and answered right afterwards."""
    shop = Shop()
    session, browser = await waiting(shop, "hello", middleware=[Region()])
    id = session.state().pending[0].id
    reply = await browser.submit({"decision": "reply", "id": id, "value": {"value": 7}})
    assert [(problem.interrupt_id, problem.code, problem.path[-1]) for problem in reply.problems] == [(id, "invalid", "value")]
    assert ids(session.state().pending) == [id]
    assert (await browser.submit({"decision": "reply", "id": id, "value": {"value": "eu"}})).said == "answered region"
    await settled(session)
    assert session.result.messages[0].content == "ship (region eu)"


async def test_a_tools_question_takes_an_answer_that_does_not_fit_as_the_calls_error():
    """W2.8, 2.4.5: the model is told."""
    shop = Shop()
    session, browser = await waiting(shop, calls(ToolCall("c1", "order", {"item": "tea"})), "out")
    (card,) = session.state().pending
    assert (card.kind, card.lenient, card.question) == ("QUESTION", True, {"prompt": "order tea?"})
    assert (await browser.submit({"decision": "reply", "id": card.id, "value": "maybe"})).said == "answered order"
    await settled(session)
    assert shop.ran == []
    result = next(message for message in session.state().messages if message.role == "tool")
    assert result.is_error
    assert "Invalid answer for 'order'" in result.text


async def test_a_guardrails_refusal_is_reviewed_with_a_verdict():
    """W2.4: the card carries what was refused; the verdict is a reply."""
    shop = Shop()
    session, browser = await waiting(shop, "success is guaranteed", middleware=[guarded()])
    (card,) = session.state().pending
    assert card.guardrail is not None
    assert (card.guardrail.phase, card.guardrail.guardrail, card.guardrail.text) == ("output", "no promises", "success is guaranteed")
    wrong = await browser.submit({"decision": "reply", "id": card.id, "value": {"verdict": "edit"}})
    assert isinstance(wrong, Refusal)
    assert [problem.interrupt_id for problem in wrong.problems] == [card.id]
    reply = await browser.submit({"decision": "reply", "id": card.id, "value": {"verdict": "edit", "text": "success is likely"}})
    assert reply.said == "edited the text refused by no promises"
    await settled(session)
    assert session.result.answer == "success is likely"


async def test_the_same_request_delivered_twice_is_carried_out_once_and_answered_twice():
    """F28: never lost, never twice."""
    shop = Shop()
    session, browser = await waiting(shop, deployments("1.0"), "out")
    content = {"request_id": "same", "body": {"kind": "submit", "decisions": [approve("2.0")]}}
    browser.send(content)
    browser.send(content)
    await until(lambda: len(browser.replies("same")) == 2)
    await settled(session)
    browser.send(content)
    first, second, third = browser.replies("same")
    assert first == second == third == Done(kind="done", request_id="same", said="approved deploy")
    assert shop.ran == ["deploy prod 1.0"]


async def test_a_request_id_that_comes_again_with_another_request_is_refused():
    """F25: an id names one request."""
    shop = Shop()
    _, browser = await waiting(shop, deployments("1.0"), "out")
    assert (await browser.ask("same", kind="hello")).kind == "welcome"
    browser.send({"request_id": "same", "body": {"kind": "submit", "decisions": [approve("2.0")]}})
    assert [reply.kind for reply in browser.replies("same")] == ["welcome", "refused"]
    assert shop.ran == []


@pytest.mark.parametrize("again", [approve("2.0"), {"decision": "reject", "id": "2.0", "reason": "other"}])
async def test_an_answer_to_what_is_already_answered_says_when_and_by_whom(again: dict[str, Any]):
    """F41, F04: the same answer or another, while the first still runs and afterwards."""
    shop = Shop()
    client = ScriptedClient(calls(ToolCall("c1", "deploy", {"environment": "prod", "version": "1.0"})), SLOW, "out")
    session = Session(shop.agent(client), "t", principal="ana")
    await session.run("ship")
    browser = Browser(session)
    await browser.submit(approve("2.0"))
    await shop.started.wait()
    for _ in ("while it runs", "afterwards"):
        reply = await browser.submit(again)
        (problem,) = reply.problems
        assert (reply.kind, problem.code, problem.answered_by) == ("refused", "answered", "ana")
        assert problem.answered_at_ms is not None
        shop.gate.set()
        await settled(session)
    assert shop.ran == ["deploy prod 1.0", "slow a"]
    assert len(client.requests) == 3


async def test_two_clicks_at_once_on_one_card_leave_the_other_untouched():
    """F38: item 2 stays."""
    shop = Shop()
    session, browser = await waiting(shop, deployments("1.0", "2.0"), "out")
    replies = await asyncio.gather(browser.submit(approve("2.0")), browser.submit(approve("2.0")))
    assert sorted(reply.kind for reply in replies) == ["done", "refused"]
    await settled(session)
    assert ids(session.state().pending) == ["2.1"]
    assert shop.ran == ["deploy prod 1.0"]


async def test_only_what_was_shown_is_approved_when_new_items_have_come():
    """F39: the ids of the message count, not what waits when it arrives."""
    shop = Shop()
    session, browser = await waiting(shop, deployments("1.0"), deployments("2.0", "3.0"), "out")
    shown = ids(session.state().pending)
    await browser.submit(*(approve(id) for id in shown))
    await settled(session)
    assert shop.ran == ["deploy prod 1.0"]
    assert len(session.state().pending) == 2


async def test_hello_brings_the_drafts_and_they_go_when_their_card_is_answered():
    """W1.4: drafts come back when a view renders, are told to every view, and go with the answer."""
    shop = Shop()
    session, browser = await waiting(shop, deployments("1.0", "2.0"), "out")
    draft = {"decision": "reject", "reason": "not tod"}
    await browser.ask("save", kind="save_draft", id="2.0", draft=draft)
    await browser.ask(kind="save_draft", id="2.1", draft={"decision": "approve"})
    pushed = [message for message in browser.received if message.kind == "drafts"]
    assert (pushed[0].origin, pushed[0].drafts) == ("save", {"2.0": draft})
    welcome = await browser.ask(kind="hello")
    assert isinstance(welcome, Welcome)
    assert welcome.drafts == {"2.0": draft, "2.1": {"decision": "approve"}}
    assert welcome.revision == session.state().revision
    await browser.submit(approve("2.0"))
    assert (await browser.ask(kind="hello")).drafts == {"2.1": {"decision": "approve"}}
    await browser.ask(kind="save_draft", id="2.1", draft=None)
    assert (await browser.ask(kind="hello")).drafts == {}
    await settled(session)
    await browser.ask(kind="save_draft", id="2.1", draft={"decision": "approve"})
    await session.answer(Answer.approve("2.1"))
    assert (await browser.ask(kind="hello")).drafts == {}


async def test_a_draft_of_nothing_that_waits_is_refused():
    """F25: only ids the kernel knows count."""
    _, browser = await waiting(Shop(), deployments("1.0"), "out")
    reply = await browser.ask(kind="save_draft", id="7.7", draft={"decision": "approve"})
    assert [problem.code for problem in reply.problems] == ["unknown"]
    too_long = await browser.ask(kind="save_draft", id="2.0", draft="x" * 1_000_001)
    assert too_long.error.type == "ConfigError"


async def test_a_draft_survives_a_refused_submit():
    """W2.7: the other drafts stay, and so does the one that was refused."""
    _, browser = await waiting(Shop(), deployments("1.0"), "out")
    draft = {"decision": "edit", "arguments": {"version": 7}}
    await browser.ask(kind="save_draft", id="2.0", draft=draft)
    assert (await browser.submit({"decision": "edit", "id": "2.0", "arguments": {"version": 7}})).kind == "refused"
    assert (await browser.ask(kind="hello")).drafts == {"2.0": draft}


async def test_run_cancel_recover_and_abandon_are_carried_out_and_their_refusals_told():
    """W4.3, W1.5: each of the console's buttons ends in a reply."""
    shop = Shop()
    session = Session(shop.agent(SLOW, deployments("1.0"), "never"), "t")
    browser = Browser(session)
    assert (await browser.ask(kind="run", query=" ")).error.type == "ConfigError"
    assert (await browser.ask(kind="cancel")).said == "nothing was running"
    assert (await browser.ask(kind="recover")).error.type == "NothingToRecover"
    assert (await browser.ask(kind="abandon")).kind == "refused"
    assert (await browser.ask(kind="run", query="go")).said == "started"
    await shop.started.wait()
    assert session.state().query == "go"
    assert (await browser.ask(kind="cancel")).said == "cancelling"
    await settled(session)
    assert session.state().can_recover
    assert (await browser.ask(kind="run", query="again")).error.type == "IncompleteRun"
    shop.gate.set()
    assert (await browser.ask(kind="recover")).said == "recovering"
    await until(lambda: len(session.state().pending) == 1)
    refused = await browser.ask(kind="run", query="more")
    assert refused.error.type == "PendingInterrupts"
    assert "deploy" in refused.error.what
    assert session.state().error is None
    assert (await browser.ask(kind="abandon")).kind == "done"
    assert session.state().pending == []


async def test_a_run_that_fails_after_it_was_admitted_is_shown_in_the_document_and_the_next_click_works():
    """F33: nothing vanishes."""
    shop = Shop()
    session = Session(shop.agent(RuntimeError("down"), "up again"), "t")
    browser = Browser(session)
    assert (await browser.ask(kind="run", query="go")).kind == "done"
    await settled(session)
    error = session.state().error
    assert error is not None
    assert error.type == "ModelFailed"
    assert (await browser.ask(kind="recover")).kind == "done"
    await until(lambda: session.state().status == "completed")
    assert session.state().error is None


async def test_holds_are_switched_on_the_diagram_and_bad_ones_refused():
    """W3.2: a click on a node; a continuation is held through its step."""
    session, browser = await waiting(Shop(), deployments("1.0"), "out")
    reply = await browser.ask(kind="set_hold", node="assistant/finish", phase="BEFORE", on=True)
    assert reply.said == "hold before assistant/finish"
    finish = next(node for node in session.state().graph.nodes if node.id == "assistant/finish")
    assert finish.hold_before == "on"
    assert (await browser.ask(kind="set_hold", node="assistant/approval", phase="BEFORE", on=True)).error.type == "ConfigError"
    assert (await browser.ask(kind="set_hold", node="nowhere", phase="AFTER", on=True)).error.type == "ConfigError"
    await browser.ask(kind="set_hold", node="assistant/finish", phase="BEFORE", on=False)
    assert all(node.hold_before == "off" for node in session.state().graph.nodes)


async def test_a_read_only_view_may_only_look():
    """api.md: ReviewPanel(read_only=True)."""
    shop = Shop()
    session, _ = await waiting(shop, deployments("1.0"), "out")
    received: list[Any] = []
    session.handle({"request_id": "a", "body": {"kind": "submit", "decisions": [approve("2.0")]}}, received.append, read_only=True)
    session.handle({"request_id": "b", "body": {"kind": "hello"}}, received.append, read_only=True)
    await until(lambda: len(received) == 2)
    assert [(reply.request_id, reply.kind) for reply in received] == [("a", "refused"), ("b", "welcome")]
    assert shop.ran == []


async def test_requests_that_arrive_on_another_threads_loop_are_carried_out_on_the_sessions_own():
    """F29: a subshell's thread with its own loop."""
    shop = Shop()
    session, browser = await waiting(shop, deployments("1.0", "2.0"), "out")
    threads: list[int] = []

    def reply(message: Any) -> None:
        threads.append(threading.get_ident())
        browser.received.append(message)

    with other_loop() as loop:
        for id in ("2.0", "2.1"):
            content = {"request_id": id, "body": {"kind": "submit", "decisions": [approve(id)]}}
            loop.call_soon_threadsafe(session.handle, content, reply)
        await until(lambda: len(threads) == 2)
    assert set(threads) == {threading.get_ident()}
    await settled(session)
    assert session.result.answer == "out"


def test_where_no_loop_runs_a_request_is_refused_instead_of_lost():
    """W1.5: also outside a kernel."""
    session = Session(Shop().agent("x"), "t")
    received: list[Any] = []
    session.handle({"request_id": "a", "body": {"kind": "hello"}}, received.append)
    (reply,) = received
    assert (reply.kind, reply.error.type) == ("refused", "ConfigError")
    with pytest.raises(ConfigError):
        session.begin("hi")


async def test_what_a_person_has_edited_keeps_its_order():
    """W1.4, W2.2: nothing jumps when a draft comes back, and the call runs with its arguments as they were shown."""
    session = Session(Shop().agent(calls(deployment()), "out"), "t")
    result = await session.run("go")
    browser = Browser(session)
    edited = {"version": "2.0", "environment": "staging"}
    draft = {"decision": "edit", "arguments": edited}
    await browser.ask(kind="save_draft", id=result.pending[0].id, draft=draft)
    (kept,) = session.drafts.all().values()
    assert json.dumps(kept) == json.dumps(draft)
    await browser.submit({"decision": "edit", "id": result.pending[0].id, "arguments": edited})
    await settled(session)
    (call,) = [call for message in session.state().messages for call in message.tool_calls]
    assert json.dumps(call.arguments) == json.dumps(edited)


async def test_an_answer_to_what_was_answered_elsewhere_is_refused_as_stale():
    """W1.3: says what is pending now; what is drawn is brought up to date."""
    shop = Shop()
    agent = shop.agent(deployments("1.0", "2.0"), "out")
    session = Session(agent, "t")
    await session.run("ship")
    browser = Browser(session)
    await agent.resume("t", Answer.approve("2.0"))
    reply = await browser.submit(approve("2.0"))
    (problem,) = reply.problems
    assert problem.code == "answered"
    assert "2.1" in problem.message
    assert ids(session.state().pending) == ["2.1"]


async def test_many_threads_that_answer_the_same_cards_get_one_reply_each_and_each_call_runs_once(store: Checkpointer):
    """F29, F38, F41: three loops in three threads send the same twelve answers at once."""
    shop = Shop()
    versions = [str(at) for at in range(12)]
    session = Session(shop.agent(deployments(*versions), "out", store=store), "t")
    await session.run("ship")
    cards = ids(session.state().pending)
    received: list[Any] = []
    with other_loop() as one, other_loop() as two, other_loop() as three:
        for card in cards:
            for name, loop in (("one", one), ("two", two), ("three", three)):
                content = {"request_id": f"{name} {card}", "body": {"kind": "submit", "decisions": [approve(card)]}}
                loop.call_soon_threadsafe(session.handle, content, received.append)
        await until(lambda: len(received) == 36 and session.state().status == "completed", seconds=20)
    assert len({reply.request_id for reply in received}) == 36
    assert sorted(reply.kind for reply in received) == ["done"] * 12 + ["refused"] * 24
    assert {problem.code for reply in received if reply.kind == "refused" for problem in reply.problems} == {"answered"}
    assert sorted(shop.ran) == sorted(f"deploy prod {version}" for version in versions)
