"""Secret arguments: agent.md 3.8."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import secrets as random_secrets
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, Secret, SecretBytes, SecretStr, TypeAdapter

from llm4s_notebook.agent import (
    Agent,
    AgentNode,
    AgentResult,
    Answer,
    AskingMiddleware,
    AskingTool,
    Fatal,
    Handoff,
    NeedsApproval,
    PendingReview,
    SecretPlaces,
    ToolCallRequest,
    ToolContext,
    ToolError,
    ToolOutcome,
    hide_secrets,
    schema_tool,
    tool,
)
from llm4s_notebook.agent._call_secrets import CALL_SECRETS
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import ConfigError, InvalidResume, Llm4sError, ToolFailed
from llm4s_notebook.models import AssistantMessage, Message, ScriptedClient, ToolCall, ToolMessage, UserMessage, calls

from .support import Wrap, call, client_of, deploy_into, policy, tool_texts

DOTS = "•" * 8
OTHERS = "•" * 9


class Login(BaseModel):
    user: str
    password: SecretStr


class Pair(NamedTuple):
    name: str
    key: SecretStr


@dataclass
class Stored:
    token: SecretStr


@dataclass
class Seen:
    """Everything that may be shown, stored as an event or logged, gathered for a search."""

    texts: list[str] = field(default_factory=list[str])

    def note(self, *things: object) -> None:
        for thing in things:
            self.texts += [repr(thing), str(thing)]

    def result(self, result: AgentResult) -> None:
        self.note(result, result.status, result.messages, result.recorded_results, result.state, result.pending, result.answer)
        self.texts += [result._repr_html_(), *(review.model_dump_json() for review in result.pending)]
        self.texts.append(TypeAdapter(tuple[Message, ...]).dump_json(result.messages).decode())

    def error(self, error: BaseException) -> None:
        self.note(error)
        if isinstance(error, Llm4sError):
            self.texts += error._render_traceback_()
        self.texts += traceback.format_exception(error)

    async def store(self, agent: Agent, thread_id: str = "t") -> None:
        self.note(await agent.runtime.checkpointer.events_after(thread_id, 0), client_of(agent).requests)

    def find(self, text: str) -> list[str]:
        return [one for one in self.texts if text in one]


async def turn(agent: Agent, seen: Seen, step: Callable[[], Any]) -> AgentResult | None:
    """One run, with all it says and all it shows; None where it failed, which is shown too."""
    try:
        run = await step()
        heard = [record async for record in run.events()]
        seen.note(*heard)
        result = await run
    except Exception as error:
        seen.error(error)
        await seen.store(agent)
        return None
    seen.result(result)
    seen.result(await agent.result(result.thread_id))
    await seen.store(agent)
    return result


async def shown_of(agent: Agent, message: Any) -> Any:
    """The arguments of a call as its approval shows them."""
    (review,) = (await agent.run("go", thread_id="t")).pending
    return review.arguments


# -- every kind of place ---------------------------------------------------------------------------------------------

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


def filled(template: Any, secret: str) -> Any:
    if isinstance(template, dict):
        return {name: filled(item, secret) for name, item in template.items()}
    if isinstance(template, list):
        return [filled(item, secret) for item in template]
    return secret if template == "{s}" else template


def fresh() -> tuple[str, str]:
    """A secret with everything in it that is written differently in JSON, Python and URLs; and the part to search for."""
    mark = random_secrets.token_hex(8)
    return f"\"{mark}'\\ é\n&{mark}", mark


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


async def test_the_value_lies_in_the_store_until_the_batch_has_its_results(tmp_path: Any) -> None:
    """3.8.2: another process takes the turn up; afterwards the latest checkpoint has the value no more."""
    got: list[str] = []

    @tool
    async def sign_in(password: SecretStr) -> str:
        """Sign in."""
        got.append(password.get_secret_value())
        return "in"

    def agent(store: Checkpointer) -> Agent:
        return Agent(
            "assistant",
            ScriptedClient(calls(call("c1", "sign_in", password="hunter2")), "done"),
            tools=sign_in,
            middleware=policy("sign_in"),
            runtime=store,
        )

    async with SqliteCheckpointer(tmp_path / "t.db") as store:
        await agent(store).run("go", thread_id="t")
    async with SqliteCheckpointer(tmp_path / "t.db") as store:
        latest = await store.latest("t")
        assert latest is not None
        assert b"hunter2" in b"".join(latest.checkpoint.entries["state", "call-secrets"])
        other = Agent("assistant", ScriptedClient("done"), tools=sign_in, middleware=policy("sign_in"), runtime=store)
        (review,) = (await other.result("t")).pending
        assert (await other.resume("t", review.approve())).answer == "done"
        latest = await store.latest("t")
        assert latest is not None
        assert "hunter2" not in repr(latest)
    assert got == ["hunter2"]


async def test_a_fork_has_the_secrets_of_its_calls() -> None:
    """3.8.2, F22."""
    got: list[str] = []

    @tool
    async def sign_in(password: SecretStr) -> str:
        """Sign in."""
        got.append(password.get_secret_value())
        return "in"

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "sign_in", password="hunter2")), "a", "b"), tools=sign_in, middleware=policy("sign_in")
    )
    (review,) = (await agent.run("go", thread_id="t")).pending
    latest = (await agent.runtime.history("t"))[0]
    await agent.resume("t", review.approve())
    await agent.runtime.fork("t", latest.id, "u")
    await agent.resume("u", review.approve())
    assert got == ["hunter2", "hunter2"]


# -- edits -----------------------------------------------------------------------------------------------------------


@tool
async def connect(logins: list[Login], comment: str = "") -> str:
    """Connect."""
    return ", ".join(f"{login.user}" for login in logins)


def connected_into(got: list[Any]) -> Any:
    @tool(name="connect")
    async def made(logins: list[Login], comment: str = "") -> str:
        """Connect."""
        got.append(([(login.user, login.password.get_secret_value()) for login in logins], comment))
        return "ok"

    return made


def two_logins(comment: str = "") -> AssistantMessage:
    logins = [{"user": "ana", "password": "first-secret"}, {"user": "bo", "password": "second-secret"}]
    return calls(ToolCall("c1", "connect", {"logins": logins, "comment": comment}))


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


# -- calls that are not as they should be ----------------------------------------------------------------------------


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


# -- what a call says ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how", ["returns", "returns nested", "raises", "error", "approval", "fatal", "check", "asks", "progress of the loop"]
)
async def test_what_a_tool_says_of_its_secret_is_concealed(how: str, store: Checkpointer) -> None:
    """3.8.5: results, errors, reasons and questions have the dots in its place, before any wrapper sees them."""
    secret, mark = fresh()

    class Args(BaseModel):
        password: SecretStr

    class Leaky(AskingTool[Args, str, str]):
        name = "leaky"
        description = "Leak."

        def check(self, args: Args) -> str | None:
            return f"not {args.password.get_secret_value()}" if how == "check" else None

        async def execute(self, args: Args, context: ToolContext) -> Any:
            value = args.password.get_secret_value()
            match how:
                case "returns":
                    return f"signed in with {value}"
                case "returns nested":
                    return {"log": [{value: value}, f"{value!r}", json.dumps(value)]}
                case "raises":
                    raise RuntimeError(f"401 for https://x/?password={value!r}")
                case "error":
                    return ToolError(f"no {value}")
                case "approval":
                    return NeedsApproval(f"uses {value}")
                case "fatal":
                    return Fatal(RuntimeError("it is broken"))
                case "asks":
                    return self.ask(f"use {value}?")
                case _:
                    return "ok"

        async def resume(self, args: Args, question: str, answer: str, context: ToolContext) -> Any:
            return f"{question} {answer} {args.password.get_secret_value()}"

    outcomes: list[Any] = []

    async def look(request: ToolCallRequest, context: ToolContext, next: Any) -> Any:
        outcome = await next()
        outcomes.append(outcome)
        return outcome

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "leaky", password=secret)), "done"),
        tools=Leaky(),
        middleware=Wrap("look", tool=look),
        runtime=store,
    )
    seen = Seen()
    result = await turn(agent, seen, lambda: agent.start("go", thread_id="t"))
    assert (result is None) == (how == "fatal")
    if how != "asks":
        seen.note(*outcomes)
    if result is not None and result.pending:
        (review,) = result.pending
        answer = review.reply("yes") if how == "asks" else review.reject()
        result = await turn(agent, seen, lambda: agent.start_resume("t", answer))
    assert seen.find(mark) == []
    if how == "returns":
        assert result is not None
        assert tool_texts(result.messages) == [f"signed in with {DOTS}"]


async def test_a_tool_that_fails_the_run_does_not_print_its_secret() -> None:
    """3.8.5: in the error of the run; the tool's own exception stays what it is."""

    @tool
    async def sign_in(password: SecretStr) -> Any:
        """Sign in."""
        return Fatal(RuntimeError(f"no {password.get_secret_value()}"))

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "sign_in", password="hunter2")), "done"), tools=sign_in)
    with pytest.raises(ToolFailed) as failed:
        await agent.run("go", thread_id="t")
    assert f"no {DOTS}" in str(failed.value)
    assert "hunter2" not in str(failed.value) + repr(failed.value) + "".join(failed.value._render_traceback_())


async def test_a_short_secret_is_hidden_where_it_stands_and_not_looked_for() -> None:
    """3.8.5: a text of three characters is in many words."""

    @tool
    async def sign_in(pin: SecretStr) -> str:
        """Sign in."""
        return "the end"

    done = await Agent("assistant", ScriptedClient(calls(call("c1", "sign_in", pin="end")), "done"), tools=sign_in).run("go")
    assert tool_texts(done.messages) == ["the end"]


# -- answers ---------------------------------------------------------------------------------------------------------


class Token(BaseModel):
    value: SecretStr


class AskToken(AskingMiddleware[str, Token]):
    def __init__(self, id: str, got: list[str]) -> None:
        self.id = id
        self.got = got

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        given = self.answered(context)
        if given is None:
            return self.ask_about("which token?")
        self.got.append(given.answer.value.get_secret_value())
        return await next()


async def test_a_secret_answer_is_used_and_shown_nowhere_while_later_questions_wait(store: Checkpointer) -> None:
    """3.8.6: answers kept in the requests of a stack run have dots for whoever reads the result."""
    (one, mark), (two, other_mark) = fresh(), fresh()
    got: list[str] = []
    seen = Seen()
    middleware = [AskToken("a", got), AskToken("b", got), policy("deploy")]
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="x")), "done"),
        tools=deploy_into([]),
        middleware=middleware,
        runtime=store,
    )
    waits = await turn(agent, seen, lambda: agent.start("go", thread_id="t"))
    assert waits is not None
    waits = await turn(agent, seen, lambda: agent.start_resume("t", waits.pending[0].reply({"value": one})))
    assert waits is not None
    (request,) = waits.status.middleware_questions.values()  # type: ignore[union-attr]  # it is suspended
    assert [given.answer for given in request.answers] == [{"value": DOTS}]
    waits = await turn(agent, seen, lambda: agent.start_resume("t", waits.pending[0].reply(Token(value=SecretStr(two)))))
    assert waits is not None
    done = await turn(agent, seen, lambda: agent.start_resume("t", waits.pending[0].approve()))
    assert done is not None
    assert done.answer == "done"
    assert got == [one, one, two, one, two]
    assert seen.find(mark) == []
    assert seen.find(other_mark) == []


@pytest.mark.parametrize("bad", [{"value": 5}, {"value": DOTS}, {"value": "*" * 10}, {}, "x"])
async def test_a_bad_secret_answer_is_refused_without_being_shown(bad: Any) -> None:
    """3.8.6, D6: dots are no answer."""
    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "deploy", what="x")), "done"), tools=deploy_into([]), middleware=AskToken("a", [])
    )
    (review,) = (await agent.run("go", thread_id="t")).pending
    with pytest.raises(InvalidResume) as refused:
        await agent.resume("t", review.reply(bad))
    assert "input_value" not in "".join(traceback.format_exception(refused.value))
    assert (await agent.resume("t", review.reply({"value": "t"}))).answer == "done"


async def test_a_tools_secret_answer_is_concealed_in_what_it_says_next(store: Checkpointer) -> None:
    """3.8.5, 3.8.6."""
    secret, mark = fresh()

    class Args(BaseModel):
        what: str

    class Leaky(AskingTool[Args, str, Token]):
        name = "leaky"
        description = "Leak."

        async def execute(self, args: Args, context: ToolContext) -> Any:
            return self.ask("token?")

        async def resume(self, args: Args, question: str, answer: Token, context: ToolContext) -> Any:
            return f"used {answer.value.get_secret_value()}"

    seen = Seen()
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "leaky", what="x")), calls(call("c2", "leaky", what="y")), "done"),
        tools=Leaky(),
        runtime=store,
    )
    waits = await turn(agent, seen, lambda: agent.start("go", thread_id="t"))
    assert waits is not None
    waits = await turn(agent, seen, lambda: agent.start_resume("t", waits.pending[0].reply({"value": secret})))
    assert waits is not None
    done = await turn(agent, seen, lambda: agent.start_resume("t", waits.pending[0].reply({"value": DOTS})))
    assert done is not None
    assert tool_texts(done.messages) == [
        f"used {DOTS}",
        '{"error":"Invalid answer for \'leaky\': $.value: these dots stand for a secret that is not known here; give the secret itself"}',
    ]
    assert seen.find(mark) == []


# -- threads ---------------------------------------------------------------------------------------------------------


async def test_a_turn_that_is_given_up_leaves_no_secret(tmp_path: Any) -> None:
    """3.8.2, R6.36."""
    async with SqliteCheckpointer(tmp_path / "t.db") as store:
        agent = Agent("assistant", ScriptedClient(two_logins()), tools=connect, middleware=policy("connect"), runtime=store)
        await agent.run("go", thread_id="t")
        gone = await agent.abandon("t")
        assert not gone.state.is_set(CALL_SECRETS)
    left = [path.name for path in tmp_path.iterdir() if b"first-secret" in path.read_bytes()]
    assert left == []


async def test_calls_of_a_refused_batch_leave_no_secret() -> None:
    """3.8.2, 7.2."""
    helper = Agent("helper", ScriptedClient("hi"))
    message = calls(*two_logins().tool_calls, call("c2", "handoff_to_helper", reason="x"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=connect, handoffs=Handoff(helper))
    done = await agent.run("go", thread_id="t")
    assert done.answer == "done"
    assert not done.state.is_set(CALL_SECRETS)
    assert "first-secret" not in repr(done.messages) + repr(await agent.runtime.history("t"))


async def test_an_imported_history_is_stored_without_secrets() -> None:
    """3.8.2, 1.4.1."""
    agent = Agent("assistant", ScriptedClient("done"), tools=connect)
    history = [UserMessage("hi"), *([two_logins()]), ToolMessage("ok", "c1"), AssistantMessage("fine")]
    done = await agent.run("go", thread_id="t", history=history)
    assert "first-secret" not in repr(done.messages) + repr(client_of(agent).requests) + repr(await agent.runtime.history("t"))


async def test_a_thread_can_be_shown_when_the_tool_is_gone() -> None:
    """3.8.2, D14: the dots are what is stored."""
    store = InMemoryCheckpointer()
    agent = Agent("assistant", ScriptedClient(two_logins()), tools=connect, middleware=policy("connect"), runtime=store)
    await agent.run("go", thread_id="t")
    shown = await Agent("assistant", ScriptedClient(), runtime=store).result("t")
    assert "first-secret" not in repr(shown) + repr(shown.messages) + repr(shown.status)
    assert DOTS in repr(shown.messages)


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


async def test_a_failed_call_is_recovered_with_its_secret() -> None:
    """2.4.8, 3.8.2."""
    got: list[str] = []

    @tool
    async def sign_in(password: SecretStr) -> Any:
        """Sign in."""
        got.append(password.get_secret_value())
        return "in" if len(got) > 1 else Fatal(RuntimeError("down"))

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "sign_in", password="hunter2")), "done"), tools=sign_in, middleware=policy("sign_in")
    )
    (review,) = (await agent.run("go", thread_id="t")).pending
    with pytest.raises(ToolFailed):
        await agent.resume("t", review.edit({"password": "typed-one"}))
    assert (await agent.recover("t")).answer == "done"
    assert got == ["typed-one", "typed-one"]


# -- schemas ---------------------------------------------------------------------------------------------------------


def test_a_schema_says_nothing_of_the_defaults_of_secrets() -> None:
    """3.8.1: a default runs, and neither the model nor a form sees it, nor the asterisks that it prints as."""

    class Settings(BaseModel):
        key: SecretBytes = Field(b"from-the-class", validate_default=True, examples=["from-an-example"])  # type: ignore[arg-type]  # decoded
        name: str = "plain"

    in_code, in_class = SecretStr("from-the-code"), Settings()

    @tool
    async def sign_in(password: SecretStr = in_code, settings: Settings = in_class, default: str = "kept") -> None:
        """Sign in."""

    text = json.dumps(sign_in.spec.parameters)
    assert "from-the-code" not in text
    assert "from-the-class" not in text
    assert "from-an-example" not in text
    assert "***" not in text
    assert sign_in.spec.parameters["properties"]["default"] == {"type": "string", "default": "kept"}
    assert sign_in.spec.parameters["$defs"]["Settings"]["properties"]["name"]["default"] == "plain"
    assert sign_in.decode({})["password"].get_secret_value() == "from-the-code"


async def test_the_form_takes_dots_whatever_a_secret_must_be() -> None:
    """3.8.4: a secret of at least twelve characters may be left as it is, which is eight dots."""

    @tool
    async def sign_in(password: Annotated[SecretStr, Field(min_length=12, description="long")], number: Secret[int]) -> None:
        """Sign in."""

    message = calls(call("c1", "sign_in", password="a" * 12, number=12345))
    agent = Agent("assistant", ScriptedClient(message), tools=sign_in, middleware=policy("sign_in"))
    (review,) = (await agent.run("go")).pending
    assert review.arguments == {"password": DOTS, "number": OTHERS}
    properties = (review.arguments_schema or {})["properties"]
    assert properties["password"] == {"type": "string", "format": "password", "writeOnly": True, "description": "long"}
    assert properties["number"] == {"writeOnly": True}
    assert sign_in.spec.parameters["properties"]["password"]["minLength"] == 12


def test_the_key_of_secrets_is_the_loops_and_there_only_where_a_tool_has_secrets() -> None:
    """1.2.1, 1.2.2, 3.8.2."""

    def keys(agent: Agent) -> set[str]:
        return {key.id for key in agent.graph.keys}

    without = Agent("assistant", ScriptedClient(), tools=deploy_into([]))
    assert keys(Agent("assistant", ScriptedClient(), tools=connect)) == keys(without) | {"call-secrets"}

    @tool(writes=[CALL_SECRETS])
    async def thief() -> None:
        """Write what is not its own."""

    with pytest.raises(ConfigError, match=r"tool 'thief' declares a key the loop owns \(call-secrets\)"):
        Agent("assistant", ScriptedClient(), tools=thief)


def test_a_value_can_be_hidden_by_its_schema_for_a_log() -> None:
    """3.8.7: `hide_secrets` for whoever writes down what was answered."""
    schema = TypeAdapter(Login).json_schema()
    assert hide_secrets({"user": "ana", "password": "hunter2"}, schema) == {"user": "ana", "password": DOTS}
    assert hide_secrets({"user": "ana"}, {"type": "object"}) == {"user": "ana"}


async def test_the_schema_of_an_answer_hides_an_edit() -> None:
    """3.8.7."""
    agent = Agent("assistant", ScriptedClient(two_logins()), tools=connect, middleware=policy("connect"))
    (review,) = (await agent.run("go")).pending
    answer = review.edit({"logins": [{"user": "a", "password": "typed"}], "comment": "c"})
    assert hide_secrets(answer.value, review.answer_schema) == {
        "decision": "edit",
        "arguments": {"logins": [{"user": "a", "password": DOTS}], "comment": "c"},
    }


class Tree(BaseModel):
    key: SecretStr | None = None
    children: list[Tree] = []
    by_name: dict[str, Tree] = {}
    label: str = ""


TREES = st.recursive(
    st.fixed_dictionaries({"key": st.none() | st.text(), "label": st.text("•a*", max_size=12)}),
    lambda inner: st.fixed_dictionaries(
        {
            "key": st.text("•*k", max_size=12),
            "children": st.lists(inner, max_size=3),
            "by_name": st.dictionaries(st.text(max_size=3), inner, max_size=2),
        }
    ),
    max_leaves=8,
)


@given(TREES)
def test_hiding_and_revealing_gives_the_value_back(tree: Any) -> None:
    """3.8.2: for every value, recursive types too; each secret has its own dots; the rest is as it was."""
    places = SecretPlaces.of(TypeAdapter(Tree).json_schema())
    assert places is not None
    shown, values = places.hide(tree)
    back = places.reveal(shown, values)
    assert back.value == tree
    assert not back.lost
    assert len(set(values)) == len(values)
    assert not [label for label in _labels(shown) if label in values]


def _labels(value: Any) -> list[str]:
    if isinstance(value, list):
        return [label for item in value for label in _labels(item)]
    if isinstance(value, dict):
        inner = [item for name, item in value.items() if name in ("children", "by_name")]
        more = [label for item in inner for label in (_labels(item) if isinstance(item, list) else _labels(list(item.values())))]
        return [value["label"], *more] if "label" in value else more
    return []


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_whatever_a_model_sends_a_place_of_secrets_shows_dots(value: Any) -> None:
    """3.8.1: hostile shapes raise nothing, and every text where a secret may be is dots."""
    places = SecretPlaces.of(TypeAdapter(dict[str, SecretStr]).json_schema())
    assert places is not None
    shown, values = places.hide(value)
    assert places.reveal(shown, values).value == value
    if isinstance(value, dict):
        assert all(item is None or (isinstance(item, str) and set(item) <= {"•", "*"}) for item in shown.values())
    elif value is not None:
        assert shown in values or shown == value


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


def test_a_plain_value_is_not_copied_for_its_secrets() -> None:
    """3.8.4: a value without secrets is given on as it is."""
    from llm4s_notebook.graph import bare

    value = {"a": [1, {"b": dataclasses.make_dataclass("D", [("x", int)])(1)}]}
    assert bare(value) is value
