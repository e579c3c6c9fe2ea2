"""What hooks, tools and clients of code that nobody type-checked give: an error that says so, never a crash (4.2.4, 3.4, 1.3.5)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentTool, ApprovalMiddleware, Blocked, Completed, Fatal, Success, ToolContext, ToolOutcome, tool
from llm4s_notebook.errors import ConfigError, MiddlewareFailed, ModelFailed, NothingToRecover, ToolFailed
from llm4s_notebook.models import AssistantMessage, Completion, ScriptedClient, Usage, UserMessage, calls

from .support import Wrap, call, echo


@pytest.mark.parametrize("hook", ["before", "after"])
async def test_a_boundary_hook_whose_text_cannot_be_stored_has_failed(hook: str):
    """4.2.4, D21: the turn is closed like after any failure of a hook; it was left unfinished, to fail again at every recover."""

    async def half(text: str, _context: Any) -> str:
        return f"{text}\ud800"

    agent = Agent("assistant", ScriptedClient("done", "done"), middleware=Wrap("half", **{hook: half}))
    with pytest.raises(MiddlewareFailed, match="returned a text with half a character, which cannot be stored"):
        await agent.run("go", thread_id="t")
    with pytest.raises(NothingToRecover):
        await agent.recover("t")
    stored = await agent.result("t")
    assert (stored.status, stored.messages) == (Blocked("half", "MiddlewareFailed"), ())


async def test_a_model_wrapper_that_makes_another_message_has_failed():
    """4.2.4."""

    async def user(*_given: Any) -> Any:
        return Completion(UserMessage("hello"), Usage(1, 1), "m")  # type: ignore[arg-type]  # the mistake under test

    agent = Agent("assistant", ScriptedClient("done"), middleware=Wrap("user", model=user))
    with pytest.raises(MiddlewareFailed, match="a completion of a UserMessage") as failed:
        await agent.run("go")
    assert failed.value.middleware == "user"


async def test_a_client_whose_text_is_none_has_failed_and_is_asked_again():
    """1.3.5: nothing is stored."""
    client = ScriptedClient(AssistantMessage(5), "done")  # type: ignore[arg-type]  # the mistake under test
    agent = Agent("assistant", client)
    with pytest.raises(ModelFailed, match="the text is of type int"):
        await agent.run("go", thread_id="t")
    assert (await agent.recover("t")).status == Completed("done")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (Fatal("disk full"), "disk full"),  # type: ignore[arg-type]  # the mistakes under test
        (Fatal(None), "None"),  # type: ignore[arg-type]
        (Success("x", None), "a tool's update is a Command, not NoneType"),  # type: ignore[arg-type]
    ],
    ids=str,
)
async def test_an_outcome_of_odd_parts_fails_the_run_as_the_tools(made: Any, said: str):
    """3.4: naming the tool and its call."""

    @tool
    async def odd() -> Any:
        """Give it."""
        return made

    with pytest.raises(ToolFailed, match=said) as failed:
        await Agent("assistant", ScriptedClient(calls(call("c1", "odd"))), tools=odd).run("go")
    assert (failed.value.tool, failed.value.call_id) == ("odd", "c1")


async def test_a_plain_tools_parameters_may_have_any_name():
    """D20: also those of the functions that call it."""

    @tool
    def names(function: int, args: int, kwargs: int, self: int, context: int) -> str:
        """Name."""
        return f"{function}{args}{kwargs}{self}{context}"

    message = calls(call("c1", "names", function=1, args=2, kwargs=3, self=4, context=5))
    result = await Agent("assistant", ScriptedClient(message, "done"), tools=names).run("go")
    assert result.messages[2].content == "12345"


async def _maybe(_request: Any) -> str | None:
    return None


@pytest.mark.parametrize(("requires", "said"), [(_maybe, "not async"), ("deploy", "not 'deploy'"), (None, "not None")])
def test_an_approval_rule_that_cannot_say_no_is_refused(requires: Any, said: str):
    """3.5.5: an async rule gives a coroutine, which would have asked for every call."""
    with pytest.raises(ConfigError, match=said):
        ApprovalMiddleware(requires)


class Custom(AgentTool):
    name = "custom"
    description = "Custom."

    def __init__(self, parameters: Any, description: Any = "Custom.") -> None:
        self._parameters = parameters
        self.description = description

    @property
    def parameters(self) -> Any:
        return self._parameters

    def decode(self, arguments: Any) -> Any:
        return arguments

    async def execute(self, args: Any, context: ToolContext) -> ToolOutcome:
        raise NotImplementedError


@pytest.mark.parametrize(
    "odd",
    [
        Custom({"type": "object", "maximum": float("nan")}),
        Custom({"default": {1}}),
        Custom({}, "\ud800"),
        Custom({}, b"x"),
    ],
    ids=lambda one: repr(one.parameters) + repr(one.description),
)
def test_a_tool_that_cannot_be_told_to_a_model_is_refused_by_name(odd: Any):
    """3.1.4."""
    with pytest.raises(ConfigError, match="tool 'custom': its description and schema must be JSON"):
        Agent("assistant", ScriptedClient(), tools=[echo, odd])
