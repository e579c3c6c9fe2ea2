"""No secret is in a decision log, and none comes out of it: docs/specification/decision-log.md L1.6, L3.5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Secret, SecretStr
from pydantic_core import core_schema

from llm4s_notebook import DecisionLog, review
from llm4s_notebook.agent import Agent, Answer, ApprovalMiddleware, AskingTool, ToolContext
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session

from ..agent.secrecy import AskToken, Token, fresh
from .asking_graph import asking
from .test_secrets_on_the_wire import approved, sign_in_into

DOTS = "•" * 8


@pytest.fixture
def log(tmp_path: Path) -> DecisionLog:
    return DecisionLog(tmp_path / "decisions.jsonl")


def agent(got: list[str], value: str | ScriptedClient, *middleware: Any, store: Checkpointer | None = None) -> Agent:
    client = ScriptedClient(calls(ToolCall("c1", "sign_in", logins("ana", value))), "done") if isinstance(value, str) else value
    settings: dict[str, Any] = {"tools": sign_in_into(got), "middleware": middleware or [ApprovalMiddleware(approved)]}
    return Agent("assistant", client, runtime=store or InMemoryCheckpointer(), **settings)


def everything(log: DecisionLog, *more: object) -> str:
    """The file as it is on disk, and everything that is made of it."""
    return "\n".join([log.path.read_text(encoding="utf-8"), repr(log), repr(log.records()), repr(log.to_records()), *map(repr, more)])


def logins(user: str, password: Any) -> dict[str, Any]:
    return {"logins": [{"user": user, "password": password}]}


@pytest.mark.parametrize("choice", ["approve", "edit", "typed", "object", "misspelt"])
async def test_a_secret_argument_is_dots_in_the_log(choice: str, store: Checkpointer, log: DecisionLog):
    """L1.6, 3.8.4: what was shown, what was left as dots, and what was typed."""
    (value, mark), (typed, typed_mark) = fresh(), fresh()
    got: list[str] = []
    session = Session(agent(got, value, store=store), "t", decisions=log)
    await session.run("go")
    (pending,) = session.result.pending
    answer = {
        "approve": pending.approve(),
        "edit": pending.edit(logins("bo", DOTS)),
        "typed": Answer(pending.id, {"decision": "edit", "arguments": logins("bo", typed)}),
        "object": Answer.edit(pending.id, logins("bo", SecretStr(typed))),
        "misspelt": pending.edit({"logins": [{"user": "bo", "passwort": typed}]}),
    }[choice]
    await session.answer(answer)
    assert got == {"approve": [value], "edit": [value], "typed": [typed], "object": [typed], "misspelt": []}[choice]
    (record,) = log.records()
    assert record.shown["arguments"] == logins("ana", DOTS)
    assert (
        record.answered
        == {
            "approve": {"decision": "approve"},
            "edit": {"decision": "edit", "arguments": logins("bo", DOTS)},
            "typed": {"decision": "edit", "arguments": logins("bo", DOTS + "•")},
            "object": {"decision": "edit", "arguments": logins("bo", DOTS + "•")},
            "misspelt": {"decision": "edit", "arguments": {"logins": [{"user": "bo", "passwort": DOTS + "•"}]}},
        }[choice]
    )
    assert record.secrets is (choice in ("typed", "object", "misspelt"))
    said = everything(log)
    assert DOTS in log.path.read_text(encoding="utf-8")
    assert (mark in said, typed_mark in said) == (False, False)


async def test_secret_answers_are_dots_in_the_log(log: DecisionLog):
    """L1.6, 3.8.6: of a middleware's question, of a tool's, and of a graph's."""
    (value, mark), (typed, typed_mark) = fresh(), fresh()
    used: list[str] = []
    session = Session(agent([], value, AskToken("token", used)), "t", decisions=log)
    await session.run("go")
    await session.answer({session.result.pending[0].id: {"value": typed, "note": "n"}})
    assert used == [typed]

    class Args(BaseModel):
        what: str

    class Asks(AskingTool[Args, str, Token]):
        name = "asks"
        description = "Ask."

        async def execute(self, args: Args, context: ToolContext) -> Any:
            return self.ask("token?")

        async def resume(self, args: Args, question: str, answer: Token, context: ToolContext) -> Any:
            used.append(answer.value.get_secret_value())
            return self.ask("another?") if len(used) < 3 else "thanks"

    client = ScriptedClient(calls(ToolCall("c1", "asks", {"what": "x"})), "done")
    session = Session(Agent("assistant", client, tools=Asks(), runtime=InMemoryCheckpointer()), "u", decisions=log)
    await session.run("go")
    await session.answer({session.result.pending[0].id: Token(value=SecretStr(typed), note="object")})
    await session.answer({session.result.pending[0].id: {"value": typed, "wrong": typed}})
    assert used == [typed] * 3

    for kind, answer in ((Token, {"value": typed}), (Secret[str], typed), (dict[str, SecretStr], {"k": typed})):
        graph, got = asking(kind)
        session = Session(graph, str(kind), decisions=log)
        await session.run("apples")
        await session.answer({session.result.interrupts[0].id: answer})
        assert len(got) == 1
    assert [(one.answered, one.secrets) for one in log.records()[:5]] == [
        ({"value": DOTS, "note": "n"}, True),
        ({"value": DOTS, "note": "object"}, True),
        ({"value": DOTS, "wrong": DOTS + "•"}, True),
        ({"value": DOTS}, True),
        (DOTS, True),
    ]
    assert log.records()[5].answered == {"k": DOTS}
    said = everything(log)
    assert (mark in said, typed_mark in said) == (False, False)


async def test_an_answer_of_which_no_schema_is_known_is_dots_whole(log: DecisionLog):
    """L1.6: nobody can tell what of it is secret."""
    graph, got = asking(_no_schema())
    session = Session(graph, "t", decisions=log)
    await session.run("apples")
    await session.answer({session.result.interrupts[0].id: "hush-hush"})
    assert got == ["hush-hush"]
    assert [(one.answered, one.secrets) for one in log.records()] == [(DOTS, True)]


def _no_schema() -> Any:
    class Odd:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            return core_schema.no_info_plain_validator_function(
                lambda value: value, serialization=core_schema.plain_serializer_function_ser_schema(str)
            )

    return Odd


@pytest.mark.parametrize("choice", ["approve", "edit"])
async def test_dots_of_the_call_itself_are_replayed(choice: str, log: DecisionLog):
    """L3.5: they stand for the secret of the new call."""
    value, _ = fresh()
    session = Session(agent([], value), "t", decisions=log)
    await session.run("go")
    pending = session.result.pending[0]
    await session.answer(pending.approve() if choice == "approve" else pending.edit(logins("bo", DOTS)))
    got: list[str] = []
    other, _ = fresh()
    await review(agent(got, other), "go", answers=log)
    assert got == [other]


async def test_a_secret_that_was_typed_cannot_be_replayed_and_says_what_to_do(log: DecisionLog):
    """L3.5: refused before anything runs; given anew it is used."""
    (value, _), (typed, typed_mark) = fresh(), fresh()
    session = Session(agent([], value), "t", decisions=log)
    await session.run("go")
    await session.answer(session.result.pending[0].edit(logins("bo", typed)))
    got: list[str] = []
    client = ScriptedClient(calls(ToolCall("c1", "sign_in", logins("ana", value))), "done")
    replaying = agent(got, client)
    with pytest.raises(ConfigError) as refused:
        await review(replaying, "go", answers=log)
    assert "the decision on '2.0' (sign_in) held a secret, which is not in the log" in str(refused.value)
    assert "log.of(…, instead={interrupt_id: answer})" in refused.value.next_step
    assert got == []
    assert client.requests == []
    with pytest.raises(ConfigError, match="held a secret, which no log and no test holds"):
        log.to_test("my_module:agent")
    anew = {"decision": "edit", "arguments": logins("bo", typed)}
    result = await review(replaying, "go", answers=log.of(instead={"2.0": anew}))
    assert (got, result.answer) == ([typed], "done")
    assert typed_mark not in repr(log.of(instead={"2.0": anew}))
    with pytest.raises(ConfigError, match=r"'instead' answers '9\.9', on which there is no decision"):
        await review(agent(got, value), "go", answers=log.of(instead={"2.0": anew, "9.9": anew}))
