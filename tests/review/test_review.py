"""`review`: with somebody there, with nobody there, and run again."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from llm4s_notebook.agent import Answer, Completed, PendingReview
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError, IncompleteRun, InvalidResume, ModelFailed, PendingInterrupts, RunCancelled, ThreadBusy
from llm4s_notebook.graph import Completed as GraphCompleted
from llm4s_notebook.graph import GraphBuilder, GraphRuntime, PendingInterrupt, Resumed, StateKey, Suspend
from llm4s_notebook.models import ScriptedClient
from llm4s_notebook.review import GraphThread, Session, register, review

from .seat import Seat, shown_in_a_cell
from .turns import SLOW, Shop, deployments, until

# -- somebody is there -----------------------------------------------------------------------------------------------


async def test_it_shows_the_session_and_returns_when_the_person_has_answered(seat: Seat):
    """W5.1."""
    shop = Shop()
    cell = asyncio.create_task(review(shop.agent(deployments("1.0", "2.0"), "out"), "ship"))
    session = await seat.session()
    assert not cell.done()
    await session.answer(Answer.approve("2.1"))
    assert not cell.done()
    await session.answer(Answer.reject("2.0", "no"))
    result = await cell
    assert result.status == Completed("out")
    assert result.thread_id == session.thread_id
    assert len(seat.shown) == 1


async def test_the_cell_run_again_shows_the_waiting_turn_and_then_its_result(seat: Seat, store: Checkpointer):
    """W5.4, F40: nothing runs twice; `again` runs anew."""
    shop = Shop()
    client = ScriptedClient(deployments("1.0"), "out", "anew")
    agent = shop.agent(client, store=store)
    first = asyncio.create_task(review(agent, "ship", thread_id="t"))
    await seat.session()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.create_task(review(agent, "ship", thread_id="t"))
    await until(lambda: len(seat.shown) == 2)
    session = await seat.session()
    assert len(client.requests) == 1
    await session.answer(Answer.approve("2.0"))
    assert (await second).answer == "out"
    assert (await review(agent, "ship", thread_id="t")).answer == "out"
    assert len(client.requests) == 2
    assert (await review(agent, "ship", thread_id="t", again=True)).answer == "anew"
    assert shop.ran == ["deploy prod 1.0"]


async def test_a_cancelled_wait_leaves_the_cards_and_says_how_to_wait_again(seat: Seat):
    """An interrupt while a person is awaited ends the wait only."""
    shop = Shop()
    cell = asyncio.create_task(review(shop.agent(deployments("1.0"), "out"), "ship", thread_id="t"))
    session = await seat.session()
    cell.cancel()
    with pytest.raises(asyncio.CancelledError) as ended:
        await cell
    assert shown_in_a_cell(ended.value) == [
        "CancelledError: this cell waits no more, and nothing is lost",
        '  next:  answer above all the same; to wait again: await review(agent, "…", thread_id="t")',
    ]
    state = session.state()
    assert state.notice is not None
    assert 'await review(agent, "…", thread_id="t")' in state.notice
    assert len(state.pending) == 1
    await session.answer(Answer.approve("2.0"))
    assert session.state().notice is None
    assert session.result.answer == "out"


async def test_a_cancelled_cell_cancels_the_run_it_waits_for(seat: Seat, store: Checkpointer):
    """D2: when the cell has ended the run is out, and recover finishes it."""
    shop = Shop()
    agent = shop.agent(SLOW, "done", store=store)
    cell = asyncio.create_task(review(agent, "go", thread_id="t"))
    await shop.started.wait()
    cell.cancel()
    with pytest.raises(asyncio.CancelledError) as ended:
        await cell
    assert shown_in_a_cell(ended.value) == [
        "CancelledError: the run was cancelled, and nothing that was stored is lost",
        '  next:  Recover goes on above all the same; to wait again: await review(agent, "…", thread_id="t")',
    ]
    (session,) = seat.shown
    assert not session.running
    assert session.state().can_recover
    assert session.state().notice is None
    shop.gate.set()
    again = asyncio.create_task(review(agent, "go", thread_id="t"))
    await until(lambda: len(seat.shown) == 2 and seat.shown[1].state().notice is not None)
    assert "Recover" in (seat.shown[1].state().notice or "")
    await seat.shown[1].recover()
    assert (await again).answer == "done"


async def test_what_ended_the_turn_is_raised(seat: Seat):
    """W5.1: the cell fails as the turn does."""
    with pytest.raises(ModelFailed):
        await review(Shop().agent(RuntimeError("down")), "go")
    assert seat.shown[0].state().error is not None


async def test_a_refusal_is_raised_and_drawn(seat: Seat):
    """D2: a blank query."""
    with pytest.raises(ConfigError):
        await review(Shop().agent("x"), "  ")


async def test_a_refused_answer_does_not_end_the_wait(seat: Seat):
    """W2.7: only what ends the turn ends the cell."""
    shop = Shop()
    cell = asyncio.create_task(review(shop.agent(deployments("1.0"), "out"), "ship"))
    session = await seat.session()
    with pytest.raises(InvalidResume):
        await session.answer({"2.0": "yes"})
    await asyncio.sleep(0.3)
    assert not cell.done()
    await session.answer(Answer.approve("2.0"))
    assert (await cell).answer == "out"


async def test_where_a_cell_cannot_wait_it_raises_at_once_and_runs_nothing(seat: Seat):
    """W5.1: says to show the widget and read the result in the next cell."""
    seat.reason = "a cell cannot wait here: show the widget in one cell"
    client = ScriptedClient("x")
    with pytest.raises(ConfigError, match="show the widget in one cell"):
        await review(Shop().agent(client), "go", thread_id="t")
    assert client.requests == []
    assert seat.shown == []


async def test_a_session_is_reviewed_as_it_is(seat: Seat):
    """api.md: the target may be a session; what belongs to it cannot be changed."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "out"), "t", principal="ana")
    await session.run("ship")
    cell = asyncio.create_task(review(session))
    await until(lambda: seat.shown == [session])
    await session.answer(Answer.approve("2.0"))
    assert (await cell).answer == "out"
    with pytest.raises(ConfigError):
        await review(session, thread_id="u")


async def test_without_a_query_a_new_thread_waits_for_the_persons_own(seat: Seat):
    """W4.3: the prompt box starts the turn."""
    cell = asyncio.create_task(review(Shop().agent("hello"), thread_id="t"))
    await until(lambda: bool(seat.shown))
    await asyncio.sleep(0.3)
    assert not cell.done()
    await seat.shown[0].run("hi")
    assert (await cell).answer == "hello"


async def test_a_turn_begun_in_the_background_is_waited_for_by_the_review_that_follows_at_once(seat: Seat):
    """Lesson 1: a console begins the turn, and a later line of the same cell reviews its session."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "out"), "t")
    session.begin("ship")
    cell = asyncio.create_task(review(session))
    assert (await seat.session()) is session
    await session.answer(Answer.approve("2.0"))
    assert (await cell).answer == "out"


async def test_a_wait_for_an_unfinished_turn_that_is_cancelled_speaks_of_recover_and_not_of_answers(seat: Seat, store: Checkpointer):
    """W4.3: there is nothing to answer."""
    shop = Shop()
    agent = shop.agent(SLOW, "done", store=store)
    first = asyncio.create_task(review(agent, "go", thread_id="t"))
    await shop.started.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    again = asyncio.create_task(review(agent, "go", thread_id="t"))
    await until(lambda: len(seat.shown) == 2 and seat.shown[1].state().notice is not None)
    again.cancel()
    with pytest.raises(asyncio.CancelledError) as ended:
        await again
    assert shown_in_a_cell(ended.value)[1].startswith("  next:  Recover goes on above all the same; to wait again: await review(")
    assert str(seat.shown[1].state().notice).startswith("no cell waits any more. Recover goes on here all the same; ")


async def test_a_turn_cancelled_by_a_click_ends_the_cell_and_names_the_button_that_goes_on(seat: Seat):
    """W4.3, W5.1: the cell's next line needs a result, so the cell ends as an error; it is three lines that say what to do here."""
    shop = Shop()
    cell = asyncio.create_task(review(shop.agent(SLOW, "done"), "go", thread_id="t"))
    await shop.started.wait()
    (session,) = seat.shown
    await session.cancel()
    with pytest.raises(RunCancelled) as ended:
        await cell
    assert shown_in_a_cell(ended.value)[0] == "RunCancelled: the run was cancelled"
    assert shown_in_a_cell(ended.value)[-1] == (
        '  next:  Recover above finishes the turn; to wait for it again: await review(agent, "…", thread_id="t")'
    )
    assert session.state().error is None


async def test_a_cancelled_cell_cancels_the_run_that_was_begun_in_the_background(seat: Seat):
    """D2: what the cell waits for is the turn, whoever began its run."""
    shop = Shop()
    session = Session(shop.agent(SLOW, "done"), "t")
    session.begin("go")
    cell = asyncio.create_task(review(session))
    await shop.started.wait()
    cell.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cell
    assert not session.running
    assert session.state().can_recover


async def test_a_session_whose_turn_failed_is_shown_again_with_recover_and_the_old_error_does_not_end_the_cell(seat: Seat):
    """The cell run again after a failure: the person presses recover."""
    session = Session(Shop().agent(RuntimeError("down"), RuntimeError("still down"), "up"), "t")
    with pytest.raises(ModelFailed):
        await review(session, "go")
    cell = asyncio.create_task(review(session))
    await until(lambda: len(seat.shown) == 2 and session.state().notice is not None)
    assert session.state().can_recover
    with pytest.raises(ModelFailed, match="still down"):
        await session.recover()
    with pytest.raises(ModelFailed, match="still down"):
        await cell
    again = asyncio.create_task(review(session))
    await until(lambda: len(seat.shown) == 3 and session.state().notice is not None)
    await session.recover()
    assert (await again).answer == "up"


async def test_a_turn_begun_in_the_background_that_fails_while_the_cell_waits_fails_the_cell(seat: Seat):
    """W5.1: raises what ended the turn."""
    session = Session(Shop().agent(RuntimeError("down")), "t")
    session.begin("go")
    with pytest.raises(ModelFailed):
        await review(session)


# -- nobody is there -------------------------------------------------------------------------------------------------


@pytest.fixture
def empty(seat: Seat) -> Seat:
    seat.taken = False
    return seat


async def test_with_nobody_there_it_raises_what_waits_in_words(empty: Seat, store: Checkpointer):
    """F27, F23: the error lists every interrupt, and nothing is shown."""
    shop = Shop()
    agent = shop.agent(deployments("1.0", "2.0"), "out", store=store)
    with pytest.raises(PendingInterrupts) as raised:
        await review(agent, "ship", thread_id="t")
    assert raised.value.interrupt_ids == ("2.0", "2.1")
    assert [("deploy" in line, "APPROVAL" in line) for line in raised.value.details] == [(True, True)] * 2
    assert "APPROVAL 2.1" in raised.value.what
    assert empty.shown == []
    with pytest.raises(PendingInterrupts):
        await review(agent, "ship", thread_id="t")
    assert (await agent.result("t")).pending


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_with_nobody_there_the_unattended_reviewer_answers(empty: Seat, asynchronous: bool):
    """F27: a callable is given each thing that waits, step by step."""
    shop = Shop()
    asked: list[str] = []

    def reviewer(pending: PendingReview) -> Answer:
        asked.append(pending.id)
        return pending.approve()

    async def slow_reviewer(pending: PendingReview) -> Answer:
        await asyncio.sleep(0)
        return reviewer(pending)

    agent = shop.agent(deployments("1.0"), deployments("2.0"), "out")
    result = await review(agent, "ship", unattended=slow_reviewer if asynchronous else reviewer)
    assert result.answer == "out"
    assert len(asked) == 2
    assert shop.ran == ["deploy prod 1.0", "deploy prod 2.0"]


async def test_a_turn_begun_in_the_background_is_answered_with_nobody_there(empty: Seat):
    """F27, lesson 1: the same two lines without a person."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "out"), "t")
    session.begin("ship")
    assert (await review(session, unattended=lambda pending: pending.approve())).answer == "out"


async def test_answers_by_id_are_given_when_their_interrupt_waits_and_the_rest_is_named(empty: Seat):
    """api.md: `answers` as a mapping, an Answer, or pairs."""
    shop = Shop()
    agent = shop.agent(deployments("1.0", "2.0"), "out")
    with pytest.raises(PendingInterrupts) as left:
        await review(agent, "ship", thread_id="t", answers=Answer.approve("2.1"))
    assert left.value.interrupt_ids == ("2.0",)
    assert shop.ran == ["deploy prod 2.0"]
    result = await review(agent, "ship", thread_id="t", answers={"2.0": {"decision": "reject", "reason": "no"}})
    assert result.answer == "out"


async def test_answers_are_used_with_somebody_there_too_and_nothing_is_shown(seat: Seat):
    """api.md: `answers` makes it headless; `unattended` does not."""
    shop = Shop()
    result = await review(shop.agent(deployments("1.0"), "out"), "ship", answers=lambda pending: pending.approve())
    assert result.answer == "out"
    assert seat.shown == []


async def test_a_bad_answer_is_refused_and_a_reviewer_that_answers_nothing_leaves_it_waiting(empty: Seat):
    """D6: the refusal of the resume comes through; None leaves a thing waiting."""
    agent = Shop().agent(deployments("1.0"), "out")
    with pytest.raises(InvalidResume):
        await review(agent, "ship", thread_id="t", answers={"2.0": 7})
    with pytest.raises(PendingInterrupts):
        await review(agent, "ship", thread_id="t", answers=lambda pending: None)


async def test_an_unfinished_thread_with_nobody_there_is_refused(empty: Seat, store: Checkpointer):
    """IncompleteRun: nobody is there to press recover."""
    shop = Shop()
    agent = shop.agent(RuntimeError("down"), "up", store=store)
    with pytest.raises(ModelFailed):
        await review(agent, "go", thread_id="t")
    with pytest.raises(IncompleteRun):
        await review(agent, "go", thread_id="t")
    with pytest.raises(ConfigError):
        await review(agent, thread_id="new")


async def test_a_thread_that_runs_elsewhere_is_refused_with_nobody_there(empty: Seat, store: Checkpointer):
    """ThreadBusy: somebody else holds it."""
    shop = Shop()
    agent = shop.agent(SLOW, "done", store=store)
    other = asyncio.create_task(agent.run("go", thread_id="t"))
    await shop.started.wait()
    with pytest.raises(ThreadBusy):
        await review(shop.agent("x", store=store), "go", thread_id="t")
    shop.gate.set()
    await other


async def test_outside_a_notebook_nobody_is_there():
    """A script: no front end says that a person can answer."""
    register(None)
    with pytest.raises(PendingInterrupts):
        await review(Shop().agent(deployments("1.0"), "out"), "ship")


async def test_a_hand_built_graph_is_reviewed_too(empty: Seat):
    """api.md: GraphThread; a reviewer is given the graph's own interrupts."""
    key = StateKey.appending("log", str)
    builder = GraphBuilder("asks", version="1")
    ask = builder.declare_resume("answered", question=str, answer=int)

    @builder.node("start", input=str)
    def start(text: str) -> Suspend:
        return Suspend(f"how many {text}?", ask)

    @builder.implement(ask, writes=key)
    def answered(resumed: Resumed[str, int]):
        from llm4s_notebook.graph import Command

        return Command().update(key, f"{resumed.question} {resumed.answer}")

    graph = builder.compile(start, output=lambda state: list(state[key]))
    runtime = GraphRuntime.in_memory()
    asked: list[PendingInterrupt] = []

    def reviewer(pending: PendingInterrupt) -> Answer:
        asked.append(pending)
        return Answer.reply(pending.id, 3)

    result = await review(GraphThread(runtime, graph), "apples", thread_id="t", answers=reviewer)
    assert isinstance(result, GraphCompleted)
    assert result.output == ["how many apples? 3"]
    assert [pending.question for pending in asked] == ["how many apples?"]
    session = Session(GraphThread(runtime, graph), "t")
    await session.refresh()
    assert session.result.output == ["how many apples? 3"]
    await session.run("pears")
    (card,) = session.state().pending
    assert (card.kind, card.question, card.answer_schema, card.lenient) == ("QUESTION", "how many pears?", {"type": "integer"}, False)
    assert session.state().is_agent is False


IMPORTS = [
    "from llm4s_notebook import review",
    "from llm4s_notebook.review import review",
    "from llm4s_notebook.review import Session, review",
    "from llm4s_notebook.review import Session\nfrom llm4s_notebook import review",
    "from llm4s_notebook import review\nfrom llm4s_notebook.review import Session",
    "import llm4s_notebook.review\nfrom llm4s_notebook import review",
]


@pytest.mark.parametrize("imports", IMPORTS)
def test_review_is_called_however_it_was_imported(imports: str):
    """The room and the function share a name; whichever a name gives, calling it does the same. No front end is loaded by it."""
    script = f"""
{imports}
import asyncio, sys
from llm4s_notebook.agent import Agent
from llm4s_notebook.models import ScriptedClient
loaded = "anywidget" in sys.modules
result = asyncio.run(review(Agent("a", ScriptedClient("hello")), "hi", answers=[]))
print(result.answer, loaded, "anywidget" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.stdout == "hello False False\n", ran.stderr


async def test_an_answer_given_beforehand_that_nothing_waited_for_is_named():
    """2.4.5: a mistyped id is said, beside what waits."""
    shop = Shop()
    with pytest.raises(PendingInterrupts) as refused:
        await review(shop.agent(deployments("1.0"), "out"), "ship", answers={"9": {"decision": "approve"}})
    assert refused.value.interrupt_ids == ("2.0",)
    assert any("'9'" in detail for detail in refused.value.details)


@pytest.mark.parametrize("answers", [5, "2.0", [1], [("2.0",)], b"2.0"])
async def test_answers_that_are_no_ids_and_values_are_refused_before_anything_runs(answers: Any):
    """R4.9: with what is wrong, not with a bare TypeError; also by a session."""
    shop = Shop()
    client = ScriptedClient(deployments("1.0"), "out")
    with pytest.raises(ConfigError) as refused:
        await review(shop.agent(client), "ship", answers=answers)
    assert refused.value.field == "answers"
    assert client.requests == []
    session = Session(shop.agent(client), "t")
    await session.run("ship")
    with pytest.raises(ConfigError):
        await session.answer(answers)
    assert len(session.state().pending) == 1
