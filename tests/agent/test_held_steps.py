"""A step is held wherever it ends up being done: agent.md 5.2, and what holds of budgets, time and recover (5.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentNode, BreakpointPhase, Completed, Fatal, Suspended, Unfinished, tool
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import DeadlineExceeded, SuperstepLimitExceeded, ToolFailed
from llm4s_notebook.graph import RunBudgets, RunConfig
from llm4s_notebook.models import ScriptedClient, calls

from .support import (
    AnswerReview,
    ConfirmTool,
    Environment,
    Gate,
    Info,
    Region,
    call,
    echo,
    gated_into,
    only,
    roles,
    sizes,
    tool_texts,
    waiting,
)

BEFORE, AFTER = BreakpointPhase.BEFORE, BreakpointPhase.AFTER


def held(result: Any) -> list[tuple[str, BreakpointPhase]]:
    """(node, phase) of everything held."""
    return [(one.node, one.phase) for one in waiting(result).breakpoints.values()]


def proceed(result: Any) -> list[Any]:
    """Let everything held go on."""
    return [result.proceed(id) for id in waiting(result).breakpoints]


async def test_a_model_step_that_a_gate_let_through_is_held_after_it_ran(store: Checkpointer):
    """5.1.8, 5.2 row after MODEL: its message is stored, and what follows waits; 5.1.6: not held while the question waits."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "gated", what="x")), "done")
    agent = Agent("assistant", client, tools=gated_into(ran), middleware=Gate(), interrupt_after=AgentNode.MODEL, runtime=store)
    result = await agent.run("go", thread_id="t")
    assert sizes(result) == (0, 0, 1, 0)
    result = await agent.resume("t", result.reply(only(result)[0], True))
    assert held(result) == [("assistant/asked/gate/wrapModelCall", AFTER)]
    assert roles(result.messages) == ["user", "assistant"]
    assert result.pending[0].message == result.messages[-1]
    result = await agent.resume("t", proceed(result))
    assert sizes(result) == (1, 0, 0, 0)
    assert ran == []


@pytest.mark.parametrize("own", [True, False])
async def test_a_targets_breakpoint_after_finish_holds_an_answer_the_root_reviewed(own: bool, store: Checkpointer):
    """5.2 last row, 5.2.1: at the root's node, and the turn ends as the target's only once let go."""
    target = Agent("target", ScriptedClient("draft"), interrupt_after=AgentNode.FINISH if own else ())
    root = Agent(
        "root",
        ScriptedClient(calls(call("h1", "handoff_to_target", reason="r"))),
        handoffs=target,
        middleware=AnswerReview(),
        interrupt_after=() if own else AgentNode.FINISH,
        runtime=store,
    )
    result = await root.run("go", thread_id="t")
    result = await root.resume("t", result.reply(only(result)[0], Info(value="final")))
    assert held(result) == [("root/asked/review/afterAgent", AFTER)]
    assert (result.answer, result.active_agent) == (None, "target")
    assert result.messages[-1].content == "final"  # type: ignore[union-attr]  # an assistant message
    done = await root.resume("t", proceed(result))
    assert (done.status, done.active_agent) == (Completed("final"), "target")


async def test_the_roots_breakpoint_after_finish_does_not_hold_a_targets_own_finish(store: Checkpointer):
    """5.2: each agent's breakpoints name its own nodes."""
    target = Agent("target", ScriptedClient("draft"))
    root = Agent(
        "root",
        ScriptedClient(calls(call("h1", "handoff_to_target", reason="r"))),
        handoffs=target,
        interrupt_after=AgentNode.FINISH,
        runtime=store,
    )
    assert (await root.run("go", thread_id="t")).status == Completed("draft")


@pytest.mark.parametrize(
    ("node", "phase", "stored"),
    [
        ("input", BEFORE, []),
        ("input", AFTER, ["user"]),
        ("assistant/asked/region/beforeAgent", AFTER, ["user"]),
        ("assistant/collect", BEFORE, ["user", "assistant"]),
        ("assistant/collect", AFTER, ["user", "assistant", "tool"]),
        ("assistant/ask/confirm", AFTER, ["user", "assistant"]),
        ("assistant/finish", AFTER, ["user", "assistant", "tool", "assistant"]),
    ],
)
async def test_a_run_may_name_any_node(node: str, phase: BreakpointPhase, stored: list[str], store: Checkpointer):
    """5.2.2, 5.3.1: also those that belong to no AgentNode; the configuration has to be given again with each answer."""
    region = Region(word="go" if node == "input" and phase is AFTER else "region")
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "confirm", text="x")), "done"),
        tools=ConfirmTool(),
        middleware=region,
        runtime=store,
    )
    config = RunConfig(**{f"interrupt_{phase.name.lower()}": node})
    result = await agent.run("go", thread_id="t", config=config)
    stops: list[tuple[list[tuple[str, BreakpointPhase]], list[str]]] = []
    while result.pending:
        if waiting(result).breakpoints:
            stops.append((held(result), roles(result.messages)))
        (review,) = result.pending
        assert review.owner == "assistant"
        match review.kind:
            case "breakpoint":
                answer = review.proceed()
            case "question":
                answer = review.reply({"ok": True})
            case _:
                answer = review.reply(Info(value="eu"))
        result = await agent.resume("t", answer, config)
    assert stops == [([(node, phase)], stored)]
    assert result.status == Completed("done")


async def test_a_before_breakpoint_on_a_continuation_node_holds_nothing_of_the_agents_own(store: Checkpointer):
    """5.1.7: a person has just looked at that step; `interrupt_before` of an AgentNode never names one."""
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "gated", what="x"), call("c2", "confirm", text="y"), call("c3", "echo", text="z")), "done"),
        tools=[gated_into([]), ConfirmTool(), echo],
        middleware=[Environment(), Gate(), AnswerReview()],
        interrupt_before=list(AgentNode),
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    stops: list[str] = []
    while result.pending:
        stops += [node for node, _ in held(result)]
        answers: list[Any] = []
        for review in result.pending:
            match review.kind:
                case "breakpoint":
                    answers.append(review.proceed())
                case "approval":
                    answers.append(review.approve())
                case "question":
                    answers.append(review.reply({"ok": True}))
                case _:
                    answers.append(review.reply(True if review.middleware == "gate" else Info(value="ok")))
        result = await agent.resume("t", answers)
    assert result.status == Completed("done")
    assert stops == ["assistant/model", *["assistant/call-tool"] * 3, "assistant/model", "assistant/finish"]


async def test_each_resume_that_releases_costs_one_superstep_and_each_stop_counts_too(store: Checkpointer):
    """5.3.4, D10: exactly enough is enough; the node is not called again."""
    ran: list[str] = []

    @tool
    async def work(text: str) -> str:
        """Work."""
        ran.append(text)
        return text

    message = calls(*(call(f"c{n}", "work", text=str(n)) for n in range(3)))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=work, interrupt_after=AgentNode.TOOL, runtime=store)
    result = await agent.run("go", thread_id="t", config=RunConfig(budgets=RunBudgets(max_supersteps=3)))  # input, model, calls
    for _ in range(2):  # one at a time: one superstep a resume
        first = next(iter(waiting(result).breakpoints))
        result = await agent.resume("t", result.proceed(first), RunConfig(budgets=RunBudgets(max_supersteps=1)))
    last = proceed(result)
    done = await agent.resume("t", last, RunConfig(budgets=RunBudgets(max_supersteps=4)))  # release, collect, model, finish
    assert done.status == Completed("done")
    assert sorted(ran) == ["0", "1", "2"]


async def test_a_turn_over_its_budget_is_left_for_recover(store: Checkpointer):
    """5.3.4: nothing is lost; the next budget goes on."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="x")), "done"), tools=echo, runtime=store)
    with pytest.raises(SuperstepLimitExceeded):
        await agent.run("go", thread_id="t", config=RunConfig(budgets=RunBudgets(max_supersteps=2)))
    assert isinstance((await agent.result("t")).status, Unfinished)
    assert (await agent.recover("t")).status == Completed("done")


async def test_a_turn_over_its_time_is_left_for_recover(store: Checkpointer, monkeypatch: pytest.MonkeyPatch):
    """5.3.5, 2.4.8: the call that took too long runs again, its sibling does not."""
    ran: list[str] = []
    loop = asyncio.get_running_loop()
    over: list[Callable[[], object]] = []
    call_later = loop.call_later

    def later(delay: float, callback: Callable[..., object], *arguments: Any, **options: Any) -> asyncio.TimerHandle:
        if delay == 3600:
            over.append(lambda: callback(*arguments))
        return call_later(delay, callback, *arguments, **options)

    monkeypatch.setattr(loop, "call_later", later)

    @tool
    async def work(which: str) -> str:
        """Hang once on b; the run's time is over soon after it has come that far, and not before."""
        ran.append(which)
        if ran.count("b") == 1 and which == "b":
            call_later(0.1, over.pop())
            await asyncio.Event().wait()
        return which

    client = ScriptedClient(calls(call("c1", "work", which="a"), call("c2", "work", which="b")), "done")
    agent = Agent("assistant", client, tools=work, runtime=store)
    with pytest.raises(DeadlineExceeded):
        await agent.run("go", thread_id="t", config=RunConfig(budgets=RunBudgets(timeout=3600)))
    done = await agent.recover("t")
    assert tool_texts(done.messages) == ["a", "b"]
    assert (ran.count("a"), ran.count("b")) == (1, 2)


async def test_recover_obeys_the_breakpoints_it_is_started_with(store: Checkpointer):
    """5.3.5: for what was not released yet; what a person let go runs straight away."""
    ran: list[str] = []

    @tool
    async def shaky(which: str) -> Any:
        """Fail once."""
        ran.append(which)
        return Fatal(OSError("once")) if len(ran) == 1 else which

    client = ScriptedClient(calls(call("c1", "shaky", which="a")), "done")
    agent = Agent("assistant", client, tools=shaky, runtime=store)
    hold = RunConfig(interrupt_before={"assistant/call-tool", "assistant/finish"})  # type: ignore[arg-type]  # any set does
    result = await agent.run("go", thread_id="t", config=hold)
    with pytest.raises(ToolFailed):
        await agent.resume("t", proceed(result), hold)
    recovered = await agent.recover("t", hold)
    assert ran == ["a", "a"]
    assert held(recovered) == [("assistant/finish", BEFORE)]
    assert (await agent.resume("t", proceed(recovered))).status == Completed("done")


async def test_a_turn_that_waits_after_its_answer_can_be_given_up_with_everything_it_did(store: Checkpointer):
    """5.1.9, R6.36."""
    agent = Agent("assistant", ScriptedClient("first", "second"), interrupt_after=AgentNode.FINISH, runtime=store)
    result = await agent.run("go", thread_id="t")
    assert isinstance(result.status, Suspended)
    assert (await agent.abandon("t")).messages == ()
    again = await agent.run("go", thread_id="t")
    assert (await agent.resume("t", proceed(again))).answer == "second"


async def test_a_runs_breakpoints_add_to_the_agents_own(store: Checkpointer):
    """5.3.1: before and after; its other settings go along."""
    agent = Agent(
        "assistant",
        ScriptedClient("done"),
        interrupt_before=AgentNode.FINISH,
        interrupt_after=AgentNode.FINISH,
        runtime=store,
    )
    config = RunConfig(interrupt_before="assistant/model", interrupt_after="input", principal="ana", run_id="mine")  # type: ignore[arg-type]  # one stands for the set of it
    result = await agent.run("go", thread_id="t", config=config)
    assert (held(result), result.run_id) == ([("input", AFTER)], "mine")
    stops: list[tuple[str, BreakpointPhase]] = []
    while result.pending:
        stops += held(result)
        result = await agent.resume("t", proceed(result), RunConfig(interrupt_before="assistant/model"))  # type: ignore[arg-type]  # as above
    assert stops == [("input", AFTER), ("assistant/model", BEFORE), ("assistant/finish", BEFORE), ("assistant/finish", AFTER)]
