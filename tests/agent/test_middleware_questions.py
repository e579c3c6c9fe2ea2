"""Questions from middleware: agent.md 10.4."""

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
    Handoff,
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
    Confirmed,
    ConfirmTool,
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
    policy,
    roles,
    sizes,
    tool_texts,
    waiting,
)


def only(result: Any) -> tuple[str, MiddlewareQuestionRequest]:
    """The one middleware question that waits."""
    ((id, request),) = waiting(result).middleware_questions.items()
    return id, request


async def told(agent: Agent, thread_id: str = "t") -> list[agent_events.AgentEvent]:
    """The durable agent events of a thread."""
    records = await agent.runtime.checkpointer.events_after(thread_id, 0)
    found = [agent_events.decode(record.event.name, record.event.payload) for record in records if type(record.event).__name__ == "Custom"]
    return [one for one in found if one is not None]


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
    """MWQ-04, F07, F09: the hook runs once per accepted answer; nothing of the bad one is saved."""
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


async def test_a_middleware_question_after_a_tool_question_is_the_calls_error():
    """MWQ-21, 4.6: the tool's resume result is lost, the run completes."""
    confirm = ConfirmTool()
    seen: list[int] = []

    class Late(AskingMiddleware[Need, Info]):
        id = "late"

        async def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:
            seen.append(1)
            outcome = await next()
            return self.ask_about(Need(what="late")) if len(seen) == 2 else outcome

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "confirm", text="x")), "done"), tools=confirm, middleware=Late())
    result = await agent.run("go", thread_id="t")
    (id,) = waiting(result).questions
    done = await agent.resume("t", result.reply(id, Confirmed(ok=True)))
    assert tool_texts(done.messages) == ['{"error":"Middleware \'late\' asked a question after a tool question"}']
    assert done.status == Completed("done")


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


async def test_two_askers_in_one_stack_ask_once_each_and_the_first_answer_is_kept(store: Checkpointer):
    """MWQ-24, 4.5."""

    class Ticket(AskingMiddleware[Need, Info]):
        id = "ticket"

        async def before_agent(self, query: str, context: RunContext) -> str | Asked:
            given = self.answered(context)
            return f"{query} [{given.answer.value}]" if given else self.ask(Need(what="ticket"))

    region = Region()
    client = ScriptedClient("done")
    agent = Agent("assistant", client, middleware=[region, Ticket()], runtime=store)
    first = await agent.run("deploy", thread_id="t")
    id, request = only(first)
    assert request.middleware == "region"
    second = await agent.resume("t", first.reply(id, Info(value="eu")))
    id, request = only(second)
    assert request.middleware == "ticket"
    assert request.answers == (GivenAnswer("assistant", "region", {"what": "region"}, {"value": "eu"}),)
    assert request.input == "deploy"
    done = await agent.resume("t", second.reply(id, Info(value="T-1")))
    assert done.messages[0].content == "deploy (region eu) [T-1]"  # type: ignore[union-attr]  # a user message
    assert region.asked_times == 1


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


async def test_an_edited_approval_is_in_the_history_while_the_environment_is_asked(store: Checkpointer):
    """MWQ-33, 3.5.4, 4.6: approved true and the edited call in the question; no second approval."""
    ran: list[str] = []
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="x")), "done"),
        tools=deploy_into(ran),
        middleware=[policy("deploy"), Environment()],
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    result = await agent.resume("t", [review.edit({"what": "edited"}) for review in result.pending])
    id, request = only(result)
    assert request.call == ToolCall("c1", "deploy", {"what": "edited"}, edited=True)
    assert request.approved
    message = result.messages[1]
    assert isinstance(message, AssistantMessage)
    assert message.tool_calls == (request.call,)
    done = await agent.resume("t", result.reply(id, Info(value="prod")))
    assert done.status == Completed("done")
    assert ran == ["edited"]


async def test_a_middleware_question_is_kept_through_a_later_approval_and_tool_question(store: Checkpointer):
    """4.5.5, 4.6: each asked once; the later requests list the earlier answer."""
    env = Environment()
    client = ScriptedClient(calls(call("c1", "confirm", text="x")), "done")
    agent = Agent("assistant", client, tools=ConfirmTool(), middleware=[env, policy("confirm")], runtime=store)
    result = await agent.run("go", thread_id="t")
    result = await agent.resume("t", result.reply(only(result)[0], Info(value="prod")))
    ((id, approval),) = waiting(result).approvals.items()
    assert [given.answer for given in approval.answers] == [{"value": "prod"}]
    result = await agent.resume("t", result.approve(id))
    ((id, question),) = waiting(result).questions.items()
    assert [given.middleware for given in question.answers] == ["env"]
    done = await agent.resume("t", result.reply(id, Confirmed(ok=True)))
    assert done.status == Completed("done")
    assert env.asked_times == 1
    assert env.log == ["c1@prod"] * 3


async def test_one_middleware_may_ask_two_different_questions(store: Checkpointer):
    """MWQ-34, 4.5.3: it sees the latest pair."""
    seen: list[Any] = []

    class Twice(AskingMiddleware[Need, Info]):
        id = "twice"

        async def before_agent(self, query: str, context: RunContext) -> str | Asked:
            given = self.answered(context)
            seen.append((given.question.what, given.answer.value) if given else None)
            if given is None:
                return self.ask(Need(what="first"))
            if given.question.what == "first":
                return self.ask(Need(what="second"))
            return f"{query} {[one.answer.value for one in self.all_answered(context)]}"

    agent = Agent("assistant", ScriptedClient("done"), middleware=Twice(), runtime=store)
    result = await agent.run("go", thread_id="t")
    result = await agent.resume("t", result.reply(only(result)[0], Info(value="a")))
    done = await agent.resume("t", result.reply(only(result)[0], Info(value="b")))
    assert seen == [None, ("first", "a"), ("second", "b")]
    assert done.messages[0].content == "go ['b', 'a']"  # type: ignore[union-attr]  # a user message


async def test_the_next_call_and_the_next_turn_start_without_answers():
    """4.5.4."""
    env = Environment()
    region = Region()
    client = ScriptedClient(calls(call("c1", "echo", text="a")), calls(call("c2", "echo", text="b")), "done", "done")
    agent = Agent("assistant", client, tools=echo, middleware=[env, region])
    result = await agent.run("go", thread_id="t")
    for _ in range(3):
        result = await agent.resume("t", [review.reply(Info(value="x")) for review in result.pending])
    assert result.status == Completed("done")
    await agent.run("again", thread_id="t")
    assert (env.asked_times, region.asked_times) == (2, 2)


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


async def test_an_outer_wrapper_that_passes_a_question_on_keeps_its_owner():
    """4.6.1: identity covers questions too."""
    env = Environment()

    async def passing(_request: Any, _context: Any, next: Any) -> Any:
        return await next()

    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "echo", text="a"))), tools=echo, middleware=[Wrap("outer", tool=passing), env]
    )
    _, request = only(await agent.run("go"))
    assert request.middleware == "env"


async def test_a_handoff_target_with_its_own_asker_is_asked_by_its_own_name(store: Checkpointer):
    """4.5.3, 4.4: a stack sees only its own agent's answers, though both have the same middleware id."""
    expert = Agent("expert", ScriptedClient("hello", "again"), middleware=Region(word="zone"))
    root = Agent(
        "root",
        ScriptedClient(calls(call("h1", "handoff_to_expert", reason="r"))),
        handoffs=Handoff(expert),
        middleware=Region(word="area"),
        runtime=store,
    )
    result = await root.run("area", thread_id="t")
    assert result.status == Completed("hello")
    result = await root.run("go", thread_id="t")
    id, request = only(result)
    assert (request.agent, request.question) == ("root", {"what": "area"})
    result = await root.resume("t", result.reply(id, Info(value="a")))
    id, request = only(result)
    assert (request.agent, request.question) == ("expert", {"what": "zone"})
    done = await root.resume("t", result.reply(id, Info(value="z")))
    assert done.messages[-2].content == "go (area a) (zone z)"  # type: ignore[union-attr]  # a user message


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
