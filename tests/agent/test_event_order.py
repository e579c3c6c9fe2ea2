"""Events around a suspension, in their order: agent.md 8.2 to 8.11."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentNode, GuardrailReviewMiddleware, GuardrailVerdict, tool
from llm4s_notebook.agent import events as agent_events
from llm4s_notebook.agent._handoff import MIXED_BATCH
from llm4s_notebook.agent._run import AgentRun
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError, DeadlineExceeded, RunCancelled
from llm4s_notebook.graph import RunBudgets, RunConfig, RunContext
from llm4s_notebook.graph import events as kernel
from llm4s_notebook.guardrails import LengthCheck
from llm4s_notebook.models import Completion, ModelRequest, ScriptedClient, Usage, calls, compact

from .support import AnswerReview, ConfirmTool, Environment, Info, Wrap, call, deploy_into, echo, only, policy, told, until


async def names(agent: Agent) -> list[str]:
    """The kernel's durable events of thread t, by class and node, without checkpoints."""
    stored = await agent.runtime.checkpointer.events_after("t", 0)
    kept = [one for one in stored if not isinstance(one.event, kernel.Custom | kernel.CheckpointCommitted)]
    return [type(one.event).__name__ + (f" {one.node_id}" if one.node_id else "") for one in kept]


class Listener:
    """Follows a thread from before a run and keeps the agent's events of it."""

    def __init__(self, agent: Agent) -> None:
        self._events = agent.runtime.subscribe("t")

    async def of(self, run: AgentRun) -> list[Any]:
        """Those of this run, to its end."""
        heard: list[Any] = []
        async with asyncio.timeout(30):
            while True:
                record = await anext(self._events)
                event = record.event
                if record.run_id != run.run_id:
                    continue
                if isinstance(event, kernel.Custom | kernel.Progress):
                    heard.append(agent_events.decode(event.name, event.payload))
                elif isinstance(event, kernel.RunSuspended | kernel.RunCompleted):
                    return heard


async def test_the_kernels_events_of_a_turn_that_waits_and_goes_on(store: Checkpointer):
    """8.2, 8.5: a task that asks is suspended, one that is held is not; neither tells anything of the agent's."""
    agent = Agent("assistant", ScriptedClient("done"), middleware=AnswerReview(), interrupt_before=AgentNode.FINISH, runtime=store)
    result = await agent.run("go", thread_id="t")
    result = await agent.resume("t", [review.proceed() for review in result.pending])
    await agent.resume("t", result.reply(only(result)[0], Info(value="ok")))
    assert await names(agent) == [
        "RunStarted",
        "TaskCompleted input",
        "TaskCompleted assistant/model",
        "RunSuspended",
        "RunResumed",
        "TaskSuspended assistant/finish",
        "RunSuspended",
        "RunResumed",
        "TaskCompleted assistant/asked/review/afterAgent",
        "RunCompleted",
    ]
    assert [type(one).__name__ for one in await told(agent)] == ["ModelCallCompleted"]


@pytest.mark.parametrize("how", ["cancelled", "late"])
async def test_a_turn_that_is_stopped_says_how(how: str, store: Checkpointer):
    """8.2."""
    entered = asyncio.Event()

    @tool
    async def hang() -> str:
        """Hang."""
        entered.set()
        await asyncio.Event().wait()
        return "never"

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "hang"))), tools=hang, runtime=store)
    budget = RunBudgets(timeout=0.2 if how == "late" else None)
    run = await agent.start("go", thread_id="t", config=RunConfig(budgets=budget))
    if how == "cancelled":
        await until(entered.is_set)
        run.cancel()
    with pytest.raises(RunCancelled if how == "cancelled" else DeadlineExceeded):
        await run
    assert (await names(agent))[-1] == ("RunCancelled" if how == "cancelled" else "RunTimedOut")


async def test_a_rejected_call_starts_nothing_and_its_result_is_told_live():
    """8.3: approved, a second run starts it and tells how it ended."""
    message = calls(call("c1", "deploy", what="a"), call("c2", "deploy", what="b"))
    agent = Agent(
        "assistant",
        ScriptedClient(message, "done"),
        tools=deploy_into([]),
        middleware=policy("deploy"),
    )
    listener = Listener(agent)
    run = await agent.start("go", thread_id="t")
    result = await run
    first = await listener.of(run)
    assert [one.call_id for one in first if isinstance(one, agent_events.ToolCallStarted)] == ["c1", "c2"]
    assert [one.outcome for one in first if isinstance(one, agent_events.ToolExecuted)] == ["NeedsApproval"] * 2
    assert not [one for one in first if isinstance(one, agent_events.ToolCallResult)]
    rejected, approved = result.pending
    resumed = await agent.start_resume("t", [rejected.reject("no"), approved.approve()])
    await resumed
    second = await listener.of(resumed)
    assert [one.call_id for one in second if isinstance(one, agent_events.ToolCallStarted)] == ["c2"]
    assert [one for one in second if isinstance(one, agent_events.ToolCallResult)] == [
        agent_events.ToolCallResult("c1", '{"error":"Rejected: no"}', True),
        agent_events.ToolCallResult("c2", "deployed b", False),
    ]
    executed = {one.call_id: one for one in second if isinstance(one, agent_events.ToolExecuted)}
    assert executed["c1"] == agent_events.ToolExecuted("assistant", "c1", "deploy", 0.0, "Rejected")
    assert executed["c2"].outcome == "Succeeded"


@pytest.mark.parametrize("asker", ["tool", "wrapper"])
async def test_a_question_about_a_call_is_told_and_told_again_when_the_call_goes_on(asker: str, store: Checkpointer):
    """8.4: by the tool itself, and by a wrapper around it."""
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "confirm", text="x") if asker == "tool" else call("c1", "echo", text="x")), "done"),
        tools=[ConfirmTool(), echo],
        middleware=[] if asker == "tool" else Environment(),
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    assert [one.outcome for one in await told(agent) if isinstance(one, agent_events.ToolExecuted)] == ["Asked"]
    answer = {"ok": True} if asker == "tool" else Info(value="p")
    await agent.resume("t", [review.reply(answer) for review in result.pending])
    assert [one.outcome for one in await told(agent) if isinstance(one, agent_events.ToolExecuted)] == ["Asked", "Succeeded"]


@pytest.mark.parametrize("phase", ["Input", "Output"])
async def test_a_review_tells_nothing_until_a_person_blocks(phase: str, store: Checkpointer):
    """8.7: the question is silent; Block is told with the guardrail and the phase, never the reason."""
    guards = [LengthCheck(max=5)]
    review = GuardrailReviewMiddleware(input=guards) if phase == "Input" else GuardrailReviewMiddleware(output=guards)
    agent = Agent("assistant", ScriptedClient("far too long"), middleware=review, runtime=store)
    result = await agent.run("go on" if phase == "Output" else "a long query", thread_id="t")
    assert not [one for one in await told(agent) if isinstance(one, agent_events.GuardrailBlocked)]
    await agent.resume("t", result.reply(only(result)[0], GuardrailVerdict.block()))
    assert [one for one in await told(agent) if isinstance(one, agent_events.GuardrailBlocked)] == [
        agent_events.GuardrailBlocked("LengthCheck", phase)  # type: ignore[arg-type]  # one of the two
    ]
    assert "too long" not in repr(await store.events_after("t", 0))


async def test_blank_texts_of_hooks_tell_no_guardrail_event(store: Checkpointer):
    """8.8."""

    async def blank(_text: str, _context: RunContext) -> str:
        return " "

    for hook in ("before", "after"):
        agent = Agent("assistant", ScriptedClient("done"), middleware=Wrap("blank", **{hook: blank}), runtime=store)
        with pytest.raises(ConfigError):
            await agent.run("go", thread_id="t")
    assert not [one for one in await told(agent) if isinstance(one, agent_events.GuardrailBlocked)]


async def test_reading_a_runs_events_ends_after_its_last_one_whenever_it_begins(store: Checkpointer):
    """8.9: of a run that is over, from its start; the thread's subscription goes on from any number."""
    agent = Agent("assistant", ScriptedClient("one", "two"), runtime=store)
    first = await agent.start("go", thread_id="t")
    await first
    second = await agent.start("more", thread_id="t")
    await second
    for run in (first, second):
        heard = [one async for one in run.events()]
        assert {one.run_id for one in heard} == {run.run_id}
        assert isinstance(heard[0].event, kernel.RunStarted)
        assert isinstance(heard[-1].event, kernel.RunCompleted)
        assert [one.sequence for one in heard] == sorted(one.sequence or 0 for one in heard)
    everything = await store.events_after("t", 0)
    middle = everything[3].sequence
    assert middle is not None
    async with asyncio.timeout(30):
        follower = agent.runtime.subscribe("t", after=middle)
        rest = [await anext(follower) for _ in everything[4:]]
        await follower.aclose()  # type: ignore[attr-defined]  # as async iterators have it
    assert [one.sequence for one in rest] == [one.sequence for one in everything[4:]]


async def test_a_reader_that_does_not_keep_up_is_told_how_much_it_missed_and_the_turn_goes_on():
    """8.11: of what is told live; what is stored it can read again."""
    agent = Agent("assistant", ScriptedClient("a long streamed answer", chunk_size=1, delay=0), stream=True)
    reader = agent.runtime.subscribe("t", capacity=100)
    small = agent.runtime.subscribe("t", capacity=8)
    assert (await agent.run("go", thread_id="t")).answer == "a long streamed answer"
    heard: dict[str, list[Any]] = {"reader": [], "small": []}
    for name, subscription in (("reader", reader), ("small", small)):
        async with asyncio.timeout(30):
            while not any(isinstance(one, kernel.RunCompleted) for one in heard[name]):
                heard[name].append((await anext(subscription)).event)
        await subscription.aclose()  # type: ignore[attr-defined]  # as async iterators have it
    live = [one for one in heard["reader"] if isinstance(one, kernel.Progress)]
    few = [one for one in heard["small"] if isinstance(one, kernel.Progress)]
    (gap,) = [one for one in heard["small"] if isinstance(one, kernel.Gap)]
    assert len(live) == len("a long streamed answer") + 2  # with where the call begins and ends
    assert len(few) == 8
    assert gap.count == len(live) - len(few)
    assert not [one for one in heard["reader"] if isinstance(one, kernel.Gap)]


async def test_a_second_attempt_says_that_the_text_of_the_first_is_void():
    """8.10: attempts count from 1 in each task."""

    async def twice(request: ModelRequest, context: RunContext, next: Any) -> Completion:
        await next(request)
        return await next(request)

    agent = Agent(
        "assistant",
        ScriptedClient("first", "second", chunk_size=10),
        stream=True,
        middleware=Wrap("twice", model=twice),
    )
    listener = Listener(agent)
    run = await agent.start("go", thread_id="t")
    await run
    events = await listener.of(run)
    assert [one.attempt for one in events if isinstance(one, agent_events.ModelCallStarted)] == [1, 2]
    assert [(one.attempt, one.text) for one in events if isinstance(one, agent_events.TextDelta)] == [(1, "first"), (2, "second")]
    assert [one for one in events if isinstance(one, agent_events.ModelCallCompleted)] == [
        agent_events.ModelCallCompleted("assistant", "scripted", 2, 0, Usage(10, 20))
    ]


async def test_a_refused_batch_is_told_like_unknown_tools_but_for_its_handoffs():
    """8.7.1: errored with zero duration, and the rule as the live result; nothing was started."""
    message = calls(call("c1", "echo", text="x"), call("h1", "handoff_to_other", reason="r"), call("c2", "nothing"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=echo, handoffs=Agent("other", ScriptedClient()))
    listener = Listener(agent)
    run = await agent.start("go", thread_id="t")
    await run
    events = await listener.of(run)
    assert not [one for one in events if isinstance(one, agent_events.ToolCallStarted)]
    assert [one for one in events if isinstance(one, agent_events.ToolExecuted)] == [
        agent_events.ToolExecuted("assistant", "c1", "echo", 0.0, "Errored"),
        agent_events.ToolExecuted("assistant", "c2", "<unknown>", 0.0, "Errored"),
    ]
    rule = compact({"error": MIXED_BATCH})
    assert [one for one in events if isinstance(one, agent_events.ToolCallResult)] == [
        agent_events.ToolCallResult(id, rule, True) for id in ("c1", "c2")
    ]
    assert not [one for one in events if isinstance(one, agent_events.HandedOff)]
