"""A second opinion: turns against llmock, a mock of the providers that others wrote, which also judges how its faults were met.

It waits in real time, so it is asked little; what it does not offer (ids, usage, filters, where a connection ends) is tested
against a server of our own in the other files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, StreamFault, ToolCall
from llmock.testing import LLMockServer

from llm4s_notebook.agent import Agent, Completed, tool
from llm4s_notebook.checkpoint import InMemoryCheckpointer
from llm4s_notebook.errors import ModelFailed
from llm4s_notebook.models import RetryPolicy, chat_client

CLIENTS = {"openai": "openai", "openai-responses": "openai", "anthropic": "anthropic", "google": "gemini"}
each_client = pytest.mark.parametrize("name", CLIENTS)
each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.fixture(scope="module")
def running() -> Iterator[LLMockServer]:
    with LLMockServer() as server:
        yield server


@pytest.fixture
def mock(running: LLMockServer) -> Iterator[LLMock]:
    made = LLMock(running)
    made.reset()
    yield made
    made.reset()


@tool
async def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"21 C in {city}"


def agent_of(name: str, mock: LLMock, *, stream: bool, **options: Any) -> Agent:
    client = chat_client(f"{name}:mock", base_url=mock.base_url(CLIENTS[name]), api_key="anything", **options)
    return Agent("assistant", client, tools=[get_weather], runtime=InMemoryCheckpointer(), stream=stream)


@each_way
@each_client
async def test_a_tool_is_called_and_its_result_answered(name: str, mock: LLMock, stream: bool) -> None:
    """M2, M3.2: llmock calls the tool that was offered, and answers once it has seen the result."""
    mock.add(Reply(tool_calls=(ToolCall("get_weather", {"city": "Bergen"}),)), Reply(text="It rains."))
    result = await agent_of(name, mock, stream=stream).run("What is the weather in Bergen?")
    assert result.status == Completed("It rains.")
    assert [message.content for message in result.messages if message.role == "tool"] == ["21 C in Bergen"]
    assert result.usage.requests == 2
    assert result.usage.input_tokens > 0
    assert result.usage.output_tokens > 0
    mock.assert_resilient(strict=True)


@each_client
async def test_its_verdict_on_a_rate_limit_is_clean(name: str, mock: LLMock) -> None:
    """M4.2: Retry-After is honoured, by its clock."""
    mock.rate_limit(retry_after=1.0).add(Reply(text="Here."))
    assert (await agent_of(name, mock, stream=False).run("go")).answer == "Here."
    mock.assert_resilient(strict=True)


@pytest.mark.parametrize("kind", ["disconnect", "truncate"])
@each_client
async def test_its_verdict_on_a_broken_stream_is_clean(name: str, mock: LLMock, kind: Any) -> None:
    """M4.2: none of what broke off is taken for an answer."""
    mock.add(StreamFault(kind, after_chunks=2), Reply(text="It is as you say, whole and in one piece.", times=2))
    result = await agent_of(name, mock, stream=True, retry=RetryPolicy(first_wait=0.05)).run("go")
    assert result.answer == "It is as you say, whole and in one piece."
    mock.assert_resilient(strict=True)


@each_client
async def test_its_verdict_on_what_cannot_be_mended_is_clean(name: str, mock: LLMock) -> None:
    """M4.3: a request that is refused is not repeated."""
    mock.context_overflow()
    with contextlib.suppress(ModelFailed):
        await agent_of(name, mock, stream=False).run("go")
    assert len(mock.requests) == 1
    mock.assert_resilient(strict=True)
