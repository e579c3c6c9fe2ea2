"""Approvals of calls: agent.md 3.5, 3.6, D12, 10.2."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import (
    Agent,
    ApprovalMiddleware,
    Completed,
    NeedsApproval,
    ToolContext,
    ToolError,
    tool,
)
from llm4s_notebook.agent import events as agent_events
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.graph import GraphRuntime
from llm4s_notebook.models import AssistantMessage, ScriptedClient, ToolMessage, calls, compact

from .support import Wrap, call, deploy_into, policy, told, tool_texts, waiting


async def test_an_inner_wrapper_that_asks_again_after_the_approval_is_told_so():
    """TOOL-08, 3.6.1: the first request's source was the outer one; the tool never ran."""
    ran: list[str] = []

    async def always(_request: Any, _context: Any, _next: Any) -> NeedsApproval:
        return NeedsApproval("y checks deploys")

    client = ScriptedClient(calls(call("c1", "deploy", what="x")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=[policy("deploy", id="x"), Wrap("y", tool=always)])
    result = await agent.run("go", thread_id="t")
    ((id, request),) = waiting(result).approvals.items()
    assert request.source == "x"
    done = await agent.resume("t", result.approve(id))
    assert tool_texts(done.messages) == ['{"error":"Middleware \'y\' asked for approval again: y checks deploys"}']
    assert ran == []


async def test_a_tool_that_asks_again_after_its_approval_is_told_so():
    """3.6.1."""

    @tool
    async def stubborn() -> Any:
        """Never satisfied."""
        return NeedsApproval("again")

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "stubborn")), "done"), tools=stubborn)
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.approve() for review in result.pending])
    assert tool_texts(done.messages) == ['{"error":"Tool \'stubborn\' asked for approval again: again"}']


async def test_a_deny_rule_refuses_the_edited_value_and_the_edit_is_recorded():
    """TOOL-09."""
    ran: list[str] = []

    async def deny_secret(request: Any, _context: Any, next: Any) -> Any:
        return ToolError("Denied: secret") if request.call.arguments["what"] == "secret" else await next()

    client = ScriptedClient(calls(call("c1", "deploy", what="x")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=[policy("deploy"), Wrap("deny", tool=deny_secret)])
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.edit({"what": "secret"}) for review in result.pending])
    assert tool_texts(done.messages) == ['{"error":"Denied: secret"}']
    assert ran == []
    message = done.messages[1]
    assert isinstance(message, AssistantMessage)
    assert (message.tool_calls[0].arguments, message.tool_calls[0].edited) == ({"what": "secret"}, True)


async def test_an_edit_runs_with_the_new_arguments_and_the_model_sees_the_edited_call():
    """3.5.3, F13: the history's call is replaced."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="prod")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=policy("deploy"))
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.edit({"what": "staging"}) for review in result.pending])
    assert ran == ["staging"]
    sent = client.requests[1].messages[1]
    assert isinstance(sent, AssistantMessage)
    assert sent.tool_calls[0].arguments == {"what": "staging"}
    assert tool_texts(done.messages) == ["deployed staging"]


async def test_an_edit_that_does_not_validate_is_recorded_and_its_error_is_the_result():
    """3.5.3, D25."""
    ran: list[str] = []
    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "deploy", what="x")), "done"), tools=deploy_into(ran), middleware=policy("deploy")
    )
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.edit({"what": 3}) for review in result.pending])
    assert tool_texts(done.messages) == ['{"error":"Invalid arguments for \'deploy\': $.what: expected string, got integer"}']
    message = done.messages[1]
    assert isinstance(message, AssistantMessage)
    assert message.tool_calls[0].arguments == {"what": 3}
    assert ran == []


async def test_edits_of_two_calls_of_one_message_compose():
    """1.3.3: both are in the history."""
    ran: list[str] = []
    message = calls(call("c1", "deploy", what="a"), call("c2", "deploy", what="b"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=deploy_into(ran), middleware=policy("deploy"))
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.edit({"what": f"edited {review.call_id}"}) for review in result.pending])
    stored = done.messages[1]
    assert isinstance(stored, AssistantMessage)
    assert [one.arguments for one in stored.tool_calls] == [{"what": "edited c1"}, {"what": "edited c2"}]
    assert sorted(ran) == ["edited c1", "edited c2"]


async def test_denied_approved_rejected_and_edited_in_one_message():
    """TOOL-33: no request is sent while one waits; then all four results at once."""
    ran: list[str] = []

    async def deny(request: Any, _context: Any, next: Any) -> Any:
        return ToolError("Denied: d") if request.call.arguments["what"] == "d" else await next()

    message = calls(*(call(f"c{what}", "deploy", what=what) for what in "dare"))
    client = ScriptedClient(message, "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=[Wrap("deny", tool=deny), policy("deploy")])
    result = await agent.run("go", thread_id="t")
    a, r, e = result.pending
    result = await agent.resume("t", a.approve())
    result = await agent.resume("t", r.reject("no"))
    assert len(client.requests) == 1
    done = await agent.resume("t", e.edit({"what": "edited"}))
    assert tool_texts(client.requests[1].messages) == [
        '{"error":"Denied: d"}',
        "deployed a",
        '{"error":"Rejected: no"}',
        "deployed edited",
    ]
    assert [message.outcome for message in done.messages if isinstance(message, ToolMessage)] == [
        "denied",
        "succeeded",
        "rejected",
        "succeeded",
    ]
    assert ran == ["a", "edited"]


async def test_an_approved_tool_that_raises_gives_an_error_result(store: Checkpointer):
    """TOOL-39: no failed run; the sibling's earlier result is not computed again."""
    ran: list[str] = []

    @tool
    async def free() -> str:
        """Free."""
        ran.append("free")
        return "free"

    @tool
    async def broken(context: ToolContext) -> Any:
        """Break once approved."""
        if not context.approved:
            return NeedsApproval("check")
        raise OSError("no")

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "free"), call("c2", "broken")), "done"), tools=[free, broken], runtime=store)
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.approve() for review in result.pending])
    assert tool_texts(done.messages) == ["free", '{"error":"Tool \'broken\' failed: no"}']
    assert ran == ["free"]


async def test_an_approval_for_everything_that_is_not_read_only():
    """3.5.5."""

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        return "seen"

    @tool
    async def touch() -> str:
        """Touch."""
        return "touched"

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "look"), call("c2", "touch")), "done"),
        tools=[look, touch],
        middleware=ApprovalMiddleware.unless_read_only(),
    )
    result = await agent.run("go")
    ((_, request),) = waiting(result).approvals.items()
    assert (request.call.id, request.source, request.reason) == ("c2", "approval", "tool 'touch' is not read-only")


async def test_what_was_approved_is_what_runs_whatever_a_wrapper_does_to_it():
    """D12: wrappers see the call read-only; the tool gets the approved arguments."""
    ran: list[str] = []
    tried: list[str] = []

    async def meddling(request: Any, _context: Any, next: Any) -> Any:
        try:
            request.call.arguments["what"] = "evil"
        except TypeError as error:
            tried.append(str(error))
        return await next()

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="good")), "done"),
        tools=deploy_into(ran),
        middleware=[policy("deploy"), Wrap("meddling", tool=meddling)],
    )
    result = await agent.run("go", thread_id="t")
    await agent.resume("t", [review.approve() for review in result.pending])
    assert ran == ["good"]
    assert tried


async def test_a_tool_that_is_tried_again_gets_the_approved_arguments_again():
    """D12: what the tool did to its arguments the first time is not in the second call."""
    ran: list[list[str]] = []

    @tool
    async def deploy(targets: list[str]) -> str:
        """Deploy to each target."""
        ran.append(list(targets))
        targets.append("prod")
        if len(ran) == 1:
            raise RuntimeError("flaky")
        return "ok"

    async def retry(request: Any, context: ToolContext, next: Any) -> Any:
        outcome = await next()
        return await next() if isinstance(outcome, ToolError) else outcome

    client = ScriptedClient(calls(call("c1", "deploy", targets=["staging"])), "done")
    agent = Agent("assistant", client, tools=deploy, middleware=[policy("deploy"), Wrap("retry", tool=retry)])
    result = await agent.run("go", thread_id="t")
    assert (await agent.resume("t", result.pending[0].approve())).answer == "done"
    assert ran == [["staging"], ["staging"]]


async def test_invalid_arguments_raise_no_approval_and_no_question():
    """D12: they are validated before either is raised."""
    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "deploy", what=1)), "done"), tools=deploy_into([]), middleware=policy("deploy")
    )
    assert (await agent.run("go")).status == Completed("done")


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_an_approval_of_a_tool_that_is_gone_by_then_runs_nothing(decision: str, store: Checkpointer):
    """3.5.3, 3.2 step 1: an agent of the same version without it; what the events say of it is not the model's text (8.1)."""
    ran: list[str] = []
    first = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="x"))),
        tools=deploy_into(ran),
        middleware=policy("deploy"),
        runtime=store,
        version="1",
    )
    result = await first.run("go", thread_id="t")
    second = Agent("assistant", ScriptedClient("done"), middleware=policy("deploy"), runtime=GraphRuntime(store), version="1")
    (review,) = result.pending
    done = await second.resume("t", review.approve() if decision == "approve" else review.reject("no"))
    assert tool_texts(done.messages) == [compact({"error": "Unknown tool 'deploy'" if decision == "approve" else "Rejected: no"})]
    executed = [one for one in await told(second) if isinstance(one, agent_events.ToolExecuted)]
    assert [(one.tool, one.outcome) for one in executed] == [
        ("deploy", "NeedsApproval"),
        ("<unknown>", "Errored" if decision == "approve" else "Rejected"),
    ]
    assert ran == []
