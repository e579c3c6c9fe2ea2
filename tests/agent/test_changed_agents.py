"""A cell that makes an agent is edited and run again: which of its threads go on, and what is said of those that do not (2.4.10, D14)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from llm4s_notebook.agent import Agent, AgentNode, AgentResult, ToolContext, ToolError, tool
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ModelFailed, RestoreRejected
from llm4s_notebook.graph import GraphRuntime
from llm4s_notebook.models import ScriptedClient, calls

from .support import AnswerReview, ConfirmTool, Environment, Recorder, Region, Wrap, call, deploy_into, echo, gated_into, policy, roles


def cell(store: Checkpointer, *script: Any, **changes: Any) -> Agent:
    """The cell as it was first run, or with something changed in it."""
    settings: dict[str, Any] = {"system_prompt": "one", "tools": [gated_into([])], "middleware": [policy("nothing")], **changes}
    return Agent("assistant", ScriptedClient(*script), runtime=GraphRuntime(store), **settings)


async def waiting_thread(store: Checkpointer) -> AgentResult:
    """A thread with one turn done and one that waits."""
    agent = cell(store, "hi", calls(call("c1", "gated", what="x")))
    await agent.run("hello", thread_id="t")
    return await agent.run("go", thread_id="t")


def gated(
    *, annotation: Any = str, description: str = "Do something that needs approval.", read_only: bool = False, name: str = "gated"
) -> Any:
    async def made(what: Any, context: ToolContext) -> Any:
        return "did it another way"

    made.__annotations__["what"] = annotation
    return tool(name=name, description=description, read_only=read_only)(made)


REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "system prompt": ({"system_prompt": "two"}, ["changed: system prompt"]),
    "no system prompt": ({"system_prompt": None}, ["changed: system prompt"]),
    "max_steps": ({"max_steps": 3}, ["changed: max_steps"]),
    "a tool more": ({"tools": [gated_into([]), echo]}, ["added: tool 'echo'"]),
    "the waiting tool gone": ({"tools": []}, ["removed: tool 'gated'"]),
    "the waiting tool renamed": ({"tools": [gated(name="gate")]}, ["added: tool 'gate'", "removed: tool 'gated'"]),
    "another type": ({"tools": [gated(annotation=Literal["x", "y"])]}, ["changed: tool 'gated'"]),
    "a constraint": ({"tools": [gated(annotation=Annotated[str, Field(max_length=9)])]}, ["changed: tool 'gated'"]),
    "another description": ({"tools": [gated(description="Other.")]}, ["changed: tool 'gated'"]),
    "another hint": ({"tools": [gated(read_only=True)]}, ["changed: tool 'gated'"]),
    "a middleware more": ({"middleware": [policy("nothing"), Recorder()]}, ["changed: middleware list"]),
    "no middleware": ({"middleware": []}, ["changed: middleware list"]),
    "another middleware id": ({"middleware": [policy("nothing", id="other")]}, ["changed: middleware list"]),
    "several at once": (
        {"system_prompt": "two", "tools": [echo], "middleware": []},
        ["changed: system prompt", "changed: middleware list", "added: tool 'echo'", "removed: tool 'gated'"],
    ),
}
OTHER_STEPS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "an asking tool more": ({"tools": [gated_into([]), ConfirmTool()]}, ["added: tool 'confirm'"]),
    "an asking middleware more": ({"middleware": [policy("nothing"), Region()]}, ["changed: middleware list"]),
    "a handoff": (
        {"handoffs": [Agent("helper", ScriptedClient(), tools=echo)]},
        ["changed: handoffs", "added: system prompt of agent 'helper'", "added: tool 'echo' of agent 'helper'"],
    ),
}
TAKEN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "streaming": {"stream": True},
    "breakpoints": {"interrupt_before": [AgentNode.FINISH]},
    "description": {"description": "now with one"},
    "the tool's own code": {"tools": [gated()]},
    "what a middleware does": {"middleware": [Wrap("policy", tool=None)]},
}


@pytest.mark.parametrize("kind", [*REFUSED, *OTHER_STEPS])
@pytest.mark.parametrize("step", ["resume", "abandon"])
async def test_a_change_that_matters_is_refused_by_name_and_nothing_changes(kind: str, step: str, store: Checkpointer) -> None:
    """D14, 2.4.11: every part that changed is named, and no other; the thread is as it was, and the old cell still goes on."""
    waits = await waiting_thread(store)
    changes, named = {**REFUSED, **OTHER_STEPS}[kind]
    changed = cell(store, "done", **changes)
    before = (await store.head("t"), await store.events_after("t", 0))
    with pytest.raises(RestoreRejected) as refused:
        await (changed.resume("t", waits.pending[0].approve()) if step == "resume" else changed.abandon("t"))
    said = [problem for problem in refused.value.problems if problem.startswith(("changed", "added", "removed"))]
    assert set(named) <= set(said)
    assert all(problem in named or "helper" in problem for problem in said)
    assert (await store.head("t"), await store.events_after("t", 0)) == before
    assert (await cell(store, "done").resume("t", waits.pending[0].approve())).answer == "done"


@pytest.mark.parametrize("kind", list(REFUSED))
async def test_with_the_version_it_names_the_thread_goes_on(kind: str, store: Checkpointer) -> None:
    """D14: the first way on, as the refusal writes it."""
    waits = await waiting_thread(store)
    changes = REFUSED[kind][0]
    with pytest.raises(RestoreRejected) as refused:
        await cell(store, **changes).resume("t", waits.pending[0].approve())
    version = re.search(r"Agent\(version=…\), which is '([0-9a-f]{64})'", refused.value.next_step)
    assert version is not None
    going_on = cell(store, "done", **changes, version=version[1])
    assert (await going_on.resume("t", waits.pending[0].approve())).answer == "done"


@pytest.mark.parametrize("kind", list(OTHER_STEPS))
async def test_where_the_version_would_not_help_it_is_not_offered(kind: str, store: Checkpointer) -> None:
    """D14, R6.39: an agent of other steps cannot take the thread up under any version."""
    waits = await waiting_thread(store)
    changes = OTHER_STEPS[kind][0]
    with pytest.raises(RestoreRejected) as refused:
        await cell(store, **changes).resume("t", waits.pending[0].approve())
    assert "which is" not in refused.value.next_step
    assert "Agent(version=…) does not help" in refused.value.next_step
    header = await store.latest("t")
    assert header is not None
    fixed = cell(store, "done", **changes, version=header.checkpoint.header.graph_version)
    with pytest.raises(RestoreRejected):
        await fixed.resume("t", waits.pending[0].approve())


@pytest.mark.parametrize("kind", [*REFUSED, *OTHER_STEPS])
@pytest.mark.parametrize("state", ["waits", "settled", "failed", "nothing before"])
async def test_the_history_it_names_begins_a_new_thread(kind: str, state: str, store: Checkpointer) -> None:
    """D14, 1.4.1: the second way on, as the refusal writes it: without the turn that is open, which is no conversation yet."""
    changes = {**REFUSED, **OTHER_STEPS}[kind][0]
    script: dict[str, list[Any]] = {
        "waits": ["hi", calls(call("c1", "gated", what="x"))],
        "settled": ["hi", "ho"],
        "failed": ["hi", OSError("down")],
        "nothing before": [calls(call("c1", "gated", what="x"))],
    }
    agent = cell(store, *script[state])
    for query in ("hello", "go")[-len(script[state]) :]:
        if state == "failed" and query == "go":
            with pytest.raises(ModelFailed):
                await agent.run(query, thread_id="t")
        else:
            await agent.run(query, thread_id="t")
    changed = cell(store, "fresh", **changes)
    with pytest.raises(RestoreRejected) as refused:
        await (
            changed.recover("t")
            if state == "failed"
            else changed.resume("t", {"2.0": None})
            if state != "settled"
            else changed.run("x", thread_id="t")
        )
    code = re.search(r"start a new thread with history=(\(await agent\.result\('t'\)\)\.messages(\[:\d+\])?)", refused.value.next_step)
    if state == "nothing before":
        assert code is None
        assert refused.value.next_step.endswith("or start a new thread, as nothing is stored before the turn that is open")
        return
    assert code is not None
    history = (await changed.result("t")).messages[slice(*([None] if state == "settled" else [2]))]
    assert code[2] == (None if state == "settled" else "[:2]")
    fresh = await changed.run("go on in this region", history=history)
    assert roles(fresh.messages)[-2:] == ["user", "assistant"]
    assert len(fresh.messages) == len(history) + 2


@pytest.mark.parametrize("kind", list(TAKEN))
async def test_what_is_no_part_of_the_version_changes_nothing_for_a_thread(kind: str, store: Checkpointer) -> None:
    """2.4.10, 2.4.11, 5.3.3, F18: another client - here always -, streaming, breakpoints, descriptions, and all code."""
    waits = await waiting_thread(store)
    changed = cell(store, "done", **TAKEN[kind])
    assert (await changed.result("t")).pending == waits.pending
    result = await changed.resume("t", waits.pending[0].approve())
    while result.pending:
        result = await changed.resume("t", [review.proceed() for review in result.pending])
    assert result.answer == "done"


async def test_the_order_of_tools_does_not_count_and_that_of_middleware_does(store: Checkpointer) -> None:
    """2.4.11."""
    tools = [gated_into([]), echo, ConfirmTool(), deploy_into([])]
    first = cell(store, calls(call("c1", "gated", what="x")), tools=tools, middleware=[Recorder("a"), Environment("b")])
    waits = await first.run("go", thread_id="t")
    again = cell(store, "done", tools=tools[::-1], middleware=[Recorder("a"), Environment("b")])
    assert again.graph.version == first.graph.version
    assert (await again.resume("t", waits.pending[0].reply({"value": "x"}))).pending
    other = cell(store, "done", tools=tools, middleware=[Environment("b"), Recorder("a")])
    with pytest.raises(RestoreRejected, match="changed: middleware list"):
        await other.resume("t", {})


async def test_where_a_part_is_named_what_it_leaves_behind_is_named_too(store: Checkpointer) -> None:
    """D14, R6.39: only the digests, which say that something changed, give way to what did."""
    tools = [gated_into([]), ConfirmTool()]
    waits = await cell(store, calls(call("c1", "confirm", text="x")), tools=tools).run("go", thread_id="t")
    for changes, part in (
        ({"tools": tools[:1]}, "removed: tool 'confirm'"),
        ({"tools": tools, "system_prompt": "two"}, "changed: system prompt"),
    ):
        with pytest.raises(RestoreRejected) as refused:
            await cell(store, **changes).resume("t", {})
        *left, last = refused.value.problems
        assert last == part
        assert (
            any(waits.pending[0].id in problem and "is unknown" in problem for problem in left) == bool(left) == part.startswith("removed")
        )
        assert not any("stored by graph" in problem for problem in left)


async def test_versions_given_by_hand_are_named_as_they_are(store: Checkpointer) -> None:
    """D14: with a version of one's own no part need have changed."""
    await cell(store, "hi", version="1").run("hello", thread_id="t")
    with pytest.raises(RestoreRejected) as refused:
        await cell(store, version="2").run("go", thread_id="t")
    assert refused.value.problems == ("it was stored by graph version '1', this graph has '2'",)
    assert "which is '1'" in refused.value.next_step


async def test_a_thread_of_another_agent_is_told_as_that(store: Checkpointer) -> None:
    """R6.39: neither a version nor a history of it is offered."""
    await cell(store, "hi").run("hello", thread_id="t")
    with pytest.raises(RestoreRejected) as refused:
        await Agent("somebody", ScriptedClient("x"), runtime=GraphRuntime(store)).run("go", thread_id="t")
    assert "it was stored by graph id 'assistant', this graph has 'somebody'" in refused.value.problems
    assert "version=" not in refused.value.next_step


async def test_a_waiting_middleware_that_is_gone_is_named(store: Checkpointer) -> None:
    """D14: the question it asked waits for it."""
    first = cell(store, "draft", middleware=[AnswerReview()])
    waits = await first.run("go", thread_id="t")
    with pytest.raises(RestoreRejected) as refused:
        await cell(store, "x").resume("t", waits.pending[0].reply({"value": "ok"}))
    assert "changed: middleware list" in refused.value.problems


async def test_a_deny_rule_that_was_added_while_a_call_waits_counts(store: Checkpointer) -> None:
    """2.4.10, 3.5.3: what a middleware of the same id does is today's."""
    waits = await waiting_thread(store)

    async def deny(request: Any, context: ToolContext, next: Callable[[], Any]) -> Any:
        return ToolError("Denied: not any more")

    changed = cell(store, "done", middleware=[Wrap("policy", tool=deny)])
    done = await changed.resume("t", waits.pending[0].approve())
    assert "Denied: not any more" in repr(done)
