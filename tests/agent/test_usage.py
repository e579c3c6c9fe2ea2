"""What a turn has used, whatever becomes of it: agent.md 1.5."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import Agent, Blocked, Completed
from llm4s_notebook.agent import events as agent_events
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ModelFailed, Refused
from llm4s_notebook.graph import RunContext
from llm4s_notebook.models import AssistantMessage, Completion, ScriptedClient, Usage, calls

from .support import Gate, Need, Wrap, call, echo, gated_into, only, roles, told


async def test_usage_is_summed_over_the_thread_and_split_by_model():
    """1.5.1: request count, tokens and cost."""
    client = ScriptedClient(
        Completion(AssistantMessage("one"), Usage(1, 2, 0.5), "small"),
        Completion(AssistantMessage("two"), Usage(3, 4, 0.25), "large"),
        Completion(AssistantMessage("three"), Usage(5, 6, 0.25), "small"),
    )
    agent = Agent("assistant", client)
    for _ in range(3):
        usage = (await agent.run("go", thread_id="t")).usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens, usage.cost) == (3, 9, 12, 1.0)
    small = usage.by_model["small"]
    assert (small.requests, small.input_tokens, small.output_tokens, small.cost) == (2, 6, 8, 0.75)
    assert usage.by_model["large"].requests == 1


async def test_a_completion_without_usage_counts_as_a_request():
    """1.5.3."""
    usage = (await Agent("assistant", ScriptedClient(Completion(AssistantMessage("x"), None, "m"))).run("go")).usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (1, 0, 0)


class TwoThenAsk(Gate):
    """Calls the model twice and then asks; once answered it supplies what the reviewer said."""

    async def wrap_model_call(self, request: Any, context: RunContext, next: Any) -> Any:
        given = self.answered(context)
        if given is not None:
            return Completion(AssistantMessage("reviewed"), None, "reviewer")
        first = await next(request)
        second = await next(request)
        return self.ask(Need(what=f"{first.message.content} or {second.message.content}?"))


async def test_every_call_made_before_a_models_question_is_counted_and_announced_with_its_attempt(store: Checkpointer):
    """1.5.4, 8.6: and that usage is committed while the question waits; nothing else of the step is stored."""
    client = ScriptedClient(Completion(AssistantMessage("a"), Usage(1, 2), "m"), Completion(AssistantMessage("b"), Usage(3, 4), "m"))
    agent = Agent("assistant", client, middleware=TwoThenAsk(), runtime=store)
    result = await agent.run("go", thread_id="t")
    id, request = only(result)
    assert request.question == {"what": "a or b?"}
    assert (await agent.result("t")).usage == result.usage
    assert (result.usage.requests, result.usage.input_tokens, result.usage.output_tokens) == (2, 4, 6)
    assert roles(result.messages) == ["user"]
    assert await told(agent) == [
        agent_events.ModelCallCompleted("assistant", "m", 1, 0, Usage(1, 2)),
        agent_events.ModelCallCompleted("assistant", "m", 2, 0, Usage(3, 4)),
    ]
    done = await agent.resume("t", result.reply(id, True))
    assert done.status == Completed("reviewed")
    assert (done.usage.requests, done.usage.by_model["reviewer"].requests) == (3, 1)


async def test_a_step_that_failed_is_not_counted(store: Checkpointer):
    """1.5.2: one entry for each step that is stored."""
    agent = Agent("assistant", ScriptedClient(AssistantMessage(" "), "done"), runtime=store)
    with pytest.raises(ModelFailed):
        await agent.run("go", thread_id="t")
    assert (await agent.result("t")).usage.requests == 0
    assert (await agent.recover("t")).usage.requests == 1


@pytest.mark.parametrize("how", ["blocked", "abandoned"])
async def test_a_turn_that_is_taken_back_keeps_its_usage(how: str, store: Checkpointer):
    """1.5.5: model calls cost what they cost."""

    async def refuse(answer: str, _context: RunContext) -> str:
        raise Refused("no")

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "echo", text="a")), calls(call("c2", "gated", what="x")), "done"),
        tools=[echo, gated_into([])],
        middleware=Wrap("strict", after=refuse),
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    if how == "abandoned":
        taken_back = await agent.abandon("t")
        used = 2
    else:
        with pytest.raises(Refused):
            await agent.resume("t", [review.approve() for review in result.pending])
        taken_back = await agent.result("t")
        used = 3
    assert isinstance(taken_back.status, Blocked)
    assert (taken_back.messages, taken_back.usage.requests, taken_back.usage.input_tokens) == ((), used, 10 * used)
