"""The collect node: the whole batch of calls has its results, and the model may see them (1.2.4)."""

from __future__ import annotations

from ..errors import ConfigError
from ..graph import Command, RunContext, ThreadState
from ..models import AssistantMessage, ToolMessage
from ._call_secrets import CALL_SECRETS
from ._family import MemberNodes
from ._messages import MESSAGES, TOOL_RESULTS, AppendMessages

COLLECT_WRITES = (MESSAGES, TOOL_RESULTS)


def collect(nodes: MemberNodes, state: ThreadState, context: RunContext) -> Command:
    """One tool message per call, in call order. Raises: ConfigError when results and calls do not pair up."""
    message = next((one for one in reversed(state[MESSAGES]) if isinstance(one, AssistantMessage) and one.tool_calls), None)
    if message is None:
        raise ConfigError(field="tool loop", problems=["a batch of calls ended, and no message with calls is stored"])
    asked = [call.id for call in message.tool_calls]
    recorded = state[TOOL_RESULTS]
    results = {one.message.tool_call_id: one.message for one in recorded if one.message_id == message.id}
    if len(results) != len(recorded) or results.keys() != {*asked}:
        stray = [one.message.tool_call_id for one in recorded if one.message_id != message.id] + [id for id in results if id not in asked]
        problems = [f"call '{id}' has no recorded result" for id in asked if id not in results]
        raise ConfigError(field="tool loop", problems=problems + [f"a result for '{id}' belongs to no call" for id in stray])
    stored = tuple([_placed(results[id], context) for id in asked])
    command = Command().update(MESSAGES, AppendMessages(stored)).remove(TOOL_RESULTS)
    if state.is_set(CALL_SECRETS):
        command = command.remove(CALL_SECRETS)
    return command.goto(nodes.model)


def _placed(result: ToolMessage, context: RunContext) -> ToolMessage:
    """The result under its id in the history."""
    return ToolMessage(
        result.content, result.tool_call_id, result.is_error, result.outcome, f"{context.task_id}/tool/{result.tool_call_id}"
    )
