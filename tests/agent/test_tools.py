"""The tool pipeline and the batch of calls: agent.md 1.2.4, 1.3.5, 3.2, D13, 10.2."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import (
    Agent,
    Completed,
    NeedsApproval,
    ToolContext,
    ToolError,
    tool,
)
from llm4s_notebook.agent._messages import MESSAGES
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ModelFailed
from llm4s_notebook.models import AssistantMessage, ScriptedClient, ToolCall, calls

from .support import Recorder, Wrap, call, deploy_into, echo, tool_results, tool_texts


async def test_parallel_calls_give_two_tool_messages_in_call_order():
    """TOOL-01: and the second request carries both."""
    client = ScriptedClient(calls(call("c1", "echo", text="a"), call("c2", "echo", text="b")), "done")
    result = await Agent("assistant", client, tools=echo).run("go")
    assert tool_texts(result.messages) == ["a", "b"]
    assert tool_texts(client.requests[1].messages) == ["a", "b"]
    assert result.status == Completed("done")


async def test_results_are_in_call_order_however_the_calls_finish():
    """1.2.4: the second call finishes first."""
    second_done = asyncio.Event()

    @tool
    async def wait(which: int) -> int:
        """Wait for the other."""
        if which == 1:
            await second_done.wait()
        else:
            second_done.set()
        return which

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "wait", which=1), call("c2", "wait", which=2)), "done"), tools=wait)
    assert tool_texts((await agent.run("go")).messages) == ["1", "2"]


async def test_a_wrapper_denies_and_the_tool_does_not_run():
    """TOOL-05."""
    ran: list[str] = []

    async def deny(_request: Any, _context: Any, _next: Any) -> ToolError:
        return ToolError("Denied: never allowed")

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="x")), "done"),
        tools=deploy_into(ran),
        middleware=Wrap("deny", tool=deny),
    )
    result = await agent.run("go")
    message = tool_results(result)["c1"]
    assert (message.content, message.is_error, message.outcome) == ('{"error":"Denied: never allowed"}', True, "denied")
    assert ran == []


@pytest.mark.parametrize("arguments", [{"text": "half \ud83d"}, {"text": 10**5000}])
async def test_a_models_call_that_cannot_be_stored_is_the_models_failure_and_recover_asks_again(arguments: Any, store: Checkpointer):
    """1.3.5: refused before it is stored; no tool ran."""
    client = ScriptedClient(calls(ToolCall("c1", "echo", arguments)), "done")
    agent = Agent("assistant", client, tools=echo, runtime=store)
    with pytest.raises(ModelFailed, match="has no JSON form"):
        await agent.run("go", thread_id="t")
    assert (await agent.recover("t")).answer == "done"


async def test_an_unknown_tool_is_an_error_result_and_no_middleware_runs():
    """3.2 step 1."""
    recorder = Recorder()
    result = await Agent("assistant", ScriptedClient(calls(call("c1", "nothing")), "done"), tools=echo, middleware=recorder).run("go")
    assert tool_texts(result.messages) == ['{"error":"Unknown tool \'nothing\'"}']
    assert recorder.seen == []


async def test_a_call_id_may_come_again_in_a_later_turn():
    """TOOL-34."""
    client = ScriptedClient(calls(call("c1", "echo", text="one")), "first", calls(call("c1", "echo", text="two")), "second")
    agent = Agent("assistant", client, tools=echo)
    first = await agent.run("a", thread_id="t")
    second = await agent.run("b", thread_id="t")
    assert (first.answer, second.answer) == ("first", "second")
    assert tool_texts(second.messages) == ["one", "two"]


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (calls(call("c1", "echo", text="a"), call("c1", "echo", text="b")), "'c1' is used more than once"),
        (calls(call(" ", "echo", text="a")), "a tool call has a blank id"),
        (AssistantMessage("  "), "the answer is blank"),
    ],
)
async def test_a_message_that_cannot_be_stored_fails_the_run_and_recover_asks_again(bad: Any, problem: str):
    """TOOL-36, TOOL-37, 1.3.5: nothing is stored and no tool ran."""
    client = ScriptedClient(bad, "done")
    agent = Agent("assistant", client, tools=echo)
    with pytest.raises(ModelFailed, match=problem):
        await agent.run("go", thread_id="t")
    stored = await agent.result("t")
    assert [message.role for message in stored.messages] == ["user"]
    assert (await agent.recover("t")).status == Completed("done")
    assert len(client.requests) == 2


async def test_a_request_without_its_tool_results_is_refused():
    """TOOL-38: whatever a wrapper changed is checked whole; the model is not called again."""

    async def dropping(request: Any, _context: Any, next: Any) -> Any:
        from dataclasses import replace

        return await next(replace(request, messages=tuple(one for one in request.messages if one.role != "tool")))

    client = ScriptedClient(calls(call("c1", "echo", text="a")), "done")
    agent = Agent("assistant", client, tools=echo, middleware=Wrap("drop", model=dropping))
    with pytest.raises(ModelFailed, match="tool call 'c1' has no result straight after it"):
        await agent.run("go")
    assert len(client.requests) == 1


async def test_the_idempotency_key_is_the_same_on_every_run_of_one_call_and_no_other(store: Checkpointer):
    """D13."""
    seen: list[tuple[str, str]] = []

    @tool
    async def keyed(context: ToolContext) -> Any:
        """Note the key."""
        seen.append((context.call_id, context.idempotency_key))
        return "ran" if context.approved else NeedsApproval("check")

    message = calls(call("c1", "keyed"), call("c2", "keyed"))
    agent = Agent("assistant", ScriptedClient(message, "done", message, "done", message), tools=keyed, runtime=store)
    result = await agent.run("go", thread_id="t")
    await agent.resume("t", [review.approve() for review in result.pending])
    result = await agent.run("again", thread_id="t")
    await agent.resume("t", [review.reject() for review in result.pending])
    await agent.run("elsewhere", thread_id="u")
    keys = {}
    for id, key in seen[:4]:
        keys.setdefault(id, set()).add(key)
    assert all(len(one) == 1 for one in keys.values())
    assert len({key for _, key in seen}) == 6
    assert all(len(key) == 64 and int(key, 16) >= 0 for _, key in seen)


async def test_a_request_that_a_wrapper_changed_is_checked_from_its_first_message():
    """1.3.5, D17: what earlier requests have shown to be right is not taken for granted in another one."""

    async def dropping(request: Any, _context: Any, next: Any) -> Any:
        from dataclasses import replace

        kept = tuple(one for one in request.messages if one.role != "tool" or one.tool_call_id != "c1")
        return await next(replace(request, messages=kept) if len(request.messages) > 4 else request)

    client = ScriptedClient(calls(call("c1", "echo", text="a")), calls(call("c2", "echo", text="b")), "done")
    agent = Agent("assistant", client, tools=echo, middleware=Wrap("drop", model=dropping))
    with pytest.raises(ModelFailed, match="tool call 'c1' has no result straight after it"):
        await agent.run("go")
    assert len(client.requests) == 2


async def test_what_a_tool_is_told_of_its_call(store: Checkpointer):
    """3.1.3: the run, the call's id, whether it was approved, and the thread's state, which it cannot change."""
    told: list[ToolContext] = []

    @tool
    async def look(context: ToolContext) -> Any:
        """Look around."""
        told.append(context)
        return "seen" if context.approved else NeedsApproval("check")

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "look")), "done"), tools=look, runtime=store)
    result = await agent.run("go", thread_id="t")
    await agent.resume("t", [review.approve() for review in result.pending])
    first, second = told
    assert [(one.call_id, one.approved, one.agent) for one in told] == [("c1", False, "assistant"), ("c1", True, "assistant")]
    assert (first.run.thread_id, first.run.run_id, first.run.task_id, first.run.node_id) == (
        "t",
        result.run_id,
        "2.0",
        "assistant/call-tool",
    )
    assert second.run.node_id == "assistant/approval"
    assert second.run.run_id != first.run.run_id
    assert [message.role for message in first.state[MESSAGES]] == ["user", "assistant"]
    first.state[MESSAGES].clear()
    assert len((await agent.result("t")).messages) == 4
    with pytest.raises(AttributeError):
        first.approved = True  # type: ignore[misc]  # the mistake under test


async def test_calls_of_one_message_that_name_a_tool_with_the_same_arguments_are_two_calls():
    """1.2.3, D13: told apart by their ids."""
    keys: list[str] = []

    @tool
    async def work(text: str, context: ToolContext) -> str:
        """Work."""
        keys.append(context.idempotency_key)
        return text

    client = ScriptedClient(calls(call("c1", "work", text="x"), call("c2", "work", text="x")), "done")
    result = await Agent("assistant", client, tools=work).run("go")
    assert tool_texts(result.messages) == ["x", "x"]
    assert len(set(keys)) == 2


async def test_a_call_from_the_model_is_never_an_edited_one(store: Checkpointer):
    """D12, F13: only a reviewer's edit marks a call, whatever the client says."""
    edited = ToolCall("c1", "echo", {"text": "a"}, edited=True)
    result = await Agent("assistant", ScriptedClient(calls(edited), "done"), tools=echo, runtime=store).run("go", thread_id="t")
    message = result.messages[1]
    assert isinstance(message, AssistantMessage)
    assert message.tool_calls == (ToolCall("c1", "echo", {"text": "a"}),)
