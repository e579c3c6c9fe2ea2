"""Questions from middleware: agent.md 4.1, 4.3, 4.4, 10.4."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr, TypeAdapter

from llm4s_notebook.agent import (
    Agent,
    AgentMiddleware,
    Ask,
    Asked,
    AskingMiddleware,
    Completed,
    GivenAnswer,
    MiddlewareHook,
    MiddlewareQuestionRequest,
)
from llm4s_notebook.agent import events as agent_events
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError, EncodeError, InvalidResume, ModelFailed, Refused, ToolFailed
from llm4s_notebook.graph import RunContext
from llm4s_notebook.models import AssistantMessage, Completion, ScriptedClient, ToolCall, Usage, UserMessage, calls

from .support import (
    AnswerReview,
    Environment,
    Gate,
    Info,
    Need,
    Region,
    Wrap,
    call,
    deploy_into,
    echo,
    last_answer,
    only,
    roles,
    sizes,
    told,
    tool_texts,
    waiting,
)


async def test_a_question_before_the_turn_leaves_nothing_of_it_on_the_thread(store: Checkpointer):
    """MWQ-01: the question, who asks, and what is needed to run again."""
    client = ScriptedClient("done")
    agent = Agent("assistant", client, middleware=Region(), runtime=store)
    result = await agent.run("deploy", thread_id="t")
    assert sizes(result) == (0, 0, 1, 0)
    _, request = only(result)
    assert (request.agent, request.middleware, request.hook) == ("assistant", "region", MiddlewareHook.BEFORE_AGENT)
    assert request.decode(Need) == Need(what="region")
    assert (request.input, request.call, request.approved, request.answers) == ("deploy", None, False, ())
    assert (result.messages, result.active_agent, client.requests) == ((), "assistant", [])


async def test_the_answer_lets_the_query_through_enriched(store: Checkpointer):
    """MWQ-01 answered."""
    client = ScriptedClient("done")
    region = Region()
    agent = Agent("assistant", client, middleware=region, runtime=store)
    result = await agent.run("deploy", thread_id="t")
    done = await agent.resume("t", result.reply(only(result)[0], Info(value="eu")))
    assert done.status == Completed("done")
    assert client.requests[0].messages == (UserMessage("deploy (region eu)", done.messages[0].id),)
    assert region.asked_times == 1


async def test_imported_history_is_not_stored_while_the_question_waits(store: Checkpointer):
    """MWQ-03: afterwards it comes first."""
    history = [UserMessage("earlier"), AssistantMessage("indeed")]
    agent = Agent("assistant", ScriptedClient("done"), middleware=Region(), runtime=store)
    result = await agent.run("deploy", thread_id="t", history=history)
    assert result.messages == ()
    done = await agent.resume("t", result.reply(only(result)[0], Info(value="eu")))
    assert [message.content for message in done.messages] == ["earlier", "indeed", "deploy (region eu)", "done"]  # type: ignore[union-attr]  # all have content
    assert [message.id.partition("/")[2] for message in done.messages[:2]] == ["history/0", "history/1"]


@pytest.mark.parametrize("bad", [3, None, {"x": 1}, {"value": 3}, "eu", []])
async def test_an_answer_that_is_not_of_the_type_is_refused_and_the_right_one_then_works(bad: Any, store: Checkpointer):
    """MWQ-04, 4.3.6, F07, F09: the hook runs once per accepted answer; nothing of the bad one is saved."""
    region = Region()
    agent = Agent("assistant", ScriptedClient("done"), middleware=region, runtime=store)
    result = await agent.run("deploy", thread_id="t")
    id, _ = only(result)
    before = await store.head("t")
    with pytest.raises(InvalidResume) as refused:
        await agent.resume("t", {id: bad})
    assert {problem.interrupt_id for problem in refused.value.problems} == {id}
    if bad == {"value": 3}:
        assert refused.value.problems[0].path == ("value",)
    assert await store.head("t") == before
    done = await agent.resume("t", result.reply(id, Info(value="eu")))
    assert done.status == Completed("done")
    assert region.asked_times == 1


async def test_a_question_about_the_answer_keeps_the_message_and_the_turn_open(store: Checkpointer):
    """MWQ-05, MWQ-06."""
    agent = Agent("assistant", ScriptedClient("draft"), middleware=AnswerReview(), runtime=store)
    result = await agent.run("go", thread_id="t")
    id, request = only(result)
    assert (request.hook, request.question) == (MiddlewareHook.AFTER_AGENT, {"what": "review: draft"})
    assert (result.answer, last_answer(result)) == (None, "draft")
    done = await agent.resume("t", result.reply(id, Info(value="ok")))
    assert done.status == Completed("draft")


async def test_a_replaced_answer_is_stored_and_seen_by_the_next_turn(store: Checkpointer):
    """4.1.5."""
    client = ScriptedClient("draft", "second")
    agent = Agent("assistant", client, middleware=AnswerReview(), runtime=store)
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", result.reply(only(result)[0], Info(value="better")))
    assert done.status == Completed("better")
    await agent.run("more", thread_id="t")
    assert [message.content for message in client.requests[1].messages] == ["go", "better", "more"]  # type: ignore[union-attr]  # all have content


async def test_a_root_middleware_asks_about_the_targets_answer(store: Checkpointer):
    """MWQ-08, 7.5: the request's agent is the root; the turn finishes as the target."""
    expert = Agent("expert", ScriptedClient("expert's draft"))
    root = Agent(
        "root",
        ScriptedClient(calls(call("h1", "handoff_to_expert", reason="hard"))),
        handoffs=expert,
        middleware=AnswerReview(),
        runtime=store,
    )
    result = await root.run("go", thread_id="t")
    id, request = only(result)
    assert (request.agent, request.middleware) == ("root", "review")
    pending = await root.runtime.pending("t", root.graph)
    assert pending is not None
    assert pending.interrupts[0].resume_node == "root/asked/review/afterAgent"
    done = await root.resume("t", result.reply(id, Info(value="ok")))
    assert (done.status, done.active_agent) == (Completed("expert's draft"), "expert")


async def test_a_gate_asks_before_each_model_call(store: Checkpointer):
    """MWQ-09, MWQ-10, MWQ-30: the client is not called before; two questions in a turn with one tool round."""
    client = ScriptedClient(calls(call("c1", "echo", text="a")), "done")
    agent = Agent("assistant", client, tools=echo, middleware=Gate(), runtime=store)
    first = await agent.run("go", thread_id="t")
    id, request = only(first)
    assert (request.hook, client.requests, first.usage.requests) == (MiddlewareHook.WRAP_MODEL_CALL, [], 0)
    second = await agent.resume("t", first.reply(id, True))
    assert len(client.requests) == 1
    next_id, _ = only(second)
    assert next_id != id
    done = await agent.resume("t", second.reply(next_id, True))
    assert done.status == Completed("done")
    assert len(client.requests) == 2


async def test_a_gate_that_is_refused_fails_the_run_and_recover_asks_nobody_again(store: Checkpointer):
    """MWQ-11, D21: the caller gets the wrapper's own error, the answer is kept."""
    agent = Agent("assistant", ScriptedClient("done"), middleware=Gate(), runtime=store)
    result = await agent.run("go", thread_id="t")
    with pytest.raises(Refused, match="the reviewer said no"):
        await agent.resume("t", result.reply(only(result)[0], False))
    with pytest.raises(Refused, match="the reviewer said no"):
        await agent.recover("t")


class TextReview(AskingMiddleware[Need, str]):
    """Asks about the model's text after calling it; then supplies a completion of its own, or calls again."""

    id = "text-review"

    def __init__(self, *, again: bool = False) -> None:
        self.again = again

    async def wrap_model_call(self, request: Any, context: RunContext, next: Any) -> Completion | Asked:
        given = self.answered(context)
        if given is not None and not self.again:
            return Completion(AssistantMessage(given.answer), None, "reviewer")
        completion = await next(request)
        return completion if given is not None else self.ask(Need(what=completion.message.content))


async def test_usage_of_calls_before_a_models_question_is_kept_and_nothing_else(store: Checkpointer):
    """MWQ-12, MWQ-13, 1.5.4, 8.6."""
    client = ScriptedClient("raw output")
    agent = Agent("assistant", client, middleware=TextReview(), runtime=store)
    result = await agent.run("go", thread_id="t")
    id, request = only(result)
    assert request.question == {"what": "raw output"}
    assert roles(result.messages) == ["user"]
    assert (result.usage.requests, result.usage.input_tokens, result.usage.output_tokens) == (1, 10, 20)
    assert await told(agent) == [agent_events.ModelCallCompleted("assistant", "scripted", 1, 0, Usage(10, 20))]
    done = await agent.resume("t", result.reply(id, "reviewed output"))
    assert done.status == Completed("reviewed output")
    assert len(client.requests) == 1
    assert (done.usage.requests, done.usage.input_tokens, done.usage.output_tokens) == (2, 10, 20)
    assert await told(agent) == [
        agent_events.ModelCallCompleted("assistant", "scripted", 1, 0, Usage(10, 20)),
        agent_events.ModelCallCompleted("assistant", "reviewer", 0, 0, None),
    ]


async def test_a_wrapper_that_asked_after_next_pays_for_a_second_call(store: Checkpointer):
    """MWQ-15: usage counts both, only the second message is stored, one step is counted."""
    client = ScriptedClient("first", "second")
    agent = Agent("assistant", client, middleware=TextReview(again=True), runtime=store, max_steps=1)
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", result.reply(only(result)[0], "fine"))
    assert done.status == Completed("second")
    assert done.usage.requests == 2
    assert roles(done.messages) == ["user", "assistant"]


async def test_a_question_per_call_is_answered_one_at_a_time(store: Checkpointer):
    """MWQ-16, MWQ-17, MWQ-18."""
    ran: list[str] = []
    env = Environment()
    client = ScriptedClient(calls(call("c1", "deploy", what="one"), call("c2", "deploy", what="two")), "done")
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=env, runtime=store)
    result = await agent.run("go", thread_id="t")
    asked = waiting(result).middleware_questions
    assert [(one.hook, one.call.id) for one in asked.values() if one.call] == [("wrapToolCall", "c1"), ("wrapToolCall", "c2")]
    assert ran == []
    first, second = asked
    after = await agent.resume("t", result.reply(second, Info(value="prod")))
    assert list(waiting(after).middleware_questions) == [first]
    assert (ran, len(client.requests)) == (["two"], 1)
    done = await agent.resume("t", after.reply(first, Info(value="staging")))
    assert done.status == Completed("done")
    assert env.log == ["c2@prod", "c1@staging"]
    assert env.asked_times == 2


async def test_a_plain_middleware_that_asks_fails_the_run():
    """MWQ-22, 4.3.10."""

    async def asking(_request: Any, _context: Any, _next: Any) -> Any:
        return Ask("why?")

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="x"))), tools=echo, middleware=Wrap("plain", tool=asking))
    with pytest.raises(ToolFailed, match="middleware 'plain' asked a question it does not declare"):
        await agent.run("go")


async def test_an_asking_middleware_that_asks_another_type_fails_the_run():
    """MWQ-23, 4.3.3."""

    class Wrong(AskingMiddleware[Need, Info]):
        id = "wrong"

        async def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:
            return self.ask_about(3)  # type: ignore[arg-type]  # the mistake under test

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="x"))), tools=echo, middleware=Wrong())
    with pytest.raises(ToolFailed, match="middleware 'wrong' asked a question of another type"):
        await agent.run("go")


async def test_a_question_that_does_not_encode_is_an_error_where_it_is_asked():
    """4.3.3: from a boundary hook a block, from a model wrapper a failed run."""

    class Before(AskingMiddleware[Need, Info]):
        id = "wrong"

        async def before_agent(self, query: str, context: RunContext) -> str | Asked:
            return self.ask(3)  # type: ignore[arg-type]  # the mistake under test

    class Model(AskingMiddleware[Need, Info]):
        id = "wrong"

        async def wrap_model_call(self, request: Any, context: RunContext, next: Any) -> Any:
            return self.ask(3)  # type: ignore[arg-type]  # the mistake under test

    agent = Agent("assistant", ScriptedClient("x"), middleware=Before())
    with pytest.raises(EncodeError):
        await agent.run("go", thread_id="t")
    assert str((await agent.result("t")).status) == "BLOCKED(wrong: EncodeError)"
    agent = Agent("assistant", ScriptedClient("x"), middleware=Model())
    with pytest.raises(EncodeError):
        await agent.run("go", thread_id="t")
    assert str((await agent.result("t")).status) == "UNFINISHED"


@pytest.mark.parametrize("hook", ["before_agent", "after_agent", "wrap_model_call"])
async def test_a_question_of_somebody_elses_fails_the_run(hook: str):
    """MWQ-25, 4.3.10."""
    other = Region("other")

    async def ask(*_given: Any) -> Any:
        return other.ask(Need(what="x"))

    short = {"before_agent": "before", "after_agent": "after", "wrap_model_call": "model"}[hook]
    agent = Agent("assistant", ScriptedClient("done"), middleware=Wrap("plain", **{short: ask}))
    with pytest.raises(ConfigError, match="has no asking middleware of that id") as failed:
        await agent.run("go", thread_id="t")
    assert failed.value.field == "middleware question"
    assert str((await agent.result("t")).status) == "UNFINISHED"


async def test_another_instances_question_under_an_id_of_the_stack_is_refused_too():
    """4.3.10: the asker is the very middleware of the stack."""
    stranger = Region("region")

    class Sneaky(Region):
        async def before_agent(self, query: str, context: RunContext) -> str | Asked:
            return stranger.ask(Need(what="x"))

    agent = Agent("assistant", ScriptedClient("done"), middleware=Sneaky())
    with pytest.raises(ConfigError, match="has no asking middleware of that id"):
        await agent.run("go")


async def test_after_a_provider_failure_recover_keeps_the_answer(store: Checkpointer):
    """MWQ-26: the model is sent the enriched query; region asked once."""
    region = Region()
    client = ScriptedClient(OSError("down"), "done")
    agent = Agent("assistant", client, middleware=region, runtime=store)
    result = await agent.run("deploy", thread_id="t")
    with pytest.raises(ModelFailed, match="down"):
        await agent.resume("t", result.reply(only(result)[0], Info(value="eu")))
    done = await agent.recover("t")
    assert done.status == Completed("done")
    assert client.requests[1].messages[-1].content == "deploy (region eu)"  # type: ignore[union-attr]  # a user message
    assert region.asked_times == 1


async def test_outside_the_loop_a_question_says_what_it_is():
    """MWQ-27, 4.3.9."""
    from llm4s_notebook.graph import RunConfig

    class Nowhere:
        config = RunConfig()

    made = await Region().before_agent("deploy", Nowhere())  # type: ignore[arg-type]  # no run at all
    assert str(made) == "Middleware 'region' asked a question"


def test_requests_survive_json_with_their_optional_parts_left_out():
    """MWQ-28."""
    adapter = TypeAdapter(MiddlewareQuestionRequest)
    bare = MiddlewareQuestionRequest("a", "m", MiddlewareHook.AFTER_AGENT, None)
    assert adapter.validate_json(b'{"agent":"a","middleware":"m","hook":"afterAgent","question":null}', strict=True) == bare
    full = MiddlewareQuestionRequest(
        "a",
        "m",
        MiddlewareHook.WRAP_TOOL_CALL,
        [1],
        ToolCall("c", "t", {"x": 1}),
        True,
        "q",
        (GivenAnswer("a", "m", 1, None),),
        "1.0/assistant",
    )
    for one in (bare, full):
        assert adapter.validate_json(adapter.dump_json(one), strict=True) == one


async def test_on_an_existing_thread_the_earlier_turns_stay_as_they_are_while_it_waits(store: Checkpointer):
    """MWQ-29: messages exactly those of the earlier turns; the step counter untouched."""
    from llm4s_notebook.agent._turn import TURN

    client = ScriptedClient("one", "two", "three")
    agent = Agent("assistant", client, middleware=Region(word="zone"), runtime=store)
    await agent.run("first zone", thread_id="t")
    before = await agent.run("second zone", thread_id="t")
    waits = await agent.run("third", thread_id="t")
    assert waits.messages == before.messages
    assert waits.state[TURN].steps == before.state[TURN].steps == 1
    done = await agent.resume("t", waits.reply(only(waits)[0], Info(value="z")))
    assert [message.content for message in done.messages[4:]] == ["third (zone z)", "three"]  # type: ignore[union-attr]  # all have content


@pytest.mark.parametrize(
    ("answer_type", "value"), [(str | None, None), (bool, False), (int, 0), (list[str], []), (dict[str, int], {}), (str, "")]
)
async def test_a_falsy_answer_to_a_middleware_is_an_answer(answer_type: Any, value: Any, store: Checkpointer):
    """F05, D5: the same question never comes back."""
    got: list[Any] = []

    class Typed(AskingMiddleware[Need, answer_type]):  # type: ignore[valid-type]  # made per case
        id = "typed"

        async def before_agent(self, query: str, context: RunContext) -> str | Asked:
            given = self.answered(context)
            if given is None:
                return self.ask(Need(what="?"))
            got.append(given.answer)
            return query

    agent = Agent("assistant", ScriptedClient("done"), middleware=Typed(), runtime=store)
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", {only(result)[0]: value})
    assert done.status == Completed("done")
    assert got == [value]


class Passing(AgentMiddleware):
    id = "passing"


async def test_success_through_a_passing_middleware_is_unchanged():
    """4.1.1."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="a")), "done"), tools=echo, middleware=Passing())
    assert tool_texts((await agent.run("go")).messages) == ["a"]


class Token(BaseModel):
    value: SecretStr
    note: str = Field("", exclude=True)


async def test_an_answer_arrives_as_given_even_if_its_type_has_no_way_back(store: Checkpointer):
    """D5: a secret is not the asterisks that it prints as, and a field left out of dumps is there; a bad one is still refused."""
    got: list[tuple[str, str]] = []

    class AskToken(AskingMiddleware[str, Token]):
        id = "token"

        async def before_agent(self, query: str, context: RunContext) -> str | Asked:
            given = self.answered(context)
            if given is None:
                return self.ask("which token?")
            got.append((given.answer.value.get_secret_value(), given.answer.note))
            return query

    agent = Agent("assistant", ScriptedClient("done"), middleware=AskToken(), runtime=store)
    (review,) = (await agent.run("go", thread_id="t")).pending
    with pytest.raises(InvalidResume) as refused:
        await agent.resume("t", review.reply({"value": 5}))
    assert [problem.path for problem in refused.value.problems] == [("value",)]
    assert (await agent.resume("t", review.reply({"value": "hunter2", "note": "mine"}))).answer == "done"
    assert got == [("hunter2", "mine")]


async def test_a_number_beyond_all_floats_leaves_no_turn_behind_that_cannot_go_on(store: Checkpointer):
    """2.4.5: what `resume` took, the turn goes on with."""
    got: list[float] = []

    class AskNumber(AskingMiddleware[str, float]):
        id = "number"

        async def before_agent(self, query: str, context: RunContext) -> str | Asked:
            given = self.answered(context)
            if given is None:
                return self.ask("how much?")
            got.append(given.answer)
            return query

    agent = Agent("assistant", ScriptedClient("done"), middleware=AskNumber(), runtime=store)
    (review,) = (await agent.run("go", thread_id="t")).pending
    assert (await agent.resume("t", review.reply(10**400))).answer == "done"
    assert len(got) == 1
