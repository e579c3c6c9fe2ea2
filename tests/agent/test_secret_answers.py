"""Answers with secrets: agent.md 3.8.6."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
from pydantic import SecretStr

from llm4s_notebook.agent import Agent
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import InvalidResume
from llm4s_notebook.models import ScriptedClient, calls

from .secrecy import DOTS, AskToken, Leaky, Seen, Token, fresh, turn
from .support import call, deploy_into, policy, tool_texts


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

    seen = Seen()
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "leaky", what="x")), calls(call("c2", "leaky", what="y")), "done"),
        tools=Leaky(lambda value: f"used {value}"),
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
