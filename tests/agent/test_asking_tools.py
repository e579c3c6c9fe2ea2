"""Asking tools: agent.md 10.3."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from llm4s_notebook.agent import Agent, Answer, AskingTool, Completed, NeedsApproval, ToolContext, ToolError, ToolOutcome, schema_tool, tool
from llm4s_notebook.agent._outcome import Ask
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError, DecodeError, InvalidResume, ToolFailed
from llm4s_notebook.graph import GraphRuntime
from llm4s_notebook.models import ScriptedClient, ToolCall, ToolHints, calls

from .support import Confirm, Confirmed, ConfirmTool, GoArgs, Recorder, Wrap, call, echo, policy, sizes, tool_texts, waiting

A = TypeVar("A")


class Nothing(BaseModel):
    pass


class TwiceTool(AskingTool[GoArgs, Confirm, Confirmed]):
    """Asks, and asks again."""

    name = "twice"
    description = "Ask twice."

    def __init__(self) -> None:
        self.resumed = 0

    async def execute(self, args: GoArgs, context: ToolContext) -> ToolOutcome:
        return self.ask(Confirm(prompt="first"))

    async def resume(self, args: GoArgs, question: Confirm, answer: Confirmed, context: ToolContext) -> Any:
        self.resumed += 1
        return self.ask(Confirm(prompt="second")) if question.prompt == "first" else f"{args.text}: {answer.ok}"


async def test_a_tool_may_ask_twice_beside_a_sibling(store: Checkpointer):
    """ASKT-01: the model is called once until both are answered."""
    twice = TwiceTool()
    client = ScriptedClient(calls(call("c1", "twice", text="x"), call("c2", "echo", text="e")), "done")
    agent = Agent("assistant", client, tools=[twice, echo], runtime=store)
    first = await agent.run("go", thread_id="t")
    ((id, request),) = waiting(first).questions.items()
    assert request.decode(Confirm) == Confirm(prompt="first")
    suspended = await agent.runtime.pending("t", agent.graph)
    assert suspended is not None
    assert [one.resume_node for one in suspended.interrupts] == ["assistant/ask/twice"]
    second = await agent.resume("t", first.reply(id, Confirmed(ok=True)))
    ((next_id, next_request),) = waiting(second).questions.items()
    assert next_id != id
    assert next_request.decode(Confirm) == Confirm(prompt="second")
    assert len(client.requests) == 1
    done = await agent.resume("t", second.reply(next_id, Confirmed(ok=False)))
    assert tool_texts(done.messages) == ["x: False", "e"]
    assert twice.resumed == 2


async def test_a_continued_tool_that_is_tried_again_gets_arguments_question_and_answer_again():
    """D12: what it did to them the first time is not in the second call."""
    ran: list[tuple[list[int], list[int], list[int]]] = []

    class Sum(AskingTool[list[int], list[int], list[int]]):
        name = "sum"
        description = "Ask for more."

        async def execute(self, args: list[int], context: ToolContext) -> ToolOutcome:
            return self.ask([2])

        async def resume(self, args: list[int], question: list[int], answer: list[int], context: ToolContext) -> Any:
            ran.append((list(args), list(question), list(answer)))
            for given in (args, question, answer):
                given.append(0)
            return ToolError("flaky") if len(ran) == 1 else "ok"

    async def retry(request: Any, context: ToolContext, next: Any) -> Any:
        outcome = await next()
        return await next() if isinstance(outcome, ToolError) else outcome

    client = ScriptedClient(calls(ToolCall("c1", "sum", [1])), "done")
    agent = Agent("assistant", client, tools=Sum(), middleware=Wrap("retry", tool=retry))
    result = await agent.run("go", thread_id="t")
    assert (await agent.resume("t", result.pending[0].reply([3]))).answer == "done"
    assert ran == [([1], [2], [3])] * 2


async def test_decoding_a_question_as_another_type_is_an_error_not_a_crash():
    """2.2.4."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "confirm", text="x"))), tools=ConfirmTool())
    (request,) = waiting(await agent.run("go")).questions.values()
    with pytest.raises(DecodeError, match=r"\$\.ok"):
        request.decode(Confirmed)


@pytest.mark.parametrize("answer", [3, None, {"ok": "yes"}, {"ok": 1}, {}, "text", [True]])
async def test_an_undecodable_answer_becomes_the_calls_error_and_resume_does_not_run(answer: Any, store: Checkpointer):
    """2.4.5, 3.7.6, D11: accepted, and the model sees it."""
    confirm = ConfirmTool()
    client = ScriptedClient(calls(call("c1", "confirm", text="x")), "done")
    agent = Agent("assistant", client, tools=confirm, runtime=store)
    result = await agent.run("go", thread_id="t")
    (id,) = waiting(result).questions
    done = await agent.resume("t", {id: answer})
    assert done.status == Completed("done")
    (text,) = tool_texts(client.requests[1].messages)
    assert text.startswith('{"error":"Invalid answer for \'confirm\': $')
    assert confirm.resumed == []


class AsksThenApproves(AskingTool[Nothing, Confirm, Confirmed]):
    name = "asks_twice"

    async def execute(self, args: Nothing, context: ToolContext) -> ToolOutcome:
        return self.ask(Confirm(prompt="?"))

    async def resume(self, args: Nothing, question: Confirm, answer: Confirmed, context: ToolContext) -> ToolOutcome:
        return NeedsApproval("one more check")


async def _answered(agent: Agent) -> Any:
    result = await agent.run("go", thread_id="t")
    (id,) = waiting(result).questions
    return await agent.resume("t", result.reply(id, Confirmed(ok=True)))


async def test_an_approval_after_a_question_is_refused_as_the_calls_error():
    """ASKT-05, 3.6.2."""
    done = await _answered(Agent("assistant", ScriptedClient(calls(call("c1", "asks_twice")), "done"), tools=AsksThenApproves()))
    assert tool_texts(done.messages) == ['{"error":"Tool \'asks_twice\' asked for approval after a question: one more check"}']


async def test_a_wrapper_that_asks_for_approval_on_the_resume_is_told_so():
    """ASKT-06: resume did not run."""
    seen: list[str] = []
    confirm = ConfirmTool()

    async def late(request: Any, _context: Any, next: Any) -> Any:
        seen.append(request.call.id)
        return NeedsApproval("second thoughts") if len(seen) == 2 else await next()

    done = await _answered(
        Agent(
            "assistant", ScriptedClient(calls(call("c1", "confirm", text="x")), "done"), tools=confirm, middleware=Wrap("late", tool=late)
        )
    )
    assert tool_texts(done.messages) == ['{"error":"Middleware \'late\' asked for approval after a question: second thoughts"}']
    assert confirm.resumed == []


async def test_a_resume_that_raises_is_the_calls_error():
    """ASKT-07, 3.7.5."""

    class Throwing(ConfirmTool):
        name = "throwing"

        async def resume(self, args: Any, question: Any, answer: Any, context: Any) -> ToolOutcome:
            raise ValueError("resume broke")

    done = await _answered(Agent("assistant", ScriptedClient(calls(call("c1", "throwing", text="x")), "done"), tools=Throwing()))
    assert tool_texts(done.messages) == ['{"error":"Tool \'throwing\' failed: resume broke"}']


async def test_an_approval_is_kept_through_the_tools_question(store: Checkpointer):
    """ASKT-10, 4.6: wrappers see execute unapproved, execute approved, resume approved; resume sees it too."""
    recorder = Recorder()
    confirm = ConfirmTool()
    client = ScriptedClient(calls(call("c1", "confirm", text="x")), "done")
    agent = Agent("assistant", client, tools=confirm, middleware=[recorder, policy("confirm")], runtime=store)
    result = await agent.run("go", thread_id="t")
    result = await agent.resume("t", [review.approve() for review in result.pending])
    ((id, request),) = waiting(result).questions.items()
    assert request.approved
    await agent.resume("t", result.reply(id, Confirmed(ok=True)))
    assert [approved for _, approved in recorder.seen] == [False, True, True]
    assert confirm.resumed == [("x", "really x?", True, True)]


def test_hints_are_kept_by_an_asking_tool_and_default_to_the_careful_ones():
    """ASKT-12, ASKT-14, 3.1.2."""

    class Reading(ConfirmTool):
        name = "reading"
        read_only = True
        destructive = False

    assert Reading().spec.hints == ToolHints(read_only=True, destructive=False, idempotent=False, open_world=True)
    assert Reading().question_type is Confirm
    assert echo.spec.hints == ToolHints(read_only=False, destructive=True, idempotent=False, open_world=True)
    assert echo.question_type is None


@pytest.mark.parametrize("name", ["", "a" * 65, "a b", "é"])
def test_a_bad_tool_name_is_refused_when_it_is_defined(name: str):
    """ASKT-13, 3.1.1."""
    with pytest.raises(ConfigError, match="must match"):
        tool(name=name)(lambda: None)
    with pytest.raises(ConfigError, match="must match"):
        schema_tool(name, "", {"type": "object"}, lambda _args, _context: None)
    bad = type("Bad", (ConfirmTool,), {"name": name})
    with pytest.raises(ConfigError, match="must match"):
        Agent("assistant", ScriptedClient(), tools=bad())


async def test_a_tool_may_refuse_what_it_was_answered(store: Checkpointer):
    """ASKT-15: its error text, and the run completes."""
    client = ScriptedClient(calls(call("c1", "confirm", text="x")), "done")
    agent = Agent("assistant", client, tools=ConfirmTool(), runtime=store)
    result = await agent.run("go", thread_id="t")
    (id,) = waiting(result).questions
    done = await agent.resume("t", result.reply(id, {"ok": False}))
    assert tool_texts(done.messages) == ['{"error":"not confirmed"}']
    assert done.status == Completed("done")


async def test_a_question_of_another_type_or_from_a_tool_without_questions_fails_the_run():
    """3.7.2."""

    class Wrong(ConfirmTool):
        name = "wrong"

        async def execute(self, args: Any, context: Any) -> ToolOutcome:
            return self.ask(3)  # type: ignore[arg-type]  # the mistake under test

    with pytest.raises(ToolFailed, match="tool 'wrong' asked a question of another type"):
        await Agent("assistant", ScriptedClient(calls(call("c1", "wrong", text="x"))), tools=Wrong()).run("go")

    @tool
    async def plain() -> Any:
        """Ask without being an asking tool."""
        return Ask("why?")

    with pytest.raises(ToolFailed, match="tool 'plain' asked a question it does not declare"):
        await Agent("assistant", ScriptedClient(calls(call("c1", "plain"))), tools=plain).run("go")


class OptionalAnswer(AskingTool[Nothing, Confirm, "str | None"]):
    name = "optional"
    got: list[Any]

    def __init__(self) -> None:
        self.got = []

    async def execute(self, args: Nothing, context: ToolContext) -> ToolOutcome:
        return self.ask(Confirm(prompt="?"))

    async def resume(self, args: Nothing, question: Confirm, answer: Any, context: ToolContext) -> Any:
        self.got.append(answer)
        return "ok"


def _typed(name: str, answer_type: Any) -> Any:
    """An asking tool with this answer type."""

    class Typed(AskingTool[Nothing, Confirm, answer_type]):  # type: ignore[valid-type]  # made per case
        def __init__(self) -> None:
            self.got: list[Any] = []

        async def execute(self, args: Any, context: ToolContext) -> ToolOutcome:
            return self.ask(Confirm(prompt="?"))

        async def resume(self, args: Any, question: Any, answer: Any, context: ToolContext) -> Any:
            self.got.append(answer)
            return "ok"

    Typed.name = name
    return Typed()


@pytest.mark.parametrize(
    ("answer_type", "value"),
    [(str | None, None), (str | None, ""), (bool, False), (int, 0), (list[str], []), (dict[str, int], {})],
)
async def test_an_answer_that_is_falsy_arrives_as_given_and_is_not_asked_again(answer_type: Any, value: Any, store: Checkpointer):
    """F05, D5."""
    asking = _typed("asks", answer_type)
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "asks")), "done"), tools=asking, runtime=store)
    result = await agent.run("go", thread_id="t")
    (id,) = waiting(result).questions
    done = await agent.resume("t", [Answer.reply(id, value)])
    assert done.status == Completed("done")
    assert asking.got == [value]


def test_an_asking_tool_reads_its_types_in_quotes_and_through_a_class_in_between():
    """asking-middleware.md: typed by the brackets of the class, at class creation."""
    assert OptionalAnswer.answer_codec is not None
    assert OptionalAnswer.answer_codec.decode(None) is None
    assert ConfirmTool.question_codec is not None

    class Sub(ConfirmTool):
        name = "sub"

    assert Sub.question_codec is ConfirmTool.question_codec

    class Half(AskingTool[Nothing, Confirm, A]):
        name = "half"

    class Whole(Half[int]):
        name = "whole"

    assert Half.answer_codec is None
    assert Whole.answer_codec is not None
    assert (Whole.answer_codec.decode(3), Whole.question_type) == (3, Confirm)


def test_an_asking_tool_without_types_cannot_be_used():
    """It could not check what it is answered."""

    class Untyped(AskingTool):  # type: ignore[type-arg]  # the mistake under test
        name = "untyped"

        async def execute(self, args: Any, context: ToolContext) -> ToolOutcome:
            return ToolError("x")

        async def resume(self, args: Any, question: Any, answer: Any, context: ToolContext) -> ToolOutcome:
            return ToolError("x")

    with pytest.raises(ConfigError, match="does not name its types"):
        Agent("assistant", ScriptedClient(), tools=Untyped())


async def test_a_question_survives_another_runtime_and_is_asked_no_second_time(store: Checkpointer):
    """2.4.7: another process with an agent of the same settings answers it."""
    first = Agent("assistant", ScriptedClient(calls(call("c1", "confirm", text="x"))), tools=ConfirmTool(), runtime=GraphRuntime(store))
    result = await first.run("go", thread_id="t")
    confirm = ConfirmTool()
    second = Agent("assistant", ScriptedClient("done"), tools=confirm, runtime=GraphRuntime(store))
    read = await second.result("t")
    assert read == result
    assert sizes(read) == (0, 1, 0, 0)
    done = await second.resume("t", [review.reply({"ok": True}) for review in read.pending])
    assert done.status == Completed("done")
    assert confirm.resumed == [("x", "really x?", True, False)]


async def test_answering_a_tool_question_with_an_approval_is_that_tools_error_and_the_reverse_is_refused():
    """2.4.5: which kind an interrupt is, is decided by what was parked."""
    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "confirm", text="x"), call("c2", "echo", text="y")), "done"),
        tools=[ConfirmTool(), echo],
        middleware=policy("echo"),
    )
    result = await agent.run("go", thread_id="t")
    (question,), (approval,) = waiting(result).questions, waiting(result).approvals
    with pytest.raises(InvalidResume):
        await agent.resume("t", result.reply(approval, Confirmed(ok=True)))
    after = await agent.resume("t", result.approve(question))
    assert "Invalid answer for 'confirm'" in after.recorded_results[0].content


class Number(BaseModel):
    n: int


@pytest.mark.parametrize(
    ("types", "error"),
    [
        ((Number, Number, Number), "Invalid arguments for 'confirm': $.n: required property missing"),
        ((GoArgs, Number, Number), "Invalid question for 'confirm': $.n: "),
        ((GoArgs, Confirm, Number), "Invalid answer for 'confirm': $.n: "),
    ],
)
async def test_of_arguments_question_and_answer_the_first_that_does_not_decode_is_the_calls_error(
    types: tuple[Any, Any, Any], error: str, store: Checkpointer
):
    """3.7.3: the tool's types are others than those it asked with; `resume` does not run."""
    ran: list[str] = []

    class Changed(AskingTool[types]):  # type: ignore[valid-type, misc]  # made per case
        name = "confirm"

        async def execute(self, args: Any, context: ToolContext) -> ToolOutcome:
            return ToolError("not asked")

        async def resume(self, args: Any, question: Any, answer: Any, context: ToolContext) -> Any:
            ran.append("resume")
            return "resumed"

    first = Agent("assistant", ScriptedClient(calls(call("c1", "confirm", text="x"))), tools=ConfirmTool(), runtime=store, version="1")
    result = await first.run("go", thread_id="t")
    (id,) = waiting(result).questions
    second = Agent("assistant", ScriptedClient("done"), tools=Changed(), runtime=GraphRuntime(store), version="1")
    done = await second.resume("t", result.reply(id, Confirmed(ok=True)))
    (text,) = tool_texts(done.messages)
    assert text.startswith(f'{{"error":"{error}')
    assert ran == []


async def test_a_tool_that_asks_no_questions_any_more_says_so(store: Checkpointer):
    """3.7.3: an agent of the same version whose tool is a plain one now; its node is still there for what waits."""

    class Gone(ConfirmTool):
        name = "confirm"
        question_codec = None

    first = Agent("assistant", ScriptedClient(calls(call("c1", "confirm", text="x"))), tools=ConfirmTool(), runtime=store, version="1")
    result = await first.run("go", thread_id="t")
    second = Agent("assistant", ScriptedClient("done"), tools=Gone(), runtime=GraphRuntime(store), version="1")
    done = await second.resume("t", [review.reply({"ok": True}) for review in result.pending])
    assert tool_texts(done.messages) == ['{"error":"Invalid question for \'confirm\': the tool asks no questions any more"}']


async def test_the_tools_own_check_is_made_when_it_starts_and_not_when_it_goes_on():
    """3.7.3, 3.2 step 4."""
    checked: list[str] = []

    class Checked(ConfirmTool):
        def check(self, args: GoArgs) -> str | None:
            checked.append(args.text)
            return "not that" if args.text == "no" else None

    message = calls(call("c1", "confirm", text="no"), call("c2", "confirm", text="yes"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=Checked())
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", [review.reply({"ok": True}) for review in result.pending])
    assert tool_texts(done.messages) == ['{"error":"Invalid arguments for \'confirm\': not that"}', "really yes? True"]
    assert checked == ["no", "yes"]


async def test_a_tool_may_ask_as_often_as_it_likes_and_gets_each_question_with_its_answer(store: Checkpointer):
    """3.7.1, 3.7.4, 4.6: tool question -> tool question, unlimited."""
    got: list[tuple[str, int]] = []

    class Counting(AskingTool[Nothing, str, int]):
        name = "counting"

        async def execute(self, args: Nothing, context: ToolContext) -> ToolOutcome:
            return self.ask("1")

        async def resume(self, args: Nothing, question: str, answer: int, context: ToolContext) -> Any:
            got.append((question, answer))
            return self.ask(str(len(got) + 1)) if len(got) < 6 else sum(answer for _, answer in got)

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "counting")), "done"), tools=Counting(), runtime=store)
    result = await agent.run("go", thread_id="t")
    for number in range(1, 7):
        ((id, request),) = waiting(result).questions.items()
        assert request.question == str(number)
        result = await agent.resume("t", result.reply(id, number * 10))
    assert got == [(str(number), number * 10) for number in range(1, 7)]
    assert tool_texts(result.messages) == ["210"]


async def test_after_a_question_an_approval_is_refused_as_that_even_for_an_approved_call():
    """3.6.2: this check comes before 3.6.1; 4.6."""
    agent = Agent(
        "assistant", ScriptedClient(calls(call("c1", "asks_twice")), "done"), tools=AsksThenApproves(), middleware=policy("asks_twice")
    )
    result = await agent.run("go", thread_id="t")
    result = await agent.resume("t", [review.approve() for review in result.pending])
    done = await agent.resume("t", [review.reply(Confirmed(ok=True)) for review in result.pending])
    assert tool_texts(done.messages) == ['{"error":"Tool \'asks_twice\' asked for approval after a question: one more check"}']
