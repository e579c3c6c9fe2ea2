"""Statuses, requests and answer builders: agent.md 2.1 to 2.3, and what a subset of answers leaves (2.4)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import (
    Agent,
    AgentNode,
    ApprovalRequest,
    BreakpointPhase,
    Completed,
    InterruptKind,
    MiddlewareHook,
    MiddlewareQuestionRequest,
    NeedsApproval,
    ToolContext,
    ToolQuestionRequest,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import DecodeError, EncodeError, InvalidResume, ThreadBusy
from llm4s_notebook.graph import GraphRuntime, RunConfig
from llm4s_notebook.models import ScriptedClient, calls

from .support import Confirm, Confirmed, ConfirmTool, Environment, Info, Need, Region, call, echo, gated_into, only, policy, sizes, waiting

EVERY_KIND = calls(
    call("c1", "echo", text="held"), call("c2", "echo", text="asked"), call("c3", "confirm", text="y"), call("c4", "gated", what="x")
)


class OnlyTheSecond(Environment):
    """Asks about call c2 alone."""

    async def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:
        return await (super().wrap_tool_call(request, context, next) if request.call.id == "c2" else next())


def every_kind(store: Checkpointer) -> Agent:
    """One message whose four calls wait in four ways."""
    return Agent(
        "assistant",
        ScriptedClient(EVERY_KIND, "done"),
        tools=[echo, ConfirmTool(), gated_into([])],
        middleware=OnlyTheSecond(),
        interrupt_after=AgentNode.TOOL,
        runtime=store,
    )


async def test_everything_that_waits_is_one_interrupt_in_exactly_one_of_the_four_lists(store: Checkpointer):
    """2.2.1, 2.2.2: together they are what the runtime has parked; 9.2: the flat view has the kinds in their order, not the calls."""
    agent = every_kind(store)
    result = await agent.run("go", thread_id="t")
    assert sizes(result) == (1, 1, 1, 1)
    status = waiting(result)
    parked = await agent.runtime.pending("t", agent.graph)
    assert parked is not None
    ids = [*status.approvals, *status.questions, *status.middleware_questions, *status.breakpoints]
    assert ids == ["2.3", "2.2", "2.1", "2.0"]
    assert sorted(ids) == [one.id for one in parked.interrupts]
    assert [(review.id, review.kind) for review in result.pending] == [
        ("2.3", InterruptKind.APPROVAL),
        ("2.2", InterruptKind.QUESTION),
        ("2.1", InterruptKind.MIDDLEWARE_QUESTION),
        ("2.0", InterruptKind.BREAKPOINT),
    ]


async def test_what_each_kind_of_request_contains(store: Checkpointer):
    """2.2.3, 5.1.5."""
    result = await every_kind(store).run("go", thread_id="t")
    status, message = waiting(result), result.messages[-1].id
    assert status.approvals["2.3"] == ApprovalRequest(call("c4", "gated", what="x"), "it is dangerous", "tool", message)
    assert status.questions["2.2"] == ToolQuestionRequest(call("c3", "confirm", text="y"), {"prompt": "really y?"}, False, message)
    assert status.middleware_questions["2.1"] == MiddlewareQuestionRequest(
        "assistant",
        "env",
        MiddlewareHook.WRAP_TOOL_CALL,
        {"what": "where to run c2?"},
        call("c2", "echo", text="asked"),
        message_id=message,
    )
    held = status.breakpoints["2.0"]
    assert (held.node, held.phase, held.call) == ("assistant/call-tool", BreakpointPhase.AFTER, None)
    assert held.result is not None
    assert (held.result.tool_call_id, held.result.content) == ("c1", "held")


async def test_a_pending_question_decodes_as_the_askers_type_and_as_no_other(store: Checkpointer):
    """2.2.4."""
    result = await every_kind(store).run("go", thread_id="t")
    status = waiting(result)
    assert status.questions["2.2"].decode(Confirm) == Confirm(prompt="really y?")
    assert status.middleware_questions["2.1"].decode(Need) == Need(what="where to run c2?")
    for request in (status.questions["2.2"], status.middleware_questions["2.1"]):
        with pytest.raises(DecodeError):
            request.decode(Confirmed)


async def test_a_result_is_a_value_and_continuing_uses_its_thread_alone(store: Checkpointer):
    """2.1.1, 2.1.2: `answer` is the text when completed and otherwise nothing."""
    agent = every_kind(store)
    result = await agent.run("go", thread_id="t")
    assert (result.thread_id, result.active_agent, result.answer) == ("t", "assistant", None)
    # four kinds in one resume, in an order of their own (2.4.2); the answered ones are then held after they ran
    answers = [
        result.proceed("2.0"),
        result.reply("2.1", Info(value="p")),
        result.approve("2.3"),
        result.reply("2.2", Confirmed(ok=True)),
    ]
    held = await agent.resume("t", answers)
    assert sizes(held) == (0, 0, 0, 3)
    done = await agent.resume("t", dict([held.proceed(id) for id in waiting(held).breakpoints]))
    assert (done.answer, done.status, done.pending) == ("done", Completed("done"), ())
    assert done == await agent.with_(runtime=GraphRuntime(store)).result("t")
    assert result.pending  # the earlier value is what it was
    assert done.run_id != result.run_id


async def test_what_a_continuation_asks_has_a_new_id_and_is_listed_with_what_is_left_over(store: Checkpointer):
    """2.4.1, 2.4.4: what is not answered stays open under the same id."""
    message = calls(call("c1", "confirm", text="x"), call("c2", "gated", what="y"))
    agent = Agent(
        "assistant", ScriptedClient(message, "done"), tools=[ConfirmTool(), gated_into([])], middleware=policy("confirm"), runtime=store
    )
    first = await agent.run("go", thread_id="t")
    asking, other = waiting(first).approvals
    second = await agent.resume("t", first.approve(asking))
    assert list(waiting(second).approvals) == [other]
    (question,) = waiting(second).questions
    assert question not in (asking, other)
    third = await agent.resume("t", second.approve(other))
    assert list(waiting(third).questions) == [question]
    assert (await agent.resume("t", third.reply(question, Confirmed(ok=True)))).status == Completed("done")


async def test_builders_only_encode_and_resume_decides_what_an_id_takes(store: Checkpointer):
    """2.3.1, 2.3.3, 2.3.4: `proceed` is null, the one answer a breakpoint takes; a typed value is written as its JSON."""
    agent = every_kind(store)
    result = await agent.run("go", thread_id="t")
    assert result.proceed("2.0") == ("2.0", None)
    assert result.reply("2.1", Info(value="p")) == ("2.1", {"value": "p"})
    with pytest.raises(InvalidResume) as refused:
        await agent.resume("t", [result.proceed("2.1"), result.approve("2.0"), result.reply("2.3", Confirmed(ok=True))])
    assert [problem.interrupt_id for problem in refused.value.problems] == ["2.0", "2.1", "2.3"]
    assert await agent.result("t") == result


@pytest.mark.parametrize("value", [object(), float("nan"), {1: 2}, {"a": {3}}])
async def test_a_value_without_json_form_is_refused(value: Any, store: Checkpointer):
    """9.6: by the builder, or by `resume` where a plain pair is given; nothing changes."""
    agent = every_kind(store)
    result = await agent.run("go", thread_id="t")
    with pytest.raises((EncodeError, InvalidResume)):
        await agent.resume("t", result.reply("2.1", value))
    with pytest.raises((EncodeError, InvalidResume)):
        await agent.resume("t", {"2.1": value})
    assert await agent.result("t") == result


async def test_a_thread_that_waits_was_stored_before_the_call_returned(store: Checkpointer):
    """2.4.7: whatever the durability mode, another runtime reads it at once."""
    from llm4s_notebook.graph import Durability

    for mode in Durability:
        agent = every_kind(store)
        result = await agent.run("go", thread_id=mode.value, config=RunConfig(durability=mode))
        assert await agent.with_(runtime=GraphRuntime(store)).result(mode.value) == result
        id, _ = only(result)
        result = await agent.resume(mode.value, result.reply(id, Info(value="p")), RunConfig(durability=mode))
        assert await agent.with_(runtime=GraphRuntime(store)).result(mode.value) == result


async def test_while_a_run_holds_the_thread_no_answer_is_taken(store: Checkpointer):
    """2.4.5: refused as busy, from this runtime and from another; afterwards the same answer is."""
    gate, entered = asyncio.Event(), asyncio.Event()

    @tool
    async def slow(context: ToolContext, text: str) -> Any:
        """Wait once approved."""
        if not context.approved:
            return NeedsApproval("slow")
        if text == "first":
            entered.set()
            await gate.wait()
        return text

    client = ScriptedClient(calls(call("c1", "slow", text="first"), call("c2", "slow", text="second")), "done")
    agent = Agent("assistant", client, tools=slow, runtime=store)
    result = await agent.run("go", thread_id="t")
    first, second = result.pending
    run = await agent.start_resume("t", first.approve())
    await entered.wait()
    for one in (agent, agent.with_(runtime=GraphRuntime(store))):
        with pytest.raises(ThreadBusy):
            await one.resume("t", second.approve())
        with pytest.raises(ThreadBusy):
            await one.recover("t")
        with pytest.raises(ThreadBusy):
            await one.run("more", thread_id="t")
    gate.set()
    after = await run
    assert after.pending == (second,)
    assert (await agent.resume("t", second.approve())).status == Completed("done")


async def test_a_result_says_what_its_turn_was_asked(store: Checkpointer):
    """2.1.1: as the caller wrote it, whatever hooks made of it; nothing once the turn was taken back."""
    agent = Agent(
        "assistant", ScriptedClient("one", calls(call("c1", "gated", what="x"))), tools=gated_into([]), middleware=Region(), runtime=store
    )
    waits = await agent.run("go", thread_id="t")
    assert waits.query is None  # nothing of the turn is stored yet
    done = await agent.resume("t", waits.reply(only(waits)[0], Info(value="eu")))
    assert (done.query, done.messages[0].content) == ("go", "go (region eu)")  # type: ignore[union-attr]  # a user message
    assert (await agent.run("my region", thread_id="t")).query == "my region"
    assert (await agent.abandon("t")).query is None
