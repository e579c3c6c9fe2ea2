"""Where an argument is secret, what the tool gets and what everybody else sees: agent.md 3.8.1-3.8.3."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import Field, Secret, SecretBytes, SecretStr

from llm4s_notebook.agent import Agent, AgentNode, PendingReview, ToolCallRequest, ToolContext, schema_tool, tool
from llm4s_notebook.agent._call_secrets import CALL_SECRETS
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.models import AssistantMessage, ScriptedClient, ToolCall, calls

from .secrecy import DOTS, OTHERS, Login, Seen, connect, filled, fresh, turn
from .support import Wrap, call, policy, tool_texts


class Pair(NamedTuple):
    name: str
    key: SecretStr


@dataclass
class Stored:
    token: SecretStr


KINDS: dict[str, tuple[Any, Any, Callable[[Any], Any]]] = {
    "plain": (SecretStr, "{s}", lambda got: got.get_secret_value()),
    "bytes": (SecretBytes, "{s}", lambda got: got.get_secret_value().decode()),
    "any secret": (Secret[str], "{s}", lambda got: got.get_secret_value()),
    "optional": (SecretStr | None, "{s}", lambda got: got.get_secret_value()),
    "annotated": (Annotated[SecretStr, Field(min_length=12, description="long")], "{s}", lambda got: got.get_secret_value()),
    "union": (SecretStr | int, "{s}", lambda got: got.get_secret_value()),
    "model": (Login, {"user": "ana", "password": "{s}"}, lambda got: got.password.get_secret_value()),
    "list": (list[SecretStr], ["{s}"], lambda got: got[0].get_secret_value()),
    "list of models": (list[Login], [{"user": "ana", "password": "{s}"}], lambda got: got[0].password.get_secret_value()),
    "dict": (dict[str, SecretStr], {"a": "{s}"}, lambda got: got["a"].get_secret_value()),
    "tuple": (tuple[str, SecretStr], ["a", "{s}"], lambda got: got[1].get_secret_value()),
    "named tuple": (Pair, ["a", "{s}"], lambda got: got.key.get_secret_value()),
    "dataclass": (Stored, {"token": "{s}"}, lambda got: got.token.get_secret_value()),
    "optional model in a list": (
        list[Login | None] | None,
        [None, {"user": "a", "password": "{s}"}],
        lambda got: got[1].password.get_secret_value(),
    ),
}


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("decision", ["approve", "edit", "replace", "reject"])
async def test_a_secret_argument_runs_and_is_shown_nowhere(
    kind: str, decision: str, store: Checkpointer, caplog: pytest.LogCaptureFixture
) -> None:
    """3.8.1-3.8.4, D12: the tool has the value, or the one that a person put in its place; everybody else has dots."""
    caplog.set_level(logging.DEBUG)
    declared, template, value_of = KINDS[kind]
    (secret, mark), (other, other_mark) = fresh(), fresh()
    got: list[str] = []

    async def sign_in(place: Any, note: str = "") -> str:
        """Sign in."""
        got.append(value_of(place))
        return "signed in"

    sign_in.__annotations__["place"] = declared
    wrapped: list[ToolCallRequest] = []

    async def look(request: ToolCallRequest, context: ToolContext, next: Any) -> Any:
        wrapped.append(request)
        return await next()

    seen = Seen()
    message = calls(ToolCall("c1", "sign_in", {"place": filled(template, secret), "note": "n"}))
    agent = Agent(
        "assistant", ScriptedClient(message, "done"), tools=sign_in, middleware=[policy("sign_in"), Wrap("look", tool=look)], runtime=store
    )
    waits = await turn(agent, seen, lambda: agent.start("go", thread_id="t"))
    assert waits is not None
    (review,) = waits.pending
    assert review.arguments == {"place": filled(template, DOTS), "note": "n"}
    if decision == "approve":
        answer = review.approve()
    elif decision == "edit":
        answer = review.edit({**review.arguments, "note": "changed"})
    elif decision == "replace":
        answer = review.edit({**review.arguments, "place": filled(template, other)})
    else:
        answer = review.reject()
    done = await turn(agent, seen, lambda: agent.start_resume("t", answer))
    assert done is not None
    assert done.answer == "done"
    assert got == {"approve": [secret], "edit": [secret], "replace": [other], "reject": []}[decision]
    stored = done.messages[1]
    assert isinstance(stored, AssistantMessage)
    # dots of another secret are other dots: the history shows that it was changed
    shown = filled(template, OTHERS if decision == "replace" else DOTS)
    assert stored.tool_calls[0].arguments == {"place": shown, "note": "changed" if decision == "edit" else "n"}
    seen.note(*wrapped)
    seen.texts.append(caplog.text)
    assert len(seen.texts) > 20
    assert seen.find(mark[:8]) == []
    assert seen.find(other_mark[:8]) == []
    assert not done.state.is_set(CALL_SECRETS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"logins": [{"user": "a", "password": "{s}"}], "comment": 1}, "$.comment: expected string, got integer"),
        ({"logins": [{"user": "a", "passwort": "{s}"}]}, "$.logins[0].password: required property missing"),
        ({"logins": [{"user": "a", "password": ["{s}"]}]}, "$.logins[0].password: expected string, got array"),
        ({"logins": ["{s}"]}, "$.logins[0]: expected object, got string"),
        ({"logins": "{s}"}, "$.logins: expected array, got string"),
        ({"logins": [], "password": "{s}"}, "$.password: property not allowed"),
        ('{"logins": [{"password": "{s}"', "$: expected object, got string"),
        (["{s}"], "$: expected object, got array"),
    ],
)
async def test_a_secret_in_the_wrong_place_is_hidden_too(arguments: Any, said: str) -> None:
    """3.8.1: what the schema does not know, or has another type for, counts as secret where a secret belongs."""
    secret, mark = fresh()
    given = filled(arguments, secret)
    given = given.replace("{s}", mark) if isinstance(given, str) else given
    agent = Agent(
        "assistant", ScriptedClient(calls(ToolCall("c1", "connect", given)), "done"), tools=connect, interrupt_before=AgentNode.TOOL
    )
    seen = Seen()
    held = await turn(agent, seen, lambda: agent.start("go", thread_id="t"))
    assert held is not None
    done = await turn(agent, seen, lambda: agent.start_resume("t", held.pending[0].proceed()))
    assert done is not None
    assert said in tool_texts(done.messages)[0]
    assert seen.find(mark) == []


async def test_a_secret_that_breaks_a_rule_is_told_by_its_length_only() -> None:
    """3.3.6, 3.8.5."""

    @tool
    async def sign_in(password: Annotated[SecretStr, Field(min_length=12)], pin: Annotated[SecretStr, Field(max_length=4)]) -> None:
        """Sign in."""

    message = calls(call("c1", "sign_in", password="hunter2", pin="123456"))
    done = await Agent("assistant", ScriptedClient(message, "done"), tools=sign_in).run("go")
    assert tool_texts(done.messages) == [
        '{"error":"Invalid arguments for \'sign_in\': $.password: length 7 is below minLength 12; $.pin: length 6 is above maxLength 4"}'
    ]


@pytest.mark.parametrize("wrong", [12345678, ["abcdefgh"], {"a": "abcdefgh"}, True, 1.5])
async def test_a_secret_of_the_wrong_type_is_hidden(wrong: Any) -> None:
    """3.8.1."""

    @tool
    async def sign_in(password: SecretStr | Literal["none"]) -> None:
        """Sign in."""

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "sign_in", password=wrong)), "done"), tools=sign_in)
    done = await agent.run("go")
    stored = done.messages[1]
    assert isinstance(stored, AssistantMessage)
    assert stored.tool_calls[0].arguments == {"password": DOTS}
    assert "12345678" not in repr(done.messages)
    assert "abcdefgh" not in repr(done.messages)


async def test_a_tool_by_raw_schema_with_a_type_that_has_secrets() -> None:
    """3.8.1, 3.3.5."""
    got: list[str] = []
    raw = {"type": "object", "properties": {"user": {"type": "string"}, "password": {"type": "string"}}, "required": ["user", "password"]}

    def execute(args: Login, context: ToolContext) -> str:
        got.append(args.password.get_secret_value())
        return "in"

    made = schema_tool("sign_in", "Sign in.", raw, execute, arguments=Login)
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "sign_in", user="ana", password="hunter2")), "done"),
        tools=made,
        middleware=policy("sign_in"),
    )
    result = await agent.run("go", thread_id="t")
    (review,) = result.pending
    assert review.arguments == {"user": "ana", "password": DOTS}
    assert (review.arguments_schema or {})["properties"]["password"]["writeOnly"] is True
    await agent.resume("t", review.approve())
    assert got == ["hunter2"]


async def test_a_wrapper_that_runs_the_tool_again_gives_it_the_secret_again() -> None:
    """3.8.3, D12."""
    got: list[str] = []

    @tool
    async def sign_in(password: SecretStr) -> str:
        """Sign in."""
        got.append(password.get_secret_value())
        return "in"

    async def twice(request: ToolCallRequest, context: ToolContext, next: Any) -> Any:
        await next()
        return await next()

    await Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "sign_in", password="hunter2")), "done"),
        tools=sign_in,
        middleware=Wrap("w", tool=twice),
    ).run("go")
    assert got == ["hunter2", "hunter2"]


async def test_calls_at_the_same_time_keep_their_own_secrets() -> None:
    """3.8.2, 4.1.7."""
    got: dict[str, str] = {}

    @tool
    async def sign_in(user: str, password: SecretStr) -> str:
        """Sign in."""
        await asyncio.sleep(0)
        got[user] = password.get_secret_value()
        return "in"

    message = calls(*(call(f"c{n}", "sign_in", user=f"u{n}", password=f"secret-{n}") for n in range(20)))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=sign_in, middleware=policy("sign_in"))
    result = await agent.run("go", thread_id="t")
    assert {json.dumps(review.arguments["password"]) for review in result.pending} == {json.dumps(DOTS)}
    reviews: tuple[PendingReview, ...] = result.pending
    await agent.resume(
        "t",
        [
            review.edit({**review.arguments, "password": f"typed-{review.arguments['user']}"}) if at % 2 else review.approve()
            for at, review in enumerate(reviews)
        ],
    )
    assert got == {f"u{n}": f"typed-u{n}" if n % 2 else f"secret-{n}" for n in range(20)}
