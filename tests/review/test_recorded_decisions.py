"""What a session writes into its decision log: docs/specification/decision-log.md L2, and F10 and F11 with a log."""

from __future__ import annotations

import asyncio
import errno
import itertools
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook import DecisionLog
from llm4s_notebook.agent import Agent, AgentNode, Answer, Completed, Suspended
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import ConfigError, DecisionLogDamaged, InvalidResume, ModelFailed, StoreUnavailable, ThreadBusy
from llm4s_notebook.examples.release import QUERY, release_agent, reviewer, script
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session, review
from llm4s_notebook.testing import ManualClock

from .asking_graph import asking
from .deciding import deciding
from .test_requests import Browser, settled
from .turns import Shop, deployment, deployments, ids, until


@pytest.fixture
def log(tmp_path: Path) -> DecisionLog:
    return DecisionLog(tmp_path / "decisions.jsonl")


def decided(log: DecisionLog) -> list[tuple[str, Any]]:
    return [(record.interrupt_id, record.answered) for record in log.records()]


APPROVED = {"decision": "approve"}


# -- what is recorded ------------------------------------------------------------------------------------------------


async def test_every_admitted_answer_is_one_line_in_the_order_given(store: Checkpointer, log: DecisionLog):
    """L2.1: in code and from a browser, several of one submit and one alone; with who, what was shown and what was answered."""
    shop = Shop()
    agent = shop.agent(deployments("1.0", "2.0", "3.0"), deployments("4.0"), "out", store=store)
    session = Session(agent, "t", principal="ana", decisions=log)
    await session.run("ship")
    await session.answer([Answer.reject("2.2", "no"), Answer.approve("2.0")])
    arguments = {"environment": "staging", "version": "2.1"}
    await Browser(session).submit({"decision": "edit", "id": "2.1", "arguments": arguments})
    await settled(session)
    (last,) = session.result.pending
    await session.answer(last.approve())
    assert decided(log) == [
        ("2.2", {"decision": "reject", "reason": "no"}),
        ("2.0", APPROVED),
        ("2.1", {"decision": "edit", "arguments": arguments}),
        (last.id, APPROVED),
    ]
    records = log.records()
    assert {(one.who, one.thread_id, one.turn, one.query, one.kind, one.secrets) for one in records} == {
        ("ana", "t", session.turn, "ship", "APPROVAL", False)
    }
    assert [records[0].run == records[1].run, len({one.run for one in records})] == [True, 3]
    assert records[0].shown == {
        "agent": "assistant",
        "tool_name": "deploy",
        "arguments": {"environment": "prod", "version": "3.0"},
        "reason": "3.0 would reach prod",
        "source": "tool",
    }


async def test_what_each_kind_shows_is_what_is_recorded(log: DecisionLog):
    """L1.1: an approval, both kinds of questions, a guardrail's refusal, a breakpoint."""
    agent = release_agent(script(), InMemoryCheckpointer(), interrupt_after=[AgentNode.MODEL])
    session = Session(agent, "t", decisions=log)
    result = await session.run(QUERY)
    while isinstance(result.status, Suspended):
        result = await session.answer([reviewer(pending) for pending in result.pending])
    shown = {(one.kind, one.shown.get("middleware") or one.shown.get("tool_name") or "node"): one for one in log.records()}
    assert shown["MIDDLEWARE_QUESTION", "region"].shown == {
        "agent": "assistant",
        "middleware": "region",
        "hook": "beforeAgent",
        "question": {"what": "region"},
    }
    assert shown["MIDDLEWARE_QUESTION", "region"].answered == {"value": "eu"}
    question = shown["QUESTION", "choose_window"]
    assert question.shown["question"] == {"text": "When may version 1.4.0 go live?", "earliest": "20:00"}
    assert question.answered == {"start": "22:30", "minutes": 30}
    refused = next(one for one in log.records() if "guardrail" in one.shown)
    assert refused.shown["guardrail"]["guardrail"] == "no promises"
    assert "guaranteed" in refused.shown["guardrail"]["text"]
    assert refused.answered["verdict"] == "edit"
    held = next(one for one in log.records() if one.kind == "BREAKPOINT")
    assert (held.shown["node"], held.shown["phase"], held.answered) == ("assistant/model", "AFTER", None)
    assert "calls choose_window" in held.shown["message"]
    assert {one.query for one in log.records()} == {QUERY}
    assert len(log) == len(session.state().answered)


async def test_a_refused_answer_is_no_decision(store: Checkpointer, log: DecisionLog):
    """L2.1, D6: bad values, unknown ids, ids answered before, all or nothing; in code and from a browser."""
    session = Session(Shop().agent(deployments("1.0", "2.0"), "out", store=store), "t", decisions=log)
    await session.run("ship")
    browser = Browser(session)
    for answers in ([("2.0", 7)], [Answer.approve("2.0"), Answer.approve("9.9")], [Answer.approve("2.0"), ("2.1", 7)], []):
        with pytest.raises(InvalidResume):
            await session.answer(answers)
    assert (await browser.submit({"decision": "reply", "id": "2.0", "value": 1})).kind == "refused"
    assert log.records() == []
    await session.answer(Answer.approve("2.0"))
    with pytest.raises(InvalidResume):
        await session.answer(Answer.approve("2.0"))
    assert decided(log) == [("2.0", APPROVED)]


async def test_a_turn_without_a_person_is_recorded_too(log: DecisionLog):
    """L2.1: nobody was shown anything, so there is no time either."""
    shop = Shop()
    await review(shop.agent(deployments("1.0"), "out"), "ship", answers=lambda pending: pending.approve(), decisions=log)
    (record,) = log.records()
    assert (record.interrupt_id, record.who, record.seconds) == ("2.0", None, None)


async def test_a_log_belongs_to_the_session(log: DecisionLog):
    session = Session(Shop().agent("out"), "t")
    with pytest.raises(Exception, match="decisions belongs to the session"):
        await review(session, "ship", decisions=log)


async def test_the_answer_is_recorded_though_its_run_fails(log: DecisionLog):
    """L2.1: it was taken, and the call ran."""
    shop = Shop()
    session = Session(shop.agent(ScriptedClient(deployments("1.0"), RuntimeError("down"))), "t", decisions=log)
    await session.run("ship")
    with pytest.raises(ModelFailed):
        await session.answer(Answer.approve("2.0"))
    assert (shop.ran, decided(log)) == (["deploy prod 1.0"], [("2.0", APPROVED)])


async def test_a_fork_records_into_the_same_log(store: Checkpointer, log: DecisionLog):
    """L2.1, F22."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "out", "out", store=store), "t", decisions=log)
    await session.run("ship")
    at = (await session.history())[0].id
    await session.answer(Answer.approve("2.0"))
    fork = await session.fork(at, "u")
    await fork.open()
    await fork.answer(Answer.reject("2.0", "no"))
    assert [(one.thread_id, one.answered["decision"], one.query) for one in log.records()] == [
        ("t", "approve", "ship"),
        ("u", "reject", "ship"),
    ]


async def test_a_graph_by_hand_is_recorded_like_an_agent(log: DecisionLog):
    """L1.1: the node that asks, the question, the graph's input as the query."""
    graph, _ = asking()
    session = Session(graph, "t", decisions=log)
    await session.run("apples")
    (card,) = session.state().pending
    await session.answer(Answer.reply(card.id, 3))
    (record,) = log.records()
    assert (record.kind, record.shown, record.answered, record.query) == (
        "QUESTION",
        {"node": "take", "question": "how many apples?"},
        3,
        "apples",
    )


# -- seconds ---------------------------------------------------------------------------------------------------------


async def test_seconds_count_from_the_first_document_that_was_sent(log: DecisionLog):
    """L2.4: to the moment the answer was given; None where no observer has ever drawn it."""
    clock = ManualClock()
    session = Session(Shop().agent(deployments("1.0", "2.0", "3.0"), deployments("4.0"), "out"), "t", decisions=log, clock=clock)
    await session.run("ship")
    clock.advance(100)
    await session.answer(Answer.approve("2.0"))  # nobody looks yet
    stop = session.observe(lambda _: None)
    clock.advance(5)
    session.observe(lambda _: None)
    session.notice("drawn again")
    clock.advance(2.5)
    await session.answer(Answer.approve("2.1"))
    stop()
    clock.advance(-3600)  # a clock that was set back
    await session.answer(Answer.approve("2.2"))
    clock.advance(4)
    await session.answer(session.result.pending[0].approve())
    assert [one.seconds for one in log.records()] == [None, 7.5, 0.0, 4.0]
    assert [one.at for one in log.records()][1] == log.records()[0].at + (log.records()[1].at - log.records()[0].at)
    assert (log.records()[1].at - log.records()[0].at).total_seconds() == 7.5


# -- crashes, other processes, a log that cannot be written -------------------------------------------------------------


async def test_a_kernel_killed_between_admission_and_line_leaves_a_trace(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """L2.2: the answer is in the thread, the line is not; whoever opens the thread with the log is told which, when and by whom."""
    log = DecisionLog(tmp_path / "decisions.jsonl")
    async with SqliteCheckpointer(tmp_path / "threads.db") as store:
        first = Session(Shop().agent(deployments("1.0", "2.0", "3.0"), "out", store=store), "t", principal="ana", decisions=log)
        await first.run("ship")
        await first.answer(Answer.approve("2.0"))
    deciding(tmp_path, "2.1", dies=True)
    assert decided(log) == [("2.0", APPROVED)]
    async with SqliteCheckpointer(tmp_path / "threads.db") as store:
        shop = Shop()
        session = Session(shop.agent("out", store=store), "t", principal="ana", decisions=log)
        await session.open()
        notice = session.state().notice
        assert notice is not None
        assert f"{log.path} has no line for what was answered in this turn: 2.1 at " in notice
        assert " by other (" in notice
        assert notice in caplog.text
        if session.state().can_recover:  # how far it had come, nobody can know
            await session.recover()
        await session.answer(Answer.approve("2.2"))
        assert session.result.answer == "out"
        assert decided(log) == [("2.0", APPROVED), ("2.2", APPROVED)]
        other = Session(shop.agent("never", store=store), "t", decisions=log)
        await other.open()
        assert "for what was answered in this turn: 2.1 at " in (other.state().notice or "")  # also once the turn is over


async def test_nothing_is_said_of_a_log_that_has_everything(store: Checkpointer, log: DecisionLog):
    """L2.2."""
    session = Session(Shop().agent(deployments("1.0", "2.0"), "out", store=store), "t", decisions=log)
    await session.run("ship")
    await session.answer(Answer.approve("2.0"))
    for opening in ("refresh", "open"):
        other = Session(Shop().agent(deployments("1.0", "2.0"), "out", store=store), "t", decisions=log)
        await getattr(other, opening)()
        assert other.state().notice is None
    log.path.write_bytes(b"spoiled\n")
    other = Session(Shop().agent(deployments("1.0", "2.0"), "out", store=store), "t", decisions=log)
    await other.open()
    assert isinstance(other.error, DecisionLogDamaged)
    assert ids(other.state().pending) == ["2.1"]


async def test_a_log_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """L2.3: when the session is made."""
    log = DecisionLog(tmp_path / "gone" / ".." / "decisions.jsonl") if (tmp_path / "gone").mkdir() is None else None
    assert log is not None
    (tmp_path / "gone").rmdir()
    client = ScriptedClient("never")
    with pytest.raises(StoreUnavailable, match="writing the decision log failed: No such file or directory"):
        Session(Shop().agent(client), "t", decisions=log)
    with pytest.raises(StoreUnavailable):
        await review(Shop().agent(client), "ship", answers=[], decisions=log)
    assert client.requests == []


@pytest.mark.parametrize(
    ("wrong", "next_step"),
    [("decisions.jsonl", "decisions=DecisionLog('decisions.jsonl')"), (Path("d"), "DecisionLog('d')"), (5, "DecisionLog(…)")],
)
async def test_a_path_is_no_log(wrong: Any, next_step: str):
    """L2.3: what is given in place of a log is refused before anything runs, and the next step is the code that makes one."""
    client = ScriptedClient("x")
    with pytest.raises(ConfigError, match="a DecisionLog is wanted, not") as refused:
        await review(Agent("a", client), "go", decisions=wrong)
    assert next_step in refused.value.next_step
    assert client.requests == []


async def test_a_full_disk_is_shown_and_the_turn_goes_on(
    log: DecisionLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """L2.3: the answer was taken; what is missing is written with the next one, in order."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0", "2.0"), "out"), "t", decisions=log)
    await session.run("ship")

    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        result = await session.answer(Answer.approve("2.1"))
    assert isinstance(result.status, Suspended)
    assert shop.ran == ["deploy prod 2.0"]
    error = session.state().error
    assert error is not None
    assert (error.type, error.where) == ("StoreUnavailable", f"store '{log.path}'")
    assert "the answer to 2.1 was taken and the turn goes on, but it is not in the decision log" in error.what
    assert "No space left on device" in error.what
    assert "with its next decision" in error.next_step
    assert str(log.path) in caplog.text
    assert log.records() == []
    result = await session.answer(Answer.approve("2.0"))
    assert result.status == Completed("out")
    assert session.error is None
    assert decided(log) == [("2.1", APPROVED), ("2.0", APPROVED)]


async def test_many_answers_that_were_not_written_are_told_in_one_line(log: DecisionLog, monkeypatch: pytest.MonkeyPatch):
    """L2.3: sent together they are one write; the message names ten of them."""
    session = Session(Shop().agent(deployments(*map(str, range(12))), "out"), "t", decisions=log)
    await session.run("ship")
    everything = [pending.approve() for pending in session.result.pending]
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        await session.answer(everything[:11])
    assert "to 2.0, 2.1" in str(session.error)
    assert "2.9 and 1 more was taken" in str(session.error)
    await session.answer(everything[11])
    assert [one.interrupt_id for one in log.records()] == [answer.id for answer in everything]


async def test_the_log_may_be_moved_away_while_a_session_lives(log: DecisionLog):
    """L1.3: a new file begins; nothing is written into the old one."""
    session = Session(Shop().agent(deployments("1.0", "2.0"), "out"), "t", decisions=log)
    await session.run("ship")
    await session.answer(Answer.approve("2.0"))
    old = log.path.rename(log.path.with_suffix(".old"))
    await session.answer(Answer.approve("2.1"))
    assert (decided(DecisionLog(old)), decided(log)) == ([("2.0", APPROVED)], [("2.1", APPROVED)])


# -- cases from the field ----------------------------------------------------------------------------------------------


async def test_what_waits_and_what_was_decided_is_equal_everywhere_after_every_step(tmp_path: Path):
    """F10: `result.pending`, `Session.state()` and a fresh process, with the log beside them; answers of both processes are in it."""
    log = DecisionLog(tmp_path / "decisions.jsonl")
    store = SqliteCheckpointer(tmp_path / "threads.db")
    session = Session(Shop().agent(deployments("1.0", "2.0", "3.0"), "out", store=store), "t", principal="ana", decisions=log)
    result = await session.run("ship")
    for step, answer in enumerate(["2.1", "2.0", "2.2"]):
        said = await asyncio.to_thread(deciding, tmp_path)
        assert said == {
            "pending": ids(result.pending),
            "decided": [record.interrupt_id for record in log.records()],
            "notice": None,
        }
        assert ids(session.state().pending) == ids(result.pending)
        if step == 1:
            await asyncio.to_thread(deciding, tmp_path, answer)
            await session.refresh()
            result = session.result
        else:
            result = await session.answer(Answer.approve(answer))
    assert result.answer == "out"
    assert [(one.interrupt_id, one.who, one.query) for one in log.records()] == [
        ("2.1", "ana", "ship"),
        ("2.0", "other", "ship"),
        ("2.2", "ana", "ship"),
    ]
    assert len({one.turn for one in log.records()}) == 1
    await store.aclose()


@pytest.mark.parametrize("order", list(itertools.permutations(["2.0", "2.1", "2.2"])), ids="-".join)
async def test_three_waits_in_all_orders_are_recorded_in_that_order(order: tuple[str, ...], log: DecisionLog):
    """F11: three separate calls; the batch ends once."""
    session = Session(Shop().agent(deployments("1.0", "2.0", "3.0"), "out"), "t", decisions=log)
    await session.run("ship")
    results = await asyncio.gather(*(session.answer(Answer.approve(id)) for id in order))
    assert [isinstance(result.status, Completed) for result in results] == [False, False, True]
    assert decided(log) == [(id, APPROVED) for id in order]
    again = Shop()
    result = await review(again.agent(deployments("1.0", "2.0", "3.0"), "out"), "ship", answers=log)
    assert (result.answer, len(again.ran)) == ("out", 3)


async def test_an_answer_given_while_another_still_runs_is_recorded_when_it_is_taken(log: DecisionLog):
    """F11: the one that runs is in the log at once, the queued one behind it, with the time at which it was given."""
    shop = Shop()
    clock = ManualClock()
    script = calls(deployment("c1"), ToolCall("c2", "slow", {"name": "a"}), deployment("c3", "2.0"))
    session = Session(shop.agent(script, "out"), "t", decisions=log, clock=clock)
    shop.gate.set()
    await session.run("ship")
    assert ids(session.state().pending) == ["2.0", "2.2"]
    first = asyncio.create_task(session.answer(Answer.approve("2.0")))
    await until(lambda: len(log) == 1)
    given = clock.now()
    second = asyncio.create_task(session.answer(Answer.approve("2.2")))
    await asyncio.sleep(0)
    clock.advance(60)
    await asyncio.gather(first, second)
    assert [(one.interrupt_id, one.at == given) for one in log.records()] == [("2.0", True), ("2.2", True)]


async def test_two_sessions_on_one_thread_in_one_kernel(store: Checkpointer, log: DecisionLog):
    """D8, D23: while one runs the other is refused and says who holds the thread and what to do; nothing of the refused is recorded."""
    shop = Shop()
    agent = shop.agent(calls(ToolCall("c1", "slow", {"name": "a"}), deployment("c2")), "out", store=store)
    one, other = Session(agent, "t", decisions=log), Session(agent, "t", decisions=log)
    running = asyncio.create_task(one.run("ship"))
    await shop.started.wait()
    for using in (other.run("again"), other.answer(Answer.approve("2.1")), other.recover()):
        with pytest.raises(ThreadBusy) as busy:
            await using
        assert busy.value.thread_id == "t"
        assert "the thread is held by run '" in busy.value.what
        assert "wait for that run to end, or cancel it" in busy.value.next_step
        error = other.state().error
        assert error is not None
        assert (error.type, error.what) == ("ThreadBusy", busy.value.what)
    assert other.state().status == "running"
    assert log.records() == []
    shop.gate.set()
    await running
    result = await other.answer(Answer.approve("2.1"))
    assert result.answer == "out"
    await one.refresh()
    assert one.state().answer == "out"
    with pytest.raises(InvalidResume, match="already answered"):
        await one.answer(Answer.approve("2.1"))
    assert decided(log) == [("2.1", APPROVED)]


async def test_a_damaged_log_stops_no_turn(log: DecisionLog, caplog: pytest.LogCaptureFixture):
    """L2.3: what is there is refused to readers; what is new is written."""
    caplog.set_level(logging.ERROR)
    log.path.write_bytes(b"spoiled\n")
    session = Session(Shop().agent(deployments("1.0"), "out"), "t", decisions=log)
    await session.run("ship")
    assert (await session.answer(Answer.approve("2.0"))).answer == "out"
    with pytest.raises(DecisionLogDamaged):
        log.records()
    assert log.path.read_bytes().count(b"\n") == 2
