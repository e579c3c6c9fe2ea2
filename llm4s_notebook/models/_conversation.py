"""Whether a list of messages is a conversation that may be sent to a model (1.3.5)."""

from __future__ import annotations

from collections.abc import Sequence

from ._blank import is_blank
from ._json import Json, json_bytes
from ._message import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage


def call_id_problems(calls: Sequence[ToolCall]) -> list[str]:
    """What is wrong with the call ids of one message: blank or repeated ones (1.3.5)."""
    problems: list[str] = []
    seen: set[str] = set()
    for call in calls:
        if is_blank(call.id):
            problems.append("a tool call has a blank id")
        elif call.id in seen:
            problems.append(f"tool call id '{call.id}' is used more than once")
        seen.add(call.id)
    return problems


def message_problems(message: AssistantMessage) -> list[str]:
    """What keeps a model's message from being stored: bad call ids, a blank answer without calls (1.3.5), or what JSON cannot hold."""
    text, calls = message.content, message.tool_calls
    if text is not None and type(text) is not str and not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # clients are not always typed
        return [f"the text is of type {type(text).__name__}"]
    if not calls and (text is None or is_blank(text)):
        return ["the answer is blank and has no tool calls"]
    problems = call_id_problems(calls) if calls else []
    if unfit := _unfit("the text", text):
        problems.append(unfit)
    for call in calls:
        if unfit := _unfit("a tool call", [call.id, call.name, call.arguments]):
            problems.append(unfit)
    return problems


def _unfit(what: str, value: Json) -> str | None:
    """Why a value cannot be written as JSON text: half a surrogate pair, or a number of thousands of digits."""
    if value is None or (isinstance(value, str) and value.isascii()):
        return None
    try:
        json_bytes(value)
    except ValueError as error:
        return f"{what} has no JSON form: {error}"
    return None


def conversation_problems(messages: Sequence[Message], *, first: int = 0) -> list[str]:
    """Every fault from message `first` on; what comes before is taken as checked. Where results of its calls follow, `first` is the
    message straight behind the one that calls.

    Each tool call must have exactly one result directly after its message, each result must belong to such a call, and a
    system message may only come first.
    """
    problems: list[str] = []
    open_calls = _calls_of(messages[first - 1]) if first else []
    for at in range(first, len(messages)):
        message = messages[at]
        match message:
            case ToolMessage(tool_call_id=id) if id in open_calls:
                open_calls.remove(id)
                continue
            case ToolMessage(tool_call_id=id):
                problems.append(f"tool result '{id}' does not follow a tool call of that id")
                continue
            case SystemMessage() if at > 0:
                problems.append("a system message may only come first")
            case AssistantMessage():
                problems += message_problems(message)
            case _:
                pass
        if open_calls:
            problems += _unanswered(open_calls)
        open_calls = _calls_of(message)
    return problems + _unanswered(open_calls) if open_calls else problems


def _calls_of(message: Message) -> list[str]:
    return [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []


def _unanswered(calls: list[str]) -> list[str]:
    return [f"tool call '{call}' has no result straight after it" for call in calls]
