"""The agent as a graph: agent.md 1.1 and 1.2."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentMiddleware, AgentNode, BreakpointPhase, Completed
from llm4s_notebook.agent._messages import TOOL_RESULTS, RecordedResult
from llm4s_notebook.agent._turn import ACTIVE_AGENT, LOOP_KEY_IDS, TRANSFER, TURN, Transfer
from llm4s_notebook.agent._turn_input import TurnInput
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.graph import Command
from llm4s_notebook.models import AssistantMessage, ScriptedClient, ToolMessage, UserMessage, calls

from .support import ConfirmTool, Environment, Info, Region, Wrap, call, echo, gated_into, only, roles, tool_texts


def family() -> Agent:
    """A root with an asking middleware and a target with an asking tool of its own and one from a middleware."""

    class Giving(Wrap):
        tools = (ConfirmTool(),)

    target = Agent("target", ScriptedClient(), tools=[echo], middleware=Giving("giving"))
    return Agent("root", ScriptedClient(), tools=[echo], middleware=Region("m"), handoffs=target)


def test_a_family_is_one_graph_with_one_entry_and_every_other_node_named_after_its_agent():
    """1.1.1, 1.1.2, 1.1.3: one node for each asking tool, four for each asking middleware whatever it overrides."""
    root = family()
    topology = root.graph.topology()
    assert "target/ask/confirm" in root.breakpoint_nodes(AgentNode.TOOL, BreakpointPhase.AFTER, "target")
    assert (root.graph.id, topology.entry) == ("root", "input")
    assert {node.id for node in topology.nodes} == {
        "input",
        *(f"{agent}/{step}" for agent in ("root", "target") for step in ("model", "call-tool", "approval", "collect", "finish")),
        "target/ask/confirm",
        *(f"root/asked/m/{hook}" for hook in ("beforeAgent", "wrapModelCall", "wrapToolCall", "afterAgent")),
    }
    assert {node.id for node in topology.nodes if node.resume} == {
        node.id for node in topology.nodes if "/ask" in node.id or "/approval" in node.id
    }


def test_where_an_agents_nodes_may_go():
    """1.1.4."""
    routes = family().graph.topology()
    assert {(join.id, join.kind, join.target) for join in routes.joins} == {
        ("root/tool-batch", "dynamic", "root/collect"),
        ("target/tool-batch", "dynamic", "target/collect"),
    }
    found: dict[str, set[str]] = {}
    for source, target in routes.routes:
        found.setdefault(source, set()).add(target)
    assert found["input"] == {"root/model", "target/model"}
    assert found["root/model"] == {"root/call-tool", "root/tool-batch", "root/finish", "root/model", "target/model"}
    assert found["target/model"] == {"target/call-tool", "target/tool-batch", "target/finish"}
    assert found["root/collect"] == {"root/model"}
    assert "root/finish" not in found


@pytest.mark.parametrize("kind", ["approval", "question", "middleware"])
async def test_a_continuation_stands_in_for_its_call_so_the_model_never_sees_a_partial_batch(kind: str, store: Checkpointer):
    """1.1.5, 1.1.6, 1.1.7: the sibling's task ran to its end; interrupt ids are task ids."""
    slow = {"approval": call("c1", "gated", what="x"), "question": call("c1", "confirm", text="x")}.get(kind, call("c1", "echo", text="x"))
    ran: list[str] = []

    class OnlyTheFirst(Environment):
        async def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:
            ran.append(request.call.id)
            return await (super().wrap_tool_call(request, context, next) if request.call.id == "c1" else next())

    client = ScriptedClient(calls(slow, call("c2", "echo", text="free")), "done")
    agent = Agent(
        "assistant",
        client,
        tools=[gated_into([]), ConfirmTool(), echo],
        middleware=OnlyTheFirst() if kind == "middleware" else [],
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    (review,) = result.pending
    assert (review.id, review.call_id) == ("2.0", "c1")
    assert [one.tool_call_id for one in result.recorded_results] == ["c2"]
    assert roles(result.messages) == ["user", "assistant"]
    assert len(client.requests) == 1
    answer = {"approval": review.approve(), "question": review.reply({"ok": True})}.get(kind, review.reply(Info(value="p")))
    done = await agent.resume("t", answer)
    assert done.status == Completed("done")
    assert len(tool_texts(client.requests[1].messages)) == 2
    if kind == "middleware":
        assert ran == ["c1", "c2", "c1"]


async def test_the_loop_owns_six_keys_and_sets_them_as_the_turn_goes(store: Checkpointer):
    """1.2.1: nobody is active before the first turn of a thread got past its input."""
    assert {"messages", "tool-results", "usage", "active-agent", "turn", "transfer"} == LOOP_KEY_IDS
    target = Agent("target", ScriptedClient("hello"))
    root = Agent(
        "root", ScriptedClient(calls(call("h1", "handoff_to_target", reason="r"))), middleware=Region(), handoffs=target, runtime=store
    )
    result = await root.run("go", thread_id="t")
    assert (result.state.is_set(ACTIVE_AGENT), result.active_agent) == (False, "root")
    done = await root.resume("t", result.reply(only(result)[0], Info(value="eu")))
    assert done.state[ACTIVE_AGENT] == done.active_agent == "target"
    assert done.state[TRANSFER] == Transfer("root", "target", done.messages[1].id)
    turn = done.state[TURN]
    assert (turn.steps, turn.agent, turn.transfer, turn.query) == (2, "root", None, "go")
    assert turn.outcome is not None
    assert turn.outcome.status == done.status


async def _waiting_beside_a_free_call(store: Checkpointer) -> Agent:
    client = ScriptedClient(calls(call("c1", "gated", what="x"), call("c2", "echo", text="free")), "done")
    agent = Agent("assistant", client, tools=[gated_into([]), echo], runtime=store)
    await agent.run("go", thread_id="t")
    return agent


async def test_results_are_cleared_once_they_are_messages(store: Checkpointer):
    """1.2.4: the key is unset again."""
    agent = await _waiting_beside_a_free_call(store)
    waits = await agent.result("t")
    assert waits.state.is_set(TOOL_RESULTS)
    done = await agent.resume("t", [review.approve() for review in waits.pending])
    assert not done.state.is_set(TOOL_RESULTS)
    assert done.recorded_results == ()


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (Command().remove(TOOL_RESULTS), "call 'c2' has no recorded result"),
        (
            Command().update(TOOL_RESULTS, RecordedResult("1.0/assistant", "9.9", ToolMessage("x", "c9"))),
            "a result for 'c9' belongs to no call",
        ),
        (
            Command().update(TOOL_RESULTS, RecordedResult("0.0/assistant", "9.9", ToolMessage("x", "c2"))),
            "a result for 'c2' belongs to no call",
        ),
    ],
)
async def test_a_batch_whose_results_were_tampered_with_fails_the_run(edit: Command, problem: str, store: Checkpointer):
    """1.2.4: exactly one result per call and no stray one; the model is not called."""
    agent = await _waiting_beside_a_free_call(store)
    waits = await agent.result("t")
    head = (await store.head("t")).checkpoint_id
    assert head is not None
    await agent.runtime.update_state("t", agent.graph, head, edit)
    with pytest.raises(ConfigError, match=problem):
        await agent.resume("t", [review.approve() for review in waits.pending])
    assert roles((await agent.result("t")).messages) == ["user", "assistant"]


async def test_a_history_that_another_kernel_was_faster_than_closes_the_turn(store: Checkpointer):
    """1.4.1: the thread was new when the agent looked, and is not when the turn begins; nothing of it is stored."""
    agent = Agent("assistant", ScriptedClient("one", "two"), runtime=store)
    before = await agent.run("first", thread_id="t")
    handle = await agent.runtime.start("t", agent.graph, TurnInput("second", (UserMessage("u"), AssistantMessage("a"))))
    with pytest.raises(ConfigError, match="history is imported only into a new thread") as refused:
        await handle
    assert refused.value.field == "history"
    assert (await agent.result("t")).messages == before.messages
    assert (await agent.run("third", thread_id="t")).answer == "two"


async def test_a_lone_final_answer_goes_to_finish_and_a_call_to_its_task():
    """1.1.4, 1.1.6: the input is task 0.0, the first model call 1.0, its calls 2.0 and 2.1."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="a"), call("c2", "echo", text="b")), "done"), tools=echo)
    run = await agent.start("go", thread_id="t")
    await run
    stored = await agent.runtime.checkpointer.events_after("t", 0)
    told = [(one.task_id, one.node_id) for one in stored if type(one.event).__name__ == "TaskCompleted"]
    assert told == [
        ("0.0", "input"),
        ("1.0", "assistant/model"),
        ("2.0", "assistant/call-tool"),
        ("2.1", "assistant/call-tool"),
        ("3.0", "assistant/collect"),
        ("4.0", "assistant/model"),
        ("5.0", "assistant/finish"),
    ]


@pytest.mark.parametrize(
    ("root", "target", "bookkeeping"),
    [
        (set(), set(), {"input", "root/finish", "target/finish"}),
        ({"before"}, set(), {"root/finish", "target/finish"}),
        (set(), {"before"}, {"root/finish", "target/finish"}),
        ({"after"}, set(), {"input"}),
        (set(), {"after"}, {"input", "root/finish"}),
    ],
)
def test_the_ends_of_a_turn_keep_books_only_where_no_hook_may_do_something(root: set[str], target: set[str], bookkeeping: set[str]):
    """D18: the root's hooks guard the target's answers too (6.1.6); collecting results has no effects ever."""

    async def hook(_self: Any, text: str, _context: Any) -> str:
        return text

    def hooked(names: set[str]) -> AgentMiddleware:
        return type("Hooked", (AgentMiddleware,), {"id": "hooked", **{f"{name}_agent": hook for name in names}})()

    other = Agent("target", ScriptedClient(), middleware=hooked(target))
    agent = Agent("root", ScriptedClient(), middleware=hooked(root), handoffs=other)
    found = {node.id for node in agent.graph.topology().nodes if node.bookkeeping}
    assert found == {"root/collect", "target/collect", *bookkeeping}
