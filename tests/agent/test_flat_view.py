"""The flat view, its schemas and how a result shows itself: agent.md 10.10 and section 9."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from llm4s_notebook.agent import (
    Agent,
    AgentNode,
    AgentStatus,
    Answer,
    Blocked,
    BreakpointPhase,
    Completed,
    InterruptKind,
    PendingReview,
    StepLimitReached,
    Suspended,
    Unfinished,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import InvalidResume, NothingToRecover, NotSuspended
from llm4s_notebook.graph import RunConfig
from llm4s_notebook.models import ScriptedClient, calls

from .support import Confirmed, ConfirmTool, Environment, Info, Region, call, deploy_into, echo, gated_into, policy, waiting


async def test_held_calls_in_the_flat_view(store: Checkpointer):
    """FL-01, FL-02."""
    client = ScriptedClient(calls(call("c1", "deploy", what="one"), call("c2", "deploy", what="two")), "done")
    agent = Agent("test", client, tools=deploy_into([]), interrupt_before=AgentNode.TOOL, runtime=store)
    result = await agent.run("go", thread_id="t")
    first, second = result.pending
    assert (first.kind, first.node, first.phase) == (InterruptKind.BREAKPOINT, "test/call-tool", BreakpointPhase.BEFORE)
    assert (first.tool_name, first.arguments, first.call_id) == ("deploy", {"what": "one"}, "c1")
    assert (first.reason, first.question, first.middleware, first.agent, first.hook, first.result) == (None,) * 6
    assert first.answer_schema == {"type": "null"}
    assert str(first) == f'PendingReview(BREAKPOINT {first.id}: BEFORE test/call-tool deploy {{"what":"one"}})'
    result = await agent.resume("t", first.proceed())
    assert result.pending == (second,)
    assert (await agent.resume("t", second.proceed())).status == Completed("done")


async def test_a_question_per_call_in_the_flat_view(store: Checkpointer):
    """FL-06: tool name and arguments present; the other id left."""
    client = ScriptedClient(calls(call("c1", "echo", text="a"), call("c2", "echo", text="b")), "done")
    agent = Agent("assistant", client, tools=echo, middleware=Environment(), runtime=store)
    result = await agent.run("go", thread_id="t")
    first, second = result.pending
    assert (first.kind, first.agent, first.middleware, first.hook) == (
        InterruptKind.MIDDLEWARE_QUESTION,
        "assistant",
        "env",
        "wrapToolCall",
    )
    assert (first.tool_name, first.arguments, first.question) == ("echo", {"text": "a"}, {"what": "where to run c1?"})
    assert (first.reason, first.node, first.phase) == (None, None, None)
    assert str(first).startswith(f"PendingReview(MIDDLEWARE_QUESTION {first.id}: middleware env ")
    left = await agent.resume("t", first.reply(Info(value="x")))
    assert left.pending == (second,)


def test_phases_and_kinds():
    """FL-09."""
    assert [one.name for one in BreakpointPhase] == ["BEFORE", "AFTER"]
    assert [one.name for one in InterruptKind] == ["APPROVAL", "QUESTION", "MIDDLEWARE_QUESTION", "BREAKPOINT"]


async def test_the_groups_come_in_their_order_each_in_the_turns_order(store: Checkpointer):
    """9.2: approvals, tool questions, middleware questions, breakpoints."""
    message = calls(
        call("c1", "echo", text="held"), call("c2", "confirm", text="b"), call("c3", "gated", what="x"), call("c4", "gated", what="y")
    )
    agent = Agent(
        "assistant",
        ScriptedClient(message),
        tools=[echo, ConfirmTool(), gated_into([])],
        interrupt_after=AgentNode.TOOL,
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    assert [(review.kind, review.call_id) for review in result.pending] == [
        (InterruptKind.APPROVAL, "c3"),
        (InterruptKind.APPROVAL, "c4"),
        (InterruptKind.QUESTION, "c2"),
        (InterruptKind.BREAKPOINT, None),
    ]
    assert result.pending[3].result is not None


class Place(BaseModel):
    city: str
    floor: Annotated[int, Field(ge=0)] = 0


async def test_an_approval_carries_what_its_forms_need():
    """9.3, api.md: the decision's schema with the tool's own inside; references lead to the document's root."""

    @tool
    async def move(to: Place, note: str = "") -> str:
        """Move.

        Args:
            to: where to go
        """
        return to.city

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "move", to={"city": "x"})), "done"), tools=move, middleware=policy("move"))
    (review,) = (await agent.run("go")).pending
    assert (review.kind, review.source, review.reason, review.owner) == (
        InterruptKind.APPROVAL,
        "policy",
        "move needs a person",
        "assistant",
    )
    schema = review.answer_schema
    approve, reject, edit = schema["oneOf"]
    assert approve["properties"] == {"decision": {"const": "approve"}}
    assert reject["required"] == ["decision", "reason"]
    assert edit["properties"]["arguments"]["properties"]["to"]["$ref"] == "#/$defs/Place"
    assert "Place" in schema["$defs"]
    assert "$defs" not in edit["properties"]["arguments"]
    assert review.arguments_schema is not None
    assert review.arguments_schema["properties"]["to"]["description"] == "where to go"
    assert review.arguments_schema["required"] == ["to"]
    assert str(review) == f'PendingReview(APPROVAL {review.id}: (move needs a person) move {{"to":{{"city":"x"}}}})'


async def test_questions_carry_the_schema_of_their_answers():
    """api.md: answer_schema is the JSON Schema of the answer the person may give."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "confirm", text="a"))), tools=ConfirmTool(), middleware=Region())
    (asked,) = (await agent.run("go", thread_id="t")).pending
    assert asked.answer_schema["properties"] == {"value": {"type": "string"}}
    (question,) = (await agent.resume("t", asked.reply(Info(value="eu")))).pending
    assert question.answer_schema["properties"] == {"ok": {"type": "boolean"}}
    assert (question.kind, question.tool_name, question.question) == (InterruptKind.QUESTION, "confirm", {"prompt": "really a?"})


async def test_a_null_question_is_told_by_its_kind():
    """9.4: shown as null."""
    from llm4s_notebook.agent import Asked, AskingMiddleware
    from llm4s_notebook.graph import RunContext

    class Null(AskingMiddleware[None, bool]):
        id = "null"

        async def before_agent(self, query: str, context: RunContext) -> str | Asked:
            return query if self.answered(context) else self.ask(None)

    agent = Agent("assistant", ScriptedClient("done"), middleware=Null())
    (review,) = (await agent.run("go", thread_id="t")).pending
    assert (review.question, review.kind) == (None, InterruptKind.MIDDLEWARE_QUESTION)
    assert str(review).endswith("middleware null null)")
    assert (await agent.resume("t", review.reply(True))).answer == "done"


async def test_a_review_is_a_value_and_survives_json():
    """9.4, 9.5: all fields compared; its builders know their id."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "gated", what="x"))), tools=gated_into([]))
    result = await agent.run("go", thread_id="t")
    (review,) = result.pending
    assert (await agent.result("t")).pending == (review,)
    assert PendingReview.model_validate_json(review.model_dump_json()) == review
    assert review.approve() == result.approve(review.id)
    assert review.reject("no") == result.reject(review.id, "no")
    assert review.reject() == result.reject(review.id)
    assert review.edit({"what": "y"}) == result.edit(review.id, {"what": "y"})
    assert review.reply(Info(value="v")) == result.reply(review.id, Info(value="v")) == (review.id, {"value": "v"})
    assert review.proceed() == result.proceed(review.id) == (review.id, None)


def test_statuses_have_one_base_their_names_and_text_forms():
    """9.1, api.md: `AgentStatus.Completed(answer)` is `Completed(answer)`."""
    for made, text in (
        (AgentStatus.Completed("hi"), "COMPLETED(hi)"),
        (AgentStatus.Blocked("g", "r"), "BLOCKED(g: r)"),
        (AgentStatus.StepLimitReached(), "STEP_LIMIT_REACHED"),
        (AgentStatus.Suspended(), "SUSPENDED(0 pending)"),
        (AgentStatus.Unfinished("r/1"), "UNFINISHED"),
    ):
        assert isinstance(made, AgentStatus)
        assert str(made) == text
    assert (AgentStatus.Completed, AgentStatus.Blocked, AgentStatus.Suspended) == (Completed, Blocked, Suspended)
    assert (AgentStatus.StepLimitReached, AgentStatus.Unfinished) == (StepLimitReached, Unfinished)


async def test_a_waiting_result_shows_what_waits_and_how_to_answer_in_plain_text():
    """W5.2."""
    message = calls(call("c1", "gated", what="x"), call("c2", "confirm", text="y"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=[gated_into([]), ConfirmTool()], interrupt_before=AgentNode.FINISH)
    result = await agent.run("go", thread_id="t")
    assert repr(result).splitlines() == [
        "Suspended: waits for 2 answers",
        "happened:",
        "  user: go",
        '  gated {"what":"x"} - waits',
        '  confirm {"text":"y"} - waits',
        "waits:",
        '  2.0  approval of gated {"what":"x"} (the tool: it is dangerous)',
        "       result.approve('2.0')  |  result.reject('2.0', 'why')  |  result.edit('2.0', {'what': ...})",
        '  2.1  question of confirm {"text":"y"}: {"prompt":"really y?"}',
        "       result.reply('2.1', {'ok': ...})",
        "answer some or all:",
        "  result = await agent.resume('t', [result.approve('2.0'), result.reply('2.1', {'ok': ...})])",
        "thread t · 2 messages · 1 model call, 10 + 20 tokens",
    ]
    held = await agent.resume("t", [result.reject("2.0"), result.reply("2.1", Confirmed(ok=True))])
    assert "breakpoint before assistant/finish" in repr(held)
    done = await agent.resume("t", [review.proceed() for review in held.pending])
    assert repr(done).splitlines()[0] == "Completed: done"


async def test_what_a_model_wrote_is_text_in_html():
    """W5.7: never interpreted."""
    evil = "<script>alert(1)</script>"
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "gated", what=evil)), evil), tools=gated_into([]))
    result = await agent.run("go", thread_id="<t>")
    html = result._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<t>" not in html
    assert "result.approve" in html
    done = await agent.resume("<t>", [review.reject() for review in result.pending])
    assert "<script>" not in done._repr_html_()
    assert "<table" not in done._repr_html_()


async def test_a_suspended_status_can_be_matched():
    """api.md: statuses work with `match`; the seed's way of taking some answers."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "gated", what="x")), "done"), tools=gated_into([]))
    result = await agent.run("go", thread_id="t")
    match result.status:
        case Suspended(approvals, questions, asked, held):
            answers: list[Any] = [result.approve(id) for id in approvals] + [result.proceed(id) for id in held]
            assert (questions, asked) == ({}, {})
        case _:
            answers = []
    assert (await agent.resume("t", dict(answers))).status == Completed("done")
    assert waiting(result).approvals


def test_answers_in_a_list_go_the_same_way_without_await():
    """9.7: what the facade's blocking calls refuse, each by its own error; nothing has changed by any of them."""
    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "gated", what="x"), call("c2", "gated", what="y")), "done"), tools=gated_into([])
    )
    with pytest.raises(NotSuspended):
        agent.resume_sync("t", [Answer.approve("2.0")])
    with pytest.raises(NothingToRecover):
        agent.recover_sync("t")
    result = agent.run_sync("go", thread_id="t")
    first, second = result.pending
    for answers in ([], [Answer.approve("9.9")], [Answer.reply(first.id, 3)], [first.approve(), first.reject()]):
        with pytest.raises(InvalidResume):
            agent.resume_sync("t", answers)
    assert agent.resume_sync("t", [first.reject("no")]).pending == (second,)
    assert agent.resume_sync("t", [second.approve()]).answer == "done"
    with pytest.raises(NotSuspended):
        agent.resume_sync("t", [second.approve()])
    with pytest.raises(NothingToRecover):
        agent.recover_sync("t")


async def test_every_kind_has_the_fields_of_its_column_and_no_other(store: Checkpointer):
    """9.2, 9.3: approvals, tool questions, middleware questions, breakpoints."""
    message = calls(call("c1", "echo", text="held"), call("c2", "confirm", text="y"), call("c3", "gated", what="x"))

    class OnlyTheFirst(Environment):
        async def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:
            return await (super().wrap_tool_call(request, context, next) if request.call.id == "c1" else next())

    agent = Agent(
        "assistant",
        ScriptedClient(message, message, "done"),
        tools=[echo, ConfirmTool(), gated_into([])],
        middleware=[OnlyTheFirst(), Region()],
        runtime=store,
    )
    (boundary,) = (await agent.run("go", thread_id="t")).pending
    result = await agent.resume("t", boundary.reply(Info(value="eu")), RunConfig(interrupt_after=frozenset({"assistant/model"})))
    (held_after,) = result.pending
    result = await agent.resume("t", held_after.proceed(), RunConfig(interrupt_before=frozenset({"assistant/call-tool"})))
    held_before = result.pending[0]
    result = await agent.resume("t", [review.proceed() for review in result.pending])
    approval, question, about_call = result.pending
    names = ("tool_name", "arguments", "reason", "question", "agent", "middleware", "hook", "node", "phase", "result")

    def given(review: PendingReview) -> set[str]:
        return {name for name in names if getattr(review, name) is not None}

    assert given(approval) == {"tool_name", "arguments", "reason"}
    assert given(question) == {"tool_name", "arguments", "question"}
    assert given(about_call) == {"tool_name", "arguments", "question", "agent", "middleware", "hook"}
    assert given(boundary) == {"question", "agent", "middleware", "hook"}
    assert given(held_before) == {"tool_name", "arguments", "node", "phase"}
    assert given(held_after) == {"node", "phase"}
    result = await agent.resume(
        "t", [about_call.reply(Info(value="p"))], RunConfig(interrupt_after=frozenset({"assistant/asked/env/wrapToolCall"}))
    )
    assert given(result.pending[2]) == {"node", "phase", "result"}
    assert [review.kind for review in (approval, question, about_call, held_before)] == list(InterruptKind)
    assert str(question) == f'PendingReview(QUESTION {question.id}: {{"prompt":"really y?"}} confirm {{"text":"y"}})'
    assert str(about_call).endswith('middleware env {"what":"where to run c1?"} echo {"text":"held"})')
    assert str(held_after) == f"PendingReview(BREAKPOINT {held_after.id}: AFTER assistant/model)"
