"""The flat view of what a turn waits for: one record per interrupt, with what a form needs to be drawn (9.1-9.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from ..graph import Answer, BreakpointPhase
from ..models import AssistantMessage, Json, SystemMessage, ToolCall, ToolMessage, UserMessage, compact
from ._request import ApprovalRequest, BreakpointRequest, MiddlewareHook, MiddlewareQuestionRequest, ToolQuestionRequest
from ._status import AnyStatus, Suspended
from ._visible import cut


class InterruptKind(StrEnum):
    """Which of the four ways a turn waits."""

    APPROVAL = "approval"
    QUESTION = "question"
    MIDDLEWARE_QUESTION = "middleware_question"
    BREAKPOINT = "breakpoint"


class PendingReview(BaseModel):
    """One interrupt. A field that its kind does not have is None; a question that is null is told by the kind.

    `answer_schema` is the JSON Schema of the answer it takes. For an approval `source` says who asked ("tool" or a
    middleware's id) and `arguments_schema` is the tool's, for editing. `message` is what a held step stored or is about to guard.
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=False)

    id: str
    kind: InterruptKind
    owner: str
    """the agent whose step waits."""
    tool_name: str | None = None
    call_id: str | None = None
    arguments: Any = None
    reason: str | None = None
    source: str | None = None
    question: Any = None
    agent: str | None = None
    middleware: str | None = None
    hook: MiddlewareHook | None = None
    node: str | None = None
    phase: BreakpointPhase | None = None
    result: ToolMessage | None = None
    message: SystemMessage | UserMessage | AssistantMessage | ToolMessage | None = None
    answer_schema: dict[str, Any]
    arguments_schema: dict[str, Any] | None = None

    def approve(self) -> Answer:
        """Let the call run as it stands."""
        return Answer.approve(self.id)

    def reject(self, reason: str | None = None) -> Answer:
        """Refuse the call; the model sees the reason."""
        return Answer.reject(self.id) if reason is None else Answer.reject(self.id, reason)

    def edit(self, arguments: Mapping[str, Any]) -> Answer:
        """Let the call run with other arguments."""
        return Answer.edit(self.id, arguments)

    def reply(self, value: Any) -> Answer:
        """Answer the question with a JSON value or a model."""
        return Answer.reply(self.id, value)

    def proceed(self) -> Answer:
        """Let the held step go on."""
        return Answer.proceed(self.id)

    def __str__(self) -> str:
        parts = [self._what(), f"{self.tool_name} {compact(self.arguments)}" if self.tool_name is not None else ""]
        return f"PendingReview({self.kind.name} {cut(self.id)}: {cut(' '.join(part for part in parts if part))})"

    __repr__ = __str__

    def _what(self) -> str:
        match self.kind:
            case InterruptKind.APPROVAL:
                return f"({self.reason})"
            case InterruptKind.QUESTION:
                return compact(self.question)
            case InterruptKind.MIDDLEWARE_QUESTION:
                return f"middleware {self.middleware} {compact(self.question)}"
            case InterruptKind.BREAKPOINT:
                return f"{self.phase.name if self.phase else ''} {self.node}"


class AnswerSchemas:
    """The JSON Schema of every answer an agent's interrupts take; made on first use, then kept."""

    def __init__(
        self,
        arguments: Callable[[str, str], dict[str, Json] | None],
        tool_answer: Callable[[str, str], dict[str, Json] | None],
        middleware_answer: Callable[[str, str], dict[str, Json] | None],
    ) -> None:
        """Each callable takes an agent's id and a tool's name or a middleware's id, and gives None for one that is not there."""
        self._arguments = arguments
        self._tool_answer = tool_answer
        self._middleware_answer = middleware_answer

    def arguments(self, agent: str, tool: str) -> dict[str, Json] | None:
        """The tool's own schema, which takes dots for a secret (3.8.4); None for a tool the agent does not have."""
        return self._arguments(agent, tool)

    def approval(self, agent: str, tool: str) -> dict[str, Json]:
        """A decision: approve, reject with a reason, or edit to arguments that the tool takes."""
        arguments = dict(self._arguments(agent, tool) or {"type": "object"})
        definitions = arguments.pop("$defs", None)  # references count from the document's root
        schema: dict[str, Json] = {
            "title": "Decision",
            "oneOf": [_decision("approve"), _decision("reject", reason={"type": "string"}), _decision("edit", arguments=arguments)],
        }
        if definitions is not None:
            schema["$defs"] = definitions
        return schema

    def question(self, agent: str, tool: str) -> dict[str, Json]:
        """The answers of an asking tool; anything for a tool the agent does not have."""
        return self._tool_answer(agent, tool) or {}

    def middleware_question(self, agent: str, middleware: str) -> dict[str, Json]:
        """The answers of an asking middleware."""
        return self._middleware_answer(agent, middleware) or {}


def _decision(word: str, **properties: Json) -> dict[str, Json]:
    return {
        "title": word.capitalize(),
        "type": "object",
        "properties": {"decision": {"const": word}, **properties},
        "required": ["decision", *properties],
        "additionalProperties": False,
    }


def flat_view(status: AnyStatus, owner_of: Mapping[str, str], schemas: AnswerSchemas) -> tuple[PendingReview, ...]:
    """Approvals, tool questions, middleware questions, breakpoints, each in the turn's order; empty unless suspended (9.2)."""
    if not isinstance(status, Suspended):
        return ()
    return (
        *(_approval(id, owner_of[id], request, schemas) for id, request in status.approvals.items()),
        *(_question(id, owner_of[id], request, schemas) for id, request in status.questions.items()),
        *(_middleware_question(id, request, schemas) for id, request in status.middleware_questions.items()),
        *(_breakpoint(id, owner_of[id], request) for id, request in status.breakpoints.items()),
    )


def _call_fields(call: ToolCall | None) -> dict[str, Any]:
    return {} if call is None else {"tool_name": call.name, "call_id": call.id, "arguments": call.arguments}


def _approval(id: str, owner: str, request: ApprovalRequest, schemas: AnswerSchemas) -> PendingReview:
    return PendingReview(
        id=id,
        kind=InterruptKind.APPROVAL,
        owner=owner,
        reason=request.reason,
        source=request.source,
        answer_schema=schemas.approval(owner, request.call.name),
        arguments_schema=schemas.arguments(owner, request.call.name),
        **_call_fields(request.call),
    )


def _question(id: str, owner: str, request: ToolQuestionRequest, schemas: AnswerSchemas) -> PendingReview:
    return PendingReview(
        id=id,
        kind=InterruptKind.QUESTION,
        owner=owner,
        question=request.question,
        answer_schema=schemas.question(owner, request.call.name),
        **_call_fields(request.call),
    )


def _middleware_question(id: str, request: MiddlewareQuestionRequest, schemas: AnswerSchemas) -> PendingReview:
    return PendingReview(
        id=id,
        kind=InterruptKind.MIDDLEWARE_QUESTION,
        owner=request.agent,
        question=request.question,
        agent=request.agent,
        middleware=request.middleware,
        hook=request.hook,
        answer_schema=schemas.middleware_question(request.agent, request.middleware),
        **_call_fields(request.call),
    )


def _breakpoint(id: str, owner: str, request: BreakpointRequest) -> PendingReview:
    return PendingReview(
        id=id,
        kind=InterruptKind.BREAKPOINT,
        owner=owner,
        node=request.node,
        phase=request.phase,
        result=request.result,
        message=request.message,
        answer_schema={"type": "null"},
        **_call_fields(request.call),
    )
