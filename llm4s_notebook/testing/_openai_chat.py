"""OpenAI's Chat Completions as a server speaks them: the body of an answer, its stream, an error; and a request as it is read.

The bodies follow the examples of OpenAI's documentation that each maker names; the tests check them with the response models of
its own SDK.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field, TypeAdapter

from ..models import AssistantMessage, Message, ModelRequest, SystemMessage, ToolCall, ToolMessage, ToolSpec, UserMessage

Finish = Literal["stop", "tools", "length", "filter"]
_FINISH = {"stop": "stop", "tools": "tool_calls", "length": "length", "filter": "content_filter"}


@dataclass(frozen=True)
class Answer:
    """What the model says. A call is (id, tool, its arguments as JSON text); the text is streamed in the pieces given."""

    text: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, str], ...] = ()
    finish: Finish | None = None
    tokens: tuple[int, int] = (17, 5)
    """Given and made."""
    model: str = "model-2026-01-01"

    @property
    def whole(self) -> str:
        return "".join(self.text)

    @property
    def ended(self) -> Finish:
        return self.finish or ("tools" if self.calls else "stop")


def halves(text: str) -> list[str]:
    """A text in two pieces, as arguments are streamed."""
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def sse(data: Any, event: str | None = None) -> bytes:
    """A server-sent event."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def chat_body(answer: Answer) -> dict[str, Any]:
    """OpenAI API reference, "Create chat completion", examples "Default" and "Functions"."""
    calls = [{"id": id, "type": "function", "function": {"name": name, "arguments": text}} for id, name, text in answer.calls]
    message = {"role": "assistant", "content": answer.whole or None, "refusal": None, **({"tool_calls": calls} if calls else {})}
    return {
        "id": "chatcmpl-abc123",
        "object": "chat.completion",
        "created": 1699896916,
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[answer.ended]}],
        "usage": _usage(answer),
    }


def chat_chunks(answer: Answer) -> list[dict[str, Any]]:
    """OpenAI API reference, "The chat completion chunk object", and the guide "Function calling", section "Streaming"."""

    def chunk(delta: Any, finish: str | None = None) -> dict[str, Any]:
        choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
        return {**head, "choices": choices, "usage": None}

    head = {"id": "chatcmpl-123", "object": "chat.completion.chunk", "created": 1694268190, "model": answer.model}
    chunks = [chunk({"role": "assistant", "content": "" if answer.text else None, "refusal": None})]
    chunks += [chunk({"content": piece}) for piece in answer.text]
    for at, (id, name, text) in enumerate(answer.calls):
        begun = {"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
        chunks.append(chunk({"tool_calls": [begun]}))
        chunks += [chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}) for piece in halves(text)]
    return [*chunks, chunk({}, _FINISH[answer.ended]), {**head, "choices": [], "usage": _usage(answer)}]


def _usage(answer: Answer) -> dict[str, Any]:
    given, made = answer.tokens
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def openai_error(status: int, kind: str, message: str) -> dict[str, Any]:
    """OpenAI guide "Error codes"; the body as its Python library's README shows it. `kind` is OpenAI's word for the error."""
    return {"error": {"message": message, "type": "invalid_request_error" if status == 400 else kind, "param": None, "code": kind}}


# -- a request --------------------------------------------------------------------------------------------------------


class _Part(BaseModel):
    text: str


class _Function(BaseModel):
    name: str
    arguments: str


class _Call(BaseModel):
    id: str
    function: _Function


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] = []
    tool_call_id: str = ""

    def ours(self) -> Message:
        text = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content or ())
        match self.role:
            case "system" | "developer":
                return SystemMessage(text)
            case "user":
                return UserMessage(text)
            case "assistant":
                calls = (ToolCall(call.id, call.function.name, json.loads(call.function.arguments)) for call in self.tool_calls)
                return AssistantMessage(text or None, tuple(calls))
            case "tool":
                return ToolMessage(text, self.tool_call_id)


class _ToolFunction(BaseModel):
    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class _Tool(BaseModel):
    function: _ToolFunction


class ChatRequest(BaseModel):
    """OpenAI API reference, "Create chat completion", request body, as far as it is answered by."""

    model: str
    messages: list[_Message] = Field(min_length=1)
    tools: list[_Tool] = []
    stream: bool = False
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)

    @property
    def longest(self) -> int | None:
        """The most tokens that the answer may have."""
        return self.max_completion_tokens or self.max_tokens

    def ours(self) -> ModelRequest:
        """The request as a chat client is asked it. Raises: ValueError where arguments of a call are not JSON."""
        tools = (ToolSpec(tool.function.name, tool.function.description, tool.function.parameters) for tool in self.tools)
        return ModelRequest(tuple(message.ours() for message in self.messages), tuple(tools))


CHAT_REQUEST = TypeAdapter(ChatRequest)
