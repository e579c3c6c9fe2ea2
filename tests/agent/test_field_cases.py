"""Cases from the field that are the agent's: docs/specification/field-cases.md F13, F14, F17, F18."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AskingMiddleware, ToolCallRequest, ToolContext, ToolError, ToolOutcome, tool
from llm4s_notebook.checkpoint import Checkpointer, SqliteCheckpointer
from llm4s_notebook.errors import PendingInterrupts
from llm4s_notebook.graph import GraphRuntime, RunConfig
from llm4s_notebook.models import AssistantMessage, Completion, ModelRequest, ScriptedClient, ToolMessage, Usage, calls

from .support import Wrap, call, deploy_into, gated_into, policy, sizes, tool_results

# -- F13: after an edit ----------------------------------------------------------------------------------------------


def stubborn_until_it_sees(what: str) -> Callable[[ModelRequest], object]:
    """A model that asks for its own call again until the transcript shows the edited one, with a result straight after it."""

    def said(request: ModelRequest) -> object:
        for message, following in zip(request.messages, request.messages[1:], strict=False):
            if isinstance(message, AssistantMessage) and any(one.arguments == {"what": what} for one in message.tool_calls):
                assert isinstance(following, ToolMessage)
                return "I see that it was changed"
        return calls(call(f"c{len(request.messages)}", "deploy", what="prod"))

    return said


class Later(AskingMiddleware[str, str]):
    """Asks about each call, after it was approved."""

    id = "later"

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        return await next() if self.answered(context) or not context.approved else self.ask_about(f"really {request.call}?")


@pytest.mark.parametrize("way", ["at once", "with a question after it", "after a failure", "denied", "invalid"])
async def test_the_transcript_shows_the_edit_however_the_call_went_on(way: str, store: Checkpointer) -> None:
    """F13, 3.5.3, 3.5.4: the model is sent the edited call with its result, and does not ask for its own again."""
    ran: list[str] = []
    downs = [OSError("down")] if way == "after a failure" else []

    async def rule(request: ToolCallRequest, context: ToolContext, next: Any) -> Any:
        if downs:
            raise downs.pop()
        return ToolError("Denied: not there") if way == "denied" else await next()

    edited: Any = {"what": 5} if way == "invalid" else {"what": "staging"}
    model = stubborn_until_it_sees(edited["what"])
    client = ScriptedClient(model, model, model)
    middleware = [policy("deploy"), *([Later()] if way == "with a question after it" else []), Wrap("rule", tool=rule)]
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=middleware, runtime=store)
    (review,) = (await agent.run("go", thread_id="t")).pending
    if way == "after a failure":
        agent_error = None
        for step in (lambda: agent.resume("t", review.edit(edited)), lambda: agent.recover("t")):
            try:
                result = await step()
            except Exception as error:
                agent_error = error
        assert agent_error is not None
    else:
        result = await agent.resume("t", review.edit(edited))
        if result.pending:
            assert 'deploy {"what":"staging"}' in str(result.pending[0])
            result = await agent.resume("t", result.pending[0].reply("yes"))
    assert result.answer == "I see that it was changed"
    assert len(client.requests) == 2
    assert ran == ([] if way in ("denied", "invalid") else ["staging"])
    call_shown = next(message for message in result.messages if isinstance(message, AssistantMessage)).tool_calls[0]
    assert (call_shown.name, call_shown.edited) == ("deploy", True)


# -- F14: a stubborn model -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", [None, "", "   \n"])
async def test_a_stubborn_model_meets_a_person_each_time(reason: str | None, store: Checkpointer) -> None:
    """F14: each is a new approval of its own id; the reason says that a person decided, also where a reviewer gave none."""
    ran: list[str] = []
    again = calls(call("c1", "gated", what="x"))
    client = ScriptedClient(*[again] * 5, "I give up")
    agent = Agent("assistant", client, tools=gated_into(ran), runtime=store)
    result = await agent.run("go", thread_id="t")
    seen: list[str] = []
    for times in range(1, 6):
        assert sizes(result) == (1, 0, 0, 0)
        assert len(client.requests) == times
        (review,) = result.pending
        seen.append(review.id)
        result = await agent.resume("t", review.reject() if reason is None else review.reject(reason))
    assert len(set(seen)) == 5
    assert (result.answer, ran) == ("I give up", [])
    results = [message for message in result.messages if isinstance(message, ToolMessage)]
    assert {message.content for message in results} == {'{"error":"Rejected: a reviewer refused this call; it was not run"}'}


# -- F17: another message while a tool waits, and its denial ---------------------------------------------------------


async def test_a_message_while_a_tool_waits_is_refused_and_a_denial_is_no_success(store: Checkpointer) -> None:
    """F17, F23, 2.4.6: the refusal names what waits and the ways on; the denied call's result says that it did not run."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="prod"), call("c2", "gated", what="db")), "understood")
    agent = Agent("assistant", client, tools=[deploy_into(ran), gated_into(ran)], middleware=policy("deploy"), runtime=store)
    waits = await agent.run("go", thread_id="t")
    before = (await store.head("t"), await store.events_after("t", 0))
    for step in (agent.run("what is the weather?", thread_id="t"), agent.start("and now?", thread_id="t"), agent.recover("t")):
        with pytest.raises(PendingInterrupts) as refused:
            await step
        assert refused.value.interrupt_ids == tuple(review.id for review in waits.pending)
        for part in ('deploy {"what":"prod"}', 'gated {"what":"db"}', "2 answers"):
            assert part in refused.value.what
        assert "resume(thread_id, answers)" in refused.value.next_step
        assert "abandon(thread_id)" in refused.value.next_step
    assert (await store.head("t"), await store.events_after("t", 0)) == before
    assert len(client.requests) == 1
    one, two = waits.pending
    done = await agent.resume("t", [one.reject(), two.reject("not on a Friday")])
    assert (done.answer, ran) == ("understood", [])
    results = tool_results(done)
    assert [(result.is_error, result.outcome) for result in results.values()] == [(True, "rejected")] * 2
    sent = [message for message in client.requests[1].messages if isinstance(message, ToolMessage)]
    assert [json.loads(message.content) for message in sent] == [
        {"error": "Rejected: a reviewer refused this call; it was not run"},
        {"error": "Rejected: not on a Friday"},
    ]
    assert "not run" in repr(done)
    assert (await agent.with_(client=ScriptedClient("sunny")).run("what is the weather?", thread_id="t")).answer == "sunny"


@pytest.mark.parametrize("word", ["Denied: by the rules", "Denied:"])
async def test_a_rules_denial_is_no_success_either(word: str) -> None:
    """F17, 3.4: of a middleware that denies without asking anybody."""
    ran: list[str] = []

    async def deny(request: Any, context: ToolContext, next: Any) -> Any:
        return ToolError(word)

    client = ScriptedClient(calls(call("c1", "deploy", what="prod")), "understood")
    done = await Agent("assistant", client, tools=deploy_into(ran), middleware=Wrap("deny", tool=deny)).run("go")
    (result,) = tool_results(done).values()
    assert (result.content, result.is_error, result.outcome, ran) == (
        json.dumps({"error": word}, separators=(",", ":")),
        True,
        "denied",
        [],
    )


# -- F18: another client, other credentials, another runtime ---------------------------------------------------------


class WithKey:
    """A client of another make, with credentials of its own."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.asked = 0

    async def complete(self, request: ModelRequest) -> Completion:
        self.asked += 1
        said = "; ".join(message.content for message in request.messages if isinstance(message, ToolMessage))
        return Completion(AssistantMessage(said), Usage(1, 1), "other-model")


def keyed_into(ran: list[tuple[str, str]]) -> Any:
    @tool
    async def deploy(what: str, context: ToolContext) -> str:
        """Deploy something."""
        ran.append((what, context.idempotency_key))
        return f"deployed {what}"

    return deploy


@pytest.mark.parametrize("decision", ["approve", "reject", "edit"])
@pytest.mark.parametrize("other", ["client", "runtime", "store", "loop", "nothing"])
async def test_a_decision_does_not_depend_on_who_carries_it_out(decision: str, other: str, tmp_path: Path) -> None:
    """F18, 2.4.7, 2.4.10: the same call runs or does not, once, with the same idempotency key; only the decision decides."""
    path = tmp_path / "threads.db"
    ran: list[tuple[str, str]] = []

    def agent(client: Any, runtime: Any) -> Agent:
        return Agent("assistant", client, tools=keyed_into(ran), middleware=policy("deploy"), runtime=runtime)

    store = SqliteCheckpointer(path)
    runtime = GraphRuntime(store)
    first = agent(ScriptedClient(calls(call("c1", "deploy", what="prod")), "unused"), runtime)
    (review,) = (await first.run("go", thread_id="t", config=RunConfig(principal="ana"))).pending
    if other in ("store", "loop"):
        await runtime.aclose()
        await store.aclose()
        store = SqliteCheckpointer(path)
    client = WithKey("sk-other")
    second = agent(client, runtime if other in ("client", "nothing") else GraphRuntime(store))
    (seen,) = (await second.result("t")).pending
    assert seen == review
    answers = {"approve": seen.approve(), "reject": seen.reject("no"), "edit": seen.edit({"what": "staging"})}
    config = RunConfig(principal="bo")
    if other == "loop":
        done = await asyncio.to_thread(lambda: asyncio.run(second.resume("t", answers[decision], config)))
    else:
        done = await second.resume("t", answers[decision], config)
    said = {"approve": "deployed prod", "reject": '{"error":"Rejected: no"}', "edit": "deployed staging"}
    assert (done.answer, client.asked) == (said[decision], 1)
    assert [what for what, _ in ran] == {"approve": ["prod"], "reject": [], "edit": ["staging"]}[decision]
    resumed = [one.event for one in await store.events_after("t", 0) if type(one.event).__name__ == "RunResumed"]
    assert [(event.answered, event.principal) for event in resumed] == [((review.id,), "bo")]  # type: ignore[attr-defined]  # by its name
    assert "sk-other" not in repr(await store.latest("t")) + repr(done)
    await store.aclose()


async def test_the_key_of_a_call_is_the_same_whoever_runs_it(tmp_path: Path) -> None:
    """F18, D13: failed under one client and recovered under another."""
    ran: list[tuple[str, str]] = []
    store = SqliteCheckpointer(tmp_path / "threads.db")

    async def down(request: Any, context: ToolContext, next: Any) -> Any:
        await next()
        raise OSError("down")

    first = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="prod"))),
        tools=keyed_into(ran),
        middleware=[policy("deploy"), Wrap("w", tool=down)],
        runtime=store,
    )
    (review,) = (await first.run("go", thread_id="t")).pending
    with pytest.raises(Exception, match="down"):
        await first.resume("t", review.approve())
    second = first.with_(client=WithKey("k"), middleware=[policy("deploy"), Wrap("w")], runtime=GraphRuntime(store))
    assert (await second.recover("t")).answer == "deployed prod"
    assert len(ran) == 2
    assert len(set(ran)) == 1
    await store.aclose()
