"""The way a turn took through its graph, as the diagram marks it (W3.3)."""

from __future__ import annotations

import pytest

from llm4s_notebook.agent import Agent, GuardrailReviewMiddleware, GuardrailVerdict
from llm4s_notebook.errors import ModelFailed
from llm4s_notebook.graph import BreakpointPhase
from llm4s_notebook.guardrails import WordList
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session

from .turns import Shop, deployments


def taken(session: Session) -> set[tuple[str, str]]:
    """The marked edges between steps; those of continuations are drawn on the step they are folded into."""
    graph = session.state().graph
    folded = {node.id for node in graph.nodes if node.folded_into is not None}
    return {(edge.source, edge.target) for edge in graph.edges if edge.taken and not {edge.source, edge.target} & folded}


def statuses(session: Session) -> dict[str, str]:
    return {node.id: node.status for node in session.state().graph.nodes if node.folded_into is None}


def family(*script: object) -> Agent:
    experts = [Agent(name, ScriptedClient("done")) for name in ("billing", "legal")]
    return Agent("desk", ScriptedClient(*script), handoffs=experts)


async def test_a_handoff_is_drawn_from_the_agent_that_handed_over_and_not_from_the_entry():
    """W3.3: the next turn begins at the expert, so an edge leads there from the input; this turn did not take it."""
    session = Session(family(calls(ToolCall("c1", "handoff_to_billing", {"reason": "an invoice"}))), "t")
    await session.run("what do I owe?")
    assert taken(session) == {("input", "desk/model"), ("desk/model", "billing/model"), ("billing/model", "billing/finish")}
    assert ("input", "billing/model") in {(edge.source, edge.target) for edge in session.state().graph.edges}


def test_the_steps_of_a_family_say_whose_they_are_and_those_of_one_agent_need_not():
    """W3.1: nine nodes called "model" would tell nobody anything."""
    labels = {node.id: node.label for node in Session(family("x")).state().graph.nodes if node.folded_into is None}
    assert labels["input"] == "input"
    assert {labels[f"{agent}/model"] for agent in ("desk", "billing", "legal")} == {"model · desk", "model · billing", "model · legal"}
    assert labels["legal/call-tool"] == "tool calls · legal"
    alone = Session(Shop().agent("x")).state().graph
    assert {node.label for node in alone.nodes if node.folded_into is None} == {"input", "model", "tool calls", "collect", "finish"}


async def test_a_node_that_failed_was_reached():
    """W3.3: the way to a failed node is part of the route."""
    session = Session(Shop().agent(RuntimeError("down")), "t")
    with pytest.raises(ModelFailed):
        await session.run("go")
    assert taken(session) == {("input", "assistant/model")}
    assert statuses(session)["assistant/model"] == "failed"


async def test_every_way_into_the_join_of_two_calls_is_marked_although_one_waited_longer():
    """W3.3: one call is approved at once and the other later, in another superstep."""
    session = Session(Shop().agent(deployments("1.0", "2.0"), "out"), "t")
    result = await session.run("go")
    for pending in result.pending:
        await session.answer(pending.approve())
    way = [("input", "model"), ("model", "call-tool"), ("call-tool", "collect"), ("collect", "model"), ("model", "finish")]
    assert taken(session) == {tuple(end if end == "input" else f"assistant/{end}" for end in edge) for edge in way}


async def test_a_way_on_that_was_held_is_marked_when_it_is_gone():
    """W3.3, W2.5: nothing runs between the model and the calls that were held before they began."""
    session = Session(Shop().agent(calls(ToolCall("c1", "look", {"topic": "x"})), "out"), "t")
    session.breakpoints.hold("assistant/call-tool", BreakpointPhase.BEFORE)
    result = await session.run("go")
    assert taken(session) == {("input", "assistant/model")}
    await session.answer(result.pending[0].proceed())
    assert ("assistant/model", "assistant/call-tool") in taken(session)


async def test_a_step_whose_review_blocked_the_turn_is_drawn_as_failed():
    """W3.3, W3.1: the node that continues a step after a review is folded into it, and so is what became of it."""
    review = GuardrailReviewMiddleware(output=[WordList(["guaranteed"], name="no promises")])
    session = Session(Shop().agent("it is guaranteed", middleware=[review]), "t")
    result = await session.run("go")
    await session.answer(result.pending[0].reply(GuardrailVerdict.block()))
    assert session.state().status == "blocked"
    assert statuses(session)["assistant/finish"] == "failed"
