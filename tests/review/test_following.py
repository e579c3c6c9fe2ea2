"""A session draws what happens to its thread elsewhere, and tells its observers: widgets.md W1.3, F33."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.agent import Answer
from llm4s_notebook.checkpoint import Checkpointer, Head, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import IncompleteRun, InvalidResume, ModelFailed, RunCancelled
from llm4s_notebook.models import AssistantMessage, ModelRequest
from llm4s_notebook.review import Session
from llm4s_notebook.review._conduct import FOLLOW_EVERY
from llm4s_notebook.wire import SessionState

from .turns import SLOW, Shop, deployments, ids, until


async def test_a_thread_answered_in_another_session_is_drawn_within_a_second(tmp_path: Path):
    """W1.3: another kernel on the same file; this one follows the store, and looks at it more than twice a second."""
    assert FOLLOW_EVERY < 0.5
    shop = Shop()
    here_store, there_store = SqliteCheckpointer(tmp_path / "t.db"), SqliteCheckpointer(tmp_path / "t.db")
    here = Session(shop.agent(deployments("1.0"), "out", store=here_store), "t")
    await here.run("ship")
    states: list[SessionState] = []
    stop = here.observe(states.append)
    there = Session(shop.agent("finished there", store=there_store), "t", principal="ben")
    await there.refresh()
    assert ids(there.state().pending) == ["2.0"]
    await there.answer(Answer.approve("2.0"))
    await until(lambda: bool(states) and states[-1].status == "completed")
    assert states[-1].answer == "finished there"
    with pytest.raises(InvalidResume) as stale:
        await here.answer(Answer.approve("2.0"))
    (problem,) = stale.value.problems
    assert (problem.code, problem.answered_by) == ("answered", "ben")
    stop()
    await here_store.aclose()
    await there_store.aclose()


async def test_a_thread_that_runs_elsewhere_is_drawn_as_running_elsewhere(tmp_path: Path):
    """W1.3: who looks on sees that somebody works on it, and that nothing can be started here."""
    shop = Shop()
    here_store, there_store = SqliteCheckpointer(tmp_path / "t.db"), SqliteCheckpointer(tmp_path / "t.db")
    here = Session(shop.agent("never", store=here_store), "t")
    there = Session(shop.agent(SLOW, "done", store=there_store), "t")
    states: list[SessionState] = []
    here.observe(states.append)
    running = asyncio.create_task(there.run("go"))
    await until(lambda: bool(states) and states[-1].status == "running")
    seen = states[-1]
    assert (seen.running, seen.run, seen.can_run, seen.can_cancel, seen.can_recover) == (True, None, False, False, False)
    assert "elsewhere" in seen.status_text
    assert "what a model is writing is seen" in str(seen.notice)  # W4.7: here only what is stored
    shop.gate.set()
    await running
    assert (await here.reviewed()).answer == "done"
    await here_store.aclose()
    await there_store.aclose()


async def test_reviewed_returns_when_somebody_has_answered_and_raises_what_ended_the_turn():
    """api.md: returns when nothing is pending any more."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0"), "out"), "t")
    await session.run("ship")
    waiting = asyncio.create_task(session.reviewed())
    await asyncio.sleep(0)
    assert not waiting.done()
    await session.answer(Answer.approve("2.0"))
    assert (await waiting).answer == "out"
    unfinished = Session(shop.agent(SLOW, "out"), "u")
    running = asyncio.create_task(unfinished.run("go"))
    await until(lambda: unfinished.running)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    with pytest.raises((IncompleteRun, RunCancelled)):
        await unfinished.reviewed()


class Interfering(InMemoryCheckpointer):
    """A store in which somebody else acts once, just before its head is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], Awaitable[Any]] | None = None

    async def head(self, thread_id: str) -> Head:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return await super().head(thread_id)


async def test_an_answer_given_elsewhere_right_after_the_pause_is_drawn():
    """W1.3: between the end of a run here and the next look at the store."""
    shop = Shop()
    store = Interfering()
    other = shop.agent("out", store=store)

    def ask(request: ModelRequest) -> AssistantMessage:
        store.meanwhile = lambda: other.resume("t", Answer.approve("2.0"))
        return deployments("1.0", "2.0")

    session = Session(shop.agent(ask, "out", store=store), "t")
    await session.run("ship")
    assert store.meanwhile is None
    assert ids(session.state().pending) == ["2.1"]


async def test_a_failed_turn_that_was_recovered_elsewhere_has_no_error_any_more(store: Checkpointer):
    """W1.3: the store is the truth, not what ended the last run here."""
    shop = Shop()
    session = Session(shop.agent(RuntimeError("down"), store=store), "t")
    with pytest.raises(ModelFailed):
        await session.run("hi")
    assert isinstance(session.ended_by, ModelFailed)
    await shop.agent("recovered there", store=store).recover("t")
    assert (await session.reviewed()).answer == "recovered there"
    assert session.ended_by is None
    assert session.state().error is None


async def test_an_observer_that_raises_does_not_stop_the_others():
    """F33: nothing a view does breaks the session."""
    session = Session(Shop().agent("hello"), "t")
    seen: list[str] = []

    def broken(state: SessionState) -> None:
        raise RuntimeError("a broken view")

    session.observe(broken)
    stop = session.observe(lambda state: seen.append(state.status))
    await session.run("hi")
    assert seen[-1] == "completed"
    stop()
    stop()


async def test_a_store_that_cannot_be_read_any_more_is_shown_once_and_the_session_goes_on_following(tmp_path: Path):
    """F33: the follower's error is nobody else's to see."""
    shop = Shop()
    store = SqliteCheckpointer(tmp_path / "t.db")
    session = Session(shop.agent(deployments("1.0"), "out", store=store), "t")
    await session.run("ship")
    errors: list[str] = []
    session.observe(lambda state: errors.append(state.error.type if state.error is not None else ""))
    await store.aclose()
    await until(lambda: "StoreUnavailable" in errors)
    shown = len(errors)
    await asyncio.sleep(1.0)
    assert len(errors) == shown


def test_who_observed_before_there_was_a_loop_is_told_too():
    """D23: a script makes its session and observes it before asyncio.run."""
    session = Session(Shop().agent("hello"), "t")
    seen: list[str] = []
    session.observe(lambda state: seen.append(state.status))
    asyncio.run(session.run("hi"))
    assert seen[-1] == "completed"
