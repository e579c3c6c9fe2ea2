"""A person's verdict on a text that a guardrail refused: agent.md 6.2."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from llm4s_notebook.agent import (
    Agent,
    AskingMiddleware,
    Blocked,
    Completed,
    GuardrailMiddleware,
    GuardrailPhase,
    GuardrailReview,
    GuardrailReviewMiddleware,
    GuardrailVerdict,
    MiddlewareHook,
)
from llm4s_notebook.agent._context import HookContext
from llm4s_notebook.agent._decision import GivenAnswer
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import (
    ConfigError,
    InvalidResume,
    PendingInterrupts,
    Refused,
)
from llm4s_notebook.graph import GraphRuntime, RunConfig, RunContext
from llm4s_notebook.guardrails import LengthCheck, RegexValidator, WordList
from llm4s_notebook.models import ScriptedClient, ToolMessage, calls

from .support import AnswerReview, Info, Wrap, call, deploy_into, last_answer, policy, waiting


class Judge:
    """Refuses everything, with a reason that is different each time."""

    def __init__(self, name: str = "judge") -> None:
        self.name = name
        self.asked: list[str] = []

    async def check(self, text: str) -> str:
        self.asked.append(text)
        raise Refused(f"score {len(self.asked)}")


def only(result: Any) -> tuple[str, Any]:
    """The one middleware question that waits."""
    ((id, request),) = waiting(result).middleware_questions.items()
    return id, request


def reviewing(store: Checkpointer, client: ScriptedClient, **guards: Any) -> Agent:
    return Agent("assistant", client, middleware=GuardrailReviewMiddleware(**guards), runtime=store)


async def test_a_refused_answer_is_put_to_a_person(store: Checkpointer):
    """REV-01, 6.2.2, 6.2.9: the refused answer is stored and the turn open."""
    agent = reviewing(store, ScriptedClient("far too long"), output=[LengthCheck(max=5)])
    result = await agent.run("go", thread_id="t")
    _, request = only(result)
    assert (request.middleware, request.hook) == ("guardrail-review", MiddlewareHook.AFTER_AGENT)
    review = request.decode(GuardrailReview)
    assert (review.phase, review.guardrail, review.text) == (GuardrailPhase.OUTPUT, "LengthCheck", "far too long")
    assert review.reason.startswith("Input too long")
    assert (result.answer, last_answer(result)) == (None, "far too long")


@pytest.mark.parametrize("as_json", [False, True])
async def test_allow_edit_and_block(as_json: bool, store: Checkpointer):
    """REV-02, REV-03, REV-04, 6.2.3: Block's reason is the one asked about."""

    def of(verdict: GuardrailVerdict) -> Any:
        return {name: value for name, value in verdict.model_dump().items() if value is not None} if as_json else verdict

    async def answered(verdict: GuardrailVerdict) -> Any:
        agent = reviewing(store, ScriptedClient("far too long"), output=[LengthCheck(max=5)])
        result = await agent.run("go")
        return await agent.resume(result.thread_id, result.reply(only(result)[0], of(verdict)))

    assert (await answered(GuardrailVerdict.allow())).status == Completed("far too long")
    edited = await answered(GuardrailVerdict.edit("longer than allowed"))
    assert edited.status == Completed("longer than allowed")
    assert last_answer(edited) == "longer than allowed"
    blocked = await answered(GuardrailVerdict.block())
    assert blocked.status == Blocked("LengthCheck", "Input too long: 12 characters, at most 5 allowed")
    assert blocked.messages == ()


async def test_a_refused_query_is_reviewed_before_the_model(store: Checkpointer):
    """REV-05: a later short query passes without a question."""
    client = ScriptedClient("one", "two")
    agent = reviewing(store, client, input=[LengthCheck(max=5)])
    result = await agent.run("a long query", thread_id="t")
    id, request = only(result)
    assert request.decode(GuardrailReview).phase is GuardrailPhase.INPUT
    assert (client.requests, result.messages) == ([], ())
    assert (await agent.resume("t", result.reply(id, GuardrailVerdict.allow()))).status == Completed("one")
    assert (await agent.run("short", thread_id="t")).status == Completed("two")


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (GuardrailVerdict.allow(), Completed("answer")),
        (GuardrailVerdict.edit("edited"), Completed("edited")),
        (GuardrailVerdict.block(), Blocked("judge", "score 1")),
    ],
)
async def test_a_judge_is_called_once_whatever_the_verdict(verdict: GuardrailVerdict, status: Any, store: Checkpointer):
    """REV-06, 6.2.4, 6.2.7."""
    judge = Judge()
    agent = reviewing(store, ScriptedClient("answer"), output=[judge])
    result = await agent.run("go", thread_id="t")
    done = await agent.resume("t", result.reply(only(result)[0], verdict))
    assert done.status == status
    assert judge.asked == ["answer"]


def _context(review: GuardrailReviewMiddleware, *given: tuple[GuardrailReview, GuardrailVerdict]) -> RunContext:
    """The context of a stack run that has these verdicts."""
    from llm4s_notebook.graph._context import RunVoice

    adapter = TypeAdapter(GuardrailReview)
    answers = [
        GivenAnswer("a", review.id, adapter.dump_python(one, mode="json"), verdict.model_dump(mode="json")) for one, verdict in given
    ]
    return HookContext(RunContext(RunVoice(RunConfig()), "", "0.0", "input", 0), "a", answers)


async def test_a_verdict_counts_for_its_own_text_and_phase_only():
    """REV-07, 6.2.5."""
    judge = Judge()
    middleware = GuardrailReviewMiddleware(input=[judge], output=[judge])
    given = (GuardrailReview(GuardrailPhase.OUTPUT, "judge", "score 1", "one"), GuardrailVerdict.allow())
    assert await middleware.after_agent("one", _context(middleware, given)) == "one"
    other = await middleware.after_agent("two", _context(middleware, given))
    assert not isinstance(other, str)
    assert other.question["text"] == "two"
    same_text = await middleware.before_agent("one", _context(middleware, given))
    assert not isinstance(same_text, str)
    assert same_text.question["phase"] == "Input"
    assert judge.asked == ["two", "one"]


async def test_an_earlier_verdict_of_the_same_stack_run_still_counts():
    """6.2.4: although the middleware's latest answer is about another text."""
    judge = Judge()
    middleware = GuardrailReviewMiddleware(output=[judge])
    verdicts = [(GuardrailReview(GuardrailPhase.OUTPUT, "judge", "r", text), GuardrailVerdict.edit(f"{text}!")) for text in ("one", "two")]
    assert await middleware.after_agent("one", _context(middleware, *verdicts)) == "one!"
    assert judge.asked == []


def test_review_and_verdict_survive_json_and_a_verdict_is_whole():
    """REV-08: `text` exactly when edit."""
    adapter = TypeAdapter(GuardrailReview)
    review = GuardrailReview(GuardrailPhase.INPUT, "g", "r", "t")
    assert adapter.validate_json(adapter.dump_json(review), strict=True) == review
    for verdict in (GuardrailVerdict.allow(), GuardrailVerdict.edit(""), GuardrailVerdict.block()):
        assert GuardrailVerdict.model_validate_json(verdict.model_dump_json(), strict=True) == verdict
    for bad in ({"verdict": "edit"}, {"verdict": "allow", "text": "x"}, {"verdict": "block", "text": ""}, {"x": 1}, {"verdict": "maybe"}):
        with pytest.raises(ValidationError):
            GuardrailVerdict.model_validate(bad)


async def test_a_review_of_the_query_leaves_an_existing_thread_as_it_was(store: Checkpointer):
    """REV-10: also after Block."""
    agent = reviewing(store, ScriptedClient("one"), input=[LengthCheck(max=5)])
    before = await agent.run("go", thread_id="t")
    result = await agent.run("a long query", thread_id="t")
    assert result.messages == before.messages
    blocked = await agent.resume("t", result.reply(only(result)[0], GuardrailVerdict.block()))
    assert isinstance(blocked.status, Blocked)
    assert blocked.messages == before.messages


async def test_a_verdict_holds_while_a_second_asker_outside_is_answered(store: Checkpointer):
    """REV-11: still applied on the re-run, the judge not called again."""
    judge = Judge()
    client = ScriptedClient("answer")
    # after_agent runs in reverse: the review asks first, the answer review outside it second
    agent = Agent("assistant", client, middleware=[AnswerReview(), GuardrailReviewMiddleware(output=[judge])], runtime=store)
    result = await agent.run("go", thread_id="t")
    result = await agent.resume("t", result.reply(only(result)[0], GuardrailVerdict.edit("edited")))
    id, request = only(result)
    assert request.question == {"what": "review: edited"}
    assert last_answer(result) == "answer"
    done = await agent.resume("t", result.reply(id, Info(value="ok")))
    assert done.status == Completed("edited")
    assert judge.asked == ["answer"]


@pytest.mark.parametrize("bad", [{"x": 1}, {"verdict": "edit"}, {"verdict": "allow", "text": "x"}, None, "allow", {"verdict": "Allow"}])
async def test_an_answer_that_is_no_verdict_is_refused_and_the_review_stays(bad: Any, store: Checkpointer):
    """REV-12."""
    agent = reviewing(store, ScriptedClient("far too long"), output=[LengthCheck(max=5)])
    result = await agent.run("go", thread_id="t")
    id, _ = only(result)
    with pytest.raises(InvalidResume):
        await agent.resume("t", {id: bad})
    assert await agent.result("t") == result


async def test_the_same_refused_text_is_asked_about_again_in_the_next_turn(store: Checkpointer):
    """REV-13, 6.2.8."""
    judge = Judge()
    agent = reviewing(store, ScriptedClient("same", "same"), output=[judge])
    for _ in range(2):
        result = await agent.run("go", thread_id="t")
        await agent.resume("t", result.reply(only(result)[0], GuardrailVerdict.allow()))
    assert judge.asked == ["same", "same"]


async def test_a_blank_edit_blocks(store: Checkpointer):
    """6.2.6, 4.1.4."""
    agent = reviewing(store, ScriptedClient("far too long"), output=[LengthCheck(max=5)])
    result = await agent.run("go", thread_id="t")
    with pytest.raises(ConfigError, match="after_agent returned a blank answer"):
        await agent.resume("t", result.reply(only(result)[0], GuardrailVerdict.edit(" ")))
    assert (await agent.result("t")).messages == ()


async def test_a_block_of_a_turn_that_waited_and_went_on_removes_all_of_it(store: Checkpointer):
    """R6.36, 6.1.4: including what a tool's approval had let in."""
    ran: list[str] = []

    class Asks(AskingMiddleware[str, str]):
        id = "asks"

        async def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:
            return await next() if self.answered(context) else self.ask_about("?")

    agent = Agent(
        "assistant",
        ScriptedClient(calls(call("c1", "deploy", what="x")), "bad"),
        tools=deploy_into(ran),
        middleware=[Asks(), GuardrailMiddleware(output=[WordList(["bad"])])],
        runtime=store,
    )
    result = await agent.run("go", thread_id="t")
    blocked = await agent.resume("t", result.reply(only(result)[0], "!"))
    assert isinstance(blocked.status, Blocked)
    assert (blocked.messages, blocked.recorded_results, blocked.usage.requests) == ((), (), 2)
    assert ran == ["x"]


class Once:
    """A middleware outside the review that adds to the text from its second run on."""

    def __init__(self) -> None:
        self.runs = 0

    async def __call__(self, text: str, _context: RunContext) -> str:
        self.runs += 1
        return text if self.runs == 1 else f"{text}!"


@pytest.mark.parametrize("phase", ["input", "output"])
async def test_a_text_that_changed_between_two_runs_is_asked_about_again(phase: str, store: Checkpointer):
    """6.2.5, REV-07: the verdict was about another text; both stay remembered while the step runs again."""
    judge, changes = Judge(), Once()
    review = GuardrailReviewMiddleware(**{phase: [judge]})
    wrap = Wrap("changes", before=changes) if phase == "input" else Wrap("changes", after=changes)
    # the one that changes the text runs first: outermost on the way in, innermost on the way out
    stack = [wrap, review] if phase == "input" else [review, wrap]
    agent = Agent("assistant", ScriptedClient("text"), middleware=stack, runtime=store)
    first = await agent.run("text", thread_id="t")
    assert only(first)[1].question["text"] == "text"
    second = await agent.resume("t", first.reply(only(first)[0], GuardrailVerdict.block()))
    id, request = only(second)
    assert (request.question["text"], request.question["reason"]) == ("text!", "score 2")
    assert [given.question["text"] for given in request.answers] == ["text"]
    done = await agent.resume("t", second.reply(id, GuardrailVerdict.allow()))
    assert done.status == Completed("text!" if phase == "output" else "text")
    assert judge.asked == ["text", "text!"]


@pytest.mark.parametrize("phase", ["input", "output"])
async def test_two_reviews_in_one_stack_have_each_a_verdict_of_its_own(phase: str, store: Checkpointer):
    """6.2.4, 4.5: by middleware; each judge is called once."""
    judges = [Judge(), Judge()]
    reviews = [GuardrailReviewMiddleware(**{phase: [judge]}, id=f"review-{at}") for at, judge in enumerate(judges)]
    agent = Agent("assistant", ScriptedClient("text"), middleware=reviews, runtime=store)
    asked: list[str] = []
    result = await agent.run("text", thread_id="t")
    while result.pending:
        id, request = only(result)
        asked.append(request.middleware)
        result = await agent.resume("t", result.reply(id, GuardrailVerdict.allow()))
    assert result.status == Completed("text")
    assert asked == (["review-0", "review-1"] if phase == "input" else ["review-1", "review-0"])
    assert [judge.asked for judge in judges] == [["text"], ["text"]]


async def test_root_and_specialist_review_the_same_answer_each_for_itself(store: Checkpointer):
    """6.1.6, 4.5.3: the answering agent's first, then the root's, under one middleware id."""
    judges = {"expert": Judge(), "root": Judge()}
    expert = Agent("expert", ScriptedClient("text"), middleware=GuardrailReviewMiddleware(output=[judges["expert"]]))
    root = Agent(
        "root",
        ScriptedClient(calls(call("h1", "handoff_to_expert", reason="r"))),
        handoffs=expert,
        middleware=GuardrailReviewMiddleware(output=[judges["root"]]),
        runtime=store,
    )
    asked: list[str] = []
    result = await root.run("go", thread_id="t")
    while result.pending:
        id, request = only(result)
        asked.append(request.agent)
        result = await root.resume("t", result.reply(id, GuardrailVerdict.allow()))
    assert (asked, result.status, result.active_agent) == (["expert", "root"], Completed("text"), "expert")
    assert [judge.asked for judge in judges.values()] == [["text"], ["text"]]


@pytest.mark.parametrize("phase", ["input", "output"])
async def test_an_edited_text_flows_through_the_rest_of_the_stack(phase: str, store: Checkpointer):
    """6.2.6: these guardrails do not look at it, those of another middleware do."""
    review = GuardrailReviewMiddleware(**{phase: [LengthCheck(max=5)]})
    strict = GuardrailMiddleware(**{phase: [WordList(["forbidden"])]})
    stack = [review, strict] if phase == "input" else [strict, review]
    agent = Agent("assistant", ScriptedClient("far too long", "far too long"), middleware=stack, runtime=store)
    for edited, status in (("still far too long", None), ("a forbidden text", Blocked("WordList", "inappropriate content: forbidden"))):
        result = await agent.run("far too long")
        done = await agent.resume(result.thread_id, result.reply(only(result)[0], GuardrailVerdict.edit(edited)))
        assert done.status == (status or Completed("far too long" if phase == "input" else edited))


@pytest.mark.parametrize("phase", ["input", "output"])
async def test_a_message_sent_while_a_text_waits_is_refused_and_names_what_waits(phase: str, store: Checkpointer):
    """F17: nobody judges it, and the refused text keeps waiting."""
    judge = Judge()
    agent = Agent("assistant", ScriptedClient("text"), middleware=GuardrailReviewMiddleware(**{phase: [judge]}), runtime=store)
    waits = await agent.run("text", thread_id="t")
    with pytest.raises(PendingInterrupts, match="guardrail-review") as refused:
        await agent.run("something else", thread_id="t")
    assert refused.value.interrupt_ids == (only(waits)[0],)
    assert (await agent.result("t"), judge.asked) == (waits, ["text"])


async def test_a_denied_write_says_that_it_did_not_run_and_the_answer_is_guarded(store: Checkpointer):
    """F17: the unrelated message is refused; after the denial the model reads that nothing was done."""
    ran: list[str] = []
    client = ScriptedClient(calls(call("c1", "deploy", what="x")), "it was not deployed")
    stack = [GuardrailReviewMiddleware(output=[RegexValidator("not deployed", must="not match")]), policy("deploy")]
    agent = Agent("assistant", client, tools=deploy_into(ran), middleware=stack, runtime=store)
    waits = await agent.run("deploy", thread_id="t")
    with pytest.raises(PendingInterrupts, match=r"APPROVAL .* deploy"):
        await agent.run("what is the weather?", thread_id="t")
    assert await agent.result("t") == waits
    denied = await agent.resume("t", [waits.pending[0].reject()])
    told = client.requests[1].messages[-1]
    assert isinstance(told, ToolMessage)
    assert (told.is_error, told.outcome) == (True, "rejected")
    assert told.content == '{"error":"Rejected: a reviewer refused this call; it was not run"}'
    assert only(denied)[1].question["text"] == "it was not deployed"
    done = await agent.resume("t", denied.reply(only(denied)[0], GuardrailVerdict.allow()))
    assert (done.status, ran) == (Completed("it was not deployed"), [])


@pytest.mark.parametrize("phase", ["input", "output"])
@pytest.mark.parametrize("verdict", [GuardrailVerdict.allow(), GuardrailVerdict.edit("edited"), GuardrailVerdict.block()])
async def test_a_verdict_does_not_depend_on_who_resumes(phase: str, verdict: GuardrailVerdict, store: Checkpointer):
    """F18: another client, another runtime object, and a judge that would have judged otherwise."""

    def made(judge: Any, answer: str) -> Agent:
        middleware = GuardrailReviewMiddleware(**{phase: [judge]})
        return Agent("assistant", ScriptedClient(answer), middleware=middleware, runtime=GraphRuntime(store))

    first = made(Judge(), "text")
    waits = await first.run("text", thread_id="t")
    await first.runtime.aclose()
    lenient = Judge("another judge")
    second = made(lenient, "other answer")
    done = await second.resume("t", waits.reply(only(waits)[0], verdict))
    went_on = "text" if phase == "output" else "other answer"
    expected = {
        "allow": Completed(went_on),
        "edit": Completed("edited" if phase == "output" else went_on),
        "block": Blocked("judge", "score 1"),
    }
    assert done.status == expected[verdict.verdict]
    assert lenient.asked == []
