"""Secrets in an edit, and dots that were left in it: agent.md 3.8.4."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr

from llm4s_notebook.agent import Agent, AgentResult, Answer, AskingMiddleware, ToolCallRequest, ToolContext, ToolOutcome, tool
from llm4s_notebook.checkpoint import InMemoryCheckpointer
from llm4s_notebook.models import AssistantMessage, ScriptedClient, ToolCall, calls

from .secrecy import DOTS, OTHERS, Login, connect, connected_into, two_logins
from .support import call, policy, tool_texts


async def edited(message: AssistantMessage, change: Callable[[Any], Any]) -> tuple[list[Any], AgentResult]:
    got: list[Any] = []
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=connected_into(got), middleware=policy("connect"))
    (review,) = (await agent.run("go", thread_id="t")).pending
    return got, await agent.resume("t", review.edit(change(json.loads(json.dumps(review.arguments)))))


async def test_dots_follow_their_secret_wherever_an_edit_puts_them() -> None:
    """3.8.4: an item taken out, or moved, leaves no other one with its secret."""
    got, _ = await edited(two_logins(), lambda arguments: {"logins": arguments["logins"][1:]})
    assert got == [([("bo", "second-secret")], "")]
    got, _ = await edited(two_logins(), lambda arguments: {"logins": arguments["logins"][::-1]})
    assert got == [([("bo", "second-secret"), ("ana", "first-secret")], "")]


async def test_a_new_secret_beside_one_that_is_left() -> None:
    """3.8.4."""

    def change(arguments: Any) -> Any:
        arguments["logins"][0]["password"] = "a-new-one"
        return arguments

    got, done = await edited(two_logins(), change)
    assert got == [([("ana", "a-new-one"), ("bo", "second-secret")], "")]
    assert "a-new-one" not in repr(done.messages)


@pytest.mark.parametrize("text", [DOTS, OTHERS, "*" * 10, "•" * 40])
async def test_dots_that_stand_for_nothing_are_refused_and_never_run(text: str) -> None:
    """3.8.4: from an edit, and from a model that repeats what it was shown."""

    def change(arguments: Any) -> Any:
        return {"logins": [*arguments["logins"][:1], {"user": "cy", "password": "•" * 50 if text == "•" * 40 else "•" * 30}]}

    got, done = await edited(two_logins(), change)
    assert got == []
    (said,) = tool_texts(done.messages)
    assert said == (
        '{"error":"Invalid arguments for \'connect\': $.logins[1].password: '
        'these dots stand for a secret that is not known here; give the secret itself"}'
    )
    ran: list[Any] = []
    message = calls(ToolCall("c1", "connect", {"logins": [{"user": "ana", "password": text}]}))
    result = await Agent("assistant", ScriptedClient(message, "done"), tools=connected_into(ran)).run("go")
    assert ran == []
    assert "these dots stand for a secret that is not known here" in tool_texts(result.messages)[0]


@pytest.mark.parametrize("length", range(8, 12))
async def test_an_argument_that_looks_like_dots_is_never_taken_for_a_secret(length: int) -> None:
    """3.8.4: neither a model nor an edit can move a secret into another argument by writing dots there."""
    got: list[Any] = []
    agent = Agent("assistant", ScriptedClient(two_logins("•" * length), "done"), tools=connected_into(got), middleware=policy("connect"))
    (review,) = (await agent.run("go", thread_id="t")).pending
    arguments = json.loads(json.dumps(review.arguments))
    assert arguments["comment"] not in [login["password"] for login in arguments["logins"]]
    arguments["logins"][0]["password"] = "typed-by-a-person"
    await agent.resume("t", review.edit(arguments))
    assert got == [([("ana", "typed-by-a-person"), ("bo", "second-secret")], "•" * length)]
    got.clear()
    other = Agent("assistant", ScriptedClient(two_logins(), "done"), tools=connected_into(got), middleware=policy("connect"))
    (review,) = (await other.run("go", thread_id="u")).pending
    arguments = json.loads(json.dumps(review.arguments))
    arguments["comment"] = arguments["logins"][0]["password"]
    await other.resume("u", review.edit(arguments))
    assert got[0][1] == arguments["logins"][0]["password"] == DOTS


@pytest.mark.parametrize("how", ["review", "result", "answer", "raw decision", "model"])
async def test_a_secret_object_in_an_edit_is_sent_as_its_value(how: str) -> None:
    """3.8.4: and not as the asterisks that it prints as."""
    got: list[Any] = []
    agent = Agent("assistant", ScriptedClient(two_logins(), "done"), tools=connected_into(got), middleware=policy("connect"))
    result = await agent.run("go", thread_id="t")
    (review,) = result.pending
    arguments: dict[str, Any] = {"logins": [{"user": "cy", "password": SecretStr("of-an-object")}], "comment": "c"}
    match how:
        case "review":
            answer: Any = review.edit(arguments)
        case "result":
            answer = result.edit(review.id, arguments)
        case "answer":
            answer = Answer.edit(review.id, arguments)
        case "model":
            answer = review.edit({"logins": [Login(user="cy", password=SecretStr("of-an-object"))], "comment": "c"})
        case _:
            answer = {review.id: {"decision": "edit", "arguments": arguments}}
    await agent.resume("t", answer)
    assert got == [([("cy", "of-an-object")], "c")]


async def test_a_secret_printed_into_an_answer_is_refused() -> None:
    """3.8.4: the asterisks that a secret object prints as never run."""
    got: list[Any] = []
    agent = Agent("assistant", ScriptedClient(two_logins(), "done"), tools=connected_into(got), middleware=policy("connect"))
    (review,) = (await agent.run("go", thread_id="t")).pending
    await agent.resume("t", Answer(review.id, {"decision": "edit", "arguments": {"logins": [{"user": "a", "password": "*" * 10}]}}))
    assert got == []


async def test_an_edit_that_fails_keeps_the_secret_out_of_its_error() -> None:
    """3.8.4, 3.5.3: the call's error is about the rest."""
    got, done = await edited(two_logins(), lambda arguments: {**arguments, "comment": 5})
    assert got == []
    assert tool_texts(done.messages) == ['{"error":"Invalid arguments for \'connect\': $.comment: expected string, got integer"}']


async def test_an_edited_secret_is_kept_while_a_later_question_waits() -> None:
    """3.5.4, 3.8.4: approval -> edit -> middleware question -> run."""
    got: list[Any] = []

    class Ask(AskingMiddleware[str, str]):
        id = "ask"

        async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
            return await next() if self.answered(context) else self.ask_about(f"sure about {request.call}?")

    agent = Agent("assistant", ScriptedClient(two_logins(), "done"), tools=connected_into(got), middleware=[policy("connect"), Ask()])
    (review,) = (await agent.run("go", thread_id="t")).pending
    arguments = json.loads(json.dumps(review.arguments))
    arguments["logins"][1]["password"] = "typed-by-a-person"
    waits = await agent.resume("t", review.edit(arguments))
    (question,) = waits.pending
    assert OTHERS + "•" in str(question)
    assert "typed-by-a-person" not in repr(waits) + repr(waits.status) + repr(waits.state)
    await agent.resume("t", question.reply("yes"))
    assert got == [([("ana", "first-secret"), ("bo", "typed-by-a-person")], "")]


async def test_a_secret_whose_place_is_gone_is_not_run_as_dots() -> None:
    """3.8.4: with a fixed version a tool may change while its call waits."""
    got: list[str] = []

    @tool
    async def sign_in(password: SecretStr) -> str:
        """Sign in."""
        return "in"

    @tool(name="sign_in")
    async def plain(password: str) -> str:
        """Sign in."""
        got.append(password)
        return "in"

    store = InMemoryCheckpointer()
    message = calls(call("c1", "sign_in", password="hunter2"))
    first = Agent("assistant", ScriptedClient(message), tools=[sign_in, connect], middleware=policy("sign_in"), runtime=store, version="1")
    (review,) = (await first.run("go", thread_id="t")).pending
    then = Agent("assistant", ScriptedClient("done"), tools=[plain, connect], middleware=policy("sign_in"), runtime=store, version="1")
    done = await then.resume("t", review.approve())
    assert got == []
    assert "has no place in the tool's arguments any more" in tool_texts(done.messages)[0]


def test_a_plain_value_is_not_copied_for_its_secrets() -> None:
    """3.8.4: a value without secrets is given on as it is."""
    from llm4s_notebook.graph import bare

    value = {"a": [1, {"b": dataclasses.make_dataclass("D", [("x", int)])(1)}]}
    assert bare(value) is value
