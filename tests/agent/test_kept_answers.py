"""Answers kept within a stack run, and several kinds of questions about one call: agent.md 4.5, 4.6, 10.4."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import (
    Agent,
    Asked,
    AskingMiddleware,
    Completed,
    GivenAnswer,
    Handoff,
)
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.graph import RunContext
from llm4s_notebook.models import AssistantMessage, ScriptedClient, ToolCall, calls

from .support import (
    Confirmed,
    ConfirmTool,
    Environment,
    Info,
    Need,
    Region,
    Wrap,
    call,
    deploy_into,
    echo,
    only,
    policy,
    tool_texts,
    waiting,
)


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


@pytest.mark.parametrize("first", ["question", "approval"])
@pytest.mark.parametrize("edited", [False, True])
async def test_a_call_that_waits_in_three_ways_is_asked_about_once_in_each(first: str, edited: bool, store: Checkpointer):
    """4.6, 4.5.5, 3.7.4: in the stack's order; each later request knows what came before, and so does the tool when it goes on."""
    env, confirm = Environment(), ConfirmTool()
    stack = [env, policy("confirm")] if first == "question" else [policy("confirm"), env]
    client = ScriptedClient(calls(call("c1", "confirm", text="x")), "done")
    agent = Agent("assistant", client, tools=confirm, middleware=stack, runtime=store)
    told: list[tuple[str, bool, int, Any]] = []
    result = await agent.run("go", thread_id="t")
    while result.pending:
        (review,) = result.pending
        status = waiting(result)
        request = {**status.approvals, **status.questions, **status.middleware_questions}[review.id]
        told.append((review.kind, getattr(request, "approved", False), len(request.answers), review.arguments))
        message = result.messages[1]
        assert isinstance(message, AssistantMessage)
        assert message.tool_calls == (request.call,)  # an edit is in the history while its call waits again (3.5.4)
        match review.kind:
            case "approval":
                answer = review.edit({"text": "y"}) if edited else review.approve()
            case "question":
                answer = review.reply(Confirmed(ok=True))
            case _:
                answer = review.reply(Info(value="prod"))
        result = await agent.resume("t", answer)
    before, after = {"text": "x"}, {"text": "y" if edited else "x"}
    if first == "question":
        assert told == [("middleware_question", False, 0, before), ("approval", False, 1, before), ("question", True, 1, after)]
    else:
        assert told == [("approval", False, 0, before), ("middleware_question", True, 0, after), ("question", True, 1, after)]
    assert confirm.resumed == [(after["text"], f"really {after['text']}?", True, True)]
    assert env.asked_times == 1
    assert tool_texts(result.messages) == [f"really {after['text']}? True"]


async def test_a_wrapper_that_asks_before_a_tool_goes_on_keeps_it_from_going_on():
    """4.6: the error names it; the tool's `resume` does not run, since its answer would be lost."""
    confirm = ConfirmTool()

    class OnTheWayBack(AskingMiddleware[Need, Info]):
        id = "late"
        entered = 0

        async def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:
            self.entered += 1
            return await next() if self.entered == 1 else self.ask_about(Need(what="now?"))

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "confirm", text="x")), "done"), tools=confirm, middleware=OnTheWayBack())
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.reply(Confirmed(ok=True)) for review in result.pending])
    assert tool_texts(done.messages) == ['{"error":"Middleware \'late\' asked a question after a tool question"}']
    assert confirm.resumed == []
    assert done.status == Completed("done")


async def test_calls_of_one_message_wait_each_in_its_own_way_and_are_answered_each_on_its_own(store: Checkpointer):
    """4.6 last row, 4.5.4: an answer about one call is none about another, whatever the order."""
    env = Environment()
    message = calls(*(call(f"c{n}", "echo", text=str(n)) for n in range(3)))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=echo, middleware=env, runtime=store)
    result = await agent.run("go", thread_id="t")
    reviews = result.pending
    for at in (2, 0, 1):
        result = await agent.resume("t", reviews[at].reply(Info(value=f"for {reviews[at].call_id}")))
    assert result.status == Completed("done")
    assert env.log == ["c2@for c2", "c0@for c0", "c1@for c1"]
