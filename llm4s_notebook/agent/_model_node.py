"""The model node: build the request, run the step, store the message, say what comes next (1.1.4, 1.3.5, 1.4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..graph import Command, RunContext, Suspend, ThreadState
from ..models import AssistantMessage, Completion, Message, ModelRequest, SystemMessage, ToolCall, ToolMessage
from . import events
from ._call_input import CallInput
from ._call_secrets import hiding
from ._decision import GivenAnswer
from ._family import Family, Member
from ._handoff import MIXED_BATCH, HandoffRoute, sent_after, transferred
from ._messages import MESSAGES, AppendMessages, error_text
from ._model_step import ModelStep
from ._request import MiddlewareHook, MiddlewareQuestionRequest
from ._turn import ACTIVE_AGENT, TRANSFER, TURN, USAGE, Outcome, Transfer, UsageEntry
from .events import announce

MODEL_WRITES = (MESSAGES, USAGE, TURN, ACTIVE_AGENT, TRANSFER)


async def call_model(
    family: Family, member: Member, answers: Sequence[GivenAnswer], state: ThreadState, context: RunContext
) -> Command | Suspend[Any, Any]:
    """One model step of this agent, or the end of the turn when its steps are used up."""
    turn = state[TURN]
    if turn.steps >= member.max_steps:
        return Command().update(TURN, turn.ended(Outcome("step-limit")))
    request, checked = _request(member, state)
    step = ModelStep(member, context, answers, checked)
    completion = await step.run(request)
    if completion is None:
        return _asks(family, member, step, answers, context)
    announce(context, _completed(member, completion, step.attempts, *step.times_of(completion)))
    message, secrets = hiding(member.secret_places, _stored(completion.message, context))
    command = Command().update(USAGE, UsageEntry(completion.model, completion.usage)).update(TURN, turn.stepped())
    return _routed(family, member, message, secrets, command, context)


def _request(member: Member, state: ThreadState) -> tuple[ModelRequest, int]:
    """The request as built, and how many of its messages earlier valid requests have shown to be right (D17)."""
    stored: Sequence[Message] = state[MESSAGES]
    transfer = state[TRANSFER] if member.without_context_from else None
    if transfer is not None and transfer.target == member.id and transfer.source in member.without_context_from:
        stored = sent_after(stored, transfer)
        checked = 0
    else:
        checked = len(stored)
        while checked and not isinstance(stored[checked - 1], AssistantMessage):
            checked -= 1
    if member.system_prompt is None:
        return ModelRequest(tuple(stored), member.offered), checked
    return ModelRequest((SystemMessage(member.system_prompt), *stored), member.offered), checked + 1 if checked else 0


def _stored(message: AssistantMessage, context: RunContext) -> AssistantMessage:
    """The message under its own id; a call comes from the model, so it is not an edited one."""
    calls = tuple([replace(call, edited=False) if call.edited else call for call in message.tool_calls])
    return AssistantMessage(message.content, calls, f"{context.task_id}/assistant")


def _completed(member: Member, completion: Completion, attempts: int, seconds: float, first: float | None) -> events.ModelCallCompleted:
    calls = len(completion.message.tool_calls)
    return events.ModelCallCompleted(member.id, completion.model, attempts, calls, completion.usage, seconds, first)


def _asks(family: Family, member: Member, step: ModelStep, answers: Sequence[GivenAnswer], context: RunContext) -> Suspend[Any, Any]:
    """Park with the noted question; only what the calls before it used is committed (1.5.4, 8.6)."""
    asked = step.asked
    assert asked is not None  # the step ended without a completion
    usage = Command()
    for one in step.called:
        usage = usage.update(USAGE, UsageEntry(one.completion.model, one.completion.usage))
        announce(context, _completed(member, one.completion, one.attempt, one.seconds, one.first))
    request = MiddlewareQuestionRequest(
        agent=member.id,
        middleware=asked.middleware,
        hook=MiddlewareHook.WRAP_MODEL_CALL,
        question=asked.question,
        answers=tuple(answers),
    )
    return Suspend(request, family.nodes[member.id].asked[asked.middleware, MiddlewareHook.WRAP_MODEL_CALL], usage)


def _routed(family: Family, member: Member, message: AssistantMessage, secrets: Command, command: Command, context: RunContext) -> Command:
    nodes = family.nodes[member.id]
    if not message.tool_calls:
        return command.update(MESSAGES, AppendMessages((message,))).goto(nodes.finish)
    handed = [call for call in message.tool_calls if call.name in member.handoffs]
    if not handed:
        payloads = [CallInput(call, message.id) for call in message.tool_calls]
        stored = command.update(MESSAGES, AppendMessages((message,))).combine(secrets)  # calls that do not run need no secrets
        return stored.fan_out(nodes.batch, nodes.call_tool, payloads)
    if len(message.tool_calls) > 1:
        return _refused_batch(member, message, command, context).goto(nodes.model)
    return _handed_off(family, member, message, member.handoffs[handed[0].name], command, context)


def _refused_batch(member: Member, message: AssistantMessage, command: Command, context: RunContext) -> Command:
    """A handoff beside other calls: nothing runs, and every call is told the rule (7.2)."""
    text = error_text(MIXED_BATCH)
    results = [_result(call, text, context, is_error=True) for call in message.tool_calls]
    for call in message.tool_calls:
        if call.name not in member.handoffs:
            known = call.name if call.name in member.tools else events.UNKNOWN_TOOL
            announce(context, events.ToolExecuted(member.id, call.id, known, 0.0, "Errored"))
            announce(context, events.ToolCallResult(call.id, text, True))
    return command.update(MESSAGES, AppendMessages((message, *results)))


def _handed_off(
    family: Family, member: Member, message: AssistantMessage, route: HandoffRoute, command: Command, context: RunContext
) -> Command:
    result = _result(message.tool_calls[0], transferred(route.target), context, is_error=False)
    announce(context, events.HandedOff(member.id, route.target))
    return (
        command.update(MESSAGES, AppendMessages((message, result)))
        .update(ACTIVE_AGENT, route.target)
        .update(TRANSFER, Transfer(member.id, route.target, message.id))
        .goto(family.nodes[route.target].model)
    )


def _result(call: ToolCall, text: str, context: RunContext, *, is_error: bool) -> ToolMessage:
    return ToolMessage(text, call.id, is_error, "errored" if is_error else "succeeded", f"{context.task_id}/tool/{call.id}")
