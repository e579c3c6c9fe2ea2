"""Errors that come inside an answer: in mid-stream, or as an answer that was withheld (M4.2, M4.3)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from llm4s_notebook.testing._openai_chat import Answer
from llm4s_notebook.testing._provider_server import ProviderServer, Reply, said, streamed

from .dialects import ANTHROPIC, GOOGLE, OPENAI, RESPONSES, Dialect, chat_body
from .test_faults import GOOD, RIGHT, Waits, failure
from .test_providers import REQUEST, answered, client_of


def event(data: Any, name: str | None = None) -> bytes:
    return ((f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n").encode()


MID_STREAM = {
    # Anthropic guide "Streaming Messages", section "Error events"
    "anthropic overloaded": (
        ANTHROPIC,
        event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error"),
        "overloaded",
    ),
    # OpenAI API reference, "Streaming events", event "error"
    "responses error": (
        RESPONSES,
        event({"type": "error", "code": "server_error", "message": "Something went wrong", "param": None, "sequence_number": 2}, "error"),
        "server",
    ),
    # as OpenAI's Python library reads it from a chat completion's stream
    "chat error": (
        OPENAI,
        event({"error": {"message": "The server had an error", "type": "server_error", "param": None, "code": "server_error"}}),
        "server",
    ),
    # Gemini API "Troubleshooting guide": google.rpc.Status, sent in place of a further part
    "google unavailable": (
        GOOGLE,
        event({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
        "overloaded",
    ),
}


@pytest.mark.parametrize("case", MID_STREAM)
async def test_an_error_in_mid_stream_counts_like_one_before_it(case: str, server: ProviderServer) -> None:
    """M4.2: the head said 200, and the answer did not come."""
    dialect, error, fault = MID_STREAM[case]
    broken = streamed([*dialect.events(GOOD)[:2], error])
    client = client_of(dialect, server.script(broken, dialect.reply(GOOD, stream=True)))
    Waits(client)
    assert await answered(client, REQUEST, stream=True) == replace(RIGHT, attempts=2)
    server.script(broken, broken, broken)
    told = await failure(client, stream=True)
    assert (told.fault, told.attempts, told.recoverable) == (fault, 3, True)


def _refusal() -> Reply:
    """OpenAI guide "Structured outputs", section "Refusals"."""
    body = chat_body(Answer(("x",)))
    body["choices"][0]["message"] |= {"content": None, "refusal": "I'm sorry, I cannot assist with that request."}
    return said(body)


def _blocked_prompt() -> Reply:
    """Gemini API guide "Safety settings": a prompt that was blocked has feedback and no candidates."""
    usage = {"promptTokenCount": 8, "totalTokenCount": 8}
    return said({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": usage, "modelVersion": "gemini-2.5-flash"})


def _filtered_prompt() -> Reply:
    """Azure OpenAI "Content filtering", a prompt that was filtered."""
    message = "The response was filtered due to the prompt triggering the content management policy."
    error = {"message": message, "type": None, "param": "prompt", "code": "content_filter", "status": 400}
    return said({"error": error}, 400)


@pytest.mark.parametrize(
    ("dialect", "reply"),
    [(OPENAI, _refusal()), (GOOGLE, _blocked_prompt()), (OPENAI, _filtered_prompt())],
    ids=["refusal", "blocked", "filtered"],
)
async def test_an_answer_that_was_withheld_is_told_as_such(dialect: Dialect, reply: Reply, server: ProviderServer) -> None:
    """M4.3: in each provider's own way of saying no; asked once."""
    told = await failure(client_of(dialect, server.script(reply)), stream=False)
    assert (told.fault, told.attempts, len(server.requests)) == ("content-filter", 1, 1)
    assert "abandon(thread_id)" in told.next_step
