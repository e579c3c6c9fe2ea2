"""No secret argument or answer leaves the kernel for a browser: agent.md 3.8, widgets.md W1.4, W2.2."""

from __future__ import annotations

import json
import logging
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from llm4s_notebook.agent import Agent, ApprovalMiddleware, ToolCallRequest, tool
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session
from llm4s_notebook.wire import SessionState

from ..agent.secrecy import DOTS, AskToken, Leaky, fresh
from .browser import Browser, settled


class Login(BaseModel):
    user: str
    password: Annotated[SecretStr, Field(min_length=12)]


def sign_in_into(got: list[str]) -> Any:
    @tool
    async def sign_in(logins: list[Login], note: str = "") -> str:
        """Sign in."""
        got.extend(login.password.get_secret_value() for login in logins)
        return "signed in"

    return sign_in


class Listening(Browser):
    """A browser that keeps every document too."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.documents: list[SessionState] = []
        session.observe(self.documents.append)

    def heard(self) -> list[str]:
        """Every message and document as it goes over the wire."""
        session = self.session
        return [
            *(message.model_dump_json() for message in (*self.received, *self.documents, session.state())),
            repr(session),
            repr(session.result),
            repr(session.error),
            repr(session.drafts.all()),
        ]


def approved(request: ToolCallRequest) -> str:
    return f"{request.call} needs a person"


async def begin(got: list[str], value: str, store: Checkpointer, *middleware: Any) -> tuple[Session, Listening]:
    call = ToolCall("c1", "sign_in", {"logins": [{"user": "ana", "password": value}]})
    agent = Agent("assistant", ScriptedClient(calls(call), "done"), tools=sign_in_into(got), middleware=middleware, runtime=store)
    session = Session(agent, "t")
    browser = Listening(session)
    await session.run("go")
    return session, browser


@pytest.mark.parametrize("choice", ["approve", "edit", "replace", "reject"])
async def test_a_secret_argument_is_in_no_message(choice: str, store: Checkpointer, caplog: pytest.LogCaptureFixture):
    """3.8.3, 3.8.4, W2.2: card, drafts, replies and documents have dots; what is left as dots runs, what is typed replaces it."""
    caplog.set_level(logging.DEBUG)
    (value, mark), (typed, typed_mark) = fresh(), fresh()
    got: list[str] = []
    session, browser = await begin(got, value, store, ApprovalMiddleware(approved))
    (card,) = session.state().pending
    assert card.arguments == {"logins": [{"user": "ana", "password": DOTS}]}
    assert card.reason == 'sign_in {"logins":[{"user":"ana","password":"••••••••"}]} needs a person'
    arguments: dict[str, Any] = {"logins": [{"user": "bo", "password": DOTS if choice == "edit" else typed}]}
    if choice in ("edit", "replace"):
        await browser.ask(kind="save_draft", id=card.id, draft={"decision": "edit", "arguments": arguments})
        decision = {"decision": "edit", "id": card.id, "arguments": arguments}
    else:
        decision = {"decision": choice, "id": card.id, **({"reason": "no"} if choice == "reject" else {})}
    reply = await browser.submit(decision)
    assert reply.kind == "done"
    await settled(session)
    assert got == {"approve": [value], "edit": [value], "replace": [typed], "reject": []}[choice]
    heard = [*browser.heard(), caplog.text]
    assert any(DOTS in one for one in heard)
    assert [one for one in heard if mark in one or typed_mark in one] == []


async def test_a_refused_edit_says_what_is_wrong_without_the_secret(store: Checkpointer):
    """D25, 3.8.5: problems on their fields; the card stays, and a right edit is then taken."""
    value, mark = fresh()
    got: list[str] = []
    session, browser = await begin(got, value, store, ApprovalMiddleware(approved))
    (card,) = session.state().pending

    async def problems(*logins: Any, **more: Any) -> list[Any]:
        reply = await browser.submit({"decision": "edit", "id": card.id, "arguments": {"logins": list(logins), **more}})
        return [(problem.path, problem.message) for problem in reply.problems]

    assert await problems({"user": "bo", "password": mark[:9]}) == [
        (["arguments", "logins", 0, "password"], "length 9 is below minLength 12")
    ]
    assert await problems({"user": "bo", "password": "•" * 12}) == [
        (["arguments", "logins", 0, "password"], "these dots stand for a secret that is not known here; give the secret itself")
    ]
    assert await problems({"user": 5, "password": DOTS}) == [(["arguments", "logins", 0, "user"], "expected string, got integer")]
    assert await problems({"user": "bo", "passwort": mark}) == [(["arguments", "logins", 0, "password"], "required property missing")]
    assert [one for one in browser.heard() if mark[:9] in one] == []
    assert got == []
    assert (await browser.submit({"decision": "edit", "id": card.id, "arguments": card.arguments})).kind == "done"
    await settled(session)
    assert got == [value]


async def test_a_draft_is_kept_without_the_secrets_typed_into_it(store: Checkpointer):
    """3.8.7, W1.4: the rest of the draft comes back; a secret has to be typed again, and does not look as if it were there."""
    value, mark = fresh()
    session, browser = await begin([], value, store, ApprovalMiddleware(approved))
    (card,) = session.state().pending
    drafts: list[Any] = [
        {"decision": "edit", "arguments": {"logins": [{"user": "bo", "password": mark}], "note": "n"}, "unread": {"x": mark}},
        {
            "decision": "edit",
            "mode": "json",
            "raw": json.dumps({"logins": [{"user": "bo", "password": mark}, {"user": "c", "password": DOTS}]}),
        },
        {"decision": "edit", "mode": "json", "raw": '{"logins": [{"user": "bo", "password": "' + mark},
        {"decision": "edit", "mode": "json", "raw": '{"logins":[],  "note":"spaces stay"}'},
        {"decision": "reject", "reason": "no", "later": mark},
        mark,
    ]
    kept: list[Any] = []
    for draft in drafts:
        await browser.ask(kind="save_draft", id=card.id, draft=draft)
        kept.append(session.drafts.all().get(card.id))
    assert kept == [
        {"decision": "edit", "arguments": {"logins": [{"user": "bo"}], "note": "n"}},
        {
            "decision": "edit",
            "mode": "json",
            "raw": json.dumps({"logins": [{"user": "bo"}, {"user": "c", "password": DOTS}]}, indent=2, ensure_ascii=False),
        },
        {"decision": "edit", "mode": "json"},
        {"decision": "edit", "mode": "json", "raw": '{"logins":[],  "note":"spaces stay"}'},
        {"decision": "reject", "reason": "no"},
        None,
    ]
    assert [one for one in browser.heard() if mark in one] == []


async def test_a_secret_answer_is_in_no_message(store: Checkpointer):
    """3.8.6, W2.3: of a middleware's question, and of a tool's."""
    (value, mark), (typed, typed_mark) = fresh(), fresh()
    got: list[str] = []
    used: list[str] = []
    session, browser = await begin(got, value, store, AskToken("token", used), ApprovalMiddleware(approved))
    (card,) = session.state().pending
    assert (card.answer_schema or {})["properties"]["value"]["writeOnly"] is True  # type: ignore[index, call-overload]  # JSON
    await browser.ask(kind="save_draft", id=card.id, draft={"decision": "reply", "value": {"value": typed, "note": "n"}})
    assert session.drafts.all()[card.id] == {"decision": "reply", "value": {"note": "n"}}
    refused = await browser.submit({"decision": "reply", "id": card.id, "value": {"value": DOTS}})
    assert [problem.path for problem in refused.problems] == [["value"]]
    await browser.submit({"decision": "reply", "id": card.id, "value": {"value": typed}})
    await settled(session)
    (card,) = session.state().pending
    assert card.kind == "APPROVAL"
    await browser.submit({"decision": "approve", "id": card.id})
    await settled(session)
    assert (got, used) == ([value], [typed, typed])
    assert [one for one in browser.heard() if mark in one or typed_mark in one] == []


async def test_a_secret_answer_of_a_tool_question_is_in_no_message(store: Checkpointer):
    """3.8.5, 3.8.6: also where the tool's own text has it."""
    typed, mark = fresh()

    def refuse(value: str) -> None:
        raise RuntimeError(f"401: {value!r}")

    session = Session(
        Agent("assistant", ScriptedClient(calls(ToolCall("c1", "leaky", {"what": "x"})), "done"), tools=Leaky(refuse), runtime=store), "t"
    )
    browser = Listening(session)
    await session.run("go")
    (card,) = session.state().pending
    await browser.submit({"decision": "reply", "id": card.id, "value": {"value": typed}})
    await settled(session)
    assert session.state().messages[-2].text == f"Tool 'leaky' failed: 401: '{DOTS}'"
    assert [one for one in browser.heard() if mark in one] == []


async def test_another_kernel_shows_the_same_dots(store: Checkpointer):
    """3.8.2, W1.3."""
    value, _ = fresh()
    got: list[str] = []
    session, _browser = await begin(got, value, store, ApprovalMiddleware(approved))
    agent = Agent("assistant", ScriptedClient("done"), tools=sign_in_into(got), middleware=[ApprovalMiddleware(approved)], runtime=store)
    other = Session(agent, "t")
    await other.open()
    assert other.state().pending == session.state().pending
    await other.answer(other.result.pending[0].edit({"logins": [{"user": "bo", "password": DOTS}]}))
    assert got == [value]
