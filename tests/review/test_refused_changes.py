"""Changes and ways that do not come about leave nothing half done (W4.5, W4.6)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest

from llm4s_notebook.agent import Agent
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.errors import ConfigError, RunCancelled, StoreUnavailable
from llm4s_notebook.models import Json, ScriptedClient
from llm4s_notebook.review import Session

from .browser import Browser
from .test_changed_agents import Failing, editor, prompts
from .turns import SLOW, Shop, until


def target(session: Session) -> Agent:
    return cast(Agent, session.target)


def changed(session: Session, prompt: str) -> Agent:
    return target(session).with_(system_prompt=prompt)


async def asked_twice(session: Session) -> tuple[asyncio.Task[Any], asyncio.Task[None], asyncio.Task[None]]:
    """A run under way, and two changes that wait for its end."""
    run = asyncio.create_task(session.run("go"))
    await until(lambda: session.running)
    first = asyncio.create_task(session.use(changed(session, "two")))
    await until(lambda: target(session).settings.system_prompt == "two")
    second = asyncio.create_task(session.use(changed(session, "three")))
    await until(lambda: target(session).settings.system_prompt == "three")
    assert editor(session).said.startswith("applies when")
    return run, first, second


@pytest.mark.parametrize("how", ["both fail", "both are given up"])
async def test_of_two_changes_that_wait_and_do_not_come_about_none_is_left(how: str) -> None:
    """W4.5: the form does not show the first one, which never took effect."""
    store = Failing()
    session = Session(Shop().agent(SLOW, "hi", store=store, system_prompt="one"), "t")
    run, first, second = await asked_twice(session)
    if how == "both fail":
        store.failing = True
    else:
        first.cancel()
        second.cancel()
        await asyncio.wait({first, second})
    await session.cancel()
    ended = await asyncio.gather(run, first, second, return_exceptions=True)
    store.failing = False
    wrong = StoreUnavailable if how == "both fail" else asyncio.CancelledError
    assert [type(one) for one in ended] == [RunCancelled, wrong, wrong]
    assert target(session).settings.system_prompt == "one"
    assert [form.values["system_prompt"] for form in editor(session).agents] == ["one"]


async def test_of_two_changes_that_wait_the_second_alone_may_be_given_up() -> None:
    """W4.5: the first one takes effect."""
    session = Session(Shop().agent(SLOW, "hi", system_prompt="one"), "t")
    run, first, second = await asked_twice(session)
    second.cancel()
    await asyncio.wait({second})
    assert target(session).settings.system_prompt == "two"
    await session.cancel()
    await asyncio.gather(run, first, second, return_exceptions=True)
    assert target(session).settings.system_prompt == "two"


async def test_changes_from_several_threads_leave_the_agent_that_runs() -> None:
    """D23, W4.5: whatever their order, the form shows what the next turn is run with."""
    agent = Shop().agent(*["hi"] * 40, system_prompt="one", version="1")
    session = Session(agent, "t")
    await session.run("first")

    def change(name: str) -> None:
        async def often() -> None:
            for at in range(8):
                await session.use(changed(session, f"{name}{at}"))

        asyncio.run(often())

    threads = [threading.Thread(target=change, args=(name,)) for name in "abcd"]
    for one in threads:
        one.start()
    for at in range(4):
        await session.run(f"query {at}")
    await asyncio.to_thread(lambda: [one.join() for one in threads])
    await session.run("last")
    assert prompts(agent)[-1] == target(session).settings.system_prompt


@pytest.mark.parametrize("given", ["taken", "t", 5, None])
async def test_a_new_thread_is_none_that_is_there_already(given: Any, store: Checkpointer) -> None:
    """W4.6: nobody reads, or goes on with, a conversation of somebody else."""
    shop = Shop()
    await Session(shop.agent("not for you", store=store), "taken").run("somebody else's")
    session = Session(shop.agent("hi", store=store, system_prompt="one"), "t", new_thread_id=lambda: given)
    await session.run("hello")
    session.drafts.save("agent:assistant", {"value": {"system_prompt": "draft"}})
    await session.use(changed(session, "two"))
    with pytest.raises(ConfigError, match="new_thread_id gave"):
        await session.new_thread()
    assert (session.thread_id, session.drafts.all()) == ("t", {"agent:assistant": {"value": {"system_prompt": "draft"}}})
    assert [message.text for message in session.state().messages] == ["hello", "hi"]
    assert "new_thread" in [way.way for way in editor(session).ways]


@pytest.mark.parametrize("way", ["old_agent", "new_thread", "empty_thread"])
async def test_a_thread_that_was_deleted_meanwhile_is_new_for_the_changed_agent(way: str) -> None:
    """W4.6, W1.3: no way on is open from a thread that is no more, and the change holds."""
    store = InMemoryCheckpointer()
    agent = Shop().agent("hi", "again", store=store, system_prompt="one")
    session = Session(agent, "t")
    await session.run("hello")
    await session.use(changed(session, "two"))
    assert editor(session).offer is not None
    await store.delete_thread("t")
    reply = await Browser(session).ask(kind="go_on", way=way, thread_id="t")
    assert reply.kind == "refused"
    assert (editor(session).offer, editor(session).ways, session.state().messages) == (None, [], [])
    await session.run("hello")
    assert prompts(agent) == ["one", "two"]


class Wordy(ScriptedClient):
    """A client of somebody's own that tells more of itself than its schema has."""

    def option_schema(self) -> dict[str, Json]:
        return {"type": "object", "properties": {"temperature": {"type": "number"}, "seed": {"type": "integer"}}}

    def option_values(self) -> dict[str, Json]:
        return {"temperature": 0.5, "seed": None, "model": "mine"}

    def with_options(self, **changes: Any) -> Wordy:
        return self


async def test_a_client_that_tells_more_than_its_schema_has_keeps_no_prompt_from_being_changed() -> None:
    """W4.5: what the form shows it also takes."""
    session = Session(Agent("assistant", Wordy("hi"), system_prompt="one"))
    (form,) = editor(session).agents
    assert form.values == {"system_prompt": "one", "options": {"temperature": 0.5}}
    reply = await Browser(session).ask(kind="change_agent", agent="assistant", value={**form.values, "system_prompt": "two"})
    assert (reply.kind, target(session).settings.system_prompt) == ("done", "two")
