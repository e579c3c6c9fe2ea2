"""The agent itself: its settings, its queries, and what its hooks may refuse: agent.md 1.2.2, 1.4.2, D21."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import (
    Agent,
    AgentMiddleware,
    Blocked,
    ToolContext,
    Unfinished,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus, SqliteCheckpointer
from llm4s_notebook.errors import (
    ConfigError,
    GuardrailBlocked,
    Llm4sError,
    MiddlewareFailed,
    NothingToRecover,
    Refused,
)
from llm4s_notebook.graph import RunContext, StateKey
from llm4s_notebook.models import ScriptedClient, calls

from .support import Wrap, call, echo


@pytest.mark.parametrize("query", ["", "  ", "\n"])
async def test_a_blank_query_is_refused_before_any_thread_is_touched(query: str):
    """1.4.2."""
    agent = Agent("assistant", ScriptedClient())
    with pytest.raises(ConfigError, match="the query is blank") as refused:
        await agent.run(query, thread_id="t")
    assert refused.value.field == "query"
    assert (await agent.runtime.checkpointer.head("t")).checkpoint_id is None


async def test_message_ids_are_made_from_the_task_that_wrote_them():
    """1.1.6, 1.3.2."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="a"), call("c2", "echo", text="b")), "done"), tools=echo)
    result = await agent.run("go")
    assert [message.id for message in result.messages] == ["0.0/user", "1.0/assistant", "3.0/tool/c1", "3.0/tool/c2", "4.0/assistant"]


def test_every_mistake_in_the_settings_is_told_at_once():
    """api.md: ConfigError lists every problem."""
    with pytest.raises(ConfigError) as refused:
        Agent("a b", object(), max_steps=0, tools=[3], middleware=[object()], interrupt_before=["nope"])  # type: ignore[arg-type, list-item]  # the mistakes under test
    assert refused.value.field == "agent"
    for part in ("must match", "has no `complete`", "at least 1", "3 is no tool", "is no AgentMiddleware", "'nope' is no AgentNode"):
        assert [problem for problem in refused.value.problems if part in problem], part


def test_a_key_of_the_loop_is_nobodys_to_write():
    """1.2.2: every offender is listed, innocent tools are not."""
    key: StateKey[int, int] = StateKey.replace("turn", int, initial=0)

    @tool(writes=key)
    async def greedy() -> str:
        """Greedy."""
        return ""

    @tool(name="brought", writes={key, StateKey.replace("usage", int, initial=0), StateKey.replace("mine", int, initial=0)})
    async def brought() -> str:
        """Brought by a middleware."""
        return ""

    class Greedy(Wrap):
        writes = (key,)
        tools = (brought,)

    with pytest.raises(ConfigError) as refused:
        Agent("assistant", ScriptedClient(), tools=[greedy, echo], middleware=Greedy("m"))
    assert refused.value.problems == (
        "agent 'assistant': tool 'greedy' declares a key the loop owns (turn)",
        "agent 'assistant': tool 'brought' declares a key the loop owns (turn, usage)",
        "agent 'assistant': middleware 'm' declares a key the loop owns (turn)",
    )


def test_duplicate_tools_are_refused():
    """3.1.4."""
    with pytest.raises(ConfigError, match="duplicate tool name 'echo'"):
        Agent("assistant", ScriptedClient(), tools=[echo, echo])


async def test_user_keys_of_tools_are_in_the_results_state(tmp_path: Any):
    """api.md: `result.state`; and survive the file."""
    from llm4s_notebook.agent import Success
    from llm4s_notebook.graph import Command

    notes: StateKey[list[str], str] = StateKey.appending("notes", str)

    @tool(writes=notes)
    async def note(text: str, context: ToolContext) -> Any:
        """Note it."""
        return Success(len(context.state[notes]), Command().update(notes, text))

    async with SqliteCheckpointer(tmp_path / "t.db") as store:
        client = ScriptedClient(calls(call("c1", "note", text="a")), calls(call("c2", "note", text="b")), "done")
        agent = Agent("assistant", client, tools=note, runtime=store)
        result = await agent.run("go", thread_id="t")
        assert result.state[notes] == ["a", "b"]
        assert [message.content for message in result.messages if message.role == "tool"] == ["0", "1"]
        assert (await agent.result("t")).state[notes] == ["a", "b"]
        head = await store.head("t")
        assert head.status is CheckpointStatus.COMPLETED


@pytest.mark.parametrize("query", [None, 5, b"go"])
async def test_a_query_that_is_no_text_is_refused_before_any_thread_is_touched(query: Any, store: Checkpointer):
    """1.4.2."""
    agent = Agent("assistant", ScriptedClient("done"), runtime=store)
    with pytest.raises(ConfigError, match="not a text") as refused:
        await agent.run(query, thread_id="t")
    assert refused.value.field == "query"
    assert await store.latest("t") is None


async def test_a_boundary_hook_that_raises_says_that_there_is_nothing_to_recover(store: Checkpointer):
    """D21: the turn is closed; the error does not send the person to recover, which would be refused."""

    class Broken(AgentMiddleware):
        id = "broken"

        def before_agent(self, query: str, context: RunContext) -> str:
            if query == "bad":
                raise OSError("no disk")
            return query

    agent = Agent("assistant", ScriptedClient("done"), middleware=Broken(), runtime=store)
    with pytest.raises(MiddlewareFailed, match="no disk") as failed:
        await agent.run("bad", thread_id="t")
    assert "recover" not in failed.value.next_step
    assert not failed.value.recoverable
    with pytest.raises(NothingToRecover):
        await agent.recover("t")
    assert (await agent.run("good", thread_id="t")).answer == "done"


@pytest.mark.parametrize("hook", ["before", "after", "model", "tool"])
@pytest.mark.parametrize("refusal", [Refused("no"), GuardrailBlocked(guardrail="g", reason="no"), ConfigError(field="f", problems=["no"])])
async def test_a_hooks_refusal_says_where_and_what_to_do_now(hook: str, refusal: Exception):
    """D21: raised as that object; what it said when it was made - nothing changed, the thread is usable - may not hold any more."""

    async def refuse(*_: Any) -> Any:
        raise refusal

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "echo", text="x")), "done"), tools=echo, middleware=Wrap("w", **{hook: refuse})
    )
    open_turn = hook in ("model", "tool")
    if isinstance(refusal, GuardrailBlocked) and not open_turn:
        assert isinstance((await agent.run("go", thread_id="t")).status, Blocked)
        return
    with pytest.raises(type(refusal)) as caught:
        await agent.run("go", thread_id="t")
    assert caught.value is refusal
    assert isinstance((await agent.result("t")).status, Unfinished if open_turn else Blocked)
    assert isinstance(caught.value, Llm4sError)
    assert ("recover" in caught.value.next_step) == open_turn
    assert caught.value.where
    assert caught.value.next_step in str(caught.value)
