"""What each model call took: beside its message, in the document and in code (W4.9)."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentMiddleware, tool
from llm4s_notebook.agent.events import ModelCallCompleted
from llm4s_notebook.checkpoint import SqliteCheckpointer
from llm4s_notebook.graph import RunContext
from llm4s_notebook.models import AssistantMessage, Completion, ModelRequest, ScriptedClient, ToolCall, Usage, calls
from llm4s_notebook.review import Session
from llm4s_notebook.review._model_calls import took

SPEAKING = re.compile(r"^\d+\.\d s, first word after \d+\.\d s, 10 in, 20 out$")


@tool
async def look_up(order: str) -> str:
    """Look an order up."""
    return f"{order} is on its way"


def agent_of(*steps: Any, store: Any = None, stream: bool = True, **settings: Any) -> Agent:
    client = ScriptedClient(*steps, chunk_size=4)
    return Agent("support", client, tools=[look_up], stream=stream, runtime=store, **settings)


def notes(session: Session) -> list[str | None]:
    return [message.note for message in session.state().messages if message.role == "assistant"]


async def test_it_stands_beside_each_message_of_a_model() -> None:
    """W4.9: seconds, the first word, tokens; not beside what people and tools said."""
    session = Session(agent_of(calls(ToolCall("c1", "look_up", {"order": "A-1"}), text="I look."), "It is on its way."), "t")
    await session.run("Where is A-1?")
    assert [message.role for message in session.state().messages if message.note is None] == ["user", "tool"]
    assert all(SPEAKING.match(note or "") for note in notes(session))
    assert len(notes(session)) == 2


async def test_a_call_that_was_not_streamed_has_no_first_word() -> None:
    """W4.9."""
    session = Session(agent_of("hi", stream=False), "t")
    await session.run("go")
    assert re.match(r"^\d+\.\d s, 10 in, 20 out$", notes(session)[0] or "")
    assert session.calls[0].first_token is None


async def test_the_calls_of_the_turn_are_there_in_code_and_in_the_document() -> None:
    """W4.9: of this turn; what the thread used in all is beside it."""
    session = Session(agent_of("first", calls(ToolCall("c1", "look_up", {"order": "A-1"})), "second"), "t")
    await session.run("one")
    assert [call.model for call in session.calls] == ["scripted"]
    await session.run("two")
    first, second = session.calls
    assert (first.tool_calls, second.tool_calls, first.agent, first.usage) == (1, 0, "support", Usage(10, 20))
    usage = session.state().usage
    assert (usage.requests, len(usage.calls)) == (3, 2)
    shown = usage.calls[1]
    assert (shown.seconds, shown.first_token, shown.input_tokens, shown.output_tokens) == (second.seconds, second.first_token, 10, 20)
    assert shown.message_id == session.state().messages[-1].id
    assert len(notes(session)) == 3  # also beside the message of the turn before
    assert None not in notes(session)


async def test_a_new_kernel_draws_the_same_figures(tmp_path: Path) -> None:
    """W4.9, agent.md 8.1: the events are durable."""
    async with SqliteCheckpointer(tmp_path / "threads.db") as store:
        session = Session(agent_of(calls(ToolCall("c1", "look_up", {"order": "A-1"})), "there", store=store), "t")
        await session.run("go")
        before = notes(session), session.calls, session.state().usage
    async with SqliteCheckpointer(tmp_path / "threads.db") as store:
        again = Session(agent_of(store=store), "t")
        await again.refresh()
        assert (notes(again), again.calls, again.state().usage) == before
        assert [call.seconds for call in again.calls] == [call.seconds for call in before[1]]


async def test_a_wrapper_that_answers_in_the_models_place_has_asked_nobody() -> None:
    """W4.9, agent.md 8.6: there is nothing to tell of its message; of one that asked twice, the attempts."""

    class Wrapper(AgentMiddleware):
        id = "wrapper"

        async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Completion:
            if "cached" in request.messages[-1].content:
                return Completion(AssistantMessage("from memory"))
            await next(request)
            return await next(request)

    session = Session(agent_of("one", "two", middleware=[Wrapper()]), "t")
    await session.run("cached")
    assert notes(session) == [None]
    assert session.calls[0].attempts == 0
    await session.run("asked twice")
    assert ", 2 attempts, " in (notes(session)[1] or "")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (ModelCallCompleted("a", "m", 1, 0, Usage(312, 41), 1.24, 0.41), "1.2 s, first word after 0.4 s, 312 in, 41 out"),
        (ModelCallCompleted("a", "m", 3, 0, Usage(12_312, 1041, 0.01234), 83.9, None), "83 s, 3 attempts, 12,312 in, 1,041 out, $0.0123"),
        (ModelCallCompleted("a", "m", 1, 0, None, 184.0, 130.2), "3 min 4 s, first word after 2 min 10 s"),
    ],
)
def test_what_is_said_of_a_call(call: ModelCallCompleted, said: str) -> None:
    """W4.9: figures that a provider does not tell are left out."""
    assert took(call) == said


async def test_calls_before_a_question_count_and_have_no_message() -> None:
    """W4.9, agent.md 8.6: a turn that failed keeps the calls before it."""
    session = Session(agent_of(calls(ToolCall("c1", "look_up", {"order": "A-1"})), ConnectionError("cut")), "t")
    with pytest.raises(Exception, match="cut"):
        await session.run("go")
    await asyncio.sleep(0)
    assert len(session.calls) == len(session.state().usage.calls) == 1
    assert notes(session)[0] is not None
