"""The stored history and what may be done to it (1.3.2, 1.3.3)."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import Field

from ..errors import printable
from ..graph import StateKey
from ..models import AssistantMessage, Json, Message, ToolCall, ToolMessage, UserMessage, compact, freeze, is_blank


@dataclass(frozen=True, slots=True)
class AppendMessages:
    """Add messages at the end; an id that exists is refused."""

    messages: tuple[Message, ...]
    op: Literal["append"] = "append"


@dataclass(frozen=True, slots=True)
class ReplaceMessage:
    """Put a message in the place of the one with its id."""

    message: Message
    op: Literal["replace"] = "replace"


@dataclass(frozen=True, slots=True)
class RemoveThrough:
    """Remove every message up to and including this one."""

    message_id: str
    op: Literal["remove-through"] = "remove-through"


@dataclass(frozen=True, slots=True)
class RemoveTurn:
    """Remove the turn that starts with this user message: all up to the next user message."""

    message_id: str
    op: Literal["remove-turn"] = "remove-turn"


@dataclass(frozen=True, slots=True)
class EditCall:
    """Put other arguments into one call of an assistant message, and mark it as edited. Edits of different calls compose."""

    message_id: str
    call_id: str
    arguments: Json
    op: Literal["edit-call"] = "edit-call"

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", freeze(self.arguments))


_id = attrgetter("id")
MessagesUpdate: TypeAlias = Annotated[AppendMessages | ReplaceMessage | RemoveThrough | RemoveTurn | EditCall, Field(discriminator="op")]


def updated(messages: list[Message], update: MessagesUpdate) -> list[Message]:
    """The history after one update; unchanged messages stay the same objects. Raises: ValueError for an id that does not fit."""
    match update:
        case AppendMessages(messages=new):
            return _appended(messages, new)
        case ReplaceMessage(message=message):
            at = _index(messages, message.id)
            return [*messages[:at], message, *messages[at + 1 :]]
        case RemoveThrough(message_id=message_id):
            return messages[_index(messages, message_id) + 1 :]
        case RemoveTurn(message_id=message_id):
            return _without_turn(messages, message_id)
        case EditCall():
            at = _index(messages, update.message_id)
            return [*messages[:at], _edited(messages[at], update), *messages[at + 1 :]]


def _appended(messages: list[Message], new: tuple[Message, ...]) -> list[Message]:
    known = set(map(_id, messages))
    for message in new:
        if not message.id:
            raise ValueError("a stored message needs an id")
        if message.id in known:
            raise ValueError(f"message '{message.id}' exists already")
        known.add(message.id)
    return [*messages, *new]


def _index(messages: list[Message], message_id: str) -> int:
    # what changes is nearly always near the end
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].id == message_id:
            return at
    raise ValueError(f"there is no message '{message_id}'")


def _without_turn(messages: list[Message], message_id: str) -> list[Message]:
    start = _index(messages, message_id)
    if not isinstance(messages[start], UserMessage):
        raise ValueError(f"message '{message_id}' is no user message; a turn starts with one")
    end = next((at for at in range(start + 1, len(messages)) if isinstance(messages[at], UserMessage)), len(messages))
    return messages[:start] + messages[end:]


def _edited(message: Message, update: EditCall) -> Message:
    if not isinstance(message, AssistantMessage) or all(call.id != update.call_id for call in message.tool_calls):
        raise ValueError(f"message '{update.message_id}' has no tool call '{update.call_id}'")
    return replace(
        message, tool_calls=tuple(edited(call, update.arguments) if call.id == update.call_id else call for call in message.tool_calls)
    )


def edited(call: ToolCall, arguments: Json) -> ToolCall:
    """The call with a reviewer's arguments; the tool stays the same (D12)."""
    return ToolCall(call.id, call.name, arguments, edited=True)


MESSAGES: StateKey[list[Message], MessagesUpdate] = StateKey(
    "messages", cast(Any, list[Message]), cast(Any, MessagesUpdate), initial=[], reduce=updated
)


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """A call's result on its way into the history; `task_id` is the task that recorded it."""

    message_id: str
    task_id: str
    message: ToolMessage


def _recorded(results: list[RecordedResult], result: RecordedResult) -> list[RecordedResult]:
    """Raises: ValueError for a second result of one call (1.2.3)."""
    for one in results:
        if one.message_id == result.message_id and one.message.tool_call_id == result.message.tool_call_id:
            raise ValueError(f"call '{result.message.tool_call_id}' of message '{result.message_id}' has a result already")
    return [*results, result]


TOOL_RESULTS: StateKey[list[RecordedResult], RecordedResult] = StateKey(
    "tool-results", cast(Any, list[RecordedResult]), RecordedResult, initial=[], reduce=_recorded
)


def result_text(content: Json) -> str:
    """How a tool's result is stored: a string bare unless blank, anything else as compact JSON text (1.3.6)."""
    return printable(content if isinstance(content, str) and not is_blank(content) else compact(content))


def error_text(message: str) -> str:
    """How an error result is stored (1.3.6)."""
    return compact({"error": printable(str(message))})


def error_in(content: str) -> str:
    """The message of a stored error result; the content itself where it is none, or says nothing. JSON may hold lone surrogates."""
    try:
        found: Any = json.loads(content)
    except (ValueError, RecursionError):
        return content
    said = cast(dict[str, Any], found).get("error") if isinstance(found, dict) and len(cast(dict[str, Any], found)) == 1 else None
    return printable(said) if isinstance(said, str) and not is_blank(said) else content
