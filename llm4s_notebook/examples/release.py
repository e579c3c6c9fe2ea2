"""The release assistant of lesson 1: one turn that waits for a person in every way a turn can wait.

A middleware asks for a region, a tool asks for a time window, another tool needs an approval, a guardrail's refusal is reviewed, and a
breakpoint may hold what the model said. The model is a script; everything around it is real.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, Field, TypeAdapter

from ..agent import (
    Agent,
    AgentNode,
    Answer,
    Asked,
    AskingMiddleware,
    AskingTool,
    GuardrailReview,
    GuardrailReviewMiddleware,
    GuardrailVerdict,
    InterruptKind,
    NeedsApproval,
    PendingReview,
    Success,
    ToolContext,
    ToolOutcome,
    tool,
)
from ..checkpoint import Checkpointer
from ..graph import RunContext
from ..guardrails import WordList
from ..models import ModelRequest, ScriptedClient, ToolCall, ToolMessage, calls

QUERY = "Release version 1.4.0 of the shop."
PROMISE = "guaranteed"


@tool
async def deploy(environment: Literal["staging", "production"], version: str, context: ToolContext) -> str | NeedsApproval:
    """Deploy a version of the shop."""
    if environment == "production" and not context.approved:
        return NeedsApproval(f"version {version} would reach every customer")
    return f"version {version} runs in {environment}"


class Announcement(BaseModel):
    version: str


class WindowQuestion(BaseModel):
    text: str
    earliest: str


class Window(BaseModel):
    start: Annotated[str, Field(pattern=r"^\d\d:\d\d$", description="local time, like 22:30")]
    minutes: Annotated[int, Field(ge=5, le=120)] = 30


class ChooseWindow(AskingTool[Announcement, WindowQuestion, Window]):
    """A tool that cannot know its result: it asks."""

    name = "choose_window"
    description = "Find out when the release may go live."

    async def execute(self, args: Announcement, context: ToolContext) -> ToolOutcome:
        return self.ask(WindowQuestion(text=f"When may version {args.version} go live?", earliest="20:00"))

    async def resume(self, args: Announcement, question: WindowQuestion, answer: Window, context: ToolContext) -> ToolOutcome:
        return Success(f"{args.version} goes live at {answer.start}, {answer.minutes} minutes at most")


class Need(BaseModel):
    what: str


class Info(BaseModel):
    value: Annotated[str, Field(pattern=r"\S", description="a region, like eu")]


class Region(AskingMiddleware[Need, Info]):
    """Completes a query that names no region, before the model sees it."""

    id = "region"

    async def before_agent(self, query: str, context: RunContext) -> str | Asked:
        if "region" in query:
            return query
        given = self.answered(context)
        return f"{query} (region {given.answer.value})" if given else self.ask(Need(what="region"))


def script() -> ScriptedClient:
    """The model: it calls both tools at once, then reports what they said - and promises too much.

    Each step looks at what it was sent, so a kernel that was restarted in the middle of a turn goes on where the turn is.
    """

    def step(request: ModelRequest) -> object:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            results = [message.content for message in request.messages if isinstance(message, ToolMessage)]
            return f"Done: {'; '.join(results)}. Success is {PROMISE}."
        found = re.search(r"\d+\.\d+\.\d+", last.content or "")
        version = found.group() if found else "1.4.0"
        return calls(
            ToolCall("call-window", ChooseWindow.name, {"version": version}),
            ToolCall("call-deploy", deploy.name, {"environment": "production", "version": version}),
        )

    return ScriptedClient(*[step] * 100)


def release_agent(client: ScriptedClient, store: Checkpointer, *, interrupt_after: Iterable[AgentNode] = ()) -> Agent:
    """The assistant, its threads kept in ``store``."""
    review = GuardrailReviewMiddleware(
        output=[WordList([PROMISE], name="no promises", message=f"nothing is {PROMISE} before it has run a day")]
    )
    return Agent(
        "assistant",
        client,
        system_prompt="You release the shop. Use the tools; never make anything up.",
        tools=[ChooseWindow(), deploy],
        middleware=[Region(), review],
        interrupt_after=interrupt_after,
        runtime=store,
    )


def reviewer(pending: PendingReview) -> Answer:
    """Answer as a careful person might: for a run in which nobody is there."""
    match pending.kind:
        case InterruptKind.APPROVAL:
            return pending.approve()
        case InterruptKind.BREAKPOINT:
            return pending.proceed()
        case InterruptKind.QUESTION:
            return pending.reply(Window(start="22:30"))
        case InterruptKind.MIDDLEWARE_QUESTION if pending.middleware == Region.id:
            return pending.reply(Info(value="eu"))
        case InterruptKind.MIDDLEWARE_QUESTION:
            refused = TypeAdapter(GuardrailReview).validate_python(pending.question)
            return pending.reply(GuardrailVerdict.edit(refused.text.replace(f" Success is {PROMISE}.", "")))
