"""A thread that does not go on with the changed agent: finished with the old one, or left for a new thread (W4.6, D14)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.agent import Agent
from llm4s_notebook.checkpoint import Checkpointer, SqliteCheckpointer
from llm4s_notebook.errors import ConfigError, ModelFailed, RestoreRejected
from llm4s_notebook.graph import BreakpointPhase
from llm4s_notebook.models import calls
from llm4s_notebook.review import DecisionLog, Session

from .browser import Browser
from .test_changed_agents import editor, prompts
from .turns import SLOW, Region, Shop, deployment, guarded, until

APPROVE = {"decision": "approve"}


def agent_of(shop: Shop, store: Checkpointer | None, *script: Any, prompt: str = "one", **settings: Any) -> Agent:
    return shop.agent(*script, store=store, system_prompt=prompt, **settings)


async def changed(session: Session) -> Browser:
    """The session with another prompt applied in its console."""
    browser = Browser(session)
    reply = await browser.ask(kind="change_agent", agent="assistant", value={"system_prompt": "two"})
    assert reply.kind == "done"
    return browser


async def go_on(browser: Browser, way: str) -> Any:
    return await browser.ask(kind="go_on", way=way, thread_id=browser.session.thread_id)


def ways(session: Session) -> list[str]:
    return [one.way for one in editor(session).ways]


def said(session: Session) -> list[str]:
    return [message.text for message in session.state().messages]


# -- the turn is finished --------------------------------------------------------------------------------------------


async def test_finished_what_changed_is_named_and_nothing_runs_before_a_choice(store: Checkpointer):
    agent = agent_of(Shop(), store, "hi", "more")
    session = Session(agent, "t")
    await session.run("hello")
    browser = await changed(session)
    assert editor(session).offer == "This thread was stored under another version of the agent (system prompt). How do you want to go on?"
    assert ways(session) == ["old_agent", "new_thread", "empty_thread"]
    assert not session.state().can_run
    assert (await browser.ask(kind="run", query="more")).error.type == "RestoreRejected"
    with pytest.raises(RestoreRejected):
        await session.run("more")
    assert prompts(agent) == ["one"]
    await go_on(browser, "new_thread")
    assert editor(session).suggested == "more"


async def test_finished_the_old_agent_goes_on_and_the_change_is_kept(store: Checkpointer):
    agent = agent_of(Shop(), store, "hi", "more", "new")
    session = Session(agent, "t")
    await session.run("hello")
    browser = await changed(session)
    await go_on(browser, "old_agent")
    said = "This thread goes on with the old agent. What you changed (system prompt) holds for a new thread."
    assert editor(session).offer == said
    assert session.offer == f"{said} In code: await session.new_thread() or await session.new_thread(history=False)."
    assert ways(session) == ["new_thread", "empty_thread"]
    assert session.state().can_run
    await session.run("more")
    assert isinstance(session.target, Agent)
    assert session.target.settings.system_prompt == "two"
    await go_on(browser, "new_thread")
    await session.run("again")
    assert prompts(agent) == ["one", "one", "two"]


async def test_finished_a_new_thread_begins_with_the_messages(store: Checkpointer):
    agent = agent_of(Shop(), store, "hi", "new")
    session = Session(agent, "t")
    await session.run("hello")
    reply = await go_on(await changed(session), "new_thread")
    assert (reply.said, session.thread_id == "t") == (f"on thread {session.thread_id}", False)
    state = session.state()
    assert (state.status, state.thread_id, said(session)) == ("new", session.thread_id, ["hello", "hi"])
    assert state.notice == "A new thread, beginning with 2 messages of thread t. Thread t is as it was: Session(agent, 't') opens it."
    assert (editor(session).suggested, session.offer, ways(session)) == (None, None, ["back"])
    assert (await store.head(session.thread_id)).checkpoint_id is None  # nothing is stored before its first turn
    result = await session.run("next")
    assert [message.content for message in result.messages] == ["hello", "hi", "next", "new"]
    assert prompts(agent) == ["one", "two"]
    assert (ways(session), editor(session).said) == ([], "changed · thread before: t")
    assert [message.content for message in (await agent.result("t")).messages] == ["hello", "hi"]


async def test_finished_a_new_empty_thread_suggests_the_same_query(store: Checkpointer):
    """W4.6: to compare two prompts on one question."""
    agent = agent_of(Shop(), store, "hi", "new")
    session = Session(agent, "t")
    await session.run("hello")
    await go_on(await changed(session), "empty_thread")
    assert (editor(session).suggested, said(session)) == ("hello", [])
    result = await session.run("hello")
    assert [message.content for message in result.messages] == ["hello", "new"]


async def test_the_next_turn_of_the_new_thread_imports_nothing_twice(store: Checkpointer):
    session = Session(agent_of(Shop(), store, "hi", "new", "last"), "t")
    await session.run("hello")
    await go_on(await changed(session), "new_thread")
    await session.run("next")
    result = await session.run("then")
    assert [message.content for message in result.messages] == ["hello", "hi", "next", "new", "then", "last"]


# -- the turn waits --------------------------------------------------------------------------------------------------


async def waiting(store: Checkpointer | None, *more: Any, **settings: Any) -> tuple[Shop, Agent, Session]:
    """One turn done, one that waits for an approval."""
    shop = Shop()
    agent = agent_of(shop, store, "hi", calls(deployment()), *more, **settings)
    session = Session(agent, "t")
    await session.run("hello")
    await session.run("ship")
    return shop, agent, session


async def test_waiting_an_answer_is_refused_before_a_choice_and_its_draft_stays(store: Checkpointer):
    shop, _, session = await waiting(store, "out")
    browser = await changed(session)
    (card,) = session.state().pending
    await browser.ask(kind="save_draft", id=card.id, draft={"decision": "approve"})
    error = (await browser.submit({**APPROVE, "id": card.id})).error
    assert (error.type, error.where) == ("RestoreRejected", "")
    assert "another version of the agent (system prompt)" in error.what
    assert "choose how to go on" in error.next_step
    assert "version=" not in error.what + error.next_step  # no code to write where a button does it
    assert "waits under another version of the agent (system prompt)" in str(session.offer)
    calls = "await session.finish_with_old_agent() or await session.new_thread() or await session.new_thread(history=False)"
    assert str(session.offer).endswith(f"In code: {calls}.")
    assert "In code" not in str(session.state().editor)  # on the page these are buttons
    assert (session.drafts.all(), shop.ran) == ({card.id: {"decision": "approve"}}, [])
    await go_on(browser, "old_agent")
    assert session.drafts.all() == {card.id: {"decision": "approve"}}
    assert (await browser.submit({**APPROVE, "id": card.id})).kind == "done"
    await until(lambda: session.state().status == "completed")
    assert (session.result.answer, shop.ran) == ("out", ["deploy prod 1.0"])


async def test_waiting_a_new_thread_leaves_what_waits_where_it_is(store: Checkpointer):
    """W4.6: the open turn is left out whole, its query is suggested, and it can be answered on its thread later."""
    shop, agent, session = await waiting(store, "new")
    await go_on(await changed(session), "new_thread")
    assert (said(session), editor(session).suggested) == (["hello", "hi"], "ship")
    assert str(session.state().notice).endswith("What waits (deploy wants your approval) is not answered and stays there.")
    result = await session.run("ship")
    assert [message.content for message in result.messages] == ["hello", "hi", "ship", "new"]
    assert prompts(agent) == ["one", "one", "two"]
    left = Session(agent_of(shop, store, "out"), "t")
    await left.refresh()
    (card,) = left.state().pending
    assert (await left.answer({card.id: APPROVE})).answer == "out"
    assert shop.ran == ["deploy prod 1.0"]


async def test_waiting_in_the_first_turn_only_an_empty_thread_is_offered(store: Checkpointer):
    session = Session(agent_of(Shop(), store, calls(deployment()), "new"), "t")
    await session.run("ship")
    browser = await changed(session)
    assert ways(session) == ["old_agent", "empty_thread"]
    await go_on(browser, "empty_thread")
    assert (said(session), editor(session).suggested) == ([], "ship")


async def test_waiting_before_anything_is_stored(store: Checkpointer):
    """A `before_agent` that asks: the turn's query is in the question."""
    session = Session(agent_of(Shop(), store, "out", middleware=[Region()]), "t")
    await session.run("where")
    await go_on(await changed(session), "empty_thread")
    assert editor(session).suggested == "where"


async def test_drafts_and_holds_of_a_thread_stay_with_it(store: Checkpointer):
    """W4.6: interrupt ids may be the same on two threads."""
    _, _, session = await waiting(store, "hi", calls(deployment()))
    (card,) = session.state().pending
    session.breakpoints.hold("assistant/finish", BreakpointPhase.BEFORE)
    browser = await changed(session)
    await browser.ask(kind="save_draft", id=card.id, draft={"decision": "approve"})
    await browser.ask(kind="save_draft", id="agent:assistant", draft={"value": {}})
    await go_on(browser, "new_thread")
    assert session.drafts.all() == {"agent:assistant": {"value": {}}}
    assert browser.received[-2].drafts == session.drafts.all()
    assert not session.breakpoints.is_held("assistant/finish", BreakpointPhase.BEFORE)
    assert str(session.state().notice).endswith("is not answered and stays there. So do the holds on the diagram.")
    await go_on(browser, "back")
    assert session.drafts.all()[card.id] == {"decision": "approve"}
    assert session.breakpoints.is_held("assistant/finish", BreakpointPhase.BEFORE)


async def test_back_returns_to_the_thread_as_it_was_left_while_the_new_one_is_new(store: Checkpointer):
    shop, _, session = await waiting(store, "out", "more")
    browser = await changed(session)
    await go_on(browser, "new_thread")
    new = session.thread_id
    await go_on(browser, "back")
    assert (session.thread_id, ways(session)) == ("t", ["old_agent", "new_thread", "empty_thread"])
    await go_on(browser, "old_agent")
    await go_on(browser, "new_thread")
    assert session.thread_id not in ("t", new)
    await session.back()
    (card,) = session.state().pending
    assert "goes on with the old agent" in str(session.offer)
    await session.answer({card.id: APPROVE})
    assert shop.ran == ["deploy prod 1.0"]
    await session.new_thread()
    await session.run("more")
    with pytest.raises(ConfigError) as refused:
        await session.back()
    assert "Session(agent, 't')" in str(refused.value)


async def test_a_new_thread_whose_first_turn_is_given_up_before_it_began_can_be_gone_back_from(store: Checkpointer):
    """Nothing is lost: its history was not stored yet, and is the old thread's still."""
    session = Session(agent_of(Shop(), store, "hi", middleware=[Region()]), "t")
    await session.run("in region x")
    browser = await changed(session)
    await go_on(browser, "new_thread")
    await session.run("where")
    assert (session.state().status, ways(session)) == ("suspended", [])
    await session.abandon()
    assert (said(session), ways(session)) == ([], ["back"])
    await go_on(browser, "back")
    assert (session.thread_id, said(session)) == ("t", ["in region x", "hi"])


async def test_two_people_choose_at_once_and_the_second_is_told(store: Checkpointer):
    """W1.3: the one who looked at another thread changes nothing."""
    _, _, session = await waiting(store)
    first = await changed(session)
    second = Browser(session)
    assert (await first.ask("a", kind="go_on", way="new_thread", thread_id="t")).kind == "done"
    new = session.thread_id
    late = await second.ask("b", kind="go_on", way="old_agent", thread_id="t")
    assert (late.kind, new in late.error.what) == ("refused", True)
    assert session.thread_id == new


async def test_somebody_answers_in_another_kernel_a_moment_before(store: Checkpointer):
    """W1.3: the new thread begins with what is stored when it is made, and nothing is done to the old one."""
    shop, agent, session = await waiting(store, "out", "new")
    browser = await changed(session)
    (card,) = session.state().pending
    other = Session(agent, "t")
    await other.refresh()
    await other.answer({card.id: APPROVE})
    await go_on(browser, "new_thread")
    assert said(session)[:3] == ["hello", "hi", "ship"]
    assert "What waits" not in str(session.state().notice)
    assert (await session.run("next")).answer == "new"
    assert shop.ran == ["deploy prod 1.0"]


async def test_the_old_prompt_applied_again_needs_no_choice(store: Checkpointer):
    shop, _, session = await waiting(store, "out")
    browser = await changed(session)
    await browser.ask(kind="change_agent", agent="assistant", value={"system_prompt": "one"})
    assert (session.offer, ways(session), editor(session).said) == (None, [], "")
    await session.answer({session.state().pending[0].id: APPROVE})
    assert shop.ran == ["deploy prod 1.0"]


async def test_two_changes_in_a_row_keep_the_agent_that_the_thread_began_with(store: Checkpointer):
    _, agent, session = await waiting(store, "out")
    browser = await changed(session)
    await browser.ask(kind="change_agent", agent="assistant", value={"system_prompt": "three"})
    await go_on(browser, "old_agent")
    await session.answer({session.state().pending[0].id: APPROVE})
    assert prompts(agent) == ["one", "one", "one"]


# -- the turn is not finished ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["old_agent", "new_thread", "empty_thread"])
async def test_unfinished(way: str, store: Checkpointer):
    agent = agent_of(Shop(), store, "hi", ConnectionError("gone"), "out")
    session = Session(agent, "t")
    await session.run("hello")
    with pytest.raises(ModelFailed):
        await session.run("ship")
    browser = await changed(session)
    assert "is not finished under another version" in str(session.offer)
    assert not session.state().can_recover
    assert (await browser.ask(kind="recover")).error.type == "RestoreRejected"
    await go_on(browser, way)
    if way == "old_agent":
        assert (await session.recover()).answer == "out"
        assert prompts(agent) == ["one", "one", "one"]
        return
    assert str(session.state().notice).endswith("Its open turn is not finished and stays there.")
    assert editor(session).suggested == "ship"
    assert (await session.run("ship")).answer == "out"
    assert prompts(agent) == ["one", "one", "two"]
    assert session.error is None


async def test_running_nothing_can_be_chosen_before_it_has_ended():
    shop = Shop()
    session = Session(agent_of(shop, None, SLOW, "out"), "t")
    running = asyncio.ensure_future(session.run("go"))
    await shop.started.wait()
    browser = await changed(session)
    assert ways(session) == []
    refused = await go_on(browser, "new_thread")
    assert (refused.kind, refused.error.what) == ("refused", "a run is under way")
    shop.gate.set()
    assert (await running).answer == "out"
    await until(lambda: session.offer is not None)
    assert ways(session) == ["old_agent", "new_thread", "empty_thread"]


async def test_blocked_and_step_limit_threads_can_be_left_with_their_history(store: Checkpointer):
    session = Session(agent_of(Shop(), store, calls(deployment()), "new", max_steps=1, version=None), "t")
    await session.run("ship")
    await session.answer({session.state().pending[0].id: {"decision": "reject", "reason": "no"}})
    assert session.state().status == "step_limit"
    await go_on(await changed(session), "new_thread")
    assert said(session)[0] == "ship"
    assert (await session.run("next")).answer == "new"


async def test_a_guardrail_waits(store: Checkpointer):
    agent = agent_of(Shop(), store, "guaranteed", "fine", middleware=[guarded()])
    session = Session(agent, "t")
    await session.run("promise")
    await go_on(await changed(session), "empty_thread")
    assert (await session.run("promise")).answer == "fine"


# -- an edited cell, a new kernel ------------------------------------------------------------------------------------


async def test_an_edited_cell_offers_a_new_thread_and_says_how_to_get_the_old_agent_back(tmp_path: Path):
    """D14, W5.4: the agent that stored the thread is not in this kernel."""
    await waiting(SqliteCheckpointer(tmp_path / "t.db"))
    shop = Shop()
    agent = agent_of(shop, SqliteCheckpointer(tmp_path / "t.db"), "new", prompt="two")
    session = Session(agent, "t")
    await session.open("ship")
    assert ways(session) == ["new_thread", "empty_thread"]
    assert "Agent(version=…)" in str(session.offer)
    browser = Browser(session)
    refused = await go_on(browser, "old_agent")
    assert (refused.kind, "Agent(version=…)" in refused.error.next_step) == ("refused", True)
    await go_on(browser, "new_thread")
    assert (said(session), editor(session).suggested) == (["hello", "hi"], "ship")
    assert (await session.run("ship")).answer == "new"
    assert (prompts(agent), shop.ran) == (["two"], [])


async def test_another_process_answers_the_thread_that_was_left(tmp_path: Path):
    """W4.6: what was left is nobody's but its store's."""
    store = SqliteCheckpointer(tmp_path / "t.db")
    _, _, session = await waiting(store, "new")
    await session.use(session.target.with_(system_prompt="two"))  # type: ignore[union-attr]
    new = await session.new_thread()
    await session.run("ship")
    code = (
        "import asyncio, sys\n"
        "from tests.review.turns import Shop\n"
        "from llm4s_notebook.checkpoint import SqliteCheckpointer\n"
        "async def main():\n"
        "    store = SqliteCheckpointer(sys.argv[1])\n"
        "    shop = Shop()\n"
        "    old, new = (shop.agent('out', store=store, system_prompt=prompt) for prompt in ('one', 'two'))\n"
        "    done = await old.resume('t', [(await old.result('t')).pending[0].approve()])\n"
        "    again = await new.run('more', thread_id=sys.argv[2])\n"
        "    print(done.answer, again.answer, len(again.messages), shop.ran)\n"
        "asyncio.run(main())\n"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(tmp_path / "t.db"), new, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    out, _ = await child.communicate()
    assert out.decode().strip() == "out out 6 ['deploy prod 1.0']"
    await session.refresh()
    assert len(session.result.messages) == 6


# -- what goes with the thread ---------------------------------------------------------------------------------------


async def test_decisions_are_recorded_under_their_own_thread(tmp_path: Path, store: Checkpointer):
    shop = Shop()
    log = DecisionLog(tmp_path / "decisions.jsonl")
    agent = agent_of(shop, store, calls(deployment()), calls(deployment(version="2.0")), "out")
    session = Session(agent, "t", decisions=log)
    await session.run("ship")
    await go_on(await changed(session), "empty_thread")
    await session.run("ship again")
    await session.answer({session.state().pending[0].id: APPROVE})
    (record,) = log.records()
    assert (record.thread_id, record.query) == (session.thread_id, "ship again")
    assert shop.ran == ["deploy prod 2.0"]


async def test_every_view_follows_to_the_new_thread(store: Checkpointer):
    """W1.2."""
    _, _, session = await waiting(store)
    drawn: list[list[str]] = [[], []]
    for seen in drawn:
        session.observe(lambda state, seen=seen: seen.append(state.thread_id))
    await go_on(await changed(session), "new_thread")
    await until(lambda: all(seen and seen[-1] == session.thread_id for seen in drawn))


async def test_whoever_waits_gets_the_result_of_the_thread_that_is_finished(store: Checkpointer):
    """W5.1: the cell's `await` follows the session."""
    _, _, session = await waiting(store, "new")
    cell = asyncio.ensure_future(session.wait())
    await go_on(await changed(session), "new_thread")
    await asyncio.sleep(0)
    assert not cell.done()
    await session.run("ship")
    result = await cell
    assert (result.thread_id, result.answer) == (session.thread_id, "new")


async def test_a_fork_goes_on_with_the_agent_of_its_thread(store: Checkpointer):
    _, _, session = await waiting(store, "out", "out")
    await go_on(await changed(session), "old_agent")
    fork = await session.fork(str(session.checkpoint_id), "f")
    await fork.refresh()
    assert fork.offer is None
    assert (await fork.answer({fork.state().pending[0].id: APPROVE})).answer == "out"


async def test_in_code_without_a_front_end(store: Checkpointer):
    _, agent, session = await waiting(store, "out", "new")
    await session.use(session.target.with_(system_prompt="two"))  # type: ignore[union-attr]
    await session.finish_with_old_agent()
    with pytest.raises(ConfigError):
        await session.finish_with_old_agent()
    await session.answer({session.state().pending[0].id: APPROVE})
    assert await session.new_thread(history=False) == session.thread_id
    with pytest.raises(ConfigError):
        await session.new_thread()
    await session.run("hello")
    assert prompts(agent) == ["one", "one", "one", "two"]


async def test_in_code_a_refusal_names_the_ways_that_are_open(store: Checkpointer):
    """W4.6, D14: for an answer, for giving up and for a turn; what changed is named in words, the version last."""
    _, _, session = await waiting(store, "out", "new")
    await session.use(session.target.with_(system_prompt="two"))  # type: ignore[union-attr]
    answers = {session.state().pending[0].id: APPROVE}
    for refused_call in (lambda: session.answer(answers), session.abandon):
        with pytest.raises(RestoreRejected) as refused:
            await refused_call()
        assert refused.value.problems == ("changed: system prompt",)
        calls_open = [f"await session.{call}" for call in ("finish_with_old_agent()", "new_thread()", "new_thread(history=False)")]
        assert refused.value.next_step.startswith(f"go on with {' or '.join(calls_open)}; or give the agent the version")
    await session.finish_with_old_agent()
    await session.answer(answers)
    await session.use(session.target.with_(system_prompt="three"))  # type: ignore[union-attr]
    with pytest.raises(RestoreRejected, match=r"or await session\.new_thread\(\) or await session\.new_thread\(history=False\)"):
        await session.run("hello")


async def test_in_a_new_kernel_a_refusal_names_no_old_agent(tmp_path: Path):
    """W4.6: the way that is not open is not offered in code either."""
    path = tmp_path / "threads.db"
    await waiting(SqliteCheckpointer(path), "out")
    session = Session(agent_of(Shop(), SqliteCheckpointer(path), "new", prompt="two"), "t")
    with pytest.raises(RestoreRejected) as refused:
        await session.answer({"2.0": APPROVE})
    assert "finish_with_old_agent" not in refused.value.next_step
    assert "await session.new_thread(history=False)" in refused.value.next_step
