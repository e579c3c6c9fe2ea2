"""How long the values of a call lie in the store: agent.md 3.8.2."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from llm4s_notebook.agent import Agent, Fatal, Handoff, tool
from llm4s_notebook.agent._call_secrets import CALL_SECRETS
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import ToolFailed
from llm4s_notebook.models import AssistantMessage, ScriptedClient, ToolMessage, UserMessage, calls

from .secrecy import DOTS, connect, two_logins
from .support import call, client_of, policy


async def test_the_value_lies_in_the_store_until_the_batch_has_its_results(tmp_path: Any) -> None:
    """3.8.2: another process takes the turn up; afterwards the latest checkpoint has the value no more."""
    got: list[str] = []

    @tool
    async def sign_in(password: SecretStr) -> str:
        """Sign in."""
        got.append(password.get_secret_value())
        return "in"

    def agent(store: Checkpointer) -> Agent:
        return Agent(
            "assistant",
            ScriptedClient(calls(call("c1", "sign_in", password="hunter2")), "done"),
            tools=sign_in,
            middleware=policy("sign_in"),
            runtime=store,
        )

    async with SqliteCheckpointer(tmp_path / "t.db") as store:
        await agent(store).run("go", thread_id="t")
    async with SqliteCheckpointer(tmp_path / "t.db") as store:
        latest = await store.latest("t")
        assert latest is not None
        assert b"hunter2" in b"".join(latest.checkpoint.entries["state", "call-secrets"])
        other = Agent("assistant", ScriptedClient("done"), tools=sign_in, middleware=policy("sign_in"), runtime=store)
        (review,) = (await other.result("t")).pending
        assert (await other.resume("t", review.approve())).answer == "done"
        latest = await store.latest("t")
        assert latest is not None
        assert "hunter2" not in repr(latest)
    assert got == ["hunter2"]


async def test_a_fork_has_the_secrets_of_its_calls() -> None:
    """3.8.2, F22."""
    got: list[str] = []

    @tool
    async def sign_in(password: SecretStr) -> str:
        """Sign in."""
        got.append(password.get_secret_value())
        return "in"

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "sign_in", password="hunter2")), "a", "b"), tools=sign_in, middleware=policy("sign_in")
    )
    (review,) = (await agent.run("go", thread_id="t")).pending
    latest = (await agent.runtime.history("t"))[0]
    await agent.resume("t", review.approve())
    await agent.runtime.fork("t", latest.id, "u")
    await agent.resume("u", review.approve())
    assert got == ["hunter2", "hunter2"]


async def test_a_turn_that_is_given_up_leaves_no_secret(tmp_path: Any) -> None:
    """3.8.2, R6.36."""
    async with SqliteCheckpointer(tmp_path / "t.db") as store:
        agent = Agent("assistant", ScriptedClient(two_logins()), tools=connect, middleware=policy("connect"), runtime=store)
        await agent.run("go", thread_id="t")
        gone = await agent.abandon("t")
        assert not gone.state.is_set(CALL_SECRETS)
    left = [path.name for path in tmp_path.iterdir() if b"first-secret" in path.read_bytes()]
    assert left == []


async def test_calls_of_a_refused_batch_leave_no_secret() -> None:
    """3.8.2, 7.2."""
    helper = Agent("helper", ScriptedClient("hi"))
    message = calls(*two_logins().tool_calls, call("c2", "handoff_to_helper", reason="x"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=connect, handoffs=Handoff(helper))
    done = await agent.run("go", thread_id="t")
    assert done.answer == "done"
    assert not done.state.is_set(CALL_SECRETS)
    assert "first-secret" not in repr(done.messages) + repr(await agent.runtime.history("t"))


async def test_an_imported_history_is_stored_without_secrets() -> None:
    """3.8.2, 1.4.1."""
    agent = Agent("assistant", ScriptedClient("done"), tools=connect)
    history = [UserMessage("hi"), *([two_logins()]), ToolMessage("ok", "c1"), AssistantMessage("fine")]
    done = await agent.run("go", thread_id="t", history=history)
    assert "first-secret" not in repr(done.messages) + repr(client_of(agent).requests) + repr(await agent.runtime.history("t"))


async def test_a_thread_can_be_shown_when_the_tool_is_gone() -> None:
    """3.8.2, D14: the dots are what is stored."""
    store = InMemoryCheckpointer()
    agent = Agent("assistant", ScriptedClient(two_logins()), tools=connect, middleware=policy("connect"), runtime=store)
    await agent.run("go", thread_id="t")
    shown = await Agent("assistant", ScriptedClient(), runtime=store).result("t")
    assert "first-secret" not in repr(shown) + repr(shown.messages) + repr(shown.status)
    assert DOTS in repr(shown.messages)


async def test_a_failed_call_is_recovered_with_its_secret() -> None:
    """2.4.8, 3.8.2."""
    got: list[str] = []

    @tool
    async def sign_in(password: SecretStr) -> Any:
        """Sign in."""
        got.append(password.get_secret_value())
        return "in" if len(got) > 1 else Fatal(RuntimeError("down"))

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "sign_in", password="hunter2")), "done"), tools=sign_in, middleware=policy("sign_in")
    )
    (review,) = (await agent.run("go", thread_id="t")).pending
    with pytest.raises(ToolFailed):
        await agent.resume("t", review.edit({"password": "typed-one"}))
    assert (await agent.recover("t")).answer == "done"
    assert got == ["typed-one", "typed-one"]
