"""One answer in the words of each provider. Every body follows an example of that provider's documentation, which its maker
names, and is checked by the response model of the provider's own SDK before a test sends it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from llm4s_notebook.testing import _openai_chat as openai_chat
from llm4s_notebook.testing._openai_chat import Answer, halves, sse
from llm4s_notebook.testing._provider_server import ProviderServer, Reply, said, streamed


@dataclass(frozen=True)
class Dialect:
    """A provider: the name of its client, the path under the server, and how it writes an answer and an error."""

    name: str
    path: str
    body: Callable[[Answer], Any]
    events: Callable[[Answer], list[bytes]]
    error: Callable[[int, str, str], Any]
    closing: int = 3
    """So many events at the end say that the answer is over."""

    def options(self, server: ProviderServer) -> dict[str, Any]:
        return {"base_url": server.url + self.path, "api_key": "sk-test-0123456789abcdef"}

    def reply(self, answer: Answer, *, stream: bool) -> Reply:
        return streamed(self.events(answer)) if stream else said(self.body(answer))

    def fails(self, status: int, kind: str, message: str, **headers: str) -> Reply:
        """`kind` is the provider's own word for the error."""
        return said(self.error(status, kind, message), status, **headers)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _checked(kind: Any, value: Any) -> Any:
    _adapter(kind).validate_python(value)
    return value


# -- OpenAI, Chat Completions ----------------------------------------------------------------------------------------


def chat_body(answer: Answer) -> Any:
    from openai.types.chat import ChatCompletion

    return _checked(ChatCompletion, openai_chat.chat_body(answer))


def chat_events(answer: Answer) -> list[bytes]:
    from openai.types.chat import ChatCompletionChunk

    return [*(sse(_checked(ChatCompletionChunk, one)) for one in openai_chat.chat_chunks(answer)), sse("[DONE]")]


def openai_error(status: int, kind: str, message: str) -> Any:
    from openai.types.shared import ErrorObject

    body = openai_chat.openai_error(status, kind, message)
    _checked(ErrorObject, body["error"])
    return body


# -- OpenAI, Responses -----------------------------------------------------------------------------------------------


def _response(answer: Answer, output: list[Any], status: str) -> Any:
    given, made = answer.tokens
    reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(answer.ended)
    done = status != "in_progress"
    return {
        "id": "resp_67ccd3a9da748190baa7f1570fe91ac604becb25c45c1d41",
        "object": "response",
        "created_at": 1741476777,
        "status": "incomplete" if done and reason else status,
        "error": None,
        "incomplete_details": {"reason": reason} if done and reason else None,
        "instructions": None,
        "metadata": {},
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": given + made,
        }
        if done
        else None,
    }


def _response_items(answer: Answer) -> list[Any]:
    content = [{"type": "output_text", "text": answer.whole, "annotations": []}]
    message = {"type": "message", "id": "msg_67ccd3acc8d4", "status": "completed", "role": "assistant", "content": content}
    calls = [
        {"type": "function_call", "id": f"fc_{at}", "call_id": id, "name": name, "arguments": text, "status": "completed"}
        for at, (id, name, text) in enumerate(answer.calls)
    ]
    return [*([message] if answer.text else []), *calls]


def responses_body(answer: Answer) -> Any:
    """OpenAI API reference, "Create a model response", examples "Text input" and "Functions"."""
    from openai.types.responses import Response

    return _checked(Response, _response(answer, _response_items(answer), "completed"))


def responses_events(answer: Answer) -> list[bytes]:
    """OpenAI API reference, "Create a model response", example "Streaming", and the guide "Function calling"."""
    from openai.types.responses import ResponseStreamEvent

    events: list[dict[str, Any]] = []

    def event(kind: str, **fields: Any) -> None:
        events.append({"type": kind, "sequence_number": len(events), **fields})

    event("response.created", response=_response(answer, [], "in_progress"))
    event("response.in_progress", response=_response(answer, [], "in_progress"))
    items = _response_items(answer)
    for at, item in enumerate(items):
        place = {"item_id": item["id"], "output_index": at}
        if item["type"] == "message":
            part = item["content"][0]
            event("response.output_item.added", output_index=at, item={**item, "status": "in_progress", "content": []})
            event("response.content_part.added", **place, content_index=0, part={**part, "text": ""})
            for piece in answer.text:
                event("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
            event("response.output_text.done", **place, content_index=0, text=answer.whole, logprobs=[])
            event("response.content_part.done", **place, content_index=0, part=part)
        else:
            event("response.output_item.added", output_index=at, item={**item, "status": "in_progress", "arguments": ""})
            for piece in halves(item["arguments"]):
                event("response.function_call_arguments.delta", **place, delta=piece)
            event("response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"])
        event("response.output_item.done", output_index=at, item=item)
    final = _response(answer, items, "completed")
    event(f"response.{final['status']}", response=final)
    return [sse(_checked(ResponseStreamEvent, one), one["type"]) for one in events]


# -- Anthropic, Messages ---------------------------------------------------------------------------------------------

_STOP = {"stop": "end_turn", "tools": "tool_use", "length": "max_tokens", "filter": "refusal"}


def messages_body(answer: Answer) -> Any:
    """Anthropic API reference, "Create a Message", and the guide "Tool use", a response with stop_reason tool_use."""
    from anthropic.types import Message

    text = [{"type": "text", "text": answer.whole}] if answer.text else []
    calls = [{"type": "tool_use", "id": id, "name": name, "input": json.loads(args)} for id, name, args in answer.calls]
    body = {
        "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [*text, *calls],
        "stop_reason": _STOP[answer.ended],
        "stop_sequence": None,
        "usage": {"input_tokens": answer.tokens[0], "output_tokens": answer.tokens[1]},
    }
    return _checked(Message, body)


def messages_events(answer: Answer) -> list[bytes]:
    """Anthropic guide "Streaming Messages", examples "Basic streaming request" and "Streaming request with tool use"."""
    from anthropic.types import RawMessageStreamEvent

    given, made = answer.tokens
    begun = {"id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY", "type": "message", "role": "assistant", "content": [], "model": answer.model}
    usage = {"input_tokens": given, "output_tokens": 1}
    events: list[Any] = [{"type": "message_start", "message": {**begun, "stop_reason": None, "stop_sequence": None, "usage": usage}}]
    blocks: list[tuple[Any, list[Any]]] = []
    if answer.text:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in answer.text]))
    for id, name, text in answer.calls:
        pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *halves(text))]
        blocks.append(({"type": "tool_use", "id": id, "name": name, "input": {}}, pieces))
    for at, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": at, "content_block": block})
        events += [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": at})
    delta = {"stop_reason": _STOP[answer.ended], "stop_sequence": None}
    events += [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": made}}, {"type": "message_stop"}]
    return [sse(_checked(RawMessageStreamEvent, one), one["type"]) for one in events]


def anthropic_error(status: int, kind: str, message: str) -> Any:
    """Anthropic API reference, "Errors", section "Error shapes"."""
    from anthropic.types import ErrorResponse

    error = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}
    return _checked(ErrorResponse, error)


# -- Google, Gemini --------------------------------------------------------------------------------------------------

_GEMINI_FINISH = {"stop": "STOP", "tools": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY"}


def _gemini(answer: Answer, parts: list[Any], *, last: bool) -> Any:
    from google.genai.types import GenerateContentResponse

    given, made = answer.tokens
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if last:
        candidate["finishReason"] = _GEMINI_FINISH[answer.ended]
    usage = {"promptTokenCount": given, "candidatesTokenCount": made, "totalTokenCount": given + made}
    body = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": answer.model, "responseId": "mAitaLmkHPPlz7IP"}
    return _checked(GenerateContentResponse, body)


def _gemini_calls(answer: Answer) -> list[Any]:
    return [{"functionCall": {"id": id, "name": name, "args": json.loads(args)}} for id, name, args in answer.calls]


def gemini_body(answer: Answer) -> Any:
    """Gemini API reference, "Generating content", "Response body", and the guide "Function calling"."""
    return _gemini(answer, [*([{"text": answer.whole}] if answer.text else []), *_gemini_calls(answer)], last=True)


def gemini_events(answer: Answer) -> list[bytes]:
    """Gemini API reference, "models.streamGenerateContent" with alt=sse."""
    parts = [*({"text": piece} for piece in answer.text), *_gemini_calls(answer)] or [{"text": ""}]
    return [sse(_gemini(answer, [part], last=at == len(parts) - 1)) for at, part in enumerate(parts)]


def google_error(status: int, kind: str, message: str) -> Any:
    """Gemini API "Troubleshooting guide": google.rpc.Status as JSON."""
    return {"error": {"code": status, "message": message, "status": kind}}


OPENAI = Dialect("openai", "/v1", chat_body, chat_events, openai_error)
RESPONSES = Dialect("openai-responses", "/v1", responses_body, responses_events, openai_error)
ANTHROPIC = Dialect("anthropic", "", messages_body, messages_events, anthropic_error)
GOOGLE = Dialect("google", "", gemini_body, gemini_events, google_error, closing=1)
DIALECTS = (OPENAI, RESPONSES, ANTHROPIC, GOOGLE)
