"""Turns answered again from a decision log: docs/specification/decision-log.md L3."""

from __future__ import annotations

import asyncio
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook import DecisionLog, review
from llm4s_notebook.agent import AgentNode, Answer, Completed, Suspended
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import ConfigError, DecisionMismatch, PendingInterrupts, ShownDifference
from llm4s_notebook.examples.release import QUERY, release_agent, reviewer, script
from llm4s_notebook.graph import BreakpointPhase
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session, UnusedDecisions, register

from .asking_graph import asking
from .turns import Shop, deployments, guarded, ids


@pytest.fixture
def log(tmp_path: Path) -> DecisionLog:
    return DecisionLog(tmp_path / "decisions.jsonl")


@pytest.fixture
def again(tmp_path: Path) -> DecisionLog:
    """Where the replay itself is recorded."""
    return DecisionLog(tmp_path / "again.jsonl")


def digests(log: DecisionLog) -> list[str]:
    return [record.digest for record in log.records()]


async def shipped(log: DecisionLog, *answers: Any, thread_id: str = "t", query: str = "ship", **settings: Any) -> Session:
    """A turn of two deployments and, once both have run, a third, answered in this way."""
    shop = Shop()
    session = Session(shop.agent(*SCRIPT, **settings), thread_id, principal="ana", decisions=log)
    await session.run(query)
    for answer in answers:
        await session.answer(answer)
    return session


SCRIPT = (deployments("1.0", "2.0"), deployments("3.0"), "out")
STAGING = {"environment": "staging", "version": "1.1"}
ONE_BY_ONE = (Answer.edit("2.0", STAGING), Answer.reject("2.1", "no"), Answer.approve("7.0"))


# -- the same again ----------------------------------------------------------------------------------------------------


async def test_the_same_turn_is_answered_in_the_same_way(store: Checkpointer, log: DecisionLog, again: DecisionLog):
    """L3.2: headless, on a thread of the same name; every decision falls on what it was made on."""
    session = await shipped(log, *ONE_BY_ONE)
    shop = Shop()
    result = await review(shop.agent(*SCRIPT, store=store), "ship", thread_id="t", answers=log, decisions=again)
    assert result.status == Completed("out")
    assert shop.ran == ["deploy staging 1.1", "deploy prod 3.0"]
    assert [message.content for message in result.messages] == [message.content for message in session.result.messages]
    assert digests(again) == digests(log)


@pytest.mark.parametrize("together", [True, False])
async def test_what_was_sent_together_is_sent_together(together: bool, log: DecisionLog, again: DecisionLog):
    """L3.2: the ids of what comes later depend on it."""
    answers = ([Answer.approve("2.1"), Answer.approve("2.0")],) if together else (Answer.approve("2.1"), Answer.approve("2.0"))
    session = await shipped(log, *answers)
    await session.answer(session.result.pending[0].approve())
    await review(Shop().agent(*SCRIPT), "ship", thread_id="t", answers=log, decisions=again)
    assert digests(again) == digests(log)
    runs = [record.run for record in again.records()]
    assert [runs[0] == runs[1], runs[1] == runs[2]] == [together, False]


async def test_every_kind_is_replayed_after_a_restart(tmp_path: Path, log: DecisionLog, again: DecisionLog):
    """L3.2: approvals, both kinds of questions, a guardrail's refusal, breakpoints; another store, another thread."""
    async with SqliteCheckpointer(tmp_path / "threads.db") as store:
        session = Session(release_agent(script(), store, interrupt_after=[AgentNode.MODEL]), "t", decisions=log)
        result = await session.run(QUERY)
        while isinstance(result.status, Suspended):
            result = await session.answer([reviewer(pending) for pending in result.pending])
    agent = release_agent(script(), InMemoryCheckpointer(), interrupt_after=[AgentNode.MODEL])
    replayed = await review(agent, QUERY, thread_id="other", answers=DecisionLog(log.path), decisions=again)
    assert replayed.answer == result.answer
    assert [(one.kind, one.shown, one.answered) for one in again.records()] == [
        (one.kind, one.shown, one.answered) for one in log.records()
    ]
    assert len(again) == 6


async def test_a_later_turn_is_replayed_alone_on_a_new_thread(log: DecisionLog, again: DecisionLog):
    """L3.2: ids count along a thread, so there it has others; what was shown tells which is which."""
    shop = Shop()
    agent = shop.agent(deployments("1.0"), "one", deployments("2.0", "3.0"), "two")
    session = Session(agent, "t", decisions=log)
    await session.run("first")
    await session.answer(Answer.approve("2.0"))
    await session.run("second")
    first, second = ids(session.result.pending)
    await session.answer([Answer.reject(second, "no"), Answer.approve(first)])
    shop = Shop()
    result = await review(shop.agent(deployments("2.0", "3.0"), "two"), "second", answers=log, decisions=again)
    assert (result.answer, shop.ran) == ("two", ["deploy prod 2.0"])
    assert [one.interrupt_id for one in again.records()] == ["2.1", "2.0"] != [second, first]


async def test_a_replay_goes_on_where_a_dead_one_stopped(tmp_path: Path, log: DecisionLog, again: DecisionLog):
    """L3.2, W5.4: the cell run again on the same thread; what is answered is not answered twice."""
    await shipped(log, *ONE_BY_ONE)
    async with SqliteCheckpointer(tmp_path / "threads.db") as store:
        begun = Session(Shop().agent(*SCRIPT, store=store), "replay", decisions=again)
        await begun.run("ship")
        await begun.answer(ONE_BY_ONE[0])
    async with SqliteCheckpointer(tmp_path / "threads.db") as store:
        agent = Shop().agent(deployments("3.0"), "out", store=store)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):  # the second time the turn has ended
                result = await review(agent, "ship", thread_id="replay", answers=log)
    assert result.answer == "out"


async def test_a_session_and_an_unattended_cell_replay_too(log: DecisionLog):
    """L3.1: as target, and where nobody is there."""
    await shipped(log, *ONE_BY_ONE)
    session = Session(Shop().agent(*SCRIPT), "u")
    assert (await review(session, "ship", answers=log)).answer == "out"
    register(None)
    assert (await review(Shop().agent(*SCRIPT), "ship", unattended=log.of("t"))).answer == "out"


async def test_a_graph_by_hand_is_replayed(log: DecisionLog):
    """L3.2: and a graph whose question is another one is not."""
    graph, _ = asking()
    session = Session(graph, "t", decisions=log)
    await session.run("apples")
    await session.answer(Answer.reply(session.result.interrupts[0].id, 3))
    graph, got = asking()
    result = await review(graph, "apples", answers=log)
    assert (got, result.output) == ([3], ["how many apples?"])
    with pytest.raises(DecisionMismatch, match=r"question was 'how many apples\?', is 'how many pears\?'"):
        await review(asking()[0], "pears", answers=log)


async def test_decisions_recorded_by_hand_are_replayed(log: DecisionLog):
    """L3.2: without turn, run and query: one by one, in their order."""
    for number, version in enumerate(("1.0", "2.0")):
        log.record(
            thread_id="t",
            interrupt_id=f"2.{number}",
            kind="APPROVAL",
            shown={
                "agent": "assistant",
                "tool_name": "deploy",
                "arguments": {"environment": "prod", "version": version},
                "reason": f"{version} would reach prod",
                "source": "tool",
            },
            answered={"decision": "approve"},
            who=None,
            seconds=None,
        )
    log.record(thread_id="t", interrupt_id="x", kind="text", shown="a text", answered={"verdict": "allow"}, who=None, seconds=None)
    shop = Shop()
    result = await review(shop.agent(deployments("1.0", "2.0"), "out"), "ship", answers=log)
    assert (result.answer, len(shop.ran)) == ("out", 2)


# -- not the same ------------------------------------------------------------------------------------------------------


async def test_another_argument_is_a_mismatch_that_names_it_and_nothing_is_sent(store: Checkpointer, log: DecisionLog):
    """L3.3: also when only one of those sent together differs; everything is still pending."""
    await shipped(log, [Answer.approve("2.0"), Answer.approve("2.1")])
    shop = Shop()
    agent = shop.agent(deployments("1.0", "2.1"), "out", store=store)
    with pytest.raises(DecisionMismatch) as mismatch:
        await review(agent, "ship", thread_id="u", answers=log)
    error = mismatch.value
    assert (error.thread_id, error.interrupt_id) == ("u", "2.1")
    assert error.differences == (
        ShownDifference(field="arguments.version", decided_on="2.0", now="2.1"),
        ShownDifference(field="reason", decided_on="2.0 would reach prod", now="2.1 would reach prod"),
    )
    assert "arguments.version was '2.0', is '2.1'" in error.what
    assert (shop.ran, ids((await agent.result("u")).pending)) == ([], ["2.0", "2.1"])


@pytest.mark.parametrize(
    ("now", "differences"),
    [
        (
            {"environment": "prod", "version": "1.0", "notes": [1, {"a": 2}]},
            [("arguments.notes", "nothing", "[1, {'a': 2}]")],
        ),
        ({"environment": "prod"}, [("arguments.version", "'1.0'", "nothing")]),
        ({"environment": "prod", "version": None}, [("arguments.version", "'1.0'", "None")]),
        ({"environment": ["prod"], "version": "1.0"}, [("arguments.environment", "'prod'", "['prod']")]),
    ],
    ids=["more", "less", "null", "another type"],
)
async def test_every_field_that_differs_is_named(now: dict[str, Any], differences: list[Any], log: DecisionLog):
    """L3.3: what is not there is told from null."""
    settings = {"interrupt_before": [AgentNode.TOOL]}
    session = Session(Shop().agent(deployments("1.0"), "out", **settings), "t", decisions=log)
    await session.run("ship")
    await session.answer(Answer.proceed(session.result.pending[0].id))
    other = Shop().agent(calls(ToolCall("c1", "deploy", now)), "out", **settings)
    with pytest.raises(DecisionMismatch) as mismatch:
        await review(other, "ship", answers=log)
    assert [(one.field, repr(one.decided_on), repr(one.now)) for one in mismatch.value.differences] == differences


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ([1, 2], [1, 3], r"notes\[1\] was 2, is 3"),
        ([1, 2], [1], r"notes was \[1, 2\], is \[1\]"),
        (1, True, "notes was 1, is True"),
        (1, 1.0, r"notes was 1, is 1\.0"),
        ("x" * 300, "y", r"notes was 'x{199}… \(302 characters\), is 'y'"),
    ],
)
async def test_values_are_compared_as_json(was: Any, now: Any, said: str, log: DecisionLog):
    """L3.3: type and value, item by item."""
    settings = {"interrupt_before": [AgentNode.TOOL]}

    def agent(notes: Any) -> Any:
        return Shop().agent(calls(ToolCall("c1", "deploy", {"notes": notes})), "out", **settings)

    session = Session(agent(was), "t", decisions=log)
    await session.run("ship")
    await session.answer(Answer.proceed(session.result.pending[0].id))
    with pytest.raises(DecisionMismatch, match=said):
        await review(agent(now), "ship", answers=log)


async def test_another_kind_under_the_same_id_is_a_mismatch(log: DecisionLog):
    """L3.3."""
    await shipped(log, Answer.approve("2.0"), Answer.approve("2.1"))
    asks = Shop().agent(calls(ToolCall("c1", "order", {"item": "tea"})), "out")
    with pytest.raises(DecisionMismatch, match=r"kind was 'APPROVAL', is 'QUESTION'; tool_name was 'deploy', is 'order'"):
        await review(asks, "ship", answers=log)


async def test_what_comes_nearest_is_compared_under_another_id(log: DecisionLog):
    """L3.3: and where nothing of its kind waits, both sides are told whole."""
    await shipped(log, Answer.approve("2.1"), Answer.approve("2.0"))
    with pytest.raises(DecisionMismatch) as mismatch:
        await review(Shop().agent(deployments("2.5"), "out"), "ship", answers=log)
    assert "interrupt was '2.1', is '2.0'; arguments.version was '2.0', is '2.5'" in mismatch.value.what
    with pytest.raises(DecisionMismatch) as mismatch:
        await review(Shop().agent(calls(ToolCall("c1", "order", {"item": "tea"})), "out"), "ship", answers=log)
    (difference,) = mismatch.value.differences
    assert difference.field == "what waits"
    assert "'deploy'" in repr(difference.decided_on)
    assert "'order tea?'" in repr(difference.now)


async def test_a_replay_is_refused_where_a_person_edited_the_text_of_a_refusal_that_changed(log: DecisionLog):
    """L3.3: a guardrail's refusal is compared with its text."""
    session = Session(Shop().agent("success is guaranteed", middleware=[guarded()]), "t", decisions=log)
    await session.run("tell")
    await session.answer(Answer.reply(session.result.pending[0].id, {"verdict": "edit", "text": "it may work"}))
    agent = Shop().agent("profit is guaranteed", middleware=[guarded()])
    with pytest.raises(DecisionMismatch, match=r"guardrail\.text was 'success is guaranteed', is 'profit is guaranteed'"):
        await review(agent, "tell", answers=log)


async def test_more_that_waits_is_pending_and_less_is_told(log: DecisionLog):
    """L3.4."""
    await shipped(log, *ONE_BY_ONE)
    more = Shop().agent(*SCRIPT[:2], deployments("4.0"), "out")
    with pytest.raises(PendingInterrupts) as pending:
        await review(more, "ship", answers=log)
    assert [detail for detail in pending.value.details if "4.0 would reach prod" in detail] != []
    assert pending.value.details[-1] == f"{log.path} has no decision left for this turn"
    session = Session(Shop().agent(SCRIPT[0], "done already"), "u")
    with pytest.warns(UnusedDecisions, match=r"the decision on '7\.0' \(deploy\) was not asked for"):
        result = await review(session, "ship", answers=log)
    assert result.answer == "done already"
    assert "thread 'u' has ended, and the decision on '7.0'" in (session.state().notice or "")


async def test_another_decision_may_be_given_instead(log: DecisionLog, again: DecisionLog):
    """L3.5: to see what would have come of it."""
    await shipped(log, *ONE_BY_ONE)
    shop = Shop()
    instead = {"2.0": {"decision": "approve"}}
    await review(shop.agent(*SCRIPT), "ship", answers=log.of(instead=instead), decisions=again)
    assert shop.ran == ["deploy prod 1.0", "deploy prod 3.0"]


# -- which turn --------------------------------------------------------------------------------------------------------


async def test_the_turn_is_chosen_by_what_is_asked_and_else_by_hand(log: DecisionLog):
    """L3.1: several threads and turns in one log."""
    await shipped(log, *ONE_BY_ONE, thread_id="a", query="one")
    await shipped(log, *ONE_BY_ONE[:2], thread_id="b", query="two")
    await shipped(log, Answer.approve("2.0"), thread_id="c", query="two")
    assert (await review(Shop().agent(*SCRIPT), "one", answers=log)).answer == "out"
    with pytest.raises(ConfigError) as refused:
        await review(Shop().agent(*SCRIPT), "two", answers=log)
    assert [
        part in str(refused.value) for part in ("3 turns", "[1] thread 'b' 'two', 2 decisions from", "[2] thread 'c' 'two', 1 decision")
    ]
    assert "log.of(thread_id, turn=…)" in refused.value.next_step
    with pytest.raises(PendingInterrupts):
        await review(Shop().agent(*SCRIPT), "two", answers=log.of("b"))
    for chosen in (log.of(turn=0), log.of("a", turn=-1), log.of(turn=log.records()[0].turn), log.of("a")):
        assert (await review(Shop().agent(*SCRIPT), "whatever", answers=chosen)).answer == "out"
    assert (len(log.of()), len(log.of("a")), len(log.of(turn=-1))) == (6, 3, 1)
    assert repr(log.of()) == f"Decisions({str(log.path)!r}: 6 decisions in 3 turns)"


async def test_a_turn_in_the_middle_is_gone_on_with(tmp_path: Path, log: DecisionLog):
    """L3.1: the thread itself says which of its turns it is in, also where two were asked the same; a copy of its file does."""
    threads, copy = tmp_path / "threads.db", tmp_path / "copy.db"
    async with SqliteCheckpointer(threads) as store:
        session = Session(Shop().agent(deployments("1.0"), "one", deployments("2.0"), store=store), "t", decisions=log)
        await session.run("same")
        await session.answer(session.result.pending[0].approve())
        await session.run("same")
    shutil.copy(threads, copy)
    async with SqliteCheckpointer(threads) as store:
        session = Session(Shop().agent("two", store=store), "t", decisions=log)
        await session.open()
        await session.answer(session.result.pending[0].approve())
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the cell of the last turn, run again, shows its result
            assert (await review(session, "same", answers=log)).answer == "two"
    with pytest.raises(ConfigError, match="2 turns"):
        await review(Shop().agent(deployments("1.0")), "same", answers=log)
    shop = Shop()
    async with SqliteCheckpointer(copy) as store:
        result = await review(shop.agent("two", store=store), "same", thread_id="t", answers=log)
    assert (result.answer, shop.ran) == ("two", ["deploy prod 2.0"])


@pytest.mark.parametrize(
    ("choose", "said"),
    [
        (lambda log: log.of("x"), r"has no decisions of thread 'x'; threads it has: 't'"),
        (lambda log: log.of(turn=1), r"there is no turn 1: .* has the decisions of 1"),
        (lambda log: log.of(turn=-2), r"there is no turn -2"),
        (lambda log: log.of(turn="x"), r"has no decisions of turn 'x'"),
        (lambda log: DecisionLog(log.path.with_name("other.jsonl")).of(), r"there is no file '.*other\.jsonl'"),
    ],
)
async def test_a_choice_that_is_not_there_says_what_is(choose: Any, said: str, log: DecisionLog):
    """L3.1."""
    await shipped(log, Answer.approve("2.0"))
    with pytest.raises(ConfigError, match=said):
        choose(log)


async def test_a_turn_that_asks_nothing_needs_no_decisions(log: DecisionLog):
    """L3.4: an empty log answers nothing."""
    log.check_writable()
    assert (await review(Shop().agent("hello"), "hi", answers=log)).answer == "hello"
    with pytest.raises(PendingInterrupts):
        await review(Shop().agent(*SCRIPT), "ship", answers=log)


async def test_a_turn_that_follows_is_not_taken_for_the_last_one(log: DecisionLog):
    """L3.1: on the thread whose first turn is in the log too."""

    def script() -> tuple[Any, ...]:
        return deployments("1.0"), "one", deployments("2.0"), "two"

    session = Session(Shop().agent(*script()), "t", decisions=log)
    for query in ("first", "second"):
        await session.run(query)
        await session.answer(session.result.pending[0].approve())
    agent = Shop().agent(*script())
    assert (await review(agent, "first", thread_id="u", answers=log)).answer == "one"
    assert (await review(agent, "second", thread_id="u", answers=log)).answer == "two"


async def test_a_hold_set_by_hand_is_passed_over(log: DecisionLog):
    """L3.2, D15: to proceed decides nothing; where the same step is held it is compared like everything else."""
    session = Session(Shop().agent(deployments("1.0"), "out"), "t", decisions=log)
    session.breakpoints.hold("assistant/model", BreakpointPhase.AFTER, True)
    session.breakpoints.hold("assistant/finish", BreakpointPhase.BEFORE, True)
    await session.run("ship")
    while isinstance(session.result.status, Suspended):
        (pending,) = session.result.pending
        await session.answer(pending.proceed() if pending.phase else pending.approve())
    assert [one.kind for one in log.records()] == ["BREAKPOINT", "APPROVAL", "BREAKPOINT", "BREAKPOINT"]
    shop = Shop()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (await review(shop.agent(deployments("1.0"), "out"), "ship", answers=log)).answer == "out"
    assert shop.ran == ["deploy prod 1.0"]
    with pytest.raises(DecisionMismatch, match=r"arguments\.version was '1\.0', is '2\.0'"):
        await review(Shop().agent(deployments("2.0"), "out"), "ship", answers=log)
    held = Shop().agent(deployments("2.0"), "out", interrupt_after=[AgentNode.MODEL])
    with pytest.raises(DecisionMismatch, match=r"message was 'calls deploy .*1\.0.*', is 'calls deploy .*2\.0"):
        await review(held, "ship", answers=log)


async def test_a_missing_file_is_refused_before_anything_runs(log: DecisionLog):
    """L3.1: a mistyped path is not an empty log."""
    client = ScriptedClient("never")
    with pytest.raises(ConfigError, match="there is no file"):
        await review(Shop().agent(client), "ship", answers=log)
    assert client.requests == []


async def test_replays_at_once_do_not_disturb_each_other(log: DecisionLog):
    """L3.2: a log is only read; each replay has its own place in it."""
    await shipped(log, *ONE_BY_ONE)
    chosen = log.of("t")
    results = await asyncio.gather(*(review(Shop().agent(*SCRIPT), "ship", answers=chosen) for _ in range(3)))
    assert [result.answer for result in results] == ["out"] * 3
