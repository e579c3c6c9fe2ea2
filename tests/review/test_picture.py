"""The diagram of agents and of hand-built graphs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentNode, Handoff
from llm4s_notebook.errors import ConfigError, RunCancelled
from llm4s_notebook.graph import BreakpointPhase, Command, GraphBuilder, GraphRuntime, StateKey
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import GraphThread, Session
from llm4s_notebook.wire import GraphPicture, NodeView

from .turns import Region, Shop, deployment, guarded

LOG: StateKey[list[str], str] = StateKey.appending("log", str)


def nodes_of(picture: GraphPicture) -> dict[str, NodeView]:
    return {node.id: node for node in picture.nodes}


def edges_of(picture: GraphPicture) -> dict[tuple[str, str], str]:
    return {(edge.source, edge.target): edge.kind for edge in picture.edges}


def fan() -> Any:
    """plan fans out to worker, whose results summarize joins; check and plan meet in done."""
    builder = GraphBuilder("fan", version="1")
    worker = builder.declare("worker", input=str)
    summarize = builder.declare("summarize")
    done = builder.declare("done")
    join = builder.dynamic_join("all", summarize)

    @builder.node("plan", input=list[str], routes=[worker, join])
    def plan(items: list[str]) -> Command:
        return Command().fan_out(join, worker, items)

    @builder.node("check")
    def check() -> None: ...

    @builder.implement(worker, writes=LOG)
    def work(item: str) -> Command:
        if item == "bad":
            raise ValueError("bad item")
        return Command().update(LOG, item)

    @builder.implement(summarize)
    def sum_up() -> None: ...

    @builder.implement(done)
    def finish() -> None: ...

    builder.edge(plan, check)
    builder.static_join("both", [summarize, check], done)
    return builder.compile(plan, output=lambda state: state[LOG])


def test_a_hand_built_graphs_edges_routes_fan_outs_and_joins_are_drawn():
    """W3.1."""
    graph = Session(GraphThread(GraphRuntime.in_memory(), fan())).state().graph
    assert graph.entry == "plan"
    assert set(nodes_of(graph)) == {"plan", "check", "worker", "summarize", "done"}
    assert edges_of(graph) == {
        ("plan", "check"): "static",
        ("summarize", "done"): "join",
        ("check", "done"): "join",
        ("plan", "worker"): "fan_out",
        ("worker", "summarize"): "join",
    }


async def test_the_route_taken_and_failed_nodes_are_marked():
    """W3.3."""
    session = Session(GraphThread(GraphRuntime.in_memory(), fan()), "t")
    await session.run(["a", "b"])
    graph = session.state().graph
    assert all(edge.taken for edge in graph.edges)
    assert {node.status for node in graph.nodes} == {"done"}
    failing = Session(GraphThread(GraphRuntime.in_memory(), fan()), "t")
    with pytest.raises(Exception, match="bad item"):
        await failing.run(["a", "bad"])
    state = failing.state()
    assert nodes_of(state.graph)["worker"].status == "failed"
    assert nodes_of(state.graph)["plan"].status == "done"
    assert nodes_of(state.graph)["summarize"].status == "idle"
    assert (state.status, state.can_recover) == ("unfinished", True)


async def test_held_tasks_are_counted_on_their_node():
    """W3.3: the number of held tasks; each is a card of its own."""
    session = Session(GraphThread(GraphRuntime.in_memory(), fan()), "t")
    session.breakpoints.hold("worker", BreakpointPhase.BEFORE)
    await session.run(["a", "b", "c"])
    state = session.state()
    worker = nodes_of(state.graph)["worker"]
    assert (worker.status, worker.held, worker.waiting, len(worker.interrupts)) == ("held", 3, 0, 3)
    assert [(card.kind, card.phase, card.question) for card in state.pending] == [
        ("BREAKPOINT", "BEFORE", "a"),
        ("BREAKPOINT", "BEFORE", "b"),
        ("BREAKPOINT", "BEFORE", "c"),
    ]
    result = await session.answer({card.id: None for card in state.pending})
    assert result.output == ["a", "b", "c"]


@pytest.mark.parametrize("odd", ["end", "a b", "é", "<x>", "n" * 80, "🚀", "שלום", "a/b", "x/model"])
async def test_odd_node_ids_are_drawn_and_can_be_held(odd: str):
    """F36: any id of a hand-built graph."""
    builder = GraphBuilder("odd", version="1")

    @builder.node(odd, input=str)
    def only(text: str) -> None: ...

    graph = builder.compile(only, output=lambda state: "out")
    session = Session(GraphThread(GraphRuntime.in_memory(), graph), "t")
    session.breakpoints.hold(odd, BreakpointPhase.AFTER)
    await session.run("x")
    (node,) = session.state().graph.nodes
    assert (node.id, node.label, node.role, node.folded_into, node.held) == (odd, odd, "node", None, 1)


def test_an_agents_steps_are_drawn_with_their_continuations_folded_in():
    """W3.1: every node that continues a step belongs to it and cannot be held by itself."""
    graph = Session(Shop().agent("x", middleware=[Region(), guarded()])).state().graph
    nodes = nodes_of(graph)
    assert {id: (node.role, node.agent, node.can_hold) for id, node in nodes.items() if node.folded_into is None} == {
        "input": ("input", None, True),
        "assistant/model": ("model", "assistant", True),
        "assistant/call-tool": ("tool", "assistant", True),
        "assistant/collect": ("collect", "assistant", True),
        "assistant/finish": ("finish", "assistant", True),
    }
    assert {id: node.folded_into for id, node in nodes.items() if node.folded_into is not None} == {
        "assistant/approval": "assistant/call-tool",
        "assistant/ask/order": "assistant/call-tool",
        **{
            f"assistant/asked/{middleware}/{hook}": step
            for middleware in ("region", "guardrail-review")
            for hook, step in {
                "beforeAgent": "input",
                "wrapModelCall": "assistant/model",
                "wrapToolCall": "assistant/call-tool",
                "afterAgent": "assistant/finish",
            }.items()
        },
    }
    assert not any(node.can_hold for node in nodes.values() if node.folded_into is not None)
    edges = edges_of(graph)
    assert edges["assistant/model", "assistant/call-tool"] == "fan_out"
    assert edges["assistant/model", "assistant/finish"] == "route"
    assert edges["assistant/call-tool", "assistant/collect"] == "join"


def test_a_family_is_one_picture_and_a_targets_step_holds_the_roots_continuations():
    """W3.1, 5.2: per agent of the family; after Finish of a target includes the root's afterAgent nodes."""
    target = Shop().agent("x", agent_id="expert")
    root = Agent("desk", ScriptedClient("x"), handoffs=[Handoff(target)], middleware=[guarded()])
    session = Session(root)
    session.breakpoints.hold("expert/finish", BreakpointPhase.AFTER)
    nodes = nodes_of(session.state().graph)
    assert {node.agent for node in nodes.values()} == {None, "desk", "expert"}
    held = {id for id, node in nodes.items() if node.hold_after == "on"}
    assert held == {"expert/finish", "desk/asked/guardrail-review/afterAgent"}


def test_equal_graphs_have_equal_topologies_whatever_their_marks():
    """W3.4: the layout is cached by it."""
    one, two = Session(Shop().agent("x")), Session(Shop().agent("y", interrupt_after=AgentNode.MODEL))
    other = Session(Shop().agent("x", middleware=[Region()]))
    one.breakpoints.hold("assistant/model", BreakpointPhase.BEFORE)
    assert one.state().graph.topology == two.state().graph.topology
    assert one.state().graph.topology != other.state().graph.topology


def test_a_node_that_is_not_there_or_continues_a_step_has_no_switch():
    """W3.2."""
    graph = Session(GraphThread(GraphRuntime.in_memory(), fan()))
    with pytest.raises(ConfigError):
        graph.breakpoints.hold("nowhere", BreakpointPhase.BEFORE)
    agent = Session(Shop().agent("x"))
    for node in ("nowhere", "assistant/ask/order", "other/model"):
        with pytest.raises(ConfigError):
            agent.breakpoints.hold(node, BreakpointPhase.BEFORE)
    agent.breakpoints.hold("input", BreakpointPhase.AFTER)
    assert repr(agent.breakpoints) == "Breakpoints(AFTER input)"


async def test_a_card_of_a_held_step_shows_what_a_reviewer_looks_at():
    """W2.5: before a call its arguments; after it the recorded result; after the model the stored message."""
    shop = Shop()
    session = Session(shop.agent(calls(ToolCall("c1", "look", {"topic": "x"})), "answer"), "t")
    for node, phase in (("assistant/model", "AFTER"), ("assistant/call-tool", "BEFORE"), ("assistant/call-tool", "AFTER")):
        session.breakpoints.hold(node, BreakpointPhase[phase])
    await session.run("go")
    seen: list[Any] = []
    while session.state().pending:
        (card,) = session.state().pending
        seen.append((card.title, card.tool_name, card.arguments, card.result, card.message))
        await session.answer({card.id: None})
    assert seen == [
        ("held after assistant/model", None, None, None, 'calls look {"topic":"x"}'),
        ("held before assistant/call-tool: look", "look", {"topic": "x"}, None, None),
        ("held after assistant/call-tool", None, None, "x: fine", None),
        ("held after assistant/model", None, None, None, "answer"),
    ]


async def test_cards_come_in_the_order_of_the_flat_view_and_say_since_when_and_where_they_wait():
    """W2.1: approvals, questions, middleware questions, breakpoints."""
    shop = Shop()
    script = calls(ToolCall("c1", "order", {"item": "tea"}), ToolCall("c2", "look", {"topic": "x"}), deployment("c3"))
    session = Session(shop.agent(script, "out"), "t")
    session.breakpoints.hold("assistant/call-tool", BreakpointPhase.AFTER)
    result = await session.run("go")
    cards = session.state().pending
    assert [card.kind for card in cards] == ["APPROVAL", "QUESTION", "BREAKPOINT"]
    assert [card.id for card in cards] == [review.id for review in result.pending]
    assert [card.node for card in cards] == ["assistant/approval", "assistant/ask/order", "assistant/call-tool"]
    assert all(card.agent == "assistant" and card.since_ms is not None for card in cards)
    approval = cards[0]
    assert approval.arguments_schema is not None
    assert set(approval.arguments_schema["properties"]) == {"environment", "version"}  # type: ignore[arg-type]  # JSON
    assert (approval.source, approval.reason) == ("tool", "1.0 would reach prod")
    assert approval.default_reject_reason == "a reviewer refused this call; it was not run"
    states = {call.id: call.state for message in session.state().messages for call in message.tool_calls}
    assert states == {"c1": "waiting", "c2": "done", "c3": "waiting"}


async def test_a_call_whose_message_is_held_waits_and_is_not_said_to_run():
    """W4.1, W2.5: nothing of a held message has begun."""
    shop = Shop()
    session = Session(shop.agent(calls(ToolCall("c1", "look", {"topic": "x"}), deployment("c2")), "out"), "t")
    session.breakpoints.hold("assistant/model", BreakpointPhase.AFTER)
    await session.run("go")
    states = {call.id: call.state for message in session.state().messages for call in message.tool_calls}
    assert states == {"c1": "waiting", "c2": "waiting"}
    assert shop.ran == []


async def test_a_call_of_a_cancelled_turn_has_no_result_and_is_not_said_to_run():
    """W4.1, W3.3: it may have begun, but nothing runs it now."""
    shop = Shop()
    session = Session(shop.agent(calls(ToolCall("c1", "slow", {"name": "x"}), ToolCall("c2", "look", {"topic": "x"})), "out"), "t")
    running = asyncio.create_task(session.run("go"))
    await shop.started.wait()
    await session.cancel()
    with pytest.raises(RunCancelled):
        await running
    assert session.state().status == "unfinished"
    assert _states(session)["c1"] == "no_result"


def _states(session: Session) -> dict[str, str]:
    return {call.id: call.state for message in session.state().messages for call in message.tool_calls}
