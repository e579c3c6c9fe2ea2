"""An `AgentResult` in the words of the wire: cards, messages, status. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, assert_never, cast

from ..agent import (
    AgentResult,
    ApprovalRequest,
    Blocked,
    BreakpointRequest,
    Completed,
    GuardrailPhase,
    GuardrailReview,
    InterruptKind,
    MiddlewareHook,
    MiddlewareQuestionRequest,
    PendingReview,
    StepLimitReached,
    Suspended,
    ToolQuestionRequest,
    Unfinished,
)
from ..agent._messages import error_in
from ..errors import DecodeError
from ..graph import Answer
from ..models import AssistantMessage, Message, ToolMessage, UserMessage, compact, thaw
from ..wire import GuardrailRefusal, Json, JsonObject, MessageView, PendingCard, ToolCallView, UsageView
from ..wire import Status as WireStatus
from ._thread import Stored

# What the reject field is filled with: it says that a person decided (F14).
DEFAULT_REJECT_REASON: str = Answer.reject("").value["reason"]

AnyRequest = ApprovalRequest | ToolQuestionRequest | MiddlewareQuestionRequest | BreakpointRequest


ReviewsGuardrails = Callable[[str, str], bool]
"""Whether a middleware (the agent's id, its own id) puts guardrails' refusals to a person."""

IsDestructive = Callable[[str, str], bool]
"""Whether a tool (the agent's id, its name) says of itself that a call may destroy something."""


def stored_turn(result: AgentResult, reviews_guardrails: ReviewsGuardrails, is_destructive: IsDestructive) -> Stored:
    """The thread that this result describes."""
    pending = result.pending
    requests = requests_of(result)
    return Stored(
        status=_status(result),
        result=result,
        query=_query(result, requests),
        answer=result.answer,
        said=_said(result),
        cards=tuple(_card(review, requests[review.id], reviews_guardrails, is_destructive) for review in pending),
        waiting={review.id: str(review) for review in pending},
        messages=_messages(result, requests),
        usage=UsageView(
            requests=result.usage.requests,
            input_tokens=result.usage.input_tokens,
            output_tokens=result.usage.output_tokens,
            cost=result.usage.cost,
        ),
    )


def requests_of(result: AgentResult) -> dict[str, AnyRequest]:
    """Everything the turn waits for, by interrupt id."""
    match result.status:
        case Suspended(approvals, questions, middleware_questions, breakpoints):
            return {**approvals, **questions, **middleware_questions, **breakpoints}
        case _:
            return {}


def _status(result: AgentResult) -> WireStatus:
    match result.status:
        case Completed():
            return "completed"
        case Blocked():
            return "blocked"
        case StepLimitReached():
            return "step_limit"
        case Suspended():
            return "suspended"
        case Unfinished():
            return "unfinished"
        case _:
            assert_never(result.status)


def _said(result: AgentResult) -> str | None:
    match result.status:
        case Blocked(guardrail, reason):
            return f"blocked by {guardrail}: {reason}; nothing of the turn is kept"
        case StepLimitReached():
            return f"step limit of {result.active_agent} reached without an answer"
        case _:
            return None


def _query(result: AgentResult, requests: dict[str, AnyRequest]) -> str | None:
    """The turn's query: a waiting `before_agent` has stored nothing yet and carries it itself; a blocked turn keeps none."""
    for request in requests.values():
        if isinstance(request, MiddlewareQuestionRequest) and request.hook is MiddlewareHook.BEFORE_AGENT:
            return request.input
    if result.query is not None or isinstance(result.status, Blocked):
        return result.query
    return next((message.content for message in reversed(result.messages) if isinstance(message, UserMessage)), None)


# -- cards -----------------------------------------------------------------------------------------------------------


def _card(review: PendingReview, request: AnyRequest, reviews_guardrails: ReviewsGuardrails, is_destructive: IsDestructive) -> PendingCard:
    approval = request if isinstance(request, ApprovalRequest) else None
    node = _node(review, request)
    return PendingCard(
        id=review.id,
        kind=cast(Any, review.kind.name),
        title=_title(request),
        agent=review.owner if "/" in node else None,
        node=node,
        since_ms=None,
        tool_name=review.tool_name,
        arguments=_arguments(review),
        arguments_schema=cast("JsonObject | None", thaw(review.arguments_schema)),
        reason=review.reason,
        destructive=approval is not None and is_destructive(review.owner, approval.call.name),
        source=review.source,
        question=cast(Json, thaw(review.question)),
        answer_schema=cast(JsonObject, thaw(review.answer_schema)) if _is_question(review) else None,
        lenient=review.kind is InterruptKind.QUESTION,
        middleware=review.middleware,
        hook=None if review.hook is None else review.hook.value,
        guardrail=_guardrail(request, reviews_guardrails),
        phase=cast(Any, None if review.phase is None else review.phase.name),
        result=None if review.result is None else review.result.content,
        message=_message_text(review),
        default_reject_reason=None if approval is None else DEFAULT_REJECT_REASON,
    )


def _node(review: PendingReview, request: AnyRequest) -> str:
    """Where the task waits: a question or an approval at the node that will continue it (1.1.3)."""
    match request:
        case ApprovalRequest():
            return f"{review.owner}/approval"
        case ToolQuestionRequest():
            return f"{review.owner}/ask/{request.call.name}"
        case MiddlewareQuestionRequest():
            return f"{request.agent}/asked/{request.middleware}/{request.hook.value}"
        case BreakpointRequest():
            return request.node


def _arguments(review: PendingReview) -> JsonObject | None:
    """The call's arguments; a model may have sent something that is no object, and a person is to see that too."""
    if review.tool_name is None:
        return None
    arguments = cast(Json, thaw(review.arguments))
    return arguments if isinstance(arguments, dict) else {"(not an object)": arguments}


def _is_question(review: PendingReview) -> bool:
    return review.kind in (InterruptKind.QUESTION, InterruptKind.MIDDLEWARE_QUESTION)


def _title(request: AnyRequest) -> str:
    match request:
        case ApprovalRequest():
            return f"{request.call.name} wants your approval"
        case ToolQuestionRequest():
            return f"{request.call.name} asks"
        case MiddlewareQuestionRequest():
            about = f" about {request.call.name}" if request.call is not None else ""
            return f"{request.middleware} asks{about}"
        case BreakpointRequest():
            about = f": {request.call.name}" if request.call is not None else ""
            return f"held {request.phase.name.lower()} {request.node}{about}"


def _guardrail(request: AnyRequest, reviews_guardrails: ReviewsGuardrails) -> GuardrailRefusal | None:
    if not isinstance(request, MiddlewareQuestionRequest) or not reviews_guardrails(request.agent, request.middleware):
        return None
    try:
        asked = request.decode(GuardrailReview)
    except DecodeError:
        return None  # a question of another shape, of a class derived from it: the plain form draws it
    phase = "input" if asked.phase is GuardrailPhase.INPUT else "output"
    return GuardrailRefusal(phase=phase, guardrail=asked.guardrail, reason=asked.reason, text=asked.text)


def _message_text(review: PendingReview) -> str | None:
    message = review.message
    if message is None:
        return None
    lines = [message.content] if message.content else []
    if isinstance(message, AssistantMessage):
        lines += [f"calls {call.name} {compact(call.arguments)}" for call in message.tool_calls]
    return "\n".join(lines)


# -- messages --------------------------------------------------------------------------------------------------------


def _messages(result: AgentResult, requests: dict[str, AnyRequest]) -> tuple[MessageView, ...]:
    waiting = {call.id for request in requests.values() if (call := request.call) is not None}
    if isinstance(result.status, Suspended):
        # Nothing runs while a turn waits: also the calls of a message that is itself held have to wait (2.4.3).
        last = next((message for message in reversed(result.messages) if isinstance(message, AssistantMessage)), None)
        waiting |= {call.id for call in last.tool_calls} if last is not None else set[str]()
    return message_views([*result.messages, *result.recorded_results], waiting)


def message_views(messages: Sequence[Message], waiting: Collection[str] = ()) -> tuple[MessageView, ...]:
    """Messages as they are drawn; `waiting` holds the ids of calls of the last message that wait for a person."""
    results: dict[str, ToolMessage] = {}
    views: list[MessageView] = []
    # a call id may come again in a later message, so each message takes the results that follow it
    for message in reversed(messages):
        match message:
            case ToolMessage():
                results[message.tool_call_id] = message
                views.append(_tool_view(message))
            case AssistantMessage():
                views.append(_assistant_view(message, results, waiting))
                results = {}
                waiting = ()
            case UserMessage():
                views.append(_plain_view(message.id, "user", message.content))
            case _:
                continue  # a system message is sent, never stored (1.3.4)
    views.reverse()
    return tuple(views)


def _plain_view(message_id: str, role: Any, text: str) -> MessageView:
    return MessageView(id=message_id, role=role, text=text, tool_calls=[], tool_call_id=None, is_error=False, not_run=False)


def _tool_view(message: ToolMessage) -> MessageView:
    return MessageView(
        id=message.id,
        role="tool",
        text=error_in(message.content) if message.is_error else message.content,
        tool_calls=[],
        tool_call_id=message.tool_call_id,
        is_error=message.is_error,
        not_run=message.outcome in ("denied", "rejected"),
    )


def _assistant_view(message: AssistantMessage, results: dict[str, ToolMessage], waiting: Collection[str]) -> MessageView:
    calls = [
        ToolCallView(
            id=call.id,
            name=call.name,
            arguments=cast(Json, thaw(call.arguments)),
            edited=call.edited,
            state=_call_state(results.get(call.id), call.id in waiting),
        )
        for call in message.tool_calls
    ]
    return MessageView(
        id=message.id, role="assistant", text=message.content or "", tool_calls=calls, tool_call_id=None, is_error=False, not_run=False
    )


def _call_state(result: ToolMessage | None, waits: bool) -> Any:
    if result is None:
        return "waiting" if waits else "running"
    if result.outcome in ("denied", "rejected"):
        return "not_run"
    return "error" if result.is_error else "done"
