"""Suspending and resuming: agent.md 10.1."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentNode, Answer, Completed, NeedsApproval, Suspended, ToolContext, tool
from llm4s_notebook.checkpoint import Checkpointer, SqliteCheckpointer
from llm4s_notebook.errors import InvalidResume, NotSuspended, PendingInterrupts
from llm4s_notebook.graph import Durability, GraphRuntime, RunConfig, RunStatus
from llm4s_notebook.models import ScriptedClient, calls

from .support import (
    Confirmed,
    ConfirmTool,
    Recorder,
    Wrap,
    call,
    deploy_into,
    echo,
    gated_into,
    policy,
    roles,
    sizes,
    tool_results,
    tool_texts,
    waiting,
)


async def test_a_rejected_call_never_runs_and_the_model_sees_the_reason(store: Checkpointer):
    """SUS-06, TOOL-06: reject "not on a Friday"."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="v1")), "understood")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=policy("deploy"), runtime=store)
    result = await agent.run("go", thread_id="t")
    assert sizes(result) == (1, 0, 0, 0)
    (id,) = waiting(result).approvals
    done = await agent.resume("t", result.reject(id, "not on a Friday"))
    assert done.status == Completed("understood")
    assert ran == []
    message = tool_results(done)["c1"]
    assert "Rejected: not on a Friday" in message.content
    assert (message.is_error, message.outcome) == (True, "rejected")
    assert client.requests[1].messages[-1] == message


async def test_an_asking_tool_parks_with_its_typed_question(store: Checkpointer):
    """SUS-08, SUS-09."""
    client = ScriptedClient(calls(call("c1", "confirm", text="go")), "confirmed")
    agent = Agent("assistant", client, tools=[ConfirmTool()], runtime=store)
    result = await agent.run("go", thread_id="t")
    assert sizes(result) == (0, 1, 0, 0)
    ((id, request),) = waiting(result).questions.items()
    assert request.call == call("c1", "confirm", text="go")
    assert request.question == {"prompt": "really go?"}
    done = await agent.resume("t", result.reply(id, Confirmed(ok=True)))
    assert done.status == Completed("confirmed")
    assert tool_texts(done.messages) == ["really go? True"]


async def test_a_waiting_thread_refuses_recover_and_a_new_turn_naming_what_waits(store: Checkpointer):
    """SUS-12, 2.4.6, F23: and nothing changes."""
    client = ScriptedClient(calls(call("c1", "deploy", what="v1")), "done")
    agent = Agent("assistant", client, tools=deploy_into([]), middleware=policy("deploy"), runtime=store)
    result = await agent.run("go", thread_id="t")
    before = await store.head("t")
    for attempt in (agent.recover("t"), agent.run("something else", thread_id="t")):
        with pytest.raises(PendingInterrupts, match=r"deploy") as refused:
            await attempt
        assert refused.value.thread_id == "t"
        assert refused.value.interrupt_ids == tuple(waiting(result).approvals)
        assert "resume" in refused.value.next_step
        assert "abandon" in refused.value.next_step
    assert await store.head("t") == before
    assert await agent.result("t") == result
    assert len(client.requests) == 1


@pytest.mark.parametrize(
    ("answers", "codes"),
    [
        ({}, ["empty"]),
        ([], ["empty"]),
        ({"2.0": 7}, ["invalid"]),
        ({"2.0": {"decision": "maybe"}}, ["invalid"]),
        ({"2.0": {"decision": "reject"}}, ["invalid"]),
        ({"2.0": {"decision": "edit"}}, ["invalid"]),
        ({"2.0": {"decision": "edit", "arguments": {"what": "x"}, "name": "other"}}, ["invalid"]),
        ({"2.0": {"decision": "approve", "name": "other"}}, ["invalid"]),
        ({"2.0": None}, ["invalid"]),
        ({"9.9": {"decision": "approve"}}, ["unknown"]),
        ([("2.0", {"decision": "approve"}), ("2.0", {"decision": "approve"})], ["repeated"]),
        ({"2.0": {"decision": "approve"}, "9.9": None}, ["unknown"]),
    ],
)
async def test_an_answer_that_will_not_do_is_refused_and_the_approval_stays_answerable(answers: Any, codes: list[str], store: Checkpointer):
    """SUS-14, SUS-15, SUS-16, F07, F12, 2.4.5: no decision, a tampered one, an unknown id, none at all."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="v1")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=policy("deploy"), runtime=store)
    result = await agent.run("go", thread_id="t")
    before = await store.head("t")
    with pytest.raises(InvalidResume) as refused:
        await agent.resume("t", answers)
    assert [problem.code for problem in refused.value.problems] == codes
    assert await store.head("t") == before
    assert ran == []
    assert (await agent.resume("t", result.approve("2.0"))).status == Completed("done")
    assert ran == ["v1"]


async def test_one_bad_answer_refuses_the_good_ones_with_it(store: Checkpointer):
    """SUS-16, D6: and every problem is named."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="a"), call("c2", "deploy", what="b")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=policy("deploy"), runtime=store)
    result = await agent.run("go", thread_id="t")
    first, second = waiting(result).approvals
    with pytest.raises(InvalidResume) as refused:
        await agent.resume("t", [result.approve(first), ("nobody", None), (second, {"decision": "reject", "reason": 3})])
    assert [(problem.interrupt_id, problem.code, problem.path) for problem in refused.value.problems] == [
        ("nobody", "unknown", ()),
        (second, "invalid", ("reason",)),
    ]
    assert ran == []
    assert await agent.result("t") == result


async def _mixed(store: Checkpointer, ran: list[str], recorder: Recorder) -> tuple[Agent, ScriptedClient]:
    client = ScriptedClient(
        calls(call("c1", "deploy", what="v1"), call("c2", "gated", what="g"), call("c3", "echo", text="free")), "all done"
    )
    agent = Agent(
        "assistant",
        client,
        tools=[deploy_into(ran), gated_into(ran), echo],
        middleware=[recorder, policy("deploy")],
        runtime=store,
    )
    return agent, client


async def test_approvals_of_one_message_come_in_call_order_with_their_sources(store: Checkpointer):
    """SUS-18, 3.5.1, F15: one approval node for all; the free call's result is recorded, the history holds only user and assistant."""
    agent, client = await _mixed(store, [], Recorder())
    result = await agent.run("go", thread_id="t")
    approvals = waiting(result).approvals
    assert [(request.call.id, request.source) for request in approvals.values()] == [("c1", "policy"), ("c2", "tool")]
    parked = await agent.runtime.pending("t", agent.graph)
    assert parked is not None
    assert [one.resume_node for one in parked.interrupts] == ["assistant/approval"] * 2
    assert [message.tool_call_id for message in result.recorded_results] == ["c3"]
    assert roles(result.messages) == ["user", "assistant"]
    assert len(client.requests) == 1


async def test_approving_one_runs_its_whole_chain_and_leaves_the_other(store: Checkpointer):
    """SUS-19: from the outermost wrapper, with approved true; results now in completion order; the model is not called."""
    ran: list[str] = []
    recorder = Recorder()
    agent, client = await _mixed(store, ran, recorder)
    result = await agent.run("go", thread_id="t")
    first, second = waiting(result).approvals
    recorder.seen.clear()
    after = await agent.resume("t", result.approve(first))
    assert recorder.seen == [("c1", True)]
    assert list(waiting(after).approvals) == [second]
    assert [message.tool_call_id for message in after.recorded_results] == ["c3", "c1"]
    assert len(client.requests) == 1
    done = await agent.resume("t", after.approve(second))
    assert done.status == Completed("all done")
    assert [message.tool_call_id for message in done.messages if message.role == "tool"] == ["c1", "c2", "c3"]
    assert ran == ["v1", "g"]


async def test_a_turn_goes_through_three_runtimes_with_three_durability_modes(tmp_path: Path):
    """SUS-21, SUS-26, 2.4.7: each suspension is stored before the call returns; the log tells it all, its numbers contiguous."""
    path = tmp_path / "threads.db"
    ran: list[str] = []
    result = None
    requests = 0
    for step, mode in enumerate((Durability.SYNC, Durability.ASYNC, Durability.ON_EXIT)):
        async with SqliteCheckpointer(path) as store:
            agent, client = await _mixed(store, ran, Recorder())
            if step:  # the first model message is in the file; this process's client answers the next call
                client.steps = client.steps[1:]
            config = RunConfig(durability=mode)
            if result is None:
                result = await agent.run("go", thread_id="t", config=config)
            else:
                id = next(iter(waiting(result).approvals))
                result = await agent.resume("t", result.approve(id), config)
            requests += len(client.requests)
            assert await agent.result("t") == result
            await agent.runtime.aclose()
    assert result is not None
    assert result.status == Completed("all done")
    assert requests == 2
    assert ran == ["v1", "g"]
    async with SqliteCheckpointer(path) as store:
        records = await store.events_after("t", 0)
    assert [record.sequence for record in records] == list(range(1, len(records) + 1))
    told = [(type(record.event).__name__, record.node_id) for record in records if type(record.event).__name__ != "CheckpointCommitted"]
    kernel = [one for one in told if one[0] != "Custom"]
    assert kernel[0] == ("RunStarted", None)
    assert kernel.count(("TaskSuspended", "assistant/call-tool")) == 2
    assert [name for name, _ in kernel if name.startswith("Run")] == [
        "RunStarted",
        "RunSuspended",
        "RunResumed",
        "RunSuspended",
        "RunResumed",
        "RunCompleted",
    ]
    assert kernel.count(("TaskCompleted", "assistant/approval")) == 2


async def test_an_approval_and_a_tool_question_are_answered_together(store: Checkpointer):
    """SUS-23, 2.4.2: the order in the map does not matter."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="v1"), call("c2", "confirm", text="go")), "done")
    agent = Agent("assistant", client, tools=[deploy_into(ran), ConfirmTool()], middleware=policy("deploy"), runtime=store)
    result = await agent.run("go", thread_id="t")
    assert sizes(result) == (1, 1, 0, 0)
    (approval,), (question,) = waiting(result).approvals, waiting(result).questions
    done = await agent.resume("t", dict([result.reply(question, Confirmed(ok=True)), result.approve(approval)]))
    assert done.status == Completed("done")
    assert tool_texts(done.messages) == ["deployed v1", "really go? True"]


async def test_an_agent_rebuilt_with_the_same_version_continues_with_its_own_parts(store: Checkpointer):
    """SUS-24, 2.4.10: another recorder outside, another client, a signing after_agent."""
    ran: list[str] = []

    async def sign(answer: str, _context: Any) -> str:
        return f"{answer} - signed"

    first = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="v1"))),
        tools=deploy_into(ran),
        middleware=[policy("deploy")],
        runtime=store,
        version="1",
    )
    result = await first.run("go", thread_id="t")
    recorder = Recorder()
    second = Agent(
        "assistant",
        ScriptedClient("done"),
        tools=deploy_into(ran),
        middleware=[recorder, policy("deploy"), Wrap("sign", after=sign)],
        runtime=GraphRuntime(store),
        version="1",
        stream=True,
        interrupt_before=[AgentNode.TOOL],
    )
    done = await second.resume("t", [result.approve(id) for id in waiting(result).approvals])
    assert recorder.seen == [("c1", True)]
    assert done.status == Completed("done - signed")


async def test_a_run_can_be_awaited_twice_and_cancelling_it_late_does_nothing():
    """SUS-27."""
    agent = Agent("assistant", ScriptedClient("hello"))
    run = await agent.start("hi", thread_id="t")
    first = await run
    run.cancel()
    second = await run
    assert first == second
    assert first.status == Completed("hello")
    assert run.status is RunStatus.COMPLETED
    assert (await agent.result("t")).status == Completed("hello")


async def test_three_calls_of_an_asking_tool_wait_at_once_each_bound_to_its_call(store: Checkpointer):
    """F01."""
    message = calls(*(call(f"c{n}", "confirm", text=str(n)) for n in range(3)))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=[ConfirmTool()], runtime=store)
    result = await agent.run("go")
    questions = waiting(result).questions
    assert len(set(questions)) == 3
    assert [(one.call.id, one.question) for one in questions.values()] == [(f"c{n}", {"prompt": f"really {n}?"}) for n in range(3)]


async def test_an_old_id_is_refused_after_the_model_tried_again(store: Checkpointer):
    """F03: the new call stays pending and has not run."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="a")), calls(call("c1", "deploy", what="b")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=policy("deploy"), runtime=store)
    first = await agent.run("go", thread_id="t")
    (old,) = waiting(first).approvals
    second = await agent.resume("t", first.approve(old))
    (new,) = waiting(second).approvals
    assert new != old
    with pytest.raises(InvalidResume) as refused:
        await agent.resume("t", first.approve(old))
    (problem,) = refused.value.problems
    assert (problem.code, problem.interrupt_id) == ("answered", old)
    assert await agent.result("t") == second
    assert ran == ["a"]


async def test_the_same_answers_again_after_completion_are_refused(store: Checkpointer):
    """F04: the model is not called again."""
    client = ScriptedClient(calls(call("c1", "deploy", what="a")), "done")
    agent = Agent("assistant", client, tools=deploy_into([]), middleware=policy("deploy"), runtime=store)
    result = await agent.run("go", thread_id="t")
    answers = [review.approve() for review in result.pending]
    await agent.resume("t", answers)
    with pytest.raises(NotSuspended):
        await agent.resume("t", answers)
    assert len(client.requests) == 2


@pytest.mark.parametrize("again", ["same", "other"])
async def test_an_id_that_was_answered_is_refused_saying_when_and_by_whom(again: str, store: Checkpointer):
    """F41: while another still waits; nothing changes."""
    ran: list[str] = []
    message = calls(call("c1", "deploy", what="a"), call("c2", "deploy", what="b"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=deploy_into(ran), middleware=policy("deploy"), runtime=store)
    result = await agent.run("go", thread_id="t")
    first, _ = waiting(result).approvals
    after = await agent.resume("t", result.approve(first), RunConfig(principal="ana"))
    with pytest.raises(InvalidResume) as refused:
        await agent.resume("t", result.approve(first) if again == "same" else result.reject(first))
    (problem,) = refused.value.problems
    assert (problem.code, problem.answered_by, problem.answered_at is not None) == ("answered", "ana", True)
    assert await agent.result("t") == after
    assert ran == ["a"]


async def test_a_free_call_runs_once_and_exactly_the_gated_two_are_answered(store: Checkpointer):
    """F06, F15."""
    ran: list[str] = []
    free: list[str] = []

    @tool
    async def look(where: str) -> str:
        """Look somewhere."""
        free.append(where)
        return "seen"

    message = calls(call("c1", "look", where="x"), call("c2", "deploy", what="a"), call("c3", "deploy", what="b"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=[look, deploy_into(ran)], middleware=policy("deploy"), runtime=store)
    result = await agent.run("go", thread_id="t")
    assert [request.call.id for request in waiting(result).approvals.values()] == ["c2", "c3"]
    done = await agent.resume("t", [review.approve() for review in result.pending])
    assert done.status == Completed("done")
    assert (free, sorted(ran)) == (["x"], ["a", "b"])


async def test_answers_can_be_built_from_any_result_and_from_none():
    """2.3.2, 2.3.3: they only encode."""
    result = await Agent("assistant", ScriptedClient("hello")).run("hi")
    assert result.approve("x") == Answer.approve("x") == ("x", {"decision": "approve"})
    assert result.reject("x", "no") == ("x", {"decision": "reject", "reason": "no"})
    assert result.edit("x", {"a": 1}) == ("x", {"decision": "edit", "arguments": {"a": 1}})
    assert result.reply("x", Confirmed(ok=True)) == ("x", {"ok": True})
    assert result.proceed("x") == ("x", None)
    assert "refused" in result.reject("x").value["reason"]
    assert dict([result.approve("a"), result.proceed("b")]) == {"a": {"decision": "approve"}, "b": None}


async def test_cancelling_a_resumed_run_leaves_the_thread_for_recover_and_asks_nobody_again(store: Checkpointer):
    """2.4.8, 2.4.9."""
    entered = asyncio.Event()
    attempts: list[bool] = []

    @tool
    async def slow(context: ToolContext) -> Any:
        """Wait on the first approved attempt."""
        if not context.approved:
            return NeedsApproval("slow")
        attempts.append(context.approved)
        if len(attempts) == 1:
            entered.set()
            await asyncio.Event().wait()
        return "finished"

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "slow")), "done"), tools=[slow], runtime=store)
    result = await agent.run("go", thread_id="t")
    run = await agent.start_resume("t", [review.approve() for review in result.pending])
    await entered.wait()
    run.cancel()
    with pytest.raises(Exception, match="cancelled"):
        await run
    stored = await agent.result("t")
    assert str(stored.status) == "UNFINISHED"
    done = await agent.recover("t")
    assert done.status == Completed("done")
    assert attempts == [True, True]
    assert not isinstance(done.status, Suspended)
