"""What a tool says of its secrets: agent.md 3.8.5."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from llm4s_notebook.agent import Agent, AskingTool, Fatal, NeedsApproval, ToolCallRequest, ToolContext, ToolError, tool
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ToolFailed
from llm4s_notebook.models import ScriptedClient, calls

from .secrecy import DOTS, Seen, fresh, turn
from .support import Wrap, call, tool_texts


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
