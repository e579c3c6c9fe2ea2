"""Our messages as the provider library's, and its answers as ours (M2)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import ProviderFault
from ._blank import is_blank
from ._client import Completion, ToolSpec
from ._json import Json, compact, thaw
from ._message import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from ._reasoning import without_reasoning
from ._usage import Usage

if TYPE_CHECKING:
    from pydantic_ai import messages as theirs
    from pydantic_ai.models import ModelRequestParameters


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class AnswerUnfit(Exception):
    """An answer that came whole and cannot be stored; `fault` says of which kind."""

    def __init__(self, fault: ProviderFault, what: str) -> None:
        self.fault: ProviderFault = fault
        super().__init__(what)


def sent_messages(messages: Sequence[Message], *, marks_errors: bool) -> list[theirs.ModelMessage]:
    """The conversation, order and texts unchanged; what stands between two answers of the model makes one request (M2.1).

    With `marks_errors` the provider has a mark for results that are errors; without, the library would wrap their text.
    """
    from pydantic_ai import messages as theirs

    sent: list[theirs.ModelMessage] = []
    parts: list[theirs.ModelRequestPart] = []
    names: dict[str, str] = {}

    def close() -> None:
        if parts:
            sent.append(theirs.ModelRequest(parts=list(parts)))
            parts.clear()

    for message in messages:
        match message:
            case SystemMessage(content=content):
                parts.append(theirs.SystemPromptPart(content))
            case UserMessage(content=content):
                parts.append(theirs.UserPromptPart(content))
            case ToolMessage(content=content, tool_call_id=id, is_error=is_error):
                outcome = "failed" if is_error and marks_errors else "success"
                parts.append(theirs.ToolReturnPart(names.get(id, ""), content, tool_call_id=id, outcome=outcome))
            case AssistantMessage():
                close()
                names |= {call.id: _name_sent(call.name) for call in message.tool_calls}
                sent.append(_said(message))
    close()
    return sent


def _said(message: AssistantMessage) -> theirs.ModelResponse:
    from pydantic_ai import messages as theirs

    # white space before calls, as some local models write it, is refused by the next provider
    text = [theirs.TextPart(message.content)] if message.content and not is_blank(message.content) else []
    calls = [
        theirs.ToolCallPart(_name_sent(call.name), _arguments_sent(call.arguments), tool_call_id=call.id) for call in message.tool_calls
    ]
    return theirs.ModelResponse(parts=[*text, *calls])


def _name_sent(name: str) -> str:
    """A name that every provider takes: one that a model made up, such as "functions.deploy", would be refused in each later request."""
    return name if _NAME.fullmatch(name) else re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]


def _arguments_sent(arguments: Json) -> str | dict[str, Any]:
    return thaw(arguments) if isinstance(arguments, dict) else compact(arguments)


def sent_tools(tools: Sequence[ToolSpec]) -> ModelRequestParameters:
    """The tools on offer, each with its JSON Schema; a model may always answer in text (M2.2)."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    # not strict: providers rewrite a schema for their strict mode, and required would not be what the tool says
    offered = [
        ToolDefinition(name=tool.name, parameters_json_schema=thaw(tool.parameters), description=tool.description, strict=False)
        for tool in tools
    ]
    return ModelRequestParameters(function_tools=offered, allow_text_output=True)


_WINDOW_FULL = "model_context_window_exceeded"
"""Anthropic's word; the library takes it for an answer that reached max_tokens."""
_FAILED = ("error", "abort")
"""How servers with OpenAI's interface say that an answer is not whole; the library has no word for it."""


def received(
    response: theirs.ModelResponse, *, model: str, streamed: bool, attempts: int, priced: bool, tags_reasoning: bool = False
) -> Completion:
    """The completion of an answer; the same whether it was streamed or not (M2.3, M3.2).

    Raises: AnswerUnfit for an answer that is cut off, filtered, or cannot be stored.
    """
    from pydantic_ai import messages as theirs

    ended = (response.provider_details or {}).get("finish_reason")
    if response.finish_reason == "content_filter":
        raise AnswerUnfit("content-filter", "the provider's content filter withheld the answer")
    if streamed and (not ended or response.state == "incomplete"):
        raise AnswerUnfit("truncated", "the stream ended before the answer did")
    if ended == _WINDOW_FULL:
        raise AnswerUnfit("context-window", "the answer was cut off where the context window ends")
    if response.finish_reason == "length":
        raise AnswerUnfit("max-tokens", "the answer was cut off at its largest number of tokens")
    if response.finish_reason == "error" or ended in _FAILED:
        raise AnswerUnfit("bad-answer", f"the answer ended with '{ended}'")
    text = "".join(_text(part.content, "a text") for part in response.parts if isinstance(part, theirs.TextPart))
    if tags_reasoning:
        text = without_reasoning(text)
    calls = tuple(_call_received(part) for part in response.parts if isinstance(part, theirs.ToolCallPart))
    return Completion(AssistantMessage(text or None, calls), _usage(response, priced), response.model_name or model, attempts)


def _call_received(part: theirs.ToolCallPart) -> ToolCall:
    name = _text(part.tool_name, "the name of the tool that it calls")
    if is_blank(name):
        raise AnswerUnfit("bad-answer", "one of its calls names no tool")
    return ToolCall(_text(part.tool_call_id, f"the id of its call to '{name}'"), name, _arguments_received(part))


def _text(value: object, what: str) -> str:
    """Not every SDK checks what a server sends."""
    if not isinstance(value, str):
        raise AnswerUnfit("bad-answer", f"{what} is no text but {type(value).__name__}")
    return value


def _arguments_received(part: theirs.ToolCallPart) -> Json:
    if part.args is None or part.args == "":
        return {}
    if not isinstance(part.args, str):
        return part.args
    try:
        return json.loads(part.args, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise AnswerUnfit("bad-answer", f"the arguments of its call to '{part.tool_name}' are not JSON") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _usage(response: theirs.ModelResponse, priced: bool) -> Usage | None:
    usage = response.usage
    if usage.unmeasured_requests or not usage.has_values():
        return None
    return Usage(usage.input_tokens, usage.output_tokens, _cost(response) if priced else None)


def _cost(response: theirs.ModelResponse) -> float | None:
    """In US dollars by the library's price list; None for a model that it does not list."""
    if response.usage.cost is not None:
        return float(response.usage.cost)
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None
