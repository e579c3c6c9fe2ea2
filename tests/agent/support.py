"""Tools, middleware and small helpers that the agent's tests share. Each tool keeps a list of what it really did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from llm4s_notebook.agent import (
    Agent,
    AgentMiddleware,
    AgentResult,
    ApprovalMiddleware,
    Asked,
    AskingMiddleware,
    AskingTool,
    MiddlewareQuestionRequest,
    NeedsApproval,
    Suspended,
    ToolCallRequest,
    ToolContext,
    ToolError,
    ToolOutcome,
    tool,
)
from llm4s_notebook.agent import events as agent_events
from llm4s_notebook.agent._function_tool import FunctionTool
from llm4s_notebook.graph import RunContext
from llm4s_notebook.models import AssistantMessage, Completion, Message, ModelRequest, ScriptedClient, ToolCall, ToolMessage

from ..waiting import until as until


def deploy_into(ran: list[str]) -> FunctionTool[..., Any]:
    """A tool that notes what it deployed."""

    @tool
    async def deploy(what: str) -> str:
        """Deploy something."""
        ran.append(what)
        return f"deployed {what}"

    return deploy


def gated_into(ran: list[str]) -> FunctionTool[..., Any]:
    """A tool that asks for approval itself."""

    @tool
    async def gated(what: str, context: ToolContext) -> Any:
        """Do something that needs approval."""
        if not context.approved:
            return NeedsApproval("it is dangerous")
        ran.append(what)
        return f"did {what}"

    return gated


@tool
async def echo(text: str) -> str:
    """Say it again."""
    return text


class GoArgs(BaseModel):
    text: str


class Confirm(BaseModel):
    prompt: str


class Confirmed(BaseModel):
    ok: bool


class ConfirmTool(AskingTool[GoArgs, Confirm, Confirmed]):
    """Asks once, then tells what was asked and answered."""

    name = "confirm"
    description = "Ask a person to confirm."

    def __init__(self) -> None:
        self.resumed: list[tuple[str, str, bool, bool]] = []

    async def execute(self, args: GoArgs, context: ToolContext) -> ToolOutcome:
        return self.ask(Confirm(prompt=f"really {args.text}?"))

    async def resume(self, args: GoArgs, question: Confirm, answer: Confirmed, context: ToolContext) -> ToolOutcome:
        self.resumed.append((args.text, question.prompt, answer.ok, context.approved))
        if not answer.ok:
            return ToolError("not confirmed")
        return await echo_outcome(f"{question.prompt} {answer.ok}")


async def echo_outcome(text: str) -> Any:
    """A plain value as an outcome."""
    return text


class Need(BaseModel):
    what: str


class Info(BaseModel):
    value: str


class Region(AskingMiddleware[Need, Info]):
    """Asks for the region of a query that names none."""

    id = "region"

    def __init__(self, id: str = "region", word: str = "region") -> None:
        self.id = id
        self.word = word
        self.asked_times = 0

    async def before_agent(self, query: str, context: RunContext) -> str | Asked:
        if self.word in query:
            return query
        given = self.answered(context)
        if given is None:
            self.asked_times += 1
            return self.ask(Need(what=self.word))
        return f"{query} ({self.word} {given.answer.value})"


class AnswerReview(AskingMiddleware[Need, Info]):
    """Asks about every answer; "ok" keeps it, another text replaces it."""

    def __init__(self, id: str = "review") -> None:
        self.id = id

    async def after_agent(self, answer: str, context: RunContext) -> str | Asked:
        given = self.answered(context)
        if given is None:
            return self.ask(Need(what=f"review: {answer}"))
        return answer if given.answer.value == "ok" else given.answer.value


class Environment(AskingMiddleware[Need, Info]):
    """Asks for each call where to; notes what then ran."""

    def __init__(self, id: str = "env") -> None:
        self.id = id
        self.asked_times = 0
        self.log: list[str] = []

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        given = self.answered(context)
        if given is None:
            self.asked_times += 1
            return self.ask_about(Need(what=f"where to run {request.call.id}?"))
        self.log.append(f"{request.call.id}@{given.answer.value}")
        return await next()


class Gate(AskingMiddleware[Need, bool]):
    """Asks before each model call; false refuses it."""

    def __init__(self, id: str = "gate") -> None:
        self.id = id

    async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Completion | Asked:
        given = self.answered(context)
        if given is None:
            return self.ask(Need(what="may I?"))
        if not given.answer:
            from llm4s_notebook.errors import Refused

            raise Refused("the reviewer said no")
        return await next(request)


class Recorder(AgentMiddleware):
    """Passes everything through and notes for each call whether it was approved."""

    def __init__(self, id: str = "recorder") -> None:
        self.id = id
        self.seen: list[tuple[str, bool]] = []

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        self.seen.append((request.call.id, context.approved))
        return await next()


def policy(*tools: str, id: str = "policy") -> ApprovalMiddleware:
    """Approval for these tools."""
    return ApprovalMiddleware(lambda request: f"{request.call.name} needs a person" if request.call.name in tools else None, id)


@dataclass
class Wrap(AgentMiddleware):
    """A middleware made of functions."""

    id: str
    tool: Callable[..., Any] | None = None
    model: Callable[..., Any] | None = None
    before: Callable[..., Any] | None = None
    after: Callable[..., Any] | None = None

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        return await (self.tool(request, context, next) if self.tool else next())

    async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Any:
        return await (self.model(request, context, next) if self.model else next(request))

    async def before_agent(self, query: str, context: RunContext) -> Any:
        return await self.before(query, context) if self.before else query

    async def after_agent(self, answer: str, context: RunContext) -> Any:
        return await self.after(answer, context) if self.after else answer


def sizes(result: AgentResult) -> tuple[int, int, int, int]:
    """The sizes of the four lists."""
    status = result.status
    assert isinstance(status, Suspended), status
    return len(status.approvals), len(status.questions), len(status.middleware_questions), len(status.breakpoints)


def waiting(result: AgentResult) -> Suspended:
    """The status of a turn that waits."""
    assert isinstance(result.status, Suspended), result.status
    return result.status


def tool_texts(messages: Sequence[Message]) -> list[str]:
    """The contents of the tool messages, in order."""
    return [message.content for message in messages if isinstance(message, ToolMessage)]


def tool_results(result: AgentResult) -> dict[str, ToolMessage]:
    """call id -> its result in the history."""
    return {message.tool_call_id: message for message in result.messages if isinstance(message, ToolMessage)}


def roles(messages: Sequence[Message]) -> list[str]:
    """user, assistant, tool, …"""
    return [message.role for message in messages]


def call(id: str, name: str, **arguments: Any) -> ToolCall:
    """A tool call with these arguments."""
    return ToolCall(id, name, arguments)


def client_of(agent: Agent) -> ScriptedClient:
    """The agent's scripted client."""
    client = agent.settings.client
    assert isinstance(client, ScriptedClient)
    return client


def last_answer(result: AgentResult) -> str | None:
    """The text of the last message, which must be the assistant's."""
    message = result.messages[-1]
    assert isinstance(message, AssistantMessage)
    return message.content


def only(result: Any) -> tuple[str, MiddlewareQuestionRequest]:
    """The one middleware question that waits."""
    ((id, request),) = waiting(result).middleware_questions.items()
    return id, request


async def told(agent: Agent, thread_id: str = "t") -> list[agent_events.AgentEvent]:
    """The durable agent events of a thread."""
    records = await agent.runtime.checkpointer.events_after(thread_id, 0)
    found = [agent_events.decode(record.event.name, record.event.payload) for record in records if type(record.event).__name__ == "Custom"]
    return [one for one in found if one is not None]
