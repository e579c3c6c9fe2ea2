"""The graph version of an agent, and a thread of another one: agent.md 2.4.11, D14."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from llm4s_notebook.agent import (
    Agent,
    AgentMiddleware,
    AgentNode,
    AskingTool,
    Completed,
    Handoff,
    ToolContext,
    ToolError,
    ToolOutcome,
    Unfinished,
    schema_tool,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import (
    ConfigError,
    RestoreRejected,
    ThreadNotFound,
)
from llm4s_notebook.graph import GraphRuntime
from llm4s_notebook.models import ScriptedClient, calls

from .support import AnswerReview, Region, call, deploy_into, echo, gated_into, policy, roles


def test_an_agent_can_be_had_with_some_settings_changed():
    """api.md: `with_`; it shares the runtime."""
    agent = Agent("assistant", ScriptedClient(), system_prompt="a", tools=echo, max_steps=3)
    other = agent.with_(system_prompt="b")
    assert (other.settings.system_prompt, other.settings.max_steps, other.runtime) == ("b", 3, agent.runtime)
    assert other.graph.version != agent.graph.version
    assert agent.with_(stream=True, interrupt_before=[AgentNode.TOOL]).graph.version == agent.graph.version
    with pytest.raises(ConfigError, match="no setting 'colour'"):
        agent.with_(colour="red")


def test_one_agent_of_a_family_can_be_changed_also_where_two_hand_over_to_each_other():
    """2.4.13: the others stay as they are, every handoff leads to the new ones, and the agents given are left alone."""
    front = Agent("front", ScriptedClient(), system_prompt="a", handoffs=[Handoff(lambda: back, preserve_context=False, reason="r")])
    back = Agent("back", ScriptedClient(), system_prompt="b", handoffs=[front])
    other = front.with_(agent="back", system_prompt="c")
    assert other.family == ("front", "back")
    assert [member.system_prompt for id in other.family if (member := other.member(id))] == ["a", "c"]
    assert other.graph.version != front.graph.version
    assert other.with_(agent="back", system_prompt="b").graph.version == front.graph.version
    assert front.with_(agent="front", system_prompt="d").with_(agent="front", system_prompt="a").graph.version == front.graph.version
    assert (back.settings.system_prompt, other.runtime) == ("b", front.runtime)
    assert other.member("nobody") is None
    with pytest.raises(ConfigError, match="agent 'nobody' is not in the family"):
        front.with_(agent="nobody", system_prompt="c")
    with pytest.raises(ConfigError, match="no setting 'colour'"):
        front.with_(agent="back", colour="red")


async def test_an_opened_thread_says_why_the_agent_could_not_go_on_with_it(store: Checkpointer):
    """D14: the same words as the refusal of a run, before one is tried; and which messages a new thread may begin with."""
    runtime = GraphRuntime(store)
    agent = Agent("assistant", ScriptedClient("hi", calls(call("c1", "gated", what="x"))), tools=gated_into([]), runtime=runtime)
    await agent.run("hello", thread_id="t")
    await agent.run("go", thread_id="t")
    result, unfit = await agent.opened("t")
    assert (unfit, [message.content for message in agent.settled(result)]) == (None, ["hello", "hi"])
    changed = agent.with_(system_prompt="b")
    result, unfit = await changed.opened("t")
    with pytest.raises(RestoreRejected) as refused:
        await changed.resume("t", result.pending[0].approve())
    assert str(unfit) == str(refused.value)
    with pytest.raises(ThreadNotFound):
        await agent.opened("nobody")


def test_the_version_is_a_digest_of_the_settings_and_only_of_them():
    """2.4.11: client, streaming and breakpoints are not in it."""

    def version(**changes: Any) -> str:
        settings: dict[str, Any] = {"system_prompt": "p", "tools": [echo], "middleware": [policy("echo")], **changes}
        return Agent(
            "assistant", changes.pop("client", None) or ScriptedClient(), **{k: v for k, v in settings.items() if k != "client"}
        ).graph.version

    base = version()
    assert len(base) == 64
    assert int(base, 16) >= 0
    same = [
        version(),
        version(client=ScriptedClient("x")),
        version(stream=True),
        version(interrupt_after=[AgentNode.MODEL]),
        version(description="d"),
    ]
    assert set(same) == {base}
    changed = [
        version(system_prompt="q"),
        version(tools=[]),
        version(tools=[echo, deploy_into([])]),
        version(middleware=[]),
        version(middleware=[policy("echo", id="other")]),
        version(max_steps=3),
        version(handoffs=[Agent("x", ScriptedClient())]),
        version(handoffs=[Handoff(Agent("x", ScriptedClient()), preserve_context=False)]),
        version(version="mine"),
    ]
    assert len({base, *changed}) == 1 + len(changed)
    assert version(version="mine") == "mine"


def _named(name: str = "one", **settings: Any) -> Any:
    @tool(name=name, **settings)
    async def made(text: str) -> str:
        """Does it."""
        return text

    return made


class Giving(AgentMiddleware):
    """Brings tools."""

    def __init__(self, id: str, *tools: Any) -> None:
        self.id = id
        self.tools = tools


def _asking(question: Any, answer: Any) -> Any:
    class Asks(AskingTool[Nothing, question, answer]):  # type: ignore[valid-type]  # made per case
        name = "asks"

        async def execute(self, args: Any, context: ToolContext) -> ToolOutcome:
            return self.ask(None)

        async def resume(self, args: Any, question: Any, answer: Any, context: ToolContext) -> ToolOutcome:
            return ToolError("x")

    return Asks()


class Nothing(BaseModel):
    pass


@pytest.mark.parametrize(
    ("one", "other", "part"),
    [
        ({"tools": _named()}, {"tools": _named(description="Does something else.")}, "tool 'one'"),
        ({"tools": _named()}, {"tools": _named(read_only=True)}, "tool 'one'"),
        ({"tools": _named()}, {"tools": schema_tool("one", "Does it.", {"type": "object"}, lambda *_: "x")}, "tool 'one'"),
        ({"tools": _asking(str, bool)}, {"tools": _asking(int, bool)}, "tool 'asks'"),
        ({"tools": _asking(str, bool)}, {"tools": _asking(str, int)}, "tool 'asks'"),
        ({"middleware": [Giving("a"), Giving("b")]}, {"middleware": [Giving("b"), Giving("a")]}, "middleware list"),
        ({"middleware": Giving("a", _named("x"))}, {"middleware": Giving("a", _named("y"))}, "middleware list"),
        ({"middleware": Giving("a", _named("x")), "tools": []}, {"middleware": Giving("a"), "tools": _named("x")}, "middleware list"),
        (
            {"handoffs": Agent("t", ScriptedClient(), system_prompt="p")},
            {"handoffs": Agent("t", ScriptedClient(), system_prompt="q")},
            "system prompt of agent 't'",
        ),
        (
            {"handoffs": Agent("t", ScriptedClient(), tools=_named())},
            {"handoffs": Agent("t", ScriptedClient(), tools=_named(idempotent=True))},
            "tool 'one' of agent 't'",
        ),
        (
            {"handoffs": Handoff(Agent("t", ScriptedClient()))},
            {"handoffs": Handoff(Agent("t", ScriptedClient()), preserve_context=False)},
            "handoffs",
        ),
    ],
)
async def test_each_part_that_the_digest_is_made_of_is_named_when_it_differs(
    one: dict[str, Any], other: dict[str, Any], part: str, store: Checkpointer
):
    """2.4.11, D14: definitions with their types and hints, middleware in its order with its tools, every agent of the family."""
    first = Agent("assistant", ScriptedClient("hi"), runtime=store, **one)
    await first.run("go", thread_id="t")
    second = Agent("assistant", ScriptedClient("hi"), runtime=store, **other)
    assert first.graph.version != second.graph.version
    with pytest.raises(RestoreRejected) as refused:
        await second.run("go", thread_id="t")
    assert f"changed: {part}" in "; ".join(refused.value.problems)


async def test_a_thread_of_a_changed_agent_is_refused_naming_what_changed_and_the_ways_on(store: Checkpointer):
    """D14: nothing changes on disk; the messages can still be read, and history= starts a new thread."""
    ran: list[str] = []

    def agent(client: ScriptedClient, **changes: Any) -> Agent:
        settings: dict[str, Any] = {"system_prompt": "one", "tools": [gated_into(ran)], **changes}
        return Agent("assistant", client, runtime=GraphRuntime(store), **settings)

    first = agent(ScriptedClient("hi", calls(call("c1", "gated", what="x"))))
    await first.run("hello", thread_id="t")
    result = await first.run("go", thread_id="t")
    changed = agent(ScriptedClient("done", "fresh"), system_prompt="two", tools=[gated_into(ran), echo])
    before = await store.head("t")
    with pytest.raises(RestoreRejected) as refused:
        await changed.resume("t", [review.approve() for review in result.pending])
    problems = "; ".join(refused.value.problems)
    assert "changed: system prompt" in problems
    assert "added: tool 'echo'" in problems
    assert "tool 'gated'" not in problems
    assert "Agent(version=…)" in refused.value.next_step
    assert "history=" in refused.value.next_step
    assert await store.head("t") == before
    read = await changed.result("t")
    assert read.messages == result.messages
    assert read.pending == result.pending
    fresh = await changed.run("go on", history=(await first.abandon("t")).messages)
    assert roles(fresh.messages) == ["user", "assistant", "user", "assistant"]
    # fixing the version is the other way on
    result = await first.with_(client=ScriptedClient(calls(call("c1", "gated", what="y")))).run("again", thread_id="t")
    fixed = agent(ScriptedClient("done"), system_prompt="two", version=first.graph.version)
    done = await fixed.resume("t", [review.approve() for review in result.pending])
    assert (done.status, ran) == (Completed("done"), ["y"])


async def test_the_messages_of_an_agent_with_other_nodes_can_be_read(store: Checkpointer):
    """D14: even when what waits belongs to a middleware that is gone."""
    first = Agent("assistant", ScriptedClient("hi"), middleware=[Region(word="zone"), AnswerReview()], runtime=GraphRuntime(store))
    await first.run("my zone", thread_id="t")
    other = Agent("assistant", ScriptedClient(), runtime=GraphRuntime(store))
    read = await other.result("t")
    assert roles(read.messages) == ["user", "assistant"]
    assert isinstance(read.status, Unfinished)
    with pytest.raises(RestoreRejected):
        await Agent("somebody", ScriptedClient(), runtime=GraphRuntime(store)).result("t")


async def test_a_thread_whose_active_agent_is_gone_is_read_as_the_roots(store: Checkpointer):
    """2.1.2, D14: nobody of that name is in the family any more."""
    target = Agent("target", ScriptedClient("hello"))
    root = Agent("root", ScriptedClient(calls(call("h1", "handoff_to_target", reason="r"))), handoffs=target, runtime=GraphRuntime(store))
    assert (await root.run("go", thread_id="t")).active_agent == "target"
    alone = Agent("root", ScriptedClient(), runtime=GraphRuntime(store))
    assert (await alone.result("t")).active_agent == "root"
