"""What a turn tells those who listen: agent.md 10.9 and section 8."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentNode, ToolError, tool
from llm4s_notebook.agent import events as agent_events
from llm4s_notebook.errors import ModelFailed
from llm4s_notebook.models import ScriptedClient, Usage, calls

from .support import AnswerReview, ConfirmTool, Info, Region, Wrap, call, deploy_into, echo, policy


async def heard(run: Any) -> list[Any]:
    """Everything a run says: agent events decoded, kernel events by name."""
    found: list[Any] = []
    async for record in run.events():
        event = record.event
        kind = type(event).__name__
        if kind in ("Custom", "Progress"):
            found.append(agent_events.decode(event.name, event.payload))
        else:
            found.append((kind, record.node_id))
    return found


def of(events: list[Any], *kinds: type) -> list[Any]:
    return [one for one in events if isinstance(one, kinds)]


async def test_one_tool_call_tells_its_start_its_result_and_one_durable_outcome():
    """EV-01, 8.1."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="a")), "done"), tools=echo)
    run = await agent.start("go", thread_id="t")
    await run
    events = await heard(run)
    stored = await agent.runtime.checkpointer.events_after("t", 0)
    durable = [agent_events.decode(one.event.name, one.event.payload) for one in stored if type(one.event).__name__ == "Custom"]
    assert [type(one).__name__ for one in durable] == ["ModelCallCompleted", "ToolExecuted", "ModelCallCompleted"]
    executed = of(durable, agent_events.ToolExecuted)[0]
    assert (executed.agent, executed.call_id, executed.tool, executed.outcome, executed.duration >= 0) == (
        "assistant",
        "c1",
        "echo",
        "Succeeded",
        True,
    )
    assert durable[0] == agent_events.ModelCallCompleted("assistant", "scripted", 1, 1, Usage(10, 20))
    assert of(events, agent_events.ToolExecuted) == [executed]


async def test_live_events_carry_the_arguments_and_the_result():
    """EV-01, 8.1: told while it happens, never stored."""
    gate = asyncio.Event()

    @tool
    async def slow(text: str) -> str:
        """Wait for the listener."""
        await gate.wait()
        return text

    async def held_up(request: Any, _context: Any, next: Any) -> Any:
        await gate.wait()
        return await next(request)

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "slow", text="SECRET")), "done"), tools=slow, middleware=Wrap("w", model=held_up)
    )
    run = await agent.start("go", thread_id="t")
    listening = asyncio.create_task(heard(run))
    await asyncio.sleep(0.01)
    gate.set()
    await run
    events = await listening
    assert of(events, agent_events.ToolCallStarted) == [agent_events.ToolCallStarted("c1", "slow", {"text": "SECRET"})]
    assert of(events, agent_events.ToolCallResult) == [agent_events.ToolCallResult("c1", "SECRET", False)]
    assert of(events, agent_events.ModelCallStarted) == [agent_events.ModelCallStarted("assistant", 1)] * 2
    assert not [one for one in await agent.runtime.checkpointer.events_after("t", 0) if "SECRET" in repr(one)]


async def test_unknown_tools_and_invalid_arguments_start_nothing():
    """EV-02: errored with zero duration; an unknown name is not stored."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "SECRETname"), call("c2", "echo", text=1)), "done"), tools=echo)
    run = await agent.start("go", thread_id="t")
    await run
    events = await heard(run)
    assert of(events, agent_events.ToolCallStarted) == []
    assert of(events, agent_events.ToolExecuted) == [
        agent_events.ToolExecuted("assistant", "c1", "<unknown>", 0.0, "Errored"),
        agent_events.ToolExecuted("assistant", "c2", "echo", 0.0, "Errored"),
    ]
    assert not [one for one in await agent.runtime.checkpointer.events_after("t", 0) if "SECRETname" in repr(one)]


async def test_a_denial_is_told_as_one():
    """EV-03."""

    async def deny(_request: Any, _context: Any, _next: Any) -> ToolError:
        return ToolError("Denied: no")

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="a")), "done"), tools=echo, middleware=Wrap("deny", tool=deny))
    run = await agent.start("go")
    await run
    assert [one.outcome for one in of(await heard(run), agent_events.ToolExecuted)] == ["Denied"]


async def test_an_approval_is_told_when_it_parks_and_again_when_it_is_decided():
    """EV-04, 8.3: rejected with zero duration."""
    message = calls(call("c1", "deploy", what="a"))
    agent = Agent("assistant", ScriptedClient(message, "done", message, "done"), tools=deploy_into([]), middleware=policy("deploy"))
    for answer, expected in (("reject", "Rejected"), ("approve", "Succeeded")):
        run = await agent.start("go", thread_id="t")
        result = await run
        assert [one.outcome for one in of(await heard(run), agent_events.ToolExecuted)] == ["NeedsApproval"]
        resumed = await agent.start_resume("t", [getattr(review, answer)() for review in result.pending])
        await resumed
        (executed,) = of(await heard(resumed), agent_events.ToolExecuted)
        assert executed.outcome == expected
        if answer == "reject":
            assert executed.duration == 0.0


async def test_questions_of_tools_are_told_as_asked():
    """8.4."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "confirm", text="x"))), tools=ConfirmTool())
    run = await agent.start("go")
    await run
    events = await heard(run)
    assert [one.outcome for one in of(events, agent_events.ToolExecuted)] == ["Asked"]
    assert events[-1] == ("RunSuspended", None)


async def test_a_failed_model_call_is_told_once_when_recovered():
    """EV-07, EV-10: task failed, then run failed, naming the model's node; nothing of the message is stored (D22)."""
    agent = Agent("assistant", ScriptedClient(OSError("SECRET trouble"), "done"))
    run = await agent.start("go", thread_id="t")
    with pytest.raises(ModelFailed, match="SECRET trouble"):
        await run
    events = await heard(run)
    assert events[-2:] == [("TaskFailed", "assistant/model"), ("RunFailed", None)]
    await agent.recover("t")
    stored = await agent.runtime.checkpointer.events_after("t", 0)
    assert len([one for one in stored if type(one.event).__name__ == "Custom"]) == 1
    assert not [one for one in stored if "SECRET" in repr(one)]


async def test_a_middleware_question_before_the_model_has_the_kernels_events_only():
    """EV-13, 8.5: run suspended, run resumed, run completed, in order."""
    agent = Agent("assistant", ScriptedClient("done"), middleware=[Region(), AnswerReview()], interrupt_before=AgentNode.FINISH)
    run = await agent.start("go", thread_id="t")
    result = await run
    assert [one for one in await heard(run) if not isinstance(one, tuple)] == []
    while waiting_now := result.pending:
        review = waiting_now[0]
        answer = review.reply(Info(value="ok")) if review.question is not None else review.proceed()
        result = await agent.resume("t", answer)
        if result.answer is not None:
            break
    stored = await agent.runtime.checkpointer.events_after("t", 0)
    runs = [type(one.event).__name__ for one in stored if type(one.event).__name__.startswith("Run")]
    assert runs == ["RunStarted", "RunSuspended", "RunResumed", "RunSuspended", "RunResumed", "RunSuspended", "RunResumed", "RunCompleted"]
    assert result.answer == "done"


async def test_streamed_text_is_told_as_it_comes_with_its_attempt():
    """8.1, 8.10."""
    agent = Agent("assistant", ScriptedClient("hello world", chunk_size=4, delay=0.001), stream=True)
    run = await agent.start("go", thread_id="t")
    listening = asyncio.create_task(heard(run))
    result = await run
    events = await listening
    assert result.answer == "hello world"
    deltas = of(events, agent_events.TextDelta)
    assert deltas
    assert "hello world".endswith("".join(one.text for one in deltas))
    assert {one.attempt for one in deltas} == {1}


async def test_a_handoff_is_told():
    """8.1."""
    target = Agent("target", ScriptedClient("done"))
    root = Agent("root", ScriptedClient(calls(call("h1", "handoff_to_target", reason="r"))), handoffs=target)
    run = await root.start("go")
    await run
    assert of(await heard(run), agent_events.HandedOff) == [agent_events.HandedOff("root", "target")]
    assert agent_events.decode("someone.else", {}) is None
