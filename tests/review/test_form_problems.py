"""What a form is made from, and where what is wrong with it is said, whatever a field is called (W2.7, W2.9, D25)."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from llm4s_notebook import Session
from llm4s_notebook.agent import Agent, NeedsApproval, ToolContext, schema_tool, tool
from llm4s_notebook.checkpoint import InMemoryCheckpointer
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, Resumed, Suspend
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import GraphThread


class Inner(BaseModel):
    count: int = Field(alias="a.b: [0]")


@tool
async def typed(arguments: Inner, context: ToolContext) -> str | NeedsApproval:
    """Take a field of a hard name in one that is called like the arguments."""
    return "ran" if context.approved else NeedsApproval("look")


def ask(args: Any, context: ToolContext) -> Any:
    return "ran" if context.approved else NeedsApproval("look")


raw = schema_tool(
    "raw",
    "Take a field of a hard name.",
    {"type": "object", "properties": {"a.b: [0]": {"type": "array", "items": {"type": "integer"}}}},
    ask,
)


async def refusal_of(session: Session, decision: dict[str, Any]) -> Any:
    told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    session.handle({"request_id": "r", "body": {"kind": "submit", "decisions": [decision]}}, told.set_result)
    return await told


@pytest.mark.parametrize(
    ("call", "arguments", "path"),
    [
        (ToolCall("c", "typed", {"arguments": {"a.b: [0]": 1}}), {"arguments": {"a.b: [0]": "x"}}, ["arguments", "arguments", "a.b: [0]"]),
        (ToolCall("c", "typed", {"arguments": {"a.b: [0]": 1}}), {"arguments": {}}, ["arguments", "arguments", "a.b: [0]"]),
        (ToolCall("c", "raw", {"a.b: [0]": [1]}), {"a.b: [0]": [1, "x"]}, ["arguments", "a.b: [0]", 1]),
        (ToolCall("c", "raw", {"a.b: [0]": [1]}), {"c: d": 1}, ["arguments", "c: d"]),
    ],
)
async def test_a_problem_of_an_edit_has_the_steps_to_its_field(call: ToolCall, arguments: Any, path: list[Any]):
    """D25, W2.7: not the text of a JSON path, which a name may look like."""
    session = Session(Agent("a", ScriptedClient(calls(call)), tools=[typed, raw]), "t")
    await session.run("go")
    (card,) = session.state().pending
    refused = await refusal_of(session, {"decision": "edit", "id": card.id, "arguments": arguments})
    assert refused.kind == "refused"
    assert [problem.path for problem in refused.problems] == [path]


class Answer(BaseModel):
    zip_code: str
    price: Decimal
    either: float | str
    titled: Annotated[int, Field(title="How many?")]


async def test_a_graphs_question_has_the_schema_that_an_agents_has():
    """W2.9: no title made of a name, and a decimal says that it is one; a number or text does not."""
    builder = GraphBuilder("g", version="1")
    answered = builder.declare_resume("answered", question=str, answer=Answer)

    @builder.node("ask", routes=answered)
    async def ask_for(_: str) -> Suspend[str, Answer]:
        return Suspend("?", answered)

    @builder.implement(answered)
    async def done(given: Resumed[str, Answer]) -> Command:
        return Command()

    graph = builder.compile(ask_for, output=lambda state: None)
    session = Session(GraphThread(GraphRuntime(InMemoryCheckpointer()), graph), "t")
    await session.run("go")
    (card,) = session.state().pending
    assert card.answer_schema is not None
    fields: Any = card.answer_schema["properties"]
    assert fields["zip_code"] == {"type": "string"}
    assert fields["price"] == {"anyOf": [{"type": "number"}, {"type": "string", "format": "decimal"}]}
    assert fields["either"] == {"anyOf": [{"type": "number"}, {"type": "string"}]}
    assert fields["titled"]["title"] == "How many?"
