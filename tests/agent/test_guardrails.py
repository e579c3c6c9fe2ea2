"""Guardrails around a turn: agent.md 6.1."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import (
    Agent,
    Blocked,
    Completed,
    GuardrailMiddleware,
)
from llm4s_notebook.agent import events as agent_events
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import (
    ConfigError,
    GuardrailBlocked,
    IncompleteRun,
    MiddlewareFailed,
    NothingToRecover,
    Refused,
)
from llm4s_notebook.graph import RunContext
from llm4s_notebook.guardrails import JsonValidator, LengthCheck, RegexValidator, WordList
from llm4s_notebook.models import ScriptedClient, UserMessage, calls

from .support import Wrap, call, echo, roles


async def told(agent: Agent) -> list[agent_events.AgentEvent]:
    """The durable agent events of thread t."""
    records = await agent.runtime.checkpointer.events_after("t", 0)
    found = [agent_events.decode(one.event.name, one.event.payload) for one in records if type(one.event).__name__ == "Custom"]
    return [one for one in found if one is not None]


async def test_an_answer_that_is_refused_blocks_the_turn_and_removes_it(store: Checkpointer):
    """GR-05, GR-08, 6.1.4, EV-06: usage stays, recover has nothing to do, the next turn works."""
    client = ScriptedClient("not json", '{"fine": true}')
    agent = Agent("assistant", client, middleware=GuardrailMiddleware(output=[JsonValidator()]), runtime=store)
    result = await agent.run("go", thread_id="t")
    assert isinstance(result.status, Blocked)
    assert (result.status.guardrail, result.status.reason.startswith("not valid JSON")) == ("JsonValidator", True)
    assert (result.messages, result.usage.requests, result.answer) == ((), 1, None)
    assert await agent.result("t") == result
    with pytest.raises(NothingToRecover):
        await agent.recover("t")
    assert [type(one).__name__ for one in await told(agent)] == ["ModelCallCompleted", "GuardrailBlocked"]
    assert (await told(agent))[1] == agent_events.GuardrailBlocked("JsonValidator", "Output")
    assert (await agent.run("again", thread_id="t")).answer == '{"fine": true}'


async def test_a_query_that_is_refused_blocks_before_the_model(store: Checkpointer):
    """6.1.2, 6.1.3, EV-06: all guardrails run; the first one's name, every reason."""
    client = ScriptedClient("done")
    guards = [LengthCheck(max=3), JsonValidator(), RegexValidator("^go$", name="exact")]
    agent = Agent("assistant", client, middleware=GuardrailMiddleware(input=guards), runtime=store)
    result = await agent.run("go now", thread_id="t", history=[UserMessage("earlier")])
    assert isinstance(result.status, Blocked)
    assert result.status.guardrail == "LengthCheck"
    assert [part.partition(":")[0] for part in result.status.reason.split("; ")] == [
        "Input too long",
        "not valid JSON",
        "the text does not match the pattern ^go$",
    ]
    assert (client.requests, roles(result.messages), result.active_agent) == ([], ["user"], "assistant")
    assert await told(agent) == [agent_events.GuardrailBlocked("LengthCheck", "Input")]


async def test_no_stored_byte_keeps_a_blocked_text(store: Checkpointer, tmp_path: Any):
    """6.1.4, D17: neither the query nor the answer, in checkpoints, events or the file."""
    client = ScriptedClient(calls(call("c1", "echo", text="SECRETtool")), "SECRETanswer")
    agent = Agent("assistant", client, tools=echo, middleware=GuardrailMiddleware(output=[WordList(["SECRETanswer"])]), runtime=store)
    result = await agent.run("SECRETquery", thread_id="t")
    assert isinstance(result.status, Blocked)
    kept = [repr(one) for one in await store.history("t")] + [repr(one) for one in await store.events_after("t", 0)]
    kept += [repr(one.entries) for one in await store.history("t")]
    assert not [text for text in kept if "SECRETquery" in text or "SECRETtool" in text]
    if store.location is not None:
        await store.aclose()
        data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"SECRETquery" not in data
        assert b"SECRETtool" not in data


async def test_a_plain_middlewares_refusal_of_the_answer_is_raised_and_removes_the_turn(store: Checkpointer):
    """GR-09, D21: stored as blocked by the middleware with the error's class; 8.8: no guardrail event."""

    async def refuse(_answer: str, _context: RunContext) -> str:
        raise Refused("SECRET reason")

    wrap = Wrap("strict", after=refuse)
    agent = Agent("assistant", ScriptedClient("one", "two"), middleware=wrap, runtime=store)
    with pytest.raises(Refused, match="SECRET reason"):
        await agent.run("go", thread_id="t")
    stored = await agent.result("t")
    assert (stored.status, stored.messages) == (Blocked("strict", "Refused"), ())
    assert [type(one).__name__ for one in await told(agent)] == ["ModelCallCompleted"]
    assert not [one for one in await store.events_after("t", 0) if "SECRET" in repr(one)]
    wrap.after = None
    assert (await agent.run("go", thread_id="t")).answer == "two"


async def test_a_guardrail_refusal_from_a_model_wrapper_is_an_ordinary_failure(store: Checkpointer):
    """GR-10, 6.1.5: error, a new turn is refused as incomplete, recover completes."""
    failing = [True]

    async def block(request: Any, _context: Any, next: Any) -> Any:
        if failing:
            raise GuardrailBlocked(guardrail="g", reason="no")
        return await next(request)

    agent = Agent("assistant", ScriptedClient("done"), middleware=Wrap("block", model=block), runtime=store)
    with pytest.raises(GuardrailBlocked):
        await agent.run("go", thread_id="t")
    with pytest.raises(IncompleteRun):
        await agent.run("more", thread_id="t")
    failing.clear()
    assert (await agent.recover("t")).status == Completed("done")


async def test_the_roots_input_guardrail_guards_a_turn_of_its_specialist(store: Checkpointer):
    """GR-11, 6.1.6: the specialist is not called, the active agent unchanged."""
    expert_client = ScriptedClient("hello", "again")
    root = Agent(
        "root",
        ScriptedClient(calls(call("h1", "handoff_to_expert", reason="r"))),
        handoffs=Agent("expert", expert_client),
        middleware=GuardrailMiddleware(input=[RegexValidator("^no", must="not match")]),
        runtime=store,
    )
    first = await root.run("go", thread_id="t")
    assert first.active_agent == "expert"
    second = await root.run("no way", thread_id="t")
    assert isinstance(second.status, Blocked)
    assert (second.active_agent, second.messages, len(expert_client.requests)) == ("expert", first.messages, 1)


async def test_a_blocked_turn_takes_its_handoff_with_it(store: Checkpointer):
    """6.1.4, 7.7: agent and transfer the turn began with are restored."""
    expert = Agent("expert", ScriptedClient("bad answer", "good answer"))
    handoff = calls(call("h1", "handoff_to_expert", reason="r"))
    root = Agent(
        "root", ScriptedClient(handoff, handoff), handoffs=expert, middleware=GuardrailMiddleware(output=[WordList(["bad"])]), runtime=store
    )
    result = await root.run("go", thread_id="t")
    assert isinstance(result.status, Blocked)
    assert (result.active_agent, result.messages) == ("root", ())
    done = await root.run("go", thread_id="t")
    assert (done.status, done.active_agent) == (Completed("good answer"), "expert")


async def test_a_blank_query_of_a_hook_is_an_error_and_the_thread_is_usable(store: Checkpointer):
    """GR-16, 4.1.4."""

    async def blank(_text: str, _context: RunContext) -> str:
        return "  "

    wrap = Wrap("blank", before=blank)
    agent = Agent("assistant", ScriptedClient("done"), middleware=wrap, runtime=store)
    with pytest.raises(ConfigError, match="before_agent returned a blank query") as refused:
        await agent.run("go", thread_id="t")
    assert refused.value.field == "query"
    with pytest.raises(NothingToRecover):
        await agent.recover("t")
    wrap.before = None
    assert (await agent.run("go", thread_id="t")).answer == "done"


async def test_a_blank_answer_of_a_hook_is_an_error_and_nothing_of_the_turn_is_kept(store: Checkpointer):
    """GR-17, 4.1.4."""

    async def blank(_text: str, _context: RunContext) -> str:
        return ""

    agent = Agent("assistant", ScriptedClient("done"), middleware=Wrap("blank", after=blank), runtime=store)
    with pytest.raises(ConfigError, match="after_agent returned a blank answer") as refused:
        await agent.run("go", thread_id="t")
    assert refused.value.field == "tool loop"
    assert (await agent.result("t")).messages == ()


async def test_a_guardrail_that_raises_is_a_middlewares_failure_and_closes_the_turn(store: Checkpointer):
    """6.1.7, D21."""

    class Broken:
        name = "broken"

        async def check(self, text: str) -> str:
            raise ZeroDivisionError("oops")

    agent = Agent("assistant", ScriptedClient("done"), middleware=GuardrailMiddleware(input=[Broken()]), runtime=store)
    with pytest.raises(MiddlewareFailed) as failed:
        await agent.run("go", thread_id="t")
    assert failed.value.middleware == "guardrails"
    assert isinstance(failed.value.cause, ZeroDivisionError)
    assert (await agent.result("t")).status == Blocked("guardrails", "MiddlewareFailed")


async def test_a_guardrail_refusal_from_a_tool_wrapper_is_an_ordinary_failure(store: Checkpointer):
    """6.1.5: error, recover runs the call again and completes."""
    failing = [True]

    async def block(_request: Any, _context: Any, next: Any) -> Any:
        if failing:
            raise GuardrailBlocked(guardrail="g", reason="no")
        return await next()

    client = ScriptedClient(calls(call("c1", "echo", text="hi")), "done")
    agent = Agent("assistant", client, tools=echo, middleware=Wrap("block", tool=block), runtime=store)
    with pytest.raises(GuardrailBlocked):
        await agent.run("go", thread_id="t")
    with pytest.raises(IncompleteRun):
        await agent.run("more", thread_id="t")
    failing.clear()
    assert (await agent.recover("t")).status == Completed("done")
