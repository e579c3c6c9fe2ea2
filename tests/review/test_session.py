"""One thread driven for a person, in code: no widget, no notebook."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.agent import Answer, Blocked, Completed, Suspended
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import (
    ConfigError,
    IncompleteRun,
    InvalidResume,
    ModelFailed,
    NotSuspended,
    PendingInterrupts,
    RunCancelled,
    ThreadNotFound,
)
from llm4s_notebook.graph import BreakpointPhase, Command, StateKey
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session

from .asking_graph import asking
from .loops import elsewhere, other_loop
from .turns import SLOW, Region, Shop, deployment, deployments, guarded, ids, until


async def test_a_turn_is_run_answered_and_finished(store: Checkpointer):
    """W1.1: the session gives results as the agent does, and its document says the same."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "it is out", store=store), "t")
    assert session.state().status == "new"
    result = await session.run("ship it")
    assert isinstance(result.status, Suspended)
    state = session.state()
    assert (state.status, state.status_text, state.can_run, state.can_recover) == ("suspended", "waits for 1 answer", False, False)
    assert ids(state.pending) == [review.id for review in result.pending] == ["2.0"]
    assert shop.ran == []
    result = await session.answer(result.approve("2.0"))
    assert result.status == Completed("it is out")
    assert session.result == result
    assert shop.ran == ["deploy prod 1.0"]
    state = session.state()
    assert (state.status, state.answer, state.query, state.can_run) == ("completed", "it is out", "ship it", True)


async def test_what_waits_is_equal_in_result_session_and_another_reader_after_every_step(tmp_path: Path):
    """F10: `result.pending`, `Session.state()` and `pending` read afresh from the file."""
    shop = Shop()
    store = SqliteCheckpointer(tmp_path / "t.db")
    session = Session(shop.agent(deployments("1.0", "2.0", "3.0"), "out", store=store), "t")
    result = await session.run("ship")
    while isinstance(result.status, Suspended):
        async with SqliteCheckpointer(tmp_path / "t.db") as other:
            fresh = await Shop().agent("never", store=other).result("t")
        reader = Session(shop.agent("never", store=store), "t")
        await reader.refresh()
        assert [str(review) for review in result.pending] == [str(review) for review in fresh.pending]
        assert ids(session.state().pending) == ids(reader.state().pending) == ids(result.pending)
        result = await session.answer(Answer.approve(result.pending[-1].id))
    assert session.state().pending == []
    await store.aclose()


async def test_a_refused_call_raises_and_is_shown_and_changes_nothing(store: Checkpointer):
    """D2, W1.5: a refusal is raised to the caller and drawn."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "out", store=store), "t")
    with pytest.raises(ConfigError) as blank:
        await session.run("  ")
    assert session.error is blank.value
    assert session.state().error is not None
    assert session.state().status == "new"
    await session.run("ship")
    assert session.error is None
    before = session.state()
    with pytest.raises(PendingInterrupts) as waiting:
        await session.run("another")
    assert waiting.value.interrupt_ids == ("2.0",)
    with pytest.raises(InvalidResume) as invalid:
        await session.answer({"2.0": 7})
    assert [(problem.interrupt_id, problem.code) for problem in invalid.value.problems] == [("2.0", "invalid")]
    after = session.state()
    assert after.pending == before.pending
    assert shop.ran == []


async def test_an_answered_id_is_refused_with_when_and_by_whom_and_what_is_pending_now(store: Checkpointer):
    """F41, F04, W1.3: the same answer again and another one are both refused; nothing changes."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0", "2.0"), "out", store=store), "t", principal="ana")
    await session.run("ship")
    await session.answer(Answer.approve("2.0"))
    for again in (Answer.approve("2.0"), Answer.reject("2.0", "too late")):
        with pytest.raises(InvalidResume) as refused:
            await session.answer(again)
        (problem,) = refused.value.problems
        assert (problem.code, problem.answered_by) == ("answered", "ana")
        assert problem.answered_at is not None
        assert "deploy" in problem.message
        assert "2.1" in problem.message
    assert shop.ran == ["deploy prod 1.0"]
    assert ids(session.state().pending) == ["2.1"]
    assert [(answered.id, answered.by) for answered in session.state().answered] == [("2.0", "ana")]


async def test_an_unknown_id_is_refused_as_unknown_and_names_what_is_pending():
    """W1.3, F25: an id that never waited here."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "out"), "t")
    await session.run("ship")
    with pytest.raises(InvalidResume) as refused:
        await session.answer(Answer.approve("9.9"))
    (problem,) = refused.value.problems
    assert (problem.code, problem.interrupt_id) == ("unknown", "9.9")
    assert "APPROVAL 2.0" in problem.message


async def test_resuming_after_the_turn_has_ended_is_refused_and_calls_no_model():
    """F04: the payload of an answered resume, sent again after completion."""
    shop = Shop()
    client = ScriptedClient(deployments("1.0"), "out")
    session = Session(shop.agent(client), "t")
    await session.run("ship")
    await session.answer(Answer.approve("2.0"))
    with pytest.raises(InvalidResume):
        await session.answer(Answer.approve("2.0"))
    with pytest.raises(NotSuspended):
        await session.answer(Answer.approve("8.8"))
    assert len(client.requests) == 2
    assert shop.ran == ["deploy prod 1.0"]


async def test_answers_given_while_another_still_runs_are_queued_and_the_batch_ends_once():
    """F11, D23: three waits answered in three calls at once; status never goes backwards."""
    shop = Shop()
    client = ScriptedClient(deployments("1.0", "2.0", "3.0"), "out")
    session = Session(shop.agent(client), "t")
    await session.run("ship")
    left: list[int] = []
    session.observe(lambda state: left.append(len(state.pending)))
    results = await asyncio.gather(*(session.answer(Answer.approve(id)) for id in ("2.1", "2.0", "2.2")))
    assert [isinstance(result.status, Completed) for result in results] == [False, False, True]
    assert sorted(shop.ran) == ["deploy prod 1.0", "deploy prod 2.0", "deploy prod 3.0"]
    assert len(client.requests) == 2
    assert left == sorted(left, reverse=True)


async def test_commands_from_a_loop_of_another_thread_are_serialised_with_those_of_this_one(store: Checkpointer):
    """F29, D23: a widget's callback may arrive on a subshell's loop."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0", "2.0"), "out", store=store), "t")
    await session.run("ship")
    with other_loop() as loop:
        here = asyncio.create_task(session.answer(Answer.approve("2.0")))
        there = await elsewhere(loop, session.answer(Answer.approve("2.1")))
        await here
    assert {type(there.status), type(here.result().status)} == {Suspended, Completed}
    assert sorted(shop.ran) == ["deploy prod 1.0", "deploy prod 2.0"]


async def test_cancel_overtakes_and_recover_finishes_what_was_cancelled(store: Checkpointer):
    """D23: only cancel overtakes; the run is out when it returns."""
    shop = Shop()
    session = Session(shop.agent(SLOW, "done", store=store), "t")
    running = asyncio.create_task(session.run("go"))
    await shop.started.wait()
    queued = asyncio.create_task(session.run("queued behind it"))
    assert session.running
    await until(lambda: (run := session.state().run) is not None and run.nodes == ["assistant/call-tool"])
    assert {node.id for node in session.state().graph.nodes if node.status == "running"} == {"assistant/call-tool"}
    assert session.state().can_cancel
    await session.cancel()
    assert not session.running
    with pytest.raises(RunCancelled):
        await running
    with pytest.raises(IncompleteRun):
        await queued
    state = session.state()
    assert (state.status, state.can_recover) == ("unfinished", True)
    shop.gate.set()
    result = await session.recover()
    assert result.status == Completed("done")
    assert shop.ran == ["slow a", "slow a"]


async def test_cancelling_the_caller_cancels_the_run_and_waits_for_it(store: Checkpointer):
    """D2: an interrupted cell does this."""
    shop = Shop()
    session = Session(shop.agent(SLOW, "done", store=store), "t")
    running = asyncio.create_task(session.run("go"))
    await shop.started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not session.running
    assert session.state().status == "unfinished"
    assert (await store.head("t")).claim is None


async def test_cancel_with_nothing_running_is_nothing():
    """D23: nothing to overtake."""
    session = Session(Shop().agent("hello"), "t")
    await session.cancel()
    assert session.state().status == "new"
    assert (await session.run("hi")).answer == "hello"


async def test_a_failed_run_is_raised_shown_and_recovered(store: Checkpointer):
    """W1.5: the error that ended the run is in the document until the next run is admitted."""
    shop = Shop()
    session = Session(shop.agent(RuntimeError("model is down"), "back again", store=store), "t")
    with pytest.raises(ModelFailed):
        await session.run("hi")
    state = session.state()
    assert state.error is not None
    assert (state.error.type, state.status, state.can_recover) == ("ModelFailed", "unfinished", True)
    assert "model is down" in state.error.what
    with pytest.raises(ModelFailed):
        await session.reviewed()
    assert (await session.recover()).answer == "back again"
    assert session.state().error is None


async def test_abandon_gives_the_waiting_turn_up_and_the_thread_is_usable(store: Checkpointer):
    """F23: the way out that the refusal names."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "hello", store=store), "t")
    await session.run("ship")
    await session.abandon()
    state = session.state()
    assert state.pending == []
    assert state.messages == []
    assert state.can_run
    assert (await session.run("hi")).answer == "hello"
    assert shop.ran == []


async def test_two_sessions_answered_in_reverse_order_are_independent():
    """F35: two threads wait in one kernel."""
    shop = Shop()
    store = InMemoryCheckpointer()
    first = Session(shop.agent(deployments("1.0"), "one", store=store), "a")
    second = Session(shop.agent(deployments("2.0"), "two", store=store), "b")
    await first.run("ship")
    await second.run("ship")
    assert (await second.answer(Answer.approve("2.0"))).answer == "two"
    assert first.state().status == "suspended"
    assert (await first.answer(Answer.approve("2.0"))).answer == "one"


async def test_breakpoints_of_the_person_go_with_run_answer_and_recover_and_the_agents_own_stay(store: Checkpointer):
    """D15, W3.2: a step's switch holds its continuation nodes too."""
    shop = Shop()
    from llm4s_notebook.agent import AgentNode

    agent = shop.agent(deployments("1.0"), "out", store=store, interrupt_after=AgentNode.MODEL)
    session = Session(agent, "t")
    session.breakpoints.hold("assistant/call-tool", BreakpointPhase.AFTER)
    nodes = {node.id: node for node in session.state().graph.nodes}
    assert nodes["assistant/model"].hold_after == "fixed"
    assert (nodes["assistant/call-tool"].hold_after, nodes["assistant/approval"].hold_after) == ("on", "on")
    result = await session.run("ship")
    assert [review.node for review in result.pending] == ["assistant/model"]
    result = await session.answer(result.pending[0].proceed())
    result = await session.answer(result.pending[0].approve())
    assert [(review.node, review.phase) for review in result.pending] == [("assistant/approval", BreakpointPhase.AFTER)]
    session.breakpoints.clear()
    result = await session.answer(result.pending[0].proceed())
    assert [review.node for review in result.pending] == ["assistant/model"]
    assert (await session.answer(result.pending[0].proceed())).answer == "out"
    with pytest.raises(ConfigError):
        session.breakpoints.hold("assistant/approval", BreakpointPhase.BEFORE)
    with pytest.raises(ConfigError):
        session.breakpoints.hold("assistant/nowhere", BreakpointPhase.BEFORE)


async def test_a_breakpoint_of_the_person_is_not_stored(store: Checkpointer):
    """D15: another session on the thread holds nothing."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "out", store=store), "t")
    session.breakpoints.hold("assistant/finish", BreakpointPhase.BEFORE)
    await session.run("ship")
    other = Session(shop.agent("out", store=store), "t")
    assert (await other.answer(Answer.approve("2.0"))).answer == "out"


async def test_the_document_says_where_the_thread_lives(tmp_path: Path):
    """W4.3: in memory, or the file."""
    assert Session(Shop().agent("x")).state().storage.text == "in memory: gone when the kernel stops"
    async with SqliteCheckpointer(tmp_path / "t.db") as store:
        storage = Session(Shop().agent("x", store=store)).state().storage
    assert (storage.kind, storage.path, storage.text) == ("file", str(tmp_path / "t.db"), str(tmp_path / "t.db"))


async def test_a_thread_without_an_id_gets_a_fresh_one():
    """api.md: thread_id None."""
    one, two = Session(Shop().agent("x")), Session(Shop().agent("x"))
    assert one.thread_id != two.thread_id
    assert one.state().thread_id == one.thread_id


async def test_opening_the_same_turn_again_runs_it_once(store: Checkpointer):
    """W5.4: a waiting thread is shown, a finished one gives its result, another query runs."""
    shop = Shop()
    client = ScriptedClient(calls(deployment()), "out", "second", "third")
    agent = shop.agent(client, store=store, middleware=[Region()])
    session = Session(agent, "t")
    await session.open("ship it")
    assert [card.middleware for card in session.state().pending] == ["region"]
    assert session.state().query == "ship it"
    await Session(agent, "t").open("ship it")
    await session.answer(Answer.reply(session.result.pending[0].id, {"value": "eu"}))
    await session.answer(session.result.pending[0].approve())
    assert session.result.answer == "out"
    again = await Session(agent, "t").open("ship it")
    assert (again.answer, len(client.requests)) == ("out", 2)
    assert (await Session(agent, "t").open("another one, region eu")).answer == "second"
    assert (await Session(agent, "t").open("another one, region eu", again=True)).answer == "third"


async def test_a_blocked_turn_opened_again_is_not_run_again(store: Checkpointer):
    """W5.4, 6.1.4: the thread keeps nothing of it, and its tools are not to run twice."""
    shop = Shop()
    client = ScriptedClient(calls(ToolCall("c1", "look", {"topic": "x"})), "guaranteed", "another", "anew")
    agent = shop.agent(client, store=store, middleware=[guarded()])
    session = Session(agent, "t")
    await session.open("promise")
    blocked = await session.answer(Answer.reply(session.result.pending[0].id, {"verdict": "block"}))
    assert isinstance(blocked.status, Blocked)
    assert session.state().status == "blocked"
    again = Session(agent, "t")
    assert (await again.open("promise")).status == blocked.status
    assert shop.ran == ["look x"]
    assert (await again.open("something else")).answer == "another"
    assert (await again.open("promise")).answer == "anew"


def test_a_session_is_used_from_two_loops_one_after_the_other(tmp_path: Path):
    """D23: a script may call asyncio.run twice."""
    shop = Shop()
    store = InMemoryCheckpointer()
    session = Session(shop.agent(deployments("1.0"), "out", store=store), "t")
    asyncio.run(session.run("ship"))
    assert asyncio.run(session.answer(Answer.approve("2.0"))).answer == "out"


def test_what_no_session_is_made_of_is_named():
    """Query and agent in the wrong order, say: everything that is wrong is told at once."""
    wrong: Any = "ship"
    with pytest.raises(ConfigError) as refused:
        Session(wrong, Shop().agent("x"), config=wrong)  # pyright: ignore[reportArgumentType]
    assert refused.value.problems == (
        "an Agent or a GraphThread is wanted, not str",
        "a thread's id is wanted, not Agent",
        "a RunConfig is wanted, not str",
    )


async def test_the_state_of_a_thread_that_waits_is_edited():
    """F22: what was answered goes on from the state as it was edited; a thread that is not there has none."""
    log = StateKey.appending("log", str)
    thread, _ = asking()
    session = Session(thread, "t")
    with pytest.raises(ThreadNotFound):
        await session.edit_state(Command().update(log, "too early"))
    await session.run("boxes")
    waiting = session.result.interrupts[0].id
    await session.edit_state(Command().update(log, "edited"))
    assert ids(session.state().pending) == [waiting]
    assert (await session.answer(Answer.reply(waiting, 3))).output == ["edited", "how many boxes?"]


async def test_the_threads_past_is_read_edited_and_forked(store: Checkpointer):
    """F22: a fork asks again, and both threads keep their own history."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "out", "on the fork", store=store), "t")
    await session.run("ship")
    waiting = (await session.history())[0]
    await session.answer(Answer.approve("2.0"))
    fork = await session.fork(waiting.id, "u")
    await fork.refresh()
    assert ids(fork.state().pending) == ["2.0"]
    assert (await fork.answer(Answer.reject("2.0", "no"))).answer == "on the fork"
    assert session.result.answer == "out"
    assert shop.ran == ["deploy prod 1.0"]
    assert [key for key, _ in (await session.state_at(waiting.id)).items()]
