"""Whole turns made from a few drawn numbers, and a person whose decisions depend on what is asked alone.

A play is plain data, so that another process can be told of it. Whatever way its answers come in, its turn must end the same.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal
from zlib import crc32

from llm4s_notebook.agent import (
    Agent,
    AgentMiddleware,
    AgentNode,
    AgentResult,
    ApprovalMiddleware,
    Asked,
    AskingMiddleware,
    AskingTool,
    Completed,
    GuardrailReviewMiddleware,
    GuardrailVerdict,
    Handoff,
    InterruptKind,
    NeedsApproval,
    PendingReview,
    Success,
    ToolCallRequest,
    ToolContext,
    ToolError,
    ToolOutcome,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.graph import Answer, GraphRuntime, RunContext
from llm4s_notebook.guardrails import WordList
from llm4s_notebook.models import AssistantMessage, Completion, Message, ModelRequest, ToolCall, Usage, UserMessage, calls, compact

from .support import Confirm, Confirmed, GoArgs, Info, Need

THREAD = "t"
MOST_ANSWERS = 200
"""No play needs so many; a turn that asks on and on is a fault."""

Hook = Literal["before", "model", "tool", "after"]
HOOKS: tuple[Hook, ...] = ("before", "model", "tool", "after")


@dataclass(frozen=True)
class Layer:
    """One middleware. An "asker" asks at its hooks, `times` times each, before or (`late`) after what is inside it ran."""

    kind: Literal["asker", "policy", "review", "mark", "retry"]
    id: str
    hooks: tuple[Hook, ...] = ()
    late: bool = False
    times: int = 1


@dataclass(frozen=True)
class Play:
    """`rounds` are the kinds of each model message's calls, `handoff` the round before which the other agent takes over.

    `salt` makes the decisions; with `refused` the review's guardrail refuses query and answer. Each of the `turns` goes the same way.
    """

    rounds: tuple[tuple[str, ...], ...]
    stack: tuple[Layer, ...]
    salt: int
    held: tuple[AgentNode, ...] = ()
    held_after: tuple[AgentNode, ...] = ()
    handoff: int | None = None
    refused: bool = False
    turns: int = 1

    def query(self, turn: int) -> str:
        """What the person says at the beginning of a turn, counted from 1."""
        return f"{'a bad' if self.refused else 'a'} query {turn}"


class Notes:
    """What the outside world saw of a play, whichever process did it."""

    def __init__(self) -> None:
        self.requests: list[tuple[Message, ...]] = []
        self.ran: list[tuple[str, str, str]] = []
        """(call id, arguments as JSON, idempotency key) of every execution that did something."""
        self.asked: dict[str, str] = {}
        """interrupt id -> what was asked there."""

    def sent(self, messages: tuple[Message, ...]) -> None:
        """A request on its way to the model."""
        self.requests.append(without_ids(messages))

    def did(self, call_id: str, arguments: str, key: str) -> None:
        """A tool that does something."""
        self.ran.append((call_id, arguments, key))

    def answered(self, id: str, key: str) -> None:
        """A question that a person looked at."""
        self.asked[id] = key


# -- tools -----------------------------------------------------------------------------------------------------------


_notes: ContextVar[Notes] = ContextVar("notes")


def _ran(context: ToolContext, **arguments: Any) -> None:
    _notes.get().did(context.call_id, compact(arguments), context.idempotency_key)


@tool
async def echo(text: str, context: ToolContext) -> str:
    """Say it again."""
    _ran(context, text=text)
    return text


@tool
async def gated(what: str, context: ToolContext) -> Any:
    """Needs a person."""
    if not context.approved:
        return NeedsApproval("it is dangerous")
    _ran(context, what=what)
    return f"did {what}"


@tool
async def deploy(what: str, context: ToolContext) -> Any:
    """Fails where a reviewer sent it astray."""
    _ran(context, what=what)
    return ToolError("Denied: not there") if what == "astray" else f"deployed {what}"


class ConfirmTool(AskingTool[GoArgs, Confirm, Confirmed]):
    """Asks once, or twice if told so."""

    name = "confirm"

    async def execute(self, args: GoArgs, context: ToolContext) -> ToolOutcome:
        return self.ask(Confirm(prompt=f"really {args.text}?"))

    async def resume(self, args: GoArgs, question: Confirm, answer: Confirmed, context: ToolContext) -> Any:
        if args.text.startswith("twice") and question.prompt.startswith("really"):
            return self.ask(Confirm(prompt=f"sure {args.text}, after {answer.ok}?"))
        _ran(context, text=args.text, prompt=question.prompt, ok=answer.ok)
        return f"{question.prompt} {answer.ok}"


TOOLS = (echo, gated, deploy, ConfirmTool())

CALLS: dict[str, tuple[str, str, Any]] = {
    "echo": ("echo", "text", "e"),
    "gated": ("gated", "what", "g"),
    "deploy": ("deploy", "what", "d"),
    "confirm": ("confirm", "text", "c"),
    "twice": ("confirm", "text", "twice"),
    "invalid": ("echo", "text", 3),
    "unknown": ("nothing", "x", 1),
}


def _call(kind: str, place: str) -> ToolCall:
    name, argument, value = CALLS[kind]
    return ToolCall(f"c{place}", name, {argument: f"{value} {place}" if isinstance(value, str) else value})


# -- middleware ------------------------------------------------------------------------------------------------------


class Asker(AskingMiddleware[Need, Info]):
    """Asks at its hooks and leaves a mark of every answer in what passes through."""

    def __init__(self, layer: Layer) -> None:
        self.id = layer.id
        self._layer = layer

    def _question(self, hook: Hook, context: RunContext | ToolContext, about: str) -> Need | None:
        """The next one to ask, or None when all are answered or there is none at this hook."""
        asked = len(list(self.all_answered(context)))
        return Need(what=f"{hook} {asked} {about}") if hook in self._layer.hooks and asked < self._layer.times else None

    def _marked(self, text: str, context: RunContext | ToolContext) -> str:
        given = [one.answer.value for one in self.all_answered(context)]
        return f"{text} [{self.id} {' '.join(reversed(given))}]" if given else text

    async def before_agent(self, query: str, context: RunContext) -> str | Asked:
        question = self._question("before", context, query)
        return self._marked(query, context) if question is None else self.ask(question)

    async def after_agent(self, answer: str, context: RunContext) -> str | Asked:
        question = self._question("after", context, answer)
        return self._marked(answer, context) if question is None else self.ask(question)

    async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Completion | Asked:
        question = self._question("model", context, f"{len(request.messages)} messages")
        if question is not None and not self._layer.late:
            return self.ask(question)
        completion: Completion = await next(request)
        if question is not None:
            return self.ask(question)
        text = completion.message.content
        return completion if text is None else replace(completion, message=AssistantMessage(self._marked(text, context)))

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        question = self._question("tool", context, f"{request.call.id} {compact(request.call.arguments)}")
        if question is not None and not self._layer.late:
            return self.ask_about(question)
        outcome: ToolOutcome = await next()
        if not isinstance(outcome, Success | ToolError):
            return outcome
        if question is not None:
            return self.ask_about(question)
        return Success(self._marked(outcome.content, context), outcome.update) if isinstance(outcome, Success) else outcome


class Mark(AgentMiddleware):
    """Changes everything that passes through, so that what is done twice shows."""

    def __init__(self, id: str) -> None:
        self.id = id

    async def before_agent(self, query: str, context: RunContext) -> str:
        return f"{query}'"

    async def after_agent(self, answer: str, context: RunContext) -> str:
        return f"{answer}'"

    async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Completion:
        return await next(replace(request, messages=(*request.messages, UserMessage(f"note of {self.id}"))))

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        outcome: ToolOutcome = await next()
        return Success(f"{outcome.content}'") if isinstance(outcome, Success) else outcome


class Retry(AgentMiddleware):
    """Tries a failed call again, whatever the failure is."""

    def __init__(self, id: str) -> None:
        self.id = id

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        outcome: ToolOutcome = await next()
        return await next() if isinstance(outcome, ToolError) else outcome


def _middleware(layer: Layer) -> AgentMiddleware:
    match layer.kind:
        case "asker":
            return Asker(layer)
        case "policy":
            return ApprovalMiddleware(lambda request: "it acts" if request.call.name in ("deploy", "confirm") else None, layer.id)
        case "review":
            return GuardrailReviewMiddleware(input=[WordList(["bad"])], output=[WordList(["bad"])], id=layer.id)
        case "mark":
            return Mark(layer.id)
        case "retry":
            return Retry(layer.id)


# -- the agent -------------------------------------------------------------------------------------------------------


class Model:
    """Says what the play says at this place of the turn; it remembers nothing, so any process can go on with it."""

    def __init__(self, play: Play, notes: Notes) -> None:
        self._play = play
        self._notes = notes

    async def complete(self, request: ModelRequest) -> Completion:
        self._notes.sent(request.messages)
        queries = [at for at, message in enumerate(request.messages) if message.id.endswith("/user")]
        step = sum(isinstance(message, AssistantMessage) for message in request.messages[queries[-1] :])
        return Completion(self._said(len(queries), step), Usage(10, 20), "played")

    def _said(self, turn: int, step: int) -> AssistantMessage:
        steps = [calls(*(_call(kind, f"{turn}.{at}.{n}") for n, kind in enumerate(kinds))) for at, kinds in enumerate(self._play.rounds)]
        if self._play.handoff is not None:
            steps.insert(self._play.handoff, calls(ToolCall(f"h{turn}", "handoff_to_other", {"reason": "r"})))
        return steps[step] if step < len(steps) else AssistantMessage(f"{'a bad' if self._play.refused else 'an'} answer {turn}")


def agent_of(play: Play, store: Checkpointer, notes: Notes) -> Agent:
    """The play's agent with a runtime of its own; equal plays make equal graph versions. What its tools do goes into the notes."""
    _notes.set(notes)
    settings: dict[str, Any] = {"interrupt_before": play.held, "interrupt_after": play.held_after}
    other = Agent(
        "other",
        Model(play, notes),
        tools=TOOLS,
        middleware=[_middleware(layer) for layer in reversed(play.stack)],
        **settings,
    )
    return Agent(
        "assistant",
        Model(play, notes),
        tools=TOOLS,
        middleware=[_middleware(layer) for layer in play.stack],
        handoffs=[] if play.handoff is None else [Handoff(other)],
        runtime=GraphRuntime(store),
        **settings,
    )


# -- the person ------------------------------------------------------------------------------------------------------


def key_of(review: PendingReview) -> str:
    """What is asked, whatever the order it came in."""
    about = review.call_id or (review.result.tool_call_id if review.result is not None else "")
    return compact(
        [review.kind, review.owner, about, review.arguments, review.reason, review.question, review.middleware, review.hook, review.node]
    )


def decision(play: Play, review: PendingReview) -> Answer:
    """The same for the same question, always."""
    number = crc32(f"{play.salt} {key_of(review)}".encode())
    match review.kind:
        case InterruptKind.APPROVAL:
            name = "text" if review.tool_name == "confirm" else "what"
            edited = review.edit({name: (f"edited {review.call_id}", "astray", 3)[number % 3]})
            return (review.approve(), review.approve(), review.reject(f"no {number % 7}"), edited)[number % 4]
        case InterruptKind.QUESTION:
            return review.reply(({"ok": True}, {"ok": False}, 7)[number % 3])
        case InterruptKind.MIDDLEWARE_QUESTION if review.middleware == "review":
            edits = (GuardrailVerdict.edit(f"better {number}"), GuardrailVerdict.edit(f"bad again {number}"))
            return review.reply((GuardrailVerdict.allow(), *edits, GuardrailVerdict.block())[number % 4])
        case InterruptKind.MIDDLEWARE_QUESTION:
            return review.reply(Info(value=f"v{number % 5}"))
        case InterruptKind.BREAKPOINT:
            return review.proceed()


Choose = Callable[[tuple[PendingReview, ...]], list[PendingReview]]


def all_at_once(pending: tuple[PendingReview, ...]) -> list[PendingReview]:
    """Every question that is there."""
    return list(pending)


class Some:
    """Some of what is there, in another order, as the picks say."""

    def __init__(self, picks: list[int]) -> None:
        self._picks = picks
        self._at = 0

    def _next(self, below: int) -> int:
        self._at += 1
        return self._picks[self._at % len(self._picks)] % below

    def __call__(self, pending: tuple[PendingReview, ...]) -> list[PendingReview]:
        left = list(pending)
        return [left.pop(self._next(len(left))) for _ in range(1 + self._next(len(pending)))]


async def step(play: Play, agent: Agent, notes: Notes, choose: Choose) -> AgentResult | None:
    """Whatever the thread needs next: a turn begun, recovered or some answers. None once the last turn is over, or one was blocked."""
    status = (await agent.runtime.checkpointer.head(THREAD)).status
    if status is None:
        return await agent.run(play.query(1), thread_id=THREAD)
    if status is CheckpointStatus.RUNNING:
        return await agent.recover(THREAD)
    result = await agent.result(THREAD)
    if status is CheckpointStatus.SUSPENDED:
        chosen = choose(result.pending)
        for review in chosen:
            notes.answered(review.id, key_of(review))
        assert len(notes.asked) < MOST_ANSWERS, "the turn asks on and on"
        return await agent.resume(THREAD, [decision(play, review) for review in chosen])
    turn = 1 + sum(isinstance(message, UserMessage) for message in result.messages)
    if not isinstance(result.status, Completed) or turn > play.turns:
        return None
    return await agent.run(play.query(turn), thread_id=THREAD)


def without_ids(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages as they read; their ids count supersteps, and partial answers take more of them."""
    return tuple(replace(message, id="") for message in messages)


@dataclass(frozen=True)
class Ending:
    """What a play must come to, however it was played."""

    status: str
    active_agent: str
    messages: tuple[Message, ...]
    usage: Any
    asked: tuple[str, ...]


def ending(result: AgentResult, notes: Notes) -> Ending:
    """A finished play's."""
    return Ending(str(result.status), result.active_agent, without_ids(result.messages), result.usage, tuple(sorted(notes.asked.values())))
