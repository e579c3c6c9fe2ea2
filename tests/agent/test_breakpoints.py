"""Static breakpoints of agents: agent.md 10.5 and section 5."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentNode, BreakpointPhase, BreakpointRequest, Completed, Fatal, tool
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError, InvalidResume, RunCancelled, SuperstepLimitExceeded, ToolFailed
from llm4s_notebook.graph import GraphRuntime, RunBudgets, RunConfig
from llm4s_notebook.models import AssistantMessage, ScriptedClient, ToolCall, calls

from .support import (
    AnswerReview,
    Confirmed,
    ConfirmTool,
    Environment,
    Gate,
    Info,
    Region,
    call,
    deploy_into,
    echo,
    gated_into,
    last_answer,
    policy,
    sizes,
    tool_texts,
    until,
    waiting,
)

BEFORE, AFTER = BreakpointPhase.BEFORE, BreakpointPhase.AFTER


def held(result: Any) -> list[tuple[str, BreakpointPhase, ToolCall | None]]:
    """(node, phase, call) of everything held."""
    return [(one.node, one.phase, one.call) for one in waiting(result).breakpoints.values()]


def proceed(result: Any) -> list[Any]:
    """Let everything held go on."""
    return [result.proceed(id) for id in waiting(result).breakpoints]


async def test_calls_of_one_message_are_held_one_each_and_let_through_one_at_a_time(store: Checkpointer):
    """BP-02, BP-03, 5.1.2: ran "two" then "one"."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="one"), call("c2", "deploy", what="two")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), interrupt_before=AgentNode.TOOL, runtime=store)
    result = await agent.run("go", thread_id="t")
    assert held(result) == [
        ("assistant/call-tool", BEFORE, call("c1", "deploy", what="one")),
        ("assistant/call-tool", BEFORE, call("c2", "deploy", what="two")),
    ]
    first, second = waiting(result).breakpoints
    after = await agent.resume("t", result.proceed(second))
    assert (list(waiting(after).breakpoints), ran, len(client.requests)) == ([first], ["two"], 1)
    done = await agent.resume("t", after.proceed(first))
    assert done.status == Completed("done")
    assert ran == ["two", "one"]


async def test_after_the_model_its_message_is_stored_and_its_calls_wait(store: Checkpointer):
    """BP-04, BP-05, BP-06."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="x")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), interrupt_after=[AgentNode.MODEL], runtime=store)
    result = await agent.run("go", thread_id="t")
    assert held(result) == [("assistant/model", AFTER, None)]
    message = result.messages[-1]
    assert isinstance(message, AssistantMessage)
    assert message.tool_calls == (call("c1", "deploy", what="x"),)
    assert waiting(result).breakpoints[next(iter(waiting(result).breakpoints))].message == message
    assert ran == []
    second = await agent.resume("t", proceed(result))
    assert ran == ["x"]
    assert held(second) == [("assistant/model", AFTER, None)]
    assert (last_answer(second), second.answer) == ("done", None)
    done = await agent.resume("t", proceed(second))
    assert done.status == Completed("done")
    assert len(client.requests) == 2


async def test_before_finish_the_answer_is_stored_and_not_yet_given(store: Checkpointer):
    """BP-07."""
    agent = Agent("assistant", ScriptedClient("hello"), interrupt_before=AgentNode.FINISH, runtime=store)
    result = await agent.run("go", thread_id="t")
    assert held(result) == [("assistant/finish", BEFORE, None)]
    assert (result.answer, last_answer(result)) == (None, "hello")
    assert result.pending[0].message == result.messages[-1]
    assert (await agent.resume("t", proceed(result))).status == Completed("hello")


async def test_a_run_brings_its_own_breakpoints_by_node_id(store: Checkpointer):
    """BP-08, 5.3.1: the resume without that configuration completes."""
    client = ScriptedClient("hello")
    agent = Agent("assistant", client, runtime=store)
    result = await agent.run("go", thread_id="t", config=RunConfig(interrupt_before=frozenset({"assistant/model"})))
    assert held(result) == [("assistant/model", BEFORE, None)]
    assert client.requests == []
    assert (await agent.resume("t", proceed(result))).status == Completed("hello")


async def test_an_unknown_node_is_refused_before_the_thread_is_touched(store: Checkpointer):
    """5.3.2: every bad node is named; also by resume and recover."""
    agent = Agent("assistant", ScriptedClient("hello"), runtime=store)
    config = RunConfig(interrupt_before=frozenset({"assistant/nope"}), interrupt_after=frozenset({"other/model", "assistant/model"}))
    for attempt in (agent.run("go", thread_id="t", config=config), agent.resume("t", {"1.0": None}, config), agent.recover("t", config)):
        with pytest.raises(ConfigError) as refused:
            await attempt
        assert refused.value.field == "breakpoints"
        assert [problem for problem in refused.value.problems if "assistant/nope" in problem or "other/model" in problem] == list(
            refused.value.problems
        )
        assert len(refused.value.problems) == 2
        assert "interrupt_before names node 'assistant/nope', which graph 'assistant' does not have" in refused.value.problems
    assert (await store.head("t")).checkpoint_id is None


async def test_after_a_tool_its_result_is_recorded_and_the_model_waits(store: Checkpointer):
    """BP-11, BP-12, 5.1.4."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="x")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), interrupt_after=AgentNode.TOOL, runtime=store)
    result = await agent.run("go", thread_id="t")
    assert held(result) == [("assistant/call-tool", AFTER, None)]
    assert (ran, len(client.requests)) == (["x"], 1)
    (review,) = result.pending
    assert review.result is not None
    assert (review.result.content, review.tool_name) == ("deployed x", None)
    done = await agent.resume("t", proceed(result))
    assert done.status == Completed("done")
    assert ran == ["x"]


async def test_a_gate_before_a_held_model_is_held_once(store: Checkpointer):
    """BP-14, 5.1.7: after proceed the gate asks; after the reply the call runs, not held again."""
    client = ScriptedClient("done")
    agent = Agent("assistant", client, middleware=Gate(), interrupt_before=AgentNode.MODEL, runtime=store)
    result = await agent.run("go", thread_id="t")
    assert held(result) == [("assistant/model", BEFORE, None)]
    result = await agent.resume("t", proceed(result))
    assert sizes(result) == (0, 0, 1, 0)
    done = await agent.resume("t", [review.reply(True) for review in result.pending])
    assert done.status == Completed("done")


@pytest.mark.parametrize("kind", ["approval", "question", "middleware"])
async def test_a_result_recorded_after_a_review_still_waits_before_the_model_sees_it(kind: str, store: Checkpointer):
    """BP-15, BP-16, 5.1.8: held at the node the step ran at."""
    ran: list[str] = []
    node = {"approval": "assistant/approval", "question": "assistant/ask/confirm", "middleware": "assistant/asked/env/wrapToolCall"}[kind]
    message = calls(
        {"approval": call("c1", "gated", what="x"), "question": call("c1", "confirm", text="x")}.get(kind, call("c1", "echo", text="x"))
    )
    agent = Agent(
        "assistant",
        ScriptedClient(message, "done"),
        tools=[gated_into(ran), ConfirmTool(), echo],
        middleware=[Environment()] if kind == "middleware" else (),
        interrupt_after=AgentNode.TOOL,
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    assert not waiting(result).breakpoints  # a suspended task is not held besides (5.1.6)
    (review,) = result.pending
    answer = {"approval": review.approve(), "question": review.reply(Confirmed(ok=True)), "middleware": review.reply(Info(value="p"))}[kind]
    result = await agent.resume("t", answer)
    assert held(result) == [(node, AFTER, None)]
    ((_, request),) = waiting(result).breakpoints.items()
    assert request.result == result.recorded_results[0]
    done = await agent.resume("t", proceed(result))
    assert done.status == Completed("done")
    assert len(tool_texts(done.messages)) == 1


async def test_a_reviewed_answer_is_held_after_finish(store: Checkpointer):
    """BP-17."""
    agent = Agent("assistant", ScriptedClient("draft"), middleware=AnswerReview(), interrupt_after=AgentNode.FINISH, runtime=store)
    result = await agent.run("go", thread_id="t")
    result = await agent.resume("t", [review.reply(Info(value="final")) for review in result.pending])
    assert held(result) == [("assistant/asked/review/afterAgent", AFTER, None)]
    assert (result.answer, last_answer(result)) == (None, "final")
    assert result.pending[0].message == result.messages[-1]
    assert (await agent.resume("t", proceed(result))).status == Completed("final")


def test_the_nodes_of_each_breakpoint_are_those_of_the_table():
    """BP-18, 5.2, 5.2.1, R5.45: after a step every node it can go on at, before it its own alone."""
    target = Agent("target", ScriptedClient(), tools=[ConfirmTool(), echo], middleware=Environment())
    root = Agent("root", ScriptedClient(), tools=echo, middleware=[Region("m1"), Gate("m2")], handoffs=target)

    def nodes(agent: str, node: AgentNode, phase: BreakpointPhase) -> set[str]:
        return set(root.breakpoint_nodes(node, phase, agent))

    table = {
        ("root", AgentNode.MODEL, BEFORE): {"root/model"},
        ("root", AgentNode.MODEL, AFTER): {"root/model", "root/asked/m1/wrapModelCall", "root/asked/m2/wrapModelCall"},
        ("root", AgentNode.TOOL, BEFORE): {"root/call-tool"},
        ("root", AgentNode.TOOL, AFTER): {
            "root/call-tool",
            "root/approval",
            "root/asked/m1/wrapToolCall",
            "root/asked/m2/wrapToolCall",
        },
        ("root", AgentNode.FINISH, BEFORE): {"root/finish"},
        ("root", AgentNode.FINISH, AFTER): {"root/finish", "root/asked/m1/afterAgent", "root/asked/m2/afterAgent"},
        ("target", AgentNode.MODEL, BEFORE): {"target/model"},
        ("target", AgentNode.MODEL, AFTER): {"target/model", "target/asked/env/wrapModelCall"},
        ("target", AgentNode.TOOL, BEFORE): {"target/call-tool"},
        ("target", AgentNode.TOOL, AFTER): {"target/call-tool", "target/approval", "target/ask/confirm", "target/asked/env/wrapToolCall"},
        ("target", AgentNode.FINISH, BEFORE): {"target/finish"},
        ("target", AgentNode.FINISH, AFTER): {
            "target/finish",
            "target/asked/env/afterAgent",
            "root/asked/m1/afterAgent",
            "root/asked/m2/afterAgent",
        },
    }
    for (agent, node, phase), expected in table.items():
        assert nodes(agent, node, phase) == expected, (agent, node, phase)
    assert root.breakpoint_nodes(AgentNode.MODEL, BEFORE) == {"root/model"}
    every = {node.id for node in root.graph.topology().nodes}
    assert set().union(*table.values()) <= every
    assert {"input", "root/collect", "root/asked/m1/beforeAgent"} <= every
    with pytest.raises(ConfigError, match="not in the family"):
        root.breakpoint_nodes(AgentNode.MODEL, BEFORE, "stranger")


async def test_breakpoints_are_no_part_of_the_version(store: Checkpointer):
    """BP-19, 5.3.3: an agent without them continues what one with them holds."""
    ran: list[str] = []
    with_them = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="x"))),
        tools=deploy_into(ran),
        interrupt_before=AgentNode.TOOL,
        runtime=GraphRuntime(store),
    )
    without = Agent("assistant", ScriptedClient("done"), tools=deploy_into(ran), stream=True, runtime=GraphRuntime(store))
    assert with_them.graph.version == without.graph.version
    assert len(with_them.graph.version) == 64
    result = await with_them.run("go", thread_id="t")
    done = await without.resume("t", proceed(result))
    assert done.status == Completed("done")
    assert ran == ["x"]


@pytest.mark.parametrize("answer", [{"decision": "approve"}, False, 0, "", {}, [], True])
async def test_a_breakpoint_takes_no_other_answer(answer: Any, store: Checkpointer):
    """BP-20, 2.4.5: still pending, and proceed works."""
    agent = Agent("assistant", ScriptedClient("done"), interrupt_before=AgentNode.MODEL, runtime=store)
    result = await agent.run("go", thread_id="t")
    (id,) = waiting(result).breakpoints
    with pytest.raises(InvalidResume) as refused:
        await agent.resume("t", {id: answer})
    assert refused.value.problems[0].interrupt_id == id
    assert (await agent.resume("t", result.proceed(id))).status == Completed("done")


async def test_recover_runs_a_released_call_without_holding_it(store: Checkpointer):
    """BP-21: the tool fails the run once after proceed."""
    ran: list[str] = []

    @tool
    async def shaky() -> Any:
        """Fail once."""
        ran.append("x")
        return Fatal(OSError("once")) if len(ran) == 1 else "fine"

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "shaky")), "done"), tools=shaky, interrupt_before=AgentNode.TOOL, runtime=store
    )
    result = await agent.run("go", thread_id="t")
    with pytest.raises(ToolFailed):
        await agent.resume("t", proceed(result))
    assert (await agent.recover("t")).status == Completed("done")
    assert len(ran) == 2


async def test_a_cancelled_continuation_is_recovered_without_being_held_again(store: Checkpointer):
    """BP-22, 5.3.5."""
    started: list[str] = []

    @tool
    async def hang() -> str:
        """Hang once."""
        started.append("x")
        if len(started) == 1:
            await asyncio.Event().wait()
        return "fine"

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "hang")), "done"), tools=hang, interrupt_before=AgentNode.TOOL, runtime=store
    )
    result = await agent.run("go", thread_id="t")
    run = await agent.start_resume("t", proceed(result))
    await until(lambda: bool(started))
    run.cancel()
    with pytest.raises(RunCancelled):
        await run
    assert (await agent.recover("t")).status == Completed("done")


async def test_after_finish_the_turn_ends_only_when_answered(store: Checkpointer):
    """BP-25, 5.1.9."""
    agent = Agent("assistant", ScriptedClient("hello"), interrupt_after=AgentNode.FINISH, runtime=store)
    result = await agent.run("go", thread_id="t")
    assert held(result) == [("assistant/finish", AFTER, None)]
    assert result.answer is None
    done = await agent.resume("t", proceed(result))
    assert (done.status, done.answer) == (Completed("hello"), "hello")


async def test_an_unknown_tool_is_held_before_anything_is_looked_at():
    """BP-26, 5.1.3."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "nothing", a=1)), "done"), tools=echo, interrupt_before=AgentNode.TOOL)
    result = await agent.run("go", thread_id="t")
    assert held(result) == [("assistant/call-tool", BEFORE, call("c1", "nothing", a=1))]
    done = await agent.resume("t", proceed(result))
    assert tool_texts(done.messages) == ['{"error":"Unknown tool \'nothing\'"}']


async def test_releasing_costs_supersteps_and_a_larger_budget_recovers(store: Checkpointer):
    """BP-27, 5.3.4, D10: one extra superstep per resume that releases any."""
    message = calls(*(call(f"c{n}", "echo", text=str(n)) for n in range(3)))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=echo, interrupt_after=AgentNode.TOOL, runtime=store)
    result = await agent.run("go", thread_id="t")
    assert len(held(result)) == 3
    with pytest.raises(SuperstepLimitExceeded):
        await agent.resume("t", proceed(result), RunConfig(budgets=RunBudgets(max_supersteps=1)))
    done = await agent.recover("t", RunConfig(budgets=RunBudgets(max_supersteps=10)))
    assert done.status == Completed("done")
    assert tool_texts(done.messages) == ["0", "1", "2"]


async def test_proceeding_twice_on_one_id_is_refused(store: Checkpointer):
    """BP-29."""
    message = calls(call("c1", "echo", text="a"), call("c2", "echo", text="b"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=echo, interrupt_before=AgentNode.TOOL, runtime=store)
    result = await agent.run("go", thread_id="t")
    first, _ = waiting(result).breakpoints
    await agent.resume("t", result.proceed(first))
    with pytest.raises(InvalidResume) as refused:
        await agent.resume("t", result.proceed(first))
    assert [problem.code for problem in refused.value.problems] == ["answered"]


async def test_a_breakpoint_an_approval_and_a_question_are_pending_together_and_answered_together(store: Checkpointer):
    """5.3.6, 2.4.2: a subset first, the rest later."""
    ran: list[str] = []
    message = calls(call("c1", "gated", what="x"), call("c2", "confirm", text="y"), call("c3", "echo", text="z"))
    agent = Agent(
        "assistant",
        ScriptedClient(message, "done"),
        tools=[gated_into(ran), ConfirmTool(), echo],
        interrupt_after=AgentNode.TOOL,
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    assert sizes(result) == (1, 1, 0, 1)
    approval, question, breakpoint = result.pending
    result = await agent.resume("t", [breakpoint.proceed(), question.reply(Confirmed(ok=True))])
    assert sizes(result) == (1, 0, 0, 1)
    result = await agent.resume("t", [approval.approve(), *proceed(result)])
    assert held(result) == [("assistant/approval", AFTER, None)]
    done = await agent.resume("t", proceed(result))
    assert done.status == Completed("done")
    assert tool_texts(done.messages) == ["did x", "really y? True", "z"]


async def test_every_agent_of_a_family_brings_its_own_breakpoints(store: Checkpointer):
    """5.1.1, 7.6: while the target's model is held, it is the active agent; 5.1.10: a handoff call is not held."""
    target = Agent("target", ScriptedClient("hello"), interrupt_before=AgentNode.MODEL)
    root = Agent(
        "root",
        ScriptedClient(calls(call("h1", "handoff_to_target", reason="r"))),
        handoffs=target,
        interrupt_before=AgentNode.TOOL,
        runtime=store,
    )
    result = await root.run("go", thread_id="t")
    assert held(result) == [("target/model", BEFORE, None)]
    assert result.active_agent == "target"
    assert (await root.resume("t", proceed(result))).status == Completed("hello")


async def test_holding_before_and_after_one_step_stops_twice(store: Checkpointer):
    """R5.5, F21 (agent part): each stop listed once, with its side."""
    agent = Agent(
        "assistant", ScriptedClient("hello"), interrupt_before=[AgentNode.MODEL], interrupt_after=[AgentNode.MODEL], runtime=store
    )
    result = await agent.run("go", thread_id="t")
    assert held(result) == [("assistant/model", BEFORE, None)]
    result = await agent.resume("t", proceed(result))
    assert held(result) == [("assistant/model", AFTER, None)]
    assert (await agent.resume("t", proceed(result))).status == Completed("hello")


def test_breakpoints_are_steps_and_not_node_ids():
    """api.md: AgentNode; a run's RunConfig names node ids."""
    with pytest.raises(ConfigError, match="is no AgentNode"):
        Agent("assistant", ScriptedClient(), interrupt_before=["assistant/model"])  # type: ignore[list-item]  # the mistake under test
    assert BreakpointRequest("n", BEFORE).call is None


async def test_an_approval_is_not_raised_while_its_call_is_held_before(store: Checkpointer):
    """5.1.3: nothing has happened yet; the answer lets the call run, which then asks."""
    ran: list[str] = []
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="x")), "done"),
        tools=deploy_into(ran),
        middleware=policy("deploy"),
        interrupt_before=AgentNode.TOOL,
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    assert sizes(result) == (0, 0, 0, 1)
    result = await agent.resume("t", proceed(result))
    assert sizes(result) == (1, 0, 0, 0)
    assert (await agent.resume("t", [review.approve() for review in result.pending])).status == Completed("done")
    assert ran == ["x"]
